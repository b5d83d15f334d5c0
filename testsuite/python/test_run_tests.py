# SPDX-License-Identifier: Apache-2.0
"""run-tests counts every suite: one that does not run to its end is a failure
that is named, and the last line is the count of all."""

import os
import re
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
CLOSING = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped")

# In place of packages and builds.
SETUP = """
say() { printf '%s: %s\\n' "$name" "$*"; }
die() { say "$*" >&2; exit 1; }
processors() { echo 1; }
need_buildable_tree() { :; }
install_missing() { :; }
install_build_packages() { :; }
build_in() { [ -d "$1" ] || die "no build here"; }
configure_in() { build_in "$1"; }
"""
NO_CHROMIUM = """
install_missing() { case $* in *chromium*) return 1 ;; esac; }
"""
TAKES_QUICK = """
import os
def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true")
def pytest_sessionstart(session):
    assert session.config.getoption("--quick")
    assert os.environ["GOREF_RELEASES"] == "go9.9"
"""
TOOLCHAINS = """
import pathlib
def toolchains():
    return {"go9.8": "unavailable: gone", "go9.9": pathlib.Path("/go")}
"""
MAKE = """
check check-unit:
\t@echo "PASS: unit/test_one"
\t@echo "SKIP: unit/test_two"
\t@echo "# PASS:  1"
\t@echo "# SKIP:  1"
"""
MAKE_FAILS = """
check:
\t@echo "PASS: unit/test_one"
\t@echo "FAIL: unit/test_two"
\t@echo "# PASS:  1"
\t@echo "# FAIL:  1"
\t@false
"""
LOG = """
[ RUN      ] fine
[       OK ] fine
[  ERROR   ] --- no such table
[  FAILED  ] broken
"""
MAKE_STOPS = "check:\n\t@echo cannot compile; false\n"
MAKE_NOTHING = "check:\n\t@true\n"
MAKE_FUZZ = """
fuzz:
\t@echo "fuzz_heap go1.24: Done 10 runs"
\t@echo "FAILED fuzz_core go1.24: see core.log"
\t@echo "fuzz_path go1.24: Done 10 runs"
\t@false
"""
PASSES = "def test_passes():\n    pass\n"
FAILS = "def test_fails():\n    assert 1 == 2, 'one is\\nno two'\n"
FAILS_IN_A_COMMAND = """
import subprocess
def test_command():
    line = ["sh", "-c", "echo no such file >&2; exit 1"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0
"""
WRITES = """
import pytest
@pytest.mark.parametrize("name", ("one", "two"))
def test_writes(name, tmp_path, tmp_path_factory):
    (tmp_path_factory.mktemp("shared") / "file").write_text("more")
    (tmp_path / "file").write_text(name)
    assert name in {}
"""
IS_LOCKED = """
def test_is_locked(tmp_path):
    assert (tmp_path.parent / ".lock").exists()
"""
SKIPS = "import pytest\ndef test_skips():\n    pytest.skip('no Go')\n"
ENDS = "import os\ndef test_ends():\n    os._exit({})\n"


