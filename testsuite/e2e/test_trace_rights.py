# SPDX-License-Identifier: Apache-2.0
"""The rights that goref trace needs, each given alone, and the one line that
says which is missing; namespaces, and a /proc that hides processes."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from session import GOREF, environment
from snapshots import for_others
from targets import start
from test_trace_targets import do, touched
from toolchains import build
from tracers import Tracer, permitted, toucher
from traces import MIB, Trace, skip_unless_traced
from waiting import LONGEST_S

__all__ = ["permitted", "toucher"]

WORDS = ("--every", "0.5s", "--for", "10m", "--max-overhead", "100")
ROOT = not os.geteuid()
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
# Root may enter its own folders without any capability.
READS = () if os.stat(GOREF).st_uid == os.geteuid() else ("dac_read_search",)
INSTEAD = (
    "without BPF, `goref attach PID save FILE' twice and `goref diff' show "
    "the growth of the heap"
)


def keeping(*names):
    """A command that starts another with no capabilities but these. Without
    root's rights, there are none."""
    if not ROOT:
        return ()
    kept = ",".join(["-all", *(f"+{name}" for name in (*READS, *names))])
    words = ("setpriv", f"--bounding-set={kept}", "--inh-caps=-all")
    if not shutil.which("setpriv") or subprocess.call([*words, "true"]):
        pytest.skip("setpriv gives no capabilities away here")
    return words


def needs(*names):
    """Skip where nobody may trace, or where we have not all capabilities."""
    skip_unless_traced()
    if not ROOT or not shutil.which("unshare"):
        pytest.skip("needs root and util-linux")
    return keeping(*names)


@pytest.fixture(scope="module")
def exe():
    return for_others(build("changing", "go1.24", "cgo"))


