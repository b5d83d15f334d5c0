# SPDX-License-Identifier: Apache-2.0
"""A naive version of checks of `goref waste': each in a few lines over a walk
of its own, which follows the types from the variables of package main.

The walk notes for each object the views that lead to it. A view is a pointer
with what its type says of the memory behind it: lo, hi and used are offsets in
the object. A string reaches its bytes, a slice its capacity, of which its
length is in use, a pointer its value."""

import bisect
import struct
from collections import Counter, defaultdict, deque
from typing import NamedTuple

from goref import packages

# runtime/sizeclasses.go, the same in all releases.
CLASSES = [
    8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224,
    240, 256, 288, 320, 352, 384, 416, 448, 480, 512, 576, 640, 704, 768,
    896, 1024, 1152, 1280, 1408, 1536, 1792, 2048, 2304, 2688, 3072, 3200,
    3456, 4096, 4864, 5376, 6144, 6528, 6784, 6912, 8192, 9472, 9728, 10240,
    10880, 12288, 13568, 14336, 16384, 18432, 19072, 20480, 21760, 24576,
    27264, 28672, 32768,
]  # fmt: skip
PAGE = 8192
TINY = 16  # runtime.maxTinySize
HEADER = 8
LEAST_OBJECTS = 100  # below, one value may be a coincidence
HEADER_ABOVE = 512  # bytes of an object with pointers, where there are headers


class View(NamedTuple):
    lo: int
    hi: int
    used: int


class Place(NamedTuple):
    """The field by which an object is reached: of a struct or a variable."""

    type: str
    field: str


class Object:
    """An object, from its first byte behind a malloc header."""

    def __init__(self, info):
        self.addr = info.base_addr
        self.bytes = info.bytes
        self.slot = info.slot_bytes
        self.is_noscan = bool(info.spanclass & 1)
        self.header = info.header_bytes
        self.views = []
        self.places = []
        self.types = set()  # of values at its begin
        self.is_text = self.is_array = False

    def add(self, view, place):
        self.views.append(view)
        if place not in self.places:
            self.places.append(place)

    @property
    def place(self):
        return self.places[0]

    def intervals(self):
        """The union of all views: separate intervals, rising."""
        found = []
        for lo, hi, used in sorted(self.views):
            if found and lo <= found[-1][1]:
                last = found[-1]
                last[1], last[2] = max(last[1], hi), max(last[2], used)
            else:
                found.append([lo, hi, used])
        return [View(*interval) for interval in found]


class Leaf(NamedTuple):
    """A pointer out of a value: at an offset, by a field of a struct."""

    offset: int
    kind: str
    type: int
    place: Place | None  # None: that of the value itself


LEADING = ("string", "slice", "pointer", "map", "interface")


