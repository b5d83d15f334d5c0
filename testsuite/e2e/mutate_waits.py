# SPDX-License-Identifier: Apache-2.0
"""Damaged records of goroutines that wait or panic: sudogs, trees of semaphores,
queues of channels, locks, deferred calls and panics. If the core has the code of
the program (coredump_filter), its functions are damaged, too."""

import bisect
import random
import struct
from functools import partial

import asking
import mutate
from mutate import copies, many, put

# Questions about each damaged core.
QUESTIONS = (
    "panic", "goroutines -group waiting-on -bytes", "goroutines -group stack",
    "goroutines -exec wait", "waits", "leaks", "hung", "hung --sched",
)  # fmt: skip
SCANS = ("--hung", "--hung --timeout 20", "--hung --memory-limit 6000000",
         "--hung --last-poll 3", "--locals")  # fmt: skip
MAX_NODES = 10_000
SEMAPHORE_WORDS = 4  # around the word that goroutines wait for
# Fields of a g that say what it does.
STATE_FIELDS = (
    "atomicstatus", "waitreason", "waiting", "param", "goid", "defer", "panic",
    "sig", "sigcode0", "sigcode1", "sigpc", "labels", "timer", "sleep_when",
    "bubble", "waitsince", "lockedm", "m", "sched_pc", "sched_sp",
    "syscallsp", "syscallpc", "stack_lo", "stack_hi", "gopc", "startpc",
)  # fmt: skip


class Points(mutate.Points):
    """Also where records of waits, panics and deferred calls lie."""

    def __init__(self, scanner, exe, core_path):
        super().__init__(scanner, exe, core_path)
        core = mutate.Core(core_path)
        self.slots = self._slots(core)
        self.nodes = self._nodes(core)
        waiting = {core.u64(self.at(g, "g.waiting")) for g in self.gs} - {0}
        self.sudogs = sorted({*self.nodes, *self._linked(core, waiting)})
        self.channels = self._words(core, waiting, "chan")
        self.locks = self._words(core, self.sudogs, "elem")
        self.panics = self._list_of_all(core, "panic")
        self.defers = self._list_of_all(core, "defer")
        self.functions = self._functions(core)
        core.close()
        self.places = [
            *self.sudogs, *self.channels, *self.locks, *self.panics,
            *self.defers, *self.gs,
        ]  # fmt: skip

    def has(self, field):
        return field in self.layout

    def _functions(self, core):
        """[start, end) of the functions that lock, if the core has them."""
        entries = sorted(set(self.names.values()))
        found = []
        for name, start in self.names.items():
            if name.startswith(("main.", "sync.", "internal/sync.")):
                i = bisect.bisect_right(entries, start)
                end = entries[i] if i < len(entries) else start
                is_code = self.names["runtime.text"] <= start
                is_code &= end <= self.names["runtime.etext"]
                if is_code and core.offset(start) is not None:
                    found.append((start, end))
        return sorted(found)

    def _slots(self, core):
        """Heads of the trees of semaphores."""
        table, size = self.variable("semtable"), self.layout["sema_table"][0]
        treap = self.layout["sema_root.treap"][0]
        step = 64  # a cache line
        return [
            at + treap
            for at in range(table, table + size - step + 1, step)
            if core.offset(at) is not None
        ]

    def _nodes(self, core):
        """Sudogs of the trees, and those behind them."""
        found, open_ = [], [core.u64(slot) for slot in self.slots]
        while open_ and len(found) < MAX_NODES:
            node = open_.pop()
            if node and node not in found and core.offset(node) is not None:
                found.append(node)
                open_ += [
                    core.u64(self.at(node, f"sudog.{link}"))
                    for link in ("prev", "next", "waitlink")
                ]
        return found

    def _linked(self, core, sudogs):
        """All cases of selects."""
        found = set()
        for sudog in sudogs:
            while sudog and sudog not in found:
                found.add(sudog)
                sudog = core.u64(self.at(sudog, "sudog.waitlink"))
        return found

    def _words(self, core, sudogs, name):
        fields = [f"sudog.{name}", f"sudog.{name}_truth"]
        found = {
            core.u64(self.at(sudog, field))
            for sudog in sudogs
            for field in filter(self.has, fields)
        }
        return sorted(at for at in found if core.offset(at) is not None)

    def _list_of_all(self, core, kind):
        found = []
        for g in self.gs:
            at = core.u64(self.at(g, f"g.{kind}"))
            while at and at not in found and core.offset(at) is not None:
                found.append(at)
                at = core.u64(self.at(at, f"{kind}.link"))
        return found


# ------------------------------------------------------------------ how


def states(rng, core, points):
    fields = [f"g.{n}" for n in STATE_FIELDS if points.has(f"g.{n}")]
    for _ in many(rng):
        offset, size = points.layout[rng.choice(fields)]
        put(rng, core, points, rng.choice(points.gs) + offset, size)


