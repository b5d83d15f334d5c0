# SPDX-License-Identifier: Apache-2.0
"""What both suites have in common: failures are named as they happen, and the
signals that tests send arrive, however the run was started."""

import os
import signal

import pytest

_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
_IGNORED = "GOREF_TESTS_IGNORED"  # for the processes of pytest-xdist


def restore_signals():
    """nohup and shells that start a job in the background ignore signals, and
    all that tests start would ignore them, too. With a handler that does
    nothing, they have no effect here, and children do not inherit it."""
    ignored = set(os.environ.get(_IGNORED, "").split())
    for number in _SIGNALS:
        if signal.getsignal(number) == signal.SIG_IGN:
            ignored.add(number.name)
        if number.name in ignored:
            signal.signal(number, lambda *_: None)
    os.environ[_IGNORED] = " ".join(sorted(ignored))


restore_signals()


class Names:
    """Prints a line for each failure when it happens; pytest -q prints an F."""

    def __init__(self, config):
        self.config = config

    @property
    def terminal(self):
        return self.config.pluginmanager.get_plugin("terminalreporter")

    def say(self, report):
        is_around = report.when in ("collect", "setup", "teardown")
        what = "ERROR" if is_around else "FAILED"
        name = self.config.cwd_relative_nodeid(report.nodeid)
        crash = getattr(report.longrepr, "reprcrash", None)
        reason = crash.message.strip().splitlines() if crash else []
        line = " - ".join([f"{what} {name}", *reason[:1]])
        self.terminal.write(f"\n{line}\n", flush=True)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report):
        if report.failed and self.terminal:
            self.say(report)

    @pytest.hookimpl(trylast=True)
    def pytest_collectreport(self, report):
        if report.failed and self.terminal:
            self.say(report)


def pytest_configure(config):
    """Of several processes, the one that hears of all tests prints."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Names(config))
