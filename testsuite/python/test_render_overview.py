# SPDX-License-Identifier: Apache-2.0
"""goref overview: rows to text and JSON."""

import rows
from goref.render.hung import HungReport
from goref.render.overview import OverviewReport
from goref.render.verdict import early_lines


def report(make, **fields):
    ordinary = {
        "tool_version": "1.2.3",
        "partial": [],
        "info": make.info(),
        "ledger": make.ledger((1000, 1000), (1000, 1000)),
        "roots": [
            make.root(f"main.r{i}", 9 - i, 90 - i, type="*main.T")
            for i in range(6)
        ],
        "types": [make.type(f"main.T{i}", 9 - i, 90 - i) for i in range(6)],
    }
    return OverviewReport(**{**ordinary, **fields})


def kept(make):
    rows = [
        make.dominator("the program", 1000, kind="top", cut=3, cut_bytes=100),
        make.dominator("main.cache", 900, 1, kind="global", type="main.C"),
        make.dominator("main.T", 800, 2, vertices=7, objects=7, bytes=800),
    ]
    return make.dominators(1000, rows)


def section(text, title):
    """The lines of the table below a title."""
    [part] = [p for p in text.split("\n\n") if p.startswith(title)]
    return part.splitlines()


def test_what_keeps_most_alive_comes_first(make):
    text = report(make, kept=kept(make)).text()
    assert section(text, "What keeps most alive")[1:] == [
        "  retained   share  count",
        "     900 B  90.0 %         main.cache  (main.C)",
        "     800 B  80.0 %      7    main.T",
        "     100 B  10.0 %         (3 more)",
    ]
    billed = section(text, "Billed to the nearest root (of 6)")
    assert billed[1:3] == [
        "  billed  share  objects",
        "    90 B  9.0 %        9  main.r0  (global, *main.T)",
    ]
    # Billing gets fewer rows beside it.
    assert len(billed) == 2 + 3
    assert text.index("What keeps") < text.index("Billed")


def test_bills_stand_beside_what_is_retained(make):
    """A root to which much is billed may hold nothing alone. What is not known
    is left blank."""
    answer = report(make, kept=kept(make), retained=[16, 90 - 1])
    assert section(answer.text(), "Billed to")[1:] == [
        "  billed  share  retained  objects",
        "    90 B  9.0 %      16 B        9  main.r0  (global, *main.T)",
        "    89 B  8.9 %      89 B        8  main.r1  (global, *main.T)",
        "    88 B  8.8 %                  7  main.r2  (global, *main.T)",
    ]
    sizes = [r.get("retained_bytes") for r in answer.document()["roots"]]
    assert sizes == [16, 89, None, None, None]


def test_document(make):
    document = report(make, kept=kept(make)).document()
    assert document["no_dominators"] is None
    tree = document["dominators"]
    assert tree["reached_bytes"] == 1000
    assert tree["cut"] == {"children": 3, "retained_bytes": 100,
                           "retained_c_bytes": 0}  # fmt: skip
    [cache] = tree["children"]
    assert cache["retained_bytes"] == 900
    assert cache["children"][0]["objects"] == 7
    assert len(document["roots"]) == len(document["types"]) == 5


def test_without_the_graph(make):
    answer = report(make, unknown="not enough memory")
    text = answer.text()
    assert "what keeps most alive is not known: not enough memory\n" in text
    assert len(section(text, "Billed to the nearest root")) == 2 + 5
    document = answer.document()
    assert document["dominators"] is None
    assert document["no_dominators"] == "not enough memory"


def test_an_ended_graph_is_partial(make):
    """The walk is complete, so its sizes are no lower bounds."""
    answer = report(
        make,
        partial=["timed out"],
        unknown="timed out",
        unfinished="object graph",
    )
    assert "PARTIAL: timed out: no object graph\n" in answer.text()
    assert not answer.document()["complete"]
    answer = report(
        make,
        partial=["a page is missing", "interrupted"],
        kept=kept(make),
        unfinished="search for suspects",
    )
    lines = [x for x in answer.lines() if x.startswith("PARTIAL")]
    assert lines == [
        "PARTIAL: a page is missing: sizes are lower bounds, retained sizes "
        "may be too small or too large",
        "PARTIAL: interrupted: no search for suspects",
    ]


def test_rows_that_are_asked_for(make):
    text = report(make, kept=kept(make), top=1).text()
    assert len(section(text, "Billed to the nearest root")) == 2 + 1


