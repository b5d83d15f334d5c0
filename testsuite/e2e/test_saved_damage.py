# SPDX-License-Identifier: Apache-2.0
"""Damaged saved files: one line of error, and behind right checksums an answer
or one line. GOREF_MUTATIONS=1000 for the long run, with a build with sanitizers
in GOREF_BUILD_DIR, too."""

import os
import random
import re
import struct

import asking
import saved_file
from session import one_line, run_cli
from toolchains import Variant, variants

CENTRAL = Variant("go1.24", "default")
COUNT = int(os.environ.get("GOREF_MUTATIONS", "60"))
MAX_SECONDS = 60  # of processor time
# Sanitizers use memory that is not in proportion to the file.
LIMIT = 0 if asking.sanitizers() else 256 << 20
SPARE = 96 << 20
QUESTIONS = ((), ("--goroutines",), ("--hung",), ("--retained",),
             ("--locals",), ("--names",))  # fmt: skip
VALUES = (0, 1, 0x7F, 0x80, 0xFF, 1 << 31, 1 << 32, 1 << 63, (1 << 64) - 1)


def save(farm, variant, path, *options):
    target = farm.target("waits", variant)
    core = ["core", target.exe, target.core]
    done = run_cli([*core, "save", *options, path])
    assert done.returncode == 0, done.stderr
    return path.read_bytes()


def ask(path, *question):
    return asking.run_scanner(*question, path, max_seconds=MAX_SECONDS)


def test_damaged_bytes(farm, tmp_path):
    """The checksums notice each change."""
    damaged = tmp_path / "damaged.goref"
    whole = save(farm, CENTRAL, tmp_path / "heap.goref")
    rng = random.Random(12)
    for i in range(COUNT):
        data = bytearray(whole)
        if i % 4 == 0:
            del data[rng.randrange(len(data)) :]
        elif i % 4 == 1:
            at = rng.randrange(len(data))
            data[at : at + rng.randrange(1, 4096)] = b""
        else:
            at = rng.randrange(200 if i % 4 == 2 else len(data))
            data[at] ^= 1 << rng.randrange(8)
        damaged.write_bytes(data)
        done = ask(damaged)
        assert done.returncode == 1, (i, done.returncode, done.stderr)
        assert done.stderr.count("\n") == 1, (i, done.stderr)
        assert str(damaged) in done.stderr


def change_content(rng, frames):
    """Some numbers of one frame, near its start more often."""
    place = rng.randrange(len(frames) - 1)
    data = frames[place].unpack()
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at = rng.randrange(rng.choice((64, 1024, len(data))))
        at = min(at, len(data) - 1)
        width = min(rng.choice((1, 1, 4, 8)), len(data) - at)
        value = rng.choice((rng.choice(VALUES), rng.getrandbits(64)))
        data[at : at + width] = value.to_bytes(8, "little")[:width]
    frames[place] = saved_file.pack(frames[place].kind, data)


def change_order(rng, frames):
    """A frame that is lost, there twice, elsewhere, of another kind or size."""
    place = rng.randrange(len(frames))
    frame = frames[place]
    how = rng.randrange(5)
    if how == 0:
        del frames[place]
    elif how == 1:
        frames.insert(place, frame)
    elif how == 2:
        frames.insert(rng.randrange(len(frames)), frames.pop(place))
    elif how == 3:
        frame.kind = rng.randrange(8)
    else:
        frame.bytes = rng.choice((frame.bytes + 1, *VALUES))


def mutate(whole, number):
    """The file with one kind of damage, and right checksums."""
    rng = random.Random(number)
    head, frames = saved_file.read(whole)
    (change_order if number % 5 == 4 else change_content)(rng, frames)
    return saved_file.write(head, frames)


def test_damage_behind_checksums(farm, tmp_path):
    damaged = tmp_path / "damaged.goref"
    wholes = [
        save(farm, CENTRAL, tmp_path / "bare.goref"),
        save(farm, CENTRAL, tmp_path / "whole.goref", "--values"),
    ]
    assert ask(tmp_path / "whole.goref").returncode == 0
    answered = used = slowest = 0
    for i in range(COUNT):
        damaged.write_bytes(mutate(wholes[i % 2], i))
        done = ask(
            damaged, *QUESTIONS[i % len(QUESTIONS)],
            "--memory-limit", str(LIMIT), "--timeout", "5000",
        )  # fmt: skip
        slowest = max(slowest, done.seconds)
        assert done.returncode in (0, 1), (i, done.returncode, done.stderr)
        lines = [
            x
            for x in done.stderr.splitlines()
            if not x.startswith("warning: ")
        ]
        assert len(lines) == done.returncode, (i, done.stderr)
        answered += done.returncode == 0
        used = max(used, done.used)
    # Values are free to be anything; counts and places are not.
    assert COUNT / 10 < answered < COUNT, answered
    assert used < (LIMIT + SPARE if LIMIT else 1 << 30), used
    print(f"{answered} of {COUNT} answered, {slowest:.2f} s, {used >> 10} kB")


