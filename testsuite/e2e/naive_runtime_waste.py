# SPDX-License-Identifier: Apache-2.0
"""A naive version of the checks of `goref waste' that are about the runtime:
goroutine-stack, far-timers, stuck-finalizer and gc-headroom.

The runtime's own records (goroutines, timers, finalizers and cleanups, the
collector's settings) come from gdb (runtime_in_gdb.py). The objects and their
references are goref's, and all roots but those of timers, finalizers and
cleanups. A size that only something holds is found by a walk without it."""

import bisect
import itertools
import re
from collections import Counter, defaultdict
from typing import NamedTuple

HOUR_NS = 3600 * 10**9
FOREVER = 2**63 - 1
# The runtime's smallest stack, and the part of a guard that leaf functions may
# use (internal/abi: StackSmall).
SMALLEST_STACK, STACK_SMALL = 2048, 128
WAITING = 4  # runtime._Gwaiting
LEAST_WITH_HEADER = 504
UNKNOWN = "(type not known)"
# Why a goroutine waits that somebody has to wake. sync.Mutex is a semaphore in
# Go 1.19.
BLOCKED = {
    "chan receive", "chan send", "chan receive (nil chan)",
    "chan send (nil chan)", "select", "select (no cases)", "semacquire",
    "sync.Mutex.Lock", "sync.RWMutex.RLock", "sync.RWMutex.Lock",
    "sync.Cond.Wait", "sync.WaitGroup.Wait",
}  # fmt: skip
RUNNERS = {
    "runtime.runfinq": "finalizer",
    "runtime.runFinalizers": "finalizer",
    "runtime.runCleanups": "cleanup",
}
CALLERS = ("runtime.main", "runtime.corostart")
OWN_ROOTS = ("timer", "finalizer", "cleanup")
# The compiler makes such a function of `go await(fired)'.
WRAPPER = re.compile(r"^main\.\(\*weaver\)\.ring\.(gowrap|func)\d+$")


class Row(NamedTuple):
    bytes: int
    count: int
    type: str


class Holder:
    """A root of the runtime: what it holds; the object whose finalizer or
    cleanup it is, and the timer that it is, as vertices or None."""

    def __init__(self, kind, holds, owner=None, entry=None):
        self.kind, self.holds = kind, holds
        self.owner, self.entry = owner, entry


class Finding(NamedTuple):
    """A row; and the holders and the edges without which it would be saved."""

    row: Row
    gone: list
    cut: frozenset = frozenset()


def slot_of(scan, row):
    """The bytes of the slot of an object: only larger ones have a header."""
    if row.bytes < LEAST_WITH_HEADER:
        return row.bytes
    return scan.object_info(row.addr, 0, 0, False, False).slot_bytes


class Heap:
    """The object graph of a scan, as lists."""

    def __init__(self, scan):
        size = scan.graph_size()
        self.top = size.vertices - 1
        self.names, self.slots = [], []
        self.starts = []  # behind malloc headers
        self.is_own_root = bytearray(size.vertices)
        for vertex in range(size.objects):
            row = scan.vertex(vertex)
            if row.is_c:
                break  # blocks of C have the last numbers, and do not count
            self.names.append(row.type or UNKNOWN)
            self.starts.append(row.addr)
            self.slots.append(slot_of(scan, row))
        assert self.starts == sorted(self.starts)
        self.nobjects = len(self.starts)
        for vertex in range(size.objects, size.roots_end):
            self.is_own_root[vertex] = scan.vertex(vertex).kind in OWN_ROOTS
        self.edges = [
            list(scan.neighbours(vertex, "references"))
            for vertex in range(size.vertices)
        ]
        self.bytes = sum(self.slots)
        self.holders = []  # all
        self.reached = None  # a walk from all

    def find(self, address):
        """The object in whose slot an address is; None: there is none."""
        vertex = bisect.bisect_right(self.starts, address) - 1
        if vertex < 0 or address >= self.starts[vertex] + self.slots[vertex]:
            return None
        return vertex

    def objects_at(self, addresses):
        found = (self.find(address) for address in addresses if address)
        return [vertex for vertex in found if vertex is not None]

    def walk(self, holders, cut=frozenset(), seen=None):
        """Mark all that holders and roots lead to, but for goref's own roots of
        timers, finalizers and cleanups; without some edges. seen: go on from a
        walk before."""
        stack = []
        if seen is None:
            seen = bytearray(self.is_own_root)
            seen[self.top] = 1
            stack.append(self.top)
        for holder in holders:
            for vertex in holder.holds:
                if not seen[vertex]:
                    seen[vertex] = 1
                    stack.append(vertex)
        edges = self.edges
        sources = {source for source, _ in cut}
        while stack:
            source = stack.pop()
            for vertex in edges[source]:
                if seen[vertex] or (
                    source in sources and (source, vertex) in cut
                ):
                    continue
                seen[vertex] = 1
                stack.append(vertex)
        return seen

    def saved(self, gone, cut=frozenset()):
        """The bytes of the objects that are no longer reached without some
        holders and edges."""
        if self.reached is None:
            self.reached = self.walk(self.holders)
        gone = set(gone)
        left = self.walk([h for h in self.holders if h not in gone], cut)
        lost = (had and not has for had, has in zip(self.reached, left))
        return sum(itertools.compress(self.slots, lost))