def test_time_is_that_of_the_command(make):
    """And not the sum of what some of its steps took."""
    ledger = make.ledger(phases_us=make.phases(typed=1000))
    text = report(make, ledger=ledger, elapsed_us=61_600_000).text()
    assert text.endswith("took 61.60 s\n")


def test_next_looks_closer_at_the_first_suspect(make):
    """Not at a variable that something is billed to."""
    found = make.suspects(make.suspect("main.cache"), make.suspect("main.b"))
    answer = report(make, suspects=found, suspect="main.metric")
    next_ = answer.document()["next"]
    assert next_[0] == "goref suspects"
    assert next_[1].startswith("goref dominators ")
    assert len(next_) == len(set(next_))
    assert "main.metric" not in answer.text()
    assert "a closer look at main.cache" in answer.text()


def test_a_suspect_is_named_once(make):
    """Where its memory accumulates is said only if that is another place."""
    itself = make.suspect("main.cache")._replace(
        accumulation_point="main.cache"
    )
    for found, end in (itself, ")"), (make.suspect("main.cache"), "where: "):
        text = report(make, suspects=make.suspects(found)).text()
        [line] = [x for x in text.splitlines() if x.startswith("suspect: ")]
        assert line.endswith(end) or end in line
        assert ("where: " in line) == (found is not itself)


def test_next_without_suspects(make):
    for found in (None, make.suspects()):
        answer = report(make, suspects=found, suspect="main.cache")
        next_ = answer.document()["next"]
        assert "goref dominators main.cache" in next_
        assert "goref why main.cache" in next_
        assert "goref suspects" not in next_


def test_deadlocks_and_leaks(make):
    """A line each, and the command that looks closer; nothing if there are
    none."""
    waits = make.waits((), [make.deadlock([5, 6], [make.awaited()] * 2)])
    shown = report(make, waits=waits, leaks=make.leaks(make.leak_group([7])))
    lines = shown.lines()
    assert lines[0] == "1 likely deadlock of 2 goroutines"
    assert lines[1].startswith("1 leaked goroutine in 1 group retains")
    document = shown.document()
    assert document["deadlocks"] == [[5, 6]]
    assert document["leaked"] == 1
    assert document["next"][:2] == ["goref hung", "goref leaks"]
    quiet = report(make, waits=make.waits(), leaks=make.leaks())
    assert quiet.lines()[0] == "no deadlock found; no goroutine has leaked"
    quiet = quiet.document()
    assert (quiet["deadlocks"], quiet["leaked"]) == ([], 0)
    assert quiet["next"][0] == "goref hung"


def test_resident(make):
    """Classes of a hundredth or more."""
    classes = {
        "go_heap_live": 800 << 10,
        "go_heap_idle": 150 << 10,
        "go_heap_scavenged": 50 << 10,
        "c_heap": 24 << 10,
        "mapped_files": 1,
    }
    found = make.rss("anonymous", **classes)
    shown = report(make, resident=found, suspect="main.cache")
    [line] = [x for x in shown.lines() if x.startswith("resident: ")]
    assert line == (
        "resident: at most 1.0 MiB anonymous: 800.0 KiB Go heap in use, "
        "200.0 KiB Go heap free, 24.0 KiB C heap"
    )
    document = shown.document()["resident"]
    assert document["residency"] == "anonymous"
    assert document["rss_bytes"] is None
    bare = report(make, suspect="main.cache")
    assert bare.document()["resident"] is None
    assert "goref rss" not in bare.document()["next"]
    assert "goref rss" in shown.document()["next"]


def test_resident_of_a_process(make):
    shown = report(make, rss_bytes=3 << 20)
    assert "resident: about 3.0 MiB (Rss)" in shown.lines()
    assert shown.document()["resident"] == {
        "residency": "unknown",
        "rss_bytes": 3 << 20,
        "anonymous_bytes": None,
    }
    unknown = report(
        make,
        resident=make.rss(
            "unknown", go_heap_live=99, unknown=1, zero_pages=100_000
        ),
    )
    [line] = [x for x in unknown.lines() if x.startswith("resident: ")]
    assert line == (
        "resident: not known; the core has 100 B: 99 B Go heap in use, 1 B "
        "unknown, beside 97.7 KiB of zeros, which may never have been touched"
    )
    assert unknown.document()["resident"] == {
        "residency": "unknown",
        "rss_bytes": None,
        "anonymous_bytes": None,
    }