def sudogs(rng, core, points):
    for _ in many(rng):
        record = rng.choice(points.sudogs or points.gs)
        size = points.layout["sudog"][0]
        put(rng, core, points, record + 8 * rng.randrange(size // 8))


def trees(rng, core, points):
    """Trees that lead to themselves, to each other and nowhere."""
    for _ in many(rng):
        if rng.random() < 0.3 or not points.nodes:
            at = rng.choice(points.slots)
        else:
            link = rng.choice(("prev", "next", "waitlink", "elem", "ticket"))
            at = points.at(rng.choice(points.nodes), f"sudog.{link}")
        put(rng, core, points, at)


def queues(rng, core, points):
    names = [n for n in points.layout if n.startswith("hchan.")]
    for _ in many(rng):
        if rng.random() < 0.5 or not points.channels:
            record = rng.choice(points.sudogs or points.gs)
            at, size = points.at(record, "sudog.next"), 8
        else:
            offset, size = points.layout[rng.choice(names)]
            at = rng.choice(points.channels) + offset
        put(rng, core, points, at, size)


def locks(rng, core, points):
    """States of locks, counters of groups, heads of notify lists."""
    for _ in many(rng):
        if not points.locks:
            return states(rng, core, points)
        lock = rng.choice(points.locks) & ~7
        at = lock + 8 * rng.randrange(-SEMAPHORE_WORDS, SEMAPHORE_WORDS)
        if rng.random() < 0.5:
            core.put(at, rng.getrandbits(3) | rng.getrandbits(8) << 32)
        else:
            put(rng, core, points, at)


def endings(rng, core, points):
    """Panics and deferred calls, and the list that leads to them."""
    records = [(at, "panic") for at in points.panics]
    records += [(at, "defer") for at in points.defers]
    for _ in many(rng):
        if rng.random() < 0.3 or not records:
            name = rng.choice(("g.panic", "g.defer", "g.sig", "g.sigpc"))
            offset, size = points.layout[name]
            put(rng, core, points, rng.choice(points.gs) + offset, size)
            continue
        record, kind = rng.choice(records)
        size = points.layout[kind][0]
        put(rng, core, points, record + 8 * rng.randrange(size // 8))


def frames(rng, core, points):
    """The inner end of stacks, where goroutines wait."""
    for _ in many(rng):
        g = rng.choice(points.gs)
        sp = core.u64(points.at(g, "g.sched_sp"))
        end = core.u64(points.at(g, "g.stack_hi"))
        if sp < end:
            room = min(end - sp, 1024) // 8
            put(rng, core, points, sp + 8 * rng.randrange(max(1, room)))


def call(at, target):
    """The bytes of a call of x86-64."""
    return b"\xe8" + struct.pack("<i", target - at - 5)


def instruction(rng, points, at):
    """Some of those by which locks are recognised."""
    target = rng.choice(points.functions)[0] + rng.choice((0, 0, 0, 1))
    wild = rng.randbytes(4)
    operand = rng.choice((b"\x05" + wild, b"\x84\x24" + wild, rng.randbytes(5)))
    return rng.choice(
        (
            call(at, target),
            call(at, rng.choice(points.functions)[1] - 1),
            call(at, at),
            b"\xe8" + wild,
            b"\xf0" + bytes([0x40 + rng.randrange(16)]) + b"\x0f\xb1" + operand,
            b"\xf0\x0f\xc1" + operand,
            b"\x48\x8d" + bytes([5 | rng.randrange(8) << 3]) + wild,
            rng.randbytes(rng.randrange(1, 16)),
        )
    )


def put_bytes(core, at, end, text):
    """As much of it as is before the end."""
    for i, byte in enumerate(text[: max(0, end - at)]):
        core.put(at + i, byte, 1)


def code(rng, core, points):
    """Functions with other instructions, up to their last byte, or with nothing
    but calls; and the tables beside them, which tell inlined calls."""
    if not points.functions:
        return frames(rng, core, points)
    for _ in range(rng.choice((1, 10, 100))):
        start, end = rng.choice(points.functions)
        how = rng.random()
        if how < 0.2:
            target = rng.choice(points.functions)[0]
            for at in range(start, end, 5):
                put_bytes(core, at, end, call(at, target))
        elif how < 0.3:
            table = rng.choice(("runtime.pclntab", "go:func.*", "go.func.*"))
            at = points.names.get(table, start) + rng.randrange(1 << 16)
            put_bytes(core, at, at + 4, rng.randbytes(4))
        elif how < 0.5:
            at = end - rng.randrange(1, 16)
            put_bytes(core, at, end, instruction(rng, points, at))
        else:
            at = rng.randrange(start, end)
            put_bytes(core, at, end, instruction(rng, points, at))


KINDS = (
    states, sudogs, trees, queues, locks, endings, frames, code, copies,
    mutate.threads, mutate.notes, mutate.pages, mutate.truncate,
)  # fmt: skip
damage = partial(mutate.damage, kinds=KINDS)


# ------------------------------------------------------------ what is asked


def questions(_points, seed, _core):
    """The questions about a damaged core. One more has little time, one
    little memory, and one is ended by Ctrl-C."""
    rng = random.Random(~seed)
    asked = [f"{question} --json" for question in QUESTIONS]
    little = rng.choice(QUESTIONS), rng.choice(QUESTIONS)
    limit, timeout = rng.choice((1, 2, 4, 8)), rng.random() / 10
    asked += [
        f"{little[0]} --json --memory-limit {limit}M",
        f"{little[1]} --json --timeout {timeout:.4f}",
        SCANS[seed // len(KINDS) % len(SCANS)],
    ]
    looks = rng.choice((1, 2, 5, 20, 60))
    last = mutate.Question(f"{rng.choice(QUESTIONS)} --json", looks)
    return [*map(mutate.Question, asked), last]


def way_of(exe, core):
    return mutate.Way(Points(asking.SCANNER, exe, core), damage, questions)
