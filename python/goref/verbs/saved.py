# SPDX-License-Identifier: Apache-2.0
"""Saved files: the verb that writes them, the source that reads them."""

from ..options import COMMON, Option
from .verb import Source, Verb

VALUES = Option(
    "values",
    "Save all memory, with strings, numbers and all other values of the "
    "program.",
)

SAVE = Verb(
    "save",
    "Save the target to a file that answers later questions",
    """\
Writes a file that `goref open' reads without the core, the process and the
executable. Every question that needs no values has the same answer from the
file.

The file has types, names, addresses, pointers and sizes, and what the runtime
keeps of itself. It has no values (no strings, numbers, keys of maps, labels of
goroutines, addresses of sockets, paths of data files or texts of panics) unless
--values is given. The file is compressed, and small enough to pass on.""",
    (VALUES, *COMMON),
    "FILE",
    """\
The file appears whole or not at all. To find out what must be in it, goref
walks the heap and reads what every other question reads.

To hand over a process without working on its machine, use `goref attach PID
save FILE': the process stops only to be copied.

Every file has some facts that reveal a little about values: lengths and
capacities, when timers and deadlines are due, constants in the code of
functions, parts of the hashes of map keys, and names of types and fields that
the program makes at run time (reflect.StructOf). doc/verbs.md has the whole
list.""",
    (
        ("core EXE CORE save heap.goref", "save a core"),
        ("attach PID save heap.goref", "save a process, which goes on"),
        ("open heap.goref dominators", "ask the file"),
    ),
    sample="{file}",
)

OPEN = Source(
    "open",
    "FILE",
    "Read a file that `save' has written",
    """\
The file answers all questions as the core or the process did when it was saved.
goref needs neither of these, nor the executable.

A file that was saved without --values has no values: a verb that prints values
says so in one line. Every build of goref reads the file if it knows the version
of its format.""",
    (),
    """\
In gdb, `goref open FILE VERB' asks the file one question. All other commands
still ask the program that gdb looks at. After `goref open FILE' alone, they ask
the file, until `goref close' returns to the program.""",
    (
        ("open FILE", "an overview"),
        ("open FILE why 0xc000782240", "what holds this object"),
    ),
)
