# SPDX-License-Identifier: Apache-2.0
"""goref trace: what grows in a running process."""

from __future__ import annotations

import json
import os
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import args, front, live, native, params
from ..errors import Error
from ..render.called import call_document, call_line
from ..render.trace import (
    INTERVAL_HEAD,
    OutsideGrowth,
    TraceReport,
    interval_document,
    interval_line,
)
from ..trace import (
    allocators,
    calls,
    findings,
    forecast,
    merged,
    native_findings,
    outside,
    plan as plans,
    watch,
    written,
)
from ..trace.session import Outcome, Session
from .base import answer, check_writable, has_color

if TYPE_CHECKING:
    from ..trace.blocks import Record
    from ..trace.helper import Started
    from ..trace.watch import Interval

# Where the stacks of a mode come from.
_STACKS = {
    "rss": findings.page_stacks,
    "go": findings.sample_stacks,
    "kernel": findings.kernel_stacks,
    "native": native_findings.native_stacks,
}


def check(options: Any) -> None:
    if front.current.is_gdb:
        raise Error(
            "goref: a process that gdb holds does not grow: run `goref trace "
            "PID' in a shell"
        )
    plans.of(options)
    if "format" in options.given and options.out is None:
        raise args.UsageError("--format needs --out")
    if options.out and options.html and _is_same(options.out, options.html):
        raise args.UsageError("--out and --html name the same file")
    for path in (options.out, options.html):
        check_writable(path)


def _is_same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def run(options: Any) -> list[str]:
    asked = _Asked(options)
    session = Session(
        plans.of(options),
        (options.max_pause, params.memory_limit(options.memory_limit)),
        asked.show,
        asked.announce,
        asked.show_call,
    )
    outcome = session.run()
    report = asked.report(outcome)
    problem = _write_files(asked, report, options)
    if options.json:
        answer(_json_line(report.document()))
    else:
        answer("\n" + report.text(has_color(options)))
    if problem:
        raise problem
    return list(report.partial)


def _write_files(
    asked: _Asked, report: TraceReport, options: Any
) -> Error | None:
    """Write what was asked for. Returns why that failed: nobody can measure
    again what has happened, so the answer is printed first."""
    problem = None
    for path, write in (
        (options.out, partial(written.write, report, options.format)),
        (options.html, partial(_write_page, asked, report)),
    ):
        try:
            if path:
                write(path)
        except (OSError, native.load().Error) as error:
            report.forget(path)
            problem = Error(f"goref: {error}")
    return problem


def _share(outcome: Outcome, ns: int) -> float | None:
    """Processor time as a percentage of a processor; None: the helper has not
    told all of it."""
    if outcome.ended == watch.SILENT:
        return None
    return ns / 1e7 / outcome.seconds


def _unlabelled(outcome: Outcome) -> int | None:
    """Samples or blocks whose labels are not known."""
    if outcome.plan.mode == "go":
        return findings.count_unlabelled(outcome)
    if outcome.plan.mode == "native":
        return native_findings.count_unlabelled(outcome)
    return None


def _calls(session: Session, started: Started) -> forecast.Calls | None:
    """The forecast of the mode native."""
    if session.allocators is None:
        return None
    return forecast.Calls(
        started.calls_per_s,
        started.call_ns,
        allocators.period_ms(session.plan.every_s) / 1e3,
        session.plan.native.full,
        bool(session.allocators.samplers),
    )


def _json_line(document: Any) -> str:
    return json.dumps(document) + "\n"


def _write_page(asked: _Asked, report: TraceReport, path: str) -> None:
    from ..report.traced import page

    text = page.page(report, asked.intervals)
    native.load().write_file(path, text.encode("utf-8"))


