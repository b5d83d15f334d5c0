# SPDX-License-Identifier: Apache-2.0
"""The four sources of the memory and the threads of a program. They have one
interface, and a module each. No question is answered here.

core     a core file, and the executable
saved    a file of `goref save'
process  a running process, which goref stops itself
gdb      the target of gdb: a core, a process that gdb holds, a remote target

Each module is imported where it is used, because `gdb' needs gdb."""

from .source import Source

__all__ = ["Source"]
