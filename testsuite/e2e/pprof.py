# SPDX-License-Identifier: Apache-2.0
"""Read a gzip'd pprof profile with nothing but the standard library.

Only the fields that the tests ask for are kept. The message is described in
profile.proto; fields are named here by their numbers.
"""

import gzip
from collections import namedtuple

from varint import read_varint

Sample = namedtuple("Sample", "path values labels frames")
ValueType = namedtuple("ValueType", "type unit")
Function = namedtuple("Function", "name filename")

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def fields(data):
    """Yield (number, value) of one message; value is int or bytes."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = read_varint(data, at)
        elif kind == BYTES:
            size, at = read_varint(data, at)
            value, at = data[at : at + size], at + size
            if len(value) != size:
                raise ValueError("field reaches over the end")
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
            value = int.from_bytes(data[at : at + size], "little")
            at += size
        else:
            raise ValueError(f"unknown wire type {kind}")
        yield number, value


def signed(value):
    """An int64 as the varint carries it."""
    return value - (1 << 64) if value >> 63 else value


def varints(value):
    """A repeated integer: packed bytes, or a single value."""
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        one, at = read_varint(value, at)
        found.append(one)
    return found


def message(data):
    """The last value of each field of a message without repetitions."""
    return dict(fields(data))


class Profile:
    """samples: [Sample(path root first, values, labels, frames)]."""

    def __init__(self, data):
        if data[:2] != b"\x1f\x8b":
            raise ValueError("not gzip'd")
        self.gzip_time = int.from_bytes(data[4:8], "little")
        self._strings = []
        self._sample_types = []
        self._raw_samples = []
        self._locations = {}
        self._functions = {}
        self._comments = []
        self.time_nanos = 0
        self._default = self._period_type = None
        for number, value in fields(gzip.decompress(data)):
            self._take(number, value)
        self._resolve()

    @classmethod
    def load(cls, path):
        with open(path, "rb") as file:
            return cls(file.read())

    def _take(self, number, value):
        if number == 1:
            self._sample_types.append(message(value))
        elif number == 2:
            self._raw_samples.append(value)
        elif number == 4:
            self._take_location(value)
        elif number == 5:
            function = message(value)
            self._functions[function[1]] = function
        elif number == 6:
            self._strings.append(value.decode("utf-8"))
        elif number == 9:
            self.time_nanos = signed(value)
        elif number == 13:
            self._comments += varints(value)
        elif number == 14:
            self._default = value

    def _take_location(self, data):
        location, lines = None, []
        for number, value in fields(data):
            if number == 1:
                location = value
            elif number == 4:
                lines.append(message(value))
        self._locations[location] = lines

    def _resolve(self):
        text = self._strings
        if not text or text[0] != "":
            raise ValueError("string table does not begin with an empty one")
        self.sample_types = [
            ValueType(text[t.get(1, 0)], text[t.get(2, 0)])
            for t in self._sample_types
        ]
        self.default_sample_type = text[self._default or 0]
        self.comments = [text[c] for c in self._comments]
        self.functions = {
            number: Function(text[f.get(2, 0)], text[f.get(4, 0)])
            for number, f in self._functions.items()
        }
        self.samples = [self._sample(raw) for raw in self._raw_samples]

    def _sample(self, data):
        locations, values, labels = [], [], {}
        for number, value in fields(data):
            if number == 1:
                locations += varints(value)
            elif number == 2:
                values += [signed(v) for v in varints(value)]
            elif number == 3:
                label = message(value)
                key = self._strings[label.get(1, 0)]
                if 2 in label:
                    labels[key] = self._strings[label[2]]
                else:
                    labels[key] = signed(label.get(3, 0))
        frames = self._frames(locations)
        path = tuple(name for name, _, _ in frames)
        return Sample(path, tuple(values), labels, frames)

    def _frames(self, locations):
        """Function, file and line of each call, the root first."""
        frames = []
        for location in reversed(locations):
            for line in reversed(self._locations[location]):
                function = self.functions[line[1]]
                frames.append(
                    (function.name, function.filename, line.get(2, 0))
                )
        return tuple(frames)

    def total(self, select=lambda path: True):
        """(objects, bytes) of the samples whose path is selected."""
        objects = size = 0
        for sample in self.samples:
            if select(sample.path):
                objects += sample.values[0]
                size += sample.values[1]
        return objects, size

    def root(self, name):
        """(objects, bytes) billed to the root of exactly that name."""
        return self.total(lambda path: path[0] == name)

    def prefix(self, name):
        """(objects, bytes) of all roots whose name begins so."""
        return self.total(lambda path: path[0].startswith(name))

    def children(self, *path):
        """Names of the nodes right below a path."""
        depth = len(path)
        return {
            s.path[depth]
            for s in self.samples
            if s.path[:depth] == path and len(s.path) > depth
        }

    def labels_of(self, prefix, key):
        """All values of a label on the roots whose name begins so."""
        return {
            s.labels.get(key)
            for s in self.samples
            if s.path[0].startswith(prefix)
        }
