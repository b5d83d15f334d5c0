# SPDX-License-Identifier: Apache-2.0
"""Commands that a shell takes as they are printed. Never imports gdb."""

import os
import shlex


def _chosen_gdb() -> str:
    """A prefix that makes a command use the same gdb, such as "GDB=gdb-15 ".
    It is empty for the default gdb."""
    name = os.environ.get("GDB") or "gdb"
    return "" if name == "gdb" else f"GDB={shlex.quote(name)} "


def command(*words: str) -> str:
    """A goref command."""
    return _chosen_gdb() + shlex.join(["goref", *words])
