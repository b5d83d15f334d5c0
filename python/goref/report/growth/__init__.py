# SPDX-License-Identifier: Apache-2.0
"""The difference of two heaps as one page of HTML.

    document.py  makes the bounded document of a DiffReport, without values of
                 the program
    trees.py     the trees of what grew and of what shrank, by path
    page.py      makes the page, in the shell of all pages
    first.py     the first screen: how much, and who
    tables.py    a table of each kind of key
    about.py     both sides, and where to look closer

Pure: never imports gdb."""

from .page import page

__all__ = ["page"]
