# SPDX-License-Identifier: Apache-2.0
"""The native module gives the rows that _goref.pyi declares."""

import ast
from pathlib import Path

import natives
from session import TOP, run_python
from targets import Target, kernel_core, kernel_cores_reason, skip_if
from toolchains import Variant

SCRIPT = Path(__file__).parent / "binding_rows.py"
# Rows that this target has none of, or that no method gives yet.
ABSENT = {
    "FreeSlot",
    "LateThread",
}
# For a script, in seconds: it asks everything, and the machine may be busy.
LIMIT = 1800
CENTRAL = Variant("go1.24", "default")


def rows_of(target, questions, tmp_path):
    words = [target.exe, target.core, questions, tmp_path / questions]
    done = run_python(SCRIPT.read_text(), words, LIMIT)
    said, _, rows = done.stdout.partition("seen: ")
    assert not said and rows, (said, done.stderr)
    return set(rows.split())


def panicked(farm):
    process = farm.process("panics", CENTRAL, ("nested",))
    core = kernel_core(process, process.popen.stdin.close)
    return Target("core", process.exe, process.truth, core=core)


def test_rows_are_of_their_types(farm, tmp_path):
    """No target has all rows: one panics, one has a deadlock, one has
    finalizers that never run."""
    skip_if(kernel_cores_reason())
    declared = ast.parse((TOP / "python/goref/_goref.pyi").read_text())
    rows = {
        node.name
        for node in declared.body
        if isinstance(node, ast.ClassDef)
        and any(isinstance(field, ast.AnnAssign) for field in node.body)
    }
    seen = rows_of(farm.target("leaky", CENTRAL), "all", tmp_path)
    for target in (
        farm.target("labelled", CENTRAL),
        farm.target("deadlocks", CENTRAL, args=["inversion"]),
        farm.target("cycle", CENTRAL),
        panicked(farm),
    ):
        seen |= rows_of(target, "goroutines", tmp_path)
    seen |= rows_of(farm.target("sites", CENTRAL, args=["1"]), "sites", tmp_path)
    in_c = farm.target("native_leaks", natives.CENTRAL,
                       args=[str(natives.library())])  # fmt: skip
    seen |= rows_of(in_c, "memory of C", tmp_path)
    sampler = str(natives.compiled("sampler", natives.SAMPLER))
    running = farm.process(
        "touched", natives.CENTRAL, env={"LD_PRELOAD": sampler}
    )
    traced = Target("live", running.exe, {}, core=running.pid)
    seen |= rows_of(traced, "a trace", tmp_path)
    assert rows - seen == ABSENT
