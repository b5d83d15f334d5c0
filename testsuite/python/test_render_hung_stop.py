# SPDX-License-Identifier: Apache-2.0
"""goref hung: what keeps all goroutines from running."""

import rows
from goref.render.hung_stop import ended_text, runnable_text, scheduler_text


def panic(**fields):
    return rows.make("Panic", fields)


def scheduler(statuses, **fields):
    ps = tuple(rows.make("SchedulerP", status=status) for status in statuses)
    return rows.make("Scheduler", fields, ps=ps, is_known=True)


def test_ended(goref):
    """The text of a fatal error is the runtime's own; the value of a panic may
    be a secret."""
    asleep = "all goroutines are asleep - deadlock!"
    assert ended_text(panic(kind="fatal error", fatal_text=asleep)) == (
        f"ended by fatal error: {asleep}"
    )
    value = goref.PanicValue("secret", "main.oops", False, False)
    text = ended_text(panic(kind="panic", values=(value,)))
    assert text == "ended by panic (main.oops)"


def test_fault():
    """One in C names the function; a signal that somebody has sent is no end."""
    fault = panic(
        kind="signal", signal=11, signal_code=1, signal_addr=0,
        signal_function="parse", signal_file="/usr/lib/libfoo.so.1",
    )  # fmt: skip
    assert ended_text(fault) == (
        "ended by SIGSEGV at address 0x0 in C: parse of libfoo.so.1"
    )
    assert ended_text(panic(kind="signal", signal=6, signal_code=0)) == ""
    assert ended_text(panic(kind=None)) == ended_text(None) == ""


def test_scheduler():
    """More are runnable than wait anywhere, and than a busy service has; fewer
    are said, but are no cause."""
    many = scheduler(["running"], runnable=30)
    line = "no P is free, and 30 goroutines are runnable"
    assert scheduler_text(many, 5) == runnable_text(many) == line
    assert scheduler_text(many, 50) == ""
    few = scheduler(["running"], runnable=3)
    assert scheduler_text(few, 0) == ""
    assert runnable_text(few) == "no P is free, and 3 goroutines are runnable"
    idle = scheduler(["running", "idle"], runnable=30)
    assert scheduler_text(idle, 0) == runnable_text(idle) == ""
    assert scheduler_text(None, 0) == runnable_text(None) == ""
