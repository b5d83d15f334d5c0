# SPDX-License-Identifier: Apache-2.0
"""The commands of README.md and doc/ run as they are printed, in the folder that
quickstart leaves, and answer in the form that is printed below them."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

import readme
from session import TOP, environment
from targets import attach_reason, kernel_cores_reason, skip_if
from toolchains import RELEASES, go_binary, go_environment
from waiting import LONGEST_S, comes

README = (TOP / "README.md").read_text(encoding="utf-8")
QUICKSTART = (TOP / "quickstart").read_text(encoding="utf-8")
MAKE_TOUR = TOP / "build-aux" / "make-tour"
FILES = {"leaky", "core", "core.earlier", "core.deadlock"}
# They come first: a reader is in the folder when the others begin.
BEGIN = ["PATH=$PWD:$PATH", "cd build/tour"]
# Commands that are not run here, by how they begin, and why.
EXEMPT = {
    "./quickstart": "installs packages; make-tour makes the same folder",
    "./autogen.sh ": "builds and installs: testsuite/check-package does",
    "source ": "a line of ~/.gdbinit",
    "apt-get ": "installs packages: testsuite/fresh-debian does",
    "./run-tests": "runs this test",
    "go tool pprof -http": "serves until it is ended",
    "gdb-goref -p PID": "waits at gdb's prompt: test_live.py has it",
    "goref close": "is a command in gdb: test_open.py has it",
    "goref trace PID": "watches for a minute: test_trace.py has it",
    "goref attach": "names the way to begin",
    "goref core": "names the way to begin",
}
WHOLE = ("goref close", "goref attach", "goref core")
PLACE = "/srv/goref-gdb/"  # of the clone in the transcripts
# Lines of which only the beginning is the same everywhere.
BEGINNINGS = (
    "resident: at most",
    # The call of the first goroutine that waits, whichever that is.
    "  420, 421, 423, 424, 426, 427, ...; the first one in main.(*Shop).",
)
# On a busy machine a copy takes so long that a snapshot is suggested.
SUGGESTION = re.compile(r" \(--snapshot would stop it for about [^()]*\)")
# Lines of a core that the kernel wrote.
BY_KERNEL = ("ended by SIGABRT", "stopped by SIGABRT", "resident: at most")


def is_exempt(command):
    return any(
        command.text == begin or (
            begin not in WHOLE and command.text.startswith(begin)
        )
        for begin in EXEMPT
    )  # fmt: skip


PAGES = ("tour", "install", "cores", "processes")
PRINTED = readme.of_pages(
    [README, *((TOP / f"doc/{page}.md").read_text("utf-8") for page in PAGES)]
)
PRINTED += readme.of_table(README) + readme.of_quickstart(QUICKSTART)
COMMANDS = {}
for printed in PRINTED:
    if not is_exempt(printed):
        first = COMMANDS.setdefault(printed.text, printed)
        if first is not printed:
            first.expected += printed.expected
            first.typed += printed.typed


def release():
    """The Go release of the transcripts."""
    (found,) = set(re.findall(r"^(go1\.\d+)\.\d+, no", README, re.M))
    if found not in RELEASES:
        pytest.skip(f"{found} is not in GOREF_RELEASES")
    return found


def tour_environment():
    env = environment() | go_environment()
    env["GOREF_BUILD_DIR"] = os.path.abspath(env["GOREF_BUILD_DIR"])
    env["PATH"] = f"{go_binary(release()).parent}:{env['PATH']}"
    return env


def make_tour(folder, *options):
    """Make the folder as quickstart does."""
    done = subprocess.run(
        [MAKE_TOUR, *options, folder],
        env=tour_environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) == ("", "")


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """The folder that a clone has after quickstart."""
    skip_if(kernel_cores_reason() and attach_reason())
    folder = tmp_path_factory.mktemp("a clone")
    for script in ("goref", "gdb-goref"):
        (folder / script).symlink_to(TOP / script)
    make_tour(folder / "build" / "tour")
    assert set(os.listdir(folder / "build" / "tour")) == FILES
    return folder


@pytest.fixture(scope="module")
def answers(clone, tmp_path_factory):
    """All commands, after they have run."""
    order = [COMMANDS[text] for text in BEGIN]
    order += [c for c in COMMANDS.values() if c.text not in BEGIN]
    folder = tmp_path_factory.mktemp("answers")
    readme.run(order, clone, folder, tour_environment())
    return COMMANDS


@pytest.mark.parametrize("text", COMMANDS)
def test_runs_as_printed(clone, answers, text):
    command = answers[text]
    if "attach" in text or "PID" in text:
        skip_if(attach_reason())
    assert command.status == 0, command.output
    assert "\ngoref: " not in f"\n{command.output}"
    said = SUGGESTION.sub("", command.output.replace(f"{clone}/", PLACE))
    output = readme.form(said)
    for line in command.expected:
        if line.startswith(BY_KERNEL) and kernel_cores_reason():
            continue
        for begin in BEGINNINGS:
            line = begin if line.startswith(begin) else line
        assert readme.form(line) in output, command.output


def test_all_exemptions_are_needed():
    for begin in EXEMPT:
        assert any(c.text.startswith(begin) for c in PRINTED), begin


def test_every_kind_of_command_is_found():
    """If the pages were written in another way, nothing would be run."""
    assert sum(bool(c.expected) for c in COMMANDS.values()) >= 15
    for text in (
        "goref core core",
        "goref attach $! why 'main.pageCache.order[2500]'",
        "goref core CORE leaks                         "
        "# who can never wake?",
        "goref attach PID save heap.goref",
        "goref diff OLD NEW",
        "goref core CORE histogram --by site,root",
        "goref core core.deadlock waits",
    ):
        assert text in COMMANDS
    assert COMMANDS["gdb-goref leaky core"].typed[0] == "goref suspects"
    rows = set(re.findall(r"(?m)^\| `([\w.]+)` \| .*core of it|service \|$",
                          README))  # fmt: skip
    assert FILES - {"leaky"} <= rows
    assert all(f"\n  {name} " in QUICKSTART for name in FILES)


def test_form():
    form = readme.form
    assert form("  1.5 MiB  +3.7 %  12 objects") == "# # # objects"
    assert form("leaky, 0xc000f:  go1.24.4") == form("leaky,  0x1: go1.19")
    assert form("2 suspects") != form("2 sessions")


def test_cores_by_gdb(clone, tmp_path):
    """Cores by gdb, for machines whose kernel's cores go elsewhere, answer the
    same."""
    make_tour(tmp_path / "tour", "--gdb")
    assert set(os.listdir(tmp_path / "tour")) == FILES
    for words, line in (
        ("core core suspects", "2 suspects hold #, # of what is reached"),
        ("core core.deadlock hung", "# deadlock of # goroutines; "),
        ("diff core.earlier core", "# # # # main.Session"),
    ):
        done = subprocess.run(
            [clone / "goref", *words.split()],
            cwd=tmp_path / "tour",
            env=tour_environment(),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert readme.form(line) in readme.form(done.stdout)


def services(folder):
    """Processes of the folder's service."""
    found = []
    for link in Path("/proc").glob("[0-9]*/exe"):
        try:
            if os.readlink(link) == str(folder / "leaky"):
                found.append(int(link.parent.name))
        except OSError:
            pass
    return found


@pytest.mark.parametrize("options", [[], ["--gdb"]], ids=["kernel", "gdb"])
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_ends_with_its_processes(clone, tmp_path, name, options):
    """An interrupted run leaves no process and no part of a core; the next one
    begins anew."""
    tour = tmp_path / "tour"
    tour.mkdir()
    for old in ("core", "core.123", "core.earlier"):
        (tour / old).write_text("of another service")
    (tour / "notes").write_text("mine")
    making = subprocess.Popen(
        [MAKE_TOUR, *options, tour],
        env=tour_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert comes(lambda: making.poll() is not None or services(tour))
    assert services(tour), "no service was started"
    making.send_signal(getattr(signal, name))
    assert making.wait(LONGEST_S) != 0
    assert comes(lambda: not services(tour))
    left = set(os.listdir(tour))
    assert left <= {"leaky", "notes", ".work"}
    assert (".work" in left) <= (name == "SIGKILL")
