# SPDX-License-Identifier: Apache-2.0
"""Whether the goroutines that should free memory wait."""

import pytest

import rows
from goref import native
from goref.trace.waiting import waits_of


class Scanned:
    """A scan with the goroutines, and what of them wait for."""

    def __init__(self, *goroutines, **waits):
        self.goroutines_ = goroutines
        self.waits = waits
        self.asked = []

    def goroutines(self, filters, with_system):
        assert filters == () and with_system
        return rows.make("GoroutineList", rows=self.goroutines_)

    def goroutine_wait(self, number, may_walk):
        assert not may_walk
        self.asked.append(number)
        waits = self.waits.get(f"g{number}")
        if waits is None:
            raise native.load().LimitError("too large")
        row = next(row for row in self.goroutines_ if row.id == number)
        return rows.make("GoroutineWait", goroutine=row, waits=tuple(waits))


def location(function, line=3):
    file = "/src/file.go" if function else None
    return rows.make("Location", function=function, file=file, line=line)


def goroutine(number, state="waiting", user="main.f", **more):
    return rows.make(
        "Goroutine", more, id=number, state=state, user=location(user)
    )


def wait(kind="channel receive", **more):
    return rows.make("Wait", more, kind=kind, primitive=16, type="chan int")


def test_wait():
    scan = Scanned(
        goroutine(3),
        goroutine(7, wait_reason="chan receive", waited_ns=61 * 10**9),
        g7=[wait(path="main.gate", is_woken=True)],
    )
    [found] = waits_of(scan, [9, 7]).values()
    assert found.goroutine_id == 7 and found.is_waiting is True
    assert (found.reason, found.seconds) == ("chan receive", 61.0)
    assert (found.function, found.place) == ("main.f", "main.f at file.go:3")
    assert found.awaits.startswith("to receive from main.gate: chan int at ")
    assert found.c_function is None and found.is_woken
    assert scan.asked == [7]


@pytest.mark.parametrize(
    "state, is_waiting",
    [("waiting", True), ("running", False), ("runnable", False),
     ("preempted", False), ("syscall", None), ("copystack", None)],
)  # fmt: skip
def test_state(state, is_waiting):
    """A call of the kernel or of C may wait, or not."""
    scan = Scanned(goroutine(7, state), g7=[])
    [found] = waits_of(scan, {7}).values()
    assert found.is_waiting is is_waiting
    assert (found.reason, found.seconds, found.awaits) == (state, None, None)
    assert scan.asked == ([] if is_waiting is False else [7])


def test_call_of_c():
    user = "main._Cfunc_slow"
    scan = Scanned(goroutine(7, "syscall", user), g7=[])
    assert waits_of(scan, [7])[7].c_function == "C.slow"


def test_place_that_is_not_known():
    row = goroutine(7, user=None, current=location(None))
    found = waits_of(Scanned(row, g7=[]), [7])[7]
    assert found.function is None and found.place is None
    row = goroutine(7, user=None, current=location("runtime.gopark"))
    found = waits_of(Scanned(row, g7=[]), [7])[7]
    assert found.place == "runtime.gopark at file.go:3"


def test_values_are_not_told():
    """Nor is it told what all cases of a select are."""
    sent = wait("select send", value="secret; sends 5", waiters=1)
    scan = Scanned(goroutine(7), g7=[sent, wait("select receive")])
    text = waits_of(scan, [7])[7].awaits
    assert "secret" not in text and "sends" not in text
    assert text.startswith("to send to a channel: chan int at 0x10")
    assert text.endswith(", or for 1 other case of a select")


def test_answer_that_fails():
    [found] = waits_of(Scanned(goroutine(7)), [7]).values()
    assert found.is_waiting and found.awaits is None


def test_nobody():
    scan = Scanned(goroutine(7), g7=[])
    assert waits_of(scan, []) == {} == waits_of(scan, [8])


def test_many():
    """All have a row, and a few are asked for more."""
    numbers = range(1, 100001)
    scan = Scanned(
        *map(goroutine, numbers), **{f"g{n}": [wait()] for n in numbers}
    )
    found = waits_of(scan, list(numbers))
    assert list(found) == [*numbers]
    assert scan.asked == [*range(1, 33)]
    assert sum(row.awaits is not None for row in found.values()) == 32
