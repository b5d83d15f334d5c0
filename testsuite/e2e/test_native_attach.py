# SPDX-License-Identifier: Apache-2.0
"""C memory of a process: a fork of it gives the same answers, no page of it
becomes resident by that, and goref says before how much it copies."""

import functools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import natives
import test_native
import test_native_leaks
from natives import CENTRAL
from session import GOREF, environment, run_cli, start_cli
from targets import attach_reason, skip_if
from toolchains import variants
from waiting import looks

pytestmark = pytest.mark.skipif(
    bool(attach_reason()), reason=attach_reason() or ""
)

# Beside the copy: the tables of the Go heap, which the estimate is made of.
READ_BEFORE = 4 << 20
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

# Writes how many bytes each call reads of another process.
COUNTER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t process_vm_readv(pid_t pid, const struct iovec *local,
			 unsigned long nlocal, const struct iovec *remote,
			 unsigned long nremote, unsigned long flags)
{
	ssize_t (*next)(pid_t, const struct iovec *, unsigned long,
			const struct iovec *, unsigned long, unsigned long) =
		dlsym(RTLD_NEXT, "process_vm_readv");
	ssize_t n = next(pid, local, nlocal, remote, nremote, flags);
	int file = open(getenv("COUNTED"), O_WRONLY | O_APPEND | O_CREAT, 0600);

	dprintf(file, "%ld\\n", (long)(n > 0 ? n : 0));
	close(file);
	return n;
}
"""

# The most memory that a program had, in KiB.
PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def rss_of(pid):
    text = Path(f"/proc/{pid}/smaps").read_text()
    return 1024 * sum(map(int, re.findall(r"^Rss: +(\d+) kB", text, re.M)))


def estimated(text):
    """The bytes that goref says that it copies."""
    [[number, unit]] = re.findall(r"about ([0-9.]+) (\w+) to copy", text)
    return float(number) * UNITS[unit]


@pytest.fixture
def bulk(farm):
    """bulk(blocks, bytes, untouched): a process."""

    def start(*numbers):
        args = list(map(str, numbers))
        return farm.target("native_bulk", CENTRAL, "live", args)

    return start


# ----------------------------------------------------------------- snapshot


@variants("cgo")
def test_leaks_of_a_snapshot(farm, variant):
    """The planted leaks, and no others; each place that holds a block."""
    target = test_native_leaks.planted(farm, variant, "live")
    test_native_leaks.check(natives.snapshot_of(target))
    assert target.process.popen.poll() is None


def test_blocks_of_a_snapshot(farm):
    args = test_native.FEW
    target = farm.target("native_heap", CENTRAL, "live", args)
    test_native.check(natives.snapshot_of(target))


def documents(ask, ask_other):
    """Two documents that are to be the same. The kernel may take pages of files
    back at any time, and then they are asked for again."""
    plain = ask()
    for _ in looks():
        found, before, plain = ask_other(), plain, ask()
        if before == plain:
            break
    for document in plain, found:
        document.pop("target", None)
    return found, plain


@pytest.mark.parametrize(
    "words", ["native", "native leaks", "rss", "histogram --by holder"]
)
def test_snapshot_says_the_same(farm, words):
    target = test_native_leaks.planted(farm, CENTRAL, "live")
    snapshot = natives.snapshot_of(target)
    found, plain = documents(
        lambda: natives.asked(target, *words.split()),
        lambda: natives.asked(snapshot, *words.split()),
    )
    assert found == plain
    assert words != "rss" or found["rss_bytes"] >= rss_of(target.process.pid)


def test_saved_snapshot(farm, tmp_path):
    """The file has the blocks, and the resident pages."""
    target = test_native_leaks.planted(farm, CENTRAL, "live")
    saved = tmp_path / "saved"
    save = [*natives.where(natives.snapshot_of(target)), "save", saved]

    def opened(verb):
        done = run_cli(save)
        assert done.returncode == 0, done.stderr
        done = run_cli(["open", saved, *verb, "--json"])
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    for verb in ["native"], ["native", "leaks"], ["rss"]:
        found, plain = documents(
            functools.partial(natives.asked, target, *verb),
            functools.partial(opened, verb),
        )
        assert found == plain


# --------------------------------------------------------- pages and copies


@pytest.mark.parametrize("is_snapshot", [False, True])
def test_untouched_pages_stay_so(bulk, is_snapshot):
    """A gigabyte that nobody has touched is neither made resident nor
    copied."""
    target = bulk(1000, 1000, 1 << 30)
    way = natives.snapshot_of(target) if is_snapshot else target
    natives.native(way)  # page tables, and the first writes after a fork
    before = rss_of(target.process.pid)
    done = start_cli([*natives.where(way), "native", "leaks", "--json"])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["leaked_blocks"] == 0
    # The kernel may take pages of files back at any time.
    assert rss_of(target.process.pid) <= before
    assert estimated(done.stderr) < before
    [allocator] = natives.native(way)["allocators"]
    assert allocator["in_use_bytes"] > 1 << 30
    # A thread of Go may have got an arena since.
    more = allocator["mapped_bytes"] - target.truth["mapped"]
    assert 0 <= more < 1 << 20
    assert allocator["resident_bytes"] < before


@pytest.mark.parametrize("is_snapshot", [False, True])
def test_copy_has_no_untouched_pages(bulk, is_snapshot):
    target = bulk(1000, 1000, 1 << 30)
    way = natives.snapshot_of(target) if is_snapshot else target
    words = [str(GOREF), *map(str, natives.where(way)), "native"]
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *words],
        stdout=subprocess.PIPE,
        env=environment(),
        text=True,
        check=True,
    )
    assert 1 << 20 < int(done.stdout) << 10 < 1 << 28


FIRST = """
scan = heap._scan()
block = max(filter(is_c, heap.objects()), key=lambda block: block.size)
vertex = scan.find(("", block.address, 0xFFFFFFFF, False, 0))
print(json.dumps([block.size, scan.content(vertex, 64).hex()]))
"""


def test_first_bytes_of_an_untouched_block(bulk):
    """Only its first page is at hand, and no other is needed."""
    size, content = natives.scripted(bulk(10, 1000, 1 << 30), FIRST)
    assert size >= 1 << 30 and content == "00" * 64


def test_estimate(bulk, tmp_path):
    """It has the memory of C, and no more is copied."""
    target = bulk(60_000, 1000, 1 << 30)
    counted = tmp_path / "counted"
    settings = {
        "LD_PRELOAD": str(natives.compiled("counter", COUNTER)),
        "COUNTED": str(counted),
    }
    words = [*natives.where(target), "native", "leaks", "--json"]
    done = start_cli(words, env=settings)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["in_use_blocks"] >= 60_000
    said = estimated(done.stderr)
    copied = sum(map(int, counted.read_text().split()))
    assert target.truth["bytes"] < copied <= said + READ_BEFORE
    assert said < rss_of(target.process.pid)
