# SPDX-License-Identifier: Apache-2.0
"""The kernel moves pages, while goref looks at what is in memory: none is left
out."""

import json
import re
from pathlib import Path

import pytest

import asking
import natives
from session import run_cli
from targets import attach_reason, skip_if


def heap_of(pid):
    """Where the mapping with malloc's main heap begins."""
    maps = Path(f"/proc/{pid}/maps").read_text()
    return re.search(r"^([0-9a-f]+)-.*\[heap\]$", maps, re.M)[1]


@pytest.mark.parametrize("words", [[], ["--snapshot"]], ids=["stop", "fork"])
def test_moving_pages(farm, tmp_path, words):
    skip_if(attach_reason())
    target = farm.target("native_heap", natives.CENTRAL, "live",
                         ["4", "100000"])  # fmt: skip
    pid, moved = target.process.pid, tmp_path / "moved"
    libraries = [*asking.sanitizers(), asking.preloaded("moving_pages.c")]
    settings = {"LD_PRELOAD": " ".join(libraries), "MOVED": str(moved)}
    documents = []
    for place in "0", heap_of(pid):
        done = run_cli(
            ["attach", *words, pid, "native", "--json"],
            env={**settings, "MOVING": place},
        )
        assert done.returncode == 0, (done.stdout, done.stderr)
        documents.append(json.loads(done.stdout))
    before, after = documents
    assert before["allocators"][0]["checked"] is True
    assert after["allocators"] == before["allocators"]
    assert moved.read_bytes() == b"mm"
