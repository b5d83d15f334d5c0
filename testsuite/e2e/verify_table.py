#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The table releases x builds of `goref verify` in doc/verified.md.

    testsuite/e2e/verify_table.py [--update|--check] [--releases R,...]
                                  [--builds B,...] [--jobs N]

Builds one program with each toolchain in each way, takes a core of it by the
kernel, verifies it, and prints the table. --update puts it into doc/verified.md;
--check makes the cells anew and says where that page is not true.
"""

import argparse
import collections
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ALL = [f"go1.{n}" for n in (19, *range(21, 28))]
if __name__ == "__main__":
    # Before toolchains.py reads it.
    os.environ.setdefault("GOREF_RELEASES", ",".join(ALL))

import pytest  # noqa: E402

from session import TOP, run_goref  # noqa: E402
from targets import Farm, Target, split_debug  # noqa: E402
from toolchains import EXPERIMENTS, Variant  # noqa: E402

PAGE = TOP / "doc" / "verified.md"
BEGIN, END = "<!-- verify-table -->\n", "<!-- end of verify-table -->\n"
PROGRAM = "values"
MANY = {"LIST_NODES": "1000000"}

# Row, flavour of toolchains.py, what is done to the executable afterwards.
BUILDS = {
    "default": ("default", None),
    "`-gcflags='-N -l'`": ("noopt", None),
    "`-buildmode=pie`": ("pie", None),
    "`-race`": ("race", None),
    "cgo with external linking": ("external", None),
    "`-compressdwarf=false`": ("plain-dwarf", None),
    "split debug file": ("default", "split"),
    "`-buildmode=c-shared` in a C program": ("c-shared", None),
    "`-buildmode=plugin`": ("plugin", None),
    "`-ldflags=-w`": ("nodwarf", None),
    "`-ldflags='-s -w'`": ("stripped", None),
    "`strip`": ("default", "strip"),
    "c-shared with `-s -w`": ("c-shared-stripped", None),
    "plugin with `-s -w`": ("plugin-stripped", None),
    **{f"`{name}`": (name, None) for name in EXPERIMENTS},
}
Cell = collections.namedtuple("Cell", "missing allocated typed problem")


def exists(release, build):
    return EXPERIMENTS.get(BUILDS[build][0], release) == release


def look(target):
    """The cell of a target: what verify and scan say of it."""
    run = run_goref(target, ["goref verify --json", "goref scan --json"])
    if run.rc:
        return Cell(0, 0, 0, run.stderr.strip().splitlines()[-1])
    verdict, reached = run.json(0), run.json(1)["reached"]
    reasons = {d["reason"] or "no explanation" for d in verdict["differences"]}
    for key in ("unexplained", "free_slot_pointers", "missed_pointers"):
        if verdict[key]:
            reasons.add(f"{key}: {verdict[key]}")
    for key in ("heap_alloc", "heap_objects"):
        if verdict[key]["read"] not in (None, verdict[key]["rebuilt"]):
            reasons.add(f"{key} differs")
    named = reached["bytes"] - reached["masked_bytes"]
    allocated = verdict["allocated_objects"]
    return Cell(
        allocated - verdict["reached_objects"],
        allocated,
        100 * named / max(1, reached["bytes"]),
        "; ".join(sorted(reasons)),
    )


def make(release, build):
    """Build, run, dump, look. Text: why there is no such cell."""
    flavour, after = BUILDS[build]
    farm = Farm()
    try:
        target = farm.target(PROGRAM, Variant(release, flavour), env=MANY)
        with tempfile.TemporaryDirectory(prefix="goref-table-") as folder:
            exe = Path(folder) / target.exe.name
            if after == "split":
                exe, _ = split_debug(target.exe, Path(folder), link=True)
            elif after:
                line = ["objcopy", "--strip-all", target.exe, exe]
                subprocess.run(line, check=True)
            if after:
                target = Target("core", exe, target.truth, core=target.core)
            return look(target)
    except (pytest.skip.Exception, pytest.fail.Exception) as problem:
        return str(problem).splitlines()[-1]
    finally:
        farm.close()


def text_of(cell, notes):
    """notes: reasons, which get a letter each below the table."""
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return f"not built: {cell}"
    why = ""
    if cell.problem:
        if cell.problem not in notes:
            notes.append(cell.problem)
        why = f" ({chr(ord('a') + notes.index(cell.problem))})"
    return f"{cell.missing} of {cell.allocated:,}{why}, {cell.typed:.1f} %"


def parse(text):
    """The cell that a text of the page says."""
    found = re.fullmatch(r"(\d+) of ([\d,]+)(?: \((.*)\))?, ([\d.]+) %", text)
    if not found:
        return text
    missing, allocated, problem, typed = found.groups()
    count = int(allocated.replace(",", ""))
    return Cell(int(missing), count, float(typed), problem or "")


def render(cells, releases, builds):
    lines = ["| build | " + " | ".join(releases) + " |"]
    lines.append("| --- |" + " --- |" * len(releases))
    notes = []
    for build in builds:
        row = [text_of(cells[release, build], notes) for release in releases]
        lines.append(f"| {build} | " + " | ".join(row) + " |")
    for i, note in enumerate(notes):
        lines += ["", f"({chr(ord('a') + i)}) {note}"]
    return "\n".join(lines) + "\n"


def split_readme():
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    return before, *rest.partition(END)[::2]


def kept():
    """{(release, build): Cell or text} of the table on the page."""
    lines = [li for li in split_readme()[1].splitlines() if li[:1] == "|"]
    rows = [[c.strip() for c in li.strip("|").split(" | ")] for li in lines]
    return {
        (release, row[0]): parse(text)
        for row in rows[2:]
        for release, text in zip(rows[0][1:], row[1:])
    }


def wrong(cell):
    """Why a cell is not as it has to be, or None."""
    if cell is None:
        return None
    if isinstance(cell, str):
        return cell
    if not 0 <= cell.missing <= 2:
        return f"{cell.missing} objects are not reached"
    bad = ("no explanation", "unexplained", "pointers", "differs")
    if not cell.allocated or any(word in cell.problem for word in bad):
        return cell.problem
    return None


def complaints(cells, table=None):
    """The faults of cells, by themselves and against the kept table."""
    found = []
    for (release, build), cell in cells.items():
        problem = wrong(cell)
        if problem is None and table is not None:
            old = table.get((release, build), "is missing on the page")
            if cell is None:
                problem = None if old == "–" else f"the page says {old}"
            elif isinstance(old, str):
                problem = old
            elif abs(old.typed - cell.typed) > 1:
                problem = f"typed {cell.typed:.1f} %, not {old.typed:.1f} %"
        if problem is not None:
            found.append(f"{release}, {build}: {problem}")
    return found


def make_all(releases, builds, jobs):
    cells = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for release in releases:
            for build in builds:
                job = None
                if exists(release, build):
                    job = pool.submit(make, release, build)
                cells[release, build] = job
        for (release, build), job in cells.items():
            cells[release, build] = job and job.result()
            said = text_of(cells[release, build], [])
            print(f"{release} {build}: {said}", file=sys.stderr)
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--releases", default=",".join(ALL))
    parser.add_argument("--builds", default=",".join(BUILDS))
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    releases = args.releases.split(",")
    builds = [b for b in BUILDS if b in args.builds.split(",")]
    cells = make_all(releases, builds, args.jobs)
    table = render(cells, releases, builds)
    print(table, end="")
    if args.update:
        before, _, after = split_readme()
        PAGE.write_text(before + BEGIN + table + END + after)
    found = complaints(cells, kept() if args.check else None)
    for line in found:
        print(f"verify-table: {line}", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
