# SPDX-License-Identifier: Apache-2.0
"""The helper goref-trace, driven by its protocol, and a C program whose growth
is counted exactly."""

import ctypes
import os
import re
import select
import struct
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from session import environment
from test_process import load
from toolchains import build_c
from waiting import LONGEST_S, comes

HELPER = Path(environment()["GOREF_BUILD_DIR"]) / "goref-trace"
PAGE = 4096
NOT_PERMITTED = (
    "not permitted|the kernel is locked|the kernel has no|the call bpf"
)
IN_KERNEL, MAPPED, GIVEN_BACK, BRIEF = 1, 2, 4, 8
UNFINISHED = 1  # a flag of a stack

# A line is a letter and a number of pages; the answer is the address.
TOUCHER = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define PAGE 4096
static void *map(void *where, size_t bytes)
{
	void *p = mmap(where, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(p, bytes, MADV_NOHUGEPAGE);
	return p;
}
__attribute__((noinline)) void sampled(uint64_t address, uint64_t bytes)
{
	__asm__ volatile("nop" : : "r"(address), "r"(bytes) : "memory");
}
static void touch(char *p, size_t pages)
{
	for (size_t i = 0; i < pages; i++)
		p[i * PAGE] = 1;
}
/* A struct g with one of m, each at the end of a page before one that nobody
 * has touched. The register of g has its address as a sample is taken. */
static uint64_t *at_end(void)
{
	return (uint64_t *)((char *)map(NULL, 2 * PAGE) + PAGE - 64);
}
static void sample_with_g(uint64_t goid)
{
	uint64_t *g = at_end(), *m = at_end();
	g[0] = (uintptr_t)m;
	g[1] = goid;
	m[0] = m[1] = (uintptr_t)g;
	__asm__ volatile("mov %0, %%r14\n\tcall sampled"
			 : : "r"(g) : "r14", "rdi", "rsi", "memory");
}
/* One page for each of two callers, whose frame is far from the fault. */
__attribute__((noinline, optimize("no-omit-frame-pointer")))
void touch_below(char *p)
{
	volatile char large[4096];
	large[0] = *p = 1;
}
__attribute__((noinline)) void one(char *p)
{
	touch_below(p);
	__asm__ volatile("nop");
}
__attribute__((noinline)) void other(char *p)
{
	touch_below(p);
	__asm__ volatile("nop\n\tnop");
}
static size_t each;
static void *touch_some(void *p)
{
	touch(p, each);
	sampled((uintptr_t)p, each);
	return NULL;
}
static void in_threads(char *p, size_t pages)
{
	pthread_t threads[8];
	each = pages / 8;
	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, touch_some,
			       p + i * each * PAGE);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
}
int main(int argc, char **argv)
{
	char line[64], what, *p;
	size_t n;
	printf("%p\n", (void *)sampled);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) &&
	       sscanf(line, "%c %zu", &what, &n) == 2) {
		p = map(what == 'h' ? (void *)0x200000000000 : NULL, n * PAGE);
		if (what == 't')
			touch(p, n);
		else if (what == 's')
			memset(p, 1, n * PAGE);
		else if (what == 'p')
			in_threads(p, n);
		else if (what == 'w')
			for (size_t i = 0; i < n; i++)
				(i % 2 ? other : one)(p + i * PAGE);
		else if (what == 'g')
			sample_with_g(n);
		else if (what == 'u')
			munmap(p, n * PAGE);
		else if (what == 'd') {
			mprotect(p, PAGE, PROT_READ);
			madvise(p, n * PAGE, MADV_DONTNEED);
		} else if (what == 'x')
			p = mremap(p, n * PAGE, 2 * n * PAGE, MREMAP_MAYMOVE);
		else if (what == 'r') {
			int fd = open("/dev/zero", O_RDONLY);
			if (read(fd, p, n * PAGE) < 0)
				return 1;
			close(fd);
		} else if (what == 'e')
			execv("/proc/self/exe", argv);
		printf("%p\n", (void *)p);
		fflush(stdout);
	}
	return argc - 1;
}
"""


class Event(NamedTuple):
    address: int
    stack: int
    flags: int
    bytes: int


class Sample(NamedTuple):
    address: int
    bytes: int
    goid: int
    labels: int
    time_ns: int
    sweepgen: int
    stack: int
    tid: int


class Answer:
    """All that the helper says until a line."""

    def __init__(self):
        self.events, self.samples, self.lines = [], [], []

    def faults(self):
        return [e for e in self.events if not e.flags & (MAPPED | GIVEN_BACK)]

    def of(self, flag):
        return {(e.address, e.bytes) for e in self.events if e.flags & flag}

    def was_off(self):
        """Had the helper taken its probes away?"""
        return any(line.startswith("off ") for line in self.lines)

    def lost(self):
        words = [line.split() for line in self.lines]
        return {w[1]: int(w[2]) for w in words if w[0] == "lost"}


class Tracer:
    """A helper that has begun, with the names of all stacks so far. before: a
    command that starts it."""

    def __init__(self, pid, *lines, mode="rss", before=(), env=None):
        self.popen = subprocess.Popen(
            [*before, str(HELPER), str(pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **(env or {})},
        )
        self.names, self.stacks, self.ticks = {}, {}, 0
        self.finished = {}  # of each stack
        self.say(f"mode {mode}", *lines, "start")
        self.first = self.until("ready")

    def say(self, *lines):
        self.popen.stdin.write("".join(f"{x}\n" for x in lines).encode())
        self.popen.stdin.flush()

    def until(self, last):
        answer = Answer()
        kinds = {
            "events": ("<QIIQ", Event, answer.events),
            "samples": ("<QQQQQQII", Sample, answer.samples),
        }
        for line in iter(self.popen.stdout.readline, b""):
            words = line.decode().rstrip("\n").split(" ", 5)
            if words[0] in kinds:
                form, kind, rows = kinds[words[0]]
                size = struct.calcsize(form) * int(words[1])
                data = self.popen.stdout.read(size)
                rows += map(kind._make, struct.iter_unpack(form, data))
                continue
            answer.lines.append(line.decode().rstrip("\n"))
            self._keep(words)
            if words[0] in (last, "refused"):
                break
        return answer

    def _keep(self, words):
        if words[0] == "place":
            self.names[words[1]] = words[5]
        elif words[0] == "stack":
            rest = words[4:5] + words[5].split() if words[5:] else words[4:]
            self.stacks[int(words[1])] = [self.names[i] for i in rest]
            self.finished[int(words[1])] = not int(words[2]) & UNFINISHED

    def tick(self):
        self.ticks += 1
        self.say(f"tick {self.ticks}")
        return self.until("tick")

    def close(self):
        self.popen.stdin.close()
        self.popen.wait()
        self.popen.stdout.close()


def programs_of(pid):
    """The numbers of the BPF programs that a process holds."""
    found = set()
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        found |= {*re.findall(r"(?m)^prog_id:\t(\d+)$", info.read_text())}
    return {int(number) for number in found}


def probe_of(pid):
    """How a helper holds the probe in the program's code: "perf" for an event,
    else the process that the link of uprobe.multi is for (0: all), or None if
    this kernel does not tell."""
    links = Path(f"/proc/{pid}/fd").iterdir()
    if any(os.readlink(link) == "anon_inode:[perf_event]" for link in links):
        return "perf"
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        text = info.read_text()
        if "link_type:\tuprobe_multi" in text:
            found = re.search(r"(?m)^pid:\t(\d+)$", text)
            return int(found[1]) if found else None
    raise AssertionError("there is no probe")


def is_loaded(number):
    """Is there a BPF program of this number?"""
    attributes = (ctypes.c_uint32 * 4)(number - 1)
    libc = ctypes.CDLL(None, use_errno=True)
    failed = libc.syscall(321, 11, attributes, 16)  # BPF_PROG_GET_NEXT_ID
    return not failed and attributes[1] == number


def wait_for_end(pid):
    """Wait for a process that need not be our child."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    assert select.select([fd], [], [], LONGEST_S)[0], "it lives on"
    os.close(fd)