# --------------------------------------------------------------------- stacks


def started(goroutine):
    """The function that a goroutine was started with: not a wrapper, and not
    one of the runtime."""
    start, frames = goroutine["start"], goroutine["frames"]
    if WRAPPER.search(start):
        return frames[frames.index(start) - 1]
    if start.startswith("runtime."):
        return next((name for name in reversed(frames) if is_own(name)), start)
    return start


def is_own(function):
    """Is it a function of the program?"""
    return not function.startswith(("runtime.", "iter.", "internal/"))


def is_users(goroutine):
    """Not a goroutine of the runtime, as long as that calls no finalizer."""
    if goroutine["start"] in RUNNERS:
        return goroutine["reason"] in BLOCKED
    is_runtimes = goroutine["start"].startswith("runtime.")
    return not is_runtimes or goroutine["start"] in CALLERS


def stack_for(bytes_):
    size = SMALLEST_STACK
    while size < bytes_:
        size *= 2
    return size


def stacks(facts):
    """The stacks of waiting goroutines beyond what they use, by function; and
    the part of it that collections free."""
    found, freed = defaultdict(Counter), Counter()
    for goroutine in facts["goroutines"]:
        if goroutine["status"] != WAITING or not is_users(goroutine):
            continue
        size = goroutine["high"] - goroutine["low"]
        used = goroutine["high"] - goroutine["pointer"]
        guard = goroutine["guard"] - goroutine["low"]
        name = started(goroutine)
        saved = size - stack_for(used + guard)
        if saved <= 0:
            continue
        found[name].update(bytes=saved, count=1)
        least = size
        while (
            least // 2 >= SMALLEST_STACK
            and used + guard - STACK_SMALL < least // 4
        ):
            least //= 2
        freed[name] += size - least
    rows = [Row(n["bytes"], n["count"], name) for name, n in found.items()]
    return rows, freed


# --------------------------------------------------------------------- timers


def is_far(timer, limit):
    """Does it fire behind a moment? Until Go 1.22, one that was stopped or
    moved may still be in the heap as it was."""
    if timer["status"] in ("ModifiedEarlier", "ModifiedLater"):
        return timer["nextwhen"] > limit
    return timer["status"] in (None, "Waiting") and timer["when"] > limit


def site(heap, timer):
    """The function that a timer of AfterFunc calls; the type of one with a
    channel. None: it is the runtime's own."""
    if timer["calls"] == "time.goFunc":
        return timer["function"]
    if timer["calls"] == "time.sendTime":
        return heap.names[heap.find(timer["address"])]
    return None


def timer_holder(heap, timer):
    held = (timer["address"], timer["closure"], timer["argument"])
    entry = heap.find(timer["address"])
    return Holder("timer", heap.objects_at(held), entry=entry)


class Timers:
    """The timers in the heaps of Ps; far is {site: timers}."""

    def __init__(self, heap, facts):
        self.heap = heap
        self.holders, self.far = [], defaultdict(list)
        arrays = {timer["array"] for timer in facts["timers"]}
        self.arrays = heap.objects_at(arrays)
        limit = facts["moment"] + HOUR_NS
        for timer in facts["timers"]:
            holder = timer_holder(heap, timer)
            self.holders.append(holder)
            name = site(heap, timer)
            if holder.entry is not None and name and is_far(timer, limit):
                self.far[name].append(holder)

    def cut(self, holders):
        """The edges to some timers from the heaps of Ps."""
        return frozenset(
            (array, holder.entry)
            for array in self.arrays
            for holder in holders
        )

    def findings(self):
        for name, gone in self.far.items():
            cut = self.cut(gone)
            saved = self.heap.saved(gone, cut)
            yield Finding(Row(saved, len(gone), name), gone, cut)


# ----------------------------------------------------------------- finalizers


