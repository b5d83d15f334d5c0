# SPDX-License-Identifier: Apache-2.0
"""The intervals of goref trace, by a clock that is always late."""

from types import SimpleNamespace

import rows
from goref.trace import watch


class Progress:
    def __call__(self):
        """Draws nothing."""


class Late:
    """A process that is watched: each look at the clock takes 0.07 s."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(watch.time, "monotonic", self.monotonic)
        cost = SimpleNamespace(events=1, lost={}, bpf_ns=10**7, off_ms=0)
        self.gathered = SimpleNamespace(
            gone="",
            all_events=0,
            take=None,
            tick=lambda: rows.make("GrowthTick"),
            take_cost=lambda: cost,
        )
        self.helper = SimpleNamespace(
            read=lambda left: [],
            flush=lambda word, take, poll: None,
        )

    def monotonic(self):
        self.now += 0.07
        return self.now

    def intervals(self, count):
        it = watch.Watch(
            0,
            self.helper,
            self.gathered,
            Progress(),
            SimpleNamespace(has_come=lambda: False),
            from_empty=False,
        )
        it._doing = lambda seconds: ""
        return list(it.intervals(lambda number: number * 1.0, count * 1.0))


def test_each_begins_where_the_one_before_ended(monkeypatch):
    found = Late(monkeypatch).intervals(3)
    ends = [it.end_s for it in found]
    assert [it.begin_s for it in found] == [0.0, *ends[:-1]]
    for number, end in enumerate(ends, 1):
        assert number < end < number + 0.5
    for it in found:
        assert it.overhead == 1 / (it.end_s - it.begin_s)
