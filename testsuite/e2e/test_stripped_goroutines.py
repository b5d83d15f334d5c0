# SPDX-License-Identifier: Apache-2.0
"""The list of goroutines in executables without symbols: few and many of
them, and data that looks like the list."""

import os
import shutil
import struct
import subprocess
from collections import namedtuple

import pytest

import mutate
from crafted import Crafted
from asking import SCANNER, run_scanner
from targets import skip_if
from toolchains import RELEASES, variants

# Longer than what the search looks at of a list.
LONG = 4000
MANY = 50_000
# A search that compares each goroutine to each other one takes more.
SECONDS = 60
# Cores of many goroutines take their time: one, unless releases are asked for.
MANY_RELEASES = RELEASES if "GOREF_RELEASES" in os.environ else RELEASES[-1:]

Pair = namedtuple("Pair", "target bare")
Slice = namedtuple("Slice", "ptr len cap")


@pytest.fixture(scope="module")
def pair(farm, tmp_path_factory):
    """pair(variant, count): a core of so many goroutines, each of which has
    its own channel, and the executable without symbols."""

    def make(variant, count):
        target = farm.target("hung", variant, args=["own", str(count)])
        bare = tmp_path_factory.mktemp("bare") / target.exe.name
        subprocess.run(
            ["objcopy", "--strip-all", target.exe, bare], check=True
        )
        return Pair(target, bare)

    skip_if(shutil.which("objcopy") is None and "no objcopy")
    yield make
    farm.forget("hung")


def scan(exe, core):
    return run_scanner("--goroutines", exe, core, max_seconds=SECONDS)


def listed(exe, core):
    """The id, status and wait reason of each goroutine."""
    done = scan(exe, core)
    assert done.returncode == 0, done.stderr
    return done.stdout


def compare(farm, pair, variant, count):
    target, bare = pair(variant, count)
    known = listed(target.exe, target.core)
    assert known.count("\tchan send\n") == count
    assert listed(bare, target.core) == known
    farm.forget("hung")


@pytest.mark.parametrize("count", [500, LONG])
@variants("default")
def test_same_goroutines(farm, pair, variant, count):
    compare(farm, pair, variant, count)


@variants("default", releases=MANY_RELEASES)
def test_many_goroutines(farm, pair, variant):
    compare(farm, pair, variant, MANY)


class Lookalike(Crafted):
    """A core in which the slice main.own can be another one. Its array, of
    LONG pointers, is on the heap."""

    def __init__(self, target, path):
        super().__init__(SCANNER, target, path)
        self.slot = self.points.names["main.own"]
        self.list = self.points.variable("allgs")
        self.allgs = self.slice_at(self.list)
        self.own = self.slice_at(self.slot)
        assert self.own.len == LONG < self.allgs.len < self.own.cap

    def slice_at(self, slot):
        core = mutate.Core(self.path)
        found = Slice(*(core.u64(slot + 8 * i) for i in range(3)))
        core.close()
        return found

    def put_slice(self, slot, value):
        self.put({slot + 8 * i: word for i, word in enumerate(value)})

    def live_g(self):
        """One that is not the first of the list."""
        return self.points.gs[LONG // 2]

    def put_array(self, gs):
        """main.own has these elements."""
        first = self.own.ptr
        self.put({first + 8 * i: g for i, g in enumerate(gs)})
        self.put_slice(self.slot, Slice(first, len(gs), len(gs)))


def memory_of_the_system(core):
    """As the page allocator keeps its ranges, the first of which begins with
    a g."""
    core.put_slice(core.slot, Slice(core.add(_words([core.live_g()])), 1, 16))


def numbers(core):
    """In an object that has no pointers."""
    place = int(core.spare, 16)
    core.put({place: core.live_g()})
    core.put_slice(core.slot, Slice(place, 1, 16))


def the_same(core):
    """As the collector keeps the list while it marks."""
    core.put_slice(core.slot, core.allgs)


def a_part(core):
    """The same when there are new goroutines since."""
    ptr, count, _ = core.allgs
    core.put_slice(core.slot, Slice(ptr, count - 8, count - 8))


def an_earlier_array(core):
    """The same when the array has grown since."""
    core.put_array(core.points.gs[:LONG])


def with_words_behind(core):
    """As the list begins, but not only goroutines."""
    wrong = [core.own.ptr] * (core.own.cap - core.allgs.len)
    core.put_array([*core.points.gs, *wrong])


def beyond_the_object(core):
    ptr, count, _ = core.allgs
    core.put_slice(core.slot, Slice(ptr, count << 16, count << 16))


LOOKALIKES = (
    memory_of_the_system, numbers, the_same, a_part, an_earlier_array,
    with_words_behind, beyond_the_object,
)  # fmt: skip


@pytest.fixture
def lookalike(pair, variant, tmp_path):
    target, bare = pair(variant, LONG)
    core = Lookalike(target, tmp_path / "core")
    core.spare = target.places["spare"]
    return core, target, bare


@pytest.mark.parametrize("kind", LOOKALIKES, ids=lambda k: k.__name__)
@variants("default")
def test_lookalikes(lookalike, kind):
    core, target, bare = lookalike
    kind(core)
    assert listed(bare, core.path) == listed(target.exe, core.path)


@variants("default")
def test_before_the_last_element(lookalike):
    """An append stores the length first."""
    core, target, bare = lookalike
    ptr, count, capacity = core.allgs
    core.put_slice(core.list, Slice(ptr, count + 1, capacity))
    assert listed(bare, core.path) == listed(target.exe, core.path)


def in_another_order(core):
    core.put_array(core.points.gs[LONG - 1 :: -1])


def with_another_end(core):
    *gs, last, other = core.points.gs[:LONG]
    core.put_array([*gs, other, last])


@pytest.mark.parametrize("kind", [in_another_order, with_another_end])
@variants("default")
def test_doubt(lookalike, kind):
    """Goroutines on the heap that no list of the runtime begins with."""
    core, _, bare = lookalike
    kind(core)
    done = scan(bare, core.path)
    assert done.returncode == 1
    assert "more than one place could be the list of goroutines" in done.stderr


def _words(values):
    return struct.pack(f"<{len(values)}Q", *values)
