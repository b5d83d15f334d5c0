# SPDX-License-Identifier: Apache-2.0
"""The settings of goref, with their defaults. In gdb they are parameters
(ingdb/settings.py); params.py says what the values mean."""

MAX_DEPTH = 256
MAX_NODES = 1 << 20
PROGRESS = ["auto", "on", "off"]

DEFAULTS: dict[str, object] = {
    "cache": True,
    "max-depth": MAX_DEPTH,
    "max-nodes": MAX_NODES,
    "memory-limit": "auto",
    "progress": "auto",
    "threads": "auto",
}
