# SPDX-License-Identifier: Apache-2.0
"""Where objects were allocated, joined with who keeps them."""

import base64
import collections
import math

import pytest

from pprof import Profile
from session import run_goref
from toolchains import Variant, variants

CENTRAL = Variant("go1.24", "default")
SLOT_BYTES = 32768
DEFAULT_RATE = 512 * 1024
TIMES = "20"  # some 6,000 objects, 370 of them sampled


def table(target, *words):
    """The document of a histogram by site."""
    command = " ".join(["goref histogram --json", *words])
    run = run_goref(target, [command])
    assert run.rc == 0, run.stderr
    document = run.json(0)
    assert document["complete"], document["partial"]
    return document


def site_of(row):
    """The function of the program's truth that is in a stack of build()."""
    functions = [frame["function"] for frame in row["stack"]]
    if "main.build" not in functions:
        return functions[0] if functions else None
    return functions[functions.index("main.build") - 1]


def cells(document):
    """Rows by site and root."""
    found = collections.defaultdict(collections.Counter)
    for row in document["rows"]:
        for key in ("objects", "bytes", "sampled_objects", "sampled_bytes"):
            found[site_of(row), row["root"]][key] += row[key]
    return found


def own_in_use(target):
    """In-use objects and bytes by stack, the innermost call first."""
    profile = Profile(base64.b64decode(target.truth["heap"]))
    found = collections.defaultdict(collections.Counter)
    for sample in profile.samples:
        found[tuple(reversed(sample.frames))]["objects"] += sample.values[2]
        found[tuple(reversed(sample.frames))]["bytes"] += sample.values[3]
    return found


def frames(row):
    return tuple(
        (f["function"], f["file"], f["line"]) for f in row["stack"]
    )


def makes_items(stack):
    """Are the objects of that stack kept until the end?"""
    makers = ("main.fresh", "main.inlined", "main.shared")
    return any(function in makers for function, _, _ in stack)


@variants("default")
def test_site_and_root(farm, variant):
    """Every object is sampled: the counts are the program's own."""
    target = farm.target("sites", variant, args=["1"])
    document = table(target, "--by site,root")
    found = cells(document)
    for cell in target.truth["cells"]:
        values = found[cell["site"], cell["root"]]
        assert values["objects"] == values["sampled_objects"]
        assert values["objects"] == cell["objects"], cell
        assert values["bytes"] == cell["objects"] * SLOT_BYTES
    late = found["main.lateOne", "main.late"]
    assert late["objects"] == target.truth["late_kept"]
    assert not document["estimated"] and document["sample_rate_bytes"] == 1
    garbage = cells(table(target, "--by site --garbage"))
    dropped = garbage["main.lateOne", None]
    assert dropped["objects"] == target.truth["late_dropped"]
    assert not any(site == "main.fresh" for site, _ in garbage)


@pytest.mark.parametrize("rate", ["1", str(DEFAULT_RATE)])
@variants("default")
def test_site_as_in_the_profile(farm, variant, rate):
    check_profile(farm, variant, rate)


def test_site_as_in_the_profile_at_another_rate(farm):
    check_profile(farm, CENTRAL, "65536")


def check_profile(farm, variant, rate):
    """A site has as much as the program's own profile says is in use,
    scaled alike: those objects are all kept."""
    target = farm.target("sites", variant, args=[rate, TIMES])
    document = table(target, "--by site")
    wanted = {
        stack: values
        for stack, values in own_in_use(target).items()
        if makes_items(stack) and values["objects"]
    }
    found = {frames(row): row for row in document["rows"]}
    assert wanted
    for stack, values in wanted.items():
        for key, value in values.items():
            assert found[stack][key] == value, stack
    assert {stack for stack in found if makes_items(stack)} == set(wanted)
    assert document["estimated"] == (rate != "1")


def chances(n, p):
    """The chance of each number of samples of n objects: binomial, because the
    distance to the next sample is exponential and forgets what was before."""
    logs = [math.lgamma(i + 1) for i in range(n + 1)]
    return [
        math.exp(
            logs[n] - logs[k] - logs[n - k]
            + k * math.log(p) + (n - k) * math.log1p(-p)
        )
        for k in range(n + 1)
    ]  # fmt: skip


def chance_beyond(n, p, distance):
    """That the number of samples is so many sigmas or more off its mean."""
    sigma = math.sqrt(n * p * (1 - p))
    return sum(
        chance
        for k, chance in enumerate(chances(n, p))
        if abs(k - n * p) >= distance * sigma
    )


def allowed_exceptions(each, alarm):
    """How many independent events of these chances may happen: more of them
    have together a chance below alarm."""
    number = [1.0]  # the chance of each number of events so far
    for chance in each:
        number = [
            here * (1 - chance) + below * chance
            for here, below in zip([*number, 0.0], [0.0, *number])
        ]
    found = 0
    while sum(number[found + 1 :]) >= alarm:
        found += 1
    return found


def chi_square_above(value, degrees):
    """The chance of a larger sum of squares; for even degrees of freedom."""
    assert degrees % 2 == 0
    half, term, total = value / 2, 1.0, 0.0
    for i in range(degrees // 2):
        total += term
        term *= half / (i + 1)
    return math.exp(-half) * total


ALARM = 1e-6  # the chance that a test fails without a fault


def test_chances():
    """The tests of chance find what they should."""
    assert abs(sum(chances(300, 0.06)) - 1) < 1e-9
    assert 0.001 < chance_beyond(900, 0.06, 3) < 0.006
    assert allowed_exceptions([0.003] * 12, ALARM) == 3
    assert allowed_exceptions([0.003] * 12, 0.01) == 1
    assert abs(chi_square_above(21.03, 12) - 0.05) < 1e-3
    assert chi_square_above(60, 12) < ALARM < 1 - chi_square_above(2, 12)


@variants("default")
def test_estimates(farm, variant):
    """At the default rate, each site and root is within 3 sigma, but for as
    many as chance allows; all together scatter as samples do, neither more nor
    less; and their sum is within what chance allows."""
    target = farm.target("sites", variant, args=[str(DEFAULT_RATE), TIMES])
    document = table(target, "--by site,root")
    found = cells(document)
    p = 1 - math.exp(-SLOT_BYTES / DEFAULT_RATE)
    squares, far, beyond = 0.0, 0, []
    samples = objects = 0
    for cell in target.truth["cells"]:
        values, n = found[cell["site"], cell["root"]], cell["objects"]
        k = values["sampled_objects"]
        square = (k - n * p) ** 2 / (n * p * (1 - p))
        squares += square
        far += square >= 9
        beyond.append(chance_beyond(n, p, 3))
        samples, objects = samples + k, objects + n
        # Rounded down once for each stack and size, as runtime/pprof does.
        assert -2 <= values["objects"] - k / p <= 0.01
    assert far <= allowed_exceptions(beyond, ALARM), squares
    assert ALARM < chi_square_above(squares, len(beyond)) < 1 - ALARM, squares
    distance = abs(samples - objects * p) / math.sqrt(objects * p * (1 - p))
    assert chance_beyond(objects, p, distance) > ALARM, (samples, objects)
    assert document["estimated"]
    assert document["sample_rate_bytes"] == DEFAULT_RATE
    assert document["sampled_objects"] < document["heap_objects"]


@pytest.mark.parametrize("program", ["sites", "stacks"])
def test_no_samples(farm, program):
    """Sampling that is off, or that is not in the executable."""
    target = farm.target(program, CENTRAL, args=["0"])
    document = table(target, "--by site")
    word = "is off" if program == "sites" else "not linked"
    assert word in document["notes"][0]
    assert document["heap_objects"]