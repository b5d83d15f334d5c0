# SPDX-License-Identifier: Apache-2.0
"""The wait of a goroutine, as text."""

import pytest

import rows
from goref import syscalls
from goref.render import goroutine_wait as of_waits
from goref.render.goroutine_list import GoroutinesReport
from goref.render.goroutines import GoroutineReport


def wait_row(kind, **fields):
    return rows.make("Wait", fields, kind=kind)


def answer(*waits, **fields):
    row = rows.make("Goroutine", id=7, state="waiting", thread_id=99)
    return rows.make("GoroutineWait", fields, goroutine=row, waits=waits)


CHANNEL = {"primitive": 0x1000, "type": "chan int"}
LOCK = {"primitive": 0x1000, "type": "sync.Mutex"}


@pytest.mark.parametrize(
    "kind, fields, text",
    [
        (
            "channel receive",
            {**CHANNEL, "path": "main.c", "waiters": 3},
            "to receive from main.c: chan int at 0x1000, without a buffer; "
            "2 others wait for it",
        ),
        (
            "channel send",
            {**CHANNEL, "count": 1000, "capacity": 1000, "is_closed": True,
             "value": "5"},
            "to send to a channel: chan int at 0x1000, 1,000 of 1,000 "
            "elements, closed; sends 5",
        ),
        ("channel send", {}, "to send to a channel: which one is not known"),
        (
            "Mutex",
            {**LOCK, "path": "main.s.mu", "holder_type": "main.S",
             "waiters": 2},
            "for the Mutex main.s.mu at 0x1000 in main.S; "
            "1 other goroutine waits for it",
        ),
        (
            "Mutex",
            {**LOCK, "path": "main.once.m", "part_of": "sync.Once",
             "holder_type": "sync.Once"},
            "for the Mutex main.once.m of a sync.Once at 0x1000",
        ),
        ("Mutex", {}, "for a Mutex: which one is not known"),
        (
            "RWMutex write",
            {**LOCK, "holders": 2},
            "for a RWMutex at 0x1000, to write; 2 readers hold it",
        ),
        ("WaitGroup", {**LOCK, "holders": 1}, "for a WaitGroup at 0x1000; "
         "1 not done"),
        ("semaphore", {"primitive": 0x1000}, "for a semaphore at 0x1000"),
        (
            "coroutine",
            {"awaited_id": 9},
            "for goroutine 9, a coroutine (iter.Pull)",
        ),
        (
            "coroutine",
            {"is_callee": True},
            "to be asked for the next value, as a coroutine (iter.Pull)",
        ),
        (
            "network",
            {},
            "for the network, a pipe or a terminal",
        ),
        (
            "network",
            {
                "descriptor": 7,
                "action": "write",
                "network": "tcp",
                "local": "[::1]:80",
                "remote": "[::1]:4000",
                "due_ns": 10**9,
            },
            "to write to [::1]:4000 (tcp, local address [::1]:80, descriptor "
            "7); its deadline is due 1.0s after the start of the program",
        ),
        (
            "network",
            {"descriptor": 5, "action": "connect", "network": "tcp"},
            "for a connection (tcp, descriptor 5)",
        ),
        (
            "network",
            {
                "descriptor": 5,
                "action": "read",
                "network": "tcp",
                "has_unsaved_addresses": True,
            },
            "to read (tcp, addresses not in the file, descriptor 5)",
        ),
        (
            "sleep",
            {"due_ns": 3_600_100_000_000},
            "for the end of a sleep; due 1h0m0.1s after the start of the "
            "program",
        ),
        (
            "system call",
            {"number": 0},
            "for system call read (0) on thread 99",
        ),
        (
            "system call",
            {"number": 9999},
            "for system call unknown (9999) on thread 99",
        ),
        ("system call", {}, "for a system call on thread 99"),
        ("system call", {"is_in_c": True}, "for C to return (cgo) on thread "
         "99"),
        ("signal", {}, "for a signal of the operating system (os/signal)"),
        ("nil channel", {}, "for a nil channel: nothing can end this wait"),
        ("unknown", {}, "for something: the target does not tell what"),
    ],
)  # fmt: skip
def test_text(kind, fields, text):
    found = answer(wait_row(kind, **fields))
    assert of_waits.wait_lines(found) == [f"It waits {text}."]


def test_select():
    cases = (
        wait_row("select send", **CHANNEL, value="1"),
        wait_row("select receive", **CHANNEL),
    )
    found = answer(*cases, is_in_bubble=True, bubble_id=3)
    assert of_waits.wait_lines(found) == [
        "It waits in a select of 2 cases:",
        "  send to a channel: chan int at 0x1000, without a buffer; sends 1",
        "  receive from a channel: chan int at 0x1000, without a buffer",
        "It is in synctest bubble 3.",
    ]


def test_none():
    assert of_waits.wait_lines(answer()) == ["It does not wait."]


@pytest.mark.parametrize(
    "nanoseconds, text",
    [
        (0, "0.0s"),
        (99_999_999, "0.0s"),
        (1_500_000_000, "1.5s"),
        (60_000_000_000, "1m0.0s"),
        (3_600_000_000_000, "1h0m0.0s"),
    ],
)
def test_duration(nanoseconds, text):
    assert of_waits.duration(nanoseconds) == text


@pytest.mark.parametrize(
    "number, name",
    [(0, "read"), (202, "futex"), (334, "rseq"), (335, None),
     (424, "pidfd_send_signal"), (2**64 - 1, None)],
)  # fmt: skip
def test_syscalls(number, name):
    assert syscalls.name(number) == name


def test_document_of_one_and_of_many(goref):
    """A list has the keys that the question about one goroutine has."""
    common = {"tool_version": "1", "partial": ()}
    found = answer(wait_row("sleep"))
    nowhere = goref.Location(0, None, None, 0)
    variable = goref.CallVariable("x", "int", "1", True, 7)
    call = goref.Call(nowhere, False, 0, 0, False, (variable,))
    calls = goref.Backtrace(found.goroutine, (call,), False)
    group = goref.GoroutineGroup(
        **{
            **dict.fromkeys(goref.GoroutineGroup._fields, 0),
            "key": "main.f",
            "awaited": (),
        }
    )
    one = GoroutineReport(**common, backtrace=calls).document()
    of_wait = of_waits.GoroutineWaitReport(**common, found=found).document()
    many = GoroutinesReport(
        **common,
        found=goref.GoroutineList(
            1, *(0,) * 5, True, (found.goroutine,), (group,)
        ),
        calls={7: calls},
        waits={7: found},
        group="waiting-on",
        with_bytes=True,
    ).document()
    listed = many["goroutines"][0]
    assert {**one, **of_wait}.keys() - listed.keys() == {
        "schema", "tool_version", "complete", "partial",
    }  # fmt: skip
    assert all(listed[key] == of_wait[key] for key in ("id", "waits"))
    assert many["groups"][0]["key"] == "main.f"
