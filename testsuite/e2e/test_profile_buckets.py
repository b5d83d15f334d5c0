# SPDX-License-Identifier: Apache-2.0
"""goref profile heap, allocs, block and mutex, by the program's own."""

import base64
import collections
import json
import re
import struct
import subprocess

import pytest

import mutate
from crafted import Crafted
from asking import SCANNER
from pprof import Profile
from session import run_cli, run_goref
from targets import attach_reason, skip_if
from toolchains import Variant, go_environment, pprof_binary, variants

CENTRAL = Variant("go1.24", "default")
RATES = ("1", str(64 << 10), str(512 << 10))
MEMORY_TYPES = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")
CONTENTION_TYPES = ("contentions", "delay")
SAMPLE_TYPES = {
    "heap": MEMORY_TYPES, "allocs": MEMORY_TYPES,
    "block": CONTENTION_TYPES, "mutex": CONTENTION_TYPES,
}  # fmt: skip


@pytest.fixture(scope="module")
def central(farm):
    return farm.target("sampled", CENTRAL, args=["65536"])


def own(target, name):
    return Profile(base64.b64decode(target.truth[name]))


def written(target, tmp_path, kind):
    path = tmp_path / f"{kind}.pb.gz"
    run = run_goref(target, [f"goref profile {kind} -o {path} --json"])
    assert run.rc == 0, run.stderr
    return Profile.load(path), run.json(0)


def by_stack(profile):
    """Values by frames and labels, of what is not zero."""
    found = collections.defaultdict(collections.Counter)
    for sample in profile.samples:
        labels = tuple(sorted(sample.labels.items()))
        if any(sample.values):
            for i, value in enumerate(sample.values):
                found[sample.frames, labels][i] += value
    return found


def check_same(found, wanted):
    found, wanted = by_stack(found), by_stack(wanted)
    assert wanted
    assert found == wanted


# The runtime's own locks (since Go 1.22) wait for each other at any time, also
# while the profile is written and until the process is looked at: counts of
# these stacks may have grown since. runtime/mprof.go: mLockProfile.store
RUNTIME_LOCKS = r"^runtime\.(unlock|_LostContended)"


def by_users_stack(profile):
    """Without the contention of the runtime's own locks."""
    return {
        key: values
        for key, values in by_stack(profile).items()
        if not any(re.match(RUNTIME_LOCKS, name) for name, _, _ in key[0])
    }


@pytest.mark.parametrize("rate", RATES)
@variants("default")
def test_heap(farm, variant, rate, tmp_path):
    target = farm.target("sampled", variant, args=[rate])
    wanted = own(target, "heap")
    found, document = written(target, tmp_path, "heap")
    assert found.sample_types == wanted.sample_types
    assert found.default_sample_type == wanted.default_sample_type
    check_same(found, wanted)
    assert document["sample_rate_bytes"] == int(rate)
    assert document["notes"] == [] and document["complete"]
    totals = [sum(s.values[i] for s in found.samples) for i in range(4)]
    assert totals == [
        document[key]
        for key in
        ("alloc_objects", "alloc_bytes", "inuse_objects", "inuse_bytes")
    ]  # fmt: skip


@variants("default")
def test_before_a_collection(farm, variant, tmp_path):
    target = farm.target("sampled", variant, args=["4096", "early"])
    found, document = written(target, tmp_path, "heap")
    wanted = own(target, "heap")
    if document["notes"]:
        assert "no collection has ended" in document["notes"][0]
        # Objects that were allocated since then are in the same counts.
        found, wanted = by_stack(found), by_stack(wanted)
        built = [key for key in wanted if "main.build" in str(key)]
        assert built and all(found[key] == wanted[key] for key in built)
    else:
        check_same(found, wanted)


def counts(profile):
    return {key: v[0] for key, v in by_users_stack(profile).items()}


def check_grown(found, wanted, nvalues):
    """The runtime's own locks: nothing that the program has counted is lost."""
    found, wanted = by_stack(found), by_stack(wanted)
    for key, values in wanted.items():
        grown = [found[key][i] - values[i] for i in range(nvalues)]
        assert min(grown) >= 0, (key, grown)


def check_contention(target, kind, found, document):
    wanted = own(target, kind)
    if "the delays are in ticks" in str(document["notes"]):
        assert found.sample_types[1].unit == "ticks"
        assert counts(wanted) and counts(found) == counts(wanted)
        check_grown(found, wanted, 1)
        return
    assert found.sample_types == wanted.sample_types
    values = by_users_stack(wanted)
    assert values and by_users_stack(found) == values
    check_grown(found, wanted, 2)
    assert document["contentions"] and document["delay"]


