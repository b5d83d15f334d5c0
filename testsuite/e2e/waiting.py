# SPDX-License-Identifier: Apache-2.0
"""Tests wait for a state and not for a time, so they pass however busy the
machine is. The bound only ends a test that has failed."""

import time

LONGEST_S = 120


def looks(timeout=LONGEST_S):
    """Begin a look at some state again and again, until the time is over."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        yield
        time.sleep(0.001)


def comes(condition, timeout=LONGEST_S):
    """Does the condition come true?"""
    return any(condition() for _ in looks(timeout))


def look_on(lasts, count):
    """Look at a state so many times, or as long as it lasts: whatever is done
    next is done at some moment of it."""
    for _ in range(count):
        if not lasts():
            return
