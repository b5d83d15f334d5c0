# SPDX-License-Identifier: Apache-2.0
"""A naive version of the check tiny-objects of `goref waste'.

All words of the heap are read by the types of their objects, and noted with the
object to which they lead. A word of the graph that no type explains may use all
of its target."""

import bisect
import struct
from collections import defaultdict
from typing import NamedTuple

from naive_graph import Row
from naive_waste import CLASSES, TINY, Place

MOST_IN_BOX, MOST_BEHIND_POINTER = 16, 24
HEADER_ABOVE = 512  # bytes of an object with pointers, in some releases
WORD = 8
INTERFACE, SLICE = 2 * WORD, 3 * WORD
HOLDERS = ("main.Tag", "main.Item", "main.Either", "main.Group", "main.inUse")


class Use(NamedTuple):
    """A word that leads to an object, and the bytes of it that it uses."""

    addr: int | None
    holder: int | None  # the object with the word
    place: Place | None  # None: that of the holder
    kind: str
    lo: int
    hi: int
    used: int


def is_closure(info):
    return info.kind == "struct" and ".func" in info.name


class Tiny:
    def __init__(self, graph):
        self.graph = graph
        self.types = graph.types
        self.uses = defaultdict(list)  # {object: Use}
        self.maps = {}  # {header: number of entries}
        for v in range(graph.nobjects):
            if v in graph.alive:
                self._read_object(v)
        for v in graph.roots():
            self._read_root(v)

    # ------------------------------------------------------------------ words

    def _read_object(self, v):
        place, start = self.graph.places[v], self.graph.starts[v]
        if place.form == "value":
            is_kept = not is_closure(self.types[place.type])
            self._read(place.type, start, 1, v, None, is_kept)
        elif place.form == "array":
            size = self.types[place.type].size
            if size:
                count = self.graph.sizes[v] // size
                self._read(place.type, start, count, v, None, True)
        elif place.form == "header":
            self._read_map(v, place)

    def _read_map(self, v, place):
        info = self.types[place.type]
        if info.kind != "map":
            return
        count = 0
        for key, elem in self.graph.scan.map_entries(place.type, place.addr):
            count += 1
            self._read(info.key, key, 1, v, None, True)
            self._read(info.elem, elem, 1, v, None, True)
        self.maps[v] = count

    def _read_root(self, v):
        row = self.graph.vertices[v]
        place = self.graph.scan.value_place(v)
        if row.kind == "global" and place.form == "value" and place.addr:
            name = Place(row.name.partition(" ")[0], "")
            self._read(place.type, place.addr, 1, None, name, False)

    def _read(self, number, addr, count, holder, place, is_kept):
        """Values of a type that lie one behind the other. is_kept: they are in
        a record, an array or a map."""
        leaves = self.types.leaves(number)
        if not leaves:
            return
        size = self.types[number].size
        content = self.graph.scan.read(addr, size * count)
        for at in range(0, size * count, size):
            for leaf in leaves:
                self._read_word(
                    leaf, content, at + leaf.offset, addr, holder,
                    leaf.place or place, is_kept,
                )  # fmt: skip

    def _read_word(self, leaf, content, at, addr, holder, place, is_kept):
        word, *more = struct.unpack_from("<3Q", content + bytes(24), at)
        info, kind, where = self.types[leaf.type], leaf.kind, addr + at
        if kind == "interface":
            number, kind = self._in_interface(leaf.type, word, more[0])
            word, where = more[0], where + WORD
            used = reached = self.types[number].size if number else None
        elif kind == "pointer":
            used = reached = self.types[info.elem].size
        elif kind == "string":
            used = reached = more[0]
        elif kind == "slice":
            used, reached = (n * self.types[info.elem].size for n in more)
        else:
            used = reached = None  # all of it
        target = self.graph.find(word) if word else None
        if target is None:
            return
        lo, most = word - self.graph.starts[target], self.graph.sizes[target]
        if reached is None or lo + reached > most:
            lo, reached, used = 0, most, most
        if not is_kept and kind in ("box", "pointer"):
            kind = "other"
        self.uses[target].append(
            Use(where, holder, place, kind, lo, lo + reached, lo + used)
        )

    def _in_interface(self, number, word, data):
        """The type to which the data word leads, and how."""
        if not word or not data:
            return None, "none"
        made = self.graph.scan.dynamic_type(number, word)
        if made.type is None:
            return None, "unknown"
        info = self.types[made.type]
        if not made.is_direct:
            return made.type, "box"
        return (info.elem, "direct") if info.kind == "pointer" else (None, "")

    def all_uses(self, v):
        """Those of words that no type explains, too."""
        graph, found = self.graph, list(self.uses[v])
        known = {use.addr for use in found}
        for source in graph.scan.neighbours(v, "referrers"):
            if source not in graph.alive:
                continue
            for link in graph.scan.links(source, v):
                if link.addr is None or link.addr not in known:
                    size = graph.sizes[v]
                    holder = source if source < graph.nobjects else None
                    found.append(
                        Use(link.addr, holder, None, "other", 0, size, size)
                    )
        return found

    # ----------------------------------------------------------------- holders

    def holder_of(self, v):
        """The object from which the walk reached this one first, and the last
        name on the way; None: a root."""
        hops = self.graph.scan.why(self.graph.starts[v], 64, 1000).hops
        addr = hops[-2].addr if len(hops) > 2 else None
        return (self.graph.find(addr) if addr else None), hops

    def place_of(self, v):
        """The field that holds an object; elements belong to the field that
        holds their array or map."""
        holder, hops = self.holder_of(v)
        if holder is None:
            return Place(hops[0].name.partition(" ")[0], "")
        places = {u.place for u in self.uses[v] if u.holder == holder}
        named = {
            place
            for place in places
            if place and hops[-1].name.startswith(place.field[1:] + ".")
        }
        if None in places or not places:
            return self.place_of(holder)
        (place,) = named if len(places) > 1 else places
        return place

    def ways(self, holder, number):
        """May a pointer of the holder lead to a value of the type, and may
        something else?"""
        place = self.graph.places[holder]
        info = self.types[place.type] if place.type else None
        if place.form not in ("value", "array", "header"):
            return False, True
        parts = [place.type]
        if place.form == "header":
            parts = [info.key, info.elem]
        leaves = [leaf for part in parts for leaf in self.types.leaves(part)]
        by_pointer = any(
            leaf.kind == "pointer" and self.types[leaf.type].elem == number
            for leaf in leaves
        )
        return by_pointer, any(leaf.kind == "interface" for leaf in leaves)

    def slot(self, size, is_noscan):
        assert is_noscan or size <= HEADER_ABOVE
        return CLASSES[bisect.bisect_left(CLASSES, size)] if size else 0

    def growth(self, holder, size, now):
        """The bytes by which the holder grows when a value takes the place of
        the `now' bytes that lead to it."""
        more = max(-(-size // WORD) * WORD - now, 0)
        place = self.graph.places[holder] if holder is not None else None
        if place is None or place.form != "value":
            return more
        held = self.types[place.type].size
        return self.slot(held + more, False) - self.slot(held, False)

    def gain(self, v, slots, holder, size, now):
        """The bytes that a value saves in its holder. If it is shared, each
        holder would have its own copy."""
        growth = self.growth(holder, size, now)
        return 0 if growth and len(self.all_uses(v)) > 1 else slots - growth

    # ----------------------------------------------------------------- objects

    def is_block(self, v):
        return self.graph.is_noscan[v] and self.graph.slots[v] <= TINY

    def is_alone(self, v, uses, size):
        """Would the slot be free without this value? A block of the tiny
        allocator may have more of them, which must be in interfaces or behind
        pointers to their type, too."""
        if not self.is_block(v):
            return self.graph.slots[v] == self.slot(
                size, self.graph.is_noscan[v]
            )
        views = {(use.lo, use.hi, use.used) for use in uses}
        if len(views) == 1:
            return True
        taken = {
            at
            for use in uses
            if use.kind in ("box", "pointer") and use.hi - use.lo < TINY
            for at in range(use.lo, use.hi)
        }
        reached = {at for use in uses for at in range(use.lo, use.hi)}
        return reached <= taken

    def judge_leaf(self, v):
        number = self.graph.type_of(v)
        info, uses = self.types[number], self.uses[v]
        is_boxed = any(use.kind == "box" for use in uses)
        most = MOST_IN_BOX
        if not self.types.leaves(number) and self.graph.is_noscan[v]:
            most = MOST_BEHIND_POINTER
        if info.size > most:
            return 0
        holder, _ = self.holder_of(v)
        if not is_boxed:
            if holder is None or not self.graph.is_noscan[v]:
                return 0
            by_pointer, by_other = self.ways(holder, number)
            if not by_pointer or by_other:
                return 0
        if not self.is_alone(v, self.all_uses(v), info.size):
            return 0
        now = INTERFACE if is_boxed else WORD
        return self.gain(v, self.graph.slots[v], holder, info.size, now)

    def judge_array(self, v):
        size = self.types[self.graph.places[v].type].size
        if not size or not any(u.kind == "slice" for u in self.uses[v]):
            return 0
        uses = self.all_uses(v)
        lo, used = min(u.lo for u in uses), max(u.used for u in uses)
        if used - lo != size or not self.is_alone(v, uses, size):
            return 0
        holder, _ = self.holder_of(v)
        return self.gain(v, self.graph.slots[v], holder, size, SLICE)

    def judge_map(self, v):
        """An entry takes the header, and a bucket or group of eight."""
        count, slot = self.maps[v], self.graph.slots[v]
        if count > 1:
            return 0
        if not count:
            return slot
        holder, _ = self.holder_of(v)
        info = self.types[self.graph.places[v].type]
        size = self.types[info.key].size + self.types[info.elem].size
        (array,) = {
            each
            for each in self.graph.edges[v]
            if self.graph.vertices[each].type == info.name
        }
        whole = slot + self.graph.slots[array]
        return self.gain(v, whole, holder, size, WORD)

    def saved(self, v):
        """The bytes that an object would save. Above, two rules count too
        little: the type of a block is known only if the walk reached it first
        by the value at its begin, and a holder with an interface may lead to a
        value by that, too."""
        place = self.graph.places[v]
        if place.form == "value":
            return self.judge_leaf(v)
        if place.form == "array":
            return self.judge_array(v)
        return self.judge_map(v) if v in self.maps else 0

    def left_out(self):
        """The bytes of blocks that are left out by these rules."""
        for v in range(self.graph.nobjects):
            place = self.graph.places[v]
            uses = [
                use
                for use in self.uses[v]
                if use.kind in ("box", "pointer") and use.place
                and use.place.type in HOLDERS
            ]  # fmt: skip
            if not uses or not self.is_block(v) or v not in self.graph.alive:
                continue
            if not self.is_alone(v, self.all_uses(v), TINY):
                continue
            if place.form == "unknown":
                assert any(use.lo for use in self.uses[v])
                yield self.graph.slots[v]
            elif place.form == "value" and not self.saved(v):
                holder, _ = self.holder_of(v)
                if self.ways(holder, place.type)[1]:
                    yield self.graph.slots[v]

    def rows(self):
        found = defaultdict(list)
        for v in range(self.graph.nobjects):
            saved = self.saved(v) if v in self.graph.alive else 0
            if saved > 0:
                place = self.place_of(v)
                if place.type in HOLDERS:
                    found[place].append((saved, self.graph.starts[v]))
        for place, objects in found.items():
            yield Row(
                *place, sum(saved for saved, _ in objects), len(objects),
                min(addr for _, addr in objects),
            )  # fmt: skip
