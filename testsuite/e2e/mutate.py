# SPDX-License-Identifier: Apache-2.0
"""Damaged cores: a real core, changed in one of many seeded ways, and questions
about each, which asking.py's server runs. As a program:

    mutate.py [--way waits|samples|rss] [--keep FOLDER] EXE CORE COUNT [FIRST]

With GOREF_BUILD_DIR=build-asan, the questions run with sanitizers.
"""

import importlib
import json
import mmap
import os
import random
import shlex
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, NamedTuple

import asking
from samples import DOCUMENTS, samples

PAGE = 4096
HEADER = struct.Struct("<IIQQQQQQ")
SEGMENT_FIELDS = {"flags": 4, "offset": 8, "vaddr": 16, "filesz": 32, "memsz": 40}
MAX_SECONDS = 60 if asking.sanitizers() else 10  # of processor time
MAX_BYTES = 1 << 30  # in memory; without damage it takes a tenth
# Questions about each damaged core, and about an address in its heap.
COMMANDS = (
    *(
        " ".join([*words, "--json"])
        for words in samples(DOCUMENTS, place="{address}")
    ),
    "why {address} --paths 3 --all-roots --json",
    "object {address} --refs --referrers --json",
    "histogram --retained --json",
    "histogram --by field --json",
    "export --format hprof /dev/null",
)
# The options of a question that may end it.
ENDS = ("--memory-limit", "--timeout", "--last-poll")
# The scanner's own questions: one of each core. --names takes longest.
SCANS = ("--every", "--exports", "--every", "--exports", "--names")

# ------------------------------------------------------------ what is damaged


def symbols(exe):
    """Addresses of the data symbols of an executable."""
    data = Path(exe).read_bytes()
    (table,) = struct.unpack_from("<Q", data, 0x28)
    count = struct.unpack_from("<H", data, 0x3C)[0]
    found = {}
    for i in range(count):
        kind, link = struct.unpack_from("<4xI32xI", data, table + 64 * i)
        if kind != 2:
            continue
        offset, size = struct.unpack_from("<QQ", data, table + 64 * i + 24)
        names = struct.unpack_from("<Q", data, table + 64 * link + 24)[0]
        for at in range(offset, offset + size, 24):
            name, address = struct.unpack_from("<I4xQ", data, at)
            end = data.index(b"\0", names + name)
            found[data[names + name : end].decode()] = address
    return found


def layout_text(scanner, exe, core):
    return subprocess.run(
        [scanner, "--layout", exe, core], capture_output=True, text=True
    ).stdout


def layout(scanner, exe, core):
    """{"mspan.state": (offset, bytes), "mspan": (bytes,)} of the target."""
    text = layout_text(scanner, exe, core)
    rows = (line.split() for line in text.splitlines())
    return {
        row[0]: tuple(int(n) for n in row[1:])
        for row in rows
        if len(row) > 1
        and row[1] != "-"
        and row[0] not in ("const", "var", "name")
    }


def pieces(file):
    """Offset and length of the pieces that a file really has; cores are mostly
    holes."""
    size, end = os.fstat(file.fileno()).st_size, 0
    while end < size:
        try:
            at = os.lseek(file.fileno(), end, os.SEEK_DATA)
        except OSError:
            return
        end = os.lseek(file.fileno(), at, os.SEEK_HOLE)
        while at < end:
            count = min(end - at, 1 << 18)
            yield at, count
            at += count


def copy_sparse(source, target):
    with open(source, "rb") as old, open(target, "wb") as new:
        new.truncate(os.fstat(old.fileno()).st_size)
        for at, count in pieces(old):
            os.pwrite(new.fileno(), os.pread(old.fileno(), count, at), at)


def restore(source, target):
    """Copy to target, a damaged copy of source, only what differs."""
    size = os.stat(source).st_size
    if not target.exists() or os.stat(target).st_size != size:
        return copy_sparse(source, target)
    with open(source, "rb") as old, open(target, "r+b") as new:
        for at, count in pieces(new):
            piece = os.pread(old.fileno(), count, at)
            if piece != os.pread(new.fileno(), count, at):
                os.pwrite(new.fileno(), piece, at)


