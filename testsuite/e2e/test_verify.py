# SPDX-License-Identifier: Apache-2.0
"""goref verify and goref objects: at rest everything is accounted for to the
byte; under load, at any moment, nothing is lost and nothing is made up.

GOREF_STOPS says how often a program under load is stopped: 3 times in a
usual run, 200 times before a release.
"""

import os
import random

import pytest

from mutate import Core, Points, copy_sparse
from asking import SCANNER
from pprof import Profile
from session import run_gdb, run_goref
from targets import Target, attach_reason, kernel_core, kernel_cores_reason
from targets import skip_if
from test_rest import targets
from toolchains import Variant, variant_id, variants
from waiting import works

CENTRAL = Variant("go1.24", "default")
STOPS = int(os.environ.get("GOREF_STOPS", "3"))
STOPS_A_SESSION = 20

rows = targets("live")


def addresses(text):
    """[(address, bytes)] of the lines that `goref objects` printed."""
    pairs = (line.split() for line in text.splitlines())
    return [(int(p[0], 16), int(p[1])) for p in pairs if len(p) == 2]


class Verdict:
    """The answers of one run about a target."""

    def __init__(self, target):
        self.target = target
        self.run = run_goref(
            target,
            ["goref verify --json", "goref objects --addresses",
             "goref scan --json", "goref scan --json --attribution first",
             "goref verify"],
        )  # fmt: skip
        self.verdict = self.run.json(0)
        self.objects = addresses(self.run.parts[1])
        self.nearest = self.run.json(2)
        self.first = self.run.json(3)
        self.text = self.run.parts[4]


@pytest.fixture(scope="module")
def verified(farm):
    """verified(variant, kind): a Verdict of the program at rest, once."""
    made = {}

    def verify(variant, kind):
        if (variant, kind) not in made:
            made[variant, kind] = Verdict(farm.target("rest", variant, kind))
        return made[variant, kind]

    return verify


@pytest.fixture
def rest(verified, variant, kind):
    return verified(variant, kind)


# ------------------------------------------------------------------ at rest


@rows
def test_everything_is_explained(rest):
    assert rest.run.rc == 0, rest.run.stderr
    assert rest.verdict["unexplained"] == 0
    assert rest.verdict["free_slot_pointers"] == 0
    assert rest.verdict["missed_pointers"] == 0
    assert not rest.verdict["is_most_lost"]


@rows
def test_reached_is_allocated(rest):
    verdict = rest.verdict
    missing = verdict["allocated_objects"] - verdict["reached_objects"]
    assert 0 <= missing <= 2
    assert len(verdict["differences"]) == missing
    assert all(d["reason"] for d in verdict["differences"])
    size = verdict["allocated_bytes"] - verdict["reached_bytes"]
    assert sum(d["bytes"] for d in verdict["differences"]) == size
    assert bool(verdict["classes"]) == bool(missing)


@rows
def test_figures_to_the_byte(rest):
    for key in ("heap_alloc", "heap_objects"):
        figure = rest.verdict[key]
        assert figure["read"] == figure["rebuilt"], key
    assert rest.verdict["heap_alloc"]["rebuilt"] == (
        rest.verdict["allocated_bytes"]
    )
    assert rest.verdict["heap_objects"]["rebuilt"] == (
        rest.verdict["allocated_objects"]
    )


@rows
def test_figures_are_those_of_the_program(rest):
    """The program read them of itself; a thread may have begun since."""
    truth = rest.target.truth["heap"]
    read = rest.verdict["heap_objects"]["read"]
    assert abs(read - truth["objects"]) <= 8
    assert abs(rest.verdict["heap_alloc"]["read"] - truth["bytes"]) <= 16384


def has_header(address, size):
    """Slots above 512 bytes begin at multiples of 16; a header is 8 bytes."""
    return size > 500 and address % 16 == 8


@rows
def test_addresses(rest):
    """Each object once, in order, and as many bytes as the walk counts: that
    counts slots, of which the malloc headers are no part of the objects."""
    found = [address for address, _ in rest.objects]
    assert len(found) == rest.verdict["reached_objects"]
    assert found == sorted(set(found))
    size = sum(size + 8 * has_header(a, size) for a, size in rest.objects)
    assert size == rest.verdict["reached_bytes"]
    ends = [a + size + 8 * has_header(b, after)
            for (a, size), (b, after) in zip(rest.objects, rest.objects[1:])]
    assert all(end <= begin for end, begin in zip(ends, found[1:]))
    missing = {int(d["address"], 16) for d in rest.verdict["differences"]}
    assert missing.isdisjoint(found)


