# SPDX-License-Identifier: Apache-2.0
"""All answers as one page."""

from ..options import COMMON, VALUES
from .verb import Verb

REPORT = Verb(
    "report",
    "Write all answers as one HTML page",
    """\
Writes FILE, an HTML page for people who would rather look. It has what is
wrong, the heap and what keeps it alive, charts of dominators and of references
that can be searched and zoomed, suspects, roots, types, goroutines, who waits
for whom, leaks, and resident memory. The page is one file, which can be
attached to a ticket; a browser opens it without a network.""",
    (VALUES, *COMMON),
    "FILE",
    """\
The page has names, types, sizes and addresses of the program. Without --values,
it has no values: texts of panics, labels of goroutines with their keys, keys of
maps and addresses of sockets are left out.

The page has the rows of each tree and table that keep most alive, and says what
it leaves out. It has 0.2 to 1 MB as a rule, and 10 MB at most. If an answer
could not be found, the page says why. FILE appears whole or not at all.

In gdb, goref does not make the page: a report of a large heap takes memory that
a debugger should not take. Save the target there (`goref save FILE'), and run
`goref open FILE report PAGE' in a shell.""",
    examples=(
        ("core EXE CORE report page.html", "a page of a core"),
        ("attach PID report page.html", "a page of a running process"),
        ("open FILE report page.html", "a page of a saved file"),
    ),
    sample="{file}",
)
