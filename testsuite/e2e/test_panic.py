# SPDX-License-Identifier: Apache-2.0
"""goref panic, by what the runtime prints before it ends the program."""

import json
import re
import signal

import pytest

from session import run_cli, run_gdb, run_goref
from targets import (
    Target,
    attach_reason,
    gdb_core,
    kernel_core,
    kernel_cores_reason,
    skip_if,
)
from toolchains import RELEASES, Variant, variant_id, variants

CENTRAL = Variant("go1.24", "default")
STRIPPED = Variant("go1.24", "stripped")
BELOW = ["main.below"] * 4


# Endings of the first release, and of the others and a stripped program.
ALL = (
    "error wrapped string nested again goroutine nil index code struct "
    "pointer fault unlock maps deadlock"
).split()
FEW = "wrapped again nil fault deadlock".split()


def endings(hows):
    """All of these on one release, a few on the others and stripped."""
    hows = hows.split()
    others = [Variant(r, "default") for r in RELEASES]
    rows = [(CENTRAL, how) for how in hows]
    rows += [
        (variant, how)
        for variant in [STRIPPED, *others]
        for how in hows
        if variant != CENTRAL and how in FEW
    ]
    names = [f"{variant_id(variant)}-{how}" for variant, how in rows]
    return pytest.mark.parametrize("variant, how", rows, ids=names)


def core_of(farm, variant, how, program="panics"):
    """A core, and what the runtime printed."""
    process = farm.process(program, variant, (how,))
    core = kernel_core(process, process.popen.stdin.close)
    target = Target("core", process.exe, process.truth, core=core)
    printed = process.folder / "stderr"
    return target, printed.read_text() if printed.exists() else ""


@pytest.fixture(scope="module")
def ended(farm):
    """ended(variant, how): document, text, and what the runtime printed. All
    cores of a variant are asked in one session."""
    skip_if(kernel_cores_reason())
    answers = {}

    def ask(variant):
        hows = ALL if variant == CENTRAL else FEW
        cores = [core_of(farm, variant, how) for how in hows]
        commands = [
            command
            for target, _ in cores
            for command in (
                f"core-file {target.core}", "goref panic --json", "goref panic"
            )
        ]  # fmt: skip
        run = run_gdb([cores[0][0].exe], commands)
        assert run.rc == 0, run.stderr
        for i, how in enumerate(hows):
            document, text = run.json(3 * i + 1), run.parts[3 * i + 2]
            answers[variant, how] = document, text, cores[i][1]

    def get(variant, how):
        if (variant, how) not in answers:
            ask(variant)
        return answers[variant, how]

    return get


@endings("error deadlock")
def test_hung(farm, variant, how):
    """How the program ended comes first, without the values of a panic."""
    skip_if(kernel_cores_reason())
    target, said = core_of(farm, variant, how)
    done = run_cli(["core", target.exe, target.core, "hung"])
    assert done.returncode in (0, 3), done.stderr
    first = done.stdout.splitlines()[0]
    if how == "deadlock":
        assert first.startswith(
            "ended by fatal error: all goroutines are asleep - deadlock!"
        )
    else:
        wanted = f"ended by panic.*; goroutine {printed_goroutine(said)} in main"
        assert re.match(wanted, first), first


def asked(target):
    run = run_goref(target, ["goref panic --json", "goref panic"])
    assert run.rc == 0, run.stderr
    return run.json(0), run.parts[1]


def printed_values(said):
    """As (text, is recovered), the oldest first."""
    return [
        (text, "recovered" in (state or ""))
        for text, state in re.findall(
            r"^\t*panic: (.*?)(?: \[(recovered.*?)\])?$", said, re.M
        )
    ]


def printed_goroutine(said):
    found = re.search(r"^goroutine (\d+) .*\[running", said, re.M)
    return found and int(found[1])


def unquoted(value):
    return json.loads(value) if value.startswith('"') else value


def check_signal(document, said):
    found = re.search(
        r"^\[signal (SIG\w+).* addr=(\w+) pc=(\w+)\]", said, re.M
    )
    wanted = found.groups() if found else (None, None, None)
    assert (
        document["signal"], document["address"], document["pc"]
    ) == wanted  # fmt: skip


@endings("error wrapped string nested again goroutine nil index")
def test_texts(ended, variant, how):
    """Values that are texts by the end."""
    document, text, said = ended(variant, how)
    assert document["kind"] == "panic" and not document["deferred"]
    assert document["goroutine_id"] == printed_goroutine(said)
    found = [
        (unquoted(v["value"]), v["recovered"]) for v in document["values"]
    ]
    wanted = printed_values(said)
    assert found == wanted and wanted
    for value, _ in wanted:
        assert value in text
    check_signal(document, said)
    assert "main.below" in {f["function"] for f in document["frames"]}


@pytest.mark.parametrize(
    "how, value",
    [
        ("code", "42"),
        ("struct", 'main.Point {X: 3, Y: 4, Name: "here"}'),
        ("pointer", '*main.Point {X: 5, Y: 6, Name: "there"}'),
    ],
)
def test_values(ended, how, value):
    """Values without a text: the runtime prints a number or an address."""
    document, text, said = ended(CENTRAL, how)
    (row,) = document["values"]
    assert row["value"] == value
    assert row["type"].rpartition(".")[2] in ("Code", "Point")
    ((printed, _),) = printed_values(said)
    if how == "code":
        assert printed == "main.Code(42)"
        assert "panic: main.Code(42)\n" in text
    else:
        assert f"panic: {value}\n" in text


