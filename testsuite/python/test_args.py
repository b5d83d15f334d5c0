# SPDX-License-Identifier: Apache-2.0
"""Words to values, without gdb."""

import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from goref import args, stamp
from goref.verbs import QUESTIONS, SOURCES, VERBS

WASTE = VERBS["waste"].options
SCAN, OBJECTS = VERBS["scan"].options, VERBS["objects"].options


def scan(text="", **options):
    return args.Parser("goref scan", SCAN, **options).parse_text(text)


def refused(text, *words):
    with pytest.raises(args.UsageError) as problem:
        scan(text)
    message = str(problem.value)
    assert "\n" not in message
    for word in words:
        assert word in message, message


def test_nothing_given():
    options = scan()
    assert options.given == frozenset() and options.words == []
    assert options.out is None and options.top is None
    assert options.json is False and options.help is False
    assert options.attribution == "nearest"


@pytest.mark.parametrize(
    "text",
    [
        "--top 3 --json",
        "-top 3 -json",
        "--to=3 --js",
        "-to=3 -j",
        "-j --top=3",
    ],
)
def test_spellings(text):
    options = scan(text)
    assert options.top == 3 and options.json is True
    assert options.given == {"top", "json"}


@pytest.mark.parametrize("text", ["-o x", "-out x", "--out=x", "-ox", "--o x"])
def test_letter(text):
    assert scan(text).out == "x"


@pytest.mark.parametrize("text", ["--out=--", "-out=--", "-o--", '-o "--"'])
def test_two_dashes_as_a_value(text):
    assert scan(text).out == "--"


def test_two_dashes_that_are_no_value():
    options = scan("--out=-- -- --top")
    assert options.out == "--" and options.words == ["--top"]
    refused("--attribution=--", "attribution", "'--'")
    refused("--top=--", "not a number: --")
    refused("--out --", "expected one argument")


def test_what_equals_the_default_is_given():
    assert scan("--attribution nearest").given == {"attribution"}


def test_options_among_words():
    options = scan("main.a --top 2 main.b -- --json main.c")
    assert options.words == ["main.a", "main.b", "--json", "main.c"]
    assert options.top == 2 and not options.json


@pytest.mark.parametrize("text", ["--help", "-h", "-help", "main.a -h"])
def test_help(text):
    assert scan(text).help


