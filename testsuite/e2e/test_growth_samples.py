# SPDX-License-Identifier: Apache-2.0
"""Which objects that the runtime has sampled are still there."""

import random
import struct

import pytest

from targets import attach_reason, skip_if, start_undisturbed
from test_process import load, look
from toolchains import RELEASES, Variant, build, variants

NEWEST = Variant(RELEASES[-1], "default")
TINY_BYTES = 16
PAGE = 8192
# By kind: the bytes of a slot, without and with a malloc header; the types of
# objects that are reached. Tiny objects of several types share a slot.
KINDS = {
    "header": ({896}, {"main.header"}),
    "small": ({80}, {"main.small"}),
    "noscan": ({208}, {"main.noscan"}),
    "tiny": ({TINY_BYTES}, {"main.tiny", None}),
    "large": ({13 * PAGE}, {"main.large"}),
    "pointers": ({20 * PAGE}, {"main.largePointer"}),
}
HOLDERS = {
    "header": "main.headers",
    "small": "main.smalls",
    "noscan": "main.noscans",
    "tiny": "main.tinies",
    "large": "main.larges",
    "pointers": "main.pointers",
}


@pytest.fixture
def running(farm):
    skip_if(attach_reason())

    def run(variant):
        process = farm.process("survivors", variant)
        process.rest()
        return process

    yield run
    farm.forget("survivors")


class Truth:
    """The addresses of objects of a kind, by what has become of those that the
    runtime has sampled: among tiny objects of one slot, only the first."""

    def __init__(self, kind, addresses):
        def sampled(name):
            return {
                address
                for address in addresses[name]
                if kind != "tiny" or address % TINY_BYTES == 0
            }

        self.kind = kind
        self.reached = sampled("live") | sampled("second")
        self.garbage = sampled("garbage")
        self.there = self.reached | self.garbage
        freed = sampled("dropped")
        self.sampled_again = freed & self.there
        self.gone = set().union(*addresses.values()) - self.there
        self.reused = freed & self.gone & set(addresses["reused"])


def truths_of(process):
    found = [Truth(*item) for item in process.truth["kinds"].items()]
    assert {truth.kind for truth in found} == set(KINDS)
    for truth in found:
        assert len(truth.reached) > 16 and len(truth.garbage) > 4
        assert truth.reused and truth.sampled_again, truth.kind
    return found


def packed(addresses):
    return struct.pack(f"<{len(addresses)}Q", *addresses)


def samples_of(scan, addresses):
    """The rows by address: in the order of the addresses, each once."""
    answer = scan.growth_samples(packed(addresses))
    assert answer.is_known and not any(answer.gaps)
    found = [row.address for row in answer.rows]
    assert found == [a for a in dict.fromkeys(addresses) if a in set(found)]
    return {row.address: row for row in answer.rows}


def check_rows(truth, rows, is_named):
    slots, types = KINDS[truth.kind]
    reached = [rows[address] for address in truth.reached]
    garbage = [rows[address] for address in truth.garbage]
    assert {row.bytes for row in reached + garbage} == slots
    assert all(row.is_reached and row.holder for row in reached)
    assert not any(row.is_reached or row.holder for row in garbage)
    if is_named:
        assert {row.type for row in reached} <= types
        assert {row.holder for row in reached} == {HOLDERS[truth.kind]}


@variants("default", newest=("stripped", "pie", "nodwarf"))
def test_survivors(running, variant):
    """An object has a row as long as it is the one that was sampled: not if it
    is freed, nor if another one has its address that is not sampled. Addresses
    inside a slot, such as that of a malloc header, are no object's."""
    process = running(variant)
    truths = truths_of(process)
    asked = [0, 5, (1 << 64) - 1]
    for truth in truths:
        asked += [*truth.there, *truth.gone, *truth.sampled_again]
        asked += [a + step for a in truth.there for step in (-8, 8)]
    random.Random(23).shuffle(asked)
    scan, _ = look(load(), process.pid, "report")
    rows = samples_of(scan, asked)
    assert set(rows) == set().union(*(truth.there for truth in truths))
    for truth in truths:
        check_rows(truth, rows, variant.flavour == "default")


def test_specials_that_are_not_known(tmp_path):
    """The debug information does not say which specials are those of sampled
    objects: nothing is said of what has survived."""
    skip_if(attach_reason())
    name = b"runtime._KindSpecialProfile\0"
    text = build("survivors", RELEASES[-1], "plain-dwarf").read_bytes()
    assert text.count(name) == 1
    exe = tmp_path / "survivors"
    exe.write_bytes(text.replace(name, name.swapcase()))
    exe.chmod(0o755)
    process = start_undisturbed(exe)
    try:
        scan, _ = look(load(), process.pid, "report")
        there = process.truth["kinds"]["noscan"]["live"]
        answer = scan.growth_samples(packed(there))
        assert not answer.is_known and not answer.rows
    finally:
        process.stop()


def test_what_cannot_be_addresses(running):
    process = running(NEWEST)
    scan, _ = look(load(), process.pid, "report")
    wrong = load().ArgumentError
    with pytest.raises(wrong, match="8 bytes each"):
        scan.growth_samples(b"\0" * 9)
    assert not samples_of(scan, [])
    prepared, _ = look(load(), process.pid, "goroutines")
    with pytest.raises(wrong):
        prepared.growth_samples(b"")