@variants("default")
def test_every_build_reads_it(farm, variant, tmp_path):
    """Nothing in a file depends on the sources or the compiler of a build: the
    tables have the version of their form, not the stamp of the cache."""
    file = tmp_path / "heap.goref"
    _, frames = saved_file.read(save(farm, variant, file))
    tables = [f for f in frames if f.kind == saved_file.TABLES]
    assert tables
    for frame in tables:
        stamp = struct.unpack_from(
            "<Q", frame.unpack(), saved_file.STAMP_OFFSET
        )
        assert stamp == (saved_file.TABLES_VERSION,)


def other_tables(frames):
    """The description says that the tables are of the next version."""
    description = frames[0].unpack()
    assert description[0] == saved_file.TABLES_VERSION
    description[0] += 1
    frames[0] = saved_file.pack(frames[0].kind, description)


def with_text(frames, old, new):
    """Replace a text of the description, by how it begins. Its length stands
    before it."""
    description = frames[0].unpack()
    at = re.search(old, description).start()
    end = at + description[at - 1] - 1
    count = len(new) + 1
    assert description[at - 1] < 0x80 <= count < 1 << 14
    description[at - 1 : end] = bytes((count & 0x7F | 0x80, count >> 7)) + new
    return [saved_file.pack(frames[0].kind, description), *frames[1:]]


def test_texts_of_python(farm, tmp_path):
    """Why the program stopped, and which process it was, are texts that C does
    not look into: what makes no sense is not known."""
    file = tmp_path / "heap.goref"
    head, frames = saved_file.read(save(farm, CENTRAL, file))
    for old, words in (
        (rb'\["[0-9a-f]{64}"', ["diff", file, file]),
        (rb"\[\d+, \d+, ", ["open", file, "overview"]),
    ):
        for new in (b"5", b"[" * 8000):
            changed = with_text(frames, old, new.ljust(200))
            file.write_bytes(saved_file.write(head, changed))
            done = run_cli(words)
            assert done.returncode == 0, (old, new[:9], done.stderr)


def test_other_versions(farm, tmp_path):
    """One line, which says which goref reads the file."""
    file = tmp_path / "heap.goref"
    head, frames = saved_file.read(save(farm, CENTRAL, file))
    assert head == saved_file.head(saved_file.VERSION)
    newer = "wrote it (9.7.5) or a newer one"
    for version, told in (
        (saved_file.VERSION + 1, newer),
        (saved_file.VERSION - 1, "or save it again"),
        (1 << 60, newer),
    ):
        changed = saved_file.head(version, b"9.7.5")
        file.write_bytes(saved_file.write(changed, frames))
        for question in (["scan"], ["goroutines"]):
            one_line(run_cli(["open", file, *question]), 1, told)
    other_tables(frames)
    changed = saved_file.head(saved_file.VERSION, b"9.7.5")
    file.write_bytes(saved_file.write(changed, frames))
    one_line(run_cli(["open", file, "scan"]), 1, newer)


def test_damaged_layout(farm, tmp_path):
    """A program without debug information gives an answer or one line."""
    stripped = Variant(CENTRAL.release, "stripped")
    damaged = tmp_path / "damaged.goref"
    whole = save(farm, stripped, tmp_path / "heap.goref")
    answered = 0
    for i in range(COUNT):
        rng = random.Random(i)
        head, frames = saved_file.read(whole)
        place = next(
            k for k, f in enumerate(frames) if f.kind == saved_file.LAYOUT
        )
        data = frames[place].unpack()
        if i % 6 == 0:
            del data[rng.randrange(1, len(data)) :]
        for _ in range(rng.choice((1, 5, 20))):
            data[rng.randrange(len(data))] = rng.choice(b"0123456789 \n#-x")
        frames[place] = saved_file.pack(saved_file.LAYOUT, data)
        if i % 10 == 9:
            del frames[place]
        damaged.write_bytes(saved_file.write(head, frames))
        done = ask(damaged, *QUESTIONS[i % len(QUESTIONS)])
        assert done.returncode in (0, 1), (i, done.returncode, done.stderr)
        lines = [
            x
            for x in done.stderr.splitlines()
            if not x.startswith("warning: ")
        ]
        assert len(lines) == done.returncode, (i, done.stderr)
        assert done.returncode or i % 10 != 9
        answered += done.returncode == 0
    assert 0 < answered < COUNT, answered
