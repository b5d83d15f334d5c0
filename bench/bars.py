# SPDX-License-Identifier: Apache-2.0
"""Tables: what each heap took, and all of it held against the bars."""

import statistics

FIXED_BYTES = 60e6  # of private memory, before objects count
PAUSE_MS = 50  # of a pause, before copied bytes count
# The bars are for heaps of these sizes; smaller ones have only figures.
LEAST_OBJECTS = 900000
LARGE_OBJECTS = 18000000


def median(values):
    return statistics.median(list(values))


def print_table(rows):
    """Rows are dictionaries with the same keys; the first column is left."""
    heads = list(rows[0])
    widths = [max(len(h), *(len(r[h]) for r in rows)) for h in heads]
    for cells in [heads, *([r[h] for h in heads] for r in rows)]:
        print(cells[0].ljust(widths[0]), *(
            cell.rjust(width) for cell, width in zip(cells[1:], widths[1:])
        ))


# ------------------------------------------------------------ of one heap


def total(run):
    return sum(run["scan"]["phases_ms"].values())


def walk(run):
    phases = run["scan"]["phases_ms"]
    return phases.get("typed", 0) + phases.get("mask", 0)


def runs_of(found, kind):
    return [r[kind] for r in found["rounds"] if kind in r]


def mark_of(found):
    return median(m[0] for r in found["rounds"] for m in r["marks"])


def count(number):
    for unit, one in (("M", 1000000), ("k", 1000)):
        if number >= one:
            return f"{round(number / one)}{unit}"
    return str(number)


def named(found):
    return f"{count(found['objects'])} {found['shape']}"


def scan_row(label, runs, truth, mark):
    scans = [run["scan"] for run in runs]
    phases = {name: median(s["phases_ms"][name] for s in scans)
              for name in scans[0]["phases_ms"]}
    peak = median(s["peak_private_bytes"] for s in scans)
    reached = scans[0]["reached"]["objects"]
    allocated = scans[0]["heap"]["allocated_objects"]
    return {
        "": label,
        **{name: f"{ms:.1f}" for name, ms in phases.items()},
        "scan": f"{median(map(total, runs)):.0f}",
        "whole": f"{median(r['wall'] for r in runs):.0f}",
        "walk/mark": f"{median(map(walk, runs)) / mark:.2f}",
        "scan/mark": f"{median(map(total, runs)) / mark:.2f}",
        "peak MB": f"{peak / 1e6:.1f}",
        "B/object": f"{peak / truth['objects']:.1f}",
        "pause": f"{median(r['gap'] for r in runs):.0f}"
        if "gap" in runs[0] else "",
        "reached": f"{100 * reached / max(allocated, 1):.2f}%",
    }


def graph_ms(runs, *phases):
    return median(sum(r["phases_ms"][p] for p in phases) for r in runs)


def graph_row(runs):
    return {
        "": "graph",
        **{phase: f"{graph_ms(runs, phase):.1f}"
           for phase in runs[0]["phases_ms"]},
        "all": f"{graph_ms(runs, *runs[0]['phases_ms']):.0f}",
        "again": f"{median(r['again_ms'] for r in runs):.1f}",
        "B/object": f"{runs[0]['peak_bytes'] / runs[0]['objects']:.1f}",
    }


SAVED = {
    "save": "goref save",
    "scan": "goref open FILE scan",
    "overview": "goref open FILE overview",
}


def saved_row(runs, what, objects):
    def middle(figure):
        return median(run[what][figure] for run in runs)

    return {
        "": SAVED[what],
        "whole": f"{middle('wall'):.0f}",
        "processor": f"{middle('cpu'):.0f}",
        "resident MB": f"{middle('rss') / 1e6:.0f}",
        "file B/object": f"{runs[0]['bytes'] / objects:.2f}"
        if what == "save" else "",
    }


def report_heap(found, others):
    truth, mark = found["truth"], mark_of(found)
    marks = [m for r in found["rounds"] for m in r["marks"]]
    print(f"\n{found['shape']}, {truth['objects']} objects, "
          f"{truth['bytes'] / 1e6:.0f} MB, "
          f"{truth['bytes'] / truth['objects']:.0f} bytes an object, "
          f"{truth['go']}, core {found['core_bytes'] / 1e6:.0f} MB")
    print(f"the runtime's mark: {mark:.1f} ms "
          f"(least {min(m[0] for m in marks):.1f}, "
          f"processor {median(m[1] for m in marks):.1f})")
    print_table([scan_row(kind, runs, truth, mark)
                 for kind in ("core", "cold", "live", "snapshot")
                 if (runs := runs_of(found, kind))])
    if runs_of(found, "graph"):
        print_table([graph_row(runs_of(found, "graph"))])
    if saved := runs_of(found, "save"):
        print_table([saved_row(saved, what, truth["objects"])
                     for what in SAVED])
    for i, command in enumerate(others):
        report_other(command, [r["other"][i] for r in found["rounds"]],
                     runs_of(found, "core"), truth)