class Tree:
    """A tree with run-tests and suites of its own."""

    def __init__(self, top):
        self.top = top
        for name in (
            "run-tests",
            "build-aux/suites.sh",
            "testsuite/pytest.ini",
            "testsuite/conftest.py",
        ):
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(TOP / name, top / name)
        self.write("build-aux/setup.sh", SETUP)
        self.write("build/Makefile", MAKE)
        self.write("build-asan/Makefile", MAKE)
        self.write("testsuite/e2e/toolchains.py", TOOLCHAINS)
        self.write("testsuite/python/test_a.py", PASSES)
        self.write("testsuite/e2e/test_a.py", PASSES)

    def write(self, name, text):
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run(self, *words, **env):
        """Its output, and the counts of the last line."""
        theirs = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("GOREF_", "MAKE", "MFLAGS", "PYTEST_"))
        }
        done = subprocess.run(
            ["./run-tests", *words],
            cwd=self.top,
            env={**theirs, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )
        *_, last = done.stdout.splitlines()
        counts = tuple(map(int, CLOSING.fullmatch(last).groups()))
        assert bool(counts[1]) == bool(done.returncode), done.stdout
        return done.stdout, counts


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def test_all_pass(tree):
    tree.write("testsuite/python/test_b.py", SKIPS)
    out, counts = tree.run()
    assert counts == (4, 0, 3)
    for line in (
        "build: 1 passed, 0 failed, 1 skipped",
        "python: 1 passed, 0 failed, 1 skipped",
        "build-asan: 1 passed, 0 failed, 1 skipped",
        "e2e: 1 passed, 0 failed, 0 skipped",
    ):
        assert f"run-tests: {line}\n" in out
    assert "FAILED" not in out


def test_quick(tree):
    """The suites that a change is tried with first; one runs beside another."""
    tree.write("testsuite/e2e/quick.py", "RELEASE = 'go9.9'")
    tree.write("testsuite/e2e/conftest.py", TAKES_QUICK)
    tree.write("testsuite/python/test_b.py", FAILS)
    out, counts = tree.run("--quick")
    assert counts == (3, 1, 1)
    assert "run-tests: e2e: 1 passed, 0 failed" in out
    assert "run-tests: FAILED: python\n" in out
    assert "\nFAILED testsuite/python/test_b.py::test_fails" in out


def test_suite_beside_is_lost(tree):
    """That is said as it happens, and again in the suite's output."""
    tree.write("testsuite/e2e/quick.py", "RELEASE = 'go9.9'")
    tree.write("testsuite/e2e/conftest.py", TAKES_QUICK)
    tree.write("testsuite/python/test_b.py", "import os; os._exit(7)")
    out, counts = tree.run("--quick")
    assert out.count("run-tests: FAILED python: pytest ended with") == 2
    assert counts == (2, 1, 1)


def test_what_cannot_be_installed(tree):
    """One line for each group of packages, and the tests run."""
    tree.write("build-aux/setup.sh", SETUP + NO_CHROMIUM)
    out, counts = tree.run("--e2e")
    assert counts == (1, 0, 0)
    (line,) = [line for line in out.splitlines() if "cannot be inst" in line]
    assert "skipping tests of pages" in line and line.endswith("poppler-utils")


def test_no_release_of_go(tree):
    """Else nearly all tests would be skipped."""
    without = TOOLCHAINS.replace('pathlib.Path("/go")', '"unavailable: gone"')
    tree.write("testsuite/e2e/toolchains.py", without)
    out, counts = tree.run("--e2e")
    assert "\n  go9.9 unavailable: gone\n" in out
    assert "FAILED toolchains: no test of a Go program can run\n" in out
    assert counts == (1, 1, 0)


@pytest.mark.parametrize(
    "env",
    [{"FORCE_COLOR": "1"}, {"PY_COLORS": "1"},
     {"PYTEST_ADDOPTS": "-qq --color=yes"}],
    ids=str,
)  # fmt: skip
def test_environment_of_pytest(tree, env):
    """Colors and options of the environment leave the counts as they are."""
    _, counts = tree.run(**env)
    assert counts[1] == 0 and counts == tree.run()[1]


@pytest.mark.parametrize("status", [0, 1, 3])
def test_pytest_ends_early(tree, status):
    """It counts what has run so far, which is nothing."""
    tree.write("testsuite/python/test_b.py", ENDS.format(status))
    out, counts = tree.run("--unit")
    assert "run-tests: FAILED python: pytest ended" in out
    assert "run-tests: FAILED: python\n" in out
    assert counts == (2, 1, 2)
    # The suites behind it have their own names.
    assert "run-tests: build-asan: 1 passed" in out


def test_a_process_of_pytest_ends_early(tree):
    """No other takes over: it is a failure."""
    tree.write("testsuite/e2e/test_b.py", ENDS.format(1))
    out, counts = tree.run("--e2e")
    assert re.search("^FAILED .*test_b.py", out, re.M)
    assert "run-tests: FAILED: e2e\n" in out
    passed, failed, _ = counts
    assert passed and failed


def test_no_pytest(tree):
    """An error before the first test."""
    tree.write("testsuite/python/conftest.py", "import nothing_at_all")
    out, counts = tree.run("--unit")
    assert "run-tests: FAILED python: pytest ended with status 4" in out
    assert counts == (2, 1, 2)


def test_no_tests(tree):
    tree.write("testsuite/python/test_a.py", "")
    out, counts = tree.run("--unit")
    assert "run-tests: FAILED python: there is no test" in out
    assert counts == (2, 1, 2)


def test_nothing_selected(tree):
    """There may be no test of the names that a person chose."""
    out, counts = tree.run("-k", "nothing_like_that")
    assert "run-tests: e2e: no test is selected\n" in out
    assert counts == (0, 0, 0)


def test_failures_have_names(tree):
    """Each name is printed once, when the failure happens."""
    tree.write("testsuite/python/test_b.py", FAILS)
    tree.write("testsuite/e2e/test_b.py", FAILS)
    out, counts = tree.run()
    assert counts == (4, 2, 2)
    for suite in ("python", "e2e"):
        name = f"FAILED testsuite/{suite}/test_b.py::test_fails"
        first = f"\n{name} - AssertionError: one is\n    no two\n"
        traceback = out.index("== FAILURES ==", out.index(first))
        assert out.index(first) < traceback
    assert "run-tests: FAILED: python e2e\n" in out


def test_failures_have_what_a_command_said(tree):
    tree.write("testsuite/e2e/test_b.py", FAILS_IN_A_COMMAND)
    out, _ = tree.run("--e2e")
    begin = out.index("\nFAILED testsuite/e2e/test_b.py::test_command - ")
    assert begin < out.index("\n    no such file\n") < out.index("FAILURES")


def test_only_failures_leave_folders(tree, tmp_path_factory):
    """A file whose tests have passed leaves none. pytest removes the folders of
    another run unless they have a lock, which stays."""
    both = WRITES.format(("one", "two"))
    tree.write("testsuite/e2e/test_a.py", both)
    tree.write("testsuite/e2e/test_b.py", WRITES.format(("one",)))
    tree.write("testsuite/python/test_b.py", both)
    tree.write("testsuite/python/test_c.py", IS_LOCKED)
    folder = tmp_path_factory.mktemp("temporary")
    _, counts = tree.run(TMPDIR=str(folder))
    assert counts == (9, 1, 2)
    files = [path.parent.name for path in folder.rglob("file")]
    mine = ["test_writes_one_0", "test_writes_two_0"]
    assert sorted(files) == ["shared0", "shared1", *mine]


def test_cannot_be_collected(tree):
    tree.write("testsuite/python/test_b.py", "import nothing_at_all")
    out, counts = tree.run("--unit")
    assert "\nERROR testsuite/python/test_b.py" in out
    assert counts[1] >= 1
    assert "run-tests: FAILED: python\n" in out


@pytest.mark.parametrize("words", [["--unit", "--e2e"], ["--unit", "-k", "x"]])
def test_nothing_is_left_to_run(tree, words):
    done = subprocess.run(
        ["./run-tests", *words], cwd=tree.top, capture_output=True, text=True
    )
    assert done.returncode == 1 and not done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith("run-tests: --unit leaves out what")


# A job of its own, or below a shell whose group it shares.
BESIDE = """. "$0/build-aux/suites.sh"
beside one sleep 1000
echo $$
wait
"""
OUTER = 'sh -c "$1" "$0" & wait; wait; echo goes on'


@pytest.mark.parametrize("is_own", [True, False])
def test_what_runs_beside_ends_too(tree, is_own):
    """No other process of its group does, where that is not its own."""
    words = [BESIDE, tree.top] if is_own else [OUTER, tree.top, BESIDE]
    shell = subprocess.Popen(
        ["sh", "-c", *words],
        cwd=tree.top,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        os.kill(int(shell.stdout.readline()), signal.SIGTERM)
        if is_own:
            assert not shell.stdout.read()  # nobody is left to write there
        else:
            assert shell.stdout.readline() == "goes on\n"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
        shell.stdout.close()


def test_signals_ignored(tree):
    """Tests may send signals, also where this is a job in the background."""
    test = """
import os, signal, subprocess
def test_heeds():
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        os.kill(os.getpid(), number)
        sleep = subprocess.Popen(["sleep", "100"])
        sleep.send_signal(number)
        assert sleep.wait() == -number
"""
    tree.write("testsuite/python/test_b.py", test)
    tree.write("testsuite/e2e/test_b.py", test)
    (tree.top / "run-tests").rename(tree.top / "tests")
    tree.write(
        "run-tests",
        "#!/bin/sh\ntrap '' INT HUP TERM; exec sh ./tests \"$@\"\n",
    )
    (tree.top / "run-tests").chmod(0o755)
    out, counts = tree.run()
    assert counts == (6, 0, 2), out


def test_check_fails(tree):
    """Its output, without the rows that passed."""
    tree.write("build/Makefile", MAKE_FAILS)
    tree.write("build/unit/test_two.log", LOG)
    out, counts = tree.run("--unit")
    assert counts == (3, 1, 1)
    assert "\nFAIL: unit/test_two\n" in out
    assert "no such table\n" in out and "[  FAILED  ] broken" in out
    assert "OK ] fine" not in out
    assert "run-tests: FAILED: build\n" in out


@pytest.mark.parametrize("make", [MAKE_STOPS, MAKE_NOTHING])
def test_check_does_not_run(tree, make):
    tree.write("build/Makefile", make)
    out, counts = tree.run("--unit")
    assert counts == (2, 1, 1)
    assert "run-tests: FAILED build: make check " in out
    assert make is MAKE_NOTHING or "cannot compile" in out


def test_is_not_configured(tree):
    """The other suites run."""
    shutil.rmtree(tree.top / "build-asan")
    out, counts = tree.run()
    assert "run-tests: FAILED build-asan: it cannot be configured" in out
    assert counts == (3, 1, 1)


@pytest.mark.parametrize(
    "make, expected, name",
    [
        (MAKE_FUZZ, (6, 1, 2), "FAILED fuzz_core go1.24: see core.log"),
        ("fuzz:\n\t@false\n", (4, 1, 2), "FAILED fuzzers: make fuzz ended"),
        ("fuzz:\n\t@true\n", (4, 1, 2), "FAILED fuzzers: make fuzz ended"),
        (None, (4, 1, 2), "FAILED fuzzers: they do not build"),
    ],
    ids=["one", "all", "none", "build"],
)
def test_fuzzers(tree, make, expected, name):
    if make:
        tree.write("build-fuzz/Makefile", make)
    out, counts = tree.run(GOREF_FUZZ_SECONDS="1")
    assert counts == expected
    assert name in out
    assert "run-tests: FAILED: fuzzers\n" in out


def test_real_fuzzers_are_named():
    """The lines that are counted are those of testsuite/fuzz/run."""
    text = (TOP / "testsuite/fuzz/run").read_text()
    assert 'echo "fuzz_$1 $2: ' in text
    assert 'echo "FAILED fuzz_$1 $2: ' in text
