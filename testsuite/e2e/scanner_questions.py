# SPDX-License-Identifier: Apache-2.0
"""The questions of scanner.py. Each asks a scan for all rows of one kind, and
prints lines with tabs. ALL maps options to questions."""

import contextlib
import json

MAX_DEPTH, MAX_NODES = 256, 1 << 20
ATTRIBUTIONS = ("nearest", "first")
HISTOGRAMS = ("type", "package", "span-class", "root", "goroutine", "field")
OF_GARBAGE = ("type", "package", "span-class")
GROUPS = ("stack", "label", "wait", "waiting-on")
PROFILES = ("heap", "allocs", "block", "mutex")
FORMATS = ("hprof", "heapsnapshot", "jsonl")
NOWHERE = "/dev/null"
MAX_ALLOCATIONS, SOME_OBJECTS, PATHS = 1000, 400, 4
NO_TYPE = 0xFFFFFFFF


def put(*words):
    """Print a line. None is an empty field."""
    print(*("" if word is None else word for word in words), sep="\t")


def errors():
    from goref import native

    return native.load()


def absent():
    """A runtime may not have what a question is about."""
    goref = errors()
    return contextlib.suppress(goref.NotFoundError, goref.FaultError)


# ------------------------------------------------------------------- the heap


def _total(prefix, total):
    return {f"{prefix}objects": total.objects, f"{prefix}bytes": total.bytes}


def walk(scan):
    """The ledger of a walk, with the keys of `goref scan --json'."""
    result = scan.walk(MAX_DEPTH, MAX_NODES)
    ledger = result.ledger()
    phases = ledger.phases_us._asdict().items()
    document = {
        "go_version": scan.info().go_version,
        "heap": _total("allocated_", ledger.allocated),
        "reached": _total("", ledger.reached),
        "unreached": _total("", ledger.unreached),
        "gaps": ledger.gaps._asdict(),
        "roots": [
            {"name": r.name, "kind": r.kind, **_total("", r.total)}
            for r in result.roots()
        ],
        "types": [
            {"type": t.type, **_total("", t.total)} for t in result.types()
        ],
        "phases_ms": {name: us / 1000 for name, us in phases},
        "peak_private_bytes": ledger.peak_private_bytes,
    }
    print(json.dumps(document))


def walks(scan):
    for attribution in ATTRIBUTIONS:
        for per_goroutine in False, True:
            scan.walk(
                MAX_DEPTH, MAX_NODES, (), attribution, per_goroutine
            ).roots()


def objects(scan):
    scan.reached(lambda text: print(text, end=""))


def estimate(scan):
    print(json.dumps(scan.estimate()._asdict()))


def layout(scan):
    print(scan.layout(), end="")


def exports(scan):
    for name in FORMATS:
        done = scan.export(NOWHERE, name)
        put("export", name, done.total.objects, done.references)


def retained(scan):
    """Own and retained bytes of all vertices."""
    for vertex in range(scan.graph_size().vertices):
        row = scan.vertex(vertex, True)
        put(vertex, row.bytes, row.retained_bytes)


def memory(scan):
    with absent():
        scan.rss()
    scan.verify(0)


def histograms(scan):
    for by in HISTOGRAMS:
        for with_retained in False, True:
            scan.histogram(by, with_retained)
    for by in OF_GARBAGE:
        scan.histogram(by, garbage=True)


def holders(scan):
    scan.dominators(max_depth=8, max_rows=10_000)
    scan.suspects()
    scan.list_objects(lambda text: None, with_retained=True)


def waste(scan):
    """With values, if the target has them."""
    found = scan.waste()
    put("waste", found.total_bytes, len(found.rows), found.broken_views)
    for row in found.rows:
        put(row.check, row.bytes, row.count, row.type, row.field)


def _addresses(scan):
    """Addresses of objects all over the heap."""
    pieces = []
    scan.reached(pieces.append)
    lines = "".join(pieces).splitlines()
    step = len(lines) // SOME_OBJECTS + 1
    return [int(line.split()[0], 16) for line in lines[::step]]


def some_objects(scan):
    for addr in _addresses(scan):
        scan.why(addr, MAX_DEPTH, MAX_NODES)
        scan.object_info(addr, 1 << 20, 1 << 20, True, True)
        with absent():
            scan.holders(addr, PATHS, 0)
        vertex = scan.find(("", addr, NO_TYPE, False, 0))
        if vertex is not None:
            _links(scan, vertex)


