# SPDX-License-Identifier: Apache-2.0
"""The Python API, by what the program says of itself."""

import json
import os
import subprocess
import textwrap

import pytest

from session import TOP, run_goref, run_python
from targets import Target, attach_reason, gdb_core, skip_if, start
from toolchains import RELEASES, Variant, go_binary, go_environment

CENTRAL = Variant("go1.24", "default")


@pytest.fixture(scope="module")
def leaky(farm):
    return farm.target("leaky", CENTRAL)


def script_of_the_manual():
    """The script that doc/python.md types into gdb, to `end` of `python`."""
    text = (TOP / "doc/python.md").read_text()
    begin = text.index("    (gdb) python\n")
    end = text.index("    end\n", begin) + len("    end\n")
    return textwrap.dedent(text[begin:end]).removeprefix("(gdb) ")


def run_script(target, text):
    """The JSON that a script prints in plain Python. It finds the heap in the
    variable heap."""
    opened = f"heap = goref.core({str(target.core)!r}, {str(target.exe)!r})\n"
    script = "import json\nimport goref\n" + opened + textwrap.dedent(text)
    done = run_python(script)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run_in_gdb(target, tmp_path, text):
    """The same in gdb, of what it looks at."""
    script = tmp_path / "script.py"
    begin = "import json\nimport gdb\nimport goref\nheap = goref.heap()\n"
    script.write_text(begin + textwrap.dedent(text))
    run = run_goref(target, [f"source {script}"])
    assert run.rc == 0 and "Traceback" not in run.stderr, run.stderr
    return json.loads(run.parts[0])


def test_top_holders(leaky):
    """The first example of doc/python.md."""
    got = run_script(
        leaky,
        """
        from collections import Counter
        holders = Counter()
        for session in heap.objects(type="main.Session"):
            for reference in session.referrers():
                holders[reference.source.type] += 1
        print(json.dumps(holders.most_common(3)))
    """,
    )
    assert got == [["map[string]*main.Session", 50000]]


def test_older_than(leaky):
    """The second one: sessions that were seen before a date."""
    suspect = leaky.truth["suspect"]
    got = run_script(
        leaky,
        f"""
        limit = goref.time_of(heap.object({suspect}).value()["Seen"])
        old = []
        for session in heap.objects(type="main.Session"):
            value = session.value()
            if goref.time_of(value["Seen"]) < limit:
                old.append(str(value.ID))
        print(json.dumps([limit.year, old]))
    """,
    )
    year, old = got
    assert 2024 < year < 2100
    numbers = sorted(int(name.removeprefix("token-")) for name in old)
    assert len(numbers) > 20000
    assert numbers == list(range(len(numbers))) and len(numbers) <= 25000


def test_rule(leaky):
    """The third one: goroutines that keep more than so much alive."""
    got = run_script(
        leaky,
        """
        stuck = [g for g in heap.goroutines() if g.retained_size > 500]
        names = {root.name for g in stuck for root in g.roots()}
        one = stuck[0]
        calls = [frame.function for frame in one.frames()]
        print(json.dumps([
            len(stuck), "main.handle.r" in names, one.state, one.wait_reason,
            one.created_by, "main.handle" in calls, calls[-1]]))
    """,
    )
    assert got == [
        400,
        True,
        "waiting",
        "chan receive",
        1,
        True,
        "runtime.goexit",
    ]


def test_labels(farm):
    target = farm.target("labelled", CENTRAL)
    got = run_script(
        target,
        """
        print(json.dumps({g.id: g.labels for g in heap.goroutines()}))
    """,
    )
    wanted = target.truth["labels"]
    assert len(wanted) > 10
    assert {number: got[number] for number in wanted} == wanted


def test_waits(farm):
    """Each lock of a cycle of five, and one of a package variable."""
    target = farm.target("deadlocks", CENTRAL, args=["five", "package"])
    got = run_script(
        target,
        """
        print(json.dumps([
            [g.id, [[w.kind, w.address, w.type, w.path, repr(w)]
                    for w in g.waits()]]
            for g in heap.goroutines()]))
    """,
    )
    waits = {number: waits for number, waits in got if waits}
    for cycle in target.truth["deadlocks"]:
        for number in cycle:
            [[kind, address, type_, _path, _text]] = waits[number]
            assert kind == "Mutex" and address and type_ == "sync.Mutex"
    found = [wait for several in waits.values() for wait in several]
    assert "main.mutex" in [path for *_, path, _ in found]
    assert "<goref.Wait Mutex main.mutex>" in [text for *_, text in found]


