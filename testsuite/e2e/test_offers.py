# SPDX-License-Identifier: Apache-2.0
"""Goroutines that wait to send: what they offer has no variable, but the
channel knows its type."""

import pytest

from toolchains import RELEASES, Variant, variant_id, variants

FLAVOURS = {"default": ("core", "live"), "noopt": ("core",)}
ROWS = [
    (Variant(release, flavour), kind)
    for release in RELEASES
    for flavour, kinds in FLAVOURS.items()
    for kind in kinds
]

rows = pytest.mark.parametrize(
    "variant, kind", ROWS, ids=[f"{variant_id(v)}-{k}" for v, k in ROWS]
)


@rows
def test_offers(scanned, variant, kind):
    scan = scanned("offers", variant, kind)
    for name, truth in scan.target.held.items():
        assert scan.profile.root(name)[0] == truth["objects"], name
    reached = scan.ledger["reached"]
    assert reached["masked_bytes"] <= 0.01 * reached["bytes"]


@variants("stripped")
def test_without_debug_information(scanned, variant):
    scan = scanned("offers", variant, "core")
    for name, truth in scan.target.held.items():
        assert scan.profile.root(name)[0] == truth["objects"], name
