# SPDX-License-Identifier: Apache-2.0
"""Run by test_binding.py, in plain Python: calls every method of the native
module with all its parameters by name, and holds what it gives against the
annotations of _goref.pyi. Prints a line for each error, then the rows that were
looked at. Its arguments: an executable, its core, which methods are called, and
a name for files."""

import ast
import gc
import inspect
import itertools
import os
import subprocess
import sys

import goref
from goref import native
from goref.session import current, running
from goref.sources.core import Core

PYI = os.path.join(os.path.dirname(goref.__file__), "_goref.pyi")
with open(PYI) as file:
    STUB = ast.parse(file.read())
CLASSES = {n.name: n for n in STUB.body if isinstance(n, ast.ClassDef)}
FUNCTIONS = {n.name: n for n in STUB.body if isinstance(n, ast.FunctionDef)}
ALIASES = {
    n.targets[0].id: n.value for n in STUB.body if isinstance(n, ast.Assign)
}
MODULE = native.load()
seen = {}


def matches(value, wanted):
    """Whether a value is of an annotation; complains of what is in it."""
    if isinstance(wanted, ast.BinOp):
        return matches(value, wanted.left) or matches(value, wanted.right)
    if isinstance(wanted, ast.Constant):
        return value is wanted.value
    if isinstance(wanted, ast.Subscript):
        kind, inner = wanted.value.id, wanted.slice
        if kind == "Literal":
            return value in ast.literal_eval(inner)
        if kind == "tuple" and not isinstance(inner.elts[-1], ast.Constant):
            return len(value) == len(inner.elts) and all(
                map(matches, value, inner.elts)
            )
        if kind == "tuple":
            assert inner.elts[1].value is ...
            inner = inner.elts[0]
        return type(value).__name__ == kind and all(
            matches(item, inner) for item in value
        )
    if wanted.id in ALIASES:
        return matches(value, ALIASES[wanted.id])
    if wanted.id in CLASSES and hasattr(value, "_fields"):
        check_row(value, CLASSES[wanted.id])
    return type(value).__name__ == wanted.id


def check_row(row, node):
    for field in node.body:
        if not isinstance(field, ast.AnnAssign):
            continue
        name = f"{node.name}.{field.target.id}"
        value = getattr(row, field.target.id)
        seen.setdefault(name, set()).add(type(value).__name__)
        if not matches(value, field.annotation):
            print(f"{name} is {value!r}, not {ast.unparse(field.annotation)}")


def call(owner, name, /, **arguments):
    """Call a method, or a function of the module, giving all of its parameters
    by name."""
    declared = FUNCTIONS.get(name)
    if owner is not MODULE:
        node = CLASSES[type(owner).__name__]
        declared = next(m for m in node.body if getattr(m, "name", "") == name)
    function = getattr(owner, name)
    if list(arguments) != list(inspect.signature(function).parameters):
        print(f"{name} takes {inspect.signature(function)}")
    value = function(**arguments)
    if not matches(value, declared.returns):
        print(f"{name} gives {value!r}, not {ast.unparse(declared.returns)}")
    return value


def check_sequence(rows):
    """Rows behave as a tuple of them does."""
    all_rows = tuple(rows)
    count = len(rows)
    assert count == len(all_rows) > 0
    assert (rows[0], rows[-1]) == (all_rows[0], all_rows[-1])
    for wanted in (slice(None), slice(1, 3), slice(None, None, -2),
                   slice(-2, None), slice(5, 2), slice(0, 1 << 80)):  # fmt: skip
        assert rows[wanted] == all_rows[wanted], wanted
    for missing in (count, -count - 1, 1 << 80):
        try:
            print("there is", rows[missing])
        except IndexError:
            pass


