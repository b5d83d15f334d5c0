# SPDX-License-Identifier: Apache-2.0
"""Rows for the tests of rendering: real ones, of the native module."""

import ast
from functools import cache
from pathlib import Path

PYI = Path(__file__).resolve().parents[2] / "python/goref/_goref.pyi"
PLAIN = {"bool": False, "bytes": b"", "int": 0, "str": ""}


@cache
def declared():
    """The aliases of the .pyi, and the annotations of its rows by field."""
    body = ast.parse(PYI.read_text()).body
    aliases = {
        node.targets[0].id: node.value
        for node in body
        if isinstance(node, ast.Assign)
    }
    rows = {
        node.name: {
            field.target.id: field.annotation
            for field in node.body
            if isinstance(field, ast.AnnAssign)
        }
        for node in body
        if isinstance(node, ast.ClassDef)
    }
    return aliases, rows


def zero(annotation):
    """The least value of an annotation: None, 0, "" or empty."""
    aliases, rows = declared()
    if isinstance(annotation, ast.BinOp):
        return None
    if isinstance(annotation, ast.Subscript):
        if annotation.value.id == "Literal":
            return ast.literal_eval(annotation.slice.elts[0])
        return ()
    name = annotation.id
    if name in aliases:
        return zero(aliases[name])
    return make(name) if name in rows else PLAIN[name]


def make(name, fields=(), /, **ordinary):
    """A row. A field that is in neither is the least of its annotation."""
    from goref import native

    given = {**ordinary, **dict(fields)}
    values = {
        field: given[field] if field in given else zero(annotation)
        for field, annotation in declared()[1][name].items()
    }
    return getattr(native.load(), name)(**{**values, **given})


