# SPDX-License-Identifier: Apache-2.0
"""Wrong input of every sort ends in one line and exit status 1."""

import os
import re
import shutil
import subprocess

import pytest

from mutate import HEADER, SEGMENT_FIELDS, Core, copy_sparse, symbols
from asking import SCANNER
from session import gdb_bears, one_line, run_cli, run_gdb
from session import run_goref
from targets import Target, kernel_cores_reason, skip_if, start
from toolchains import Variant, build, build_c, go_binary, go_environment
from toolchains import variants

CENTRAL = Variant("go1.24", "default")

C_PROGRAM = """
#include <stdio.h>
int main(void)
{
	printf("{\\"held\\": {}, \\"places\\": {}}\\n");
	fflush(stdout);
	return getchar();
}
"""


def assert_one_line(run, *words):
    """The run failed, with one line that has all these words in it."""
    assert run.rc == 1, (run.rc, run.stdout, run.stderr)
    lines = run.error_lines()
    assert len(lines) == 1, lines
    assert "Traceback" not in run.stderr
    for word in words:
        assert word.lower() in lines[0].lower(), (word, lines[0])


@pytest.mark.parametrize("command", ["goref scan", "goref why 0xc000000000"])
def test_nothing_to_scan(command):
    assert_one_line(run_gdb([], [command]))


def test_executable_without_process(farm):
    exe = build("rest", CENTRAL.release)
    assert_one_line(run_gdb([exe], ["goref scan"]))


def test_core_of_a_c_program():
    skip_if(kernel_cores_reason())
    process = start(build_c(C_PROGRAM))
    try:
        process.popen.send_signal(6)
        process.popen.wait(timeout=60)
        core = next(process.folder.glob("core*"))
        assert_one_line(run_gdb([process.exe, core], ["goref scan"]), "Go")
    finally:
        process.stop()


@variants("nodwarf")
def test_no_dwarf(farm, variant):
    target = farm.target("rest", variant)
    run = run_goref(target, ["goref scan --json"])
    assert run.rc == 0, run.stderr
    [warning] = [w for w in run.json()["warnings"] if "debug inf" in w]
    assert ".gnu_debuglink" in warning


def identities(exe, release):
    """Go's build id and GNU's, where there is one."""
    found = set()
    done = subprocess.run(
        [go_binary(release), "tool", "buildid", exe],
        capture_output=True, text=True, env=go_environment(),
    )  # fmt: skip
    if done.returncode == 0:
        found.add(done.stdout.strip()[:8])
    if shutil.which("readelf"):
        done = subprocess.run(["readelf", "-n", exe], capture_output=True,
                              text=True)  # fmt: skip
        found |= {m[:8] for m in re.findall(r"Build ID: (\w+)", done.stdout)}
    return {f for f in found if f}


@variants("default")
def test_executable_of_another_program(farm, variant):
    target = farm.target("rest", variant)
    other = build("shared", variant.release)
    wrong = Target("core", other, target.truth, core=target.core)
    run = run_goref(wrong, ["goref scan"])
    assert_one_line(run)
    line = run.error_lines()[0]
    for exe in (target.exe, other):
        names = identities(exe, variant.release)
        assert any(n in line for n in names), (names, line)


@variants("default")
def test_executable_of_another_build(farm, variant):
    """The same program, built again with other flags."""
    target = farm.target("rest", variant)
    other = build("rest", variant.release, "noopt")
    wrong = Target("core", other, target.truth, core=target.core)
    run = run_goref(wrong, ["goref scan"])
    assert_one_line(run)
    assert str(other) in run.error_lines()[0]


def damaged(target, tmp_path, change):
    """A copy of a core with bytes of its headers changed."""
    path = tmp_path / "core.damaged"
    copy_sparse(target.core, path)
    core = Core(path)
    change(core)
    core.close()
    return Target("core", target.exe, target.truth, core=path)


def put(offset, value, size=8):
    """Change `size` bytes of the file."""

    def change(core):
        data = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
        core.data[offset : offset + size] = data

    return change


@pytest.mark.parametrize(
    "change, word",
    [
        (put(4, 1, 1), "32-bit"),
        (put(5, 2, 1), "big-endian"),
        (put(18, 243, 2), "RISC-V"),
        (put(16, 2, 2), "core"),
    ],
    ids=["32-bit", "big-endian", "other machine", "no core"],
)
def test_core_of_another_kind(farm, tmp_path, change, word):
    """gdb itself may refuse it; then it has no core, which is said."""
    target = damaged(farm.target("rest", CENTRAL), tmp_path, change)
    done = subprocess.run(
        [SCANNER, target.exe, target.core], capture_output=True, text=True
    )
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and word in lines[0], lines
    if gdb_bears(target.exe, target.core):
        assert_one_line(run_goref(target, ["goref scan"]))


def each_load(field, value):
    """Set a field of every program header of memory but the first ten."""

    def change(core):
        loads = [
            at for at in core.headers
            if HEADER.unpack_from(core.data, at)[0] == 1
        ]  # fmt: skip
        for at in loads[10:]:
            place = at + SEGMENT_FIELDS[field]
            core.data[place : place + 8] = value.to_bytes(8, "little")

    return change