def report_other(command, runs, ours, truth):
    """Pairs: each round's time by our own in the same round."""
    ratio = median(r["wall"] / o["wall"] for r, o in zip(runs, ours))
    rss = median(r["rss"] for r in runs)
    pause = (f", pause {median(r['gap'] for r in runs):.0f} ms"
             if "gap" in runs[0] else "")
    print(f"{command}: {median(r['wall'] for r in runs):.0f} ms, "
          f"{ratio:.2f} times ours on the core, "
          f"processor {median(r['cpu'] for r in runs):.0f} ms, "
          f"at most {rss / 1e6:.0f} MB resident "
          f"({rss / truth['objects']:.0f} bytes an object){pause}")


# ------------------------------------------------------------------- bars


def bar(what, value, unit, limit, aim, others=()):
    """A row; limit and aim None: nothing is asked of it. others: the same
    figure of each other tool, None where it has none."""
    verdict = "" if limit is None else \
        "aim" if value <= aim else "bar" if value <= limit else "OVER"
    return {
        "what": what,
        "figure": f"{value:.2f} {unit}",
        "bar": "" if limit is None else f"{limit:g}",
        "aim": "" if aim is None else f"{aim:g}",
        "": verdict,
        **{f"other {i + 1}": "" if other is None else f"{other:.2f}"
           for i, other in enumerate(others)},
    }


def _others(found, figure):
    """figure(run) of the other tools in a heap's rounds; None without."""
    rounds = found["rounds"]
    values = []
    for i in range(len(rounds[0]["other"])):
        each = [figure(r["other"][i]) for r in rounds]
        values.append(None if None in each else median(each))
    return values


def asked(found, limit, aim, least=LEAST_OBJECTS):
    return (limit, aim) if found["objects"] >= least else (None, None)


def walk_bars(found):
    limits = asked(found, *((1.0, 0.7) if found["shape"] == "friendly"
                            else (1.5, 1.0)))
    value = median(map(walk, runs_of(found, "core"))) / mark_of(found)
    return [bar(f"{named(found)}: walk, by the own mark", value, "x",
                *limits, [None] * len(found["rounds"][0]["other"]))]


def whole_bars(found):
    wall = median(r["wall"] for r in runs_of(found, "core"))
    return [bar(f"{named(found)}: whole command", wall / 1000, "s", None,
                None, _others(found, lambda r: r["wall"] / 1000))]


def memory_bars(found):
    objects = found["truth"]["objects"]
    peak = median(r["scan"]["peak_private_bytes"]
                  for r in runs_of(found, "core"))

    def each(size):
        return max(size - FIXED_BYTES, 0) / objects

    return [bar(f"{named(found)}: memory over 60 MB", each(peak),
                "B/object", *asked(found, 24, 14), _others(found, lambda r: each(r["rss"])))]


def cold_bars(found):
    runs = runs_of(found, "cold")
    if not runs:
        return []
    value = median(r["wall"] / r["read"] for r in runs)
    return [bar(f"{named(found)}: cold, by reading once", value, "x",
                *asked(found, 2.0, 1.5), [None] * len(found["rounds"][0]["other"]))]


def pause_bars(found):
    rows = []
    others = _others(found, lambda r: r.get("gap"))
    live = runs_of(found, "live")
    if live and live[0]["copied"]:
        value = median((r["gap"] - PAUSE_MS) / 1000 / (r["copied"] / 1e9)
                       for r in live)
        rows.append(bar(f"{named(found)}: pause by copying, over 50 ms",
                        max(value, 0), "s/GB", *asked(found, 0.3, 0.25),
                        [None] * len(others)))
        rows.append(bar(f"{named(found)}: pause by copying",
                        median(r["gap"] for r in live), "ms", None, None,
                        others))
    snapshot = runs_of(found, "snapshot")
    if snapshot:
        rows.append(bar(f"{named(found)}: pause by a snapshot",
                        median(r["gap"] for r in snapshot), "ms",
                        *asked(found, 100, 60, LARGE_OBJECTS), others))
    return rows


def output_bars(found):
    value = median(100 * r["scan"]["phases_ms"]["output"] / total(r)
                   for r in runs_of(found, "core"))
    return [bar(f"{named(found)}: writing the profile", value, "%",
                *asked(found, 10, 5, LARGE_OBJECTS),
                [None] * len(found["rounds"][0]["other"]))]


def growth_bars(heaps):
    """Time per object of the largest heap by the smallest of the shape."""
    rows = []
    for shape in dict.fromkeys(h["shape"] for h in heaps):
        ours = [h for h in heaps if h["shape"] == shape]
        small = min(ours, key=lambda h: h["objects"])
        large = max(ours, key=lambda h: h["objects"])
        if large["objects"] < 5 * small["objects"]:
            continue

        def each(heap):
            return (median(map(total, runs_of(heap, "core"))) /
                    heap["truth"]["objects"])

        def other(heap):
            return [wall / heap["truth"]["objects"]
                    for wall in _others(heap, lambda r: r["wall"])]

        rows.append(bar(
            f"{shape}: time per object, {count(large['objects'])} by "
            f"{count(small['objects'])}", each(large) / each(small), "x",
            1.6, 1.3, [b / a for a, b in zip(other(small), other(large))]))
    return rows


