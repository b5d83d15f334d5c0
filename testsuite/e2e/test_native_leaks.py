# SPDX-License-Identifier: Apache-2.0
"""goref native leaks: the blocks that a program has lost on purpose, and none
of those that something holds."""

import json
import re

import pytest

import glibcs
import natives
from natives import CENTRAL
from session import run_cli
from targets import attach_reason, skip_if
from toolchains import variants

# The six kinds of loss, and how much of what holds blocks is counted.
LOST = {"malloc": 500, "string": 300, "array": 500, "chain": 50,
        "threads": 400, "big": 5}  # fmt: skip
HELD = {"globals": 150, "list": 80, "go": 200, "big": 3}
LEAST_FOUND = 1750  # of 1,755: an old word may look like a pointer
# Blocks that libc and the Go runtime themselves have lost.
LOST_BY_OTHERS = 8
# Each is the only holder of one block.
PLACES = ["break", "end", "executable", "frame", "frame of caller",
          "frame that was left", "goroutine", "handle", "interior", "key",
          "library", "main tls", "mapping", "number", "pool", "protected",
          "protected data", "protected shared", "red zone",
          "red zone of caller", "register", "register of caller", "sealed",
          "shared", "tls", "under a coroutine",
          "under a stack"]  # fmt: skip


class Leaks:
    """The truth of a target, and what goref says of it."""

    def __init__(self, target):
        self.target = target
        self.truth = target.truth
        self.document = natives.leaks(target)
        self.reached = natives.reached(target)

    def blocks(self, fate, kind):
        return dict(self.truth[fate][kind])

    def found(self, kind):
        """How many of the lost blocks of a kind nothing holds."""
        lost = self.blocks("leaked", kind)
        return len(lost.keys() - self.reached.keys())

    def missing(self, kind):
        """The blocks of a kind that are held, and are not seen to be."""
        return self.blocks("kept", kind).keys() - self.reached.keys()


def check_leaks(leaks):
    """At least 1,750 of 1,755; those behind dead Go objects; and no others."""
    assert {kind: len(leaks.truth["leaked"][kind]) for kind in LOST} == LOST
    found = {kind: leaks.found(kind) for kind in leaks.truth["leaked"]}
    assert sum(found[kind] for kind in LOST) >= LEAST_FOUND, found
    # The stacks of ended threads hold nothing; a word of a running one may.
    assert found["threads"] >= LOST["threads"] - 2, found
    assert found["dead slice"] == 100
    # A stack or a register may still have the last one of these.
    assert found["behind c"] >= 9
    assert found["640"] == 10
    # No block but these: what is not reached is free, or leaked.
    others = leaks.document["leaked_blocks"] - sum(found.values())
    assert 0 <= others <= LOST_BY_OTHERS
    least = sum(
        bytes_
        for kind in leaks.truth["leaked"]
        for address, bytes_ in leaks.truth["leaked"][kind]
        if address not in leaks.reached
    )
    more = leaks.document["leaked_bytes"] - least
    assert 0 <= more <= LOST_BY_OTHERS << 10


def check_overview(leaks):
    """Its first lines and its commands name what is leaked."""
    done = run_cli([*natives.where(leaks.target), "overview", "--json"])
    document = json.loads(done.stdout)
    found = document["c_memory"]["leaked_bytes"]
    assert found == leaks.document["leaked_bytes"]
    assert [row for row in document["next"] if row.endswith(" native leaks")]
    done = run_cli([*natives.where(leaks.target), "overview"])
    verdict, _, rest = done.stdout.partition("\n\n")
    count = f"{leaks.document['leaked_blocks']:,}"
    assert f"{count} blocks of C memory are held by nothing, " in verdict
    assert re.search(r"\nC memory: .*; .* free, of which .* are ", rest)


def check_held(leaks):
    """None of the held blocks is a leak, and each has its size."""
    kept = leaks.truth["kept"]
    assert {kind: len(kept[kind]) for kind in HELD} == HELD
    missing = {kind: len(leaks.missing(kind)) for kind in kept}
    assert {kind: n for kind, n in missing.items() if n} == {}
    for rows in kept.values():
        for address, bytes_ in rows:
            assert leaks.reached[address] == bytes_


def check_freed(leaks):
    """Variables still have the addresses of these."""
    freed = dict(leaks.truth["freed"])
    assert len(freed) == 110
    assert not freed.keys() & leaks.reached.keys()


def check(target):
    leaks = Leaks(target)
    check_held(leaks)
    check_leaks(leaks)
    check_freed(leaks)
    return leaks


def planted(farm, variant, kind="core"):
    args = [str(natives.library())]
    return farm.target("native_leaks", variant, kind, args)


@variants("cgo")
def test_kernel_core(farm, variant):
    """The threads of Go are in their signal handlers: what they were doing
    holds blocks."""
    check_overview(check(planted(farm, variant)))


@variants("cgo", releases=("go1.19", "go1.24"))
def test_core_of_gdb(farm, variant):
    check(planted(farm, variant, "gcore"))


@variants("cgo")
def test_process(farm, variant):
    skip_if(attach_reason())
    check(planted(farm, variant, "live"))