class Finalizers:
    """Specials of objects, entries of queues, and the objects that weak
    pointers may bring back."""

    def __init__(self, heap, facts):
        self.heap, self.facts = heap, facts
        self.specials, self.weak = [], []
        for special in facts["specials"]:
            self._add(special)
        self.queued = [
            Holder(entry["kind"], heap.objects_at(entry["holds"]))
            for entry in facts["queued"]
        ]

    def _add(self, special):
        heap, kind = self.heap, special["kind"]
        owner = heap.find(special["owner"])
        assert owner is not None or kind == "weak", special
        holds = heap.objects_at(special["holds"])
        if kind == "finalizer":
            # The runtime scans the object, and does not mark it.
            holds += [to for to in heap.edges[owner] if to != owner]
        if kind == "weak":
            self.weak.append(Holder(kind, [] if owner is None else [owner]))
            # The handle is a root of goref's.
            return
        self.specials.append(Holder(kind, holds, owner))

    def stuck_queues(self):
        """The kinds of entries that wait, and for which function. Until Go
        1.24, one goroutine runs both kinds."""
        runners = [g for g in self.facts["goroutines"] if g["start"] in RUNNERS]
        stuck = {}
        for kind in ("finalizer", "cleanup"):
            mine = [g for g in runners if RUNNERS[g["start"]] == kind]
            if mine and all(is_blocked(g) for g in mine):
                stuck[kind] = mine[0]
            elif not mine and kind == "cleanup" and "finalizer" in stuck:
                stuck[kind] = stuck["finalizer"]
        return stuck

    def unmarked(self):
        """The specials whose objects nothing else leads to: one counts once its
        object is reached."""
        mine = set(self.specials)
        others = [h for h in self.heap.holders if h not in mine]
        seen = self.heap.walk(others + self.weak)
        left, more = self.specials, True
        while more:
            more = [each for each in left if seen[each.owner]]
            left = [each for each in left if not seen[each.owner]]
            seen = self.heap.walk(more, seen=seen)
        return left

    def survivors(self, others, specials):
        """The collector marks from all specials, and runs those whose objects
        it has not marked. These are left when it finds no more."""
        while True:
            seen = self.heap.walk(others + specials)
            left = [each for each in specials if seen[each.owner]]
            if len(left) == len(specials):
                return left
            specials = left

    def stuck(self):
        """The specials that are never run: they do not need the queue."""
        left = self.unmarked()
        return self.survivors([], left)

    def queue(self):
        """The entries that wait, and the specials of objects that only these
        hold."""
        kinds = self.stuck_queues()
        entries = [each for each in self.queued if each.kind in kinds]
        if not entries:
            return
        mine = set(entries + self.specials)
        others = [h for h in self.heap.holders if h not in mine]
        left = set(self.survivors(others, self.specials))
        gone = entries + [each for each in self.specials if each not in left]
        found = {each.kind for each in entries}
        runner = kinds["finalizer" if "finalizer" in found else "cleanup"]
        count = len(entries) - self.still_running(kinds)
        row = Row(self.heap.saved(gone), count, running(runner))
        yield Finding(row, gone)

    def still_running(self, kinds):
        """Entries that are running: an entry stays in the queue meanwhile, but
        for a cleanup that is a record."""
        runners = {g["address"]: RUNNERS[g["start"]] for g in kinds.values()}
        if self.facts["has_records"]:
            return list(runners.values()).count("finalizer")
        return len(runners)

    def findings(self):
        yield from self.queue()
        groups = defaultdict(list)
        for special in self.stuck():
            groups[special.kind, self.heap.names[special.owner]].append(special)
        for (_, name), gone in groups.items():
            # A finalizer that holds nothing does not keep its object alive.
            owners = {special.owner for special in gone if special.holds}
            row = Row(self.heap.saved(gone), len(owners), name)
            yield Finding(row, gone)


def is_blocked(goroutine):
    return goroutine["status"] == WAITING and goroutine["reason"] in BLOCKED


def running(goroutine):
    """The function that the runtime has called."""
    return next(filter(is_own, reversed(goroutine["frames"])))


# ------------------------------------------------------------------ collector


def size_text(bytes_):
    if bytes_ < 1024:
        return f"{bytes_} B"
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        bytes_ /= 1024
        if bytes_ < 1023.95:
            break
    return f"{bytes_:.1f} {unit}"


def headroom(heap, facts, allocated):
    """The first sentence of the advice. allocated: bytes, as the program says.
    A limit of memory may lower the next goal."""
    setting = facts["collector"]
    has_limit = 0 < setting["limit"] < FOREVER
    text = f"GOGC is {setting['percent']}"
    if setting["percent"] < 0:
        text = "GOGC is off"
    if has_limit:
        text += f" and GOMEMLIMIT is {size_text(setting['limit'])}"
    text += f": {size_text(heap.bytes)} of the heap is live, and a collection "
    text += f"now would free at least {size_text(allocated - heap.bytes)}"
    if setting["percent"] >= 0:
        text += ", and the next one ends at a heap of "
        text += "at most " if has_limit else ""
        text += size_text(setting["goal"])
    return text + "."


def answer(scan, facts, allocated):
    """Rows by check, as lists; what all of them save; the parts of stacks that
    collections free."""
    heap = Heap(scan)
    timers, finalizers = Timers(heap, facts), Finalizers(heap, facts)
    heap.holders = timers.holders + finalizers.specials + finalizers.queued
    stack_rows, freed = stacks(facts)
    far = list(timers.findings())
    deferred = list(finalizers.findings())
    printed = [each for each in far + deferred if each.row.bytes]
    gone = [holder for each in printed for holder in each.gone]
    cut = frozenset(edge for each in printed for edge in each.cut)
    return {
        "goroutine-stack": stack_rows,
        "far-timers": [each.row for each in far],
        "stuck-finalizer": [each.row for each in deferred],
        "gc-headroom": headroom(heap, facts, allocated),
        "total": heap.saved(gone, cut) + sum(row.bytes for row in stack_rows),
        "freed": freed,
        "bytes": heap.bytes,
        "objects": heap.nobjects,
    }
