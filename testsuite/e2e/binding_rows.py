# SPDX-License-Identifier: Apache-2.0
"""Run by test_binding.py, in plain Python: calls every method of the native
module with all its parameters by name, and holds what it gives against the
annotations of _goref.pyi. Prints a line for each error, then the rows that were
looked at. Its arguments: an executable, its core, which methods are called, and
a name for files."""

import ast
import functools
import gc
import inspect
import itertools
import os
import struct
import subprocess
import sys

import goref
from goref import native
from goref.session import current, running
from goref.sources.core import Core

PYI = os.path.join(os.path.dirname(goref.__file__), "_goref.pyi")
with open(PYI) as file:
    DECLARED = ast.parse(file.read())
CLASSES = {n.name: n for n in DECLARED.body if isinstance(n, ast.ClassDef)}
ALIASES = {
    n.targets[0].id: n.value for n in DECLARED.body if isinstance(n, ast.Assign)
}
LIMITS = {"max_depth": 256, "max_nodes": 1 << 20}
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


class Checked:
    """A module, a scan or a result whose methods are called with all of their
    parameters by name, and whose answers are held against the annotations."""

    def __init__(self, owner):
        self._owner = owner
        node = CLASSES.get(type(owner).__name__, DECLARED)
        self._methods = {getattr(m, "name", ""): m for m in node.body}

    def __getattr__(self, name):
        return functools.partial(self._call, self._methods[name])

    def _call(self, declared, **given):
        values = map(ast.literal_eval, declared.args.defaults)
        names = [arg.arg for arg in declared.args.args if arg.arg != "self"]
        arguments = dict(zip(reversed(names), reversed([*values])))
        arguments.update(given)
        function = getattr(self._owner, declared.name)
        if set(arguments) != set(inspect.signature(function).parameters):
            print(f"{declared.name} takes {inspect.signature(function)}")
        value = function(**arguments)
        if not matches(value, declared.returns):
            wanted = ast.unparse(declared.returns)
            print(f"{declared.name} gives {value!r}, not {wanted}")
        return value

    def call_all(self, but=()):
        """Call each method that gives something and needs no argument."""
        for name, method in self._methods.items():
            if not isinstance(method, ast.FunctionDef) or name.startswith("_"):
                continue
            needed = len(method.args.args) - len(method.args.defaults) - 1
            gives = ast.unparse(method.returns) != "None"
            if gives and not needed and name not in but:
                self._call(method)


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
    scan.goroutines(filters=(), with_system=True, group="label", max_rows=3,
                    group_label="tenant", with_bytes=True)  # fmt: skip
    rows = scan.goroutines(filters=(("user", False, ""),), group="state").rows
    check_sequence(rows)
    for row in rows:
        scan.backtrace(goroutine_id=row.id, with_variables=True)
        scan.goroutine_wait(goroutine_id=row.id)
    for ask in (scan.waits, scan.scheduler, scan.panic, scan.rss):
        ask()
    scan.finalization(with_pools=False)
    scan.leaks(ignored=(("top", "no.*"), ("any", "no.f")))
    scan.goroutine_profile(selection="goroutine", path=f"{out}.goroutine",
                           labels=(("a", "b"),), time_ns=1)  # fmt: skip
    scan.bucket_profile(name="heap", path=f"{out}.heap")


def look_at_graph(scan):
    size = scan.graph_size()
    for vertex in (0, size.vertices - 1):
        scan.vertex(vertex=vertex, with_retained=True)
    scan.iterate(type="main.Session", min_bytes=64)
    for root in range(size.objects, size.roots_end):
        target, *_ = scan.neighbours(vertex=root, which="references")
        scan.links(source=root, target=target)
    whole, in_c = scan.retained(vertices=[root])
    assert whole >= in_c >= 0
    assert scan.dominator(vertex=root) >= size.objects
    scan.paths(vertex=target, max_paths=2)


def look_at_types(scan):
    types = tuple(row.key for row in scan.histogram().rows)
    assert scan.cards(types=types, max_objects=5, max_cards=99).cards
    assert scan.type_holders(types=types, max_holders=5).types[0].holders


