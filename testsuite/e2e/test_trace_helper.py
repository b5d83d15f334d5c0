# SPDX-License-Identifier: Apache-2.0
"""goref-trace by its protocol: each fault of a program is an event with its page
and its stack, each mapping is told, and nothing of it outlives its input."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import asking
from snapshots import for_others
from tracers import (
    BRIEF,
    GIVEN_BACK,
    HELPER,
    IN_KERNEL,
    MAPPED,
    PAGE,
    Toucher,
    Tracer,
    assert_gone,
    is_loaded,
    permitted,
    probe_of,
    programs_of,
    toucher,
    traced,
)
from waiting import comes

__all__ = ["permitted", "toucher", "traced"]
N = 1000


def pages_of(start, count):
    return {start + i * PAGE for i in range(count)}


@pytest.mark.parametrize(
    "what, flags, function",
    [
        ("t", 0, "touch"),
        ("s", 0, "main"),
        ("r", IN_KERNEL, "main"),
        ("p", 0, "touch"),
    ],
    ids=["loop", "memset", "read", "threads"],
)
def test_each_page_is_an_event(toucher, traced, what, flags, function):
    tracer = traced("budget 0")
    start = toucher.do(what, N)
    answer = tracer.tick()
    pages = pages_of(start, N)
    ours = [e for e in answer.faults() if e.address in pages]
    assert {e.address for e in ours} == pages
    assert {e.bytes for e in ours} == {PAGE}
    assert {e.flags for e in ours} == {flags}
    for event in ours:
        assert function in tracer.stacks[event.stack]
    assert not answer.lost()


def test_callers_of_a_large_frame(toucher, traced):
    """They differ only behind what two faults are compared by."""
    tracer = traced("budget 0")
    start = toucher.do("w", N)
    for event in tracer.tick().faults():
        number, rest = divmod(event.address - start, PAGE)
        names = tracer.stacks[event.stack]
        if 0 <= number < N and not rest and "touch_below" in names:
            assert ("one", "other")[number % 2] in names


def test_other_processes_are_not_seen(toucher, traced):
    tracer, other = traced("budget 0"), Toucher()
    other.do("t", N)
    start = toucher.do("t", 8)
    answer = tracer.tick()
    other.close()
    faults = {e.address for e in answer.faults()}
    assert pages_of(start, 8) <= faults
    assert len(faults) < N


@pytest.mark.parametrize("pages", [10, 2048], ids=["small", "aligned"])
@pytest.mark.parametrize("what", ["m", "h"], ids=["anywhere", "at"])
def test_new_mappings(toucher, traced, what, pages):
    tracer = traced("budget 0")
    start = toucher.do(what, pages)
    answer = tracer.tick()
    assert (start, pages * PAGE) in answer.of(MAPPED)
    stack = next(e.stack for e in answer.events if e.address == start)
    assert "main" in tracer.stacks[stack]


def test_mappings_that_end(toucher, traced):
    tracer = traced("budget 0")
    start = toucher.do("u", 7)
    assert (start, 7 * PAGE) in tracer.tick().of(GIVEN_BACK)


def test_pages_that_are_given_back(toucher, traced):
    """The range has two mappings: the kernel locks all of them."""
    tracer = traced("budget 0")
    start = toucher.do("d", 6)
    assert (start, 6 * PAGE) in tracer.tick().of(GIVEN_BACK)


def test_mappings_that_move(toucher, traced):
    tracer = traced("budget 0")
    start = toucher.do("x", 10)
    answer = tracer.tick()
    mapped, given = answer.of(MAPPED), answer.of(GIVEN_BACK)
    has_moved = (start, 20 * PAGE) in mapped
    assert has_moved or (start + 10 * PAGE, 10 * PAGE) in mapped
    assert has_moved == any(size == 10 * PAGE for _, size in given)


def test_over_the_budget_it_is_told(toucher, traced):
    """A ten thousandth of a processor is not enough for so many stacks, nor is
    what is saved up of it."""
    tracer = traced("budget 100")
    start = toucher.do("t", 20 * N)
    answer = tracer.tick()
    pages = pages_of(start, 20 * N)
    ours = [e for e in answer.faults() if e.address in pages]
    brief = [e for e in ours if e.flags & BRIEF]
    assert not any(e.stack for e in brief)
    assert answer.lost()["over_budget"] and len(ours) < 20 * N
    assert answer.was_off()


def test_probes_are_taken_away_and_come_back(toucher, traced):
    """While nobody may look, nothing costs anything."""
    tracer = traced("budget 1000")

    def is_off():
        toucher.do("t", 20 * N)
        return tracer.tick().was_off()

    def is_seen():
        pages = pages_of(toucher.do("t", 8), 8)
        return any(e.address in pages for e in tracer.tick().faults())

    assert comes(is_off)
    assert comes(is_seen)


def test_probes_come_back_while_nothing_happens(toucher, traced):
    """No event fills the account."""
    tracer = traced("budget 1000")

    def is_off():
        toucher.do("t", 20 * N)
        return tracer.tick().was_off()

    assert comes(is_off)
    assert comes(lambda: not tracer.tick().was_off())
    pages = pages_of(toucher.do("t", 8), 8)
    assert any(e.address in pages for e in tracer.tick().faults())


def older_kernel(what):
    """The variables of a helper that takes this kernel for an older one."""
    libraries = [*asking.sanitizers(), asking.preloaded("older_kernel.c")]
    return {"LD_PRELOAD": " ".join(libraries), "OLDER_KERNEL": what}


@pytest.mark.parametrize("lacks", ["nothing", "filter", "multi"])
def test_samples_of_all_threads(toucher, traced, lacks):
    """By the registers rdi and rsi of a function of C, with each kind of probe.
    Other processes of the same file are not seen."""
    tracer = traced(
        f"sample_probe {toucher.sampled:#x} 5 4",
        "budget 0",
        mode="go",
        env=older_kernel(lacks),
    )
    other = Toucher()
    other.do("p", 80)
    start = toucher.do("p", 80)
    other.do("p", 80)
    samples = tracer.tick().samples
    assert sorted((s.address, s.bytes) for s in samples) == [
        (start + i * 10 * PAGE, 10) for i in range(8)
    ]
    assert len({s.tid for s in samples}) == 8
    for sample in samples:
        assert tracer.stacks[sample.stack][:2] == ["sampled", "touch_some"]
    other.close()
    kernel = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
    kinds = {
        "nothing": {toucher.pid} if kernel >= (6, 10) else {0, "perf"},
        "filter": {0} if kernel >= (6, 6) else {"perf"},
        "multi": {"perf"},
    }
    assert probe_of(tracer.popen.pid) in kinds[lacks] | {None}


def test_samples_over_the_budget(toucher, traced):
    """Without a stack a sample says nothing: it counts as not seen."""
    probe = f"sample_probe {toucher.sampled:#x} 5 4"
    tracer = traced("budget 1", probe, mode="go")

    def is_over():
        toucher.do("p", 80)
        answer = tracer.tick()
        assert not answer.events and all(s.stack for s in answer.samples)
        return answer.lost().get("over_budget", 0) > 0

    assert comes(is_over)


def test_structs_before_an_untouched_page(toucher, traced):
    """The helper looks at more of a struct than there is in memory."""
    offsets = ["g_m 0", "g_goid 8", "m_g0 0", "m_curg 8"] + [
        f"g_{name} 16"
        for name in ("stack_lo", "stack_hi", "sched_sp", "sched_pc",
                     "sched_bp", "labels")
    ]  # fmt: skip
    tracer = traced(
        f"sample_probe {toucher.sampled:#x} 5 4",
        *(f"offset {offset}" for offset in offsets),
        mode="go",
    )
    toucher.do("g", 4711)
    assert [s.goid for s in tracer.tick().samples] == [4711]


def test_the_cost_is_told(toucher, traced):
    tracer = traced("budget 0")
    toucher.do("t", N)
    line = next(x for x in tracer.tick().lines if x.startswith("cost "))
    events, bpf_ns, helper_ns = map(int, line.split()[1:])
    assert events >= N
    assert bpf_ns > 0 and helper_ns > 0


def test_its_own_memory_is_limited(traced):
    """Damaged tables of a program cannot make it take all of the memory."""
    if asking.sanitizers():
        pytest.skip("sanitizers need more")
    limits = Path(f"/proc/{traced().popen.pid}/limits").read_text()
    soft = re.search(r"(?m)^Max data size +(\d+)", limits)
    assert soft and int(soft[1]) <= 1 << 30


# ------------------------------------------------------------------- its end


def test_the_process_ends(toucher, traced):
    tracer = traced()
    toucher.close()
    assert tracer.until("gone").lines[-1] == "gone the process has ended"
    assert tracer.tick().lines[-1] == "tick 1"


def test_another_program(toucher, traced):
    tracer = traced()
    toucher.do("e", 1)
    said = tracer.until("gone").lines[-1]
    assert said == "gone the process began another program"


def test_waiting_for_the_program(toucher, traced):
    tracer = traced("wait", "budget 0")
    toucher.do("e", 1)
    start = toucher.do("t", N)
    answer = tracer.tick()
    assert pages_of(start, N) <= {e.address for e in answer.faults()}


DRIVER = """
import subprocess, sys
p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE,
                     stdout=subprocess.PIPE)
