# SPDX-License-Identifier: Apache-2.0
"""The answers that `goref trace` asks for while a process runs: the program,
names of calls, its resident pages by class, and which stack touched them."""

import collections
import json
import re
import struct
import subprocess
from pathlib import Path

import pytest

from targets import GDB, attach_reason, skip_if
from test_process import load, look
from toolchains import ENVIRONMENT, RELEASES, Variant, variants
from waiting import looks

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
    for program in ("touched", "labelled", "sampled", "sites"):
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


# ------------------------------------------------------------------- ticks


def smaps_bytes(pid):
    lines = Path(f"/proc/{pid}/smaps").read_text().splitlines()
    return 1024 * sum(
        int(line.split()[1]) for line in lines if line.startswith("Rss:")
    )


PAGE = 4096
MIB = 1 << 20
IN_KERNEL, MAPPED, GIVEN_BACK, BRIEF = 1, 2, 4, 8


def event(address, stack, flags=0, count=0):
    """An event as goref-trace sends it."""
    return struct.pack("<QIIQ", address & -PAGE, stack, flags, count)


def faults(start, count, stack, step=PAGE):
    """A fault for each page of memory."""
    end = (start + count + PAGE - 1) & -PAGE
    return b"".join(
        event(page, stack) for page in range(start & -PAGE, end, step)
    )


class Traced(Running):
    """A process, and its growth by class since the tick before."""

    def __init__(self, process):
        super().__init__(process)
        self.growth = load().Growth(self.scan)
        self.last = {}
        self.flow = collections.Counter()
        self.tick()

    def tick(self, has_gaps=False):
        """The growth since the last tick; classes add up to smaps of the process,
        which does nothing. It may take several looks: self.flow is the sum of
        theirs."""
        self.flow = collections.Counter()
        for _ in looks():
            self.process.rest()
            tick = self.growth.tick(has_gaps)
            for name in "new_bytes", "gone_bytes", "unattributed_bytes":
                self.flow[name] += getattr(tick, name)
            # The kernel may take pages of files back at any time.
            is_exact = tick.residency == "exact"
            if is_exact and tick.total_bytes == smaps_bytes(self.process.pid):
                break
        else:
            pytest.fail("the classes never add up to smaps")
        assert tick.has_spans and tick.bad_spans == 0
        assert tick.total_bytes == tick.rss_bytes
        found = {row.name: row.bytes for row in tick.classes}
        assert sum(found.values()) == tick.total_bytes
        before = sum(self.last.values())
        if before:
            flow = self.flow
            assert tick.total_bytes - before == (
                flow["new_bytes"] - flow["gone_bytes"]
            )
        grown = {
            name: found.get(name, 0) - self.last.get(name, 0)
            for name in {*found, *self.last}
        }
        self.last = found
        return tick, grown

    def stacks(self):
        """{(stack, class): bytes}, which add up to the pages."""
        rows = self.growth.stacks(10000)
        assert [r.bytes for r in rows] == sorted(
            (r.bytes for r in rows), reverse=True
        )
        pages = list(struct.iter_unpack("<QQQQII", self.growth.pages()))
        assert all(a[1] <= b[0] for a, b in zip(pages, pages[1:]))
        for stack in {page[4] for page in pages}:
            assert sum(p[1] - p[0] for p in pages if p[4] == stack) == sum(
                r.bytes for r in rows if r.stack == stack
            )
        assert len(self.growth.stacks(1)) == min(1, len(rows))
        return {(r.stack, r.class_name): r.bytes for r in rows}


@pytest.fixture
def traced(farm):
    skip_if(attach_reason())

    def run(variant):
        process = farm.process("touched", variant)
        process.rest()
        return Traced(process)

    yield run
    farm.forget("touched")


KINDS = [
    ("objects", "go_heap"),
    ("large", "go_heap"),
    ("blocks", "c_heap"),
    ("chunk", "c_heap"),
    ("mapping", "anonymous_mappings"),
    ("stack", "thread_stacks"),
    ("file", "mapped_files"),
    ("bss", "modules"),
]


