# SPDX-License-Identifier: Apache-2.0
"""Tables: what each heap took, each start, and the rest."""

import statistics


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
        "by reading": f"{median(r['wall'] / r['read'] for r in runs):.2f}"
        if "read" in runs[0] else "",
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


# --------------------------------------------------- of starts, and the rest


def start_row(found):
    size = f"{found['exe_bytes'] / 1e6:.0f} MB" \
        if found["name"] == "big" else "hello world"
    rounds = found["rounds"]
    return {
        "whole command": size,
        **{f"{kind} tables": f"{median(r[kind]['wall'] for r in rounds):.0f}"
           for kind in ("cold", "cached")},
        **{f"other {i + 1}": f"{median(r['other'][i]['wall'] for r in rounds):.0f}"
           for i in range(len(rounds[0]["other"]))},
    }


def profile_rows(rounds):
    def middle(kind, figure):
        return f"{median(r[kind][figure] for r in rounds):.0f}"

    return [
        {"of a small heap": name, "whole": middle(kind, "wall"),
         "pause": middle(kind, "gap") if kind != "stopped" else ""}
        for kind, name in (("profile", "profile heap"),
                           ("stopped", "profile heap of a stopped process"),
                           ("sites", "histogram --by site,root"))
    ]


def report_rest(starts, emptied, profiles):
    if emptied:
        print(f"\n{count(emptied['objects'])} emptied: the graph's arrays "
              f"take {emptied['emptied']:.1f} bytes an object, those of a "
              f"small heap {emptied['small']:.1f}")
    if starts:
        print()
        print_table([start_row(found) for found in starts])
    if profiles:
        print()
        print_table(profile_rows(profiles))
