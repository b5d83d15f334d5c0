# SPDX-License-Identifier: Apache-2.0
"""The answers that `goref trace` asks for while a process runs: the program,
names of calls, its resident pages by class, and which stack touched them."""

import json
import re
import struct
import subprocess

import pytest

from targets import GDB, attach_reason, skip_if
from test_process import load
from toolchains import ENVIRONMENT, RELEASES, Variant, variants

NEWEST = Variant(RELEASES[-1], "cgo")
# The first bytes of instructions that the kernel emulates for a probe: push,
# call, jmp, a conditional jump.
EMULATED = {*range(0x50, 0x58), 0xE8, 0xE9, 0xEB, *range(0x70, 0x80)}


class Running:
    """A process of a test program, and the scan of it that is prepared."""

    def __init__(self, process):
        self.process = process
        self.scan = load().Scan(
            "native",
            None,
            [(str(process.exe), None, None)],
            (),
            pid=process.pid,
            prepare=True,
            extent="residency",
        )

    def take(self, kind):
        """Have the program take memory of a kind; its answer."""
        self.process.popen.stdin.write(f"{kind}\n".encode())
        self.process.popen.stdin.flush()
        answer = json.loads(self.process.read_line())
        self.process.rest()
        return answer

    def read(self, address, count=8):
        with open(f"/proc/{self.process.pid}/mem", "rb", 0) as memory:
            memory.seek(address)
            return memory.read(count)

    def word(self, address):
        return int.from_bytes(self.read(address), "little")


@pytest.fixture
def running(farm):
    skip_if(attach_reason())

    def run(variant, program=None, args=()):
        # The program that grows has C.
        has_c = variant.flavour in ENVIRONMENT
        program = program or ("touched" if has_c else "labelled")
        process = farm.process(program, variant, args)
        process.rest()
        return Running(process)

    yield run
    for program in ("touched", "labelled", "sampled"):
        farm.forget(program)


def fs_bases(pid):
    """{number of a thread: its fs_base}, as gdb tells."""
    done = subprocess.run(
        [GDB, "-nx", "-batch", "-iex", "set auto-load python-scripts off",
         "-iex", "set debuginfod enabled off", "-p", str(pid),
         "-ex", "thread apply all print/x $fs_base"],
        capture_output=True,
        text=True,
    )  # fmt: skip
    found = re.findall(r"LWP (\d+)\b.*:\n\$\d+ = (0x[0-9a-f]+)", done.stdout)
    assert found, done.stdout + done.stderr
    return {int(tid): int(base, 16) for tid, base in found}


@variants("cgo", newest=("default", "pie", "external", "cgo-stripped"))
def test_where_threads_keep_their_g(running, variant):
    """The g that is found by a thread's fs_base leads to the thread's m, which
    leads back."""
    one = running(variant)
    facts = one.scan.trace_facts()
    off = {row.name: row.bytes for row in facts.offsets}
    assert len(off) == 10
    matched = 0
    for tid, base in fs_bases(one.process.pid).items():
        g = one.word(base + facts.tls_g)
        if not g:
            continue
        m = one.word(g + off["g_m"])
        g0, curg = one.word(m + off["m_g0"]), one.word(m + off["m_curg"])
        assert g in (g0, curg), (tid, g)
        for each in filter(None, (g0, curg)):
            assert one.word(each + off["g_m"]) == m
        low, high = (one.word(g0 + off[f"g_stack_{n}"]) for n in ("lo", "hi"))
        assert low < one.word(g0 + off["g_sched_sp"]) < high
        matched += 1
        if curg:
            assert one.word(curg + off["g_goid"]) >= 1
    assert matched > 2


@variants("cgo", newest=("default", "pie", "cgo-stripped"))
def test_tables_of_functions(running, variant):
    """Each function of the tables begins where the table says that it does,
    and its first pc-value table begins in pctab."""
    one = running(variant)
    [module] = one.scan.trace_facts().modules
    assert module.text == module.text_start < module.etext
    ftab = one.read(module.ftab_addr, 8 * module.ftab_count)
    entries = list(struct.iter_unpack("<II", ftab))
    assert entries[0][0] == 0
    starts = [entry for entry, _ in entries]
    assert starts == sorted(starts)
    assert starts[-1] <= module.etext - module.text_start
    table = one.read(module.pclntable_addr, module.pclntable_bytes)
    for entry, off in entries[: -1 : len(entries) // 50]:
        record = struct.unpack_from("<IiiII", table, off)
        assert record[0] == entry
        assert record[4] < module.pctab_bytes


@variants("cgo", newest=("default", "pie", "cgo-stripped"))
def test_probe_of_the_runtime_s_samples(running, variant):
    one = running(variant)
    probe = one.scan.trace_facts().probe
    assert probe.place == "past_check"
    assert one.read(probe.addr, 1)[0] in EMULATED
    [[call]] = one.scan.name_frames([probe.addr])
    assert call.function == "runtime.mProf_Malloc"
    # Since Go 1.23, the first argument is an m.
    has_m = int(variant.release.partition(".")[2]) >= 23
    registers = probe.pointer_register, probe.size_register
    assert registers == ((3, 2) if has_m else (0, 3))


@pytest.mark.parametrize(
    "program, args, flavour, wanted",
    [
        ("touched", (), "cgo", ("removed", 0)),
        ("touched", (), "cgo-stripped", ("unknown", None)),
        ("sampled", ("1000",), "default", ("on", 1000)),
        ("sampled", ("off",), "default", ("off", 0)),
    ],
)
def test_is_memory_profiled(running, program, args, flavour, wanted):
    """The linker switches it off in a program that does not read it."""
    one = running(Variant(RELEASES[-1], flavour), program, args)
    facts = one.scan.trace_facts()
    assert (facts.profiling, facts.profile_rate) == wanted


@variants("cgo", newest=("cgo-stripped",))
def test_names_of_calls(running, variant):
    """As the runtime itself names them, inlined calls too."""
    one = running(variant)
    truth = one.take("calls")
    calls, none = one.scan.name_frames([truth["pc"], 5])
    assert none == ()
    assert [
        {"function": c.function, "file": c.file, "line": c.line} for c in calls
    ] == truth["calls"]
    assert [c.is_inlined for c in calls] == [True, True, False]


@variants("cgo", newest=("cgo-stripped",))
def test_labels(running, variant):
    one = running(variant)
    address = int(one.take("labels")["start"], 16)
    labels = one.scan.labels_at(address)
    assert [(label.key, label.value) for label in labels] == [
        ("route", "/v1/pay"),
        ("tenant", "acme"),
    ]
    for nothing in (0, 5, address + 1, (1 << 64) - 8):
        assert one.scan.labels_at(nothing) == ()
