# SPDX-License-Identifier: Apache-2.0
"""Every kind of value: the profile says what the program counted, exact to
the object, on every kind of target."""

import json

import pytest

from session import run_goref
from targets import TRUTH_TRIES, start_undisturbed
from test_rest import targets

rows = targets("live")

# Where DWARF says what a variable leads to, no mask is needed.
TYPED = [
    "vPointer", "vString", "vBytes", "vPointers", "vTail", "vArray",
    "vStruct", "vEmbedded", "vStrings", "vPtrPtr", "vBig", "vBigs",
    "vArraySmall", "vArrayLarge", "vGeneric", "vBuilder", "vTree", "vList",
    "vChan", "vChanStruct", "vChanPlain", "vAnyPtr", "vAnyStruct",
    "vAnyShaped", "vAnyString", "vAnySlice", "vAnyHuge", "vError",
    "vErrorWrap", "vStringer", "vAsserted", "vMapSmall", "vMapLarge",
    "vMapInts", "vMapPlain",
    "vMapWideKey", "vMapWideVal", "vMapPointers", "vMapSet", "vMapMaps",
    "vMapSlice", "vMapAny", "vMapDeleted", "vMapGrowing", "vMapEmpty",
    "vSyncMap", "vAtomicPointer", "vAtomicValue", "vContextValue",
]  # fmt: skip


@pytest.fixture
def scan(scanned, variant, kind):
    return scanned("values", variant, kind)


@rows
def test_truth_counts_by_hand(scan):
    """The heap grew by what the program's author counted."""
    assert scan.target.truth["faults"] == []


@pytest.mark.parametrize("faulty", [0, 1, 2, 9])
def test_disturbed_runs_are_no_truth(faulty, tmp_path):
    """A program of which the first runs say that they are wrong."""
    exe, runs = tmp_path / "program", tmp_path / "runs"
    exe.write_text(
        f"#!/bin/sh\necho >> {runs}\n"
        f"if [ $(wc -l < {runs}) -gt {faulty} ]\n"
        "then echo '{\"faults\": []}'\n"
        'else echo \'{"faults": ["one object more"]}\'\nfi\nread line\n'
    )
    exe.chmod(0o755)
    process = start_undisturbed(exe)
    process.stop()
    assert bool(process.truth["faults"]) == (faulty >= TRUTH_TRIES)
    assert len(runs.read_text()) == min(faulty + 1, TRUTH_TRIES)


@rows
def test_objects_and_bytes(scan):
    wrong = []
    for name, truth in scan.target.held.items():
        objects, size = scan.profile.root(name)
        if objects != truth["objects"]:
            wrong.append(f"{name}: {objects} objects, not {truth['objects']}")
        elif truth["bytes"] and size != truth["bytes"]:
            wrong.append(f"{name}: {size} bytes, not {truth['bytes']}")
    assert wrong == []


@rows
def test_contexts_hold_their_own_only(scan):
    """A timer's way into the scheduler is not followed."""
    assert scan.profile.root("main.vContextCancel")[0] == 1
    # The context, its timer and the closure that the timer calls.
    assert scan.profile.root("main.vContextTime")[0] == 3


@targets("live", since=24)
def test_handles_of_newer_releases(scan):
    assert scan.profile.root("main.vWeak")[0] == 1
    assert scan.profile.root("main.vUnique")[0] == 2
    (handle,) = scan.profile.children("main.vWeak")
    assert handle.startswith("u. (*") and handle.endswith("atomic.Uintptr)")


@rows
def test_types_explain_what_they_should(scan):
    masked = []
    for name in TYPED:
        count = scan.profile.total(
            lambda p, root="main." + name: p[0] == root
            and "$sub_objects$" in p
        )[0]
        if count:
            masked.append(f"{name}: {count} objects")
    assert masked == []


@rows
def test_ledger_equals_allocator(scan):
    ledger, heap = scan.ledger, scan.target.truth["heap"]
    allocated = ledger["heap"]["allocated_objects"]
    assert abs(allocated - heap["objects"]) <= 8
    if abs(ledger["reached"]["objects"] - allocated) > 2:
        # More has died since the last collection: each object for a reason.
        run = run_goref(scan.target, ["goref verify --json"])
        verdict, _ = json.JSONDecoder().raw_decode(run.parts[0])
        assert verdict["unexplained"] == 0
    assert ledger["reached"]["masked_bytes"] <= (
        0.01 * ledger["reached"]["bytes"]
    )


def has_path(profile, *wanted):
    """Is there a sample whose path has these nodes one below the other?"""
    size = len(wanted)
    for sample in profile.samples:
        path = sample.path
        for at in range(len(path) - size + 1):
            if path[at : at + size] == wanted:
                return True
    return False


