# SPDX-License-Identifier: Apache-2.0
"""goref panic: rows to text and JSON."""

import pytest

import rows
from goref.render.panic import PanicReport, cause_text


@pytest.fixture
def report():
    def make(**fields):
        panic = rows.make("Panic", fields, kind="panic", thread_id=7)
        return PanicReport(
            tool_version="1.2.3", partial=(), panic=panic, backtrace=None
        )

    return make


def test_values(goref, report):
    values = (
        goref.PanicValue('"first"', "string", True, True),
        goref.PanicValue("42", "main.Code", True, False),
        goref.PanicValue("main.T {X: 1}", "main.T", False, False),
        goref.PanicValue("*main.T {X: 1}", "*main.T", False, False),
        goref.PanicValue("nil", None, False, False),
    )
    assert report(values=values).lines() == [
        'panic: "first" [recovered, repanicked]',
        "    panic: main.Code(42) [recovered]",
        "    panic: main.T {X: 1}",
        "    panic: *main.T {X: 1}",
        "    panic: nil",
        "thread 7 ran no goroutine: it was in the scheduler",
    ]


def test_nothing(report):
    found = report(kind=None, thread_id=None)
    assert found.lines() == [
        "Nothing has ended the program, and no goroutine panics."
    ]
    document = found.document()
    for key in ("goroutine_id", "signal", "address"):
        assert document[key] is None
    assert document["values"] == []


def test_signals(goref, report):
    row = report(kind="signal", signal=11, signal_addr=0, signal_pc=0x4000)
    assert row.lines()[0] == "signal SIGSEGV, address 0x0, pc 0x4000"
    document = row.document()
    assert document["address"] == "0x0" and document["signal"] == "SIGSEGV"
    row = report(kind="signal", signal=99)
    assert row.lines()[0] == "signal 99"
    assert row.lines()[1].startswith("It was sent with kill. Thread 7,")
    row = report(kind="signal", signal=6, signal_code=-6)
    assert row.lines()[1].startswith("thread 7 ran no goroutine")
    row = report(kind="fatal error", deferred=(
        goref.Location(16, "main.f", None, 3),
    ))  # fmt: skip
    assert row.lines()[0] == "fatal error: its text is not known"
    assert row.lines()[-1] == "    main.f at ?:3"


def test_signals_in_c(report):
    fields = {
        "signal": 11, "signal_code": 1, "signal_addr": 0,
        "signal_pc": 0x4000, "signal_file": "/lib/libfoo.so.1",
    }  # fmt: skip
    row = report(kind="signal", signal_function="parse", **fields)
    assert row.lines()[0] == (
        "signal SIGSEGV, address 0x0, pc 0x4000 in C: parse of libfoo.so.1"
    )
    assert cause_text(row.panic) == (
        "SIGSEGV at address 0x0 in C: parse of libfoo.so.1"
    )
    assert row.document()["c_function"] == "parse"
    assert row.document()["c_file"] == "/lib/libfoo.so.1"
    row = report(kind="fatal error", fatal_text="unexpected", **fields)
    assert cause_text(row.panic) == (
        "fatal error: unexpected (SIGSEGV at address 0x0 in C: libfoo.so.1)"
    )


def test_document(goref):
    at = goref.Location(16, "main.f", None, 3)
    document = PanicReport(
        tool_version="1.2.3",
        partial=(),
        panic=rows.make(
            "Panic",
            values=(goref.PanicValue("42", "main.Code", True, False),),
            deferred=(at,),
        ),
        backtrace=rows.make(
            "Backtrace", calls=(rows.make("Call", at=at, is_inlined=True),)
        ),
    ).document()
    place = {"function": "main.f", "file": None, "line": 3, "pc": "0x10"}
    assert document["deferred"] == [place]
    assert document["frames"] == [{**place, "inlined": True}]
    assert document["values"] == [
        {"value": "42", "type": "main.Code", "recovered": True,
         "repanicked": False}
    ]  # fmt: skip


def test_long_values(goref, report):
    fields = ", ".join(f'Field{i}: "a text"' for i in range(6))
    value = goref.PanicValue(f"main.T {{{fields}}}", "main.T", True, False)
    lines = report(values=(value,)).lines()
    assert lines[0] == "panic: main.T {"
    assert lines[1] == '    Field0: "a text",'
    assert lines[7] == "} [recovered]"
