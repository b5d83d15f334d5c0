# SPDX-License-Identifier: Apache-2.0
"""While a process is held, SIGINT waits for us."""

import os
import signal

import pytest

from goref.interrupt import Owned

HELD = {signal.SIGINT, signal.SIGTSTP}


def blocked():
    return signal.pthread_sigmask(signal.SIG_BLOCK, ())


@pytest.fixture(autouse=True)
def python_handles_sigint():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def send():
    os.kill(os.getpid(), signal.SIGINT)


def test_waits_until_the_end():
    before = blocked()
    reached = False
    with pytest.raises(KeyboardInterrupt), Owned() as owned:
        assert HELD <= blocked()
        assert not owned.has_come()
        send()
        assert owned.has_come()
        reached = True
    assert reached
    assert blocked() == before


def test_check_raises_and_the_end_does_not_again():
    before = blocked()
    with pytest.raises(KeyboardInterrupt), Owned() as owned:
        owned.check()
        send()
        owned.check()
    assert blocked() == before
    assert signal.SIGINT not in signal.sigpending()


def test_another_error_goes_before():
    with pytest.raises(ZeroDivisionError), Owned():
        send()
        1 / 0
    assert signal.SIGINT not in signal.sigpending()


def test_nothing_came():
    with Owned() as owned:
        owned.check()


def test_ignored():
    """A SIGINT that was blocked before is ignored."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        with Owned() as owned:
            send()
            owned.check()
        assert signal.SIGINT in blocked()
        signal.sigtimedwait({signal.SIGINT}, 0)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def test_what_came_before_is_raised_at_the_beginning(monkeypatch):
    before = blocked()
    mask = signal.pthread_sigmask

    def too_late(how, signals):
        """A signal comes just before the call that blocks it."""
        old = mask(how, signals)
        if how == signal.SIG_BLOCK and signals:
            raise KeyboardInterrupt
        return old

    with monkeypatch.context() as patch:
        patch.setattr(signal, "pthread_sigmask", too_late)
        with pytest.raises(KeyboardInterrupt), Owned():
            pytest.fail("the process is not to be stopped")
    assert blocked() == before
