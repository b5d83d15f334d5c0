# SPDX-License-Identifier: Apache-2.0
"""The helper's setup: what the program's own symbols tell it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._goref import TraceFacts
    from .plan import Plan

_PPM = 10_000  # parts per million of a percent
_BANK_S = 10.0  # whose budget the helper has at the start (probes.c: BANK_MS)
# For caches that the process has to fill again, which the programs cannot
# measure.
_RESERVE = 0.2


def budget_ppm(plan: Plan) -> int:
    """The share of a processor, in parts per million, that keeps the whole
    trace below the limit. The helper begins with the budget of some seconds,
    so that a burst at the start has stacks; in the mode native, whose windows
    wait for their budget, it begins with none."""
    share = 1.0
    if not math.isinf(plan.seconds) and plan.mode != "native":
        share = plan.seconds / (plan.seconds + _BANK_S)
    return max(round(plan.overhead * (1 - _RESERVE) * _PPM * share), 1)


def setup(plan: Plan, facts: TraceFacts | None) -> list[str]:
    """Lines for the helper. facts: None, the program has not begun."""
    lines = [f"mode {plan.mode}", f"budget {budget_ppm(plan)}"]
    if facts is None:
        return [*lines, "wait"]
    return [*lines, *program(facts), *_sample_probe(plan, facts)]


def program(facts: TraceFacts) -> Iterator[str]:
    """Lines about the goroutines and the functions of a program."""
    if facts.tls_g is not None:
        yield f"tls_g {facts.tls_g}"
    yield f"sweepgen {facts.sweepgen_addr:#x}"
    for offset in facts.offsets:
        yield f"offset {offset.name} {offset.bytes}"
    for m in facts.modules:
        yield (
            f"go_module {m.text:#x} {m.etext:#x} {m.pclntable_addr:#x} "
            f"{m.pclntable_bytes:#x} {m.ftab_addr:#x} {m.ftab_count} "
            f"{m.text_start:#x}"
        )


def _sample_probe(plan: Plan, facts: TraceFacts) -> Iterator[str]:
    probe = facts.probe
    if plan.mode == "go" and probe is not None:
        yield (
            f"sample_probe {probe.addr:#x} {probe.pointer_register} "
            f"{probe.size_register}"
        )
