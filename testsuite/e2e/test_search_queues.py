# SPDX-License-Identifier: Apache-2.0
"""The search of a stripped program for its queue of finalizers: a block of the
queue is found, what only looks like one is not."""

import struct
import subprocess

import pytest

import crafted
import mutate
from asking import SCANNER
from toolchains import variants

BYTES = 8192  # more than a block has
VARIABLES = ("allfin", "finq", "finc")


@pytest.fixture
def stripped(farm, tmp_path):
    """stripped(variant): a core to change, and its program without symbols."""

    def make(variant):
        target = farm.target("rest", variant)
        exe = tmp_path / "rest"
        subprocess.run(["strip", "-o", exe, target.exe], check=True)
        return crafted.Crafted(SCANNER, target, tmp_path / "core"), exe, target

    return make


def block(core, *entries):
    """A block of the queue with these entries, {name of a field: value}."""
    size, first = core.layout["finalizer"][0], core.layout["finblock.fin"][0]
    data = bytearray(core.record(BYTES, {"finblock.cnt": len(entries)}))
    for i, entry in enumerate(entries):
        fields = {f"finalizer.{name}": entry[name] for name in entry}
        at = first + i * size
        data[at : at + size] = core.record(size, fields)
    return bytes(data)


def finalizer(core, function):
    kind = core.types_begin()
    return block(core, dict(fn=function, arg=1 << 32, fint=kind, ot=kind))


def ran_already(core, function):
    """The runtime clears the function of an entry that it has run."""
    kind = core.types_begin()
    left = dict(fint=kind)
    entry = dict(fn=function, arg=1 << 32, fint=kind, ot=kind)
    return block(core, entry, left)


def cleanup(core, function):
    """Go 1.24 has cleanups in the queue, too."""
    return block(core, dict(fn=function))


def empty(core, function):
    return block(core)


def words(*values):
    return struct.pack(
        f"<{BYTES // 8}Q", *values, *[0] * (BYTES // 8 - len(values))
    )


def record_of_a_cleanup(core, function):
    """runtime.specialCleanup: next, offset, kind, function, number."""
    return words(0, 0xE40, 6, function, 0xC62)


def record_of_a_finalizer(core, function):
    """runtime.specialfinalizer: next, offset, kind, function, size of results,
    types of the argument and of the object."""
    kind = core.types_begin()
    return words(0, 0xE40, 1, function, 0, kind, kind, 0)


@pytest.mark.parametrize(
    "make, is_block",
    [
        (finalizer, True),
        (ran_already, True),
        (cleanup, True),
        (empty, False),
        (record_of_a_cleanup, False),
        (record_of_a_finalizer, False),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
@pytest.mark.parametrize("count", range(1, len(VARIABLES) + 1))
@variants(newest=("default",))
def test_block(stripped, variant, make, is_block, count):
    """count: of words that lead to it. All are found, for the search cannot
    tell which of them is runtime.allfin."""
    core, exe, target = stripped(variant)
    symbols = mutate.symbols(target.exe)
    function = core.add(struct.pack("<Q", symbols["runtime.main"]))
    first = core.add(make(core, function))
    places = {symbols[f"runtime.{name}"]: 0 for name in VARIABLES}
    core.put({at: first if i < count else 0 for i, at in enumerate(places)})
    found = mutate.layout_text(SCANNER, exe, core.path)
    assert "var mheap yes" in found
    for i, name in enumerate(VARIABLES):
        is_found = is_block and i < count
        assert f"var {name} {'yes' if is_found else '-'}\n" in found