def test_objects(leaky):
    """Counts, sums and equality."""
    got = run_script(
        leaky,
        """
        first = next(heap.objects())
        whole = list(heap.objects())
        print(json.dumps({
            "count": len(whole),
            "rising": all(a.address < b.address
                          for a, b in zip(whole, whole[1:])),
            "reached": heap.ledger.reached.objects,
            "same": first == whole[0] and hash(first) == hash(whole[0]),
            "other": whole[0] == whole[1],
            "items": sum(1 for _ in heap.objects(type="main.Item")),
            "large": sum(1 for _ in heap.objects(min_bytes=4096)),
            "by_hand": sum(1 for o in whole if o.size >= 4096),
            "inside": heap.object(whole[7].address + 1) == whole[7],
            "nothing": heap.object(0x1000) is None,
            "types": dict((t, n) for t, n, _ in heap.types())["main.Item"],
            "partial": heap.partial,
        }))
    """,
    )
    assert got["count"] == got["reached"]
    assert got["rising"] and got["same"] and not got["other"]
    assert got["items"] == got["types"] == 150000
    assert got["large"] == got["by_hand"] >= 5000
    assert got["inside"] and got["nothing"] and got["partial"] == []


def test_graph(leaky):
    """Paths, dominators and retained sizes of one session, all of which is
    its own."""
    suspect = leaky.truth["suspect"]
    got = run_script(
        leaky,
        f"""
        session = heap.object({suspect})
        root, *chain = next(session.paths())
        seen, queue = set(), [session]
        while queue:
            found = queue.pop()
            if found not in seen:
                seen.add(found)
                queue += [r.target for r in found.references()]
        print(json.dumps({{
            "type": session.type,
            "root": [root.name, root.kind, root.type],
            "end": chain[-1] == session,
            "linked": all(
                b in [r.target for r in a.references()]
                for a, b in zip([root, *chain], chain)),
            "dominator": session.dominator.type,
            "retained": session.retained_size,
            "alone": heap.retained(session),
            "sum": sum(o.size for o in seen),
            "root_is": heap.evaluate("main.sessionsByToken") == root,
            "all": heap.retained(*heap.roots()),
            "bytes": heap.ledger.reached.bytes,
        }}))
    """,
    )
    assert got["type"] == "main.Session" and got["end"] and got["linked"]
    assert got["root"] == [
        "main.sessionsByToken", "global", "map[string]*main.Session",
    ]  # fmt: skip
    assert got["dominator"] == "map[string]*main.Session"
    # Its ID is the key of the map, too; strings without pointers are shared.
    assert 0 < got["retained"] == got["alone"] <= got["sum"]
    assert got["root_is"] and got["all"] == got["bytes"]


def test_names(leaky, tmp_path):
    """Each word lies at its offset, and leads to its target."""
    suspect = leaky.truth["suspect"]
    got = run_in_gdb(
        leaky,
        tmp_path,
        f"""
        session = heap.object({suspect})
        def leads(reference):
            word = reference.source.address + reference.offset
            value = int(gdb.Value(word).cast(
                gdb.lookup_type("uintptr").pointer()).dereference())
            at = reference.target
            return at.address <= value < at.address + at.size
        references = list(session.references())
        [referrer] = session.referrers()
        root = heap.evaluate("main.sessionsByToken")
        print(json.dumps([
            {{r.name: leads(r) for r in references}},
            [referrer.name, leads(referrer)],
            [r.name for r in root.references()],
        ]))
    """,
    )
    assert got == [
        {".ID": True, ".User": True, ".Basket": True},
        ['["token-25000"]', True],
        ["main.sessionsByToken"],
    ]


def test_static_memory(leaky):
    """A variable whose value lies in static memory is a root that retains what
    this memory holds."""
    got = run_script(
        leaky,
        """
        cache = heap.evaluate("main.pageCache")
        page = heap.evaluate("main.pageCache.order[3]")
        print(json.dumps([
            cache.name, cache in list(heap.roots()), page.type,
            page.dominator == cache, cache.retained_size]))
    """,
    )
    assert got[:4] == ["main.pageCache", True, "main.page", True]
    assert got[4] > 5000 * 4096


