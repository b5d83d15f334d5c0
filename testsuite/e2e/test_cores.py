# SPDX-License-Identifier: Apache-2.0
"""Cores as they come: of every way to die, of every sort of writer, with
parts left out on purpose, with very many segments, compressed."""

import os
import shutil
import struct
import subprocess

import pytest

from session import GOREF, environment, run_cli, run_goref
from targets import Target, attach_reason, delve_core, kernel_core
from targets import kernel_cores_reason, skip_if
from toolchains import Variant, variants

CENTRAL = Variant("go1.24", "default")
PT_LOAD, PN_XNUM = 1, 0xFFFF
PAGE = 4096


def check_whole(target, run):
    """Verified, without a gap; run: verify, then scan, as JSON."""
    assert run.rc == 0, run.stderr
    verdict, ledger = run.json(0), run.json(1)
    assert verdict["unexplained"] == 0
    assert verdict["free_slot_pointers"] == 0
    missing = verdict["allocated_objects"] - verdict["reached_objects"]
    assert 0 <= missing <= 2
    assert not any(ledger["gaps"].values()), ledger["gaps"]
    truth = target.truth["heap"]
    assert abs(verdict["allocated_objects"] - truth["objects"]) <= 8


def verify(target):
    return run_goref(target, ["goref verify --json", "goref scan --json"])


def ended(farm, program, variant, args=(), prepare=None, end=None):
    """A core of a process that is prepared, and then ended."""
    skip_if(kernel_cores_reason())
    process = farm.process(program, variant, args)
    if program != "crash":
        process.rest()
    if prepare:
        prepare(process)
    core = kernel_core(process, end and (lambda: end(process)))
    return Target("core", process.exe, process.truth, core=core)


# ------------------------------------------------------------ ways to die


@variants("default")
@pytest.mark.parametrize(
    "how", ["panic", "nil", "fault", "overflow", "throw", "abort"]
)
def test_ways_to_die(farm, variant, how, tmp_path):
    """GOTRACEBACK=crash: the runtime prints its traces, then aborts. What the
    program held before is held still."""

    def end(process):
        process.popen.stdin.write(b"\n")
        process.popen.stdin.flush()

    target = ended(farm, "crash", variant, (how,), end=end)
    out = tmp_path / "refs.pb"
    run = run_goref(
        target,
        ["goref verify --json", f"goref scan --json --out {out}",
         f"goref why {target.places['holdWaiting']} --json"],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    verdict, ledger = run.json(0), run.json(1)
    assert verdict["unexplained"] == 0, verdict
    assert verdict["free_slot_pointers"] == 0
    gaps = {k: v for k, v in ledger["gaps"].items() if v}
    # Words of frames that were interrupted may be stale.
    for expected in "conservative_frames", "conservative_free_slots":
        gaps.pop(expected, None)
    assert gaps == {}
    # Registers of what was running are taken as they are, too: one may be the
    # nearest root of an object that a variable holds, or have one of its own.
    for name, truth in target.held.items():
        roots = [r for r in ledger["roots"] if r["name"].startswith(name)]
        registers = sum(
            r["objects"] for r in roots if r["kind"] == "register"
        )
        billed = sum(r["objects"] for r in roots) - registers
        assert billed <= truth["objects"] <= billed + registers, name
    assert run.json(2)["path"][0]["name"].startswith("main.holdWaiting.")


# --------------------------------------------------- what the kernel leaves


@pytest.mark.parametrize(
    "bits", [0x33, 0x23, 0x3F, 0x7F, 0x31, 0x21, 0x13, 0x11, 0x3, 0x1]
)
@variants("default", newest=("pie",))
def test_filter_with_the_heap(farm, variant, bits):
    """/proc/PID/coredump_filter: as long as private memory is written, all
    that matters is there; constant pages come from the executable."""
    target = ended(farm, "rest", variant, prepare=filter_by(bits))
    check_whole(target, verify(target))


def filter_by(bits):
    def prepare(process):
        with open(f"/proc/{process.pid}/coredump_filter", "w") as file:
            file.write(hex(bits))

    return prepare


@pytest.mark.parametrize("bits", [0x0, 0x2, 0x4, 0x10, 0x32])
@variants("default")
def test_filter_without_the_heap(farm, variant, bits):
    """Nothing to go by: one line, and no numbers."""
    target = ended(farm, "rest", variant, prepare=filter_by(bits))
    run = run_goref(target, ["goref scan"])
    assert run.rc == 1
    lines = run.error_lines()
    assert len(lines) == 1, lines
    assert "coredump_filter" in lines[0], lines
    assert "anonymous private memory" in lines[0], lines
    assert "reached" not in run.stdout


# ------------------------------------------------------------------- Delve


@variants("default", "pie")
def test_delve_dump(farm, variant):
    skip_if(attach_reason())
    process = farm.process("rest", variant)
    process.rest()
    core = delve_core(process)
    target = Target("delve", process.exe, process.truth, core=core)
    check_whole(target, verify(target))


# --------------------------------------------------------- many segments


def many_segments(core, out, least):
    """The same core cut into more segments than a header can count: a page
    each, and ones without bytes behind all others, as reserved memory is.
    The count is then in the first section header (core(5), PN_XNUM)."""
    data = core.read_bytes()
    phoff = struct.unpack_from("<Q", data, 32)[0]
    count = struct.unpack_from("<H", data, 56)[0]
    headers = []
    for i in range(count):
        header = struct.unpack_from("<IIQQQQQQ", data, phoff + 56 * i)
        kind, flags, off, addr, phys, size, memory, align = header
        if kind != PT_LOAD or not size:
            headers.append(header)
            continue
        for at in range(0, size, PAGE):
            piece = min(PAGE, size - at)
            headers.append(
                (kind, flags, off + at, addr + at, phys, piece, piece, align)
            )
    end = 0x7F00_0000_0000
    while len(headers) < least:
        headers.append((PT_LOAD, 0, 0, end, 0, 0, PAGE, PAGE))
        end += 2 * PAGE
    shoff = (len(data) + 7) & ~7
    table = shoff + 64
    head = bytearray(data[:64])
    struct.pack_into("<QQ", head, 32, table, shoff)
    struct.pack_into("<HHHHH", head, 54, 56, PN_XNUM, 64, 1, 0)
    section = struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, 1, 0,
                          len(headers), 0, 0)  # fmt: skip
    with open(out, "wb") as file:
        file.write(head + data[64:])
        file.seek(shoff)
        file.write(section)
        for header in headers:
            file.write(struct.pack("<IIQQQQQQ", *header))
    return len(headers)


