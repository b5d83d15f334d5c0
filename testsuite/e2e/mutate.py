# SPDX-License-Identifier: Apache-2.0
"""Damaged cores: a real core, changed in one of many seeded ways.

As a module of gdb's Python: run_in_gdb(). As a program, for a scanner built
with sanitizers:

    mutate.py [--keep FOLDER] GOREF-SCAN EXE CORE COUNT [FIRST]
"""

import json
import mmap
import os
import random
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, NamedTuple

from session import gdb_bears

PAGE = 4096
HEADER = struct.Struct("<IIQQQQQQ")
SEGMENT_FIELDS = {"flags": 4, "offset": 8, "vaddr": 16, "filesz": 32, "memsz": 40}
MAX_SECONDS = 10
MAX_ATTEMPTS = 10
# What is asked of each damaged core; of an address in its heap.
COMMANDS = (
    "core-file {core}",
    "goref scan --json",
    "goref why {address} --json",
    "goref verify --json",
    "goref suspects --json",
    "goref dominators --json",
    "goref why {address} --paths 3 --all-roots --json",
    "goref object {address} --refs --referrers --json",
    "goref histogram --retained --json",
    "goref histogram --by field --json",
    "goref leaks --json",
    "goref waits --json",
    "goref export --format hprof /dev/null",
    "core-file",
)

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


def copy_sparse(source, target):
    """Copy what the file really has; cores are mostly holes."""
    with open(source, "rb") as old, open(target, "wb") as new:
        size = os.fstat(old.fileno()).st_size
        new.truncate(size)
        at = 0
        while at < size:
            try:
                at = os.lseek(old.fileno(), at, os.SEEK_DATA)
            except OSError:
                break
            end = os.lseek(old.fileno(), at, os.SEEK_HOLE)
            while at < end:
                piece = os.pread(old.fileno(), min(end - at, 1 << 20), at)
                os.pwrite(new.fileno(), piece, at)
                at += len(piece)


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
            # What another header has: they overlap.
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


# What gdb itself reads of a core when it opens it.
FILE_KINDS = {k.__name__ for k in (truncate, bits, headers, file_header, notes,
                                   threads)}  # fmt: skip


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


# --------------------------------------------------------------- in gdb


def _execute(command):
    """The row of a command: seconds, the error if there was one, the total
    that was listed, and whether the answer is complete."""
    import gdb  # only there in gdb's own Python

    ours = command.startswith("goref")
    start = time.monotonic()
    error, document = None, {}
    try:
        # What gdb itself says of a damaged core need not be text.
        said = gdb.execute(command, to_string=ours)
        if command.endswith("--json"):
            # Warnings come before the document.
            decoder = json.JSONDecoder()
            document = decoder.raw_decode(said[said.find("{") :])[0]
    except gdb.error as problem:
        error = str(problem)
    except KeyboardInterrupt:  # Ctrl-C, which a question has sent
        error = "goref: interrupted"
    return {
        "seconds": round(time.monotonic() - start, 3),
        "error": error,
        "total": document.get("total"),
        "complete": document.get("complete"),
    }


def peak_kb():
    """Of this program: ru_maxrss is also that of who started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


class Way(NamedTuple):
    """What is damaged, how, and what is asked then."""

    points: Any
    damage: Callable[..., str]  # (path, points, seed)
    questions: Callable[..., Any]  # (points, seed, whole core)


def _commands(points, seed, core):
    address = hex(question(points, seed, core))
    return [c.replace("{address}", address) for c in COMMANDS]


def run_in_gdb(scanner, exe, core, folder, first, count):
    """Damage, open, ask; a line of JSON for each command."""
    way = Way(Points(scanner, exe, core), damage, _commands)
    run_way(way, core, folder, first, count)


def _damage_bearably(way, core, damaged, seed):
    """Damage a copy of the core so that gdb opens it or refuses it."""
    import gdb

    exe = gdb.current_progspace().filename
    for attempt in range(MAX_ATTEMPTS):
        copy_sparse(core, damaged)
        kind = way.damage(damaged, way.points, seed + (attempt << 20))
        if kind not in FILE_KINDS or gdb_bears(exe, damaged):
            return kind
    raise AssertionError(f"gdb fails at each damage of seed {seed}")


def run_way(way, core, folder, first, count):
    for seed in range(first, first + count):
        damaged = Path(folder) / f"damaged-{seed}"
        kind = _damage_bearably(way, core, damaged, seed)
        print(json.dumps({"seed": seed, "kind": kind}), flush=True)
        for template in way.questions(way.points, seed, core):
            command = template.replace("{core}", str(damaged))
            said = command.replace(str(damaged), "DAMAGED")
            row = {"seed": seed, "command": said, **_execute(command)}
            print(json.dumps(row), flush=True)
        damaged.unlink()
    print(json.dumps({"done": count, "peak_kb": peak_kb()}), flush=True)


# ------------------------------------------------------- a scanner of its own


def _options(points, seed, core):
    why = ["--why", hex(question(points, seed, core))]
    return [], why, ["--verify"], ["--graph"], ["--paths"], ["--exports"]


def run_scanner(scanner, exe, core, count, first, keep):
    way = Way(Points(scanner, exe, core), damage, _options)
    return scan_way(way, [scanner, exe, core], count, first, keep)


def scan_way(way, named, count, first, keep):
    scanner, exe, core = named
    damaged = Path(keep or ".") / "damaged"
    bad, slowest, failed = 0, 0.0, 0
    for seed in range(first, first + count):
        copy_sparse(core, damaged)
        kind = way.damage(damaged, way.points, seed)
        for option in way.questions(way.points, seed, core):
            start = time.monotonic()
            try:
                done = subprocess.run(
                    [scanner, *option, exe, damaged],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    timeout=MAX_SECONDS * 6,
                )
                code, said = done.returncode, done.stderr
            except subprocess.TimeoutExpired as problem:
                code, said = "hangs", problem.stderr or b""
            seconds = time.monotonic() - start
            slowest = max(slowest, seconds)
            failed += code == 1
            if code not in (0, 1) or seconds > MAX_SECONDS:
                bad += 1
                print(f"seed {seed} {kind} {option}: {code}, {seconds:.1f} s")
                print(said.decode(errors="replace")[:3000], flush=True)
                if keep:
                    copy_sparse(damaged, Path(keep) / f"seed-{seed}")
    print(f"{count} cores, {bad} bad, {failed} refused, slowest {slowest:.1f} s")
    return bad


def main(argv, run=run_scanner):
    keep = None
    if argv[:1] == ["--keep"]:
        keep, argv = argv[1], argv[2:]
    scanner, exe, core, count = argv[:4]
    first = int(argv[4]) if len(argv) > 4 else 0
    return run(scanner, exe, core, int(count), first, keep) != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