NODES = [
    ("element", "main.vPointers", "[0]. (*main.Leaf)"),
    ("last of the first ten", "main.vPointers", "[9]. (*main.Leaf)"),
    ("tail of a slice", "main.vTail", "[10+]. (*main.Leaf)"),
    ("array", "main.vArray", "[2]. (*main.Leaf)"),
    ("map key", "main.vMapSmall", "$mapkey. (string)"),
    ("map value", "main.vMapSmall", "$mapval. (*main.Leaf)"),
    ("pointer as key", "main.vMapPointers", "$mapkey. (*main.Leaf)"),
    ("map in a map", "main.vMapMaps", "$mapval. (map[string]*main.Leaf)",
     "$mapval. (*main.Leaf)"),
    ("channel", "main.vChan", "[0]. (*main.Leaf)"),
    ("field", "main.vTree", "Left. (*main.Tree)", "Right. (*main.Tree)"),
    ("list", "main.vList", "Next. (*main.Node)", "Next. (*main.Node)"),
    ("struct in an interface", "main.vAnyStruct", "X. (*main.Leaf)"),
    ("slice of slices", "main.vStrings", "[3]. ([]string)",
     "[2]. (string)"),
]  # fmt: skip


@rows
def test_node_names(scan):
    wrong = []
    for what, *wanted in NODES:
        if not has_path(scan.profile, *wanted):
            root = wanted[0]
            below = {s.path for s in scan.profile.samples if s.path[0] == root}
            wrong.append((what, sorted(below)[:20]))
    assert wrong == []


@rows
def test_sync_map_names(scan):
    names = {n for s in scan.profile.samples for n in s.path
             if s.path[0] == "main.vSyncMap"}  # fmt: skip
    assert any(n.startswith("$mapkey.") for n in names), names
    assert any(n.startswith("$mapval.") for n in names), names


@rows
def test_struct_fields(scan):
    names = {n for s in scan.profile.samples for n in s.path
             if s.path[0] == "main.vStruct"}  # fmt: skip
    assert "Ptr. (*main.Inner)" in names
    assert any(n.endswith("Leaf. (*main.Leaf)") for n in names), names


@rows
def test_closure_names(scan):
    """Captured variables have names from the release on that records them."""
    below = {n for s in scan.profile.samples for n in s.path[1:]
             if s.path[0] == "main.vClosureVal"}  # fmt: skip
    assert "main.closureVal.func1" in below
    captured = any(n.startswith("payload. (") for n in below)
    assert captured or "$sub_objects$" in below
    if "main.vAlias" in scan.target.held:
        assert captured


@rows
def test_no_address_in_a_name(scan):
    """Names must not differ between two runs of a program."""
    heap = {hex(int(a, 16))[2:] for a in scan.target.places.values()}
    for function in scan.profile.functions.values():
        assert not any(a in function.name for a in heap), function.name


@rows
def test_why_finds_the_variable(scan):
    wrong = []
    for place, answer in scan.whys.items():
        root = "main." + place.partition(".")[0]
        if not answer["reachable"] or answer["root"]["name"] != root:
            wrong.append((place, answer))
        elif answer["path"][0]["name"] != root:
            wrong.append((place, answer["path"]))
    assert wrong == []


@rows
def test_why_describes_the_object(scan):
    address = int(scan.target.places["vInterior"], 16)
    answer = scan.whys["vInterior"]["object"]
    assert int(str(answer["base"]), 0) == address - 8
    assert answer["offset"] == 8
    assert answer["bytes"] == 24
    # That is what the pointer points to, and only a third of the object.
    assert answer["type"] != "uint64"
    leaf = scan.whys["vPointer"]["object"]
    assert leaf["type"] == "main.Leaf"
    assert leaf["offset"] == 0
    assert scan.whys["vPointer"]["root"]["kind"] == "global"


@targets("live", since=22)
def test_why_tells_an_array_from_its_element(scan):
    """A malloc header names the element, also of what make() has made."""
    array = scan.whys["vUnsafeArray"]["object"]
    elems = scan.whys["vUnsafeElems"]["object"]
    assert array["type"] == "[100]*main.Leaf"
    assert elems["type"] == "[]*main.Leaf"
    assert elems["bytes"] // 8 > 100


@rows
def test_why_names_every_hop(scan):
    names = [hop["name"] for hop in scan.whys["vList.later"]["path"]]
    assert names == ["main.vList"] + ["Next. (*main.Node)"] * 4
    names = [hop["name"] for hop in scan.whys["vTail.tail"]["path"]]
    assert names[0] == "main.vTail"
    assert names[-1] in ("[15]. (*main.Leaf)", "[10+]. (*main.Leaf)")


@rows
def test_target_is_described(scan):
    target = scan.ledger["target"]
    if scan.target.core:
        assert target["kind"] == "core"
        assert target["core"].endswith(scan.target.core.name)
    else:
        assert target["kind"] == "native"
        assert target["pid"] == scan.target.process.pid
    assert target["exe"].endswith("values")
    assert scan.ledger["go_version"] == scan.target.truth["go"]
