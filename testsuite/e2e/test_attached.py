# SPDX-License-Identifier: Apache-2.0
"""Each verb about a process: `goref attach` copies the memory that the verb
needs, and the process goes on. The tests of the verbs ask cores."""

import json
from typing import Callable, NamedTuple

import pytest

import test_goroutines
import test_labels
import test_leaks
import test_profile_buckets
import test_profile_goroutine
import test_site_profiles
import test_sites
from asking import run_goref
from pprof import Profile
from targets import attach_reason, skip_if
from test_sums import check_sums
from toolchains import Variant

CENTRAL = Variant("go1.24", "default")


class Row(NamedTuple):
    """A question about a program, and its check: (target, document, path of
    the file that FILE of the question stands for)."""

    program: str
    args: list[str]
    question: str
    check: Callable


def dominators(_target, document, _path):
    assert check_sums(document, document["reached_bytes"]) > 10
    [sessions] = [row for row in document["children"]
                  if row["name"] == "main.sessionsByToken"]  # fmt: skip
    assert sessions["retained_bytes"] > 10 << 20


def goroutines(target, document, _path):
    wanted = set(test_goroutines.said(target.truth["stacks"]))
    assert {g["id"] for g in document["goroutines"]} == wanted


def labels(target, document, _path):
    """The strings of labels lie in memory that no walk needs."""
    wanted = test_labels.truth_of(target) | {1: {}}
    assert test_labels.labels_of(document) == wanted


def sites(target, document, _path):
    """The samples are copied with the heap."""
    found = test_sites.cells(document)
    for cell in target.truth["cells"]:
        row = found[cell["site"], cell["root"]]
        assert row["objects"] == cell["objects"]


def goroutine_profile(target, document, path):
    profile = test_profile_goroutine
    found, wanted = Profile.load(path), profile.own(target, "goroutine")
    limit = profile.deepest(wanted)
    assert profile.without_main(found, limit) == (
        profile.without_main(wanted, limit)
    )
    assert document["complete"]


def heap_profile(target, document, path):
    """Buckets are copied, and nothing else."""
    wanted = test_profile_buckets.own(target, "heap")
    test_profile_buckets.check_same(Profile.load(path), wanted)
    assert document["complete"] and not document["notes"]


def block_profile(target, document, path):
    test_profile_buckets.check_contention(
        target, "block", Profile.load(path), document
    )


def now(target, _document, path):
    found = test_site_profiles.in_use(Profile.load(path))
    truth = target.truth
    assert test_site_profiles.late_objects(found) == (
        truth["late_kept"] + truth["late_dropped"]
    )


def leaks(target, document, _path):
    assert document["leaked"] == sum(f["Count"] for f in target.truth)
    test_leaks.Document(json.dumps(document))


def hung(_target, document, _path):
    [deadlock] = document["deadlocks"]
    assert len(deadlock["ids"]) == 2


SAMPLED = ["65536"]
ROWS = {
    "dominators": Row("leaky", [], "dominators --top 0", dominators),
    "goroutines": Row("stacks", [], "goroutines", goroutines),
    "labels": Row("labelled", [], "goroutines", labels),
    "sites": Row("sites", ["1"], "histogram --by site,root", sites),
    "profile-goroutine": Row("profiled", [], "profile goroutine -o FILE",
                             goroutine_profile),
    "profile-heap": Row("sampled", SAMPLED, "profile heap -o FILE",
                        heap_profile),
    "profile-block": Row("sampled", SAMPLED, "profile block -o FILE",
                         block_profile),
    "profile-of-a-copy": Row("sampled", SAMPLED,
                             "--snapshot profile heap -o FILE", heap_profile),
    "now": Row("sites", ["1"], "profile heap --now -o FILE", now),
    "leaks": Row("leaks", ["leaked"], "leaks", leaks),
    "hung": Row("deadlocks", ["inversion"], "hung", hung),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_process(farm, name, tmp_path):
    skip_if(attach_reason())
    row, path = ROWS[name], tmp_path / "file.pb.gz"
    target = farm.target(row.program, CENTRAL, "live", args=row.args)
    words = [path if word == "FILE" else word for word in row.question.split()]
    done = run_goref("attach", target.process.pid, *words, "--json")
    assert done.returncode == 0, done.stderr
    row.check(target, json.loads(done.stdout), path)
    assert target.process.popen.poll() is None