@pytest.mark.parametrize("glibc", glibcs.GLIBCS)
def test_other_glibc(farm, glibc):
    variant = glibcs.variant(CENTRAL.release, glibc)
    leaks = check(planted(farm, variant))
    assert leaks.truth["glibc"] == glibc


@pytest.fixture(scope="module")
def leaks(farm):
    return Leaks(planted(farm, CENTRAL))


@pytest.mark.parametrize("kind", PLACES)
def test_place_that_holds(leaks, kind):
    """A block that only this kind of place holds."""
    [[address, bytes_]] = leaks.truth["kept"][kind]
    assert leaks.reached[address] == bytes_


def test_only_go_holds(leaks):
    """203 of 203, of which a tool without Go says that they are leaked."""
    rows = leaks.truth["kept"]["go"] + leaks.truth["kept"]["big"]
    assert len(rows) == 203
    assert not dict(rows).keys() - leaks.reached.keys()


def test_only_dead_go_holds(leaks):
    """100 of 100, which a tool without Go's liveness says are held; and those
    of a dead slice whose address C has kept."""
    for kind, count in ("dead slice", 100), ("behind c", 10):
        lost = leaks.blocks("leaked", kind)
        assert len(lost) == count
        assert not lost.keys() & leaks.reached.keys()


def test_chain_is_leaked_whole(leaks):
    """Not only its head, to which nothing points."""
    assert leaks.found("chain") == 50


def test_size_of_a_thread_cache(leaks):
    """Blocks of 640 bytes have the size of a thread's cache of free chunks,
    and are none."""
    kept = leaks.blocks("kept", "640")
    assert set(kept.values()) == {0x290}
    assert leaks.found("640") == 10 and not leaks.missing("640")


def test_groups(leaks):
    """Each group names one of its blocks, of its size."""
    lost = {
        address: bytes_
        for rows in leaks.truth["leaked"].values()
        for address, bytes_ in rows
    }
    groups = leaks.document["groups"]
    assert groups
    known = 0
    for group in groups:
        assert group["blocks"] > 0
        assert group["bytes"] >= group["blocks"] * 32
        example = int(group["example"], 16)
        assert example not in leaks.reached
        # The example may be one of libc's own.
        if example in lost or group["size"] in lost.values():
            known += group["blocks"]
        assert example not in lost or group["size"] == lost[example]
    shown = sum(group["blocks"] for group in groups)
    assert known >= shown - LOST_BY_OTHERS
    in_order = [group["bytes"] for group in groups]
    assert in_order == sorted(in_order, reverse=True)


def test_what_lies_beside(leaks):
    """A group names the holder of the blocks between its own."""
    lost = leaks.blocks("leaked", "beside")
    (size,) = set(lost.values())
    (group,) = [g for g in leaks.document["groups"] if g["size"] == size]
    assert group["blocks"] == len(lost) == 40
    assert group["beside"] == "main.neighbour"
    # The first and the last ones may lie elsewhere.
    assert 36 <= group["beside_blocks"] <= 40


def test_nothing_beside_most(leaks):
    """Blocks among leaked ones have no holder beside most of them."""
    for group in leaks.document["groups"]:
        assert 2 * group["beside_blocks"] >= group["blocks"] or (
            group["beside"] is None and group["beside_blocks"] == 0
        )


@pytest.mark.parametrize("source", ["core", "saved"])
def test_fail_on_leaks(leaks, tmp_path, source):
    words = natives.where(leaks.target)
    if source == "saved":
        saved = tmp_path / "saved"
        done = run_cli([*words, "save", saved])
        assert done.returncode == 0, done.stderr
        words = ["open", saved]
    done = run_cli([*words, "native", "leaks", "--fail-on-leaks"])
    assert done.returncode == 4, done.stderr
    done = run_cli([*words, "native", "leaks", "--json"])
    document = json.loads(done.stdout)
    for key in "leaked_blocks", "leaked_bytes", "groups":
        assert document[key] == leaks.document[key]


def test_no_leaks(farm):
    """A program that holds all it has."""
    target = farm.target("native_struct", CENTRAL)
    words = [*natives.where(target), "native", "leaks"]
    done = run_cli([*words, "--fail-on-leaks", "--json"])
    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout)["leaked_blocks"] == 0


@pytest.mark.parametrize("how", ["handle", "pinned"])
def test_go_objects_that_c_keeps(leaks, how):
    """They are alive, and hold what they hold."""
    truth = leaks.truth["by_c"][how]
    found = natives.retained(leaks.target, [int(truth["address"], 16)])
    assert list(found.values()) == [(truth["bytes"], 0)]


def test_another_word(leaks):
    done = run_cli([*natives.where(leaks.target), "native", "leak"])
    assert done.returncode == 2
    said = "goref: native takes only the word `leaks', not `leak'; try "
    assert done.stderr.startswith(said)


def test_contents_only_with_values(leaks):
    """The text of a leaked block is the program's."""
    words = [*natives.where(leaks.target), "native", "leaks"]
    done = run_cli(words)
    assert done.returncode == 0, done.stderr
    assert "secret of C" not in done.stdout
    done = run_cli([*words, "--values", "--top", "0"])
    assert "a secret of C" in done.stdout
    assert not re.search(r"\.{8}", done.stdout)  # bytes that are no text
    assert re.search(r" 0x[0-9a-f]+ +0x[0-9a-f]+ ", done.stdout)
