# SPDX-License-Identifier: Apache-2.0
"""Stacks of goref-trace against what a program knows: chains of calls through
Go and C, with and without frame pointers (programs/chained). Each page of a
block was touched by the chain that took the block."""

import bisect
import random
import re
import subprocess
from collections import Counter

import pytest

from targets import start
from toolchains import TESTSUITE, Variant, build, variant_id
from tracers import PAGE, Tracer, facts_of, permitted, traced
from traces import library

__all__ = ["permitted", "traced"]
SOURCE = TESTSUITE / "programs" / "chained" / "library" / "chain.c"
CHAINS = 1000
# A probe cannot wait for the page of a stack that the kernel moves to another
# place of memory just then, and has no stack of that moment.
TRIES = 3
SEED = 23
GO = {letter: [f"main.step{letter}"] for letter in "ABC"}
GO["D"] = ["main.stepD", "main.stepE"]
C = {
    **{"abcd"[i]: f"framed_{'abcd'[i]}" for i in range(4)},
    **{"efgh"[i]: f"plain_{'abcd'[i]}" for i in range(4)},
    **dict(zip("ijklmn", (
        "framed_fill", "framed_touch", "framed_next",
        "plain_fill", "plain_touch", "plain_next",
    ))),
}  # fmt: skip
LEAVES = {C[letter] for letter in "ijklmn"}
SIZES = (3 * PAGE, 5 * PAGE, 12 * PAGE, 50 * PAGE)
OF_EXE = {"chain_run", "chain_thread"}
KNOWN = {
    "main.run", "main.goChain", "main.stepA", "main.stepB", "main.stepC",
    "main.stepD", "main.stepE", *C.values(), *OF_EXE,
}  # fmt: skip


def some_chain(rng):
    """A row of calls, in which the language changes now and then."""
    letters, go = rng.choice(("", "", "T")), rng.random() < 0.5
    for _ in range(rng.randint(1, 6)):
        some = "ABCD" if go else "abcdefgh"
        letters += "".join(rng.choices(some, k=rng.randint(1, 4)))
        go = not go
    return letters + rng.choice("ijlm")


def expected(letters):
    """The functions of a chain that are known, outermost first."""
    in_go, calls = not letters.startswith("T"), []
    calls.append("main.run" if in_go else "chain_thread")
    for letter in letters.removeprefix("T"):
        if letter in GO:
            calls += [] if in_go else ["main.goChain"]
            calls += GO[letter]
        else:
            calls += ["chain_run"] if in_go else []
            calls.append(C[letter])
        in_go = letter in GO
    return tuple(calls)


class Chained:
    """The program, and the blocks of its chains."""

    def __init__(self, exe, workers=4):
        paths = [library(name, SOURCE) for name in ("framed", "plain")]
        self.process = start(exe, [*paths, str(workers)])

    def run(self, chains, some_sizes=SIZES, after_part=lambda: None):
        """[(address, bytes)] of their blocks."""
        rng, blocks = random.Random(SEED), [None] * len(chains)
        sizes = [rng.choice(some_sizes) for _ in chains]
        for first in range(0, len(chains), 100):  # answers stay unread
            part = range(first, min(first + 100, len(chains)))
            text = "".join(f"{i} {sizes[i]} {chains[i]}\n" for i in part)
            self.process.popen.stdin.write(text.encode())
            self.process.popen.stdin.flush()
            for _ in part:
                number, address = self.process.read_line().split()
                blocks[int(number)] = int(address, 0), sizes[int(number)]
            after_part()
        return blocks


def chains_of(rng):
    found = {}
    while len(found) < CHAINS:
        found[some_chain(rng)] = None
    return [*found]


class Found:
    """The stacks of the pages of the blocks."""

    def __init__(self, chains, blocks, tracer, events):
        self.order = sorted(range(len(chains)), key=lambda i: blocks[i])
        starts = [blocks[i][0] for i in self.order]
        self.stacks = {}  # of each chain: (finished, names, innermost first)
        for event in events:
            at = bisect.bisect_right(starts, event.address + PAGE - 1) - 1
            number = self.order[at] if at >= 0 else 0
            address, size = blocks[number]
            if not address <= event.address <= address + size - PAGE:
                continue  # malloc's own words may be in the page
            names = tracer.stacks.get(event.stack, [])
            if LEAVES & {*names}:
                row = tracer.finished.get(event.stack, False), tuple(names)
                self.stacks.setdefault(number, {})[row] = None


def check(chains, found, known):
    """Each chain was seen, and no stack is another one."""
    wrong = []
    for number, letters in enumerate(chains):
        calls = [name for name in expected(letters) if name in known]
        for finished, names in found.stacks.get(number, {(False, ()): None}):
            seen = [name for name in reversed(names) if name in known]
            if not finished or seen != calls or not is_start(names):
                wrong.append((letters, finished, names))
    assert not wrong, f"{len(wrong)} of {len(chains)}: {wrong[0]}"


def is_start(names):
    """A goroutine's, or a thread's."""
    if "main.run" in names:
        return names[-1] == "runtime.goexit"
    return re.fullmatch(r"(\w*_)?clone3?|start_thread|", names[-1]) is not None


def run_traced(exe, chains, twins):
    """The blocks of the chains, the tracer, its answers, and the number of
    events that it has lost, by kind."""
    program = Chained(exe, 1 if twins else 4)
    try:
        lines, _ = facts_of(program.process.pid)
        tracer = Tracer(program.process.pid, "budget 0", *lines)
        answers = []  # the ring need not hold all of them
        blocks = program.run(
            chains,
            [PAGE] if twins else SIZES,
            lambda: answers.append(tracer.tick()),
        )
        tracer.close()
    finally:
        program.process.stop()
    lost = Counter()
    for answer in answers:
        lost.update(answer.lost())
    return blocks, tracer, answers, lost


def collect(exe, known=KNOWN, twins=()):
    """Trace chains. twins: in turns, in one thread; else many, in four."""
    chains = [*twins] * 50 or chains_of(random.Random(SEED))
    for _ in range(TRIES):
        blocks, tracer, answers, lost = run_traced(exe, chains, twins)
        if {*lost} != {"no_stack"}:
            break
    assert not lost
    faults = [event for answer in answers for event in answer.faults()]
    check(chains, Found(chains, blocks, tracer, faults), known)


ROWS = [
    Variant("go1.19", "cgo"), Variant("go1.24", "cgo"),
    Variant("go1.27", "cgo"), Variant("go1.24", "cgo-pie"),
    Variant("go1.27", "cgo-stripped"),
]  # fmt: skip


@pytest.mark.parametrize("variant", ROWS, ids=variant_id)
def test_a_thousand_chains(permitted, variant):
    known = KNOWN - OF_EXE if "stripped" in variant.flavour else KNOWN
    collect(build("chained", variant.release, variant.flavour), known)


def test_a_program_without_symbols(permitted, tmp_path):
    """strip has removed the symbols of the Go functions, too."""
    exe = build("chained", "go1.24", "cgo")
    bare = tmp_path / "bare"
    subprocess.run(["strip", "-o", bare, exe], check=True)
    collect(bare, KNOWN - OF_EXE)


@pytest.mark.parametrize(
    "twins",
    [("Acfn", "Bcfn"), ("An", "Cn"), ("Aegn", "Afan"), ("AAAAcn", "BAAAcn")],
    ids=["in Go", "in Go alone", "in C", "far"],
)
def test_one_thread_in_turns(permitted, twins):
    """Two callers of a function whose memory lies in a row: the second one does
    not count for the first one, whose call it might repeat."""
    collect(build("chained", "go1.24", "cgo"), twins=twins)