class Running:
    """The program, started by a command. is_child: the command remains, and
    has the program as its child."""

    def __init__(self, exe, *before, is_child=False):
        words = [*before, exe]
        try:
            self.process = start(words[0], words[1:])
        except EOFError:
            pytest.skip(f"{' '.join(before)} is not possible here")
        self.pid = self.process.pid
        if is_child:
            self.pid = child_of(self.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stop()

    def grow(self):
        do(self.process, "heap", 8 * MIB)


def child_of(pid):
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def refusal(pid, *before):
    """The one line that says why there is no trace."""
    done = subprocess.run(
        [*before, GOREF, "trace", "--for", "1s", str(pid)],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=LONGEST_S,
    )
    assert done.returncode == 1
    assert not done.stdout
    assert done.stderr.startswith("goref: ") and done.stderr.count("\n") == 1
    return done.stderr.removeprefix("goref: ").rstrip("\n")


def traced(running, *before, number=None, pid_of=lambda popen: popen.pid):
    """The last line of a trace in which the program has grown."""
    with Trace(number or running.pid, *WORDS, before=before) as trace:
        trace.interval()
        running.grow()
        trace.interval()
        os.kill(pid_of(trace.popen), signal.SIGINT)
        document = trace.end()
    assert document["mode"] == "rss"
    assert not document["dropped"]
    assert touched(document, "main.touchHeap") == pytest.approx(
        8 * MIB, rel=0.03
    )
    return document


# --------------------------------------------------------------- capabilities


@pytest.mark.parametrize(
    "has, missing",
    [
        ((), "root, or CAP_BPF with CAP_PERFMON"),
        (("bpf",), "CAP_PERFMON"),
        (("perfmon",), "CAP_BPF"),
    ],
    ids=["none", "bpf", "perfmon"],
)
def test_missing_rights(exe, has, missing):
    """One line says what is missing and what works instead."""
    if has and not ROOT:
        pytest.skip("only root can give a part of its rights away")
    if not (Path(environment()["GOREF_BUILD_DIR"]) / "goref-trace").exists():
        pytest.skip("built with --disable-trace")
    with Running(exe, *keeping()) as running:
        said = refusal(running.pid, *keeping(*has))
    assert said == (
        f"cannot trace process {running.pid}: not permitted to load BPF "
        f"programs without {missing}; {INSTEAD}"
    )


def test_two_capabilities_are_enough(exe):
    """They are, if the process is one's own and has no more rights."""
    before = needs("bpf", "perfmon")
    with Running(exe, *keeping()) as running:
        document = traced(running, *before)
    assert document["complete"]


def test_they_are_enough_for_a_probe_in_its_code(toucher):
    """The process has all of root's rights, so its memory is read with one."""
    before = needs("bpf", "perfmon", "sys_ptrace")
    line = f"sample_probe {toucher.sampled:#x} 5 4"
    tracer = Tracer(toucher.pid, line, mode="go", before=before)
    toucher.do("p", 80)
    samples = tracer.tick().samples
    tracer.close()
    assert [s.bytes for s in samples] == [10] * 8
    for sample in samples:
        assert tracer.stacks[sample.stack][0] == "sampled"


ANOTHERS = ("bpf", "perfmon", "sys_ptrace", "dac_read_search", "kill")


def test_process_of_another_user(exe):
    before = needs(*ANOTHERS)
    with Running(exe, *NOBODY) as running:
        document = traced(running, *before)
        assert document["complete"]


def test_process_of_another_user_without_kill(exe):
    """All but the look at the end."""
    before = needs(*ANOTHERS[:-1])
    with Running(exe, *NOBODY) as running:
        document = traced(running, *before)
    assert not document["complete"]
    assert re.fullmatch(
        "no look at the end: .*: CAP_KILL is needed for a process of another "
        "user",
        document["partial"][0],
    )


@pytest.mark.parametrize("count", [2, 3], ids=["none", "ptrace"])
def test_process_of_another_user_is_refused(exe, count):
    before = needs(*ANOTHERS[:count])
    if READS:
        pytest.skip("only root may enter the folder of goref")
    with Running(exe, *NOBODY) as running:
        said = refusal(running.pid, *before)
    assert said == {
        2: f"cannot trace process {running.pid}: run as root or with "
        "CAP_SYS_PTRACE (in a container: --cap-add=SYS_PTRACE)",
        3: f"not permitted to read process {running.pid}: Permission denied "
        "(run as root, or with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH)",
    }[count]


# ------------------------------------------------------------------ namespaces


def test_root_of_a_user_namespace(exe):
    """Its capabilities count for nothing outside."""
    needs()
    with Running(exe, "unshare", "--user", "--map-root-user") as running:
        enter = ["nsenter", "--user", "--target", str(running.pid)]
        said = refusal(running.pid, *enter)
    assert said == (
        f"cannot trace process {running.pid}: the call bpf(): not permitted: "
        "a container (seccomp), a user namespace, a security module or the "
        f"BPF verifier refuses it; {INSTEAD}"
    )


def test_goref_in_a_pid_namespace(exe):
    """As in a container: all numbers are those that it sees."""
    needs()
    unshare = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    with Running(exe, *unshare, is_child=True) as running:
        enter = ["nsenter", "--pid", "--mount", "--target", str(running.pid)]
        document = traced(
            running,
            *enter,
            number=1,
            pid_of=lambda popen: child_of(popen.pid),
        )
    assert document["pid"] == 1
    assert document["complete"]


def hiding(how):
    """A command with a /proc of its own that hides processes."""
    mount = f'mount -t proc -o hidepid={how} proc /proc && exec "$@"'
    words = ["unshare", "--mount", "sh", "-c", mount, "sh"]
    if subprocess.call([*words, "true"]):
        pytest.skip(f"/proc cannot be mounted with hidepid={how}")
    return words


@pytest.mark.parametrize("how", ["invisible", "ptraceable"])
def test_proc_that_hides_others(exe, how):
    """A process of one's own is seen."""
    before = needs("bpf", "perfmon")
    with Running(exe, *keeping()) as running:
        assert traced(running, *hiding(how), *before)["complete"]


def test_process_that_proc_hides(exe):
    before = needs("bpf", "perfmon")
    if READS:
        pytest.skip("only root may enter the folder of goref")
    with Running(exe, *NOBODY) as running:
        said = refusal(running.pid, *hiding("ptraceable"), *before)
    assert said == (
        f"cannot trace process {running.pid}: /proc does not show it "
        "(mounted with hidepid, or for other PIDs): run as root or with "
        "CAP_SYS_PTRACE"
    )