# Bars and aims of the phases of the object graph in ms, for 5 M objects.
PHASES = {
    ("masks", "edges"): (150, 100),
    ("nearest",): (50, 40),
    ("reverse",): (100, 70),
    ("dominators",): (200, 120),
}
SHUFFLED_DOMINATORS = (1000, 900)
MANY_OBJECTS = 5000000


def phase_limits(found, phases):
    if found["shape"] == "shuffled" and phases == ("dominators",):
        limits = SHUFFLED_DOMINATORS
    elif found["shape"] == "shuffled":
        return None, None
    else:
        limits = PHASES[phases]
    scale = found["objects"] / MANY_OBJECTS
    return asked(found, *(limit * scale for limit in limits), MANY_OBJECTS)


def graph_bars(found):
    runs = runs_of(found, "graph")
    if not runs:
        return []
    none = [None] * len(found["rounds"][0]["other"])
    name = named(found)
    rows = [bar(f"{name}: graph, {' and '.join(phases)}",
                graph_ms(runs, *phases), "ms", *phase_limits(found, phases),
                none) for phases in PHASES]
    if found["objects"] >= LARGE_OBJECTS and found["shape"] == "friendly":
        rows.append(bar(f"{name}: graph, everything",
                        graph_ms(runs, *runs[0]["phases_ms"]) / 1000, "s",
                        2.0, 1.2, none))
    rows.append(bar(f"{name}: graph, a second question",
                    median(r["again_ms"] for r in runs), "ms", 50, 20, none))
    rows.append(bar(f"{name}: graph, arrays at their peak",
                    runs[0]["peak_bytes"] / runs[0]["objects"], "B/object",
                    *asked(found, *((75, 65) if found["shape"] == "shuffled"
                                    else (60, 50))), none))
    return rows


# Aims in seconds, for 20 M objects. They are bars, too.
SAVED_AIMS = {"save": 5.0, "scan": 2.5, "overview": 2.5}


def saved_bars(found):
    runs = runs_of(found, "save")
    if not runs:
        return []
    none = [None] * len(found["rounds"][0]["other"])
    rows = [bar(f"{named(found)}: {SAVED[what]}",
                median(r[what]["wall"] for r in runs) / 1000, "s",
                *asked(found, aim, aim, LARGE_OBJECTS), none)
            for what, aim in SAVED_AIMS.items()]
    size = runs[0]["bytes"] / found["truth"]["objects"]
    return rows + [bar(f"{named(found)}: saved file", size, "B/object",
                       *asked(found, 12, 12), none)]


def emptied_bars(found, others):
    value = found["emptied"] / found["small"]
    return [bar(f"{count(found['objects'])} emptied: graph's arrays, "
                "by those of a small heap", value, "x", 2.0, 1.3,
                [None] * len(others))]


# Bars and aims of the whole command in seconds.
STARTS = {
    ("hello", "cold"): (0.25, 0.2),
    ("hello", "cached"): (0.25, 0.2),
    ("big", "cold"): (0.9, 0.6),
    ("big", "cached"): (0.4, 0.3),
}


def start_bars(found):
    rows = []
    others = [wall / 1000 for wall in _others(found, lambda r: r["wall"])]
    size = f"{found['exe_bytes'] / 1e6:.0f} MB" \
        if found["name"] == "big" else "hello world"
    for kind in ("cold", "cached"):
        value = median(r[kind]["wall"] for r in found["rounds"]) / 1000
        rows.append(bar(f"{size}, {kind} tables: whole command", value, "s",
                        *STARTS[found["name"], kind], others))
    return rows


PROFILE_S = (1, 0.5)  # of a process that cannot run
STILL_MS = (50, 25)  # that the process does not run


def profile_bars(rounds, others):
    if not rounds:
        return []
    none = [None] * len(others)
    wall = median(r["stopped"]["wall"] for r in rounds) / 1000
    rows = [bar("profile heap of a stopped process", wall, "s", *PROFILE_S,
                none)]
    for kind, name in (("profile", "profile heap"),
                       ("sites", "histogram --by site,root")):
        gap = median(r[kind]["gap"] for r in rounds)
        rows.append(bar(f"{name}: pause, small heap", gap, "ms", *STILL_MS,
                        none))
    return rows


def report_bars(starts, heaps, emptied, profiles, others):
    parts = [walk_bars, whole_bars, memory_bars, graph_bars, saved_bars,
             cold_bars, pause_bars, output_bars]
    rows = [row for part in parts for heap in heaps for row in part(heap)]
    rows += growth_bars(heaps)
    rows += [row for found in emptied for row in emptied_bars(found, others)]
    rows += [row for found in starts for row in start_bars(found)]
    rows += profile_bars(profiles, others)
    print("\nHeld against the bars:")
    print_table(rows)
    for i, command in enumerate(others):
        print(f"other {i + 1}: {command}")