class Core:
    """A core file, mapped to be changed; words by target address."""

    def __init__(self, path):
        self.file = open(path, "r+b")
        self.data = mmap.mmap(self.file.fileno(), 0)
        (self.table,) = struct.unpack_from("<Q", self.data, 0x20)
        (count,) = struct.unpack_from("<H", self.data, 0x38)
        self.headers = [self.table + HEADER.size * i for i in range(count)]
        self.segments = []
        self.notes = (0, 0)
        for at in self.headers:
            kind, _, offset, vaddr, _, filesz, _, _ = HEADER.unpack_from(
                self.data, at
            )
            if kind == 1 and filesz:
                self.segments.append((vaddr, offset, filesz))
            elif kind == 4:
                self.notes = (offset, filesz)

    def close(self):
        self.data.close()
        self.file.close()

    def offset(self, address):
        """Place in the file, or None."""
        for vaddr, offset, size in self.segments:
            if vaddr <= address <= vaddr + size - 8:
                return offset + address - vaddr
        return None

    def u64(self, address):
        at = self.offset(address)
        return 0 if at is None else struct.unpack_from("<Q", self.data, at)[0]

    def put(self, address, value, size=8):
        at = self.offset(address)
        if at is not None:
            raw = struct.pack("<Q", value % (1 << 64))
            self.data[at : at + size] = raw[:size]

    def clear(self, address, size):
        at = self.offset(address)
        self.data[at : at + size] = bytes(size)


