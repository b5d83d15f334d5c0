#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The golden layouts: where the runtime's fields lie in a Go release.

    testsuite/e2e/layouts.py [--update] GO...

Builds a small program with each toolchain, lets the scanner resolve the layout
table, and prints the difference to the golden text of its release (of the
newest one, for a new release). --update writes the golden text instead.
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

GOLDEN = TESTSUITE / "layouts"
BUILD_DIR = Path(os.environ.get("GOREF_BUILD_DIR", TESTSUITE.parent / "build"))


class NotPossible(Exception):
    """Why no layout can be had here."""


def golden_path(release):
    return GOLDEN / f"{release}.txt"


def _order(release):
    return [int(n) for n in re.findall(r"\d+", release)]


def golden_releases():
    """Releases that have a golden text, oldest first."""
    return sorted((p.stem for p in GOLDEN.glob("go*.txt")), key=_order)


def cached_go(release):
    """The go command that testsuite/fetch-go has unpacked, or None."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = os.environ.get("GOREF_GO_CACHE") or home / "goref-gdb" / "go"
    number = release.removeprefix("go")
    go = Path(cache) / f"go-{number}" / "usr/lib" / f"go-{number}" / "bin/go"
    return go if os.access(go, os.X_OK) else None


def _build(go, folder):
    source = folder / "src"
    source.mkdir()
    for file in sorted((PROGRAMS / "layout").glob("*.go")):
        shutil.copy(file, source)
    done = subprocess.run(
        [go, "build", "-o", folder / "layout", "."],
        cwd=source,
        env=go_environment(),
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


def layout_text(go):
    """What the scanner says of a program that `go` built; an error of it too,
    since that names the field to look for."""
    if kernel_cores_reason() and attach_reason():
        raise NotPossible(f"{kernel_cores_reason()}; {attach_reason()}")
    with tempfile.TemporaryDirectory(prefix="goref-layout-") as folder:
        process = start(_build(go, Path(folder)))
        try:
            if kernel_cores_reason():
                return _scan([process.pid])
            return _scan([process.exe, kernel_core(process)])
        finally:
            process.stop()


def difference(release, text):
    """The difference to the golden text that is nearest, as a unified diff;
    empty if there is none."""
    known = golden_releases()
    nearest = release if release in known else (known or [None])[-1]
    golden = golden_path(nearest).read_text() if nearest else ""
    return "".join(
        difflib.unified_diff(
            golden.splitlines(True),
            text.splitlines(True),
            f"testsuite/layouts/{nearest}.txt",
            f"{release} as it is",
            n=0,
        )
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--update", action="store_true")
    parser.add_argument("go", nargs="+", help="path of a go command")
    args = parser.parse_args()
    status = 0
    for go in args.go:
        release = release_of(go)
        try:
            if not release:
                raise NotPossible(f"{go} does not tell its release")
            text = layout_text(go)
        except NotPossible as reason:
            sys.exit(f"check-layouts: {reason}")
        if args.update and "\n" in text.rstrip():
            golden_path(release).write_text(text)
            print(f"{golden_path(release)} written")
            continue
        diff = difference(release, text)
        print(diff or f"{release} is as testsuite/layouts has it")
        status = status or bool(diff)
    sys.exit(status)


if __name__ == "__main__":
    main()
