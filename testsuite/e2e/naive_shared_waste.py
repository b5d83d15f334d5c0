# SPDX-License-Identifier: Apache-2.0
"""A naive version of the checks of `goref waste' that are about memory with
several holders: context-children, pool and library-tax. A change would free the
objects that a walk without some edges or objects does not reach."""

from collections import Counter, defaultdict

import naive_tiny
from naive_graph import Graph, Row


def offset_of(types, number, names):
    """The offset of a field in fields, and its type; None: there is none."""
    at = 0
    for name in names:
        found = [f for f in types[number].fields if f.name == name]
        if not found:
            return None
        at, number = at + found[0].offset, found[0].type
    return at, number


# ------------------------------------------------------------------- contexts

CANCEL, AFTER = "context.cancelCtx", "context.afterFuncCtx"


class Contexts:
    """Contexts with children, and their children."""

    def __init__(self, graph):
        self.graph = graph
        self.children = []  # (parent, piece of its map, child)
        for v in range(graph.nobjects):
            number = graph.type_of(v)
            if v in graph.alive and number is not None:
                self._add_parent(v, number)
        self.timers = defaultdict(list)  # {object: roots of pending timers}
        for root in graph.roots():
            if graph.vertices[root].kind == "timer":
                for timer in graph.edges[root]:
                    self.timers[timer].append(root)
        self.heaps = [
            v
            for v in range(graph.nobjects)
            if graph.vertices[v].type
            in ("[]*runtime.timer", "[]runtime.timerWhen")
        ]

    def field(self, v, name):
        """The address of a field of a context, and its type."""
        number = self.graph.type_of(v)
        types = self.graph.types
        for outer in ([], ["cancelCtx"], ["timerCtx", "cancelCtx"]):
            found = offset_of(types, number, [*outer, name])
            if found:
                return self.graph.starts[v] + found[0], found[1]
        return None

    def is_context(self, number):
        types = self.graph.types
        return types[number].name == CANCEL or any(
            field.name in ("cancelCtx", "timerCtx")
            and types[field.type].name.startswith("context.")
            for field in types[number].fields
        )

    def _add_parent(self, v, number):
        graph = self.graph
        if graph.types[number].kind != "struct" or not self.is_context(number):
            return
        at, type_of_map = self.field(v, "children")
        header = graph.word(at)
        if not header:
            return
        for key, _ in graph.scan.map_entries(type_of_map, header):
            child = graph.find(graph.word(key + 8))
            assert child in graph.alive
            self.children.append((v, graph.find(key), child))

    def name(self, v):
        return self.graph.vertices[v].type

    def done(self, v):
        """The channel of Done(), or None."""
        found = self.field(v, "done")
        return self.graph.find(self.graph.word(found[0] + 8)) if found else None

    def timer_edges(self, v):
        """The edges to the timer of a context, if it is pending."""
        graph = self.graph
        found = offset_of(graph.types, graph.type_of(v), ["timer"])
        word = graph.word(graph.starts[v] + found[0]) if found else 0
        timer = graph.find(word) if word else None
        if timer is None:
            return
        for holder in (*self.heaps, *self.timers.get(timer, ())):
            yield holder, timer

    def edges(self, cancelled):
        """The edges that calls of cancel functions would remove."""
        for _, piece, child in self.children:
            if child in cancelled:
                yield piece, child
                yield from self.timer_edges(child)

    def cancelled(self, name, spared):
        """The children of a type, and all below them."""
        found, grown = set(), -1
        while grown != len(found):
            grown = len(found)
            for parent, _, child in self.children:
                if child not in spared:
                    if self.name(child) == name or parent in found:
                        found.add(child)
        return found

    def in_use(self):
        """The contexts of functions that are to be called, those for which
        somebody waits, and those above them."""
        graph = self.graph
        every = {child for _, _, child in self.children}
        spared = {child for child in every if self.name(child) == AFTER}
        left = graph.walk(hidden=self.edges(every - spared))
        spared |= {child for child in every if self.done(child) in left}
        grown = -1
        while grown != len(spared):
            grown = len(spared)
            spared |= {p for p, _, child in self.children if child in spared}
        return spared

    def rows(self):
        spared = self.in_use()
        numbers = Counter(parent for parent, _, _ in self.children)
        for name in sorted({self.name(c) for _, _, c in self.children}):
            edges = self.edges(self.cancelled(name, spared))
            gone = self.graph.gone(self.graph.walk(hidden=edges))
            mine = {c for _, _, c in self.children if self.name(c) == name}
            mine.intersection_update(gone)
            if mine:
                most = max(numbers[p] for p, _, c in self.children if c in mine)
                yield Row(
                    name, ".children", self.graph.bytes(gone), len(mine),
                    min(self.graph.starts[c] for c in mine),
                    f" has {most:,} children.",
                )  # fmt: skip


# ------------------------------------------------------------------- libraries

# Packages of which the variables count, and types, in parts of the standard
# library.
CACHES = ("reflect", "encoding/json", "encoding/xml", "encoding/gob",
          "unique")  # fmt: skip
TABLES = (
    "time.Location", "regexp.Regexp", "text/template.Template",
    "html/template.Template",
)  # fmt: skip


def package_of(name):
    """`encoding/json' of `encoding/json.fieldCache.m'."""
    folder, slash, rest = name.rpartition("/")
    return folder + slash + rest.partition(".")[0]


def cache_of(variable):
    package = package_of(variable)
    for name in CACHES:
        if package == name or package.startswith(name + "/"):
            return name
    return None


