# SPDX-License-Identifier: Apache-2.0
"""goref trace: a budget that is far too small. What was not seen is counted, by
its cause."""

import re
import subprocess

import pytest

from session import GOREF, environment
from toolchains import Variant
from traces import MIB, PAGE, Growing, Trace, skip_unless_traced

CENTRAL = Variant("go1.24", "cgo")
WORDS = ["--every", "0.5", "--look", "none", "--max-overhead", "0.01"]


@pytest.fixture(scope="module")
def limited():
    """A trace of 96 MiB in pages, which would cost much more than allowed."""
    skip_unless_traced()
    with Growing(CENTRAL) as program:
        with Trace(program.pid, *WORDS, "--for", "10m") as trace:
            trace.interval()
            for _ in range(6):
                program.grow("plain", 16 * MIB)
            trace.interval()
            yield trace.end(2)


def test_each_event_is_seen_or_has_a_cause(limited):
    count = {row["reason"]: row["count"] for row in limited["losses"]}
    assert sum(count.values()) == limited["dropped"]
    seen = (
        limited["events_with_stack"]
        + limited["events_without_stack"]
        + limited["events_given_back"]
    )
    came = limited["events"] + count.get("missed", 0)
    assert seen + limited["dropped"] == came
    assert limited["events_with_stack"] < 96 * MIB // PAGE
    without = {row["reason"]: row["count"] for row in limited["without_stack"]}
    assert sum(without.values()) == limited["events_without_stack"]


def test_it_is_partial(limited):
    """Events are not seen, or the probes were off."""
    assert limited["dropped"] or limited["off_seconds"]
    assert limited["partial"]


def test_as_text():
    """The numbers of one line add up."""
    skip_unless_traced()
    with Growing(CENTRAL) as program, subprocess.Popen(
        [GOREF, "trace", str(program.pid), *WORDS, "--for", "3"],
        stdout=subprocess.PIPE, text=True, env=environment(),
    ) as trace:  # fmt: skip
        trace.stdout.readline()  # the head, with the first interval
        program.grow("plain", 96 * MIB)
        text = " ".join(trace.communicate()[0].split())
    came, seen, rest = re.search(
        r"([\d,]+) events?(?: while the probes were on)?, of which ([\d,]+|all) were seen: (.*?) the probes",
        text,
    ).groups()
    parts = [
        int(n.replace(",", ""))
        for n in re.match(
            r"([\d,]+) with a stack, ([\d,]+) without"
            r"(?:, and ([\d,]+) for memory)?",
            rest,
        ).groups("0")
    ]
    seen = came if seen == "all" else seen
    assert sum(parts) == int(seen.replace(",", ""))
