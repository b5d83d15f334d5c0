# SPDX-License-Identifier: Apache-2.0
"""To look at a process does not change what is in memory: not its Rss, and not
one page, also of those that do not count as Rss."""

import json
import re
import struct
from pathlib import Path

import pytest

from samples import DOCUMENTS, samples
from session import run_cli, run_gdb
from targets import attach_reason, skip_if
from toolchains import variants
from waiting import stop

EXCLUSIVE = 1 << 56  # in an entry of /proc/PID/pagemap
# The largest mapping whose pages are looked at: more is reserved only.
LARGEST = 1 << 30


class Memory:
    """The pages that a process has in memory, and its Rss. Pages of no file
    that are not its own alone may be the page of zeros, which does not count
    as Rss. A page that the kernel moves looks like one in swap."""

    def __init__(self, pid):
        self.pages, self.rss_bytes, self.shared = {}, 0, set()
        with open(f"/proc/{pid}/pagemap", "rb") as pagemap:
            for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
                found = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+)", line)
                if found:
                    self._add(pagemap, found, line)
                elif line.startswith("Rss:"):
                    self.rss_bytes += int(line.split()[1]) * 1024

    def _add(self, pagemap, found, line):
        start, end = int(found[1], 16), int(found[2], 16)
        if "r" not in found[3] or end - start > LARGEST or end >> 63:
            return
        words = line.split(None, 5)
        name = words[5] if len(words) > 5 else ""
        count = (end - start) // 4096
        pagemap.seek(start // 4096 * 8)
        entries = struct.unpack(f"<{count}Q", pagemap.read(8 * count))
        for number, entry in enumerate(entries):
            if entry >> 62:
                self.pages[start + number * 4096] = name
            if entry >> 63 and not entry & EXCLUSIVE and name[:1] != "/":
                self.shared.add(start + number * 4096)

    def more_than(self, before):
        """{name of the mapping: pages} that were not in memory before."""
        new = {}
        for page in sorted(self.pages.keys() - before.pages.keys()):
            new.setdefault(self.pages[page], []).append(page)
        return new


@pytest.fixture
def stopped(farm):
    """A process that a signal has stopped: it changes nothing itself."""
    skip_if(attach_reason())

    def start(variant, *args):
        process = farm.process("resident", variant, list(args))
        process.rest()
        stop(process.pid)
        return process

    yield start
    farm.forget("resident")


@variants(newest=("default", "external"))
@pytest.mark.parametrize(
    "question", ["rss", "overview", "scan", "goroutines", "profile heap"]
)
def test_first_look(stopped, variant, question, tmp_path):
    """A look brings no page, not even of zeros. The kernel may take pages of
    files back at any time."""
    process = stopped(variant)
    words = question.split()
    if words[0] == "profile":
        words += ["--out", tmp_path / "profile"]
    before = Memory(process.pid)
    done = run_cli(["attach", process.pid, *words, "--json"])
    assert done.returncode in (0, 3), done.stderr
    after = Memory(process.pid)
    assert not after.more_than(before)
    assert all(name[:1] == "/" for name in before.more_than(after))
    if question == "rss":
        found = json.loads(done.stdout)
        assert found["residency"] == "exact"
        assert after.rss_bytes <= found["rss_bytes"] <= before.rss_bytes


PROBE = (
    "python import pathlib; "
    "pathlib.Path({out!r}).write_text(pathlib.Path('/proc/{pid}/smaps')"
    ".read_text())"
)


def rss_bytes(path):
    return 1024 * sum(map(int, re.findall(r"(?m)^Rss: +(\d+)", path.read_text())))


@variants(newest=("default", "external"))
def test_in_a_session(stopped, variant, tmp_path):
    """In a session, where gdb has read all that it wants: no question brings a
    page. The kernel may take pages of files back at any time."""
    process = stopped(variant)
    questions = [" ".join(words) for words in samples(DOCUMENTS, place="0x10")]
    questions.sort(key=lambda question: question != "rss")
    paths = [tmp_path / f"{i}" for i in range(len(questions) + 1)]
    commands = [PROBE.format(out=str(paths[0]), pid=process.pid)]
    for question, path in zip(questions, paths[1:]):
        commands.append(f"goref {question} --json")
        commands.append(PROBE.format(out=str(path), pid=process.pid))
    run = run_gdb(["-p", str(process.pid)], commands)
    assert run.rc == 0, run.stderr
    assert run.json(1)["residency"] == "exact"
    sums = [rss_bytes(path) for path in paths]
    assert sums == sorted(sums, reverse=True)
    assert sums[1] <= run.json(1)["rss_bytes"] <= sums[0]
