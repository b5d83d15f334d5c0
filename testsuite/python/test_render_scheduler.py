# SPDX-License-Identifier: Apache-2.0
"""goref hung --sched: rows to text and JSON."""

import json

import pytest

import rows
from goref.render.scheduler import SchedulerReport


@pytest.fixture
def report(make):
    def make_report(ps=(), ms=(), **fields):
        found = rows.make(
            "Scheduler",
            fields,
            is_known=True,
            phase="off",
            ps=tuple(ps),
            ms=tuple(ms),
        )
        return SchedulerReport(tool_version="1.2.3", partial=(), found=found)

    return make_report


def p_row(number, status="idle", **fields):
    return rows.make("SchedulerP", fields, id=number, status=status)


def m_row(m_id, state="idle", **fields):
    return rows.make(
        "SchedulerM", fields, id=m_id, state=state, thread_id=100 + m_id
    )


def test_no_p_is_free(make, report):
    at = make.location("main.spin", "/srv/app/main.go", 7)
    p = p_row(0, "running", m_id=3, running=9, queued=2, same_ns=2**33)
    m = m_row(3, "running", p_id=0, running=9, at=at)
    found = report([p], [m], runnable=2, gomaxprocs=1, ncpu=4)
    assert found.lines()[0] == "no P is free, and 2 goroutines are runnable"
    text = found.text()
    assert "main.spin at main.go:7, the same for at least 8 s" in text
    assert "GOMAXPROCS: 1 of 4 processors" in text
    # Not "off", which reads like GOGC=off.
    assert "collector: no collection running" in text.splitlines()
    unknown = report([p], [m], phase="unknown").text().splitlines()
    assert "collector: not known whether a collection runs" in unknown
    document = json.loads(found.json())
    assert document["schema"] == 1 and document["cause"] == found.lines()[0]
    assert document["scheduler"]["ps"][0]["same_ns"] == 2**33


def test_nothing_runs_what_is_runnable(report):
    ps = [p_row(0), p_row(1, queued=5)]
    found = report(ps, [m_row(0)], runnable=5)
    assert found.lines()[0] == (
        "5 goroutines are runnable, and nothing runs them"
    )
    looks = report(ps, [m_row(0, "spinning")], runnable=5)
    assert looks.lines()[0].startswith("the scheduler works")


def test_all_in_c(report):
    ms = [m_row(i, "in C", running=i + 1) for i in range(40)]
    found = report([p_row(0)], ms)
    assert found.lines()[0] == (
        "no goroutine runs or is runnable: 40 threads are in system calls or "
        "in C"
    )
    assert "and 24 more Ms" in found.text()


def test_stop(report):
    ps = [
        p_row(0, "stopped", stops_world=True, running=1),
        p_row(1, "running", is_awaited=True, running=8),
        p_row(2, "stopped"),
    ]
    found = report(ps, is_stopping=True, stop_wait=1)
    assert found.lines()[0] == (
        "goroutine 1 stops the world, which waits for goroutine 8"
    )
    assert "stop of the world: waits for 1 P" in found.text()
    done = report(ps[:1], is_stopping=True)
    assert done.lines()[0] == "the world is stopped, by goroutine 1"
    nobody = report((), is_stopping=True, stop_wait=3)
    assert nobody.lines()[0].endswith("waits for 3 Ps")


def test_system_call_is_named(report):
    m = m_row(2, "in a system call", number=0)
    found = report((), [m])
    assert "in system call read (0)" in found.text()
    call = json.loads(found.json())["scheduler"]["ms"][0]["syscall"]
    assert call == {"number": 0, "name": "read"}


def test_without_debug_information(report):
    text = report((), is_known=False).text()
    assert "runtime.sched is not known" in text
    assert "system monitor" not in text


def test_only_the_runtime_may_run(report):
    found = report((), is_user_disabled=True, disabled=4)
    assert "only the runtime's own goroutines may run" in found.lines()[0]


def test_all_wait(report):
    found = report([p_row(0)], [m_row(0)])
    assert found.lines()[0] == "no goroutine runs or is runnable: all of them wait"
