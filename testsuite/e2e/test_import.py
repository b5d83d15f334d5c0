# SPDX-License-Identifier: Apache-2.0
"""`import goref` in plain Python: it starts nothing, and its answers are those
that the programs print about themselves."""

import json
import os
import re
import shutil
import subprocess

import pytest

from plain import PYTHON, python_path, run_plain, told
from session import TOP, run_cli
from targets import attach_reason, skip_if
from toolchains import Variant, variants

CENTRAL = Variant("go1.24", "default")
API = ["Error", "Frame", "Goroutine", "Heap", "NoMemoryError", "Object",
       "Reference", "Root", "StaleError", "Wait", "attach", "core", "heap",
       "open", "time_of"]  # fmt: skip


@pytest.fixture(scope="module")
def leaky(farm):
    return farm.target("leaky", CENTRAL)


def test_import_starts_nothing():
    """No gdb, no native half, no process, no thread; and what a script does not
    use is not loaded."""
    got = told("""
        import json, os, sys
        before = set(sys.modules)
        import goref
        modules = sorted(set(sys.modules) - before)
        tasks = os.listdir("/proc/self/task")
        children = open(f"/proc/self/task/{os.getpid()}/children").read()
        maps = open("/proc/self/maps").read()
        print(json.dumps([modules, len(tasks), children, "_goref" in maps]))
    """)
    modules, *rest = got
    assert set(modules) <= {"goref", "__future__"}
    assert rest == [1, "", False]


def test_an_old_python_is_refused():
    done = run_plain("""
        import sys
        sys.version_info = (3, 10, 0)
        import goref
    """)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "ImportError: goref needs Python 3.11 or newer; this is 3.10"
    )


def test_dir_shows_the_api():
    names = told("""
        import json, goref
        print(json.dumps([dir(goref), [
            name for name in dir(goref) if not getattr(goref, name).__doc__
        ]]))
    """)
    shown, without_doc = names
    assert set(API) <= set(shown) and shown == sorted(shown)
    assert not [name for name in shown if name.startswith("_")]
    assert not without_doc


@variants("default")
def test_core(farm, variant):
    """The numbers of the program, and nothing of gdb in this process."""
    leaky = farm.target("leaky", variant)
    got = told(
        """
        import json, sys, goref
        exe, core, suspect = sys.argv[1:]
        with goref.core(core, exe) as heap:
            sessions = list(heap.objects(type="main.Session"))
            found = heap.object(int(suspect, 16))
            ledger = heap.ledger.reached
            (chain,) = found.paths()
            told = [len(sessions), found.type, chain[0].name,
                    ledger.objects, ledger.bytes, list(heap.partial),
                    len(list(heap.goroutines())), "gdb" in sys.modules]
        print(json.dumps(told))
        """,
        leaky.exe, leaky.core, leaky.truth["suspect"],
    )  # fmt: skip
    truth = leaky.truth
    sessions, kind, root, objects, size, partial, goroutines, has_gdb = got
    assert (sessions, kind) == (truth["sessions"], "main.Session")
    assert root == "main.sessionsByToken"
    # The program has made its line of JSON since it measured.
    assert 0 <= objects - truth["heap_objects"] < 100
    assert 0 <= size - truth["heap_bytes"] < 1 << 16
    assert partial == [] and not has_gdb
    assert goroutines > truth["goroutines"]


def test_core_without_exe(leaky):
    """The core names its executable."""
    got = told(
        """
        import sys, goref
        heap = goref.core(sys.argv[1])
        print(sum(1 for _ in heap.objects(type="main.Session")))
        """,
        leaky.core,
    )
    assert got == leaky.truth["sessions"]


def test_paths_of_bytes(leaky, tmp_path):
    saved = tmp_path / "leaky.goref"
    done = run_cli(["core", leaky.exe, leaky.core, "save", saved])
    assert done.returncode == 0, done.stderr
    got = told(
        """
        import json, os, sys, goref
        exe, core, saved = map(os.fsencode, sys.argv[1:])
        heaps = goref.core(core), goref.core(core, exe), goref.open(saved)
        print(json.dumps([h.ledger.reached.objects for h in heaps]))
        """,
        leaky.exe, leaky.core, saved,
    )  # fmt: skip
    assert len(set(got)) == 1


