# SPDX-License-Identifier: Apache-2.0
"""Where the memory and the threads of a program come from: one interface, and
one module for each of the four sources. No question is answered here.

core     a core file, and the executable
saved    a file of `goref save'
process  a running process, which goref stops itself
gdb      what gdb has: a core, a process that it holds, a remote target

Each module is imported where it is used: only `gdb' needs gdb."""

from .source import Source

__all__ = ["Source"]
