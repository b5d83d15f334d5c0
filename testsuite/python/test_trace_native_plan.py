# SPDX-License-Identifier: Apache-2.0
"""goref trace PID native: its options, the functions to probe, and what the
helper is told."""

from types import SimpleNamespace

import pytest

from goref import args
from goref.errors import Error
from goref.trace import allocators, facts, native_plan, session
from goref.trace.allocators import Allocators
from native_traces import GLIBC, JEMALLOC, Function, Sampler
from test_trace import planned

EVERY = {
    "full": (), "each": (), "blocks": (), "older": ("5s",),
    "min-size": ("1K",), "max-size": ("1M",), "sample": ("4",), "totals": (),
    "allocator": ("libc.so.6",), "prefix": ("my_",), "mappings": (),
    "holders": (), "sort": ("age",),
}  # fmt: skip


def native(*words):
    return planned("1", "native", *words)


def test_defaults():
    found = native()
    assert (found.seconds, found.overhead) == (60, 1)
    assert found.native == native_plan.NativePlan()
    assert planned("1").native == native_plan.NativePlan()


def test_every_option():
    words = [w for name, value in EVERY.items() for w in (f"--{name}", *value)]
    assert native(*words).native == (
        True, True, True, 5.0, 1024, 1 << 20, 4, True, "libc.so.6", "my_",
        True, True, "age",
    )  # fmt: skip
    assert EVERY.keys() == {*native_plan.OPTIONS}


@pytest.mark.parametrize("mode", ["rss", "go", "kernel"])
@pytest.mark.parametrize("name", EVERY)
def test_other_modes_refuse_them(mode, name):
    said = f"--{name} has a meaning only in the mode native"
    with pytest.raises(args.UsageError, match=said):
        planned("1", mode, f"--{name}", *EVERY[name])


@pytest.mark.parametrize(
    "words, seconds",
    [
        (["--full"], 10),
        (["--full", "--for", "3s"], 3),
        (["--full", "--count", "2", "--every", "3s"], 6),
        (["--full", "--", "true"], 10),
    ],
)
def test_full_tracing_is_short(words, seconds):
    first = [] if "--" in words else ["1"]
    assert planned(*first, "native", *words).seconds == seconds


@pytest.mark.parametrize(
    "words, said",
    [
        (["--min-size", "2K", "--max-size", "1K"], "above --max-size"),
        (["--min-size", "99999999T"], "no block is so large"),
        (["--older", "2m"], "--older is longer than the trace"),
        (["--sample", "9999999999"], "--sample: 1 to 1,073,741,824"),
        (["--sample", "0"], "--sample: 1 to"),
        (["--full", "--max-overhead", "2"], "--max-overhead has no meaning"),
        (["--holders", "--look", "none"], "--holders needs the look"),
        (["--allocator", ""], "--allocator: not a name"),
        (["--prefix", "a\nfull"], "--prefix: not a name"),
        (["--prefix", "a" * 9999], "--prefix: not a name"),
        (["--sort", "address"], "invalid choice"),
    ],
)
def test_refusals(words, said):
    with pytest.raises(args.UsageError) as problem:
        native(*words)
    assert said in str(problem.value)


def test_limits_that_are_none():
    found = native("--sample", "1", "--max-size", "unlimited").native
    assert (found.sample, found.max_bytes) == (1, 0)


# ----------------------------------------------------------- the functions


class Scan:
    """The scan of a process that runs."""

    def __init__(self, functions=(), samplers=()):
        self.functions, self.samplers = functions, samplers
        self.asked = []

    def alloc_functions(self, prefix="", object="", with_mappings=False):
        self.asked.append((prefix, object, with_mappings))

        def chosen(rows):
            return tuple(
                row for row in rows
                if object in ("", row.object, row.object.rpartition("/")[2])
            )  # fmt: skip

        return SimpleNamespace(
            functions=chosen(self.functions),
            samplers=chosen(self.samplers),
            left_out=2,
            unreadable_objects=3,
        )


def find(scan, *words):
    return allocators.find(scan, 7, native(*words).native)


def test_frees_of_a_heap_that_is_walked():
    """Those of the others are probed, or all with --full."""
    both = (*GLIBC, *JEMALLOC)
    assert find(Scan(both)).functions == (GLIBC[0], *JEMALLOC)
    assert find(Scan(both)).follows_frees
    assert find(Scan(both), "--full").functions == both
    assert not find(Scan(GLIBC)).follows_frees


def test_the_scanner_is_asked_for():
    scan = Scan(GLIBC)
    find(scan, "--prefix", "my_", "--allocator", "libc.so.6", "--mappings")
    assert scan.asked == [("my_", "libc.so.6", True)]