def test_stale(farm, tmp_path):
    """After the program has run on, nothing answers."""
    skip_if(attach_reason())
    target = farm.target("leaky", CENTRAL, "live")
    got = run_in_gdb(
        target,
        tmp_path,
        """
        objects = heap.objects()
        first = next(objects)
        references = next(heap.roots()).references()
        valid = heap.is_valid()
        gdb.execute("detach", to_string=True)
        said = []
        for ask in (lambda: first.address, lambda: next(objects),
                    lambda: heap.object(1), lambda: heap.retained(first),
                    lambda: repr(first), lambda: next(heap.goroutines()),
                    lambda: next(references).target.size):
            try:
                ask()
                said.append("answered")
            except goref.StaleError:
                said.append("stale")
        print(json.dumps([valid, heap.is_valid(), said]))
    """,
    )
    assert got == [True, False, ["stale"] * 7]


_TOLD = """
def told(heap):
    objects = list(heap.objects())
    last = objects[-1]
    return [len(objects), last.address, last.retained_size,
            [r.name for r in last.referrers()], heap.partial,
            len(list(heap.roots())), len(list(heap.goroutines()))]
"""


def test_the_heap_of_gdb_is_that_of_the_core(leaky, tmp_path):
    here = run_in_gdb(leaky, tmp_path, _TOLD + "print(json.dumps(told(heap)))")
    assert run_script(leaky, _TOLD + "print(json.dumps(told(heap)))") == here


def test_two_heaps_at_once(leaky):
    """Each answers for itself, and closing one leaves the other."""
    one, two, again, is_same, said = run_script(
        leaky,
        f"""{_TOLD}
with goref.core({str(leaky.core)!r}) as other:
    both = [told(heap), told(other)]
    is_same = next(heap.objects()) == next(other.objects())
    first = next(other.objects())
try:
    said = str(first.size)
except goref.StaleError as problem:
    said = str(problem)
print(json.dumps([*both, told(heap), is_same, said]))
""",
    )
    assert one == two == again
    assert not is_same and said == "goref: the heap is closed"


def test_functions(leaky):
    suspect = leaky.truth["suspect"]
    run = run_goref(
        leaky,
        [f"print $_goref_type({suspect})",
         f"print $_goref_size({suspect} + 1)",
         "python import goref; print(next(goref.heap().roots()).retained_size)",
         f"print $_goref_retained({suspect})"],
    )  # fmt: skip
    assert run.rc == 0, run.stderr
    assert '"main.Session"' in run.parts[0]
    assert run.parts[1].endswith("= 80\n")
    assert int(run.parts[3].split("=")[1]) >= 80


@pytest.mark.parametrize(
    "expression, words",
    [
        ("$_goref_retained({suspect})", "goref dominators"),
        ("$_goref_type(4096)", "not an object of the heap"),
        ("$_goref_size(4096)", "not an object of the heap"),
        ("$_goref_type()", "$_goref_type takes one address"),
        ("$_goref_retained(1, 2)", "$_goref_retained takes one address"),
        ('$_goref_size("text")', "takes an address or a pointer"),
        ("$_goref_size(-1)", "-1 is not an address"),
    ],
)
def test_functions_refuse(leaky, expression, words):
    text = expression.format(suspect=leaky.truth["suspect"])
    run = run_goref(leaky, [f"print {text}"])
    assert words in run.stderr and "Traceback" not in run.stderr


def test_negative_counts(leaky):
    """They are not taken for no limit, or for a large one."""
    got = run_script(
        leaky,
        """
        first = next(heap.objects())
        said = []
        for ask in (lambda: heap.objects(min_bytes=-1),
                    lambda: first.paths(-1)):
            try:
                next(ask())
            except ValueError as problem:
                said.append(str(problem))
        print(json.dumps(said))
    """,
    )
    assert got == [
        "goref: min_bytes is negative: -1",
        "goref: k is negative: -1",
    ]


def test_counts_beyond_words(leaky):
    """No bits are cut off: there are no more than all, and none that large."""
    all_paths, paths, large = run_script(
        leaky,
        """
        first = next(heap.objects())
        lengths = [len(list(first.paths(k))) for k in (1000000, 2**70)]
        print(json.dumps([*lengths, len(list(heap.objects(None, 2**70)))]))
        """,
    )
    assert (paths, large) == (all_paths, 0)
    assert paths