@pytest.mark.parametrize(
    "text, words",
    [
        ("--nonsense", ["--nonsense"]),
        ("--jsn", ["--jsn", "is it --json?"]),
        ("--max 3", ["ambiguous", "--max-depth", "--max-nodes"]),
        ("--top", ["--top"]),
        ("--top many", ["many"]),
        ("--max-depth -3", ["3"]),
        ("--top \u0663", ["\u0663"]),
        ("--json=yes", ["--json"]),
        ("--attribution best", ["best"]),
        ("--memory-limit much", ["much", "500M"]),
        ("--memory-limit 0.5", ["less than a byte"]),
        ("--timeout 0", ["0"]),
        ("--top " + "9" * 5000, ["not a number: 999"]),
        ("--memory-limit " + "9" * 5000, ["not a size: 999"]),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else "",
)
def test_refused(text, words):
    refused(text, *words)


def waste(text):
    return args.Parser("goref waste", WASTE).parse_text(text)


@pytest.mark.parametrize(
    "text, names",
    [
        ("", None),
        ("--checks pool", ("pool",)),
        ("--checks=pool,sparse-map,pool", ("pool", "sparse-map")),
        ("--checks 'pool, size-class'", ("pool", "size-class")),
    ],
)
def test_names(text, names):
    assert waste(text).checks == names


@pytest.mark.parametrize(
    "text, words",
    [
        ("--checks pools", "there is no pools (is it pool?)"),
        ("--checks pool,x", "there is no x (one of duplicate-strings, "),
        ("--checks pool,", "a name is missing (as duplicate-strings,slice"),
        ("--min-share much", "not a percentage: much (as 1% or 0.5%)"),
        ("--min-share -1%", "expected one argument"),
        ("--min-share 101", "must be at most 100 %"),
    ],
)
def test_names_and_percentages_refused(text, words):
    with pytest.raises(args.UsageError) as error:
        waste(text)
    assert words in str(error.value)


@pytest.mark.parametrize(
    "text, percentage",
    [("", 1.0), ("0%", 0.0), ("0", 0.0), ("2.5%", 2.5), ("100", 100.0)],
)
def test_percentages(text, percentage):
    given = f"--min-share {text}" if text else ""
    assert waste(given).min_share == percentage


def test_no_words_where_there_are_none():
    parser = args.Parser("goref verify", OBJECTS, takes_words=False)
    with pytest.raises(args.UsageError, match="main.x"):
        parser.parse_text("main.x")


def test_repeated():
    parser = args.Parser("goref core", [*SCAN, *QUESTIONS.values()])
    assert parser.parse_text("--why a --why b").why == ["a", "b"]
    assert parser.parse_text("").why == []


def test_quotes_and_paths():
    assert scan("--out 'a b'").out == "a b"
    assert scan(r"--out a\ b").out == "a b"
    # The shell has taken the command line's own quotes off.
    parser = args.Parser("goref scan", SCAN, path=str)
    assert parser.parse(["--out", "~/it's"]).out == "~/it's"


@pytest.mark.parametrize(
    "text, words",
    [
        ("a b", ["a", "b"]),
        ("*(*map[string]interface {})(0x1)", 1),
        ("(*main.T) (0x1)", ["(*main.T)(0x1)"]),
        ("'a b' c", ["'a b'", "c"]),
        ("  ", []),
    ],
)
def test_split(text, words):
    found = args.split(text)
    assert (found if isinstance(words, list) else len(found)) == words


@pytest.mark.parametrize(
    "text, value",
    [("1k", 1024), ("1.5G", 3 << 29), ("2MiB", 2 << 20), ("unl", 0), ("7", 7)],
)
def test_sizes(text, value):
    assert args.size(text) == value


EVERY = [o for v in VERBS.values() for o in v.options]
EVERY += [*QUESTIONS.values(), *SOURCES["attach"].options]


@pytest.mark.parametrize(
    "word, number",
    [
        ("1", 1),
        ("2147483647", 2147483647),
        ("2147483648", None),
        ("0", None),
        ("9" * 5000, None),  # more digits than Python converts
        ("-1", None),
        ("\u0661", None),
        ("", None),
    ],
    ids=lambda value: ascii(value)[:12],
)
def test_process_number(word, number):
    assert args.process_number(word) == number


@pytest.mark.parametrize(
    "text, places",
    [
        ("EXE CORE scan", [0, 1, 2]),
        ("--json EXE CORE", [1, 2]),
        ("-o scan EXE CORE why", [2, 3, 4]),
        ("-oscan EXE", [1]),
        ("--out=scan EXE", [1]),
        ("--to 3 EXE", [2]),
        ("--max-pause 100 PID --snapshot why", [2, 4]),
        ("--why 0x1 PID", [2]),
        ("--nonsense EXE", [1]),
        ("--json -- -x --top", [2, 3]),
        ("- x", [0, 1]),
        ("EXE --out", [0]),
    ],
)
def test_operands(text, places):
    """An option's value is none."""
    assert args.Parser("goref", EVERY).operands(text.split()) == places


def test_candidates():
    parser = args.Parser("goref", EVERY)
    assert [o.name for o in parser.candidates("top")] == ["top"]
    assert parser.option("-js").name == "json"
    assert parser.option("--max") is None and parser.option("json") is None


@pytest.mark.parametrize(
    "text, names, others",
    [
        ("^main.T$", ["main.T"], ["main.Tree", "[4]main.T"]),
        ("main.T[int]", ["main.T[int]", "main.Ti"], ["main.T"]),
        ("[]uint8", ["[]uint8"], ["uint8", "[4]uint8"]),
        ("[4]*main.T", ["[4]*main.T"], ["main.T", "4main.T"]),
        ("map[string]*main.T", ["map[string]*main.T"], ["main.T"]),
        ("*main.T", ["**main.T"], ["main.T"]),
    ],
)
def test_matcher(text, names, others):
    """A regular expression, or a type as it is printed."""
    is_wanted = args.matcher(text)
    assert [n for n in [*names, *others] if is_wanted(n)] == names


def test_labels():
    options = scan("-o x --label env=prod --label 'a.b=x = y'")
    assert options.label == [("env", "prod"), ("a.b", "x = y")]
    assert scan("-o x").label == []


@pytest.mark.parametrize(
    "text, words",
    [
        ("env", "not a label: env"),
        ("=x", "not a name of a label"),
        ("env=", "not a label: env="),
        ("__name__=x", "not a name of a label: __name__"),
        ("pprof::base=x", "not a name of a label: pprof::base"),
        ("1a=x", "not a name"),
        ("a-b=x", "not a name"),
        (f"a={'x' * 2049}", "label a: the value is not printable text"),
        ("a=x\x1by", "label a: the value"),
    ],
)
def test_labels_refused(text, words):
    refused(f"-o x --label {text}", words)


@pytest.mark.parametrize(
    "text, nanoseconds",
    [
        ("1970-01-01T00:00:01Z", 10**9),
        ("2026-07-01T12:00:00Z", 1782907200 * 10**9),
        ("2026-07-01t14:00:00.000000001+02:00", 1782907200 * 10**9 + 1),
        ("2026-07-01T12:00:00.5z", 1782907200 * 10**9 + 5 * 10**8),
        ("1782907200", 1782907200 * 10**9),
        ("1782907200.25", 1782907200 * 10**9 + 25 * 10**7),
        ("2262-04-11T23:47:16.854775807Z", 2**63 - 1),
    ],
)
def test_times(text, nanoseconds):
    assert scan(f"-o x --time {text}").time == nanoseconds


def test_now():
    before = time.time_ns()
    assert before <= scan("-o x --time now").time <= time.time_ns()


@pytest.mark.parametrize(
    "text",
    [
        "yesterday",
        "2026-07-01",
        "2026-07-01T12:00:00",
        "2026-13-01T12:00:00Z",
        "2026-07-01T25:00:00Z",
        "1969-12-31T23:59:59Z",
        "2262-04-11T23:47:16.854775808Z",
        "-1",
        "0",
        "1e9",
        "99999999999",
    ],
)
def test_times_refused(text):
    refused(f"-o x --time={text}", "not a time", text)


STAMPED = (VERBS["scan"], VERBS["profile"])


@pytest.mark.parametrize("verb", STAMPED, ids=lambda verb: verb.name)
def test_stamp(verb):
    parser = args.Parser("goref", verb.options)
    words = ["-o", "x", "--label", "b=1", "--label", "a=2", "--time", "3"]
    assert stamp.of(parser.parse(words)) == ((("b", "1"), ("a", "2")), 3 * 10**9)
    assert stamp.of(parser.parse([])) == ((), 0)


@pytest.mark.parametrize(
    "words, reason",
    [
        (["--label", "a=b"], "--label is about the profile: add --out"),
        (["--time", "now"], "--time is about the profile"),
        (["-o", "x", "--format", "dot", "--time", "1"], "in the format dot"),
        (["--root-labels"], "--root-labels is about the profile: add --out"),
        (["-o", "x", "--format", "jsonl", "--root-labels"], "format jsonl"),
        (["-o", "x", "--label", "root_kind=x"], "goref itself writes"),
        (["-o", "x", "--label", "a=1", "--label", "a=2"], "given twice"),
        (["-o", "x"] + [f"--label=a{i}=1" for i in range(31)], "than 30"),
    ],
)
def test_stamp_refused(words, reason):
    parser = args.Parser("goref scan", SCAN)
    with pytest.raises(args.UsageError, match=reason):
        stamp.of(parser.parse(words))


def test_matcher_of_nothing():
    assert args.matcher(None) is None
    with pytest.raises(args.UsageError, match="not a regular expression"):
        args.matcher("(")


@pytest.mark.parametrize("word", ["'chan int'", '"chan int"'])
def test_quotes_of_texts(word):
    """gdb leaves them on, a shell does not."""
    options = VERBS["why"].options
    in_gdb = args.Parser("goref", options).parse(["--type", word])
    assert in_gdb.type == "chan int"
    in_shell = args.Parser("goref", options, has_quotes=False)
    assert in_shell.parse(["--type", word]).type == word
