# SPDX-License-Identifier: Apache-2.0
"""goref trace: growth by known amounts, by class and by stack."""

import signal

import pytest

import asking
from toolchains import RELEASES, Variant, variant_id
from traces import FLAGS, MIB, PAGE, Growing, Trace, skip_unless_traced

VARIANTS = [Variant(release, "cgo") for release in RELEASES]
VARIANTS.append(Variant(RELEASES[-1], "cgo-stripped"))

PIECES = 4

# How it grows, by how much, the class that grows, and a function of the stack.
AMOUNTS = {
    "sessions": (40 * MIB, "go_heap", "main.openSessions"),
    "rows": (24 * MIB, "go_heap", "main.readRows"),
    "framed": (20 * MIB, "c_heap", "framed_grow"),
    "plain": (28 * MIB, "c_heap", "plain_grow"),
    "mapping": (16 * MIB, "anonymous_mappings", "grow_mapping"),
    "stacks": (12 * MIB, "thread_stacks", "use_stack"),
    "file": (14 * MIB, "mapped_files", "grow_file"),
    "table": (18 * MIB, "modules", "grow_table"),
}
# By these, if the executable has no symbols.
CALLS = {
    "mapping": "main._Cfunc_grow_mapping",
    "file": "main._Cfunc_grow_file",
    "table": "main._Cfunc_grow_table",
    "stacks": None,  # it begins in C
}


@pytest.fixture(autouse=True)
def permitted():
    skip_unless_traced()


def growths(document):
    return {c["name"]: c["growth_bytes"] for c in document["classes"]}


def adds_up(document, growth):
    assert sum(growths(document).values()) == growth


def touched(grown, way):
    """The stacks of an amount: those of its class with its function."""
    trace, document, _ = grown
    _, name, function = AMOUNTS[way]
    if trace.is_stripped:
        function = CALLS.get(way, function)
    return [
        stack
        for stack in document["stacks"]
        if stack["class"] == name
        and function in (None, *(call["function"] for call in stack["frames"]))
    ]


def total(stacks):
    return sum(stack["bytes"] for stack in stacks)


