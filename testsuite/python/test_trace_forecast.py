# SPDX-License-Identifier: Apache-2.0
"""goref trace: the forecast of its cost."""

import re

import pytest

from goref.trace import forecast
from goref.trace.helper import Helper, Message, Started


def test_forecast_of_page_faults():
    """10,000 faults of 2 us are 20 ms in each second."""
    found = forecast.text("rss", 5, faults_per_s=10000, event_ns=2000)
    assert "add about 2.0 us" in found and "are 10,000 a second" in found
    assert "so about 2.00 % of a processor if none repeats" in found
    assert found.endswith("; the limit is 5 %")
    beyond = forecast.text("rss", 1, faults_per_s=10000, event_ns=2000)
    assert beyond.endswith("is 1 %: many events may have no stack")


@pytest.mark.parametrize(
    "mode, known",
    [
        ("rss", {"event_ns": 900}),
        ("rss", {"faults_per_s": 7.0}),
        ("rss", {}),
        ("go", {}),
        ("go", {"rate": 0}),
        ("go", {"rate": 1}),
        ("go", {"rate": 524288}),
        ("kernel", {}),
    ],
)
def test_forecast_without_a_number(mode, known):
    """A share of a processor is then that of the limit alone."""
    found = forecast.text(mode, 0.5, **known)
    assert re.search("not known|is known;", found)
    assert "the limit is 0.5 %" in found
    assert found.count("%") == 1
    assert ("0.9 us" in found) == ("event_ns" in known)
    assert (" 7 a second" in found) == ("faults_per_s" in known)
    assert ("2,048 for each GiB" in found) == (known.get("rate", 1) > 1)


@pytest.mark.parametrize("said, event_ns", [("cost_of_event 1234", 1234),
                                            ("more 5", None)])  # fmt: skip
def test_the_helper_tells_its_cost(said, event_ns, monkeypatch):
    helper = object.__new__(Helper)
    helper._setup = []
    name, _, rest = said.partition(" ")
    answers = [Message("probe", "page faults"), Message(name, rest),
               Message("ready", "")]  # fmt: skip
    monkeypatch.setattr(helper, "_say", lambda lines: None)
    monkeypatch.setattr(helper, "read", lambda seconds: answers)
    assert helper.start(lambda: None) == Started(["page faults"], event_ns)
