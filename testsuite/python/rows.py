# SPDX-License-Identifier: Apache-2.0
"""Rows for the tests of rendering: real ones, of the native module."""


class Maker:
    """Makes rows; what a test does not name is zero, none, or ordinary."""

    def __init__(self, goref):
        self.goref = goref

    def total(self, objects=0, bytes=0):
        return self.goref.Total(objects, bytes)

    def gaps(self, **counts):
        zeros = dict.fromkeys(self.goref.Gaps._fields, 0)
        return self.goref.Gaps(**{**zeros, **counts})

    def phases(self, **us):
        zeros = dict.fromkeys(self.goref.Phases._fields, 0)
        return self.goref.Phases(**{**zeros, **us})

    def ledger(self, allocated=(0, 0), reached=(0, 0), **fields):
        rest = [a - r for a, r in zip(allocated, reached)]
        ordinary = {
            "allocated": self.total(*allocated),
            "reached": self.total(*reached),
            "typed": self.total(*reached),
            "runtime_type": self.total(),
            "header": self.total(),
            "masked": self.total(),
            "unreached": self.total(*rest),
            "folded": self.total(),
            "gaps": self.gaps(),
            "phases_us": self.phases(),
            "peak_private_bytes": 0,
            "is_partial": False,
            "end_reason": None,
        }
        return self.goref.Ledger(**{**ordinary, **fields})

    def info(self, **fields):
        ordinary = {
            "go_version": "go1.24.4",
            "gc_phase": "off",
            "last_gc_ns": 0,
            "pointer_scheme": "malloc headers",
            "exe_path": "/srv/app",
            "core_path": "/tmp/core",
            "pid": None,
            "kind": "core",
            "saved_path": None,
            "origin": None,
            "stop": None,
            "identity": None,
            "saved_s": 0,
            "has_values": False,
            "build_id": "c0ffee",
            "missing_bytes": 0,
            "broken_list": None,
            "bad_headers": 0,
            "late_threads": 0,
            "warnings": (),
            "goroutines": 7,
            "goroutine_counts": (),
            "types": 1234,
        }
        return self.goref.Info(**{**ordinary, **fields})

    def root(self, name, objects, bytes, **fields):
        ordinary = {
            "name": name,
            "kind": "global",
            "type": None,
            "goroutine_state": None,
            "goroutine_id": None,
            "file": None,
            "line": 0,
            "total": self.total(objects, bytes),
        }
        return self.goref.RootTotal(**{**ordinary, **fields})

    def type(self, name, objects, bytes):
        return self.goref.TypeTotal(name, self.total(objects, bytes))

    def dominator(self, name, retained_bytes, depth=0, **fields):
        ordinary = {
            "name": name,
            "kind": "object",
            "type": None,
            "addr": None,
            "goroutine_id": None,
            "depth": depth,
            "vertices": 1,
            "objects": 0,
            "bytes": 0,
            "retained_bytes": retained_bytes,
            "cut": 0,
            "cut_bytes": 0,
        }
        return self.goref.Dominator(**{**ordinary, **fields})

    def dominators(self, reached_bytes, rows=(), asked=(), together=(0, 0)):
        return self.goref.Dominators(
            reached_bytes=reached_bytes,
            rows=tuple(rows),
            asked=tuple(asked),
            together=self.total(*together),
            gaps=self.gaps(),
        )

    def hop(self, name, type=None, addr=None):
        return self.goref.Hop(name, type, addr)

    def why(self, **fields):
        """Of an address that is no object."""
        ordinary = {
            "addr": 0xC000012348,
            "is_object": False,
            "base_addr": 0,
            "bytes": 0,
            "type": None,
            "offset": 0,
            "is_reachable": False,
            "root_name": None,
            "root_kind": None,
            "goroutine_id": None,
            "hops": (),
            "description": None,
            "gaps": self.gaps(),
        }
        return self.goref.Why(**{**ordinary, **fields})

    def variable(self, held=(), **fields):
        ordinary = {
            "name": "main.v",
            "type": "main.Outer",
            "addr": 0x55AA00,
            "bytes": 1064,
            "held": tuple(self.goref.Held(*row) for row in held),
            "nothers": 0,
            "is_cut": False,
        }
        return self.goref.Variable(**{**ordinary, **fields})

    def held(self, **fields):
        """Of an object that a variable holds."""
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
        ordinary = {
            "vertex": 5,
            "kind": "object",
            "name": "main.Node",
            "type": "main.Node",
            "addr": 0xC000012380,
            "bytes": 64,
            "retained_bytes": 128,
            "goroutine_id": None,
        }
        return self.goref.Vertex(**{**ordinary, **fields})

    def location(self, function="main.f", file="/src/f.go", line=7):
        return self.goref.Location(0x401000, function, file, line)

    def wait_owner(self, **fields):
        """A likely one."""
        ordinary = {
            "id": 8,
            "is_certain": False,
            "is_likely": True,
            "evidence": "has deferred its unlocking in main.hold",
            "state": "waiting",
            "wait_reason": "sleep",
            "user": self.location("main.hold", line=20),
        }
        return self.goref.WaitOwner(**{**ordinary, **fields})

    def awaited(self, owners=(), **fields):
        """A mutex with two waiters."""
        ordinary = {
            "kind": "mutex",
            "addr": 0xC000012340,
            "path": "main.store.mu",
            "type": "main.Store",
            "state": "locked",
            "verdict": None,
            "waiters": 2,
            "senders": 0,
            "waited_ns": None,
            "ids": (17, 18),
            "user": self.location(),
            "owners": tuple(owners),
            "reaching": len(owners),
            "likely": sum(owner.is_likely for owner in owners),
        }
        return self.goref.Awaited(**{**ordinary, **fields})

    def deadlock(self, ids, primitives, **fields):
        """Each waits for the primitive of its index, which the next one has."""
        count = len(primitives)
        ordinary = {
            "awaits": tuple(i % count for i in range(len(ids))),
            "owners": (*ids[1:], ids[0]),
            "is_certain": False,
            "behind": 0,
        }
        return self.goref.Deadlock(
            ids=tuple(ids),
            primitives=tuple(primitives),
            **{**ordinary, **fields},
        )

    def waits(self, groups=(), deadlocks=(), **fields):
        ordinary = {
            "goroutines": sum(group.waiters for group in groups),
            "total": len(groups),
        }
        ordinary["blockers"] = ()
        return self.goref.Waits(
            groups=tuple(groups),
            deadlocks=tuple(deadlocks),
            **{**ordinary, **fields},
        )

    def wait_blocker(self, behind, owner=None, **fields):
        ordinary = {
            "primitive": self.awaited(),
            "depth": 1,
            "is_in_cycle": False,
        }
        return self.goref.WaitBlocker(
            owner=owner or self.wait_owner(),
            behind=behind,
            **{**ordinary, **fields},
        )

    def references(self, count=0, named=(), groups=(), ungrouped=0):
        """named: vertices with the names of fields."""
        listed = tuple(
            self.goref.Reference(vertex, name, 0xC000099000)
            for vertex, name in named
        )
        return self.goref.References(count, listed, tuple(groups), ungrouped)

    def object_info(self, **fields):
        ordinary = {
            "addr": 0xC000012348,
            "is_object": True,
            "description": None,
            "base_addr": 0xC000012340,
            "bytes": 56,
            "offset": 8,
            "type": "main.Node",
            "type_source": "the type of a pointer to it",
            "type_bytes": 48,
            "slot_addr": 0xC000012338,
            "slot_bytes": 64,
            "span_start": 0xC000012000,
            "span_end": 0xC000014000,
            "slot_index": 12,
            "nslots": 128,
            "spanclass": 10,
            "header_bytes": 8,
            "is_reachable": True,
            "is_unswept": False,
            "is_fresh": False,
            "specials": (self.goref.Special("finalizer", "main.close"),),
            "retained_bytes": 2048,
            "dominator": self.vertex(
                kind="global", name="main.list", type="*main.List"
            ),
            "references": self.references(),
            "referrers": self.references(),
            "gaps": self.gaps(),
        }
        return self.goref.ObjectInfo(**{**ordinary, **fields})

    def goroutine_brief(self, **fields):
        ordinary = {
            "id": 7,
            "state": "waiting",
            "wait_reason": "chan receive",
            "function": "main.serve",
        }
        return self.goref.GoroutineBrief(**{**ordinary, **fields})

    def holder(self, **fields):
        """A package variable that holds something alone."""
        ordinary = {
            "kind": "reference",
            "vertex": self.vertex(kind="global", name="main.list"),
            "name": "main.list",
            "freed_bytes": 12288,
            "goroutine": None,
            "nroots": 0,
            "is_more": False,
        }
        return self.goref.Holder(**{**ordinary, **fields})

    def holders(self, **fields):
        ordinary = {
            "is_reachable": True,
            "retained_bytes": 128,
            "holder": self.holder(),
            "paths": (),
            "is_complete": False,
            "roots": (),
            "all_roots": 0,
            "groups": (),
            "ungrouped": 0,
        }
        return self.goref.Holders(**{**ordinary, **fields})

    def path(self, *hops, goroutine=None):
        return self.goref.Path(hops, goroutine)

    def path_hop(self, number, name, addr, left_out=0):
        """An object."""
        vertex = self.vertex(vertex=number, addr=addr)
        return self.goref.PathHop(vertex, name, 0xC000099000, left_out)

    def root_hop(self, number, name, kind="global", addr=0x55AA00):
        vertex = self.vertex(
            vertex=number,
            kind=kind,
            name=name,
            type="*main.Node",
            addr=addr,
            bytes=0,
        )
        return self.goref.PathHop(vertex, name, None, 0)

    def reaching_root(self, distance, goroutine=None, **fields):
        vertex = self.vertex(**{"kind": "global", **fields})
        return self.goref.ReachingRoot(vertex, distance, goroutine)

    def merged_branch(self, parent, depth, objects, **fields):
        """Of objects."""
        ordinary = {
            "parent": parent,
            "depth": depth,
            "example": self.vertex(),
            "field": None,
            "vertices": 1,
            "objects": objects,
            "bytes": 64 * objects,
            "cut": 0,
        }
        return self.goref.MergedBranch(**{**ordinary, **fields})

    def verdict(self, allocated=(0, 0), reached=(0, 0), **fields):
        ordinary = {
            "allocated": self.total(*allocated),
            "reached": self.total(*reached),
            "kept": self.total(),
            "kept_reached": self.total(),
            "is_most_lost": False,
            "free_slot_pointers": 0,
            "free_slots": (),
            "missed_pointers": 0,
            "stats": self.total(*allocated),
            "rebuilt": self.total(*allocated),
            "classes": (),
            "differences": (),
            "unexplained": 0,
            "gaps": self.gaps(),
        }
        return self.goref.Verdict(**{**ordinary, **fields})

    def named_vertex(self, name, **fields):
        """Of an object."""
        ordinary = {
            "vertex": 1,
            "kind": "object",
            "name": name,
            "type": name,
            "addr": 0xC000012340,
            "bytes": 64,
            "retained_bytes": 4096,
            "goroutine_id": None,
        }
        return self.goref.Vertex(**{**ordinary, **fields})

    def variable_vertex(self, name, type):
        return self.named_vertex(
            name, kind="global", type=type, addr=0x55AA00, bytes=0
        )

    def suspect(self, name="main.cache", contents=(), **fields):
        """A map in a package variable."""
        variable = self.variable_vertex(name, "map[string]*main.T")
        place = self.named_vertex("map[string]*main.T data")
        ordinary = {
            "kind": "holder",
            "name": name,
            "objects": 1,
            "retained_bytes": 6 << 20,
            "resident_bytes": None,
            "accumulation_point": f"map[string]*main.T in {name}",
            "at": place,
            "is_chain": False,
            "holder": variable,
            "created_by": None,
            "hops": (
                self.goref.SuspectHop(variable, None),
                self.goref.SuspectHop(place, None),
            ),
            "hops_left_out": 0,
            "contents": tuple(
                self.goref.SuspectContent(*row) for row in contents
            ),
        }
        return self.goref.Suspect(**{**ordinary, **fields})

    def site(self, frames, root, sampled, total):
        """frames: (function, file, line), the innermost first."""
        stack = tuple(
            self.goref.StackFrame(*frame, off_bytes=0, is_inlined=False)
            for frame in frames
        )
        first = frames[0] if frames else None
        return self.goref.Site(
            key=f"{first[0]} {first[1]}:{first[2]}" if first else "(none)",
            stack=stack,
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

        return self.goref.SiteTable(
            rows=rows,
            sampled=add("sampled"),
            total=add("total"),
            heap=self.total(*heap),
            rate=rate,
            is_cut=False,
            is_disabled=is_disabled,
            gaps=self.gaps(),
        )

    def histogram(self, *rows, **fields):
        ordinary = {
            "rows": tuple(self.goref.HistogramRow(*row) for row in rows),
            "objects": sum(row[1] for row in rows),
            "bytes": sum(row[2] for row in rows),
            "exact_objects": 0,
            "exact_bytes": 0,
            "gaps": self.gaps(),
        }
        return self.goref.Histogram(**{**ordinary, **fields})

    def rss(self, residency="exact", **classes):
        return self.goref.Rss(
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
            gaps=self.gaps(),
        )

    def suspects(self, *suspects, **fields):
        ordinary = {
            "reached_bytes": 8 << 20,
            "min_bytes": 1 << 20,
            "runtime_bytes": 0,
            "residency": "unknown",
            "suspects": suspects,
            "largest_name": suspects[0].name if suspects else None,
            "largest_bytes": suspects[0].retained_bytes if suspects else 0,
            "gaps": self.gaps(),
        }
        return self.goref.Suspects(**{**ordinary, **fields})

    def leak_group(self, ids, **fields):
        location = self.goref.Location
        ordinary = {
            "verdict": "leaked",
            "goroutines": len(ids),
            "at": location(0x1000, "main.(*Pool).work", "/src/pool.go", 31),
            "start": location(0x900, "main.(*Pool).work.func1", None, 0),
            "go": location(0x800, "main.(*Pool).Start", "/src/pool.go", 12),
            "wait_reason": "chan send",
            "awaited": "channel",
            "element_type": "*main.Job",
            "nawaited": len(ids),
            "retained_bytes": 3 << 20,
            "retained_objects": 7,
            "stack_bytes": 2048 * len(ids),
            "first": ids[0],
            "nids": len(ids),
        }
        return self.goref.LeakGroup(**{**ordinary, **fields}), tuple(ids)

    def leaks(self, *groups, **fields):
        """Of groups that leak_group() has made."""
        rows, ids = [], ()
        for group, own in groups:
            rows.append(group._replace(first=len(ids)))
            ids += own
        leaked = [row for row in rows if row.verdict == "leaked"]
        count = sum(row.goroutines for row in leaked)
        ordinary = {
            "goroutines": 40,
            "blocked": 30,
            "leaked": count,
            "unproven": len(ids) - count,
            "retained_bytes": sum(row.retained_bytes for row in leaked),
            "retained_objects": sum(row.retained_objects for row in leaked),
            "stack_bytes": sum(row.stack_bytes for row in leaked),
            "groups": tuple(rows),
            "ids": ids,
            "ignored": (),
            "places": (),
            "gaps": self.gaps(),
        }
        return self.goref.Leaks(**{**ordinary, **fields})