class Maker:
    """Makes rows; what a test does not name is zero, none, or ordinary."""

    def __init__(self, goref):
        self.goref = goref

    def total(self, objects=0, bytes=0):
        return self.goref.Total(objects, bytes)

    def gaps(self, **counts):
        return make("Gaps", counts)

    def phases(self, **us):
        return make("Phases", us)

    def ledger(self, allocated=(0, 0), reached=(0, 0), **fields):
        rest = [a - r for a, r in zip(allocated, reached)]
        return make(
            "Ledger",
            fields,
            allocated=self.total(*allocated),
            reached=self.total(*reached),
            typed=self.total(*reached),
            unreached=self.total(*rest),
        )

    def info(self, **fields):
        return make(
            "Info",
            fields,
            go_version="go1.24.4",
            gc_phase="off",
            last_gc_ns=0,
            pointer_scheme="malloc headers",
            exe_path="/srv/app",
            core_path="/tmp/core",
            kind="core",
            build_id="c0ffee",
            goroutines=7,
            types=1234,
        )

    def root(self, name, objects, bytes, **fields):
        return make(
            "RootTotal",
            fields,
            name=name,
            kind="global",
            total=self.total(objects, bytes),
        )

    def type(self, name, objects, bytes):
        return self.goref.TypeTotal(name, self.total(objects, bytes))

    def dominator(self, name, retained_bytes, depth=0, **fields):
        return make(
            "Dominator",
            fields,
            name=name,
            kind="object",
            depth=depth,
            vertices=1,
            retained_bytes=retained_bytes,
        )

    def dominators(self, reached_bytes, rows=(), asked=(), together=(0, 0)):
        return make(
            "Dominators",
            reached_bytes=reached_bytes,
            rows=tuple(rows),
            asked=tuple(asked),
            together=self.total(*together),
        )

    def hop(self, name, type=None, addr=None):
        return self.goref.Hop(name, type, addr)

    def why(self, **fields):
        """The answer on an address that is no object."""
        return make("Why", fields, addr=0xC000012348)

    def variable(self, held=(), **fields):
        return make(
            "Variable",
            fields,
            name="main.v",
            type="main.Outer",
            addr=0x55AA00,
            bytes=1064,
            held=tuple(self.held_by(*row) for row in held),
        )

    def held_by(self, name, type, addr, base_addr, bytes, is_c=False):
        """A pointer in a variable, and the object that it leads to."""
        return self.goref.Held(name, type, addr, base_addr, bytes, is_c)

    def held(self, **fields):
        """The answer on an object that a variable holds."""
        ordinary = {
            "is_object": True,
            "base_addr": 0xC000012340,
            "bytes": 64,
            "type": "main.Node",
            "offset": 8,
            "is_reachable": True,
            "root_name": "main.list",
            "root_kind": "global",
            "hops": (
                self.hop("main.list", "*main.List", 0x55AA00),
                self.hop("head. (*main.Node)", "main.Node", 0xC000012340),
            ),
        }
        return self.why(**{**ordinary, **fields})

    def vertex(self, **fields):
        """An object."""
        return make(
            "Vertex",
            fields,
            vertex=5,
            kind="object",
            name="main.Node",
            type="main.Node",
            addr=0xC000012380,
            bytes=64,
            retained_bytes=128,
        )

    def location(self, function="main.f", file="/src/f.go", line=7):
        return self.goref.Location(0x401000, function, file, line)

    def wait_owner(self, **fields):
        """A likely one."""
        return make(
            "WaitOwner",
            fields,
            id=8,
            is_likely=True,
            evidence="has deferred its unlocking in main.hold",
            state="waiting",
            wait_reason="sleep",
            user=self.location("main.hold", line=20),
        )

    def awaited(self, owners=(), **fields):
        """A mutex with two waiters."""
        return make(
            "Awaited",
            fields,
            kind="mutex",
            addr=0xC000012340,
            path="main.store.mu",
            type="main.Store",
            state="locked",
            waiters=2,
            ids=(17, 18),
            user=self.location(),
            owners=tuple(owners),
            reaching=len(owners),
            likely=sum(owner.is_likely for owner in owners),
        )

    def deadlock(self, ids, primitives, **fields):
        """Each waits for the primitive of its index, which the next one has."""
        count = len(primitives)
        return make(
            "Deadlock",
            fields,
            ids=tuple(ids),
            primitives=tuple(primitives),
            awaits=tuple(i % count for i in range(len(ids))),
            owners=(*ids[1:], ids[0]),
        )

    def waits(self, groups=(), deadlocks=(), **fields):
        return make(
            "Waits",
            fields,
            groups=tuple(groups),
            deadlocks=tuple(deadlocks),
            goroutines=sum(group.waiters for group in groups),
            total=len(groups),
        )

    def wait_blocker(self, behind, owner=None, **fields):
        return make(
            "WaitBlocker",
            fields,
            owner=owner or self.wait_owner(),
            primitive=self.awaited(),
            behind=behind,
            depth=1,
        )

    def references(self, count=0, named=(), groups=(), ungrouped=0):
        """named: vertices with the names of fields."""
        listed = tuple(
            self.goref.Reference(vertex, name, 0xC000099000, False)
            for vertex, name in named
        )
        return self.goref.References(count, listed, tuple(groups), ungrouped)

    def object_info(self, **fields):
        return make(
            "ObjectInfo",
            fields,
            addr=0xC000012348,
            is_object=True,
            base_addr=0xC000012340,
            bytes=56,
            offset=8,
            type="main.Node",
            type_source="the type of a pointer to it",
            type_bytes=48,
            slot_addr=0xC000012338,
            slot_bytes=64,
            span_start=0xC000012000,
            span_end=0xC000014000,
            slot_index=12,
            nslots=128,
            spanclass=10,
            header_bytes=8,
            is_reachable=True,
            specials=(self.goref.Special("finalizer", "main.close"),),
            retained_bytes=2048,
            dominator=self.vertex(
                kind="global", name="main.list", type="*main.List"
            ),
            references=self.references(),
            referrers=self.references(),
        )

    def goroutine_brief(self, **fields):
        return make(
            "GoroutineBrief",
            fields,
            id=7,
            state="waiting",
            wait_reason="chan receive",
            function="main.serve",
        )

    def holder(self, **fields):
        """A package variable that holds something alone."""
        return make(
            "Holder",
            fields,
            kind="reference",
            vertex=self.vertex(kind="global", name="main.list"),
            name="main.list",
            freed_bytes=12288,
        )

    def holders(self, **fields):
        return make(
            "Holders",
            fields,
            is_reachable=True,
            retained_bytes=128,
            holder=self.holder(),
        )

    def path(self, *hops, goroutine=None):
        return self.goref.Path(hops, goroutine)

    def path_hop(self, number, name, addr, left_out=0):
        """An object."""
        vertex = self.vertex(vertex=number, addr=addr)
        return self.goref.PathHop(
            vertex, name, 0xC000099000, False, left_out
        )

    def root_hop(self, number, name, kind="global", addr=0x55AA00):
        vertex = self.vertex(
            vertex=number,
            kind=kind,
            name=name,
            type="*main.Node",
            addr=addr,
            bytes=0,
        )
        return self.goref.PathHop(vertex, name, None, False, 0)

    def reaching_root(self, distance, goroutine=None, **fields):
        vertex = self.vertex(**{"kind": "global", **fields})
        return self.goref.ReachingRoot(vertex, distance, goroutine)

    def merged_branch(self, parent, depth, objects, **fields):
        """A branch of objects."""
        return make(
            "MergedBranch",
            fields,
            parent=parent,
            depth=depth,
            example=self.vertex(),
            vertices=1,
            objects=objects,
            bytes=64 * objects,
        )

    def verdict(self, allocated=(0, 0), reached=(0, 0), **fields):
        return make(
            "Verdict",
            fields,
            allocated=self.total(*allocated),
            reached=self.total(*reached),
            stats=self.total(*allocated),
            rebuilt=self.total(*allocated),
        )

    def named_vertex(self, name, **fields):
        """The vertex of an object."""
        return make(
            "Vertex",
            fields,
            vertex=1,
            kind="object",
            name=name,
            type=name,
            addr=0xC000012340,
            bytes=64,
            retained_bytes=4096,
        )

    def variable_vertex(self, name, type):
        return self.named_vertex(
            name, kind="global", type=type, addr=0x55AA00, bytes=0
        )

    def suspect(self, name="main.cache", contents=(), **fields):
        """A map in a package variable."""
        variable = self.variable_vertex(name, "map[string]*main.T")
        place = self.named_vertex("map[string]*main.T")
        return make(
            "Suspect",
            fields,
            kind="holder",
            name=name,
            objects=1,
            retained_bytes=6 << 20,
            accumulation_point=f"map[string]*main.T in {name}",
            at=place,
            holder=variable,
            hops=(
                self.goref.SuspectHop(variable, None),
                self.goref.SuspectHop(place, None),
            ),
            contents=tuple(
                self.goref.SuspectContent(*row, *(0,) * (4 - len(row)))
                for row in contents
            ),
        )

    def site(self, frames, root, sampled, total):
        """frames: (function, file, line), the innermost first."""
        first = frames[0] if frames else None
        return make(
            "Site",
            key=f"{first[0]} {first[1]}:{first[2]}" if first else "(none)",
            stack=tuple(
                make("StackFrame", function=function, file=file, line=line)
                for function, file, line in frames
            ),
            root=root,
            root_kind="global",
            sampled=self.total(*sampled),
            total=self.total(*total),
        )

    def site_table(self, *rows, heap=(0, 0), rate=1, is_disabled=False):
        rows = tuple(self.site(*row) for row in rows)

        def add(field):
            totals = [getattr(row, field) for row in rows]
            return self.total(*(sum(t[i] for t in totals) for i in (0, 1)))

        return make(
            "SiteTable",
            rows=rows,
            sampled=add("sampled"),
            total=add("total"),
            heap=self.total(*heap),
            rate=rate,
            is_disabled=is_disabled,
        )

    def histogram(self, *rows, **fields):
        return make(
            "Histogram",
            fields,
            rows=tuple(
                self.goref.HistogramRow(*row[:3], 0, 0, *row[3:], 0)
                if isinstance(row, tuple) and len(row) == 4
                else row
                for row in rows
            ),
            objects=sum(row[1] for row in rows),
            bytes=sum(row[2] for row in rows),
        )

    def rss(self, residency="exact", **classes):
        return make(
            "Rss",
            residency=residency,
            classes=tuple(
                self.goref.RssClass(name, name.replace("_", " "), bytes)
                for name, bytes in classes.items()
            ),
            total_bytes=sum(classes.values()),
            anonymous_bytes=5000,
            allocated_bytes=4096,
            garbage_bytes=1024,
            returnable_bytes=None if residency == "unknown" else 8192,
            untouched_bytes=None if residency == "unknown" else 512,
            collector=self.goref.Collector(100, 2**63 - 1, 4 << 20),
        )

    def suspects(self, *suspects, **fields):
        return make(
            "Suspects",
            fields,
            reached_bytes=8 << 20,
            min_bytes=1 << 20,
            residency="unknown",
            suspects=suspects,
            largest_name=suspects[0].name if suspects else None,
            largest_bytes=suspects[0].retained_bytes if suspects else 0,
        )

    def leak_group(self, ids, **fields):
        location = self.goref.Location
        return make(
            "LeakGroup",
            fields,
            verdict="leaked",
            goroutines=len(ids),
            at=location(0x1000, "main.(*Pool).work", "/src/pool.go", 31),
            start=location(0x900, "main.(*Pool).work.func1", None, 0),
            go=location(0x800, "main.(*Pool).Start", "/src/pool.go", 12),
            wait_reason="chan send",
            awaited="channel",
            element_type="*main.Job",
            nawaited=len(ids),
            retained_bytes=3 << 20,
            retained_objects=7,
            stack_bytes=2048 * len(ids),
            first=ids[0],
            nids=len(ids),
        ), tuple(ids)

    def leaks(self, *groups, **fields):
        """The answer with groups that leak_group() has made."""
        rows, ids = [], ()
        for group, own in groups:
            rows.append(group._replace(first=len(ids)))
            ids += own
        leaked = [row for row in rows if row.verdict == "leaked"]
        count = sum(row.goroutines for row in leaked)
        return make(
            "Leaks",
            fields,
            goroutines=40,
            blocked=30,
            leaked=count,
            unproven=len(ids) - count,
            knows_c=True,
            retained_bytes=sum(row.retained_bytes for row in leaked),
            retained_objects=sum(row.retained_objects for row in leaked),
            stack_bytes=sum(row.stack_bytes for row in leaked),
            groups=tuple(rows),
            ids=ids,
        )
