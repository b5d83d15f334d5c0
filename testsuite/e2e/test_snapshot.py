# SPDX-License-Identifier: Apache-2.0
"""goref-snapshot, `goref attach --snapshot': a process is copied, and neither
knows nor suffers."""

import json
import os
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from session import run_cli
from snapshots import NOBODY, PAUSE, block_no_more, children, copied
from snapshots import signal_masks, status_of, tried, waits_in_futex
from targets import unshared
from toolchains import Variant, build, build_c, variants
from waiting import LONGEST_S, comes, is_stopped, states_of, stop

CENTRAL = Variant("go1.24", "default")


# ------------------------------------------------------------- it goes well


@variants("default")
def test_process_works_on(steady, variant):
    """Copied again and again; a wrong result would have ended it."""
    process = steady(variant)
    masks = signal_masks(process.pid)
    for _ in range(25):
        helper = copied(process.pid)
        assert status_of(process.pid, "TracerPid") == "0"
        tids = {thread[0] for thread in helper.threads}
        assert tids >= set(masks)
        assert helper.end() == 0, helper.said
        assert not Path(f"/proc/{helper.copy}").exists()
        assert not children(process.pid)
    assert process.goes_on()
    after = signal_masks(
        process.pid, lambda found: block_no_more(found, masks)
    )
    assert block_no_more(after, masks), (after, masks)


def test_children_of_its_own(steady):
    """It sees as many SIGCHLD as it has run programs, and reaps its own."""
    process = steady(CENTRAL)
    stopping = threading.Event()
    failures = []

    def copy():
        while not stopping.is_set():
            helper = tried(process.pid)
            if not helper.is_ready or helper.end():
                failures.append(helper.said)

    thread = threading.Thread(target=copy)
    thread.start()
    for _ in range(5):
        process.ask("run 20")
    stopping.set()
    thread.join()
    assert not failures
    # Signals may merge, but none may come of us.
    before = process.ask("run 0")["signals"]
    assert 0 < before <= 100
    for _ in range(10):
        assert copied(process.pid).end() == 0
    assert process.ask("run 0")["signals"] == before
    assert not children(process.pid)


def test_copy_holds_no_files(steady):
    """A file that the process closes must not stay open by the copy."""
    process = steady(CENTRAL)
    helper = copied(process.pid)
    assert os.listdir(f"/proc/{process.pid}/fd")
    held = os.listdir(f"/proc/{helper.copy}/fd")
    assert helper.end() == 0
    if not held:
        return
    release = tuple(map(int, os.uname().release.split(".")[:2]))
    assert release < (5, 9), held


def test_copy_is_first_for_the_oom_killer(steady):
    process = steady(CENTRAL)
    helper = copied(process.pid)
    score = Path(f"/proc/{helper.copy}/oom_score_adj").read_text()
    own = Path(f"/proc/{process.pid}/oom_score_adj").read_text()
    assert helper.end() == 0
    assert score.strip() == "1000"
    assert own.strip() != "1000"


MEMORY = """
#include <stdio.h>
#include <unistd.h>
#include <sys/mman.h>
#include <stdint.h>
static uint64_t words[64];
int main(void)
{
	char byte;
	for (int i = 0; i < 64; i++)
		words[i] = 0x1234567800000000 + i;
	printf("%p\\n", (void *)words);
	fflush(stdout);
	while (read(0, &byte, 1) == 1) {
		for (int i = 0; i < 64; i++)
			words[i]++;
		printf("x");
		fflush(stdout);
	}
	return 0;
}
"""


def test_copy_stays_as_it_was():
    """Also of a program in C, with one thread."""
    popen = subprocess.Popen(
        [build_c(MEMORY)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    addr = int(popen.stdout.readline(), 16)

    def word(pid):
        with open(f"/proc/{pid}/mem", "rb") as file:
            file.seek(addr)
            return int.from_bytes(file.read(8), "little")

    try:
        assert comes(lambda: states_of(popen.pid) == {"S"})
        helper = copied(popen.pid)
        popen.stdin.write(b"abc")
        popen.stdin.flush()
        assert popen.stdout.read(3) == b"xxx"
        assert word(popen.pid) == 0x1234567800000003
        assert word(helper.copy) == 0x1234567800000000
        assert helper.end() == 0
        assert not children(popen.pid)
        popen.stdin.close()
        assert popen.wait(timeout=LONGEST_S) == 0
    finally:
        popen.kill()
        popen.wait()
        popen.stdout.close()


def has_ended(pid):
    try:
        return states_of(pid) <= {"X", "Z"}
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_process_ends_meanwhile(steady):
    process = steady(CENTRAL)
    helper = copied(process.pid)
    process.process.popen.kill()
    process.process.popen.wait()
    assert Path(f"/proc/{helper.copy}/maps").exists()
    assert helper.end() == 0
    # Init, which inherits it, may take its time.
    assert comes(lambda: has_ended(helper.copy))


def test_stopped_meanwhile(steady):
    """Ctrl-Z: it stays stopped, and yet keeps no zombie."""
    process = steady(CENTRAL)
    helper = copied(process.pid)
    stop(process.pid)
    assert helper.end() == 0, helper.said
    assert not children(process.pid)
    # A thread that is let go runs for a moment before it stops again.
    assert comes(lambda: is_stopped(process.pid))
    os.kill(process.pid, signal.SIGCONT)
    assert process.goes_on()


# The first thread is about to run a handler, and has left its call.
HANDLES = """
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>
static sem_t never;
static void handle(int signal) { (void)signal; }
static void *wait_for_ever(void *arg)
{
	while (sem_wait(&never))
		continue;
	return arg;
}
int main(void)
{
	pthread_t thread;
	signal(SIGUSR1, handle);
	sem_init(&never, 0, 0);
	pthread_create(&thread, NULL, wait_for_ever, NULL);
	write(1, "r", 1);
	wait_for_ever(NULL);
	return 0;
}
"""


def stop_before_a_handler(pid, cpu):
    """Both signals are there before it runs: it never interrupts us."""
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpu)
    try:
        os.kill(pid, signal.SIGUSR1)
        os.kill(pid, signal.SIGSTOP)
    finally:
        os.sched_setaffinity(0, mine)
    assert comes(lambda: is_stopped(pid))


def test_stopped_before_a_handler(waiting):
    """It is another thread, then, that waits for its dead children."""
    pid = waiting(HANDLES).pid
    cpu = {min(os.sched_getaffinity(0))}
    for tid in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(tid), cpu)
        os.sched_setscheduler(int(tid), os.SCHED_BATCH, os.sched_param(0))
    for _ in range(8):
        assert comes(lambda: waits_in_futex(pid))
        helper = copied(pid)
        assert comes(lambda: waits_in_futex(pid))
        stop_before_a_handler(pid, cpu)
        assert helper.end() == 0, helper.said
        assert not children(pid)
        os.kill(pid, signal.SIGCONT)