PIDS = {
    "text": '"12"',
    "None": "None",
    "bool": "True",
    "float": "12.0",
    "bytes": 'b"12"',
}


@pytest.mark.parametrize("pid", PIDS.values(), ids=PIDS)
def test_what_is_no_pid(pid):
    done = run_plain(f"""
        import goref
        goref.attach({pid})
    """)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "TypeError: goref: pid is not a whole number: " + pid.replace('"', "'")
    )


def test_warnings(leaky, tmp_path):
    """Those of the command line; a script prints none."""
    cut = tmp_path / "core"
    shutil.copy(leaky.core, cut)
    os.truncate(cut, cut.stat().st_size - 4096)
    words = ["core", leaky.exe, cut, "scan", "--json"]
    said = json.loads(run_cli(words).stdout)["warnings"]
    got = told(
        """
        import json, pathlib, sys, goref
        exe, *cores = map(pathlib.Path, sys.argv[1:])
        heaps = [goref.core(core, exe) for core in cores]
        print(json.dumps([heap.warnings for heap in heaps]))
        """,
        leaky.exe, cut, leaky.core,
    )  # fmt: skip
    assert got == [said, []] and "truncated" in said[0]


def test_two_heaps_at_once(farm, leaky, tmp_path):
    """Each has its own objects, in any order of questions, and a file beside
    them; one that is closed says so, and the other answers."""
    other = farm.target("leaky", CENTRAL, args=["20000"])
    saved = tmp_path / "leaky.goref"
    done = run_cli(["core", leaky.exe, leaky.core, "save", saved])
    assert done.returncode == 0, done.stderr
    got = told(
        """
        import json, pathlib, sys, goref
        exe, core, second, saved = sys.argv[1:]
        heaps = [goref.core(core, exe), goref.core(second, exe),
                 goref.open(pathlib.Path(saved))]
        iterators = [h.objects(type="main.Session") for h in heaps]
        counts = [0] * 3
        for row in zip(*iterators):  # to the end of the shortest
            counts = [n + 1 for n in counts]
        for i, rest in enumerate(iterators):
            counts[i] += sum(1 for _ in rest)
        firsts = [next(h.objects(type="main.Session")) for h in heaps]
        equal = [one == other for one in firsts for other in firsts]
        try:
            heaps[0].retained(firsts[1])
        except ValueError as problem:
            mixed = str(problem)
        heaps[0].close()
        try:
            firsts[0].type
        except goref.StaleError as problem:
            stale = str(problem)
        valid = [h.is_valid() for h in heaps]
        print(json.dumps([counts, equal, mixed, stale, valid,
                          firsts[1].type, firsts[2].type]))
        """,
        leaky.exe, leaky.core, other.core, saved,
    )  # fmt: skip
    counts, equal, mixed, stale, valid, *types = got
    sessions, fewer = leaky.truth["sessions"], other.truth["sessions"]
    # zip() takes one of the first before it sees the end of the second.
    assert counts == [sessions - 1, fewer, sessions]
    assert equal == [i == j for i in range(3) for j in range(3)]
    assert mixed == "goref: it belongs to another heap"
    assert stale == "goref: the heap is closed"
    assert valid == [False, True, True]
    assert types == ["main.Session"] * 2


ERRORS = [
    ("no core", "goref.core('/nowhere')", r"/nowhere: No such file"),
    ("an executable", "goref.core(sys.argv[1])", r"leaky"),
    ("no file", "goref.open('/nowhere')", r"/nowhere: No such file"),
    ("a core, not a file", "goref.open(sys.argv[2])", r"goref core "),
    ("another executable", "goref.core(sys.argv[2], sys.executable)",
     r"is not the program of core"),
    ("no process", "goref.attach(2**31 - 1)", r"process 2147483647"),
    ("itself", "import os; goref.attach(os.getpid())", r"process \d+"),
    ("no gdb", "goref.heap()", r"goref\.core\(\)"),
]  # fmt: skip


