# SPDX-License-Identifier: Apache-2.0
"""Commands that a shell takes as they are printed. Never imports gdb."""

import shlex


def command(*words: str) -> str:
    """A goref command."""
    return shlex.join(["goref", *words])
