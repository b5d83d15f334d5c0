# SPDX-License-Identifier: Apache-2.0
"""The object graph as goref-scan prints it, and a plain mark over it."""

import functools
import json
import struct
import subprocess
from array import array
from pathlib import Path

import asking
from asking import GOREF_SCAN
from session import environment
from toolchains import build_c

MARK = Path(__file__).parent / "mark.c"


def run_scanner(exe, core, *options, text=None, rc=0):
    """The output of goref-scan on a core."""
    done = subprocess.run(
        [GOREF_SCAN, *options, exe, core],
        input=text,
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert done.returncode == rc, done.stderr
    return done.stdout if rc == 0 else done.stderr


class Vertices(dict):
    """By how they are printed, each looked at once: an object as its address,
    any other vertex as a negative number."""

    def __missing__(self, word):
        vertex = int(word, 16) if word.startswith("0x") else -1 - int(word)
        self[word] = vertex
        return vertex


class Graph:
    """The graph of one core: totals; edges, pairs of vertices as Vertices
    has them; own and retained, bytes by vertex; the holder of each root,
    goroutine and group; each asked for when it is needed. library: the file
    with the Go code, if that is not the executable."""

    def __init__(self, target, *options, exe=None, library=None):
        self._place = exe or target.exe, target.core
        self._options = options
        self.library = library
        if library:
            self._options += ("--library", library)
        self._vertex = Vertices()

    @functools.cached_property
    def totals(self):
        return json.loads(self.run("--graph"))

    @functools.cached_property
    def edges(self):
        lines = self.run("--edges").splitlines()
        ends = (line.split("\t") for line in lines)
        return [(self._vertex[a], self._vertex[b]) for a, b in ends]

    @functools.cached_property
    def holder(self):
        return {to: source for source, to in self.edges if to < 0}

    @functools.cached_property
    def _sizes(self):
        own, retained = {}, {}
        for line in self.run("--retained").splitlines():
            word, bytes_, kept = line.split("\t")
            vertex = self._vertex[word]
            own[vertex], retained[vertex] = int(bytes_), int(kept)
        return own, retained

    @property
    def own(self):
        return self._sizes[0]

    @property
    def retained(self):
        return self._sizes[1]

    def object_lines(self):
        """Address, own and retained bytes of each object, as printed."""
        lines = self.run("--retained").splitlines()
        return [line for line in lines if line.startswith("0x")]

    def run(self, *options, **settings):
        return run_scanner(*self._place, *options, *self._options, **settings)

    def walked(self, *options):
        """The output of scanner.py on a walk, or on a question."""
        done = asking.run_scanner(*options, *self._options, *self._place)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def ranks(self):
        """The rank of each root."""
        return {-1 - i: int(x) for i, x in enumerate(self.totals["ranks"])}

    @property
    def objects(self):
        return [v for v in self.own if v >= 0]

    @property
    def others(self):
        """Roots, goroutines, groups, and the top, which is the last one."""
        return [v for v in self.own if v < 0]

    def held_by(self, holder):
        """The targets of all roots of a goroutine, or of a group by its name.
        Groups are the last vertices before the top; before them come those of
        variables with static memory, which count as roots here."""
        names = list(self.totals["groups"])
        groups = len(names) + 1
        statics = self.others[-groups - self.totals["statics"] : -groups]
        if isinstance(holder, str):
            holder = self.others[names.index(holder) - groups]
        within = {holder} | {v for v in statics if self.holder[v] == holder}
        return [
            to
            for source, to in self.edges
            if source < 0 <= to and self.holder[source] in within
        ]

    def kept(self, sets):
        """The bytes that each set keeps alive, as goref says."""
        lines = "".join(
            " ".join(hex(v) if v >= 0 else str(-1 - v) for v in s) + "\n"
            for s in sets
        )
        said = self.run("--sets", text=lines).splitlines()
        return [int(line.split("\t")[1]) for line in said]

    def lost(self, sets):
        """The bytes that a mark without each set loses."""
        number = {v: i for i, v in enumerate(self.own)}
        numbers = array("I", (number[v] for edge in self.edges for v in edge))
        queries = array("I")
        for members in sets:
            queries.append(len(members))
            queries.extend(number[v] for v in members)
        done = subprocess.run(
            [build_c(MARK.read_text())],
            input=struct.pack("<III", len(number), len(self.edges), len(sets))
            + array("Q", self.own.values()).tobytes()
            + numbers.tobytes()
            + queries.tobytes(),
            stdout=subprocess.PIPE,
            check=True,
        )
        return list(map(int, done.stdout.split()))
