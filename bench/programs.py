# SPDX-License-Identifier: Apache-2.0
"""The programs that are measured: built here, running, and as cores."""

import json
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
BENCH = TOP / "bench"
COLLECTIONS = 3  # of each round
START_TIMEOUT = 600
BIG_TYPES = 4500  # make an executable of about 37 MB
GDB = os.environ.get("GDB", "gdb")
GDB_QUIET = ["-nx", "-batch", "-iex", "set auto-load python-scripts off",
             "-iex", "set debuginfod enabled off"]
MARK = re.compile(
    r"^gc \d+ @.*: [\d.]+\+([\d.]+)\+[\d.]+ ms clock, "
    r"[\d.]+\+([\d.]+)/([\d.]+)/([\d.]+)\+[\d.]+ ms cpu,",
    re.MULTILINE,
)
BIG_TYPE = """
type T%(i)d struct {
	Name string
	Next *T%(before)d
	Of   map[string][]T%(i)d
	Call func(int) string
}

func (t *T%(i)d) Add(key string, n int) (string, error) {
	if t.Of == nil {
		t.Of = make(map[string][]T%(i)d)
	}
	for j := 0; j < n; j++ {
		t.Of[key] = append(t.Of[key], T%(i)d{Name: key})
	}
	if len(t.Of) > %(i)d {
		return "", fmt.Errorf("%%s: %%d of %(i)d", key, n)
	}
	return t.Name + key, nil
}

func (t *T%(i)d) Each(f func(key string, v *T%(i)d) bool) (count int) {
	for key, list := range t.Of {
		for j := range list {
			if !f(key, &list[j]) {
				return count
			}
			count++
		}
	}
	return count
}
"""


class Failure(Exception):
    """The one line that a person is told."""


# ---------------------------------------------------------------------- go


def go_environment(scratch):
    """Nothing of the user's Go settings reaches the build."""
    keep = ("PATH", "HOME", "TMPDIR", "LANG")
    env = {k: os.environ[k] for k in keep if k in os.environ}
    return env | {
        "GOTOOLCHAIN": "local",
        "GO111MODULE": "off",
        "GOFLAGS": "",
        "CGO_ENABLED": "0",
        "GOENV": "off",
        "GOCACHE": os.environ.get("GOCACHE", str(scratch / "go-build")),
        "GOPATH": str(scratch / "go-path"),
    }


def release_of(go, env):
    """(1, 24) of a go command, or None."""
    try:
        done = subprocess.run([go, "version"], capture_output=True, text=True,
                              env=env)
    except OSError:
        return None
    found = re.search(r"\bgo(1)\.(\d+)", done.stdout)
    return (int(found[1]), int(found[2])) if found else None


def fetched(releases, said):
    """The releases of testsuite/fetch-go, its lines kept in said."""
    done = subprocess.run([TOP / "testsuite" / "fetch-go", *releases],
                          capture_output=True, text=True)
    said += done.stdout.splitlines() or [done.stderr.strip()]
    return [line.split(" ", 1)[1] for line in done.stdout.splitlines()
            if line.startswith("go1.") and " unavailable" not in line]


def find_go(wanted, env):
    said = []
    if wanted and re.fullmatch(r"(go)?1\.\d+", wanted):
        found = fetched([wanted.removeprefix("go")], said)
    elif wanted:
        found = [wanted]
    else:
        found = fetched([], said) + [shutil.which("go")]
    known = {go: release_of(go, env) for go in found if go}
    known = {go: release for go, release in known.items() if release}
    if not known:
        raise Failure(f"no go command: {wanted or ''} {' '.join(said)}")
    return max(known, key=known.get)


def _big_types():
    types = "".join(BIG_TYPE % {"i": i, "before": max(i - 1, 0)}
                    for i in range(BIG_TYPES))
    kept = "".join(f"\tkeep = append(keep, &T{i}{{}})\n"
                   for i in range(BIG_TYPES))
    return ('package main\n\nimport "fmt"\n' + types +
            "\nfunc init() {\n" + kept + "}\n")