def test_an_unknown_object():
    scan = Scan((*GLIBC, *JEMALLOC), (Sampler("/x/libsam.so", 5),))
    with pytest.raises(Error) as problem:
        find(scan, "--allocator", "libx.so")
    assert str(problem.value) == (
        "goref: process 7 has no allocator in libx.so; it has these: "
        "libc.so.6, libjemalloc.so.2, libsam.so"
    )
    with pytest.raises(Error, match="it has none whose functions are known"):
        find(Scan(), "--allocator", "libx.so")
    many = Scan([GLIBC[0]._replace(object=f"/l{n:02}.so") for n in range(20)])
    with pytest.raises(Error, match=r"l07\.so and 12 more$"):
        find(many, "--allocator", "libx.so")


@pytest.mark.parametrize("functions", [(), GLIBC[1:]])
def test_no_functions(functions):
    with pytest.raises(Error) as problem:
        find(Scan(functions), "--full")
    said = str(problem.value)
    assert said.startswith("goref: process 7 has no C allocator")
    assert "--prefix" in said and "\n" not in said


def test_a_library_that_samples():
    """Memory that it gets from glibc would count twice."""
    scan = Scan(GLIBC, (Sampler("/x/libsam.so", 5),))
    assert find(scan) == Allocators((), scan.samplers, 2, 3)
    assert find(scan).follows_frees and not find(scan).are_walked
    assert find(scan, "--full") == Allocators(GLIBC, (), 2, 3)
    assert find(scan, "--mappings") == Allocators(GLIBC[:1], (), 2, 3)
    only = find(scan, "--allocator", "libc.so.6")
    assert only == Allocators(GLIBC[:1], (), 2, 3)


def test_blocks_of_walked_heaps():
    """Mappings are in none."""
    mmap = Function("mmap", "mmap", 0x3000)
    for functions, are_walked in (
        (GLIBC, True), (JEMALLOC, False), ((*GLIBC, JEMALLOC[0]), False),
        ((*GLIBC, mmap), False),
    ):  # fmt: skip
        assert Allocators(functions, ()).are_walked == are_walked


def test_rows():
    found = Allocators((*GLIBC, *JEMALLOC), (Sampler("/x/libsam.so", 5),))
    assert allocators.rows(found) == [
        ("/lib/libc.so.6", True, ("free", "malloc")),
        ("/opt/libjemalloc.so.2", False, ("free", "malloc")),
        ("/x/libsam.so", False, ("otel_memory:alloc",)),
    ]


# ---------------------------------------------------------------- the setup


def test_lines_of_the_helper():
    plan = native("--every", "25s")
    found = Allocators((GLIBC[0], JEMALLOC[1]), ())
    assert allocators.setup(plan, found) == [
        "alloc_function malloc 0x1000",
        "alloc_function free 0x12000",
        "period 8333",
    ]
    plan = native("--full", "--each", "--sample", "4", "--min-size", "1K")
    assert allocators.setup(plan, found)[3:] == [
        "full 10000", "sample 4", "sizes 1024 0", "each",
    ]  # fmt: skip
    plan = native("--sample", "4", "--max-size", "9")
    sampled = Allocators((), (Sampler("/x/libsam.so", 5),))
    assert allocators.setup(plan, sampled) == [
        "alloc_sampler 0x5", "period 10000", "sizes 0 9",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "every_s, ms",
    [(10, 10000), (0.1, 100), (10.5, 5250), (60, 10000), (61, 8714), (1, 1000)],
)
def test_period(every_s, ms):
    """A part of an interval, of at most ten seconds."""
    assert allocators.period_ms(every_s) == ms


def test_budget():
    """The helper begins with none."""
    assert facts.budget_ppm(native()) == 8000
    assert facts.budget_ppm(native("--for", "5s")) == 8000
    assert facts.budget_ppm(planned("1", "--for", "5s")) < 8000


# --------------------------------------------------------------- the session


class Free:
    def check(self):
        pass


def loading(monkeypatch, *looks):
    """A command whose allocators are these at each look."""
    it = session.Session(planned("native", "--", "x"), (None, None), None, None)
    it.command, it.pid, left = object(), 7, [*looks]
    opened = []

    def reopen(pid):
        opened.append(pid)
        it.scan = Scan(left.pop(0) if len(left) > 1 else left[0])

    reopen(7)
    monkeypatch.setattr(it, "_open", reopen)
    monkeypatch.setattr(it, "_pause", lambda seconds: None)
    return it, opened


def test_a_command_that_loads_its_libraries(monkeypatch):
    """Two looks have to find the same."""
    both = (*GLIBC, *JEMALLOC)
    it, opened = loading(monkeypatch, (), GLIBC, both, both)
    assert it._find_allocators(Free()).functions == (GLIBC[0], *JEMALLOC)
    assert len(opened) == 4


def test_a_command_without_an_allocator(monkeypatch):
    monkeypatch.setattr(session, "_LOADING_S", 0.0)
    it, _ = loading(monkeypatch, ())
    with pytest.raises(Error, match="has no C allocator"):
        it._find_allocators(Free())


def test_a_function_has_one_kind():
    """Kinds of the helper are those that the scanner has."""
    from goref.trace.blocks import KINDS

    assert len({*KINDS}) == len(KINDS)
    assert {f.kind for f in GLIBC} < {*KINDS}
    assert isinstance(GLIBC[0], Function)