class Types:
    def __init__(self, scan):
        self.scan = scan
        self._infos, self._leaves = {}, {}

    def __getitem__(self, number):
        if number not in self._infos:
            self._infos[number] = self.scan.type_info(number)
        return self._infos[number]

    def leaves(self, number):
        if number not in self._leaves:
            self._leaves[number] = list(self._make(number))
        return self._leaves[number]

    def _make(self, number):
        info = self[number]
        if info.kind in LEADING:
            yield Leaf(0, info.kind, number, None)
        elif info.kind == "array":
            inner = self.leaves(info.elem)
            size = self[info.elem].size
            for i in range(info.length if inner else 0):
                for leaf in inner:
                    yield leaf._replace(offset=leaf.offset + i * size)
        elif info.kind == "struct":
            for field in info.fields:
                for leaf in self.leaves(field.type):
                    at = leaf.offset + field.offset
                    here = Place(info.name, "." + field.name)
                    yield leaf._replace(offset=at, place=leaf.place or here)

    def align(self, number):
        info = self[number]
        if info.kind == "struct":
            return max([1, *(self.align(f.type) for f in info.fields)])
        if info.kind == "array":
            return self.align(info.elem)
        return min(max(info.size, 1), 8)

    def packed(self, fields):
        """The size of a struct with these fields in the best order, and in
        this one."""
        best = end = 0
        widest = max([1, *(self.align(f.type) for f in fields)])
        for field in fields:
            align = self.align(field.type)
            end = -(-end // align) * align + self[field.type].size
            best += self[field.type].size
        return tuple(-(-n // widest) * widest for n in (best, end))


class Heap:
    """The objects of a scan, and a walk from the variables of main."""

    def __init__(self, scan):
        self.scan = scan
        self.types = Types(scan)
        self.objects = []
        self.total_bytes = 0
        size = scan.graph_size()
        for vertex in range(size.objects):
            addr = scan.vertex(vertex).addr
            info = scan.object_info(addr, 0, 0, False, False)
            self.objects.append(Object(info))
            self.total_bytes += info.slot_bytes
        self.objects.sort(key=lambda each: each.addr)
        self.starts = [each.addr for each in self.objects]
        self.has_headers = any(each.header for each in self.objects)
        minor = scan.info().go_version.split(".")[1]
        self.is_swiss = int(minor) >= 24  # runtime/map.go before that
        self.values = defaultdict(set)  # {type: addresses of values}
        self.maps = {}  # {address of the header: (type, place)}
        self._queue = deque()
        self._walk()

    def find(self, addr):
        i = bisect.bisect_right(self.starts, addr) - 1
        if i >= 0 and addr < self.starts[i] + self.objects[i].bytes:
            return self.objects[i]
        return None

    def slot(self, size, is_noscan):
        if size == 0:
            return 0
        if self.has_headers and not is_noscan and size > HEADER_ABOVE:
            if size + HEADER <= CLASSES[-1]:
                size += HEADER
        if size <= CLASSES[-1]:
            return CLASSES[bisect.bisect_left(CLASSES, size)]
        return -(-size // PAGE) * PAGE

    # ---------------------------------------------------------------- walk

    def _walk(self):
        size = self.scan.graph_size()
        for vertex in range(size.objects, size.roots_end):
            row = self.scan.vertex(vertex)
            if row.kind != "global" or not row.name.startswith("main."):
                continue
            root = self.scan.value_place(vertex)
            if root.form == "value" and root.addr:
                place = Place(row.name.partition(" ")[0], "")
                self._value(root.type, root.addr, 1, place)
        while self._queue:
            self._value(*self._queue.popleft())

    def _value(self, number, addr, count, place):
        """Follow values of a type that lie one behind the other."""
        leaves = self.types.leaves(number)
        size = self.types[number].size
        if count == 1 and self.types[number].kind == "struct":
            if addr in self.values[number]:
                return
            self.values[number].add(addr)
        if not leaves or not size:
            return
        content = self.scan.read(addr, size * count)
        for i in range(count):
            for leaf in leaves:
                self._leaf(leaf, content, i * size + leaf.offset, place)

    def _leaf(self, leaf, content, at, place):
        place = leaf.place or place
        (word,) = struct.unpack_from("<Q", content, at)
        if not word:
            return
        if leaf.kind == "pointer":
            self._pointer(self.types[leaf.type].elem, word, place)
        elif leaf.kind == "string":
            (length,) = struct.unpack_from("<Q", content, at + 8)
            self._view(word, length, length, place, is_text=True)
        elif leaf.kind == "slice":
            length, capacity = struct.unpack_from("<QQ", content, at + 8)
            self._slice(leaf.type, word, length, capacity, place)
        elif leaf.kind == "map":
            self._map(leaf.type, word, place)
        else:
            (data,) = struct.unpack_from("<Q", content, at + 8)
            self._interface(leaf.type, word, data, place)

    def _pointer(self, number, addr, place):
        size = self.types[number].size
        found = self._view(addr, size, size, place)
        if found and found.addr == addr:
            found.types.add(number)
        self._queue.append((number, addr, 1, place))

    def _slice(self, number, addr, length, capacity, place):
        elem = self.types[number].elem
        size = self.types[elem].size
        is_text = self.types[elem].name == "uint8"
        found = self._view(
            addr, length * size, capacity * size, place, is_text
        )
        if found:
            found.is_array = True
        if capacity and self.types.leaves(elem):
            self._queue.append((elem, addr, capacity, place))

    def _interface(self, number, word, data, place):
        made = self.scan.dynamic_type(number, word)
        if made.type is None or not data:
            return
        if not made.is_direct:
            self._pointer(made.type, data, place)
        elif self.types[made.type].kind == "pointer":
            self._pointer(self.types[made.type].elem, data, place)

    def _map(self, number, header, place):
        if header in self.maps:
            return
        self.maps[header] = number, place
        info = self.types[number]
        for key, elem in self.scan.map_entries(number, header):
            self._value(info.key, key, 1, place)
            self._value(info.elem, elem, 1, place)

    def _view(self, addr, used, reached, place, is_text=False):
        found = self.find(addr)
        if found:
            lo = addr - found.addr
            hi = min(lo + reached, found.bytes)
            found.add(View(lo, hi, min(lo + used, hi)), place)
            found.is_text |= is_text
        return found


# --------------------------------------------------------------------- checks


def rows():
    return defaultdict(Counter)


def count(found, place, saved):
    if saved > 0:
        found[place]["bytes"] += saved
        found[place]["count"] += 1


def seen(heap):
    return (each for each in heap.objects if each.views)


def is_tiny(each):
    """Could it be a block of the tiny allocator, with objects of its own?"""
    return each.is_noscan and each.slot <= TINY


def pinned_array(heap):
    """The arrays that a slice or a string leads to. A pointer to one of its
    values may be used for the others by unsafe code."""
    found = rows()
    for each in seen(heap):
        if is_tiny(each) or not each.is_array and not each.is_text:
            continue
        less = sum(
            heap.slot(hi - lo, each.is_noscan)
            for lo, hi, _ in each.intervals()
        )
        count(found, each.place, each.slot - less)
    return found


def slice_capacity(heap):
    found = rows()
    for each in seen(heap):
        if is_tiny(each):
            continue
        saved = sum(
            heap.slot(hi - lo, each.is_noscan)
            - heap.slot(used - lo, each.is_noscan)
            for lo, hi, used in each.intervals()
        )
        count(found, each.place, saved)
    return found


def duplicate_strings(heap):
    """All objects but the first with the same bytes. Each is all of a string
    or a slice, or of several that are equal, and garbage without them."""
    groups = defaultdict(list)
    for each in seen(heap):
        views = set(each.views)
        if not each.is_text or len(views) > 1 or not each.is_noscan:
            continue
        lo, hi, used = views.pop()
        if is_tiny(each):
            is_whole = used == hi
        else:
            is_whole = lo == 0 and heap.slot(used, True) == each.slot
        if is_whole and used > lo:
            content = heap.scan.read(each.addr + lo, used - lo)
            groups[each.is_array, content].append(each)
    found = rows()
    for equal in groups.values():
        for each in equal[1:]:
            count(found, each.place, each.slot)
    return found


def records(heap):
    """The objects that are one value of a struct that an author can change, by
    type."""
    found = defaultdict(list)
    for each in seen(heap):
        if len(each.types) == 1:
            (number,) = each.types
            info = heap.types[number]
            is_whole = set(each.views) == {View(0, info.size, info.size)}
            fits = heap.slot(info.size, each.is_noscan) == each.slot
            whose = packages.origin(packages.package_of(info.name), packages.NONE)
            is_theirs = whose not in ("std", "runtime")
            if info.kind == "struct" and is_theirs and is_whole and fits:
                found[number].append(each)
    return found


def constant_field(heap):
    """All fields of a type that have one value in its objects, together."""
    found = rows()
    for number, objects in records(heap).items():
        info = heap.types[number]
        contents = [heap.scan.read(each.addr, info.size) for each in objects]

        def has_one_value(field):
            end = field.offset + heap.types[field.type].size
            return len({c[field.offset : end] for c in contents}) == 1

        others = [f for f in info.fields if not has_one_value(f)]
        names = [f".{f.name}" for f in info.fields if f not in others]
        size = heap.types.packed(others)[1]
        less = heap.slot(size, objects[0].is_noscan)
        if len(objects) >= LEAST_OBJECTS and names and not is_tiny(objects[0]):
            for each in objects:
                place = Place(info.name, ", ".join(names))
                count(found, place, each.slot - less)
    return found


def field_order(heap):
    found = rows()
    for number, objects in records(heap).items():
        info = heap.types[number]
        best, _ = heap.types.packed(info.fields)
        for each in objects:
            less = heap.slot(best, each.is_noscan)
            count(found, Place(info.name, ""), each.slot - less)
    return found



def size_class(heap):
    """Types that would fit the class below if they lost an eighth or less, and
    less than half of what that saves: the others use their slots."""
    found = rows()
    for number, objects in records(heap).items():
        info = heap.types[number]
        is_noscan, slot = objects[0].is_noscan, objects[0].slot
        if slot > CLASSES[-1] or slot <= CLASSES[0]:
            continue
        below = CLASSES[CLASSES.index(slot) - 1]
        fits = max(
            size
            for size in range(below + 1)
            if heap.slot(size, is_noscan) <= below
        )
        lost = info.size - fits
        if lost * 8 <= below and lost * 2 <= slot - below:
            place = Place(info.name, "")
            for _ in objects:
                count(found, place, slot - below)
    return found


# ------------------------------------------------- sparse maps, by their memory


def words(heap, addr, number):
    return struct.unpack(f"<{number}Q", heap.scan.read(addr, 8 * number))


def slot_at(heap, addr, seen):
    """The slot of an object of a map that was not counted yet."""
    each = heap.find(addr) if addr else None
    if each is None or each.addr in seen:
        return 0
    seen.add(each.addr)
    return each.slot


def in_map(heap, number):
    """The bytes of a key or an element: those of more than 128 lie
    elsewhere."""
    size = heap.types[number].size
    return size if size <= 128 else 8


def swiss_group(heap, info):
    """The bytes of 8 entries with their control word."""
    key, elem = in_map(heap, info.key), in_map(heap, info.elem)
    align = max(heap.types.align(info.key), heap.types.align(info.elem))
    at = -(-key // heap.types.align(info.elem)) * heap.types.align(info.elem)
    entry = -(-(at + elem) // align) * align
    return -(-(8 + 8 * entry) // 8) * 8


def swiss_now(heap, header):
    seen = set()
    _, _, array, length = words(heap, header, 4)
    found = slot_at(heap, array, seen)
    for table in words(heap, array, length) if length else ():
        found += slot_at(heap, table, seen)
        # used, capacity ... in two words, then the index, then the groups.
        found += slot_at(heap, words(heap, table, 3)[2], seen)
    return found


def power_of_two(number):
    return 1 << max(0, number - 1).bit_length()


def swiss_fresh(heap, entries, group, is_noscan):
    if entries == 0:
        return 0
    if entries <= 8:
        return heap.slot(group, is_noscan)
    capacity = entries * 8 // 7
    tables = power_of_two(-(-capacity // 1024))
    groups = power_of_two(max(8, capacity // tables)) // 8
    one = heap.slot(32, False) + heap.slot(groups * group, is_noscan)
    return heap.slot(8 * tables, False) + tables * one


def plain_bucket(heap, info):
    key, elem = in_map(heap, info.key), in_map(heap, info.elem)
    return 8 + 8 * key + 8 * elem + 8


def plain_now(heap, header, bucket):
    """Buckets, those of the time before it grew, and those that overflow."""
    seen, found = set(), 0
    _, _, array, old = words(heap, header, 4)
    for first in (array, old):
        found += slot_at(heap, first, seen)
    for first in (array, old):
        each = heap.find(first) if first else None
        for at in range(first, each.addr + each.bytes, bucket) if each else ():
            if at + bucket > each.addr + each.bytes:
                break
            (chained,) = words(heap, at + bucket - 8, 1)
            while chained:
                found += slot_at(heap, chained, seen)
                (chained,) = words(heap, chained + bucket - 8, 1)
    return found


def plain_fresh(heap, entries, bucket, is_noscan):
    if entries == 0:
        return 0
    bits = 0
    while entries > 8 and entries > 13 * ((1 << bits) // 2):
        bits += 1
    count = 1 << bits
    if bits >= 4:
        count += 1 << bits - 4
    return heap.slot(count * bucket, is_noscan)


def sparse_map(heap):
    """Maps against fresh ones with as many entries. How many buckets overflow
    depends on the hashes: here, none does."""
    found = rows()
    is_swiss = heap.is_swiss
    for header, (number, place) in heap.maps.items():
        info = heap.types[number]
        (first, *_), each = words(heap, header, 1), heap.find(header)
        entries = first if is_swiss else first & (1 << 63) - 1
        array = words(heap, header, 3)[2]
        pieces = heap.find(array) if array else None
        if each is None or pieces is None:
            continue
        if is_swiss:
            has_pointers = any(
                heap.types.leaves(part) for part in (info.key, info.elem)
            )
            now = swiss_now(heap, header)
            fresh = swiss_fresh(
                heap, entries, swiss_group(heap, info), not has_pointers
            )
        else:
            bucket = plain_bucket(heap, info)
            now = plain_now(heap, header, bucket)
            fresh = plain_fresh(heap, entries, bucket, pieces.is_noscan)
        count(found, place, now - fresh)
    return found


CHECKS = {
    "duplicate-strings": duplicate_strings,
    "slice-capacity": slice_capacity,
    "pinned-array": pinned_array,
    "sparse-map": sparse_map,
    "constant-field": constant_field,
    "size-class": size_class,
    "field-order": field_order,
}


def answer(scan):
    """The rows of each check, as lists; and the places that lead to one object
    each: which of them is first depends on the order of the walk."""
    heap = Heap(scan)
    found = {
        name: [[*place, n["bytes"], n["count"]] for place, n in rows.items()]
        for name, rows in ((name, ask(heap)) for name, ask in CHECKS.items())
    }
    shared = {tuple(each.places) for each in seen(heap) if each.places[1:]}
    return {
        "rows": found,
        "shared": sorted(shared),
        "has_buckets": not heap.is_swiss,
    }
