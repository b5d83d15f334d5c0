# SPDX-License-Identifier: Apache-2.0
"""Damaged records of sampled objects: lists end, and gaps are counted."""

import json
import struct

import pytest

import mutate
from crafted import Crafted
from asking import SCANNER
from session import run_cli
from test_sites import CENTRAL

STEP = 32  # bytes of a record, at least


@pytest.fixture(scope="module")
def central(farm):
    return farm.target("sites", CENTRAL, args=["1"])


class Records:
    """The profile specials of a core that is to be damaged."""

    def __init__(self, target, path):
        self.core = Crafted(SCANNER, target, path)
        self.layout = self.core.layout
        file = mutate.Core(path)
        self.heads = {}  # of lists: the word that leads there
        self.all = []
        kind = self.core.constants["kind_profile"]
        for span in self.core.points.in_use:
            word = span + self.layout["mspan.specials"][0]
            record = file.u64(word)
            if record:
                self.heads[word] = record
            while record:
                if file.u64(self.at(record, "kind")) & 0xFF == kind:
                    self.all.append(record)
                record = file.u64(self.at(record, "next"))
        file.close()
        assert len(self.all) > 300

    def at(self, record, field):
        return record + self.layout[f"special.{field}"][0]

    def bucket(self, record):
        return record + self.layout["special_profile.bucket"][0]

    def lead_all_into(self, count):
        """All spans have one list, of many samples of one slot."""
        at, kind = self.core.next, self.core.constants["kind_profile"]
        data = bytearray(STEP * count + 64)
        for i in range(count):
            record = i * STEP
            struct.pack_into(
                "<Q", data, self.at(record, "next"), at + record + STEP
            )
            data[self.at(record, "kind")] = kind
            struct.pack_into("<Q", data, self.bucket(record), at)
        struct.pack_into("<Q", data, self.at((count - 1) * STEP, "next"), 0)
        assert self.core.add(bytes(data)) == at
        self.core.put(dict.fromkeys(self.heads, at))


def asked(target, path, *words):
    done = run_cli(["core", target.exe, path, *words, "--json"])
    assert done.returncode == 3, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("damage", ["loop", "bucket", "nowhere", "many"])
def test_damaged_specials(central, tmp_path, damage):
    """A list that cannot be followed is a gap; all before is counted."""
    path = tmp_path / "core"
    records = Records(central, path)
    middle = records.all[len(records.all) // 2]
    if damage == "loop":
        records.core.put({records.at(middle, "next"): middle})
    elif damage == "bucket":
        records.core.put({records.bucket(middle): 8})
    elif damage == "nowhere":
        records.core.put({records.at(middle, "next"): 8})
    else:
        records.lead_all_into(300_000)
    document = asked(central, path, "histogram", "--by", "site,root")
    assert not document["complete"] and document["partial"]
    # A slot is sampled once, however many records say so.
    assert document["sampled_objects"] <= document["heap_objects"]
    if damage != "many":
        assert document["sampled_objects"] > 100
    out = tmp_path / "now"
    document = asked(central, path, "profile", "heap", "--now", "-o", out)
    assert document["partial"]
    words = ("scan", "--sites", "-o", tmp_path / "sites")
    document = asked(central, path, *words)
    assert document["partial"] and document["reached"]["objects"]