def test_one_line_says_that_nothing_is_wrong(make):
    """And it says no more than what was looked at."""
    quiet = {
        "waits": make.waits(),
        "leaks": make.leaks(),
        "suspects": make.suspects(),
        "hung": hung(make),
    }
    lines = report(make, **quiet).lines()
    assert lines[0].startswith(
        "nothing stands out: no deadlock found; no goroutine has leaked; no "
        "suspect: nothing holds "
    )
    assert lines[1] == ""
    unknown = report(make, **{**quiet, "leaks": None}).lines()
    assert unknown[0].startswith("no deadlock found; no suspect: ")
    cut = report(make, **quiet, partial=["interrupted"]).lines()
    assert cut[0].startswith(
        "in what could be read: no deadlock found; no goroutine has leaked; "
    )
    assert cut[1].startswith("PARTIAL: interrupted")


def c_leaks(**fields):
    found = {"is_known": True, "leaked_blocks": 100, "leaked_bytes": 96 << 20,
             "in_use_blocks": 104, "in_use_bytes": 100 << 20}  # fmt: skip
    return rows.make("NativeLeaks", **{**found, **fields})


def quiet_but_for(make, **fields):
    return report(
        make,
        waits=make.waits(),
        leaks=make.leaks(),
        suspects=make.suspects(),
        hung=hung(make),
        **fields,
    )


def test_leaked_c_memory_stands_out(make):
    """The first line says it, by the rule of the report, and the first command
    shows more of it."""
    shown = quiet_but_for(make, native_leaks=c_leaks())
    first, second, *_ = shown.lines()
    assert first == (
        "100 blocks of C memory are held by nothing, 96.0 MiB (96.0 % of "
        "100.0 MiB in use)"
    )
    assert second.startswith("no deadlock found; no goroutine has leaked; ")
    assert "nothing stands out" not in shown.text()
    assert shown.document()["next"][0] == "goref native leaks"


def test_a_few_leaked_bytes_do_not_stand_out(make):
    for size in 0, 16 << 10, 1 << 20:
        few = c_leaks(leaked_bytes=size)
        shown = quiet_but_for(make, native_leaks=few)
        assert shown.lines()[0].startswith("nothing stands out: ")
        assert "goref native leaks" not in shown.document()["next"]


def test_what_is_missing_may_hold_c_memory(make):
    """Also if only memory is missing that pointers of C may be in."""
    for fields in (
        {"native_leaks": c_leaks(missing_bytes=4096)},
        {"native_leaks": c_leaks(), "partial": ["cut"]},
    ):
        first = quiet_but_for(make, **fields).lines()[0]
        assert first.startswith("in what could be read: 100 blocks of C ")


def test_a_heap_of_which_nothing_is_seen(make):
    """There are no shares of nothing, and no table of zeros."""
    none = [make.dominator("the program", 0, kind="top"),
            make.dominator("goroutine 1", 0, 1, kind="goroutine")]  # fmt: skip
    shown = report(
        make,
        partial=["the core file is truncated, 1.0 MiB are missing"],
        ledger=make.ledger((0, 0), (0, 0)),
        kept=make.dominators(0, none),
    )
    assert "\nheap: no object was found\n" in shown.text()
    assert "What keeps most alive" not in shown.text()


def hung(make, *groups):
    """The answer of `hung' about groups of waiters."""
    return HungReport(
        tool_version="1.2.3",
        partial=(),
        states=(),
        listed=rows.make("GoroutineList", total=3),
        found=make.waits(groups),
        leaks=make.leaks(),
    )


def test_a_pile_up_is_no_good_news(make):
    """Without a deadlock and a leak, too: `hung' says the same."""
    pile = make.awaited(waiters=300, ids=(5, 6))
    shown = report(
        make,
        waits=make.waits(),
        leaks=make.leaks(),
        suspects=make.suspects(),
        hung=hung(make, pile),
    )
    first, second, *_ = shown.lines()
    assert first == hung(make, pile).lines()[0]
    assert first.startswith("no deadlock found; 300 goroutines wait for ")
    assert second.startswith("no goroutine has leaked; no suspect: ")
    assert "nothing stands out" not in shown.text()
    assert shown.document()["next"][0] == "goref hung"


def test_goroutines_that_could_not_be_read(make):
    """Nothing is known of their waits: it is no answer that none was found."""
    ledger = make.ledger((10, 10), (10, 10))
    gaps = make.gaps(goroutines_skipped=7)
    shown = report(
        make,
        waits=make.waits(),
        leaks=make.leaks(),
        partial=["cut"],
        ledger=ledger._replace(gaps=gaps),
    )
    assert shown.lines()[0] == (
        "deadlocks and leaks are not known: 7 of 7 goroutines could not be "
        "read"
    )
    assert "no deadlock" not in shown.text()