def assert_gone(pid, programs):
    wait_for_end(pid)
    assert comes(lambda: not any(map(is_loaded, programs)))


def facts_of(pid):
    """The lines that tell the helper about a Go program, and the facts."""
    exe = f"/proc/{pid}/exe"
    scan = load().Scan(
        "native", None, [(exe, None, None)], (), pid=pid, prepare=True,
        extent="residency",
    )  # fmt: skip
    facts = scan.trace_facts()
    lines = [f"tls_g {facts.tls_g}"]
    lines += [f"sweepgen {facts.sweepgen_addr:#x}"]
    lines += [f"offset {o.name} {o.bytes}" for o in facts.offsets]
    lines += [
        f"go_module {m.text:#x} {m.etext:#x} {m.pclntable_addr:#x} "
        f"{m.pclntable_bytes:#x} {m.ftab_addr:#x} {m.ftab_count} "
        f"{m.text_start:#x}"
        for m in facts.modules
    ]
    return lines, facts


class Toucher:
    """The C program, which does what it is told."""

    def __init__(self, **options):
        self.popen = subprocess.Popen(
            [str(build_c(TOUCHER))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            **options,
        )
        self.sampled = int(self.popen.stdout.readline(), 16)
        self.do("t", 1)  # all that is mapped and touched but once

    @property
    def pid(self):
        return self.popen.pid

    def do(self, what, pages):
        self.popen.stdin.write(f"{what} {pages}\n")
        self.popen.stdin.flush()
        return int(self.popen.stdout.readline(), 16)

    def close(self):
        self.popen.kill()
        self.popen.communicate()


def tracing_reason():
    """Why this machine does not permit tracing, or None."""
    if not HELPER.exists():
        return "goref-trace is not built"
    toucher = Toucher()
    tracer = Tracer(toucher.pid)
    said = tracer.first.lines[-1]
    tracer.close()
    toucher.close()
    # Programs that the kernel does not take are a failure, not a reason.
    return said if re.match(f"refused ({NOT_PERMITTED})", said) else None


@pytest.fixture(scope="session")
def permitted():
    reason = tracing_reason()
    if reason:
        pytest.skip(reason)


@pytest.fixture
def toucher(permitted):
    toucher = Toucher()
    yield toucher
    toucher.close()


@pytest.fixture
def traced(toucher):
    """traced(*lines, mode, env): a tracer of the toucher."""
    made = []

    def make(*lines, **options):
        made.append(Tracer(toucher.pid, *lines, **options))
        return made[-1]

    yield make
    for tracer in made:
        tracer.close()