def members_of_libraries(graph):
    """{library: its objects and variables}"""
    found = defaultdict(list)
    for v in sorted(graph.alive):
        row = graph.vertices[v]
        if row.kind == "object" and row.type in TABLES:
            found[row.type].append(v)
        elif row.kind == "global" and cache_of(row.name):
            found[cache_of(row.name)].append(v)
    return found


def libraries(graph):
    """Memory behind a part of another library is that one's."""
    members = members_of_libraries(graph)
    for name, mine in members.items():
        others = {v for every in members.values() for v in every} - {*mine}
        left = graph.walk(without=mine, starts=others)
        gone = graph.gone(left)
        if gone:
            addrs = [graph.vertices[v].addr for v in mine]
            yield Row(
                name, "", graph.bytes(gone), len(gone), min(filter(None, addrs))
            )


# ----------------------------------------------------------------------- pools

FAR_LARGER, LARGE = 8, 64 << 10


class Pools:
    """found: the line that pools_in_gdb.py prints."""

    def __init__(self, graph, found):
        self.graph = graph
        self.outliers = defaultdict(list)  # {(addr, median, items): arrays}
        self.holders = {}
        self.any = self._find_any()
        for pool in found["pools"]:
            items = [self.item(*item) for item in pool["items"]]
            arrays = [array for array in items if array is not None]
            self.judge(pool["addr"], pool["tables"], arrays)
        for name, channel in found["channels"].items():
            arrays = self.in_channel(name, channel["elements"])
            self.judge(channel["addr"], [channel["addr"]], arrays)

    def _find_any(self):
        """The type interface {}: that of the elements of main.inUse."""
        for v, name in self.graph.variables("main.inUse"):
            number = self.graph.scan.value_place(v).type
            return self.graph.types[number].elem
        raise AssertionError("main.inUse")

    def arrays(self, number, addr):
        """The objects behind the slices of a value, and the length of each."""
        for leaf in self.graph.types.leaves(number):
            if leaf.kind == "slice":
                data = self.graph.word(addr + leaf.offset)
                found = self.graph.find(data) if data else None
                if found is not None:
                    yield found, self.graph.word(addr + leaf.offset + 8)

    def largest(self, number, addr):
        """The largest array of a value: (bytes, object)."""
        slots = self.graph.slots
        found = [(slots[v], v) for v, _ in self.arrays(number, addr)]
        return max(found, default=(0, None))

    def item(self, word, data):
        """An item of a pool; None: it is no value in memory."""
        made = self.graph.scan.dynamic_type(self.any, word)
        if made.type is None or not data:
            return None
        info = self.graph.types[made.type]
        if info.kind == "pointer":
            return self.largest(info.elem, data)
        return None if made.is_direct else self.largest(made.type, data)

    def in_channel(self, name, elements):
        """Slices and buffers in a channel. It is a free list only if all of
        them are empty."""
        types = self.graph.types
        for v, variable in self.graph.variables(name):
            if variable == name:
                number = types[self.graph.scan.value_place(v).type].elem
        is_pointer = types[number].kind == "pointer"
        number = types[number].elem if is_pointer else number
        if is_pointer:
            elements = [self.graph.word(addr) for addr in elements]
        elements = [addr for addr in elements if addr]
        lengths = [
            length
            for addr in elements
            for _, length in self.arrays(number, addr)
        ]
        # A bytes.Buffer that is empty has off == len(buf); here, off is 0.
        if any(lengths):
            return []
        return [self.largest(number, addr) for addr in elements]

    def judge(self, addr, tables, arrays):
        if len(arrays) < 2:
            return
        median = sorted(size for size, _ in arrays)[(len(arrays) - 1) // 2]
        for size, v in sorted(set(arrays), key=lambda array: array[0]):
            if size > max(LARGE, FAR_LARGER * median):
                self.outliers[addr, median, len(arrays)].append(v)
                self.holders[addr] = tables

    def name(self, addr):
        """The object's type that a pool lies in, and its field there; or the
        variable that it lies in, or that leads to it."""
        graph = self.graph
        v = graph.find(addr)
        if v is not None and graph.places[v].form != "header":
            off = addr - graph.starts[v]
            fields = graph.types[graph.places[v].type].fields
            (field,) = (f.name for f in fields if f.offset == off)
            return graph.vertices[v].type, f".{field}"
        for root, name in graph.variables("main."):
            place = graph.scan.value_place(root)
            if place.addr is None:
                continue
            info = graph.types[place.type]
            if v is not None and v in graph.edges[root]:
                return name, ""
            if place.addr <= addr < place.addr + info.size:
                if info.kind != "array":
                    return name, ""
                size = graph.types[info.elem].size
                return f"{name}[{(addr - place.addr) // size}]", ""
        return None, ""

    def rows(self):
        """Only pools with such an array hold it."""
        graph = self.graph
        holders = {
            graph.find(addr)
            for tables in self.holders.values()
            for addr in tables
            if addr
        }
        left = graph.walk(without=holders)
        for (addr, median, items), arrays in self.outliers.items():
            held = [v for v in arrays if v not in left]
            if held:
                yield Row(
                    *self.name(addr), graph.bytes(held) - median * len(held),
                    len(held), min(graph.starts[v] for v in held),
                    f" of {len(held):,} of {items:,} are",
                )  # fmt: skip


def answer(scan, pools):
    """The rows of each check, as lists."""
    graph = Graph(scan)
    tiny = naive_tiny.Tiny(graph)
    return {
        "context-children": list(Contexts(graph).rows()),
        "pool": list(Pools(graph, pools).rows()),
        "library-tax": list(libraries(graph)),
        "tiny-objects": list(tiny.rows()),
        "left out of tiny-objects": sum(tiny.left_out()),
    }