def test_a_crash_has_its_own_commands(make):
    """Whoever holds a little did not end the program."""
    panic = rows.make(
        "Panic", kind="fatal error", fatal_text="all asleep", thread_id=7
    )
    shown = report(
        make, panic=panic, waits=make.waits(), leaks=make.leaks(),
        suspects=make.suspects(), suspect="unicode.Scripts",
    )  # fmt: skip
    assert shown.lines()[0] == "ended by fatal error: all asleep"
    assert shown.lines()[1] == ""
    assert shown.document()["next"][:2] == ["goref panic", "goref hung"]
    assert "unicode" not in shown.text()


def test_what_is_wrong_comes_first(make):
    """The worst before the others, and each with the command for it."""
    panic = rows.make("Panic", kind="panic", thread_id=7)
    waits = make.waits((), [make.deadlock([5, 6], [make.awaited()] * 2)])
    shown = report(
        make,
        panic=panic,
        waits=waits,
        leaks=make.leaks(make.leak_group([7])),
        suspects=make.suspects(make.suspect()),
    )
    begins = ["ended by ", "1 likely deadlock ", "1 leaked ", "suspect: "]
    lines = shown.lines()
    assert [
        line.startswith(begin) for line, begin in zip(lines, begins)
    ] == [True] * 4
    assert lines[4] == ""
    verbs = [words.split()[1] for words in shown.document()["next"]]
    assert verbs[:4] == ["panic", "hung", "leaks", "suspects"]


def test_a_warning_is_not_repeated(make):
    """Opening the target has printed it."""
    shown = report(make, warnings=["no debug information"])
    assert "no debug information" not in shown.text()
    assert shown.document()["warnings"] == ["no debug information"]


def test_expected_gaps_are_no_news(make):
    """The text describes gaps; the document has their keys."""
    gaps = make.gaps(conservative_free_slots=2, frames_not_unwound=1)
    ledger = make.ledger((10, 10), (10, 10))._replace(gaps=gaps)
    shown = report(make, ledger=ledger)
    assert "gaps: 1 stack could not be unwound to its end" in shown.lines()
    assert "conservative" not in shown.text()
    assert shown.document()["gaps"]["conservative_free_slots"] == 2


def test_early_lines(make):
    """The lines of a first look, without the heap."""
    waits = make.waits((), [make.deadlock([5, 6], [make.awaited()] * 2)])
    lines = early_lines(make.info(), rows.make("Panic", kind="panic", thread_id=7), waits, None)
    assert lines[0].startswith("ended by ")
    assert lines[1] == "1 likely deadlock of 2 goroutines"
    assert lines[2].endswith(", go1.24.4")
    assert lines[3].startswith("goroutines: 7")
    assert len(early_lines(make.info(), None, None, None)) == 2


def found_waste(*findings, total_bytes=0):
    made = [
        rows.make(
            "WasteRow",
            {"check": check, "bytes": size, "count": 7, "type": type_,
             "field": field, "advice": "Do."},
        )
        for check, size, type_, field in findings
    ]  # fmt: skip
    return rows.make(
        "Waste",
        {"rows": tuple(made), "total_bytes": total_bytes, "heap_bytes": 1000},
    )


def test_what_could_be_saved(make):
    """The largest finding has a line, and a command to look closer."""
    pool = ("pool", 200, "main.buffers", None)
    large = found_waste(("slice-capacity", 300, "main.T", ".rows"), pool,
                        ("gc-headroom", 0, None, None),
                        total_bytes=400)  # fmt: skip
    lines = report(make, waste=large).lines()
    assert (
        "could be saved: 300 B (30.0 % of the heap) by slice-capacity in "
        "main.T.rows; 400 B with 1 more" in lines
    )
    assert any("goref waste" in line for line in lines)
    document = report(make, waste=large).document()
    assert document["waste"] == {
        "total_bytes": 400,
        "heap_bytes": 1000,
        "findings": [
            {"check": "slice-capacity", "bytes": 300, "count": 7,
             "type": "main.T", "field": ".rows"},
            {"check": "pool", "bytes": 200, "count": 7,
             "type": "main.buffers", "field": None},
        ],
    }  # fmt: skip
    assert "goref waste" in document["next"]
    one = report(make, waste=found_waste(pool, total_bytes=200)).text()
    assert "(20.0 % of the heap) by pool in main.buffers\n" in one


def test_nothing_much_could_be_saved(make):
    advice = found_waste(("gc-headroom", 0, None, None))
    for waste in (None, found_waste(), advice):
        answer = report(make, waste=waste)
        assert "could be saved" not in answer.text()
        assert "goref waste" not in answer.document()["next"]
    assert report(make).document()["waste"] is None
