# SPDX-License-Identifier: Apache-2.0
"""The likely cost of the probes of a trace, as far as it is known before."""

from __future__ import annotations

import math

from typing import NamedTuple

from ..render.units import human_bytes

_NS = 1e9
_GIB = 1 << 30
_SPENT = 0.8  # of the limit (facts.py)
_SHORTEST_S = 0.05  # of a window (windows.c: SHORTEST_MS)


def _faults(
    per_s: float | None, event_ns: int | None, limit: float
) -> tuple[str, str]:
    """Those of the mode rss. The first text is what is known."""
    each = "what the probes add to a page fault is not known"
    if event_ns is not None:
        each = f"the probes add about {event_ns / 1e3:.1f} us to a page fault"
    if per_s is None:
        return f"{each}; how many the command will have is not known", ""
    text = f"{each}; there are {per_s:,.0f} a second now"
    if event_ns is None:
        return text, ""
    percent = 100 * per_s * event_ns / _NS
    text += (
        f", so about {percent:.2f} % of a processor if none repeats the call "
        "of another"
    )
    beyond = ": many events may have no stack" if percent > limit * _SPENT else ""
    return text, beyond


def _samples(rate: int | None) -> str:
    """Those of the mode go. rate: bytes for each sample."""
    if not rate:
        return (
            "neither how often the program takes samples nor what the probe "
            "adds to one is known"
        )
    each = "the program samples each allocation"
    if rate > 1:
        each = (
            f"the program takes a sample for about {human_bytes(rate)} "
            f"allocated, which is {_GIB / rate:,.0f} for each GiB"
        )
    return (
        f"{each}; neither how much it will allocate nor what the probe adds to "
        "a sample is known"
    )


class Calls(NamedTuple):
    """Calls of the functions of C's allocators. per_s, call_ns: as in Started.
    is_sampled: a library samples its own allocations."""

    per_s: float | None
    call_ns: int | None
    period_s: float
    is_full: bool = False
    is_sampled: bool = False


def _calls(calls: Calls, limit: float) -> str:
    """The cost of the mode native."""
    if calls.is_sampled:
        return (
            "a library of the process samples its own allocations; neither how "
            "often it will do so nor what the probe adds to a sample is known"
        )
    if calls.per_s is None:
        return "how many allocations there will be is not known"
    text = f"there are {calls.per_s:,.0f} allocations a second now"
    if calls.call_ns is None:
        return f"{text}; what the probes add to each is not known"
    text += f", and recording one costs about {calls.call_ns / 1e3:.1f} us"
    share = calls.per_s * calls.call_ns / _NS
    if calls.is_full:
        return f"{text}, so about {100 * share:.2f} % of a processor"
    if 100 * share <= limit * _SPENT:
        return f"{text}, so the probes can stay on the whole time"
    open_s = calls.period_s * limit * _SPENT / 100 / share
    if open_s < _SHORTEST_S:
        periods = math.ceil(_SHORTEST_S / open_s)
        return (
            f"{text}, so a window of about {_short(_SHORTEST_S)} in each "
            f"{_short(calls.period_s * periods)} keeps the cost below the limit"
        )
    return (
        f"{text}, so a window of about {_short(open_s)} in each "
        f"{_short(calls.period_s)} keeps the cost below the limit"
    )


def _short(seconds: float) -> str:
    if seconds < 0.0995:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.3g} s"


def text(
    mode: str,
    limit: float,
    *,
    faults_per_s: float | None = None,
    event_ns: int | None = None,
    rate: int | None = None,
    calls: Calls | None = None,
) -> str:
    """A sentence. limit: a percentage of a processor. faults_per_s: None: the
    program has not begun. event_ns: what the probes add to a page fault; None:
    not known. rate: bytes allocated for each sample of Go; 0 or None: not
    known. calls: of the mode native."""
    beyond, held = "", f"the limit is {limit:g} %"
    if mode == "go":
        known = _samples(rate)
    elif calls is not None:
        known = _calls(calls, limit)
        held = "--full has no limit" if calls.is_full else held
    elif mode == "kernel":
        known = (
            "neither how often the kernel will allocate and free nor what the "
            "probes add to that is known"
        )
        held += " for the process, and there is none for the others"
    else:
        known, beyond = _faults(faults_per_s, event_ns, limit)
    return f"forecast: {known}; {held}{beyond}"