@pytest.mark.parametrize(
    "change",
    [
        each_load("vaddr", 0xC000000000),
        each_load("memsz", 1 << 63),
        each_load("filesz", 1 << 62),
        each_load("offset", (1 << 64) - 8),
        put(56, 0xFFFE, 2),
    ],
    ids=["overlapping", "huge in memory", "huge in the file", "far off",
         "more headers than there are"],
)  # fmt: skip
def test_absurd_program_headers(farm, tmp_path, change):
    """One line, or what is left is scanned: never more than that."""
    target = damaged(farm.target("rest", CENTRAL), tmp_path, change)
    run = run_goref(target, ["goref scan --json"], timeout=60)
    assert run.rc in (0, 1), (run.rc, run.stderr)
    if run.rc:
        assert_one_line(run)
    else:
        assert "gaps" in run.json(0)
    assert "Traceback" not in run.stderr


def all_loads(field, value):
    """Set a field of every program header of memory."""

    def change(core):
        for at in core.headers:
            if HEADER.unpack_from(core.data, at)[0] == 1:
                place = at + SEGMENT_FIELDS[field]
                core.data[place : place + 8] = value.to_bytes(8, "little")

    return change


@pytest.mark.parametrize(
    "field, value",
    [("filesz", 1 << 63), ("filesz", 1 << 62), ("vaddr", (1 << 64) - 4096)],
)
def test_no_program_header_makes_sense(farm, tmp_path, field, value):
    """That is said, and nothing is read where they point to."""
    change = all_loads(field, value)
    target = damaged(farm.target("rest", CENTRAL), tmp_path, change)
    run = run_goref(target, ["goref scan"])
    assert_one_line(run, "program headers of the core", "make no sense")
    assert "TiB" not in run.stderr and "warning:  is" not in run.stderr


def zeros(core):
    """All that the program could write reads as zeros."""
    for at in core.headers:
        kind, flags, offset, _, _, size, _, _ = HEADER.unpack_from(
            core.data, at
        )
        if kind == 1 and flags & 2:
            core.data[offset : offset + size] = bytes(size)


def test_core_of_zeros(farm, tmp_path):
    target = damaged(farm.target("rest", CENTRAL), tmp_path, zeros)
    run = run_goref(target, ["goref scan"])
    assert_one_line(run, "buildVersion is empty", "zeros")


def test_search_where_memory_is_missing(farm, tmp_path):
    """The error about a lack of debug information says what is needed."""
    target = farm.target("rest", Variant("go1.24", "nodwarf"))
    heap = symbols(target.exe)["runtime.mheap_"]

    def drop(core):
        for at in core.headers:
            _, _, _, start, _, size, _, _ = HEADER.unpack_from(core.data, at)
            if start <= heap < start + size:
                put(at + SEGMENT_FIELDS["filesz"], 0)(core)

    run = run_goref(damaged(target, tmp_path, drop), ["goref scan"])
    assert_one_line(run, "cannot read")
    assert "(cannot read" not in run.error_lines()[0], run.error_lines()


@pytest.mark.parametrize("flavour", ["default", "nodwarf"])
def test_reason_of_an_error(farm, tmp_path, flavour):
    """The error has all that is known to be wrong with a core."""
    target = farm.target("rest", Variant("go1.24", flavour))
    short = truncated(target, tmp_path, 0)
    core = Core(short.core)
    address = symbols(target.exe)["runtime.gcphase"]
    least = max(s[1] for s in core.segments if s[1] <= core.offset(address))
    core.close()
    os.truncate(short.core, least + 1)
    run = run_goref(short, ["goref scan"])
    assert_one_line(run, "truncated")
    line = run.error_lines()[0]
    assert not line.startswith("goref: cannot read"), line


def truncated(target, tmp_path, missing):
    core = tmp_path / "core.short"
    shutil.copy(target.core, core)
    os.truncate(core, core.stat().st_size - missing)
    return Target("core", target.exe, target.truth, core=core)


@variants("default")
def test_core_without_its_last_page(farm, variant, tmp_path):
    """All that is there is scanned, and the rest is said to be missing."""
    short = truncated(farm.target("rest", variant), tmp_path, 4096)
    run = run_goref(short, ["goref scan --json"])
    assert run.rc == 0, run.stderr
    said = run.stdout + run.stderr
    assert "truncated" in said or "missing" in said
    assert run.json(0)["reached"]["objects"] > 30000


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.9, 0.999])
def test_core_without_much(farm, tmp_path, share):
    """Whatever is left of a core, an end is reached."""
    target = farm.target("rest", CENTRAL)
    missing = int(target.core.stat().st_size * share)
    short = truncated(target, tmp_path, missing)
    run = run_goref(short, ["goref scan"])
    assert run.rc in (0, 1), (run.rc, run.stderr)
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("out", ["no/such/folder/refs.pb", "."])
def test_output_not_writable(farm, tmp_path, out):
    """Known before the scan: nothing of a scan is printed."""
    target = farm.target("rest", CENTRAL)
    run = run_goref(target, [f"goref scan --out {tmp_path / out}"])
    assert_one_line(run, str(tmp_path))
    assert "main." not in run.parts[0]