@endings("fault unlock maps deadlock")
def test_fatal_errors(ended, variant, how):
    """No deferred call runs. A deadlock is found by no goroutine."""
    document, text, said = ended(variant, how)
    wanted = re.search(r"^fatal error: (.*)$", said, re.M)[1]
    assert document["kind"] == "fatal error" and not document["values"]
    assert document["fatal_error"] == wanted
    assert text.startswith(f"fatal error: {wanted}\n")
    check_signal(document, said)
    if how == "deadlock":
        assert document["goroutine_id"] is None
        return
    assert document["goroutine_id"] == printed_goroutine(said)
    names = [f["function"].rpartition(".")[0] for f in document["deferred"]]
    # Another goroutine than the first has no deferred calls.
    assert names == (BELOW if document["goroutine_id"] == 1 else [])


@variants("default")
def test_signal(farm, variant):
    """A signal of another process: it has no address."""
    skip_if(kernel_cores_reason())
    process = farm.process("panics", variant, ("sleep",))
    process.popen.stdin.close()
    process.rest()

    def end():
        process.popen.send_signal(signal.SIGABRT)

    core = kernel_core(process, end)
    document, text = asked(
        Target("core", process.exe, process.truth, core=core)
    )
    assert document["kind"] == "signal" and document["signal"] == "SIGABRT"
    assert document["address"] is None and not document["values"]
    assert text.startswith("signal SIGABRT, pc 0x")
    # It says nothing of what the thread did.
    assert "\nIt was sent with kill." in text


@pytest.mark.parametrize("how", ["error", "nil", "unlock", "deadlock"])
def test_first_look(farm, how):
    """The overview says what ended the program, before the signal."""
    skip_if(kernel_cores_reason())
    target, said = core_of(farm, CENTRAL, how)
    line = ["core", target.exe, target.core]
    told = json.loads(run_cli([*line, "overview", "--json"]).stdout)["panic"]
    first = re.search(r"^(?:panic|fatal error): .*$", said, re.M)[0]
    assert told["text"].replace('"', "") == first
    assert told["kind"] == first.partition(":")[0]
    assert told["goroutine_id"] == printed_goroutine(said)
    lines = run_cli(line).stdout.splitlines()
    assert lines[0].startswith(f"ended by {told['text']}")
    if how != "nil":
        (line,) = [line for line in lines if line.startswith("stopped by ")]
        assert "SIGABRT, which the Go runtime raised afterwards" in line


@variants("cgo")
def test_fault_in_c(farm, variant, tmp_path):
    """The function of C has the name of its symbol, from a saved file, too. In
    Go 1.19, the runtime calls it a fatal error of its own."""
    skip_if(kernel_cores_reason())
    target, said = core_of(farm, variant, "own", "faults")
    document, text = asked(target)
    address, pc = re.search(r" addr=(\w+)(?: pc=(\w+))?", said).groups()
    pc = pc or re.search(r"^PC=(\w+)", said, re.M)[1]
    assert document["signal"] == "SIGSEGV" and document["address"] == address
    assert document["pc"] == pc and document["c_function"] == "readFrom"
    assert document["c_file"] == str(target.exe)
    fault = "in C: readFrom of faults"
    assert f"\nsignal SIGSEGV, address 0x0, pc {pc} {fault}\n" in f"\n{text}"
    line = ["core", target.exe, target.core]
    lines = run_cli(line).stdout.splitlines()
    assert f"SIGSEGV at address 0x0 {fault}" in lines[0]
    file = tmp_path / "fault.goref"
    assert run_cli([*line, "save", file]).returncode == 0
    told = json.loads(run_cli(["open", file, "panic", "--json"]).stdout)
    for key in ("signal", "address", "pc", "c_function", "c_file"):
        assert told[key] == document[key]


def test_fault_in_a_library(farm):
    """The library has the symbols that others may use; not all its functions
    have one."""
    skip_if(kernel_cores_reason())
    target, _said = core_of(farm, Variant(RELEASES[-1], "cgo"), "library",
                            "faults")  # fmt: skip
    document, text = asked(target)
    assert document["c_file"].rpartition("/")[2].startswith("libc.so")
    assert " in C: " in text.splitlines()[0]


def test_deferred_calls_run_still(farm):
    """Nothing has ended the program; a goroutine panics and hangs."""
    skip_if(attach_reason())
    process = farm.process("panics", CENTRAL, ("slow",))
    process.popen.stdin.close()
    process.rest()
    target = Target("live", process.exe, process.truth, process=process)
    document, text = asked(target)
    assert document["kind"] == "panicking"
    assert [v["value"] for v in document["values"]] == ['"early"', '"late"']
    assert "The program has not ended" in text
    run = run_goref(target, ["goref overview"])
    first = run.parts[0].splitlines()[0]
    assert first.startswith("still running deferred calls: panicking: ")
    core = gdb_core(process)
    again, _ = asked(Target("gcore", process.exe, process.truth, core=core))
    assert again["goroutine_id"] == document["goroutine_id"] != 1
    assert len(again["values"]) == 2


def test_nothing(farm):
    skip_if(attach_reason())
    process = farm.process("panics", CENTRAL, ("sleep",))
    done = run_cli(["attach", process.pid, "panic"])
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "Nothing has ended the program, and no goroutine panics.\n"
    )
    done = run_cli(["attach", process.pid, "panic", "--json"])
    document = json.loads(done.stdout)
    assert document["kind"] is document["goroutine_id"] is None
    assert document["values"] == [] and document["signal"] is None
