# SPDX-License-Identifier: Apache-2.0
"""The helper goref-trace in the mode native, by its protocol, against the list
of programs/allocs."""

import struct
from typing import NamedTuple

import pytest

from allocs import DEPTH, PRELOADS, Allocs
from code_bytes import probes
from test_trace_native_moments import allocators_of
from tracers import Answer, Tracer, facts_of
from traces import FLAGS, skip_unless_traced


class Record(NamedTuple):
    address: int
    bytes: int
    weight: int
    time_ns: int
    goid: int
    labels: int
    sweepgen: int
    stack: int
    window: int
    kind: int
    tid: int


FORM = struct.Struct("<QQQQQQQIIII")
LABELS_BYTES = 16


class NativeTracer(Tracer):
    """A helper whose answers have blocks."""

    def until(self, last):
        answer = Answer()
        answer.blocks = []
        for line in iter(self.popen.stdout.readline, b""):
            words = line.decode().rstrip("\n").split(" ", 5)
            if words[0] == "labels":
                self.popen.stdout.read(LABELS_BYTES * int(words[1]))
                continue
            if words[0] in ("blocks", "each"):
                data = self.popen.stdout.read(FORM.size * int(words[1]))
                rows = map(Record._make, FORM.iter_unpack(data))
                answer.blocks += rows
                continue
            answer.lines.append(line.decode().rstrip("\n"))
            self._keep(words)
            if words[0] in (last, "refused"):
                break
        return answer


@pytest.fixture(autouse=True)
def permitted():
    skip_unless_traced()


@pytest.fixture(params=[*PRELOADS])
def program(request):
    with Allocs(request.param) as one:
        yield one


def tracer_of(program, *lines):
    """A helper that sees each call."""
    facts, _ = facts_of(program.pid)
    tracer = NativeTracer(
        program.pid, *lines, *facts, *allocators_of(program.pid),
        mode="native",
    )  # fmt: skip
    assert probes(program.pid), tracer.first.lines
    return tracer


def full_tracer(program, *lines):
    return tracer_of(program, "full 0", *lines)


def check(tracer, truth, found):
    """Each block is found, with its size, and a stack that is complete."""
    for block in truth:
        record = found[block.address]
        stack = tracer.stacks[record.stack]
        assert record.bytes == block.bytes, block
        assert record.goid == block.goroutine and record.labels
        assert tracer.finished[record.stack], stack
        at = stack.index(block.function)
        chain = [f"{block.library}_deep"] * DEPTH + [f"{block.library}_make"]
        assert stack[at + 1 : at + 2 + DEPTH] == chain
        assert stack[-1] == "runtime.goexit"


def test_outstanding(program):
    """All blocks of all functions, and none of those that are freed."""
    tracer = full_tracer(program)
    program.make_all()
    freed = set()
    for prefix in FLAGS:
        for site in ("zeroed", "new_array", "own", "valloced"):
            freed |= {b.address for b in program.truth()
                      if b.function == f"{prefix}_{site}"}  # fmt: skip
            program.say("drop", prefix, site)
    tracer.say("tick 1", "end")
    answer = tracer.until("end")
    found = {record.address: record for record in answer.blocks}
    assert len(found) == len(answer.blocks) and not answer.lost()
    truth = program.truth()
    check(tracer, truth, found)
    assert freed and not freed & {*found}
    ours = {block.function for block in truth}
    others = {*found} - {block.address for block in truth}
    assert not any(ours & {*tracer.stacks[found[a].stack]} for a in others)
    tracer.close()
    assert not probes(program.pid)


def test_sizes(program):
    tracer = full_tracer(program, "sizes 192 384")
    program.make_all()
    tracer.say("tick 1", "end")
    answer = tracer.until("end")
    truth = {b.address for b in program.truth() if 192 <= b.bytes <= 384}
    found = {record.address for record in answer.blocks}
    assert truth <= found
    assert all(192 <= record.bytes <= 384 for record in answer.blocks)
    tracer.close()


def test_a_window_has_the_calls(program):
    """Its line counts them."""
    tracer = full_tracer(program)
    for _ in range(3):
        program.make("leak_a", 100, 500)
    tracer.say("tick 1", "end")
    (row,) = windows_of(tracer.until("end"))
    tracer.close()
    number, begin, end, calls, lost = row
    assert number == 1 and begin < end and calls >= 300 and lost == 0
    times = [b.time_ns for b in program.truth()]
    assert begin < min(times) and max(times) < end


def test_windows_that_stay(program):
    """Each begins where the one before has ended, and the last one ends with
    the trace: no call is missed."""
    tracer = tracer_of(program, "budget 0", "period 100")
    windows, made = [], 0
    while len(windows) < 4:
        program.make("leak_a", 10, 500)
        made += 10
        windows += windows_of(tracer.tick())
    tracer.say("end")
    answer = tracer.until("end")
    tracer.close()
    windows += windows_of(answer)
    (ended,) = [x.split()[1] for x in answer.lines if x.startswith("ended ")]
    assert [w[0] for w in windows] == [*range(1, len(windows) + 1)]
    begins = [begin for _, begin, *_ in windows]
    ends = [end for _, _, end, *_ in windows]
    assert [*begins[1:], int(ended)] == ends
    found = {record.address for record in answer.blocks}
    truth = program.truth()
    assert len(truth) == made and {b.address for b in truth} <= found


def windows_of(answer):
    """Rows of number, begin, end, calls and lost."""
    words = [line.split() for line in answer.lines]
    return [[*map(int, w[1:])] for w in words if w[0] == "window"]
