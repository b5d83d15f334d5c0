# SPDX-License-Identifier: Apache-2.0
"""A program plants a secret of each kind. Without --values, neither a saved file
nor an answer from it nor a page or an export has a part of one."""

import bisect
import functools
import json
import re
import struct

import pytest

import saved_file
from session import run_cli
from targets import attach_reason, skip_if
from toolchains import RELEASES, Variant, variants

# Bytes. The tables of a file have some words of six letters by chance: QQQQQQ.
# Shorter secrets are looked for in their places (check_places).
PART = 8
FEWEST_ZEROS = 8  # that no secret has in a row
MANY_ZEROS = re.compile(rb"\0{32,}")
DIGITS = 12  # of a number that is written out
SAMPLE = 3  # secrets of a kind that are looked for one by one
# The program itself, or the collector, may have overwritten these: nothing
# holds them at the end.
PASSING = re.compile("dead$|garbage|^pool$|^mapped file$|^(path|address) of ")
NEWEST = Variant(RELEASES[-1], "default")


def planted(truth):
    """{kind: secrets}; the program prints their complements."""
    secrets = {
        kind: [bytes(b ^ 0xFF for b in bytes.fromhex(one)) for one in found]
        for kind, found in truth["Planted"].items()
    }
    zeros = bytes(FEWEST_ZEROS)
    assert not any(zeros in one for found in secrets.values() for one in found)
    return secrets


def dense(data):
    """The bytes with 16 zeros where there are more. No secret has that many in
    a row, so that none is lost and none is made."""
    return re.sub(rb"\0{17,}", bytes(16), data)


class Known:
    """Words, all of one length, to look for in bytes, and the kind of each."""

    def __init__(self, kinds, size):
        self.kinds = {word: kinds[word] for word in kinds if len(word) == size}
        self.begins = {_number(word) for word in self.kinds}

    def found(self, data):
        """The kinds and words that occur in dense data."""
        begins = set()
        for shift in range(PART):
            count = (len(data) - shift) // PART
            numbers = struct.unpack_from(f"<{max(0, count)}Q", data, shift)
            begins |= self.begins.intersection(numbers)
        if not begins:
            return []
        return sorted(
            (kind, word)
            for word, kind in self.kinds.items()
            if _number(word) in begins and word in data
        )


def _number(word):
    """The first bytes of a word as those that are read from data."""
    return int.from_bytes(word[:PART], "little")


@functools.lru_cache(maxsize=8)
def parts_of(text):
    """All parts of all secrets of a truth."""
    parts = {
        secret[i : i + PART]: kind
        for kind, secrets in planted(json.loads(text)).items()
        for secret in secrets
        for i in range(len(secret) - PART + 1)
    }
    return Known(parts, PART)