def look_at_waste(scan):
    few = ("slice-capacity", "duplicate-strings")
    assert len(scan.waste(checks=few, min_share=0).asked) == len(few)
    every = scan.waste(checks=None, min_share=0)
    assert {row.check for row in every.rows} <= {a.check for a in every.asked}
    for wrong in (
        {"checks": ("no-such-check",)},
        {"checks": ("\udc80", 1)},
        {"checks": (1,)},
        {"min_share": -1},
        {"min_share": 1_000_001},
        {"min_share": 1 << 32},
    ):
        try:
            print("there is", wrong, scan.waste(**wrong))
        except native.load().ArgumentError:
            pass


def look_at_places(scan):
    assert scan.complete(prefix="main.", is_type=True)
    names = scan.complete(prefix="main.")
    places = [scan.resolve(text=name) for name in names]
    for place in places:
        scan.variable(place=place, max_held=5)
        scan.print_value(place=place, max_string=9, max_elements=9)
    scan.dominators(places=places[:1], max_depth=3, max_children=9,
                    max_rows=99, min_bytes=1, weight="pointers")  # fmt: skip
    walked = scan.walk(places=places, attribution="first", keep_partial=True,
                       weight="pointers", **LIMITS)  # fmt: skip
    Checked(walked).ledger()


def look_at_a_walk(scan, out):
    result = Checked(scan.walk(per_goroutine=True, **LIMITS))
    result.call_all()
    roots = result.roots()
    assert roots and all(r.total.objects >= 0 for r in roots)
    assert len(result.retained(max_roots=3)) == len(roots)
    result.write_profile(path=f"{out}.pb", max_samples=0, root_labels=True)
    result.dominators(**LIMITS)


def look_at_lists(scan, out):
    """Returns the addresses of the reached objects."""
    scan.list_objects(where=str, is_wanted=bool, min_bytes=100, limit=3,
                      order="retained", with_retained=True,
                      merged_types=True)  # fmt: skip
    scan.export(path=out, format="jsonl")
    pieces = []
    total = scan.reached(where=pieces.append)
    assert scan.reached(where=f"{out}.txt") == total
    lines = "".join(pieces).splitlines()
    with open(f"{out}.txt") as file:
        assert file.read().splitlines() == lines
    assert len(lines) == total.objects
    assert sum(int(line.split()[1]) for line in lines) == total.bytes
    return [int(line.split()[0], 16) for line in lines]