@variants("cgo", newest=("cgo-stripped",))
def test_known_amounts(traced, variant):
    """Each kind of memory grows its class by its amount, and these pages have
    the stack of their faults."""
    one = traced(variant)
    for stack, (kind, name) in enumerate(KINDS, 1):
        answer = one.take(kind)
        start, count = int(answer["start"], 16), answer["bytes"]
        one.growth.add_events(faults(start, count, stack))
        tick, grown = one.tick()
        # The runtime and libc take some memory beside it: a span of each size
        # of objects, for each P.
        beside = 256 << 10 if name == "go_heap" else 32 << 10
        if kind == "mapping" and "stripped" in variant.flavour:
            # The kernel may join it with memory of the runtime, and nothing
            # tells how far that goes.
            name = max(("anonymous_mappings", "go_runtime"), key=grown.get)
        assert count - PAGE <= grown[name] <= count + beside, kind
        assert tick.lost_events == 0
        if kind == "objects":
            continue  # they do not lie together
        owned = {s: b for s, b in one.stacks().items() if s[0] == stack}
        assert count - 2 * PAGE <= owned.pop((stack, name))
        assert sum(owned.values()) <= 6 * PAGE
        # A page of it has what was there before.
        flow = one.flow
        assert (
            flow["new_bytes"] - flow["unattributed_bytes"] >= count - 2 * PAGE
        )
    tick, _ = one.tick()
    assert tick.tracked_bytes == sum(one.stacks().values())


@variants("cgo")
def test_stacks_of_goroutines(traced, variant):
    one = traced(variant)
    one.take("goroutines")
    _, grown = one.tick()
    assert grown["go_stacks"] > 100 * 128 * 100
    assert one.stacks()[0, "go_stacks"] == grown["go_stacks"]
    assert one.flow["unattributed_bytes"] == one.flow["new_bytes"]


def test_pages_without_a_fault(traced):
    """One fault in 64 KB of a file; memory that was populated as it was
    mapped; and pages that no event tells of."""
    one = traced(NEWEST)
    answer = one.take("file")
    start, count = int(answer["start"], 16), answer["bytes"]
    one.growth.add_events(faults(start, count, 1, step=64 << 10))
    one.tick()
    assert one.stacks()[1, "mapped_files"] == count
    answer = one.take("mapping")
    start = int(answer["start"], 16)
    half = answer["bytes"] // 2
    one.growth.add_events(event(start, 2, MAPPED, half))
    tick, _ = one.tick()
    stacks = one.stacks()
    assert stacks[2, "anonymous_mappings"] == half
    assert stacks[0, "anonymous_mappings"] >= half
    assert one.flow["unattributed_bytes"] >= half
    assert tick.tracked_bytes == sum(stacks.values())
    # A page was touched after the events had been taken.
    one.growth.add_events(event(start, 4))
    one.tick()
    assert one.stacks()[2, "anonymous_mappings"] == half - PAGE
    assert one.stacks()[4, "anonymous_mappings"] == PAGE


def test_pages_without_a_fault_where_events_are_missing(traced):
    """Another stack may have touched them, and nobody knows that."""
    one = traced(NEWEST)
    answer = one.take("file")
    start, count = int(answer["start"], 16), answer["bytes"]
    one.growth.add_events(faults(start, count, 1, step=64 << 10))
    one.tick(has_gaps=True)
    assert one.stacks()[1, "mapped_files"] == count // 16
    answer = one.take("mapping")
    start, count = int(answer["start"], 16), answer["bytes"]
    one.growth.add_events(event(start, 2, MAPPED, count))
    one.growth.add_events(faults(start, PAGE, 3))
    one.tick(has_gaps=True)
    stacks = one.stacks()
    assert stacks[3, "anonymous_mappings"] == PAGE
    assert 2 not in {stack for stack, _ in stacks}
    assert one.flow["unattributed_bytes"] >= count - PAGE