p.stdin.write(b"mode rss\\nstart\\n")
p.stdin.flush()
while p.stdout.readline() != b"ready\\n":
    pass
print(p.pid, flush=True)
sys.stdin.read()
"""


def test_its_user_is_killed(toucher):
    command = [sys.executable, "-c", DRIVER, str(HELPER), str(toucher.pid)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as user:
        helper = int(user.stdout.readline())
        programs = programs_of(helper)
        assert len(programs) >= 3 and all(map(is_loaded, programs))
        user.kill()
        assert_gone(helper, programs)
    toucher.do("t", N)


def test_it_is_killed(toucher, traced):
    tracer = traced()
    programs = programs_of(tracer.popen.pid)
    assert programs
    tracer.popen.send_signal(signal.SIGKILL)
    tracer.popen.wait()
    assert_gone(tracer.popen.pid, programs)
    toucher.do("t", N)


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    "line", ["mode heap", "offset g_x 1", "tick", "start now", "budget -1"]
)
def test_lines_that_it_does_not_understand(toucher, line):
    done = subprocess.run(
        [str(HELPER), str(toucher.pid)],
        input=f"{line}\n",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stdout == (
        f"refused goref-trace does not understand the line '{line}'\n"
    )


def test_without_rights(permitted):
    """A user owns the process, but has no capabilities."""
    if os.geteuid():
        pytest.skip("only root can give its rights away")
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    other = subprocess.Popen(["cat"], stdin=subprocess.PIPE, **nobody)
    done = subprocess.run(
        [str(for_others(HELPER)), str(other.pid)],
        input="mode rss\nstart\n",
        capture_output=True,
        text=True,
        **nobody,
    )
    other.communicate()
    assert done.returncode == 1
    assert done.stdout.startswith(
        "refused not permitted to load BPF programs without "
        "root, or CAP_BPF with CAP_PERFMON; "
    )
    assert "goref diff" in done.stdout


def test_no_process():
    done = subprocess.run(
        [str(HELPER), "999999999"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stdout == "refused no such process\n"


def test_namespaces_and_a_deleted_file(permitted, tmp_path):
    """A process in a pid namespace of its own, whose file is gone."""
    other = Toucher()
    exe = Path(f"/proc/{other.pid}/exe").resolve()
    other.close()
    copy = tmp_path / "toucher"
    copy.write_bytes(exe.read_bytes())
    copy.chmod(0o755)
    with subprocess.Popen(
        ["unshare", "--pid", "--fork", "--mount-proc", str(copy)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as popen:
        first = popen.stdout.readline()
        if not first:
            pytest.skip("no namespaces here")
        copy.unlink()
        kids = f"/proc/{popen.pid}/task/{popen.pid}/children"
        pid = int(Path(kids).read_text().split()[0])
        tracer = Tracer(pid, f"sample_probe {first.strip()} 5 4", mode="go")
        assert tracer.first.lines[-1] == "ready"
        popen.stdin.write("p 80\n")
        popen.stdin.flush()
        start = int(popen.stdout.readline(), 16)
        samples = tracer.tick().samples
        tracer.close()
        popen.stdin.close()
    assert {s.address for s in samples} == {
        start + i * 10 * PAGE for i in range(8)
    }
