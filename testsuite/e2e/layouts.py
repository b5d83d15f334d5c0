#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The golden layouts: where the runtime's fields lie in a Go release.

    testsuite/e2e/layouts.py [--update] GO...

Builds a small program with each toolchain, lets the scanner resolve the layout
table, and prints the difference to the column of its release in
testsuite/layouts.txt (of the newest one, for a new release). --update writes
the column instead. GO:EXPERIMENT builds with that GOEXPERIMENT.
"""

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from asking import SCANNER
from targets import attach_reason, kernel_core, kernel_cores_reason, start
from toolchains import PROGRAMS, TESTSUITE, go_environment, release_of

TABLE = TESTSUITE / "layouts.txt"
BUILD_DIR = Path(os.environ.get("GOREF_BUILD_DIR", TESTSUITE.parent / "build"))
HEAD = """\
# The rows of `scanner.py --layout`, a column for each Go release and for each
# GOEXPERIMENT of it: the size of a struct, the offset and bytes of a field, the
# value of a constant, or whether a name is there; "-" is absent. An empty cell
# says what the one to its left says. Written by testsuite/e2e/layouts.py.
"""


class NotPossible(Exception):
    """Why no layout can be had here."""


def _order(column):
    """go1.9 before go1.10, a release before its experiments."""
    number = re.match(r"go1\.(\d+)", column)
    return int(number[1]), column


def load():
    """{column: {key: value}} of the table, oldest release first."""
    lines = TABLE.read_text().splitlines()
    _, *names = next(x for x in lines if x.startswith("|")).split("|")
    columns = {name: {} for name in names}
    for line in lines:
        key, *cells = line.split("|")
        if not cells or not key:
            continue
        value = "-"
        for i, name in enumerate(names):
            value = (cells[i] if i < len(cells) else "") or value
            columns[name][key] = value
    return columns


def save(updates):
    """Write the table with these columns. One that is not among them would say
    that a new row is absent there, which nobody has looked at."""
    table = load()
    keys = list(next(iter(updates.values())))
    others = sorted(table.keys() - updates.keys(), key=_order)
    new = [key for key in keys if any(key not in table[x] for x in others)]
    if new:
        raise NotPossible(
            f"{new[0]} is a new row: --update all columns in one run; "
            f"{', '.join(others)} would lack it"
        )
    columns = {**table, **updates}
    names = sorted(columns, key=_order)
    lines = ["|" + "|".join(names)]
    for key in keys:
        cells, left = [], None
        for name in names:
            value = columns[name].get(key, "-")
            cells.append("" if value == left else value)
            left = value
        lines.append(f"{key}|{'|'.join(cells)}".rstrip("|"))
    TABLE.write_text(HEAD + "\n".join(lines) + "\n")


def rows_of(text):
    """{key: value} of a text of the scanner."""
    kinds = r"(?:const|var) \S+|name .*(?= )|\S+"
    return dict(
        re.fullmatch(rf"({kinds}) (.*)", line).groups()
        for line in text.splitlines()
    )


def golden_text(column):
    """The text of a column, as the scanner would say it."""
    return "".join(f"{k} {v}\n" for k, v in load()[column].items())


def golden_releases():
    """Releases that have a column, oldest first."""
    return [name for name in load() if "-" not in name]


def cached_go(release):
    """The go command that testsuite/fetch-go has unpacked, or None."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = os.environ.get("GOREF_GO_CACHE") or home / "goref-gdb" / "go"
    number = release.removeprefix("go")
    go = Path(cache) / f"go-{number}" / "usr/lib" / f"go-{number}" / "bin/go"
    return go if os.access(go, os.X_OK) else None


def _build(go, experiment, folder):
    source = folder / "src"
    source.mkdir()
    for file in sorted((PROGRAMS / "layout").glob("*.go")):
        shutil.copy(file, source)
    done = subprocess.run(
        [go, "build", "-o", folder / "layout", "."],
        cwd=source,
        env={**go_environment(), "GOEXPERIMENT": experiment},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise NotPossible(f"{go} build: {done.stderr}")
    return folder / "layout"


def _scan(args):
    if not (BUILD_DIR / "_goref.abi3.so").exists():
        raise NotPossible(f"nothing is built in {BUILD_DIR}")
    done = subprocess.run(
        [SCANNER, "--layout", *map(str, args)], capture_output=True, text=True
    )
    return done.stdout if done.returncode == 0 else done.stderr


def layout_text(go, experiment=""):
    """The scanner's answer on a program that `go` built; an error of it too,
    since that names the field to look for."""
    if kernel_cores_reason() and attach_reason():
        raise NotPossible(f"{kernel_cores_reason()}; {attach_reason()}")
    with tempfile.TemporaryDirectory(prefix="goref-layout-") as folder:
        process = start(_build(go, experiment, Path(folder)))
        try:
            if kernel_cores_reason():
                return _scan([process.pid])
            return _scan([process.exe, kernel_core(process)])
        finally:
            process.stop()


def difference(column, text):
    """The difference to the golden column that is nearest, as a unified diff;
    empty if there is none."""
    nearest = column if column in load() else golden_releases()[-1]
    return "".join(
        difflib.unified_diff(
            golden_text(nearest).splitlines(True),
            text.splitlines(True),
            f"{nearest} in testsuite/layouts.txt",
            f"{column} as it is",
            n=0,
        )
    )


def column_of(argument):
    """The column of GO or GO:EXPERIMENT, and its text."""
    go, _, experiment = argument.partition(":")
    column = release_of(go)
    if not column:
        raise NotPossible(f"{go} does not tell its release")
    text = layout_text(go, experiment)
    return f"{column}-{experiment}" if experiment else column, text


def compare(arguments, updates):
    """Print the differences, or write the columns. Does any differ?"""
    written, differs = {}, False
    for column, text in map(column_of, arguments):
        if updates and "\n" in text.rstrip():
            written[column] = rows_of(text)
            continue
        diff = difference(column, text)
        print(diff or f"{column} is as testsuite/layouts.txt has it")
        differs = differs or bool(diff)
    if written:
        save(written)
        print(f"{', '.join(written)} of {TABLE} written")
    return differs


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--update", action="store_true")
    parser.add_argument("go", nargs="+", help="path of a go command")
    args = parser.parse_args()
    try:
        sys.exit(compare(args.go, args.update))
    except NotPossible as reason:
        sys.exit(f"check-layouts: {reason}")


if __name__ == "__main__":
    main()