@variants("default")
def test_addresses_and_bytes_are_those_of_why(farm, variant):
    """One range, whoever says it: with a malloc header and without."""
    target = farm.target("named", variant)
    places = ("shapes", "wholes", "value.plain", "large")
    run = run_goref(
        target,
        ["goref objects --addresses",
         *(f"goref why {target.places[p]} --json" for p in places)],
    )  # fmt: skip
    listed = dict(addresses(run.parts[0]))
    for i, place in enumerate(places):
        address = int(target.places[place], 16)
        thing = run.json(i + 1)["object"]
        assert int(thing["base"], 16) == address and not thing["offset"]
        assert listed[address] == thing["bytes"], place
        if place == "shapes" and variant.release != "go1.19":
            assert has_header(address, thing["bytes"])
            # Where the next slot begins.
            assert (address + thing["bytes"]) % 16 == 0
    assert listed[int(target.places["shapes"], 16)] >= 48 * 16


@rows
def test_text_ends_with_the_verdict(rest):
    lines = [line for line in rest.text.splitlines() if line]
    if "detached" in lines[-1]:
        lines.pop()  # of gdb, as it leaves
    assert lines[-1].startswith("verified: ")
    assert "equal to the byte" in rest.text
    assert "NO EXPLANATION" not in rest.text


@rows
def test_first_attribution_counts_the_same(rest):
    """Others are billed; what is reached is the same, and all is billed."""
    for key in ("heap", "unreached", "gaps"):
        assert rest.first[key] == rest.nearest[key], key
    for unit in ("objects", "bytes"):
        assert rest.first["reached"][unit] == rest.nearest["reached"][unit]
        billed = sum(root[unit] for root in rest.first["roots"])
        assert billed == rest.first["reached"][unit]
    assert rest.first["attribution"] == "first"
    assert rest.nearest["attribution"] == "nearest"


# ----------------------------------------------------------------- commands


