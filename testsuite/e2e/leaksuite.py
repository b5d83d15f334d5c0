# SPDX-License-Identifier: Apache-2.0
"""Go's own tests of goroutine leaks, unpacked with a release: all cases that
are not marked flaky as one program, and what each of them expects."""

import fcntl
import functools
import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from toolchains import RELEASES, cache_dir, go_binary, go_environment
from toolchains import toolchains

FOLDER = "src/runtime/testdata/testgoroutineleakprofile"
TEST = "src/runtime/goroutineleakprofile_test.go"
# Releases whose runtime has the profile, and the experiment it needs.
PROFILES = {"go1.26": "goroutineleakprofile", "go1.27": ""}
MAX_DROPPED = 40

# Stands in for runtime/pprof. A case that comes to its profile stays there.
STAND_IN = """
package stand_in

import (
	"io"
	"sync/atomic"
	"time"
)

var Arrived int32

type Profile struct{}

func Lookup(name string) *Profile { return &Profile{} }

func (p *Profile) WriteTo(w io.Writer, debug int) error {
	atomic.AddInt32(&Arrived, 1)
	time.Sleep(1 << 60)
	return nil
}
"""

MAIN = """
package main

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"runtime/pprof"
	"sync/atomic"
	"time"

	"stand_in"
)

const yieldCount = 10

var cmds = map[string]func(){}

func register(name string, f func()) { cmds[name] = f }

type truth struct {
	Ran    []string
	Leaked []string // ids, as the runtime's own profile has them
}

var header = regexp.MustCompile(`(?m)^goroutine (\\d+) .*\\[.*\\(leaked\\)`)

// tell says which cases wait at their profiles, and what the runtime itself
// finds then, if it may look. It looks again when it is asked to.
func tell(t truth) {
	profile := pprof.Lookup("goroutineleak")
	find := func() {
		text := &bytes.Buffer{}
		profile.WriteTo(text, 2)
		for _, m := range header.FindAllStringSubmatch(text.String(), -1) {
			t.Leaked = append(t.Leaked, m[1])
		}
	}
	if os.Args[1] == "before" && profile != nil {
		find()
	}
	line, _ := json.Marshal(t)
	os.Stdout.Write(append(line, '\\n'))
	os.Stdin.Read(make([]byte, 1))
	find()
	time.Sleep(1 << 60)
}

func main() {
	// The suite of Go 1.26 has no case that must run in main().
	last, t := cmds["SelectNoCasesMain"], truth{}
	if last != nil {
		t.Ran = []string{"SelectNoCasesMain"}
	}
	ran := 0
	for _, name := range os.Args[2:] {
		f := cmds[name]
		if f == nil || name == "SelectNoCasesMain" {
			continue
		}
		go f()
		ran++
		t.Ran = append(t.Ran, name)
		for int(atomic.LoadInt32(&stand_in.Arrived)) < ran {
			time.Sleep(time.Millisecond)
		}
	}
	go func() {
		for int(atomic.LoadInt32(&stand_in.Arrived)) < len(t.Ran) {
			time.Sleep(time.Millisecond)
		}
		tell(t)
	}()
	if last != nil {
		last()
	}
	time.Sleep(1 << 60)
}
"""


@functools.lru_cache(maxsize=None)
def _goroot():
    """The folder of a release that brings the tests."""
    for release in reversed(RELEASES):
        go = toolchains()[release]
        if isinstance(go, Path):
            root = go.resolve().parent.parent
            if (root / TEST).exists() and (root / FOLDER).exists():
                return root
    return None


def goroot():
    return _goroot() or pytest.skip("no release here brings its leak tests")


@functools.lru_cache(maxsize=None)
def expected():
    """By case: regular expressions, one for each leak; `FUNCTION(... [REASON]'
    as the test of the release has them."""
    text = re.sub(r"(?m)^\s*//.*\n", "", (goroot() / TEST).read_text())
    cases = re.findall(r'makeTest\("(\w+)",?((?:\s*`[^`]*`,?)*)\s*\)', text)
    found = {name: re.findall("`([^`]*)`", leaks) for name, leaks in cases}
    assert len(found) > 30 and found["ChanRecv"] and not found["NoLeakGlobal"]
    return found


def _sources():
    """The new name and text of each file."""
    files = sorted((goroot() / FOLDER).glob("**/*.go"))
    for file in files:
        if file.name != "main.go":
            text = file.read_text()
            yield file.name, text.replace(
                '"runtime/pprof"', 'pprof "stand_in"'
            )


def _build(go, folder, experiment):
    """Files that this release does not compile are left out."""
    source = folder / "path/src/suite"
    env = {**go_environment(), "GOPATH": str(folder / "path")}
    if experiment:
        env["GOEXPERIMENT"] = experiment
    for _ in range(MAX_DROPPED):
        done = subprocess.run(
            [go, "build", "-gcflags=-e", "-o", folder / "leaksuite", "suite"],
            env=env,
            cwd=folder,
            capture_output=True,
            text=True,
        )
        if done.returncode == 0:
            return
        broken = set(re.findall(r"/(\w+\.go):\d+", done.stderr)) - {"main.go"}
        assert broken, done.stderr
        for name in broken:
            (source / name).unlink(missing_ok=True)
    pytest.fail(f"go build: {done.stderr}")


@functools.lru_cache(maxsize=None)
def build_suite(release):
    """Path of the program for a release."""
    go, experiment = go_binary(release), PROFILES.get(release, "")
    digest = hashlib.sha256(f"{go}{experiment}{MAIN}{STAND_IN}".encode())
    sources = dict(_sources())
    for name, text in sources.items():
        digest.update(f"{name}\0{text}\0".encode())
    folder = cache_dir() / f"leaksuite-{release}-{digest.hexdigest()[:16]}"
    lock = cache_dir() / f"leaksuite-{release}.lock"
    with open(lock, "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not (folder / "leaksuite").exists():
            shutil.rmtree(folder, ignore_errors=True)
            source = folder / "path/src/suite"
            stand_in = folder / "path/src/stand_in"
            for path in (source, stand_in):
                path.mkdir(parents=True)
            (stand_in / "stand_in.go").write_text(STAND_IN)
            (source / "main.go").write_text(MAIN)
            for name, text in sources.items():
                (source / name).write_text(text)
            _build(go, folder, experiment)
    return folder / "leaksuite"
