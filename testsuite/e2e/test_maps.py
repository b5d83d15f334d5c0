# SPDX-License-Identifier: Apache-2.0
"""Maps in the middle of growing: thousands, to meet rare chains of buckets."""

import pytest

from toolchains import variants


@pytest.fixture
def scan(scanned, variant):
    return scanned("growing", variant)


@variants("default")
def test_growing_maps(scan):
    name = "main.growing"
    truth = scan.target.held[name]
    assert scan.profile.root(name) == (truth["objects"], truth["bytes"])
    masked = scan.profile.total(
        lambda path: path[0] == name and "$sub_objects$" in path
    )[0]
    assert masked == 0