@pytest.mark.parametrize("text, said", [row[1:] for row in ERRORS],
                         ids=[row[0] for row in ERRORS])  # fmt: skip
def test_errors(leaky, text, said):
    """goref.Error, in one line that names what is wrong."""
    done = run_plain(
        f"""
        import sys, goref
        try:
            {text}
        except goref.Error as problem:
            print(problem)
        """,
        leaky.exe, leaky.core,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    (line,) = done.stdout.splitlines()
    assert line.startswith("goref: ") and re.search(said, line), line


def test_attach(farm):
    """The process runs on before the heap is asked, and stands still as long as
    it is held."""
    skip_if(attach_reason())
    process = farm.process("leaky", CENTRAL)
    done = run_plain(
        """
        import json, sys, goref
        pid = int(sys.argv[1])
        def tracer():
            for line in open(f"/proc/{pid}/status"):
                if line.startswith("TracerPid:"):
                    return int(line.split()[1])
        def count(heap):
            return sum(1 for _ in heap.objects(type="main.Session"))
        with goref.attach(pid) as heap:
            traced = [tracer() != 0]
            counts = [count(heap)]
        with goref.attach(pid, hold=True) as heap:
            traced.append(tracer() != 0)
            counts.append(count(heap))
        traced.append(tracer() != 0)
        print(json.dumps([counts, traced]))
        """,
        process.pid,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)
    assert got == [[process.truth["sessions"]] * 2, [False, True, False]]
    assert process.popen.poll() is None


def test_python_path_is_what_it_says():
    """One line, a folder, and Python finds the package of this tree there."""
    path = python_path()
    assert os.path.isabs(path) and os.path.isdir(path)
    file = told("import json, goref; print(json.dumps(goref.__file__))")
    assert file == f"{path}/goref/__init__.py"
    assert os.path.samefile(file, TOP / "python/goref/__init__.py")


def test_without_the_folder():
    """Nothing of a build is on Python's path by itself."""
    done = run_plain("import goref", path="", python=PYTHON)
    if not done.returncode:
        pytest.skip("goref is installed here")
    assert "No module named 'goref'" in done.stderr


def test_sources_alone_say_what_is_missing(leaky):
    """The sources import, but there is nothing built beside them."""
    text = """
        import sys, goref
        try:
            goref.core(sys.argv[1])
        except goref.Error as problem:
            print(problem)
    """
    done = run_plain(text, leaky.core, path=TOP / "python")
    if not done.stdout:
        pytest.skip("built among the sources")
    (line,) = done.stdout.splitlines()
    assert "no _goref.abi3.so in" in line and "--python-path" in line


def test_venv(leaky, tmp_path):
    """A virtual environment, with the folder as a .pth file has it."""
    made = subprocess.run(
        [PYTHON, "-m", "venv", "--without-pip", tmp_path / "venv"],
        capture_output=True, text=True,
    )  # fmt: skip
    if made.returncode:
        pytest.skip(f"no venv: {made.stderr.strip()}")
    python = tmp_path / "venv/bin/python"
    (packages,) = (tmp_path / "venv/lib").glob("python3*/site-packages")
    (packages / "goref.pth").write_text(python_path() + "\n")
    got = told(
        """
        import json, sys, goref
        with goref.core(sys.argv[1]) as heap:
            found = sum(1 for _ in heap.objects(type="main.Session"))
        print(json.dumps([sys.prefix != sys.base_prefix, found]))
        """,
        leaky.core, python=python, path="",
    )  # fmt: skip
    assert got == [True, leaky.truth["sessions"]]


def test_first_script_of_the_manual(leaky):
    """The first script of doc/python.md prints what it says."""
    text = (TOP / "doc/python.md").read_text()
    begin = text.index("```python\n") + len("```python\n")
    script = text[begin : text.index("```", begin)]
    assert script.count('goref.core("core")') == 1
    script = script.replace('"core"', repr(str(leaky.core)))
    done = run_plain(script)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    sessions = leaky.truth["sessions"]
    assert f"('map[string]*main.Session', {sessions})" in done.stdout
    assert json.dumps(sessions) in done.stdout