@variants("default")
def test_more_segments_than_65535(farm, variant, tmp_path):
    """Made of a real core: how many mappings a process may have is the
    machine's to say (vm.max_map_count), and usually fewer."""
    whole = farm.target("rest", variant)
    core = tmp_path / "core.many"
    assert many_segments(whole.core, core, 70000) > 65535
    target = Target("core", whole.exe, whole.truth, core=core)
    many = verify(target)
    check_whole(target, many)
    few = verify(whole)
    for part in 0, 1:
        one, other = many.json(part), few.json(part)
        for key in ("reached_objects", "roots", "types", "gaps"):
            assert one.get(key) == other.get(key), key


# ------------------------------------------------------ pipes, beginnings


def refused_alike(exe, core, *words):
    """In gdb and by the command line, by one line."""
    gdb = Target("core", exe, {}, core=core)
    run = run_goref(gdb, ["goref scan"], in_gdb=True)
    done = run_cli(["core", exe, core], timeout=60)
    for status, said in (
        (run.rc, run.error_lines()),
        (done.returncode, done.stderr.splitlines()),
    ):
        assert status == 1
        assert len(said) == 1, said
        for word in (str(core), *words):
            assert word in said[0], said


@pytest.mark.parametrize("words", ["PIPE CORE", "EXE PIPE", "PIPE"])
def test_fifo(farm, tmp_path, words):
    """Nobody writes to it: to open it would take for ever."""
    whole = farm.target("rest", CENTRAL)
    pipe = tmp_path / "pipe"
    files = {"EXE": whole.exe, "CORE": whole.core, "PIPE": pipe}
    os.mkfifo(pipe)
    done = run_cli(["core", *map(files.get, words.split())], timeout=60)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"goref: {pipe} is a pipe: write it into a file first"
    ]


def test_unpacked_into_a_pipe(farm):
    """As by `goref core EXE <(zstdcat CORE)`."""
    exe = farm.target("rest", CENTRAL).exe
    line = '"$0" core "$1" <(cat "$1")'
    done = subprocess.run(
        ["bash", "-c", line, GOREF, exe],
        capture_output=True, text=True, env=environment(), timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    [said] = done.stderr.splitlines()
    assert "is a pipe: write it into a file first" in said


@pytest.mark.parametrize(
    "size, words",
    [
        (0, ["is empty"]),
        (40, ["truncated", "ELF header", "it has 40"]),
        (64, ["truncated", "program headers", "it has 64"]),
        (None, ["truncated", "notes"]),
    ],
)
def test_only_the_start_of_a_core(farm, tmp_path, size, words):
    whole = farm.target("rest", CENTRAL)
    with open(whole.core, "rb") as file:
        start = file.read(1 << 16)
    phoff, phnum = struct.unpack_from("<Q16xH", start, 32)
    short = tmp_path / "core"
    in_notes = phoff + 56 * phnum + 9
    short.write_bytes(start[: in_notes if size is None else size])
    refused_alike(whole.exe, short, *words)


# ------------------------------------------------------------- compressed

PACKERS = {
    "gz": (["gzip", "-1", "-c"], "gunzip -k"),
    "zst": (["zstd", "-q", "-1", "-c"], "zstd -d"),
    "lz4": (["lz4", "-q", "-1", "-c"], "lz4 -dm"),
    "xz": (["xz", "-0", "-c"], "xz -dk"),
}


@pytest.mark.parametrize("ending", PACKERS)
def test_compressed(farm, tmp_path, ending):
    """The error says what unpacks it: in gdb, and from the command line."""
    line, tool = PACKERS[ending]
    if not shutil.which(line[0]):
        pytest.skip(f"no {line[0]}")
    whole = farm.target("rest", CENTRAL)
    core = tmp_path / f"core.{ending}"
    with open(core, "wb") as file:
        subprocess.run([*line, whole.core], stdout=file, check=True)
    refused_alike(whole.exe, core, f"unpack it first: {tool} {core}")