class Points:
    """Where the runtime's structures lie in an undamaged core."""

    def __init__(self, scanner, exe, core_path):
        self.layout = layout(scanner, exe, core_path)
        self.names = symbols(exe)
        core = Core(core_path)
        slot = self.mheap_field("allspans")
        self.spans = self._slice(core, slot)
        self.gs = self._slice(core, self.variable("allgs"))
        self.ps = self._slice(core, self.variable("allp"))
        self.ms = self._list(core, self.variable("allm"), "m.alllink")
        self.lengths = [slot + 8, slot + 16, self.variable("allgs") + 8]
        self.module = self.variable("firstmoduledata")
        self.in_use = [s for s in self.spans if self.field(core, s, "state") == 1]
        self.links = self._links(core)
        waiting = self.layout["g.waiting"][0]
        found = (core.u64(g + waiting) for g in self.gs)
        self.sudogs = [sudog for sudog in found if sudog] or self.gs
        core.close()

    def variable(self, name):
        return self.names["runtime." + name]

    def mheap_field(self, name):
        return self.variable("mheap_") + self.layout[f"mheap.{name}"][0]

    def module_field(self, name):
        return self.module + self.layout[f"moduledata.{name}"][0]

    @staticmethod
    def _slice(core, slot):
        first, count = core.u64(slot), core.u64(slot + 8)
        return [core.u64(first + 8 * i) for i in range(count)]

    def _list(self, core, slot, link):
        found, at = [], core.u64(slot)
        while at and at not in found:
            found.append(at)
            at = core.u64(at + self.layout.get(link, (0,))[0])
        return found

    def _links(self, core):
        """Words that lead from one record to the next."""
        found = [self.variable(v) for v in ("allm", "allfin")]
        found += [m + self.layout["m.alllink"][0] for m in self.ms]
        found += [self.module_field("next")]
        specials = self.layout["mspan.specials"][0]
        for span in self.in_use:
            found.append(span + specials)
            record = core.u64(span + specials)
            if record:
                found.append(record + self.layout["special.next"][0])
        for g in self.gs:
            for name in ("defer", "panic", "waiting"):
                if f"g.{name}" in self.layout:
                    found.append(g + self.layout[f"g.{name}"][0])
        return found

    def at(self, record, field):
        return record + self.layout[field][0]

    def field(self, core, span, name):
        offset, size = self.layout[f"mspan.{name}"]
        return core.u64(span + offset) % (1 << 8 * size)

    def heap_word(self, rng, core):
        """Address of some word of some object."""
        span = rng.choice(self.in_use)
        start = self.field(core, span, "start_addr")
        room = max(8, self.field(core, span, "npages") * 8192)
        # Objects in use are at the beginning of a span.
        return start + rng.randrange(max(1, min(room, 2048) // 8)) * 8


# ------------------------------------------------------------------ how


def wild(rng, core, points, own):
    """A value that should not be there."""
    return rng.choice(
        (
            0,
            1,
            (1 << 64) - 1,
            1 << 63,
            (1 << 63) - 1,
            1 << 32,
            1 << rng.randrange(64),
            own,
            own + 8 * rng.randrange(-8, 8),
            rng.getrandbits(64),
            rng.getrandbits(24),
            points.heap_word(rng, core),
            points.heap_word(rng, core) + rng.randrange(8),
            rng.choice(points.spans),
            rng.choice(points.gs),
            points.module,
        )
    )


def change(rng, core, points, address, size=8):
    core.put(address, wild(rng, core, points, address), size)


# Damage of linked records, for points with `places`, the addresses of all
# records of whatever kind.


def value_of(rng, core, points, own):
    """Mostly another record, or the middle of one; sometimes what should not
    be there at all."""
    if rng.random() < 0.4:
        return wild(rng, core, points, own)
    place = rng.choice(points.places)
    return rng.choice((place, place, own, place + 8 * rng.randrange(16), 0))


def put(rng, core, points, address, size=8):
    core.put(address, value_of(rng, core, points, address), min(size, 8))


def many(rng):
    return range(rng.choice((1, 1, 4, 30)))


def copies(rng, core, points):
    """A record where another one should be, or nothing."""
    for _ in many(rng):
        one, two = rng.choices(points.places, k=2)
        is_empty = rng.random() < 0.3
        for word in range(0, rng.choice((16, 64, 256)), 8):
            core.put(one + word, 0 if is_empty else core.u64(two + word))


def truncate(rng, core, _):
    ends = (rng.randrange(PAGE), len(core.data), core.table + 40 * PAGE)
    size = rng.randrange(max(1, min(rng.choice(ends), len(core.data))))
    core.data.close()
    core.file.truncate(size)


def bits(rng, core, _):
    for _ in range(rng.choice((1, 1, 8, 64, 512))):
        _, offset, size = rng.choice(core.segments)
        at = offset + rng.randrange(size)
        core.data[at] ^= 1 << rng.randrange(8)


def headers(rng, core, points):
    for _ in range(rng.choice((1, 2, 10))):
        at = rng.choice(core.headers)
        place = at + SEGMENT_FIELDS[rng.choice(list(SEGMENT_FIELDS))]
        value = wild(rng, core, points, place)
        if rng.random() < 0.3:
            # The value of another header: they overlap.
            other = rng.choice(core.headers) + place - at
            (value,) = struct.unpack_from("<Q", core.data, other)
        core.data[place : place + 8] = struct.pack("<Q", value % (1 << 64))


def file_header(rng, core, _):
    at = rng.randrange(16, 64)
    core.data[at] = rng.getrandbits(8)


def notes(rng, core, _):
    offset, size = core.notes
    for _ in range(rng.choice((1, 4, 32))):
        core.data[offset + rng.randrange(size)] = rng.getrandbits(8)


def pages(rng, core, _):
    for _ in range(rng.choice((1, 3, 20))):
        (_, one, size), (_, two, other) = rng.choices(core.segments, k=2)
        one += rng.randrange(max(1, size // PAGE)) * PAGE
        two += rng.randrange(max(1, other // PAGE)) * PAGE
        first, second = core.data[one : one + PAGE], core.data[two : two + PAGE]
        core.data[one : one + len(second)] = second
        core.data[two : two + len(first)] = first


def spans(rng, core, points):
    fields = [n for n in points.layout if n.startswith("mspan.")]
    for _ in range(rng.choice((1, 1, 4, 40))):
        span = rng.choice(points.in_use if rng.random() < 0.8 else points.spans)
        offset, size = points.layout[rng.choice(fields)]
        change(rng, core, points, span + offset, min(size, 8))


def span_table(rng, core, points):
    slot = points.lengths[0] - 8
    first, count = core.u64(slot), core.u64(slot + 8)
    for _ in range(rng.choice((1, 4))):
        change(rng, core, points, first + 8 * rng.randrange(max(1, count)))


def goroutines(rng, core, points):
    fields = [n for n in points.layout if n.startswith("g.")]
    for _ in range(rng.choice((1, 1, 4, 20))):
        offset, size = points.layout[rng.choice(fields)]
        change(rng, core, points, rng.choice(points.gs) + offset, min(size, 8))


def stacks(rng, core, points):
    low = points.layout["g.stack"][0] if "g.stack" in points.layout else 0
    for _ in range(rng.choice((1, 8, 64))):
        g = rng.choice(points.gs)
        start, end = core.u64(g + low), core.u64(g + low + 8)
        if start < end:
            at = end - 8 - rng.randrange(min(end - start, 2048) // 8) * 8
            change(rng, core, points, at)


def waits(rng, core, points):
    """Sudogs, and the channels and locks that goroutines wait for."""
    chan = points.layout["sudog.chan"][0]
    for _ in range(rng.choice((1, 8, 64))):
        sudog = rng.choice(points.sudogs)
        record = rng.choice((sudog, core.u64(sudog + chan)))
        change(rng, core, points, record + 8 * rng.randrange(13))


def threads(rng, core, points):
    for _ in range(rng.choice((1, 4))):
        change(rng, core, points, rng.choice(points.ms) + 8 * rng.randrange(100))


def module(rng, core, points):
    for _ in range(rng.choice((1, 1, 5))):
        size = points.layout["moduledata"][0]
        change(rng, core, points, points.module + rng.randrange(size // 8) * 8)


def objects(rng, core, points):
    for _ in range(rng.choice((1, 10, 100, 1000))):
        change(rng, core, points, points.heap_word(rng, core))


def lengths(rng, core, points):
    huge = (1 << 63, (1 << 63) - 1, (1 << 64) - 1, 1 << 40, 1 << 31, 1 << 28)
    for _ in range(rng.choice((1, 3, 30))):
        at = points.heap_word(rng, core)
        if rng.random() < 0.3:
            at = rng.choice(points.lengths)
        core.put(at, rng.choice(huge))
        if rng.random() < 0.5:
            core.put(at + 8, rng.choice(huge))


def loops(rng, core, points):
    for _ in range(rng.choice((1, 2, 8))):
        at = rng.choice(points.links)
        core.put(at, rng.choice((at, core.u64(rng.choice(points.links)))))
    for _ in range(rng.choice((0, 20))):
        # Objects that lead to themselves.
        at = points.heap_word(rng, core)
        core.put(at, at - rng.randrange(4) * 8)


KINDS = (
    truncate, bits, headers, file_header, notes, pages, spans, span_table,
    goroutines, stacks, threads, module, objects, lengths, loops, waits,
)  # fmt: skip


def damage(path, points, seed, kinds=KINDS):
    """Change the core file at path; the name of what was done."""
    rng = random.Random(seed)
    kind = kinds[seed % len(kinds)]
    core = Core(path)
    try:
        kind(rng, core, points)
    finally:
        core.close()
    return kind.__name__


def question(points, seed, core_path):
    """An address to ask about."""
    core = Core(core_path)
    address = points.heap_word(random.Random(~seed), core)
    core.close()
    return address


# ------------------------------------------------------------ what is asked


class Question(NamedTuple):
    """A verb with its options, or options of scanner.py."""

    text: str
    interrupt_at: int = 0

    @property
    def is_scan(self):
        return self.text.startswith("--")

    @property
    def may_share(self):
        """May another question have made the scan before?"""
        is_ended = self.interrupt_at or any(x in self.text for x in ENDS)
        return not self.is_scan and not is_ended

    @property
    def words(self):
        return shlex.split(self.text)

    def ask(self, exe, core):
        if self.is_scan:
            return asking.run_scanner(
                *self.words, exe, core, max_seconds=MAX_SECONDS
            )
        return asking.run_goref(
            "core", exe, core, *self.words,
            max_seconds=MAX_SECONDS, interrupt_at=self.interrupt_at,
        )  # fmt: skip


class Answer(NamedTuple):
    """The outcome of a question. error: its line, or None; document: empty if
    there is none."""

    seed: int
    kind: str
    question: Question
    done: asking.Done
    error: str | None
    document: dict[str, Any]


class Way(NamedTuple):
    """One kind of target: its places, how they are damaged, the questions."""

    points: Any
    damage: Callable[..., str]  # (path, points, seed)
    questions: Callable[..., list[Question]]  # (points, seed, whole core)


def questions(points, seed, core):
    address = hex(question(points, seed, core))
    asked = [Question(c.format(address=address)) for c in COMMANDS]
    return [*asked, Question(SCANS[seed % len(SCANS)])]


def way_of(exe, core):
    return Way(Points(asking.SCANNER, exe, core), damage, questions)


def _read(question, done):
    """The error of a run, and its document."""
    lines = [
        line
        for line in done.stderr.splitlines()
        if not line.startswith(("warning: ", "goref: warning: "))
    ]
    error = "\n".join(lines) if done.returncode == 1 else None
    is_json = done.stdout.startswith("{") and "--json" in question.text
    return error, json.loads(done.stdout) if is_json else {}


def ask_all(questions, exe, core, seed):
    """Each question and its outcome. They share one scan of the core; but in
    turn with the seed, one of them makes its own, as the others have to."""
    shared = [asked for asked in questions if asked.may_share]
    shared.remove(shared[seed % len(shared)])
    words = [asked.words for asked in shared]
    outcomes = words and asking.run_opened(
        exe, core, words, max_seconds=MAX_SECONDS
    )
    found = dict(zip(shared, outcomes, strict=True))
    for asked in questions:
        yield asked, found.get(asked) or asked.ask(exe, core)


def run(way, target, folder, first, count, keep=None):
    """Damage, ask: an Answer for each question. target: its exe and core are
    looked at. keep: a folder for cores at which something ends badly."""
    damaged = Path(folder) / "damaged"
    for seed in range(first, first + count):
        restore(target.core, damaged)
        kind = way.damage(damaged, way.points, seed)
        asked = way.questions(way.points, seed, target.core)
        for question, done in ask_all(asked, target.exe, damaged, seed):
            answer = Answer(
                seed, kind, question, done, *_read(question, done)
            )
            if keep and is_bad(answer):
                copy_sparse(damaged, Path(keep) / f"seed-{seed}")
            yield answer
    damaged.unlink(missing_ok=True)


def is_bad(answer):
    """A crash, a traceback, a report of a sanitizer, more than one line, much
    time or memory."""
    done = answer.done
    lines = (answer.error or "").splitlines()
    begin = "scanner" if answer.question.is_scan else "goref"
    return (
        done.returncode not in (0, 1, 3)
        or "Traceback" in done.stderr
        or (done.returncode == 1 and len(lines) != 1)
        or not all(line.startswith(begin) for line in lines)
        or (done.used > MAX_BYTES and not asking.sanitizers())
    )


# ---------------------------------------------------------------- as a program


class _Files(NamedTuple):
    exe: str
    core: str


def main(argv):
    keep, make_way = None, way_of
    if argv[:1] == ["--way"]:
        make_way = importlib.import_module(f"mutate_{argv[1]}").way_of
        argv = argv[2:]
    if argv[:1] == ["--keep"]:
        keep, argv = argv[1], argv[2:]
    target, count = _Files(*argv[:2]), int(argv[2])
    first = int(argv[3]) if len(argv) > 3 else 0
    bad = asked = refused = 0
    seconds = 0.0
    way = make_way(target.exe, target.core)
    for answer in run(way, target, keep or ".", first, count, keep):
        asked += 1
        refused += answer.done.returncode == 1
        seconds += answer.done.seconds
        if is_bad(answer):
            bad += 1
            print(answer.seed, answer.kind, *answer.question, answer.done)
    print(f"{count} cores, {asked} questions, {bad} bad, {refused} refused, "
          f"{seconds:.1f} s")  # fmt: skip
    return bad != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