def _links(scan, vertex):
    """The names of all references."""
    for target in set(scan.neighbours(vertex, "references")):
        scan.links(vertex, target)


def names(scan):
    """The names of all pointers, as scripts see them."""
    size = scan.graph_size()
    for vertex in range(size.vertices):
        for target in dict.fromkeys(scan.neighbours(vertex, "references")):
            if target >= size.objects or vertex >= size.roots_end:
                continue
            for link in scan.links(vertex, target):
                put(vertex, target, link.name, link.addr, link.off_bytes)


# ----------------------------------------------------------------- goroutines


def _all_goroutines(scan):
    return scan.goroutines((), with_system=True).rows


def goroutines(scan):
    for row in _all_goroutines(scan):
        put(row.id, row.state, row.wait_reason)


def vertices(scan):
    """The goroutines, each with the number of its vertex among those of the
    graph that are no objects."""
    size = scan.graph_size()
    for number in range(size.roots_end, size.vertices):
        row = scan.vertex(number)
        if row.kind == "goroutine":
            put(number - size.objects, row.goroutine_id)


def _groups(scan):
    for group in GROUPS:
        found = scan.goroutines(
            (), True, group, with_bytes=group == "waiting-on"
        )
        put("groups", found.total, len(found.groups), found.exclusive_bytes)


def hung(scan):
    """All questions about a program that hangs or has ended."""
    ended = scan.panic()
    put("panic", ended.kind, ended.fatal_text, len(ended.values),
        len(ended.deferred))  # fmt: skip
    scheduler = scan.scheduler()
    put("scheduler", len(scheduler.ps), len(scheduler.ms))
    _groups(scan)
    for row in _all_goroutines(scan):
        put("wait", row.id, len(scan.goroutine_wait(row.id).waits))
    report = scan.waits()
    put("waits", report.total, len(report.deadlocks), len(report.blockers))
    leaks = scan.leaks()
    put("leaks", leaks.leaked, leaks.unproven, leaks.retained_bytes)
    found = scan.finalization()
    put("finalization", found.queued_finalizers, found.queue_bytes,
        found.stuck, found.pools)  # fmt: skip
    kept = scan.kept_by_c()
    put("kept by C", kept.references, kept.retained_bytes)


def waiting(scan):
    """The questions about goroutines that a saved file answers."""
    scan.goroutines((), True, with_bytes=True)
    for row in _all_goroutines(scan):
        with absent():
            scan.goroutine_wait(row.id)
    scan.waits()
    scan.leaks()
    scan.finalization()
    scan.kept_by_c()
    scan.goroutine_profile("goroutineleak")


def local_variables(scan):
    for row in _all_goroutines(scan):
        for call in scan.backtrace(row.id, with_variables=True).calls:
            for v in call.variables:
                put(row.id, call.at.function, v.name, v.type, v.value)


# ------------------------------------------------------------------- profiles


def sites(scan):
    for options in {"with_root": True}, {"garbage": True}:
        with absent():
            scan.sites(**options)


def samples(scan):
    """All questions about the runtime's own profiles."""
    for name in PROFILES:
        done = scan.bucket_profile(name, NOWHERE)
        put("profile", name, done.samples, done.is_cut)
    scan.bucket_profile("heap", NOWHERE, now=True)
    for options in {}, {"with_root": True}, {"garbage": True}:
        table = scan.sites(**options)
        put("sites", len(table.rows), table.sampled.objects, table.is_cut)
    view = scan.walk(MAX_DEPTH, MAX_NODES).sites(MAX_DEPTH, MAX_NODES)
    put("view", view.sampling().objects)
    found = sum(
        scan.allocation(addr).is_sampled
        for addr in _addresses(scan)[:MAX_ALLOCATIONS]
    )
    put("allocations", found)


# ---------------------------------------------------------------- saved files


def every(scan):
    """All questions that a saved file answers."""
    for ask in (walks, memory, waiting, sites, histograms, holders, waste,
                some_objects):  # fmt: skip
        ask(scan)


def save(scan, options):
    scan.save(options.save, options.values)
    if options.unsaved:
        every(scan)
        # The recorder has what the questions read beyond the first file.
        scan.save(options.unsaved, options.values)


ALL = {
    "goroutines": goroutines,
    "vertices": vertices,
    "hung": hung,
    "samples": samples,
    "locals": local_variables,
    "objects": objects,
    "exports": exports,
    "waste": waste,
    "retained": retained,
    "names": names,
    "every": every,
    "estimate": estimate,
    "layout": layout,
}