class _Asked:
    """The part of a trace that a person sees while it runs."""

    def __init__(self, options: Any) -> None:
        self.options = options
        self.intervals: list[Any] = []
        self.mode = ""

    def announce(self, session: Session, started: Started) -> None:
        """Say what is probed, and what that will cost."""
        self.mode = session.plan.mode
        for text in session.notes:
            live.say(f"process {session.pid}: {text}")
        live.say(f"process {session.pid}: probes:")
        for text in started.probes:
            live.say(f"  {text}")
        is_go = session.plan.mode == "go"
        live.say(
            forecast.text(
                session.plan.mode,
                session.plan.overhead,
                faults_per_s=session.faults_per_s,
                event_ns=started.event_ns,
                rate=session.facts.profile_rate if is_go else None,
                calls=_calls(session, started),
            )
        )

    def show_call(self, session: Session, record: Record) -> None:
        """Print a call of an allocator."""
        call = calls.called(record, session.gathered.stacks, session.begin_ns)
        session.progress.clear()
        if self.options.json:
            answer(_json_line(call_document(call)))
        else:
            answer(call_line(call) + "\n")

    def show(self, it: Interval) -> None:
        """Print an interval."""
        row = findings.interval(it, self.mode)
        if self.options.json:
            answer(_json_line(interval_document(row)))
        else:
            if not self.intervals:
                answer(INTERVAL_HEAD + "\n")
            answer(interval_line(row) + "\n")
        self.intervals.append(row)
        self.intervals = merged.shortened(self.intervals)

    def report(self, outcome: Outcome) -> TraceReport:
        """The end of the trace."""
        mode = outcome.plan.mode
        is_go, is_kernel = mode == "go", mode == "kernel"
        is_rss, is_native = mode == "rss", mode == "native"
        stacks = _STACKS[mode](outcome)
        left_out = findings.left_out(outcome, stacks)
        untouched = findings.untouched(outcome) if is_rss else []
        without_stack = findings.without_stack(outcome)
        gathered = outcome.gathered
        return TraceReport(
            tool_version=native.load().VERSION,
            partial=findings.partial(outcome, left_out),
            mode=outcome.plan.mode,
            pid=outcome.pid,
            exe=outcome.exe,
            seconds=outcome.seconds,
            ended=outcome.ended,
            look=outcome.look.problem,
            rss_before_bytes=outcome.before.rss_bytes,
            rss_after_bytes=outcome.after.rss_bytes,
            classes=findings.class_growth(outcome.before, outcome.after),
            stacks=stacks,
            new_bytes=outcome.after.tracked_bytes,
            stacks_left_out_bytes=left_out,
            gone_before_look_bytes=findings.gone_before_look(outcome),
            gone_bytes=outcome.gone_bytes,
            unattributed_bytes=sum(
                row.bytes for row in stacks if not row.frames
            )
            if mode == "rss"
            else None,
            unfinished_stacks=findings.count_unfinished(stacks, untouched),
            coverage=findings.coverage(outcome),
            events=gathered.all_events,
            events_without_stack=sum(row.count for row in without_stack),
            losses=findings.losses(outcome),
            overhead_percent=_share(outcome, gathered.all_bpf_ns),
            helper_percent=_share(outcome, gathered.all_helper_ns),
            max_overhead_percent=None
            if outcome.plan.native.full
            else outcome.plan.overhead,
            outside=[
                OutsideGrowth(*row)
                for row in outside.changes(*outcome.outside)
            ],
            cgroup=outcome.outside[1].group,
            cgroup_processes=outcome.outside[1].processes,
            untouched=untouched,
            untouched_bytes=outcome.after.untouched_bytes if is_rss else None,
            untouched_left_out_bytes=outcome.after.untouched_left_out_bytes,
            go_untouched_bytes=outcome.look.found.untouched_bytes
            if is_rss and outcome.look.found
            else None,
            idle=outcome.idle,
            sample_rate_bytes=outcome.facts.profile_rate
            if is_go
            else None,
            samples_without_labels=_unlabelled(outcome),
            kernel=findings.kernel_memory(outcome) if is_kernel else None,
            native=native_findings.native_memory(outcome, stacks)
            if is_native
            else None,
            top=self.options.top,
            out=self.options.out,
            html=self.options.html,
        )
