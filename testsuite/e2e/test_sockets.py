# SPDX-License-Identifier: Apache-2.0
"""Which sockets and pipes goroutines wait for, by what the program says of
them."""

import json
import re

from session import run_cli, run_goref
from targets import attach_reason, skip_if
from toolchains import RELEASES, Variant, variants

NEWEST = Variant(RELEASES[-1], "default")
HOUR = 3600 * 10**9


def asked(target, options="", **how):
    """A run that says for each case where it waits; how: arguments of
    run_goref()."""
    run = run_goref(
        target,
        [f"goref goroutine {c['id']} wait {options}" for c in target.truth],
        **how,
    )
    assert run.rc == 0, run.stderr
    return run


def check_wait(wait, case):
    assert wait["kind"] == "network", case
    found = wait["network"]
    assert found["descriptor"] == case["descriptor"], case
    assert found["action"] == case["action"], case
    assert (found["network"] or "") == case["network"], case
    assert (found["local"] or "") == case["local"], case
    assert (found["remote"] or "") == case["remote"], case


def check(target, has_clock=True, **how):
    run = asked(target, "--json", **how)
    names = {case["name"] for case in target.truth}
    assert {"tcp client", "unix listener", "udp server", "pipe",
            "tcp connect"} <= names  # fmt: skip
    for i, case in enumerate(target.truth):
        (wait,) = run.json(i)["waits"]
        check_wait(wait, case)
        if case["deadline"] and has_clock:
            assert 0 <= wait["due_ns"] - HOUR < 60 * 10**9
        else:
            assert wait["due_ns"] is None


@variants("default", "noopt", newest=("stripped",))
def test_core(farm, variant):
    # Without debug information, the start of the program is not known.
    has_clock = variant.flavour != "stripped"
    check(farm.target("sockets", variant), has_clock)


def test_held_process(farm):
    """gdb holds the process: the poller's records can be read."""
    skip_if(attach_reason())
    check(farm.target("sockets", NEWEST, "live"), in_gdb=True)


def test_attach(farm):
    """Only records of the poller with a deadline are copied; the
    receiver of the method is, in any case."""
    skip_if(attach_reason())
    target = farm.target("sockets", NEWEST, "live")
    timed = [case for case in target.truth if case["deadline"]]
    assert timed
    for case in (*target.truth[:4], target.truth[-1], *timed):
        done = run_cli(
            ["attach", target.process.pid, "goroutine", case["id"], "wait",
             "--json"]
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        (wait,) = json.loads(done.stdout)["waits"]
        check_wait(wait, case)
        if case["deadline"]:
            assert 0 <= wait["due_ns"] - HOUR < 60 * 10**9
        else:
            assert wait["due_ns"] is None


def test_text(farm):
    target = farm.target("sockets", NEWEST)
    texts = dict(
        zip((c["name"] for c in target.truth), asked(target).parts)
    )
    cases = {c["name"]: c for c in target.truth}
    case = cases["udp client"]
    assert (
        f"It waits to read from {case['remote']} (udp, local address "
        f"{case['local']}, descriptor {case['descriptor']})."
    ) in texts["udp client"]
    assert re.search(
        r"It waits to accept a connection \(unix, local address \S+, "
        r"descriptor \d+\)\.",
        texts["unix listener"],
    )
    assert re.search(
        r"It waits to read \(descriptor \d+\)\.", texts["pipe"]
    )
    assert "; its deadline is due 1h0m" in texts["unix server"]
