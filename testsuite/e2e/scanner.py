#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""The scanner without the command line: opens a target with the module _goref
in plain Python, asks it, and prints plain lines. For the tests; with
GOREF_BUILD_DIR=build-asan it runs with sanitizers.

    scanner.py [OPTION]... EXE CORE | PID | FILE

Questions (scanner_questions.py); without one, it walks and prints JSON:
    --goroutines --vertices --hung --samples --locals --objects --exports
    --retained --names --every --estimate --layout --save FILE [--values]
    [--unsaved AGAIN: save, ask --every, save again]
How:
    --library FILE         another file that is loaded; may be repeated
    --cache                use the cache of tables
    --memory-limit BYTES
    --timeout MS           the scan is ended then; status 1
    --polls                print how often the scanner polled, and how much
                           processor time at most lay between two polls,
                           and behind the last one if that has ended it
    --elapsed              print how long the answer took
    --last-poll N          end at poll number N; status 1
"""

import argparse
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = os.environ.get("GOREF_BUILD_DIR", str(HERE.parent.parent / "build"))
sys.path[:0] = [str(HERE), f"{BUILD}/python"]

import scanner_questions  # noqa: E402

NO_THREADS = ()


class EndedError(Exception):
    """The scan was to end."""


class Polls:
    """The callback of a scan, which counts, and ends it."""

    def __init__(self, options):
        self.count, self.longest_s = 0, 0.0
        self.last = options.last_poll
        self.end = options.timeout and time.time() + options.timeout / 1000
        self.cpu = time.thread_time()
        self.ended = None  # the processor time when it was to end

    def note(self):
        now = time.thread_time()
        self.longest_s = max(self.longest_s, now - self.cpu)
        self.cpu = now

    def __call__(self, _step, _done, _total):
        self.count += 1
        self.note()
        if self.last and self.count >= self.last:
            self._stop("poll has ended it")
        if self.end and time.time() > self.end:
            self._stop("timed out")

    def _stop(self, reason):
        self.ended = time.thread_time()
        raise EndedError(reason)

    def text(self):
        self.note()
        rows = [
            f"polls: {self.count}",
            f"longest time between two polls: {self.longest_s * 1000:.1f} ms",
        ]
        if self.ended is not None:
            after = time.thread_time() - self.ended
            rows.append(f"time behind the last poll: {after * 1000:.1f} ms")
        return "\n".join(rows) + "\n"


def parse(words):
    parser = argparse.ArgumentParser(allow_abbrev=False, add_help=False)
    for name in scanner_questions.ALL:
        parser.add_argument(f"--{name}", action="store_true")
    for name in "values", "cache", "polls", "elapsed":
        parser.add_argument(f"--{name}", action="store_true")
    for name in "memory-limit", "timeout", "last-poll":
        parser.add_argument(f"--{name}", type=int, default=0)
    parser.add_argument("--library", action="append", default=[])
    parser.add_argument("--save")
    parser.add_argument("--unsaved")
    parser.add_argument("target", nargs="+")
    return parser.parse_args(words)


def _nothing(_address, _length):
    raise OSError  # the scanner reads files itself


def _extent(options):
    if options.save:
        return "save-values" if options.values else "save"
    return "sites" if options.samples else "heap"


def _of_process(pid, options):
    """A scan of the copy of a process."""
    from goref.progress import Progress
    from goref.sources.process import Process

    extent = _extent(options)
    return Process(pid, extent).open(
        Progress("off"), options.memory_limit, extent
    )


def open_scan(goref, options, polls):
    """A scan of what the words name."""
    settings = {
        "progress": polls,
        "cache": options.cache,
        "memory_limit": options.memory_limit,
        "extent": _extent(options),
    }
    if len(options.target) == 1 and options.target[0].isdigit():
        return _of_process(int(options.target[0]), options)
    if len(options.target) == 1:
        return goref.Scan(
            "saved", _nothing, (), NO_THREADS,
            saved=options.target[0], **settings,
        )  # fmt: skip
    exe, core = options.target
    modules = [(path, None, None) for path in (exe, *options.library)]
    return goref.Scan(
        "core", _nothing, modules, NO_THREADS, core=core, held=True, **settings
    )


def _answer(goref, options, polls):
    scan = open_scan(goref, options, polls)
    for warning in scan.info().warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if options.save:
        return scanner_questions.save(scan, options)
    for name, ask in scanner_questions.ALL.items():
        if getattr(options, name):
            return ask(scan)
    return scanner_questions.walk(scan)


def run(words):
    """The status of a run; what it says is printed."""
    from goref import native

    options = parse(words)
    goref, polls = native.load(), Polls(options)
    status, begin = 0, time.monotonic()
    try:
        _answer(goref, options, polls)
    except (goref.Error, EndedError, MemoryError) as problem:
        text = str(problem) or "not enough memory"
        print(f"scanner: {text}", file=sys.stderr)
        status = 1
    if options.elapsed:
        took = time.monotonic() - begin
        print(f"elapsed: {took * 1000:.3f} ms", file=sys.stderr)
    if options.polls:
        sys.stderr.write(polls.text())
    sys.stdout.flush()
    sys.stderr.flush()
    return status


if __name__ == "__main__":
    import asking

    asking.start(sys.argv)
    # Nothing is left to clear away.
    os._exit(run(sys.argv[1:]))