def build(go, env, name, scratch):
    """The executable of bench/NAME."""
    source = scratch / f"{name}-source"
    if not source.exists():
        shutil.copytree(BENCH / name, source)
        if name == "big":
            (source / "types.go").write_text(_big_types())
    exe = scratch / name
    done = subprocess.run([go, "build", "-o", exe, "."], cwd=source, env=env,
                          capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"{go} build of bench/{name} failed:\n"
                      f"{done.stderr[-2000:]}")
    return exe


# --------------------------------------------------------------- processes


def unlimited_core():
    limit = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))


class Program:
    """A running program that has said in JSON what it is, and waits."""

    def __init__(self, exe, arguments, folder):
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.trace = folder / "trace"
        with open(self.trace, "w", encoding="ascii") as trace:
            self.popen = subprocess.Popen(
                [exe, *arguments],
                cwd=folder,
                env={"GODEBUG": "gctrace=1", "GOMAXPROCS": "1",
                     "GOTRACEBACK": "crash"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=trace,
                preexec_fn=unlimited_core,
            )
        try:
            self.truth = self.answer()
        except BaseException:
            self.stop()
            raise

    def answer(self):
        ready = select.select([self.popen.stdout], [], [], START_TIMEOUT)[0]
        line = self.popen.stdout.readline() if ready else b""
        if not line:
            said = self.trace.read_text(errors="replace")[-500:]
            raise Failure(f"a program of bench/ said nothing:\n{said}")
        return json.loads(line)

    def ask(self, command):
        self.popen.stdin.write(command.encode() + b"\n")
        self.popen.stdin.flush()
        return self.answer()

    def marks(self):
        """(wall, processor) of the mark in ms, of some collections now."""
        before = self.trace.stat().st_size
        self.ask(f"gc {COLLECTIONS}")
        for _ in range(100):
            with open(self.trace, encoding="ascii", errors="replace") as file:
                file.seek(before)
                found = MARK.findall(file.read())
            if len(found) >= COLLECTIONS:
                return [(float(m[0]), sum(map(float, m[1:]))) for m in found]
            time.sleep(0.01)
        raise Failure("GODEBUG=gctrace=1 printed no line that is understood")

    def watched(self, look):
        """The result of look(), and the longest time in ms for which the
        process itself did not run meanwhile."""
        self.ask("watch")
        time.sleep(0.05)
        found = look()
        time.sleep(0.05)
        return found | {"gap": self.ask("gap")["longest_gap_ms"]}

    def stop(self):
        if self.popen.poll() is None:
            self.popen.kill()
        self.popen.wait()
        self.popen.stdin.close()
        self.popen.stdout.close()


def heap_arguments(objects, shape):
    return ["-objects", str(objects), "-shape", shape]


# ------------------------------------------------------------------- cores


def kernel_core(program):
    """The core that the kernel writes, or None; the process ends by it."""
    program.popen.send_signal(signal.SIGABRT)
    program.popen.wait(timeout=START_TIMEOUT)
    cores = list(program.folder.glob("core*"))
    return cores[0] if cores else None


def kernel_core_reason():
    pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if not pattern or pattern.startswith("|") or "/" in pattern:
        return f"core_pattern is `{pattern}`"
    if resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY:
        return "the hard limit of core files is not unlimited"
    return None


def gdb_core(program):
    core = program.folder / "gcore"
    done = subprocess.run([GDB, *GDB_QUIET, "-p", str(program.popen.pid),
                           "-ex", f"gcore {core}"],
                          capture_output=True, text=True)
    if not core.exists():
        raise Failure(f"gcore wrote no core: {done.stderr[-300:]}")
    # Reserved memory is written as zeros: give the disk back.
    subprocess.run(["fallocate", "-d", core], check=False,
                   stderr=subprocess.DEVNULL)
    return core


def take_core(exe, arguments, folder, how):
    """Have the core of a new process written, and end the process."""
    reason = kernel_core_reason()
    if how == "kernel" and reason:
        raise Failure(f"the kernel gives no core here: {reason}")
    program = Program(exe, arguments, folder)
    try:
        core = gdb_core(program) if reason or how == "gcore" else \
            kernel_core(program)
    finally:
        program.stop()
    if not core:
        raise Failure("the kernel wrote no core (is the disk full?)")
    return core
