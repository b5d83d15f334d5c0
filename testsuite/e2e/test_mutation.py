# SPDX-License-Identifier: Apache-2.0
"""Damaged cores: an answer or one line of error, in little time and memory; and
gdb goes on. GOREF_MUTATIONS=1000 for the long run, with a build with sanitizers
in GOREF_BUILD_DIR, too."""

import json
import os
import shutil
import subprocess

import pytest

import mutate
from samples import DOCUMENTS, samples
from session import GOREF, environment, gdb_bears, run_gdb
from toolchains import RELEASES, Variant, variants
from waiting import LONGEST_S, comes, faults_of, states_of

COUNT = int(os.environ.get("GOREF_MUTATIONS", "30"))
CENTRAL = Variant("go1.24", "default")
IN_GDB = [
    f"goref {' '.join(words)} --json"
    for words in samples(DOCUMENTS, place="0x10")
]

# Words of a traceback, of gdb's own failures, of a sanitizer.
BAD_WORDS = ("Traceback", "Python Exception", "internal-error", "Fatal signal",
             "Recursive internal", "Sanitizer")  # fmt: skip


@variants("default")
def test_damaged_cores(farm, variant, tmp_path):
    count = -(-COUNT // len(RELEASES))
    first = RELEASES.index(variant.release) * count
    target = farm.target("rest", variant)
    way = mutate.way_of(target.exe, target.core)
    outcomes = {}
    for answer in mutate.run(way, target, tmp_path, first, count):
        assert not mutate.is_bad(answer), answer
        verb = answer.question.text.split()[0]
        outcomes.setdefault(verb, []).append(answer.done.returncode)
    assert sum(map(len, outcomes.values())) == count * (
        len(mutate.COMMANDS) + 1
    )
    # The damage is real, and not such that nothing is left to look at.
    for verb in ("scan", "suspects", "dominators", "histogram"):
        assert {0, 3} & {*outcomes[verb]}
        assert count < 20 or 1 in outcomes[verb]


@variants("default")
def test_in_gdb(farm, variant, tmp_path):
    """gdb itself opens or refuses what is damaged, and goes on."""
    target = farm.target("rest", variant)
    way = mutate.way_of(target.exe, target.core)
    damaged = tmp_path / "damaged"
    for seed in range(-(-COUNT // len(RELEASES) // 3)):
        mutate.copy_sparse(target.core, damaged)
        way.damage(damaged, way.points, seed)
        if not gdb_bears(target.exe, damaged):
            continue
        run = run_gdb([target.exe, damaged], [*IN_GDB, "echo alive\\n"])
        assert "alive" in run.parts[-1], (seed, run.stderr)
        for word in BAD_WORDS:
            assert word not in run.stderr, (seed, run.stderr[-2000:])
        lines = [x for x in run.error_lines() if x.startswith("goref")]
        assert len(lines) <= len(IN_GDB), (seed, lines)


@pytest.fixture
def copied(farm, tmp_path):
    """A target whose core is a copy that may be changed."""
    target = farm.target("rest", CENTRAL)
    core = tmp_path / "core"
    mutate.copy_sparse(target.core, core)
    return target, core


def test_names_that_are_no_text(copied):
    """gdb lists sections of the kernel's shared object by their names, and
    hands Python nothing that is not UTF-8."""
    target, path = copied
    core = mutate.Core(path)
    at = core.data.find(b".eh_frame_hdr\0")
    if at < 0:
        core.close()
        pytest.skip("the core has no vdso")
    core.data[at + 1] = 0xE7
    core.close()
    run = run_gdb([target.exe, path], ["goref scan --json"])
    assert run.rc == 0, run.stderr
    assert run.json()["reached"]["objects"] > 0


def test_core_shrinks_between_commands(copied):
    """The scan is kept, the memory below it is gone."""
    target, core = copied
    keep = "import goref.ingdb.target as t; same = t.identify()"
    commands = (
        ["goref scan --top 1", f"python {keep}; t.identify = lambda: same"]
        + [f"shell truncate -s 20000 {core}"]
        + ["goref why main.users", "goref verify", "goref scan main.users"]
        + ["echo alive\\n"]
    )
    run = run_gdb([target.exe, core], commands)
    assert run.rc == 0
    assert "alive" in run.parts[-1]
    lines = run.error_lines()
    assert len(lines) == 3, run.stderr
    for line in lines:
        assert line == f"goref: {core} changed while it was being read"


def test_large_core_shrinks(farm, tmp_path):
    """Threads read a large core, each at its own place: the answer is the
    program's, or one line. Moments are counted in page faults."""
    target = farm.target("counter", CENTRAL, args=("2000000",))
    core = tmp_path / "core"
    words = [GOREF, "core", target.exe, core, "scan", "--json"]

    def ask(moment):
        """Cut the core after so many page faults, or at the end: the faults
        that were seen, and how it went."""
        shutil.copyfile(target.core, core)
        goref = subprocess.Popen(
            list(map(str, words)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        comes(lambda: faults_of(goref.pid) >= moment
              or states_of(goref.pid) == {"Z"})  # fmt: skip
        faults = faults_of(goref.pid)
        os.truncate(core, 20000)
        out, err = goref.communicate(timeout=LONGEST_S)
        return faults, goref.returncode, out, err

    faults, status, out, err = ask(10**9)
    assert status == 0, err
    roots = {r["name"]: r["objects"] for r in json.loads(out)["roots"]}
    assert roots["main.chain"] == target.truth["held"]["main.chain"]["objects"]
    changed = 0
    for i in range(10):
        _, status, out, err = ask(i * faults // 10)
        assert status in (0, 1, 3), err
        assert not any(word in err for word in BAD_WORDS), err
        if status == 1:
            assert len(err.splitlines()) == 1 and not out, err
            changed += "changed while it was being read" in err
    assert changed


def test_executable_shrinks(farm, tmp_path):
    """A rebuild over the same file."""
    target = farm.target("rest", CENTRAL)
    exe = tmp_path / "exe"
    shutil.copy(target.exe, exe)
    keep = "import goref.ingdb.target as t; same = t.identify()"
    run = run_gdb(
        [exe, target.core],
        ["goref scan --top 1", f"python {keep}; t.identify = lambda: same",
         f"shell truncate -s 4096 {exe}", "goref why $pc", "goref verify",
         "echo alive\\n"],
    )  # fmt: skip
    assert "alive" in run.parts[-1], run.stderr
    for line in run.error_lines():
        assert line == f"goref: {exe} changed while it was being read"