def test_objects_into_a_file(farm, tmp_path):
    out = tmp_path / "objects.txt"
    run = run_goref(
        farm.target("rest", CENTRAL),
        ["goref objects --addresses",
         f"goref objects -addresses -out {out}"],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    assert addresses(out.read_text()) == addresses(run.parts[0])
    assert str(out) in run.parts[1]
    assert os.listdir(tmp_path) == [out.name]


def test_few_differences(farm):
    """The list has an end, and 0 is none."""
    target = farm.target("churn", CENTRAL)
    run = run_goref(
        target,
        ["goref verify --json --max-differences 3",
         "goref verify --json --max-differences unlimited"],
    )  # fmt: skip
    few, all_ = run.json(0), run.json(1)
    missing = all_["allocated_objects"] - all_["reached_objects"]
    assert missing > 3
    assert len(all_["differences"]) == missing
    assert few["differences"] == all_["differences"][:3]
    reached = sum(c["reached_objects"] for c in all_["classes"])
    allocated = sum(c["allocated_objects"] for c in all_["classes"])
    assert allocated - reached == missing


def free_slot(reached, verdict):
    """The address of one: between two objects of the same size, on one
    page."""
    allocated = {int(d["address"], 16) for d in verdict["differences"]}
    return next(
        first + size
        for (first, size), (second, other) in zip(reached, reached[1:])
        if size == other
        and second > first + size
        and (second - first) % size == 0
        and first // 8192 == second // 8192
        and first + size not in allocated
    )


def damaged(target, folder):
    """A copy of a core, open to be changed; where the runtime's words are;
    and the target that it makes."""
    copy = folder / "core"
    copy_sparse(target.core, copy)
    places = Points(SCANNER, target.exe, copy)
    torn = Target("core", target.exe, target.truth, core=copy)
    return Core(copy), places, torn


@variants("default")
def test_pointer_to_a_free_slot(farm, variant, tmp_path):
    """One word of a core changed: a package variable points to the slot of an
    object that is gone."""
    target = farm.target("values", variant)
    run = run_goref(target, ["goref objects --addresses", "goref verify --json"])
    free = free_slot(addresses(run.parts[0]), run.json(1))
    core, at, torn = damaged(target, tmp_path)
    core.put(at.names["main.vPointer"], free)
    core.close()
    run = run_goref(torn, ["goref verify --json"])
    assert run.rc == 1
    verdict = run.json(0)
    assert verdict["free_slot_pointers"] == 1
    assert verdict["free_slots"] == [
        {"address": f"{free:#x}", "held_by": None}
    ]
    assert verdict["unexplained"] >= 1


@variants("default", "noopt")
def test_variables_of_a_frame_in_doubt(farm, variant, tmp_path):
    """A call that reflect made, of a value that is not the one it was: its
    caller's words may be stale, and so may the variables that they are."""
    target = farm.target("reflected", variant)
    core, _, torn = damaged(target, tmp_path)
    for name in ("made.func", "method.func"):
        core.put(int(target.places[name], 16), 0)
    core.close()
    run = run_goref(torn, ["goref verify --json", "goref objects --addresses"])
    verdict = run.json(0)
    assert verdict["free_slot_pointers"] == 0, verdict
    assert verdict["gaps"]["conservative_frames"] == 4
    assert verdict["gaps"]["conservative_free_slots"] >= 2
    reached = {a for a, _ in addresses(run.parts[1])}
    for name in ("made.last", "method.last"):
        assert int(target.places[name], 16) in reached, name


def is_array(core, address, size, reached, length=20):
    """Is it the array of so many pointers to objects?"""
    words = [core.u64(address + 8 * i) for i in range(length)]
    return size == 8 * length and set(words) <= {a for a, _ in reached}


@variants("default")
def test_free_slot_behind_doubt(farm, variant):
    """An object that only a frame holds whose words may be stale: what it
    points to need not be in use. The ledger of a scan says the same."""
    skip_if(kernel_cores_reason())
    process = farm.process("crash", variant, ("abort",))

    def end():
        process.popen.stdin.write(b"\n")
        process.popen.stdin.flush()

    target = Target(
        "core", process.exe, process.truth, core=kernel_core(process, end)
    )
    run = run_goref(target, ["goref objects --addresses", "goref verify --json"])
    reached = addresses(run.parts[0])
    core = Core(target.core)
    (leaves,) = (a for a, size in reached if is_array(core, a, size, reached))
    core.put(leaves, free_slot(reached, run.json(1)))
    core.close()
    run = run_goref(target, ["goref verify --json", "goref scan --json"])
    farm.forget("crash")
    verdict, scan = run.json(0), run.json(1)
    assert verdict["free_slot_pointers"] == 0
    assert scan["gaps"]["conservative_free_slots"] >= 1
    assert scan["gaps"] == verdict["gaps"]


# The words that hold the heap: one of them is cut off.
ROOTS_LOST = {
    "no goroutines": lambda at: at.variable("allgs") + 8,
    "no threads": lambda at: at.variable("allm"),
    "no Ps": lambda at: at.variable("allp") + 8,
    "no bss": lambda at: at.module_field("ebss"),
    "no data": lambda at: at.module_field("edata"),
    "no arenas": lambda at: at.mheap_field("arenas"),
    "no spans": lambda at: at.mheap_field("allspans") + 8,
}


@pytest.mark.parametrize("place", ROOTS_LOST.values(), ids=ROOTS_LOST)
def test_roots_that_are_lost(farm, place, tmp_path):
    """The lists of the runtime are held against what it knows besides."""
    target = farm.target("rest", CENTRAL)
    core, at, torn = damaged(target, tmp_path)
    core.put(place(at), 0)
    core.close()
    run = run_goref(torn, ["goref verify --json", "goref verify"])
    verdict = run.json(0)
    gaps = verdict["gaps"]
    assert gaps["broken_lists"] + gaps["goroutines_skipped"] > 0
    assert verdict["partial"]
    allocated = verdict["allocated_objects"]
    if verdict["reached_objects"] < allocated or not allocated:
        assert "not verified" in run.parts[1]


def test_most_of_the_heap_is_lost(farm, tmp_path):
    """No list is torn, but what the collector kept is not reached: no word
    of bss is a pointer."""
    target = farm.target("rest", CENTRAL)
    core, at, torn = damaged(target, tmp_path)
    mask = at.module_field("gcbssmask")
    place = core.offset(core.u64(mask + 8))
    size = core.u64(mask) % (1 << 32) // 8
    core.data[place : place + size] = bytes(size)
    core.close()
    run = run_goref(torn, ["goref verify --json", "goref verify"])
    verdict = run.json(0)
    assert verdict["is_most_lost"]
    kept, reached = verdict["kept"], verdict["kept_reached"]
    assert reached["objects"] < kept["objects"] / 2
    assert "something that holds it is not seen" in run.parts[1]


@variants("default")
def test_per_goroutine(farm, variant, tmp_path):
    """Roots on stacks become those of one goroutine each: the same sum."""
    out = tmp_path / "refs.pb"
    target = farm.target("churn", variant)
    run = run_goref(
        target,
        ["goref scan --json",
         f"goref scan --json --per-goroutine --out {out}"],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    merged, split = run.json(0), run.json(1)
    assert merged["reached"] == split["reached"]
    assert not any("goroutine_id" in root for root in merged["roots"])
    stacks = [r for r in split["roots"] if "goroutine_id" in r]
    assert {r["kind"] for r in stacks} <= {
        "local", "stack", "register", "defer", "runtime",
    }  # fmt: skip
    assert len({r["goroutine_id"] for r in stacks}) > 5
    labelled = {}
    for sample in Profile.load(out).samples:
        goroutine = sample.labels.get("goroutine_id")
        if goroutine:
            key = sample.path[0], goroutine
            labelled[key] = labelled.get(key, 0) + sample.values[0]
    told = {}
    for root in stacks:
        key = root["name"], root["goroutine_id"]
        told[key] = told.get(key, 0) + root["objects"]
    assert labelled == {k: v for k, v in told.items() if v}


# --------------------------------------------------------------- under load


def complaints(verdict, places, reached):
    """The faults that one stop found, as text; "" if none."""
    lost = {n: a for n, a in places.items() if int(a, 16) not in reached}
    wrong = verdict["unexplained"] or verdict["free_slot_pointers"]
    if not wrong and not lost:
        return ""
    unexplained = [d for d in verdict["differences"] if not d["reason"]]
    keys = ("gc_phase", "allocated_objects", "reached_objects", "heap_alloc",
            "heap_objects", "free_slot_pointers", "missed_pointers",
            "unexplained")  # fmt: skip
    gaps = {k: v for k, v in verdict["gaps"].items() if v}
    known = [(k, verdict[k]) for k in keys]
    free = verdict.get("free_slots")
    return f"{known} {gaps} {unexplained} {lost} {free}"


def stop_often(process, count, seed):
    """Attach, look and let go, again and again in one session of gdb.
    Gives what was wrong, a line for each stop."""
    chance = random.Random(seed)
    commands = []
    for _ in range(count):
        commands += [
            f"attach {process.pid}", "goref verify --json",
            "goref objects --addresses", "detach",
            f"shell sleep {chance.random() * 0.05:.4f}",
        ]  # fmt: skip
    run = run_gdb([process.exe], commands, timeout=60 + 5 * count)
    wrong = []
    for i in range(count):
        verdict = run.json(5 * i + 1)
        reached = {a for a, _ in addresses(run.parts[5 * i + 2])}
        text = complaints(verdict, process.truth["places"], reached)
        if text:
            wrong.append(f"stop {i}: {text}")
    assert "Traceback" not in run.stderr
    return wrong


@variants("default", "cgo")
def test_random_stops(farm, variant):
    """A live program, stopped at random: all in one session, and between
    two stops it runs."""
    skip_if(attach_reason())
    process = farm.process("churn", variant, env={"GOMAXPROCS": "4"})
    works(process.pid, 10)
    wrong = []
    for begin in range(0, STOPS, STOPS_A_SESSION):
        count = min(STOPS_A_SESSION, STOPS - begin)
        wrong += stop_often(process, count, f"{variant} {begin}")
        assert process.popen.poll() is None, "the program has ended"
    farm.forget("churn")
    assert not wrong, "\n".join(wrong)


@variants("default", "cgo")
def test_crashes_under_load(farm, variant):
    """Cores that the kernel takes while everything runs."""
    skip_if(kernel_cores_reason())
    chance = random.Random(variant_id(variant))
    wrong = []
    for i in range(max(1, STOPS // 10)):
        process = farm.process("churn", variant, env={"GOMAXPROCS": "4"})
        # The moment is random: a fault may show at few moments only.
        works(process.pid, 5 + chance.randrange(20))
        core = kernel_core(process)
        target = Target("core", process.exe, process.truth, core=core)
        run = run_goref(
            target, ["goref verify --json", "goref objects --addresses"]
        )
        reached = {a for a, _ in addresses(run.parts[1])}
        text = complaints(run.json(0), process.truth["places"], reached)
        if text:
            wrong.append(f"core {i}: {text}")
        farm.forget("churn")
    assert not wrong, "\n".join(wrong)


def test_specials_that_lead_back(farm, tmp_path):
    """As a process that runs shows them now and then: each was read until
    sixty million were in memory."""
    core, at, torn = damaged(farm.target("churn", CENTRAL), tmp_path)
    specials = at.layout["mspan.specials"][0]
    link = at.layout["special.next"][0]
    heads = (core.u64(span + specials) for span in at.in_use)
    head, after = next(
        (h, core.u64(h + link)) for h in heads if h and core.u64(h + link)
    )
    core.put(after + link, head)
    core.close()
    report = run_goref(torn, ["goref scan --json"]).json(0)
    assert report["gaps"]["broken_lists"] == 1
    assert report["peak_private_bytes"] < 1 << 28