@variants("default", newest=("noopt", "nodwarf"))
def test_contention(farm, variant, tmp_path):
    target = farm.target("sampled", variant, args=["65536"])
    kinds = ("block", "mutex")
    run = run_goref(
        target,
        [f"goref profile {k} -o {tmp_path / k} --json" for k in kinds],
        in_gdb=True,
    )
    assert run.rc == 0, run.stderr
    for i, kind in enumerate(kinds):
        # The tables of Go 1.19 do not say where the length of a tick is.
        is_in_ticks = variant == Variant("go1.19", "nodwarf")
        assert ("in ticks" in str(run.json(i)["notes"])) == is_in_ticks
        found = Profile.load(tmp_path / kind)
        check_contention(target, kind, found, run.json(i))


def test_allocs(central, tmp_path):
    heap, _ = written(central, tmp_path, "heap")
    allocs, _ = written(central, tmp_path, "allocs")
    assert by_stack(heap) == by_stack(allocs)
    assert allocs.default_sample_type == "alloc_space"


class Pprof:
    """Go's own reader of profiles, of one release."""

    def __init__(self, release, folder):
        self.binary = pprof_binary(release)
        self.env = {**go_environment(), "HOME": str(folder)}

    def top(self, *words):
        done = subprocess.run(
            [self.binary, "-top", "-lines", "-nodecount=0",
             "-nodefraction=0", *words],
            capture_output=True, text=True, env=self.env, check=True,
        )  # fmt: skip
        return done.stdout

    def differences(self, base, path, sample_type):
        """The lines of source that have another value."""
        text = self.top(
            f"-sample_index={sample_type}", f"-ignore={RUNTIME_LOCKS}",
            "-diff_base", base, path,
        )  # fmt: skip
        assert f"Type: {sample_type}\n" in text, text
        _, header, rows = text.partition("cum%\n")
        assert header, text
        return rows.splitlines()


@pytest.mark.parametrize("rate", RATES)
@variants(newest=("default",))
def test_go_tool_pprof(farm, variant, rate, tmp_path):
    """`go tool pprof -diff_base' is empty, for each value of each profile."""
    target = farm.target("sampled", variant, args=[rate])
    pprof = Pprof(variant.release, tmp_path)
    commands = [f"goref profile {k} -o {tmp_path / k}" for k in SAMPLE_TYPES]
    run = run_goref(target, commands)
    assert run.rc == 0, run.stderr
    for kind, types in SAMPLE_TYPES.items():
        base = tmp_path / f"own-{kind}"
        base.write_bytes(base64.b64decode(target.truth[kind]))
        for sample_type in types:
            found = pprof.differences(base, tmp_path / kind, sample_type)
            assert not found, (kind, sample_type, found)
    assert "Type: alloc_space" in pprof.top(tmp_path / "allocs")
    # There are differences where the values differ.
    one, other = tmp_path / "own-block", tmp_path / "mutex"
    assert pprof.differences(one, other, "contentions")
    one, other = tmp_path / "own-heap", tmp_path / "early"
    early = farm.target("sampled", variant, args=[rate, "early"])
    other.write_bytes(base64.b64decode(early.truth["heap"]))
    for sample_type in MEMORY_TYPES:
        assert pprof.differences(one, other, sample_type)


def test_off(farm, tmp_path):
    target = farm.target("sampled", CENTRAL, args=["off"])
    found, document = written(target, tmp_path, "heap")
    assert not found.samples or document["samples"]
    assert "memory profiling is off" in document["notes"][0]
    for kind in ("block", "mutex"):
        _, document = written(target, tmp_path, kind)
        assert f"{kind} profiling is off" in document["notes"][0]


@pytest.mark.parametrize(
    "words",
    ["profile heap -o out", "profile heap --now -o out",
     "profile mutex -o out", "histogram --by site", "scan --sites -o out"],
)  # fmt: skip
def test_stripped(farm, words, tmp_path):
    """One line that says why, and what to do. Specials of objects do lead to
    buckets, but the values cannot be scaled without the rate."""
    target = farm.target(
        "sampled", Variant(CENTRAL.release, "stripped"), args=["65536"]
    )
    done = run_cli(["core", target.exe, target.core, *words.split()], tmp_path)
    assert done.returncode == 1
    [said] = [x for x in done.stderr.splitlines() if x.startswith("goref")]
    assert "nor at what rate it samples" in said
    assert "use a file of the same build that has its symbols" in said


