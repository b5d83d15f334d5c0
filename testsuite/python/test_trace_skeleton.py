# SPDX-License-Identifier: Apache-2.0
"""The committed headers of goref-trace's BPF programs are made of the sources
that lie beside them: build-aux/make-skeleton has written their hash into each."""

import hashlib
import re
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
FOLDER = TOP / "helpers/trace"
if not FOLDER.exists():
    pytest.skip("no helpers/trace in this tree", allow_module_level=True)


@pytest.mark.parametrize("name", ["trace", "kernel", "native"])
def test_it_fits_its_sources(name):
    sources = [
        *sorted(FOLDER.glob("*.bpf.[ch]")),
        *sorted(FOLDER.glob("*event.h")),
    ]
    assert len(sources) >= 6
    wanted = hashlib.sha256(b"".join(s.read_bytes() for s in sources))
    header = (FOLDER / f"{name}.skel.h").read_text()
    found = re.match(r"/\* SHA-256 of the sources: (\w{64}) \*/\n", header)
    assert found, "no hash in its first line"
    assert found[1] == wanted.hexdigest(), "run build-aux/make-skeleton"