def test_odd_arguments(leaky):
    """A thing that is no object of the heap is a mistake in the script."""
    got = run_script(
        leaky,
        """
        said = []
        for thing in (5, None, "main.pageCache", next(heap.types())):
            try:
                heap.retained(thing)
            except TypeError as problem:
                said.append(str(problem))
        print(json.dumps(said))
    """,
    )
    assert len(got) == 4
    assert got[0] == (
        "goref: not an object, a root or a goroutine of the heap: 5"
    )


# ------------------------------------------------ the examples of doc/python.md


def check_examples(target, tmp_path):
    """They run as they are printed."""
    typed = tmp_path / "typed"
    typed.write_text(script_of_the_manual())
    run = run_goref(target, [f"source {typed}"])
    assert run.rc == 0 and "Traceback" not in run.stderr, run.stderr
    sessions = target.truth["sessions"]
    assert run.parts[0].splitlines()[:2] == [
        f"[('map[string]*main.Session', {sessions})]",
        "0 0",  # all were made within an hour
    ]


@pytest.mark.parametrize("kind", ["core", "live"])
def test_examples(farm, kind, tmp_path):
    if kind == "live":
        skip_if(attach_reason())
    check_examples(farm.target("leaky", CENTRAL, kind), tmp_path)


# Five million objects with GOREF_LARGE=1, one in a usual run.
SESSIONS = 450_000 if os.environ.get("GOREF_LARGE") else 90_000


def test_a_million_objects(farm, tmp_path):
    """The examples run, and an iteration keeps no list."""
    target = farm.target("leaky", CENTRAL, args=[str(SESSIONS)])
    check_examples(target, tmp_path)
    got = run_script(
        target,
        """
        import ctypes
        from pathlib import Path
        # The kernel adds no huge pages of its own (PR_SET_THP_DISABLE).
        assert not ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)
        status = Path("/proc/self/status")
        next(heap.objects())
        peak = lambda: int(
            status.read_text().partition("VmHWM:")[2].split()[0]
        )
        before = peak()
        count = sum(1 for _ in heap.objects())
        print(json.dumps([count, peak() - before]))
    """,
    )
    count, grown_kb = got
    assert count > 10 * SESSIONS and grown_kb < 10_000
    farm.forget("leaky")


_GO_PATHS = {
    "go.uber.org/thing/thing.go": """
        package thing

        type Widget struct {
            Size int
            Name string
        }

        type Box[T any] struct {
            Inner *T
            Count int
        }
    """,
    "widgets/main.go": """
        package main

        import (
            "fmt"
            "time"

            "go.uber.org/thing"
        )

        var widget *thing.Widget
        var box *thing.Box[thing.Widget]

        func main() {
            widget = &thing.Widget{Size: 7, Name: "seven"}
            box = &thing.Box[thing.Widget]{Inner: widget, Count: 3}
            fmt.Printf("{\\"widget\\": \\"%p\\", \\"box\\": \\"%p\\"}\\n", widget, box)
            time.Sleep(time.Hour)
        }
    """,
}


@pytest.fixture(params=RELEASES)
def widgets(request, tmp_path):
    """A core of a program with a package whose path begins with `go.'."""
    for name, text in _GO_PATHS.items():
        file = tmp_path / "path/src" / name
        file.parent.mkdir(parents=True)
        file.write_text(textwrap.dedent(text))
    exe = tmp_path / "widgets"
    done = subprocess.run(
        [go_binary(request.param), "build", "-o", exe, "widgets"],
        env={**go_environment(), "GOPATH": str(tmp_path / "path")},
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    process = start(exe)
    try:
        core = gdb_core(process)
        yield Target("gcore", exe, process.truth, core=core)
    finally:
        process.stop()


def test_value_of_a_package_that_gdb_mangles(widgets):
    """gdb finds no type whose name begins with `go.'."""
    got = run_script(
        widgets,
        f"""
        widget = heap.object({widgets.truth["widget"]}).value()
        box = heap.object({widgets.truth["box"]}).value()
        print(json.dumps([
            [str(widget.type), int(widget["Size"])],
            [str(box.type), int(box["Count"]), int(box["Inner"])],
        ]))
    """,
    )
    name = "go.uber.org/thing.Widget"
    inner = int(widgets.truth["widget"], 16)
    assert got == [[name, 7], [f"go.uber.org/thing.Box[{name}]", 3, inner]]