@functools.lru_cache(maxsize=8)
def numbers_of(text):
    """How a document may write the numbers of a truth."""
    found = {}
    for kind, secrets in planted(json.loads(text)).items():
        for secret in secrets:
            words = secret[: len(secret) // 8 * 8]
            for (n,) in struct.iter_unpack("<Q", words):
                for written in (str(n), f"{n:x}", str(n - (1 << 64))):
                    found[written[:DIGITS].encode()] = kind
    return Known(found, DIGITS)


def leaks(truth, data):
    """The kinds that occur in the bytes of a file."""
    return parts_of(json.dumps(truth)).found(dense(data))


def written(truth, data):
    """The kinds that occur in a document."""
    return leaks(truth, data) + numbers_of(json.dumps(truth)).found(data)


def file_parts(path):
    """The bytes of a file as they are, those of its frames, and those of its
    memory, by address."""
    raw = path.read_bytes()
    _, frames = saved_file.read(raw)
    pages = saved_file.memory(frames)
    memory, before = [], None
    for address in sorted(pages):
        if before is None or address != before + len(pages[before]):
            memory.append(bytes(64))
        memory.append(pages[address])
        before = address
    unpacked = b"".join(bytes(frame.unpack()) for frame in frames)
    return raw, unpacked, b"".join(memory), pages


def check_file(truth, path):
    raw, frames, memory, pages = file_parts(path)
    assert len(memory) > 1 << 20
    for name, data in (("raw", raw), ("frames", frames), ("memory", memory)):
        assert not leaks(truth, data), name
    return pages


def saved(source, path, *options):
    done = run_cli([*source, "save", *options, path])
    assert done.returncode == 0, done.stderr
    return path


def unpacked(path):
    """All memory of a file with values, and what describes it."""
    _, frames = saved_file.read(path.read_bytes())
    pages = saved_file.memory(frames)
    memory = b"".join(pages[page] for page in sorted(pages))
    return memory, bytes(frames[0].unpack())


def check_whole(truth, path):
    """The file with values has them: the test can fail."""
    memory, description = unpacked(path)
    memory = dense(memory)
    left = []
    for kind, secrets in planted(truth).items():
        sample = secrets[:SAMPLE] + secrets[-SAMPLE:]
        lacking = [s for s in sample if s not in memory]
        if PASSING.search(kind):
            left.append(len(lacking) < len(sample))
        else:
            assert not lacking, (kind, lacking)
    assert sum(left) > len(left) // 2
    for path in planted(truth)["path of a mapped file"]:
        assert path in description, path


def stretches(core):
    """Addresses and bytes of the memory of a core, without its many zeros."""
    (headers,) = struct.unpack_from("<Q", core, 32)
    (count,) = struct.unpack_from("<H", core, 56)
    for i in range(count):
        kind, _, off, start, _, size, _, _ = struct.unpack_from(
            "<IIQQQQQQ", core, headers + 56 * i
        )
        if kind != 1:
            continue
        at = off
        for zeros in MANY_ZEROS.finditer(core, off, off + size):
            yield start + at - off, core[at : zeros.start() + FEWEST_ZEROS]
            at = zeros.end() - FEWEST_ZEROS
        yield start + at - off, core[at : off + size]


def places(core, secrets):
    """The addresses of secrets in the memory of a core."""
    begins, addresses, memory = [], [], bytearray()
    for address, data in stretches(core):
        begins.append(len(memory))
        addresses.append(address)
        memory += data + bytes(FEWEST_ZEROS)
    for secret in secrets:
        at = memory.find(secret)
        while at >= 0:
            i = bisect.bisect_right(begins, at) - 1
            yield addresses[i] + at - begins[i], secret
            at = memory.find(secret, at + 1)


def check_places(truth, core, pages):
    """Not a single byte of a secret is where the core has it."""
    sample = [
        secret
        for secrets in planted(truth).values()
        for secret in secrets[: SAMPLE - 1]
    ]
    seen, found = 0, []
    for address, secret in places(core, sample):
        seen += 1
        for at in range(address, address + len(secret)):
            page = pages.get(at & ~0xFFF)
            if page and page[at & 0xFFF]:
                found.append((secret, at - address))
    assert seen >= len(sample) * 2 // 3
    assert not found, found[:20]


@variants("default", newest=("noopt", "stripped", "external"))
def test_core(farm, variant, tmp_path):
    target = farm.target("secrets", variant)
    source = ["core", target.exe, target.core]
    bare = saved(source, tmp_path / "bare.goref")
    pages = check_file(target.truth, bare)
    check_places(target.truth, target.core.read_bytes(), pages)
    whole = saved(source, tmp_path / "whole.goref", "--values")
    check_whole(target.truth, whole)
    # A file that was saved twice has no more.
    again = saved(["open", whole], tmp_path / "again.goref")
    check_file(target.truth, again)


@pytest.mark.parametrize("way", [[], ["--snapshot"]], ids=["copy", "snapshot"])
@variants("default", newest=("stripped",))
def test_process(farm, variant, way, tmp_path):
    skip_if(attach_reason())
    target = farm.target("secrets", variant, "live")
    source = ["attach", target.process.pid, *way]
    bare = saved(source, tmp_path / "bare.goref")
    check_file(target.truth, bare)


QUESTIONS = (
    ["scan"], ["overview"], ["hung"], ["waits"], ["leaks"], ["rss"],
    ["goroutines", "-t"], ["panic"], ["suspects"], ["dominators"],
    ["histogram"], ["histogram", "--by", "root"],
    ["histogram", "--by", "goroutine"], ["histogram", "--by", "field"],
    ["histogram", "--by", "site"], ["hung", "--sched"],
    ["why", "--type", "main.plain"],
)  # fmt: skip


@pytest.mark.parametrize("flavour", ["default", "stripped"])
def test_answers(farm, flavour, tmp_path):
    """Nor are they in what a file answers."""
    target = farm.target("secrets", Variant(NEWEST.release, flavour))
    bare = saved(["core", target.exe, target.core], tmp_path / "bare.goref")
    asked = [[*q, *form] for q in QUESTIONS for form in ([], ["--json"])]
    for question in [*asked, ["objects", "-addresses"]]:
        done = run_cli(["open", bare, *question])
        if flavour == "stripped" and "site" in question:
            assert done.returncode == 1
            assert "does not say where the runtime keeps" in done.stderr
        else:
            assert done.returncode == 0 and done.stdout, done.stderr
        said = (done.stdout + done.stderr).encode()
        assert not written(target.truth, said), question
    for address in target.truth["Files"]:
        done = run_cli(["open", bare, "why", hex(address)])
        assert not written(target.truth, done.stdout.encode())


def test_sockets(farm, tmp_path):
    """A wait for a socket says that there are addresses, and lacks them."""
    target = farm.target("sockets", NEWEST)
    core = ["core", target.exe, target.core]
    bare = saved(core, tmp_path / "bare.goref")
    whole = saved(core, tmp_path / "whole.goref", "--values")
    for case in target.truth:
        question = ["goroutine", case["id"], "wait"]
        said = [
            json.loads(run_cli([*source, *question, "--json"]).stdout)["waits"]
            for source in (core, ["open", whole], ["open", bare])
        ]
        assert said[0] == said[1]
        ends = said[0][0]["network"]
        has_ends = bool(ends["local"] or ends["remote"])
        ends.update(local=None, remote=None, has_unsaved_addresses=has_ends)
        assert said[0] == said[2], case
        text = run_cli(["open", bare, *question]).stdout
        assert ("addresses not in the file" in text) == has_ends, text
        assert not has_ends or case["network"] in text


def test_paths_of_files(farm, tmp_path):
    """The executable and libraries keep their paths, mapped data does not."""
    target = farm.target("secrets", Variant(NEWEST.release, "external"))
    core = ["core", target.exe, target.core]
    bare = saved(core, tmp_path / "bare.goref")
    frames = saved_file.read(bare.read_bytes())[1]
    description = bytes(frames[0].unpack())
    assert str(target.exe).encode() in description
    assert b"/libc.so" in description
    asked = ["why", hex(target.truth["Files"][0])]
    assert "mapped from /" in run_cli([*core, *asked]).stdout
    assert "whose path is not saved" in run_cli(["open", bare, *asked]).stdout
    rss = [
        json.loads(run_cli([*source, "rss", "--json"]).stdout)["classes"]
        for source in (core, ["open", bare])
    ]
    assert rss[0] == rss[1]


@pytest.mark.parametrize("flavour", ["default", "stripped"])
def test_pages_and_exports(farm, flavour, tmp_path):
    """They have no values, whether from a core or from a file."""
    target = farm.target("secrets", Variant(NEWEST.release, flavour))
    core = ["core", target.exe, target.core]
    bare = saved(core, tmp_path / "bare.goref")
    for source in (core, ["open", bare]):
        out = tmp_path / "out"
        done = run_cli([*source, "report", out])
        assert done.returncode == 0, done.stderr
        assert not written(target.truth, out.read_bytes()), source
        for form in ("hprof", "heapsnapshot", "jsonl", "folded", "dot"):
            done = run_cli([*source, "export", "--format", form, out])
            assert done.returncode == 0, done.stderr
            assert not written(target.truth, out.read_bytes()), (source, form)
    done = run_cli([*core, "report", "--values", tmp_path / "values"])
    assert done.returncode == 0, done.stderr
    shown = {
        kind
        for kind, _ in written(
            target.truth, (tmp_path / "values").read_bytes()
        )
    }
    assert {"key of a label", "value of a label"} <= shown