def test_under_a_shower_of_signals(steady):
    process = steady(CENTRAL)
    stopping = threading.Event()

    def rain():
        while not stopping.is_set():
            os.kill(process.pid, signal.SIGURG)
            time.sleep(0.0003)

    thread = threading.Thread(target=rain)
    thread.start()
    try:
        for _ in range(20):
            helper = copied(process.pid)
            assert helper.end() == 0, helper.said
    finally:
        stopping.set()
        thread.join()
    assert process.goes_on()
    assert not children(process.pid)


def test_another_user(waiting):
    """Without root's rights, of a process of one's own."""
    if os.geteuid():
        pytest.skip("needs root")
    popen = waiting(PAUSE, user=NOBODY)
    helper = copied(popen.pid, user=NOBODY)
    assert helper.end() == 0, helper.said
    assert not children(popen.pid)


# ------------------------------------------------------------- it is scanned


@variants("default", "pie")
def test_scan_equals_the_truth(farm, variant):
    target = farm.target("values", variant, "live")
    pid = target.process.pid
    done = run_cli(["attach", "--snapshot", "--json", pid])
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["target"]["kind"] == "snapshot"
    assert told["target"]["pid"] == pid
    roots = {r["name"]: r["objects"] for r in told["roots"]}
    for name, held in target.held.items():
        if held["objects"]:
            assert roots.get(name) == held["objects"], name
    assert not children(pid)
    assert status_of(pid, "TracerPid") == "0"


@variants("default")
def test_verify_under_load(farm, steady, variant):
    """Whatever its threads were at: registers and memory are of one moment."""
    process = steady(variant)
    for _ in range(5):
        done = run_cli(["attach", "--snapshot", "--verify", process.pid])
        assert done.returncode == 0, (done.stdout, done.stderr)
    assert process.goes_on()
    assert not children(process.pid)


def test_what_the_copy_costs_is_said(steady):
    """Its clients see more than the pause."""
    process = steady(CENTRAL)
    for _ in range(5):  # on a busy machine it may not run while it is copied
        before = page_faults(process.pid)
        done = run_cli(["attach", "--snapshot", "--json", process.pid])
        after = page_faults(process.pid)
        assert done.returncode == 0, done.stderr
        said = re.search(
            r"slowed down for another [\d.]+ m?s, by ([\d,]+) page faults",
            done.stderr,
        )
        if said:
            break
    assert said, done.stderr
    assert 0 < int(said[1].replace(",", "")) <= after - before
    assert process.goes_on()


def page_faults(pid):
    stat = Path(f"/proc/{pid}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[7])


def test_first_of_a_pid_namespace():
    """As in a container: what it leaves would be its own to reap."""
    exe = build("counter", CENTRAL.release)
    with unshared(exe, ["20000"]) as (process, inner):
        assert status_of(inner, "NSpid").split()[-1] == "1"
        helper = copied(inner)
        assert helper.threads[0][0] == "1"
        assert helper.end() == 0, helper.said
        assert not children(inner)
        done = run_cli(["attach", "--snapshot", "--json", inner])
        assert done.returncode == 0, done.stderr
        roots = {r["name"]: r for r in json.loads(done.stdout)["roots"]}
        truth = process.truth["held"]["main.chain"]["objects"]
        assert roots["main.chain"]["objects"] == truth
        assert not children(inner)


def test_why(steady):
    process = steady(CENTRAL)
    done = run_cli(
        ["attach", "--snapshot", "--why", "main.chain", process.pid]
    )
    assert done.returncode == 0, done.stderr
    assert "main.chain" in done.stdout
