# SPDX-License-Identifier: Apache-2.0
"""Who holds an object that leads back to itself, also through an object with a
finalizer, which is reached from nowhere else."""

from session import run_goref
from toolchains import variants

ROOTS = {
    "rings": "main.rings",
    "ringsNext": "main.rings",
    "ring": "runtime.SetFinalizer.obj",
    "ringNext": "runtime.SetFinalizer.obj",
    "ringLast": "runtime.SetFinalizer.obj",
    "other": "runtime.SetFinalizer.obj",
    "otherNext": "runtime.SetFinalizer.obj",
}


@variants("default", "noopt")
def test_chains_of_cycles_end(farm, variant):
    target = farm.target("cycle", variant)
    names = list(ROOTS)
    run = run_goref(
        target,
        [f"goref why {target.places[n]} --json" for n in names],
        timeout=60,
    )
    assert run.rc == 0, run.stderr
    for i, name in enumerate(names):
        answer = run.json(i)
        address = target.places[name]
        assert answer["reachable"], (name, answer)
        assert answer["root"]["name"] == ROOTS[name], (name, answer)
        chain = [hop["address"] for hop in answer["path"]]
        assert chain[-1] == address, (name, answer)
        reached = [a for a in chain if a not in (None, "0x0", 0)]
        assert len(reached) == len(set(reached)) <= 16, (name, answer)