def look_at_goroutines(scan, out):
    call(scan, "goroutines", filters=(), with_system=True, group="label",
         max_rows=3, group_label="tenant", channel=0,
         with_bytes=True)  # fmt: skip
    found = call(scan, "goroutines", filters=(("user", False, ""),),
                 with_system=False, group="state", max_rows=0,
                 group_label=None, channel=0, with_bytes=False)  # fmt: skip
    check_sequence(found.rows)
    values = {"max_string": 64, "max_elements": 64, "max_depth": 1}
    for row in found.rows:
        call(scan, "backtrace", goroutine_id=row.id, max_calls=0,
             with_variables=True, first_call=0, ncalls=0, **values)  # fmt: skip
        call(scan, "goroutine_wait", goroutine_id=row.id, may_walk=True,
             **values)  # fmt: skip
    call(scan, "waits", goroutine_id=0, max_groups=0, max_ids=9,
         with_paths=True)  # fmt: skip
    call(scan, "leaks", ignored=(("top", "no.*"), ("any", "no.f")))
    call(scan, "scheduler")
    call(scan, "panic", **values)
    call(scan, "rss", marked=True)
    call(scan, "goroutine_profile", selection="goroutine",
         path=f"{out}.goroutine", partial=None, labels=(("a", "b"),),
         time_ns=1)  # fmt: skip
    call(scan, "bucket_profile", name="heap", path=f"{out}.heap",
         partial=None, labels=(), time_ns=0, now=False)  # fmt: skip


def look_at_graph(scan):
    size = call(scan, "graph_size")
    call(scan, "has_retained")
    for vertex in (0, size.vertices - 1):
        call(scan, "vertex", vertex=vertex, with_retained=True)
    call(scan, "graph_phases")
    call(scan, "gaps")
    call(scan, "iterate", type="main.Session", min_bytes=64)
    for root in range(size.objects, size.roots_end):
        [target, *_] = call(
            scan, "neighbours", vertex=root, which="references"
        )
        call(scan, "links", source=root, target=target, max=0)
    assert call(scan, "retained", vertices=[root]) >= 0
    assert call(scan, "dominator", vertex=root) >= size.objects
    call(scan, "paths", vertex=target, max_paths=2)


