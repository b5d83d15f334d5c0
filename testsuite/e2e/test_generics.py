# SPDX-License-Identifier: Apache-2.0
"""Generic functions: a frame is named and typed as the instance that it runs,
though instances share their code."""

import pytest

from toolchains import variants

ALL = variants("default", "noopt", "pie")


@pytest.fixture
def scan(scanned, variant):
    return scanned("generics", variant)


@ALL
def test_instances_hold_what_is_theirs(scan):
    wrong = []
    for name, truth in scan.target.held.items():
        objects = scan.profile.prefix(name)[0]
        if objects != truth["objects"]:
            wrong.append(f"{name}: {objects}, not {truth['objects']}")
    assert wrong == []


@ALL
def test_nothing_of_the_program_is_of_a_shape(scan):
    """Neither in names of frames nor in types."""
    shapes = [
        sample.path
        for sample in scan.profile.samples
        if sample.path[0].startswith("main.")
        and any("go.shape." in name for name in sample.path)
    ]
    assert shapes == []
    assert scan.ledger["gaps"]["unresolved_generics"] == 0


@ALL
def test_instances_are_typed_to_the_end(scan):
    for name in scan.target.held:
        masked = scan.profile.total(
            lambda path, name=name: path[0].startswith(name)
            and "$sub_objects$" in path
        )[0]
        assert masked == 0, name