@pytest.fixture(scope="module", params=VARIANTS, ids=variant_id)
def grown(request):
    """A trace in which it grew in each way, its document, and the Rss then."""
    skip_unless_traced()
    with Growing(request.param) as program:
        words = "--every", "0.2", "--for", "10m", "--max-overhead", "100"
        with Trace(program.pid, *words) as trace:
            trace.is_stripped = "stripped" in request.param.flavour
            trace.interval()
            for way, (size, _, _) in AMOUNTS.items():
                for _ in range(PIECES):
                    program.grow(way, size // PIECES)
                    # A busy machine reads the events meanwhile.
                    trace.interval()
            trace.interval()
            document = trace.end(signal.SIGINT)
            yield trace, document, program.rss()


def test_it_ends_well(grown):
    trace, document, _ = grown
    assert trace.popen.returncode == 0, trace.said
    assert document["ended"] == "Ctrl-C" and not document["partial"]
    assert document["dropped"] == 0


def test_each_interval_adds_up(grown):
    trace, document, _ = grown
    rss = document["rss_before_bytes"]
    for interval in trace.intervals:
        adds_up(interval, interval["growth_bytes"])
        assert interval["rss_bytes"] - rss == interval["growth_bytes"]
        rss = interval["rss_bytes"]
    assert rss == document["rss_after_bytes"]
    adds_up(document, rss - document["rss_before_bytes"])


def test_the_end_is_that_of_smaps(grown):
    _, document, rss = grown
    assert abs(document["rss_after_bytes"] - rss) <= 64 * PAGE


@pytest.mark.parametrize("way", AMOUNTS)
def test_stack_of_each_amount(grown, way):
    """Each amount is touched by its own function."""
    size = AMOUNTS[way][0]
    assert total(touched(grown, way)) == pytest.approx(size, rel=0.03)


def test_classes(grown):
    _, document, _ = grown
    found = growths(document)
    for name in {a[1] for a in AMOUNTS.values()} - {"go_heap"}:
        wanted = sum(a[0] for a in AMOUNTS.values() if a[1] == name)
        got = sum(v for k, v in found.items() if k.startswith(name))
        assert got == pytest.approx(wanted, rel=0.03), name
    go = sum(v for k, v in found.items() if k.startswith("go_"))
    assert found["go_heap"] == pytest.approx(64 * MIB, rel=0.03)
    assert go - found["go_heap"] <= 4 * MIB


def test_nearly_all_pages_have_a_stack(grown):
    _, document, _ = grown
    assert document["unattributed_bytes"] <= 0.03 * document["new_bytes"]
    unfinished = [s for s in document["stacks"] if not s["finished"]]
    # _init() of a library has no tables, and touches a page. The kernel maps up
    # to 16 pages around it, if it has them in its cache.
    most = len(FLAGS) * 16 * PAGE
    assert sum(stack["bytes"] for stack in unfinished) <= most, unfinished


def test_new_pages_add_up(grown):
    """The stacks are of the look at the end, a moment after the last tick."""
    _, document, _ = grown
    there = sum(stack["bytes"] for stack in document["stacks"])
    gone = document["gone_before_look_bytes"]
    assert there + gone == document["new_bytes"]
    assert document["stacks_left_out_bytes"] == 0


def test_each_event_is_counted(grown):
    """With its stack or without, and nothing twice."""
    _, document, _ = grown
    assert document["events"] == (
        document["events_with_stack"]
        + document["events_without_stack"]
        + document["events_given_back"]
    )
    assert document["events_with_stack"] >= 64 * MIB // PAGE
    assert document["off_seconds"] == 0
    assert document["unfinished_stacks"] >= len({
        str(stack["frames"])
        for stack in document["stacks"]
        if not stack["finished"]
    })  # fmt: skip


def test_the_look_tells_its_pause(grown):
    trace, document, _ = grown
    assert "stood still for" in trace.said
    assert document["pause_s"] > 0


def test_stacks_join_classes(grown):
    """The stacks of a class have what it has grown by."""
    _, document, _ = grown
    found = growths(document)
    assert {stack["class"] for stack in document["stacks"]} <= found.keys()
    for name in ("go_heap", "c_heap"):
        rows = [s for s in document["stacks"] if s["class"] == name]
        assert len({s["rss_class"] for s in rows}) > 1
        assert sum(s["bytes"] for s in rows) == pytest.approx(
            found[name], rel=0.03
        )


def test_who_holds_the_pages(grown):
    """The look at the end names types and holders."""
    for way, kind in (("sessions", "main.session"), ("rows", "main.row")):
        found = [s for s in touched(grown, way) if s["type"] == kind]
        assert total(found) == pytest.approx(AMOUNTS[way][0], rel=0.03)
        names = {stack["holder"] for stack in found}
        if grown[0].is_stripped:
            assert len(names) == 1 and names.pop().startswith("$bss+")
        else:
            assert names == {f"main.{way}"}


@pytest.mark.parametrize("way, holder, stripped", [
    ("mapping", "main.mappings", "$bss+"),
    ("table", "table", "bss of the executable"),
])  # fmt: skip
def test_who_holds_what_c_has_taken(grown, way, holder, stripped):
    """A mapping whose address Go keeps, and a variable of C."""
    wanted = stripped if grown[0].is_stripped else holder
    found = [s for s in touched(grown, way)
             if (s["holder"] or "").startswith(wanted)]  # fmt: skip
    assert total(found) == pytest.approx(AMOUNTS[way][0], rel=0.03)


def test_library_that_is_loaded_on_a_busy_machine():
    """The helper waits long for a processor while it reads the mappings. It
    reads them again nevertheless when a call lies in none of them."""
    libraries = [*asking.sanitizers(), asking.preloaded("slow_maps.c")]
    slow = {"LD_PRELOAD": " ".join(libraries)}
    words = "--every", "0.2", "--for", "10m", "--max-overhead", "100"
    with (
        Growing(VARIANTS[-2]) as program,
        Trace(program.pid, *words, env=slow) as trace,
    ):
        trace.is_stripped = False
        trace.interval()
        program.grow("framed", 4 * MIB)
        trace.interval()
        document = trace.end(signal.SIGINT)
    found = total(touched((trace, document, None), "framed"))
    assert found == pytest.approx(4 * MIB, rel=0.03)
