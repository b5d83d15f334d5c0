# SPDX-License-Identifier: Apache-2.0
"""testsuite/rooms, the table of rooms, as the checkers read it."""

import os
from pathlib import Path

# Rooms that know only what their lines name.
OUTSIDE = {"gdbext", "helpers/snapshot", "helpers/trace", "proto"}
# Files that the build makes, in its own folder or in that of the sources.
GENERATED = {
    "gdbext/declared.c",
    "gdbext/declared.h",
    "helpers/trace/trace.skel.h",
    "proto/profile.pb-c.c",
    "proto/profile.pb-c.h",
    "scanner/goruntime/layout/known_layout_rows.c",
}
# Programs for the kernel: no compiler of ours makes an object of them.
FOR_THE_KERNEL = (".bpf.c", ".bpf.h")
TOP = Path(os.environ.get("GOREF_SRC_DIR", Path(__file__).parent.parent))


def room_of(path):
    """The room of a file that is named from the top."""
    return path.rpartition("/")[0].removeprefix("scanner/")


def read_table():
    """{room: the rooms of its lines}"""
    table = {}
    for line in (TOP / "testsuite/rooms").read_text().splitlines():
        if line and not line.startswith("#"):
            room, _, known = line.partition(":")
            table.setdefault(room, []).extend(known.split())
    return table


def known_of(table, room):
    """All that a room knows: what its line names, and what these know."""
    if room in OUTSIDE:
        return set(table[room])
    known, left = set(), list(table.get(room, ()))
    while left:
        name = left.pop()
        if name not in known:
            known.add(name)
            left += table.get(name, ())
    return known


def sources(pattern):
    """The files of the rooms, named from the top; no generated ones."""
    for folder in ("scanner", "proto", "gdbext", "helpers"):
        for path in sorted((TOP / folder).rglob(pattern)):
            name = str(path.relative_to(TOP))
            if name not in GENERATED and not name.endswith(FOR_THE_KERNEL):
                yield name