def look(scan, out):
    limits = {"max_depth": 256, "max_nodes": 1 << 20}
    call(scan, "info")
    call(scan, "layout")
    call(scan, "graph_size")
    call(scan, "suspects")
    call(scan, "graph_phases")
    call(scan, "list_objects", where=str, is_wanted=bool, min_bytes=100,
         limit=3, order="retained", with_retained=True,
         merged_types=True)  # fmt: skip
    call(scan, "export", path=out, format="jsonl")
    call(scan, "histogram", by="root", with_retained=True, garbage=False,
         exact=None)  # fmt: skip
    call(scan, "estimate")
    call(scan, "set_memory_limit", limit=0)
    names = call(scan, "complete", prefix="main.")
    places = [call(scan, "resolve", text=name) for name in names]
    for place in places:
        call(scan, "variable", place=place, max_held=5)
        call(scan, "print_value", place=place, max_string=9, max_elements=9,
             max_depth=1)  # fmt: skip
    result = call(scan, "walk", **limits, places=places,
                  attribution="first", per_goroutine=True,
                  keep_partial=True)  # fmt: skip
    call(result, "ledger")
    result = call(scan, "walk", **limits, places=(), attribution="nearest",
                  per_goroutine=True, keep_partial=False)  # fmt: skip
    call(result, "ledger")
    call(result, "types")
    roots = call(result, "roots")
    assert roots and all(r.total.objects >= 0 for r in roots)
    call(result, "write_profile", path=f"{out}.pb", max_samples=0,
         partial=None, format="pprof", labels=[], time_ns=0)  # fmt: skip
    assert len(call(result, "retained", max_roots=3)) == len(roots)
    call(result, "dominators", **limits)
    for asked in ((), places[:1]):
        call(scan, "dominators", places=asked, max_depth=3,
             max_children=9, max_rows=99, min_bytes=1)  # fmt: skip
    call(scan, "graph_phases")
    pieces = []
    total = call(scan, "objects", where=pieces.append)
    assert call(scan, "objects", where=f"{out}.txt") == total
    lines = "".join(pieces).splitlines()
    with open(f"{out}.txt") as file:
        assert file.read().splitlines() == lines
    assert len(lines) == total.objects
    assert sum(int(line.split()[1]) for line in lines) == total.bytes
    verdict = call(scan, "verify", max_differences=5)
    garbage = next(d.addr for d in verdict.differences)
    reached = [int(line.split()[0], 16) for line in lines]
    for address in (0x10, garbage, *reached[:: len(reached) // 5]):
        call(scan, "why", addr=address, **limits, attribution="nearest")
        call(scan, "holders", addr=address, max_paths=3, max_roots=5,
             all_roots=True, exclude_weak=False)  # fmt: skip
        call(scan, "object_info", addr=address, max_references=1,
             max_referrers=1, group_references=True,
             group_referrers=True)  # fmt: skip
    merged = call(scan, "merge_type", type="runtime.g", max_branches=50,
                  exclude_weak=False)  # fmt: skip
    for branch in merged.branches:
        if branch.example.type == "runtime.g":
            call(scan, "holders", addr=branch.example.addr, max_paths=3,
                 max_roots=5, all_roots=True, exclude_weak=True)  # fmt: skip
    call(scan, "graph_phases")
    look_at_groups(scan, reached)
    look_at_special(scan, reached)


def look_at_groups(scan, objects):
    """One with several references: there are no groups of one."""
    for address in objects:
        if scan.object_info(address, 0, 0).references.total > 1:
            call(scan, "object_info", addr=address, max_references=1,
                 max_referrers=1, group_references=True,
                 group_referrers=True)  # fmt: skip
            return


def look_at_special(scan, objects):
    """One with a finalizer: the only ones that have these rows."""
    for address in objects:
        if scan.object_info(address, 0, 0).specials:
            call(scan, "object_info", addr=address, max_references=20,
                 max_referrers=20, group_references=False,
                 group_referrers=False)  # fmt: skip
            return


def look_at_sites(scan, out):
    """The answers about a program that samples its allocations."""
    for with_root, garbage in ((True, False), (False, True)):
        call(scan, "sites", with_root=with_root, garbage=garbage)
    for name in ("main.list", "main.slots"):
        place = scan.resolve(name)
        call(scan, "allocation", addr=place.value or place.addr)
    call(scan, "bucket_profile", name="heap", path=f"{out}.heap",
         partial=None, labels=(), time_ns=0, now=True)  # fmt: skip
    limits = {"max_depth": 256, "max_nodes": 1 << 20}
    walked = scan.walk(**limits)
    call(call(walked, "sites", **limits), "sampling")


def check_rows_outlive_the_scan():
    """Whoever has the rows needs neither the scan nor the other rows."""
    with running(extent="goroutines") as scan:
        rows = scan.goroutines(filters=(), with_system=True).rows
        before = [repr(row) for row in rows]
    del scan
    current.drop()
    gc.collect()
    assert current.scan is None
    assert [repr(row) for row in rows] == before


def look_at_files(exe, core):
    """The answers that need no scan, but files."""
    for path in (exe, core):
        call(MODULE, "elf_facts", path=path)
    call(MODULE, "core_facts", path=core)
    folder = "/usr/lib/debug"
    call(MODULE, "core_modules", core=core, exe=exe, debug_folder=folder)
    call(MODULE, "debug_file", path=exe, folder=folder)


def look_at_dynamic_types(scan, place):
    """The fields of an object that are interfaces."""
    described = call(scan, "type_info", type=place.type)
    for field in described.fields if place.form == "value" else ():
        if scan.type_info(field.type).kind != "interface":
            continue
        word = int.from_bytes(scan.read(place.addr + field.offset, 8), "little")
        if word:
            call(scan, "dynamic_type", interface=field.type, word=word)


def look_at_values(scan):
    """Some objects, and the variables of some goroutines."""
    for vertex in itertools.islice(scan.iterate(), 500):
        place = call(scan, "value_place", vertex=vertex)
        if place.type is not None:
            look_at_dynamic_types(scan, place)
    for goroutine in scan.goroutines(filters=(), with_system=True).rows:
        call(scan, "local_values", goroutine_id=goroutine.id, first_call=0,
             ncalls=5)  # fmt: skip


def look_at_a_process():
    with subprocess.Popen(["sleep", "1000"]) as popen:
        process = MODULE.Process(popen.pid)
        call(process, "stop", limit_s=60.0, poll=None)
        call(process, "release")
        popen.kill()


exe, core, questions, path = sys.argv[1:]
current.source = Core(core, exe)
with running() as opened:
    if questions == "all":
        look_at_files(exe, core)
        look(opened, path)
        look_at_graph(opened)
        look_at_a_process()
    look_at_values(opened)
    if questions == "sites":
        look_at_sites(opened, path)
    else:
        look_at_goroutines(opened, path)
        del opened
        check_rows_outlive_the_scan()
if questions == "all":
    with running(extent="save") as opened:
        call(opened, "save", path=f"{path}.goref", values=False,
             stop="asked", identity="0" * 64)  # fmt: skip
    for none in ("Why.type", "Why.root_kind", "Why.description"):
        if "NoneType" not in seen[none] or "str" not in seen[none]:
            print(f"{none} was only {seen[none]}")
print("seen:", *sorted({field.partition(".")[0] for field in seen}))