def test_output_of_a_failed_scan(tmp_path):
    """A scan that fails leaves no file behind."""
    out = tmp_path / "refs.pb"
    assert run_gdb([], [f"goref scan --out {out}"]).rc == 1
    assert not out.exists()


@pytest.mark.parametrize("place", ["$rsp", "-1", "(char)-2", "main.f(3)"])
@pytest.mark.parametrize("verb", ["why", "scan", "object", "dominators"])
def test_expressions_of_gdb_are_for_gdb(farm, verb, place):
    """Elsewhere, a line says what goref understands."""
    target = farm.target("rest", CENTRAL)
    done = run_cli(["core", target.exe, target.core, verb, "--", place])
    one_line(done, 1, f'"{place}"', "goref understands addresses, variables",
             "(main.cache.head)", "in gdb, gdb's expressions, too")  # fmt: skip


def test_info_goref(farm):
    run = run_goref(
        farm.target("rest", CENTRAL),
        ["info goref", "goref scan --json", "info goref"],
    )
    assert run.rc == 0, run.stderr
    assert "go1.24" in run.parts[2]
    count = run.json(1)["reached"]["objects"]
    digits = re.sub(r"[,_ ]", "", run.parts[2])
    assert str(count) in digits


def test_single_dash_options(farm, tmp_path):
    """gdb's own commands take -option; so do these."""
    out = tmp_path / "refs.pb"
    run = run_goref(
        farm.target("rest", CENTRAL), [f"goref scan -json -out {out} -top 3"]
    )
    assert run.rc == 0, run.stderr
    assert run.json(0)["out"] == str(out)
    assert out.exists()


def test_status_is_that_of_the_last_command(farm):
    target = farm.target("rest", CENTRAL)
    run = run_goref(target, ["goref scan --nonsense", "goref scan"])
    assert run.rc == 0
    run = run_goref(target, ["goref scan", "goref scan --nonsense"])
    assert run.rc == 1


def why(target, *questions, **options):
    asked = [f"goref why {q} --json" for q in questions]
    run = run_goref(target, asked, **options)
    return [run.json(n) for n in range(len(questions))]


@variants("default")
def test_why_of_what_is_no_object(farm, variant):
    """A stack, text, data and nothing at all."""
    target = farm.target("rest", variant)
    places = ("0x10", "$sp", "&main.users", "$pc")
    answers = why(target, *places, in_gdb=True)
    for answer in answers:
        assert not answer.get("object"), answer
        assert not answer.get("reachable"), answer
    run = run_goref(target, ["goref why 0x10", "goref why &main.users"])
    assert "unmapped" in run.parts[0]
    assert re.search(r"\b(data|bss)\b", run.parts[1])


def test_why_of_free_memory(farm):
    """A small program has used the start of the heap's first arena, 64 MiB."""
    target = farm.target("generics", CENTRAL)
    run = run_goref(target, ["goref why 0xc003fff000"])
    assert "free memory of the Go heap" in run.parts[0]


@variants("default")
def test_why_takes_what_people_paste(farm, variant):
    target = farm.target("shared", variant)
    address = target.places["sNear"]
    answers = why(
        target,
        address,
        f"*(*main.Chain)({address})",
        f"(*main.Chain)({address})",
        "main.sNear",
    )
    bases = {str(a["object"]["base"]) for a in answers}
    assert len(bases) == 1, answers
    assert {a["root"]["name"] for a in answers} == {"main.sNear"}
    assert {a["object"]["type"] for a in answers} == {"main.Chain"}


def test_why_of_a_variable_without_an_object(farm):
    """A function of the program's text is no object of the heap, and what
    the next variable holds is no answer."""
    target = farm.target("values", CENTRAL)
    answer = why(target, "main.vFuncPlain")[0]
    assert not answer["object"], answer
    assert not answer["reachable"], answer


def without_ends_of_units(exe, path):
    """A copy of an executable in which each unit of debug information ends
    with an entry of no known kind."""
    said = subprocess.run(
        ["readelf", "-SW", exe], capture_output=True, text=True, check=True
    ).stdout
    found = re.search(r" \.debug_info +\w+ +\w+ (\w+) (\w+)", said)
    at, size = (int(number, 16) for number in found.groups())
    data, end = bytearray(exe.read_bytes()), at + size
    while at < end:
        at += 4 + int.from_bytes(data[at : at + 4], "little")
        data[at - 1] = 0x72
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    "expression, status", [("main.users", 0), ("no.such + 1", 1)]
)
def test_symbols_that_gdb_cannot_read(farm, tmp_path, expression, status):
    """Expressions that goref understands itself need no symbols of gdb's."""
    variant = Variant(CENTRAL.release, "plain-dwarf")
    target = farm.target("rest", variant)
    exe = without_ends_of_units(target.exe, tmp_path / "exe")
    done = run_cli(["core", exe, target.core, "scan", expression])
    assert done.returncode == status, done.stderr
    lines = [x for x in done.stderr.splitlines() if "warning" not in x]
    assert len(lines) == status, done.stderr