def test_disabled_by_the_linker(farm, tmp_path):
    """A program that never reads the profile has none."""
    target = farm.target("stacks", CENTRAL)
    found, document = written(target, tmp_path, "heap")
    assert not found.samples
    assert "not linked" in document["notes"][0]


class Buckets:
    """A core whose list of buckets is to be damaged."""

    def __init__(self, target, path):
        self.core = Crafted(SCANNER, target, path)
        self.target, self.path = target, path
        self.head = self.core.points.variable("mbuckets")
        file = mutate.Core(path)
        self.first = file.u64(self.head)
        self.second = file.u64(self.at(self.first, "allnext"))
        file.close()

    def at(self, bucket, field):
        return bucket + self.core.layout[f"bucket.{field}"][0]

    def answer(self, out, *words):
        words = words or ("profile", "heap")
        done = run_cli(
            ["core", self.target.exe, self.path, *words, "-o", out, "--json"]
        )
        assert done.returncode == 3, done.stderr
        return json.loads(done.stdout)


@pytest.mark.parametrize("damage", ["loop", "stack", "nowhere", "many"])
def test_damaged_buckets(central, tmp_path, damage):
    """The list ends, what came before is kept, and a gap is counted."""
    buckets = Buckets(central, tmp_path / "core")
    if damage == "loop":
        words = {buckets.at(buckets.second, "allnext"): buckets.second}
    elif damage == "stack":
        words = {buckets.at(buckets.second, "nstk"): 1 << 40}
    elif damage == "nowhere":
        words = {buckets.at(buckets.second, "allnext"): 8}
    else:
        words = {buckets.head: endless_list(buckets.core)}
    buckets.core.put(words)
    document = buckets.answer(tmp_path / "out")
    assert not document["complete"]
    assert "list of samples is damaged" in document["partial"][0]
    if damage != "many":
        assert document["samples"] <= 4
    sites = buckets.answer(tmp_path / "sites", "scan", "--sites")
    assert "list of samples is damaged" in str(sites["partial"])


def endless_list(core, count=20_000, calls=4096):
    """Buckets with stacks of many calls, one over the other in memory."""
    size = core.layout["bucket"][0]
    at = core.next
    data = bytearray(count * size + 8 * (calls + 64))
    for i in range(count):
        for field, value in (
            ("allnext", at + (i + 1) * size),
            ("nstk", calls),
        ):
            struct.pack_into(
                "<Q", data, i * size + core.layout[f"bucket.{field}"][0], value
            )
    assert core.add(bytes(data)) == at
    return at


def test_held(farm, tmp_path):
    """gdb holds the process: one question after the other."""
    skip_if(attach_reason())
    target = farm.target("sampled", CENTRAL, "live", args=["65536"])
    kinds = ("heap", "goroutine", "mutex", "heap")
    run = run_goref(
        target,
        [f"goref profile {k} -o {tmp_path / k} --json" for k in kinds],
        in_gdb=True,
    )
    assert run.rc == 0, run.stderr
    found = Profile.load(tmp_path / "heap")
    check_same(found, own(target, "heap"))
    assert run.json(1)["goroutines"] and run.json(2)["contentions"]


@pytest.mark.parametrize("damage", ["loop", "stack", "nowhere"])
def test_damaged_process(farm, central, tmp_path, damage):
    """The buckets before the damage are copied."""
    skip_if(attach_reason())
    buckets = Buckets(central, tmp_path / "core")
    target = farm.target("sampled", CENTRAL, "live", args=["65536"])
    with open(f"/proc/{target.process.pid}/mem", "r+b", buffering=0) as memory:

        def word(at, value=None):
            memory.seek(at)
            if value is None:
                return struct.unpack("<Q", memory.read(8))[0]
            return memory.write(struct.pack("<Q", value))

        first = word(buckets.head)
        field, value = {
            "loop": ("allnext", first),
            "stack": ("nstk", 1 << 40),
            "nowhere": ("allnext", 8),
        }[damage]
        whole = word(buckets.at(first, field))
        word(buckets.at(first, field), value)
        try:
            done = run_cli(
                ["attach", target.process.pid, "profile", "heap", "-o",
                 tmp_path / "heap", "--json"]
            )  # fmt: skip
        finally:
            word(buckets.at(first, field), whole)
    assert done.returncode == 3, done.stderr
    document = json.loads(done.stdout)
    assert "list of samples is damaged" in document["partial"][0]
    assert document["samples"] <= 1
