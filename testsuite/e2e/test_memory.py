# SPDX-License-Identifier: Apache-2.0
"""The memory that is free on made-up machines, and what fits in."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "python" / "goref" / "memory.py"
_spec = importlib.util.spec_from_file_location("goref_memory", SOURCE)
memory = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(memory)

MB = 1 << 20


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(text))


def test_free(tmp_path):
    write(tmp_path, {"meminfo": "MemTotal: 9 kB\nMemAvailable:   2048 kB\n"})
    assert memory.free_bytes(str(tmp_path)) == 2 * MB
    assert memory.free_bytes(str(tmp_path / "none")) is None


ROWS = {
    "version 2": (
        "0::/pod/box\n",
        {
            "pod/box/memory.max": 100 * MB,
            "pod/box/memory.current": 70 * MB,
            "pod/box/memory.stat": f"anon 1\ninactive_file {20 * MB}\n",
        },
        50 * MB,
    ),
    "the one above has less": (
        "0::/pod/box\n",
        {
            "pod/box/memory.max": 100 * MB,
            "pod/box/memory.current": 70 * MB,
            "pod/memory.max": 80 * MB,
            "pod/memory.current": 75 * MB,
        },
        5 * MB,
    ),
    "no limit": (
        "0::/box\n",
        {"box/memory.max": "max\n", "box/memory.current": 70 * MB},
        None,
    ),
    "seen from inside a container": (
        "0::/not/visible\n",
        {"memory.max": 100 * MB, "memory.current": 10 * MB},
        90 * MB,
    ),
    "more used than allowed": (
        "0::/\n",
        {"memory.max": 10 * MB, "memory.current": 11 * MB},
        0,
    ),
    "version 1": (
        "3:cpu,cpuacct:/x\n2:memory:/box\n",
        {
            "memory/box/memory.limit_in_bytes": 64 * MB,
            "memory/box/memory.usage_in_bytes": 60 * MB,
            "memory/box/memory.stat": f"total_inactive_file {6 * MB}\n",
        },
        10 * MB,
    ),
    "version 1 without a limit": (
        "2:memory:/box\n",
        {
            "memory/box/memory.limit_in_bytes": 9223372036854771712,
            "memory/box/memory.usage_in_bytes": 60 * MB,
        },
        None,
    ),
    "no cgroups": ("", {}, None),
}


@pytest.mark.parametrize("row", ROWS)
def test_cgroup(tmp_path, row):
    own, files, free = ROWS[row]
    write(tmp_path, {"proc/self/cgroup": own})
    write(tmp_path / "top", files)
    told = memory.cgroup_free_bytes(
        str(tmp_path / "proc"), str(tmp_path / "top")
    )
    assert told == free


ESTIMATE = SimpleNamespace(
    copy_bytes=0, table_bytes=10 * MB, node_bytes=100, max_nodes=50000
)


@pytest.mark.parametrize(
    "limit, nodes",
    [
        (None, 1 << 20),
        (100 * MB, 1 << 20),
        (10 * MB + 100 * 5000, 5000),
        (10 * MB + 100 * 49999, 49999),
        (10 * MB + 100 * 50000, 1 << 20),
    ],
)
def test_nodes_within(limit, nodes):
    assert memory.nodes_within(ESTIMATE, 1 << 20, limit) == nodes


@pytest.mark.parametrize("limit", [0, 1, 10 * MB, 10 * MB + 100 * 4095])
def test_too_much(limit):
    with pytest.raises(memory.TooMuch):
        memory.nodes_within(ESTIMATE, 1 << 20, limit)


def test_few_objects_need_few_nodes():
    few = SimpleNamespace(**{**vars(ESTIMATE), "max_nodes": 10})
    assert memory.nodes_within(few, 1 << 20, 10 * MB + 1000) == 1 << 20


@pytest.mark.parametrize(
    "limit, has_room",
    [(None, True), (15 * MB + 100 * 5000, True), (15 * MB, False), (0, False)],
)
def test_room_for_the_graph(limit, has_room):
    beside = SimpleNamespace(**{**vars(ESTIMATE), "graph_bytes": 5 * MB})
    assert memory.has_room_for_graph(beside, 5000, limit) == has_room
