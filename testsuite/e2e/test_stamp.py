# SPDX-License-Identifier: Apache-2.0
"""Labels and the time of profiles, as go tool pprof reads them."""

import re
import subprocess

import pytest

from pprof import Profile
from session import run_cli
from toolchains import Variant, go_environment, pprof_binary, variants

CENTRAL = Variant("go1.24", "default")
TAGS = {"env": "staging", "service.name": "caf\u00e9 au lait"}
STAMP = [
    *(f"--label={key}={value}" for key, value in TAGS.items()),
    "--time=2026-07-01T12:00:00.25Z",
]
TIME_NS = 1782907200_250000000
QUESTIONS = {
    "scan": ["scan"],
    "heap": ["profile", "heap"],
    "goroutine": ["profile", "goroutine"],
}


def raw(variant, path):
    """The output of `go tool pprof -raw'."""
    done = subprocess.run(
        [pprof_binary(variant.release), "-raw", path],
        env=go_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize("question", QUESTIONS)
@variants(newest=("default",))
def test_stamp(farm, variant, question, tmp_path):
    target = farm.target("profiled", variant)
    out = tmp_path / "p.pb.gz"
    place = ["core", *target.gdb_args, *QUESTIONS[question]]
    done = run_cli([*place, "-o", out, *STAMP])
    assert done.returncode == 0, done.stderr
    profile = Profile.load(out)
    assert profile.time_nanos == TIME_NS
    for sample in profile.samples:
        assert TAGS.items() <= sample.labels.items()
    text = raw(variant, out)
    assert "2026-07-01 12:00:00.25 +0000 UTC" in text
    # pprof prints the labels of each sample below it.
    lines = re.findall(r"^ +.*\benv:\[staging\].*", text, re.M)
    assert len(lines) == len(profile.samples)
    assert all("service.name:[caf\u00e9 au lait]" in line for line in lines)
    # The same without a stamp: nothing else has changed.
    done = run_cli([*place, "-o", out])
    plain = Profile.load(out)
    assert plain.time_nanos == 0
    assert [(s.path, s.values) for s in plain.samples] == [
        (s.path, s.values) for s in profile.samples
    ]
    for before, after in zip(plain.samples, profile.samples):
        assert after.labels == before.labels | TAGS


def test_a_label_of_the_program_stays(farm, tmp_path):
    """A goroutine may have a label of the same name: pprof has both."""
    target = farm.target("labelled", CENTRAL)
    out = tmp_path / "p.pb.gz"
    core = ["core", *target.gdb_args, "profile", "goroutine", "-o", out]
    run_cli(core)
    labels = [s.labels.items() for s in Profile.load(out).samples]
    own = {k for items in labels for k, v in items if v}
    key = next(k for k in sorted(own) if re.fullmatch("[a-z]+", k))
    done = run_cli([*core, "--label", f"{key}=of the profile"])
    assert done.returncode == 0, done.stderr
    text = raw(CENTRAL, out)
    assert re.search(rf"\b{key}:\[.+ of the profile\]", text)