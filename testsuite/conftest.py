# SPDX-License-Identifier: Apache-2.0
"""Both suites share this: failures are named as they happen, the costs
of each file are noted, what passed leaves no files, and the signals that tests
send arrive, however the run was started."""

import json
import os
import shutil
import signal
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path

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


MOST_LINES = 5  # of an error, where its name is printed


class Names:
    """Prints each failure with its error when it happens; pytest -q prints an
    F."""

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
        first = " - ".join([f"{what} {name}", *reason[:1]])
        more = reason[1:] + getattr(report, "said", [])
        lines = [f"    {line.strip()[:200]}" for line in more if line.strip()]
        shown = "\n".join([first, *lines[: MOST_LINES - 1]])
        self.terminal.write(f"\n{shown}\n", flush=True)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report):
        if report.failed and self.terminal:
            self.say(report)

    @pytest.hookimpl(trylast=True)
    def pytest_collectreport(self, report):
        if report.failed and self.terminal:
            self.say(report)


class Costs:
    """Sums the costs up that the reports carry. A run with --costs FILE leaves
    them there, and begins with the files that took longest when it was last
    written: none of these is then what the other processes wait for."""

    def __init__(self, path):
        self.path = path
        self.files = defaultdict(Counter)
        self.made = defaultdict(Counter)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report):
        file = self.files[Path(report.nodeid.partition("::")[0]).name]
        file["tests"] += report.when == "call"
        file["wall_s"] += report.duration
        file["cpu_s"] += getattr(report, "cpu_s", 0)
        for what, seconds in getattr(report, "made", ()):
            self.made[what]["count"] += 1
            self.made[what]["wall_s"] += seconds

    def pytest_sessionfinish(self):
        longest = sorted(self.files, key=lambda name: -self.files[name]["wall_s"])
        costs = {
            "files": {name: rounded(self.files[name]) for name in longest},
            "made": {what: rounded(self.made[what]) for what in self.made},
        }
        Path(self.path).write_text(json.dumps(costs, indent=1) + "\n")


def rounded(counts):
    return {name: round(count, 2) for name, count in counts.items()}


def seconds_of(path):
    """The seconds that each file took, as a run has left them, if one has."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        files = json.loads(Path(path).read_text())["files"]
        return {name: float(files[name]["wall_s"]) for name in files}
    return {}


def pytest_addoption(parser):
    parser.addoption("--costs", help="where the costs of the files are kept")


def pytest_collection_modifyitems(config, items):
    """The longest files come first; those with most tests where that is not
    known."""
    seconds = seconds_of(config.getoption("--costs") or os.devnull)
    tests = Counter(item.path for item in items)
    items.sort(
        key=lambda item: (
            -seconds.get(item.path.name, float("inf")),
            -tests[item.path],
            item.path,
        )
    )


@pytest.hookimpl(hookwrapper=True, trylast=True)
def pytest_runtest_makereport(item, call):
    """A report gets the processor time since the last one, with that of the
    processes that have ended."""
    outcome = yield
    report = outcome.get_result()
    now = sum(os.times()[:4])
    report.cpu_s = now - item.config.stash.get(SPENT, now)
    item.config.stash[SPENT] = now
    if report.failed and call.excinfo:
        report.said = said_by_commands(call.excinfo.traceback)
    if report.failed:
        item.config.stash.setdefault(FAILED_FILES, set()).add(item.path)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """Behind its last test, a file whose tests have passed leaves no folder:
    those of a whole run take 20 GB. Newer releases of pytest can do it
    (tmp_path_retention_policy)."""
    yield
    if nextitem is not None and nextitem.path == item.path:
        return
    stash, folder = item.config.stash, temporary_folder(item.config)
    kept = stash.setdefault(KEPT_FOLDERS, set())
    if item.path in stash.get(FAILED_FILES, ()):
        kept.update(folder.iterdir())
    for path in set(folder.iterdir()) - kept:
        if path.is_symlink():
            path.unlink()
        elif path.is_dir():  # the lock of the folder stays
            shutil.rmtree(path, ignore_errors=True)


def temporary_folder(config):
    """That of this process, in which tmp_path and tmp_path_factory make others:
    no public name leads to it."""
    return config._tmp_path_factory.getbasetemp()


def said_by_commands(traceback):
    """The last lines that commands of a failed test have written to stderr: an
    `assert done.returncode == 0' does not show them."""
    runs = [
        value
        for entry in traceback
        for value in entry.frame.f_locals.values()
        if isinstance(getattr(value, "stderr", None), str)
    ]
    return runs[-1].stderr.splitlines()[1 - MOST_LINES :] if runs else []


SPENT = pytest.StashKey[float]()
FAILED_FILES = pytest.StashKey[set]()  # paths
KEPT_FOLDERS = pytest.StashKey[set]()  # those of failed files


def pytest_configure(config):
    """The one of several processes that hears of all tests prints."""
    # pytest-xdist 3.5 and later would sort the files themselves.
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False
    if hasattr(config, "workerinput"):
        return
    config.pluginmanager.register(Names(config))
    if config.getoption("--costs"):
        config.pluginmanager.register(Costs(config.getoption("--costs")))
