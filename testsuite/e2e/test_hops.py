# SPDX-License-Identifier: Apache-2.0
"""Names of words: the field, element or map entry through which one object leads
to another. The program knows its hops."""

import random
import subprocess
from collections import namedtuple

import pytest

import mutate
from asking import GOREF_SCAN
from session import environment
from targets import attach_reason, skip_if
from toolchains import RELEASES, Variant, variant_id, variants


# The target of a word, its address, the object that has it (0: a root), the
# type of that memory; the name, the type of its field, the offset in the field,
# the kind.
Word = namedtuple("Word", "target addr holder memory name type offset kind")


def goref_scan(target, *options):
    what = [target.exe, target.core] if target.core else [target.process.pid]
    done = subprocess.run(
        [GOREF_SCAN, *options, *map(str, what)],
        capture_output=True,
        text=True,
        errors="surrogateescape",
        env=environment(),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def read_words(text):
    words = []
    for line in text.splitlines():
        target, addr, holder, memory, name, type_, offset, kind = line.split(
            "\t"
        )
        words.append(
            Word(int(target, 16), int(addr, 16), int(holder, 16), memory, name,
                 type_, int(offset), kind)
        )  # fmt: skip
    return words


@pytest.fixture(scope="module")
def named(farm):
    """named(program, variant): the target, and the names of all its words."""
    made = {}

    def make(program, variant):
        key = program, variant
        if key not in made:
            target = farm.target(program, variant)
            made[key] = target, read_words(goref_scan(target, "--name-words"))
        return made[key]

    return make


def by_target(words):
    found = {}
    for word in words:
        found.setdefault(word.target, []).append(word)
    return found


def minor(variant):
    return int(variant.release.removeprefix("go1."))


def is_as_told(word, hop, variant):
    """Debug information has captured variables since go1.23."""
    if "instead" in hop and minor(variant) < 23:
        return word.name == hop["instead"]
    return (
        word.name in hop["name"].split("|")
        and word.type == hop.get("type", word.type)
        and word.addr == int(hop.get("word", hex(word.addr)), 16)
    )


ROWS = [
    *(Variant(r, f) for r in RELEASES for f in ("default", "noopt")),
    # Buckets in objects with malloc headers.
    Variant("go1.24", "noswissmap"),
]
all_rows = pytest.mark.parametrize("variant", ROWS, ids=variant_id)


@all_rows
def test_hops(named, variant):
    target, words = named("hops", variant)
    found = by_target(words)
    wrong = []
    for hop in target.truth["hops"]:
        there = found.get(int(hop["target"], 16), [])
        if not any(is_as_told(word, hop, variant) for word in there):
            wrong.append((hop, there))
    assert not wrong, (len(wrong), wrong[:20])
    assert len(target.truth["hops"]) > 3000


@all_rows
def test_all_words(named, variant):
    """Every pointer has a name, but for variables that a closure without debug
    information has captured, and for the methods of values (`T.M-fm`) whose
    receiver is not known."""
    _target, words = named("hops", variant)
    nameless = [
        word
        for word in words
        if word.kind == "nameless"
        and ".func" not in word.memory
        and not word.memory.endswith("-fm")
    ]
    assert not nameless, (len(nameless), nameless[:20])
    assert len(words) > 10000
    for word in words:
        assert ("+0x" in word.name) == (word.kind == "nameless")
        assert word.offset in (0, 8) or word.kind == "nameless"


@all_rows
def test_pieces(named, variant):
    """The words of the runtime's own structures lead from one piece of a map to
    another one."""
    _target, words = named("hops", variant)
    many = [w for w in words if w.memory == "map[int]*main.Leaf"]
    names = {w.name.partition("[")[0] for w in many if w.kind == "piece"}
    if minor(variant) >= 24 and variant.flavour != "noswissmap":
        assert names == {"$dir", "$tables", "$groups"}
    else:
        assert {"$buckets", "$overflow"} <= names
        assert names <= {"$buckets", "$overflow", "$oldbuckets", "$extra",
                         "$nextoverflow"}  # fmt: skip
    indirect = [w for w in words if w.name == '["w3"]' and w.kind == "pointer"]
    assert [w.type for w in indirect] == ["main.Huge"]


def test_one_word(named):
    """The same name without the others, and what is no word."""
    target, words = named("hops", Variant(RELEASES[-1], "default"))
    word = next(w for w in words if w.name == ".Inner.Deep.Leaf")
    assert read_words(goref_scan(target, "--name-word", hex(word.addr))) == [
        word
    ]
    padding = read_words(
        goref_scan(target, "--name-word", hex(word.addr - 16))
    )[0]
    assert (padding.name, padding.kind) == (".Inner.Flag", "field")


def damaged(target, words, folder, seed):
    """The output for a core of whose words many have other values."""
    rng = random.Random(seed)
    path = folder / f"core{seed}"
    mutate.copy_sparse(target.core, path)
    core = mutate.Core(path)
    values = [0, 1, 7, 1 << 63, (1 << 64) - 1, 0x80808080808080]
    for word in rng.sample(words, 500):
        # Beside a pointer there are lengths, control words, type records.
        core.put(
            word.addr + rng.choice([-16, -8, -8, 0, 8, 16]),
            rng.choice([rng.choice(values), rng.choice(words).target]),
        )
    core.close()
    done = subprocess.run(
        [GOREF_SCAN, "--name-words", target.exe, path],
        capture_output=True,
        text=True,
        errors="surrogateescape",
        env=environment(),
    )
    path.unlink()
    return done


@variants("default")
def test_damaged_memory(named, variant, tmp_path):
    """There is a name for each word that is left, or one line of error."""
    target, words = named("hops", variant)
    has_names = False
    for seed in range(5):
        done = damaged(target, words, tmp_path, seed)
        if done.returncode == 1:
            assert len(done.stderr.splitlines()) == 1, done.stderr
            continue
        assert done.returncode == 0, (seed, done.stderr)
        assert len(read_words(done.stdout)) > 1000
        has_names = True
    assert has_names


def test_process(farm):
    """The bytes of strings on a process's heap are not captured: such keys
    are not shown. All other names are the same."""
    skip_if(attach_reason())
    variant = Variant(RELEASES[-1], "default")
    target = farm.target("hops", variant, "live")
    found = by_target(read_words(goref_scan(target, "--name-words")))
    shown = hidden = 0
    for hop in target.truth["hops"]:
        there = found.get(int(hop["target"], 16), [])
        if any(is_as_told(word, hop, variant) for word in there):
            shown += 1
            continue
        assert hop["name"].startswith('["'), (hop, there)
        assert any(w.name.startswith("$mapval") for w in there), (hop, there)
        hidden += 1
    assert shown > 1000 and hidden > 100