def look_at_objects(scan, reached):
    def look_at(address, max_rows=1):
        return scan.object_info(
            addr=address, max_references=max_rows, max_referrers=max_rows,
            group_references=True, group_referrers=True,
        )  # fmt: skip

    verdict = scan.verify(max_differences=5)
    garbage = next(d.addr for d in verdict.differences)
    for address in (0x10, garbage, *reached[:: len(reached) // 5]):
        scan.why(addr=address, **LIMITS)
        scan.holders(addr=address, max_paths=3, max_roots=5, all_roots=True)
        look_at(address)
    merged = scan.merge_type(type="runtime.g", max_branches=50)
    for branch in merged.branches:
        if branch.example.type == "runtime.g":
            scan.holders(addr=branch.example.addr, max_paths=3, max_roots=5,
                         all_roots=True, exclude_weak=True)  # fmt: skip
    # There are no groups of one reference, and few objects have specials.
    plain = functools.partial(
        opened.object_info, max_references=0, max_referrers=0
    )
    look_at(next(a for a in reached if plain(a).references.total > 1))
    look_at(next(a for a in reached if plain(a).specials), 20)


def look_at_sites(scan, out):
    """The program samples its allocations."""
    scan.sites(with_root=True)
    scan.sites(garbage=True)
    for name in ("main.list", "main.slots"):
        place = scan.resolve(text=name)
        scan.allocation(addr=place.value or place.addr)
        sampled = struct.pack("<Q", place.value or place.addr)
        check_sequence(scan.growth_samples(addresses=sampled).rows)
    scan.bucket_profile(name="heap", path=f"{out}.heap", now=True)
    result = Checked(scan.walk(**LIMITS))
    Checked(result.sites(**LIMITS)).sampling()


def look_at_c(scan):
    """The program has C memory, leaks of it, and objects that it keeps."""
    scan.native()
    leaks = scan.native_leaks()
    record = struct.pack("<QQ", leaks.groups[0].example, 1)
    check_sequence(scan.growth_blocks(blocks=record, are_walked=True).rows)
    scan.kept_by_c()
    scan.verify(max_differences=5)


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


def look_at_files(module, exe, core):
    """Files say these things without a scan."""
    for path in (exe, core):
        module.elf_facts(path=path)
    module.core_facts(path=core)
    module.core_modules(core=core, exe=exe)
    module.debug_file(path=exe)


def look_at_dynamic_types(scan, place):
    """The fields of an object that are interfaces have dynamic types."""
    described = scan.type_info(type=place.type)
    for field in described.fields if place.form == "value" else ():
        if scan.type_info(type=field.type).kind != "interface":
            continue
        content = scan.read(addr=place.addr + field.offset, bytes=8)
        word = int.from_bytes(content, "little")
        if word:
            scan.dynamic_type(interface=field.type, word=word)


def look_at_values(scan):
    """Some objects and the variables of some goroutines have values."""
    for vertex in itertools.islice(scan.iterate(), 500):
        place = scan.value_place(vertex=vertex)
        if place.type is not None:
            look_at_dynamic_types(scan, place)
    for goroutine in scan.goroutines(filters=(), with_system=True).rows:
        scan.local_values(goroutine_id=goroutine.id, first_call=0, ncalls=5)


def look_at_a_process(module):
    with subprocess.Popen(
        ["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as popen:
        # Popen() returns while the kernel still replaces the program.
        popen.stdin.write(b"begun\n")
        popen.stdin.flush()
        assert popen.stdout.readline() == b"begun\n"
        process = Checked(module.Process(popen.pid))
        process.stop(limit_s=60.0)
        process.call_all()
        popen.kill()


def look_at_a_trace(module, exe, pid):
    """A process that runs. Its first goroutine has no labels."""
    opened = module.Scan("native", None, [(exe, None, None)], (), pid=pid,
                         prepare=True, extent="residency")  # fmt: skip
    scan = Checked(opened)
    facts = scan.trace_facts()
    assert scan.name_frames(pcs=[facts.probe.addr])[0]
    scan.labels_at(address=0)
    scan.alloc_functions(prefix="x", object="", with_mappings=True)
    growth = Checked(module.Growth(opened))
    before = growth.tick()
    growth.add_stack_pointer(address=before.total_bytes)
    growth.add_events(data=bytes(24))
    with open(f"/proc/{pid}/fd/0", "w") as asked:
        asked.write("mapping\n")
    # The limit of the whole script bounds this.
    while growth.tick(has_gaps=False).tracked_bytes <= 1 << 20:
        pass
    assert growth.stacks(max_rows=5)
    growth.untouched(max_rows=5)
    assert growth.mappings()
    assert growth.pages()


def look(scan, out):
    scan.call_all(but=("sites", "trace_facts", "alloc_functions"))
    everywhere = struct.pack("<QQQQII", 4096, 1 << 47, 0, 0, 1, 0)
    check_sequence(scan.growth_pages(pages=everywhere, max_groups=99).groups)
    scan.histogram(by="root", with_retained=True, weight="pointers")
    scan.suspects(weight="pointers")
    scan.set_memory_limit(limit=0)
    look_at_places(scan)
    look_at_a_walk(scan, out)
    look_at_objects(scan, look_at_lists(scan, out))
    look_at_graph(scan)
    look_at_types(scan)
    look_at_waste(scan)
    look_at_files(Checked(native.load()), exe, core)
    look_at_a_process(native.load())


def tell_seen():
    print("seen:", *sorted({field.partition(".")[0] for field in seen}))


exe, core, questions, path = sys.argv[1:]
if questions == "a trace":
    look_at_a_trace(native.load(), exe, int(core))
    tell_seen()
    sys.exit()
current.source = Core(core, exe)
with running() as opened:
    if questions == "all":
        look(Checked(opened), path)
    if questions == "memory of C":
        look_at_c(Checked(opened))
    else:
        look_at_values(Checked(opened))
    if questions == "sites":
        look_at_sites(Checked(opened), path)
    elif questions != "memory of C":
        look_at_goroutines(Checked(opened), path)
        del opened
        check_rows_outlive_the_scan()
if questions == "all":
    with running(extent="save") as opened:
        Checked(opened).save(path=f"{path}.goref", identity="0" * 64)
    for none in ("Why.type", "Why.root_kind", "Why.description"):
        if "NoneType" not in seen[none] or "str" not in seen[none]:
            print(f"{none} was only {seen[none]}")
tell_seen()