def test_events_of_pages_that_were_there(traced):
    """A fault does not make a page new; a brief event has no stack; the latest
    one of a page counts; an event may come a tick late."""
    one = traced(NEWEST)
    answer = one.take("mapping")
    start, count = int(answer["start"], 16), answer["bytes"]
    one.growth.add_events(faults(start, count, 1) + faults(start, count, 2))
    one.growth.add_events(event(start, 7, BRIEF))
    one.tick()
    assert one.stacks()[2, "anonymous_mappings"] == count - PAGE
    one.growth.add_events(faults(start, count, 3))
    one.tick()
    assert one.flow["new_bytes"] < 32 * PAGE
    assert one.stacks()[2, "anonymous_mappings"] == count - PAGE
    assert one.stacks()[3, "anonymous_mappings"] == PAGE
    one.growth.add_events(event(start, 9, GIVEN_BACK, count // 2))
    one.growth.add_events(event(start, 4, IN_KERNEL))
    one.tick()
    # The pages around it may have come with it.
    assert one.stacks()[4, "anonymous_mappings"] in (PAGE, 16 * PAGE)
    assert one.flow["new_bytes"] >= PAGE <= one.flow["gone_bytes"]


def test_what_cannot_be_events(traced):
    one = traced(NEWEST)
    with pytest.raises(load().ArgumentError, match="24 bytes each"):
        one.growth.add_events(b"\0" * 25)
    one.growth.add_events(b"")
    one.growth.add_events(event(-1 & (1 << 64) - 1, 1, MAPPED, (1 << 64) - 1))
    one.growth.add_events(event(0, 1, GIVEN_BACK, (1 << 64) - 1))
    one.tick()


def test_memory_limit(traced):
    """To sort many events takes more memory than there may be: the tick fails,
    and they are those of the next one."""
    one = traced(NEWEST)
    one.scan.set_memory_limit(1 << 20)
    one.tick()  # some MiB are always permitted
    answer = one.take("mapping")
    start, count = int(answer["start"], 16), answer["bytes"]
    batch = faults(start, count, 5) * 100
    for _ in range(64 << 20 >> 4 >> 16):
        one.growth.add_events(batch)
    with pytest.raises(load().MemoryLimitError):
        one.growth.tick()
    one.scan.set_memory_limit(0)
    one.tick()
    assert one.stacks()[5, "anonymous_mappings"] >= count - 2 * PAGE


def test_running_threads_have_stacks(traced):
    """Whoever traces tells where a thread that runs has its stack."""
    one = traced(NEWEST)
    address = int(one.take("stack")["start"], 16)
    one.growth.add_stack_pointer(address)
    one.growth.add_stack_pointer(5)
    _, grown = one.tick()
    assert grown["thread_stacks"] >= 1 << 20
    one.growth.add_stack_pointer(address)
    one.tick()


def referenced(pid, address):
    """The bytes of the mapping at an address that were used."""
    found = None
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        key, _, rest = line.partition(":")
        span = line.split(" ", 1)[0]
        if "-" in span:
            start, end = (int(word, 16) for word in span.split("-"))
            found = start <= address < end
        elif key == "Referenced" and found:
            return 1024 * int(rest.split()[0])
    raise AssertionError(hex(address))


def test_a_tick_uses_no_memory(traced):
    """It looks for blocks of C in new pages alone: pages that it has seen are
    not read again, and would look used."""
    one = traced(NEWEST)
    answer = one.take("mapping")
    start = int(answer["start"], 16)
    one.tick()
    assert referenced(one.process.pid, start) >= answer["bytes"]
    Path(f"/proc/{one.process.pid}/clear_refs").write_text("1")
    one.tick()
    one.tick()
    assert referenced(one.process.pid, start) <= 256 << 10


def test_blocks_of_c_stay(traced):
    """Blocks that were found at an earlier tick, beside new ones."""
    one = traced(NEWEST)
    sizes = []
    for _ in range(3):
        sizes.append(one.take("chunk")["bytes"])
        one.tick()
        _, grown = one.tick()
        assert grown["c_heap"] == 0
    assert one.last["c_heap"] >= sum(sizes)


# ------------------------------------------------------- what is in the pages


def groups_of(one, program_pages=None, max_groups=100000):
    """The groups of the pages, which add up to them."""
    scan, _ = look(load(), one.process.pid, "report")
    pages = program_pages or one.growth.pages()
    answer = scan.growth_pages(pages, max_groups)
    total = sum(p[1] - p[0] for p in struct.iter_unpack("<QQQQII", pages))
    found = sum(group.bytes for group in answer.groups)
    assert found + answer.rest_bytes + answer.gone_bytes == total
    assert len(answer.groups) == min(answer.all_groups, max_groups)
    assert [g.bytes for g in answer.groups] == sorted(
        (g.bytes for g in answer.groups), reverse=True
    )
    return answer


@variants("cgo", newest=("cgo-stripped",))
def test_contents_of_pages(traced, variant):
    """Each kind of memory by who holds it."""
    one = traced(variant)
    kinds = ("objects", "large", "goroutines", "blocks", "chunk", "lost",
             "mapping", "file", "stack", "bss")  # fmt: skip
    sizes = {}
    for stack, kind in enumerate(kinds, 1):
        answer = one.take(kind)
        sizes[kind] = answer["bytes"]
        if kind not in ("objects", "goroutines", "lost"):
            start = int(answer["start"], 16)
            one.growth.add_events(faults(start, answer["bytes"], stack))
        one.tick()
    answer = groups_of(one)
    assert answer.gone_bytes < 64 << 10
    # The look tells more apart, but the classes are those of the tick.
    assert {g.class_name for g in answer.groups} <= one.last.keys()
    found = {}
    for g in answer.groups:
        key = g.stack, g.rss_class, g.holder
        found[key] = found.get(key, 0) + g.bytes
    kept = "main.kept"
    if "stripped" in variant.flavour:
        [kept] = {h for s, c, h in found if (s, c) == (2, "go_heap_live")}
    started = [b for (_, c, h), b in found.items()
               if c == "go_stacks" and h and "growStacks" in h]  # fmt: skip
    assert found[2, "go_heap_live", kept] >= sizes["large"]
    assert found[0, "go_heap_live", kept] >= sizes["objects"] - 64 * PAGE
    assert sum(started) >= 100 * 100 * 128
    assert found[0, "c_heap_leaked", "nobody"] >= sizes["large"]
    held = collections.Counter()  # a few pages may have another holder
    for (stack, rss_class, holder), some in found.items():
        if rss_class == "c_heap_c" and holder:
            held[stack] += some
    assert held[4] >= sizes["blocks"] - 2 * PAGE
    assert held[5] >= sizes["chunk"]
    assert found[8, "mapped_files", None] == sizes["file"]
    assert found[9, "thread_stacks", None] >= sizes["stack"]
    # The first page and the last one have other variables, too.
    is_stripped = "stripped" in variant.flavour
    table = "bss of the executable" if is_stripped else "table"
    assert found[10, "modules", table] >= sizes["bss"] - 2 * PAGE
    types = {g.type for g in answer.groups if g.rss_class == "go_heap_live"}
    assert "[]uint8" in types
    few = groups_of(one, max_groups=3)
    assert few.rest_bytes > 0 and few.all_groups >= 8


def test_who_holds_mappings(traced):
    """Mappings that the kernel may join: a variable of Go has one, a variable
    of C another, and no pointer leads to the third."""
    one = traced(NEWEST)
    sizes = {}
    for stack, kind in enumerate(("buffer", "mapping", "pool"), 1):
        answer = one.take(kind)
        start, sizes[kind] = int(answer["start"], 16), answer["bytes"]
        one.growth.add_events(event(start, 9, MAPPED, answer["bytes"]))
        one.growth.add_events(faults(start, answer["bytes"], stack))
        one.tick()
    found = {
        (g.stack, g.rss_class, g.holder): g.bytes
        for g in groups_of(one).groups
        if g.stack
    }
    most = {k: v for k, v in found.items() if v > 64 << 10}
    assert most.keys() == {
        (1, "anonymous_mappings", "main.buffer"),
        (2, "anonymous_mappings", None),
        (3, "anonymous_mappings", "pool"),
    }
    assert all(size >= 3 * MIB - 64 * PAGE for size in most.values())


def test_who_holds_a_mapping_by_a_page_that_is_not_touched(traced):
    """The mapping is what the call has mapped, wherever it was touched; but a
    part that was given up is nobody's."""
    one = traced(NEWEST)
    answer = one.take("guarded")
    start, count = int(answer["start"], 16), answer["bytes"]
    one.growth.add_events(event(start - PAGE, 9, MAPPED, count + PAGE))
    one.growth.add_events(faults(start, count, 1))
    one.tick()

    def holder():
        groups = groups_of(one).groups
        [found] = [g for g in groups if g.stack == 1 and g.bytes > MIB]
        return found.holder

    assert holder() == "main.guarded"
    # The page of the pointer is of another call now.
    one.growth.add_events(event(start - PAGE, 8, MAPPED, PAGE))
    one.tick()
    assert holder() is None


def test_who_holds_a_mapping_in_a_word_without_a_name(traced):
    """It says nothing, and another word has a name."""
    one = traced(NEWEST)
    answer = one.take("paged")
    start, count = int(answer["start"], 16), answer["bytes"]
    one.growth.add_events(event(start, 9, MAPPED, count))
    one.growth.add_events(faults(start, count, 1))
    one.tick()
    assert one.word(0x200000) == start
    [found] = [g for g in groups_of(one).groups if g.stack == 1]
    assert (found.bytes, found.holder) == (count, "pool")


def test_allocation_sites_of_pages(running):
    """The program samples each allocation."""
    one = running(Variant(RELEASES[-1], "default"), "sites", ("1",))
    ranges = []
    for line in Path(f"/proc/{one.process.pid}/maps").read_text().splitlines():
        start, end = (int(x, 16) for x in line.split()[0].split("-"))
        if end < 1 << 47:
            ranges.append(struct.pack("<QQQQII", start, end, 0, 0, 7, 0))
    answer = groups_of(one, b"".join(ranges))
    sampled = [g for g in answer.groups if g.site]
    assert {g.stack for g in answer.groups} == {7}
    assert any(g.site.startswith("main.") for g in sampled)
    assert {g.rss_class for g in sampled} <= {
        "go_heap_live",
        "go_heap_garbage",
    }
    mine = [g for g in answer.groups if (g.type or "").startswith("main.")]
    assert mine and all(g.site for g in mine)


def test_what_cannot_be_pages(running):
    one = running(NEWEST)
    scan, _ = look(load(), one.process.pid, "report")
    wrong = load().ArgumentError
    with pytest.raises(wrong, match="no pages"):
        scan.growth_pages(b"\0" * 23, 5)
    pack = struct.Struct("<QQQQII").pack
    twice = pack(PAGE, 2 * PAGE, 0, 0, 1, 0) * 2
    with pytest.raises(wrong, match="pages are not sorted"):
        scan.growth_pages(twice, 5)
    first = pack(PAGE, 2 * PAGE, PAGE, 3 * PAGE, 1, 0)
    for start, end in ((2, 4), (4, 5), (1, 2)):
        second = pack(3 * PAGE, 4 * PAGE, start * PAGE, end * PAGE, 1, 0)
        with pytest.raises(wrong, match="mappings are not sorted"):
            scan.growth_pages(first + second, 5)
    with pytest.raises(wrong, match="is made already"):
        scan.trace_facts()
    with pytest.raises(wrong, match="not yet made"):
        one.scan.growth_pages(b"", 5)
    assert list(scan.growth_pages(b"", 5).groups) == []


def test_ticks_of_a_busy_process(farm):
    """Whatever happens meanwhile, classes add up to the pages that were
    found, and these to what came and went."""
    skip_if(attach_reason())
    process = farm.process("churn", Variant(RELEASES[-1], "default"))
    one = Running(process)
    growth = load().Growth(one.scan)
    last = growth.tick()
    for _ in range(50):
        tick = growth.tick()
        assert sum(row.bytes for row in tick.classes) == tick.total_bytes
        flow = tick.new_bytes - tick.gone_bytes
        assert tick.total_bytes - last.total_bytes == flow
        assert tick.unattributed_bytes == tick.new_bytes
        pages = struct.iter_unpack("<QQQQII", growth.pages())
        assert sum(p[1] - p[0] for p in pages) == tick.tracked_bytes
        last = tick
    farm.forget("churn")
