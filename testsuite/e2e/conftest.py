# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the end-to-end tests.

A test names its row (`@variants("default", "noopt")`) and asks the `farm` for
targets: the program is built once for ever, started and dumped once a module.
"""

import subprocess
from pathlib import Path

import pytest

import costs
import kept_cores
import quick
from counters import CENTRAL, Counter
from pprof import Profile
from reports import write
from session import run_goref, start_command
from snapshots import Steady, for_others
from targets import Farm, attach_reason, skip_if
from toolchains import RELEASES, build_c


SKIPPED, FAILED = pytest.skip.Exception, pytest.fail.Exception


def pytest_addoption(parser):
    parser.addoption(
        "--releases",
        default=",".join(RELEASES),
        help="Go releases to test with, like go1.24,go1.27",
    )
    parser.addoption(
        "--quick", action="store_true", help="the tests of quick.py alone"
    )


def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        kept_cores.sweep()


def pytest_collection_modifyitems(config, items):
    if config.getoption("--quick"):
        others = [item for item in items if not quick.is_quick(item)]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if quick.is_quick(item)]
    wanted = config.getoption("--releases").split(",")
    for item in items:
        row = getattr(item, "callspec", None)
        variant = row and row.params.get("variant")
        if variant and variant.release not in wanted:
            item.add_marker(pytest.mark.skip(reason="not in --releases"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport():
    """Behind that of testsuite/conftest.py."""
    outcome = yield
    report = outcome.get_result()
    report.made, used = costs.take()
    report.cpu_s += used


@pytest.fixture(scope="session", autouse=True)
def extension():
    """Without the extension not a single test makes sense."""
    command = Path(start_command()[0])
    if not command.exists():
        pytest.exit(f"{command} is not there: build first", returncode=2)


@pytest.fixture(scope="module")
def farm():
    """Processes and cores, cleared away when the module is done."""
    farm = Farm()
    yield farm
    farm.close()


class Scan:
    """One scan of a target with its profile, and answers of `why`."""

    def __init__(self, target, run, profile, whys):
        self.target = target
        self.run = run
        self.ledger = run.json(0)
        self.profile = profile
        self.whys = whys


def scan_target(target, out, places=(), options=""):
    """Scan once, and ask for every place, all in one run."""
    commands = [f"goref scan {options} --root-labels --json --out {out}"]
    for place in places:
        commands.append(f"goref why {target.places[place]} --json")
    run = run_goref(target, commands)
    assert run.rc == 0, run.stderr
    assert out.exists(), f"no profile written: {run.stdout}\n{run.stderr}"
    whys = {p: run.json(i + 1) for i, p in enumerate(places)}
    return Scan(target, run, Profile.load(out), whys)


@pytest.fixture(scope="module")
def scanned(farm, tmp_path_factory):
    """scanned(program, variant, kind): a Scan, made once a module; what
    went wrong is kept too and not tried again for every test."""
    made = {}

    def make(program, variant, kind, args, env):
        target = farm.target(program, variant, kind, args, env)
        out = tmp_path_factory.mktemp("scan") / "refs.pb"
        return scan_target(target, out, tuple(target.places))

    def scan(program, variant, kind="core", args=(), env=None):
        key = (program, variant, kind, tuple(args))
        if key not in made:
            try:
                made[key] = make(program, variant, kind, args, env)
            except (Exception, SKIPPED, FAILED) as problem:
                made[key] = problem
        if isinstance(made[key], BaseException):
            # Raised again and again, its traceback would grow.
            raise made[key].with_traceback(None)
        return made[key]

    return scan


@pytest.fixture
def steady(farm):
    """steady(variant): a program under load that checks its own work, and says
    what was wrong."""
    skip_if(attach_reason())
    made = []

    def make(variant):
        made.append(
            farm.process(
                "steady",
                variant,
                env={"GOMAXPROCS": "4"},
                keep_errors=True,
            )
        )
        return Steady(made[-1])

    yield make
    for process in made:
        process.stop()


@pytest.fixture
def waiting():
    """waiting(text): the C program, which writes a byte when it is ready."""
    running = []

    def run(text, **options):
        exe = for_others(build_c(text))
        popen = subprocess.Popen(
            [exe], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options
        )
        running.append(popen)
        assert popen.stdout.read(1)
        return popen

    yield run
    for popen in running:
        popen.kill()
        popen.wait()
        popen.stdin.close()
        popen.stdout.close()


@pytest.fixture
def terminal():
    """terminal(*args): gdb on a terminal, as terminal.Terminal takes it."""
    pytest.importorskip("pexpect")
    from terminal import Terminal

    opened = []

    def open_terminal(*args, **options):
        opened.append(Terminal(*args, **options))
        return opened[-1]

    yield open_terminal
    for one in opened:
        one.close()


@pytest.fixture(scope="module")
def driver():
    """A browser."""
    import browser

    driver = browser.start()
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def service(farm):
    """The service of the tour: it leaks, and hangs."""
    return farm.target("leaky", CENTRAL, args=["5000", "refunds"])


@pytest.fixture(scope="module")
def service_page(service, tmp_path_factory):
    """The page of `goref report' about it."""
    path = tmp_path_factory.mktemp("report") / "page.html"
    write(service, path)
    return path


@pytest.fixture
def counting(farm):
    """counting(variant, args): a process that counts, and its reader."""
    skip_if(attach_reason())
    readers = []

    def count(variant, args=("20000",)):
        process = farm.process("counter", variant, args)
        readers.append(Counter(process))
        assert readers[-1].goes_on()
        return process, readers[-1]

    yield count
    for reader in readers:
        reader.stop()
        reader.process.stop()
