# SPDX-License-Identifier: Apache-2.0
"""Tests wait for a state and not for a time, so they pass however busy the
machine is. The bound only ends a test that has failed."""

import time

LONGEST_S = 120
# More than there is time for while goref holds a process, on an idle machine.
MOST_LOOKS = 1500


def looks(timeout=LONGEST_S):
    """Begin a look at some state again and again, until the time is over."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        yield
        time.sleep(0.001)


def comes(condition, timeout=LONGEST_S):
    """Does the condition come true?"""
    return any(condition() for _ in looks(timeout))


def some_moment(lasts, rng, most=MOST_LOOKS):
    """Look at a state until some moment of it, or until it is over. Most moments
    are early: of the states that goref holds a process in, gdb's attach is the
    first."""
    for _ in range(int(most * rng.random() ** 3)):
        if not lasts():
            return
