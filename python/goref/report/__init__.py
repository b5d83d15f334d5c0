# SPDX-License-Identifier: Apache-2.0
"""All answers as one page of HTML.

    commands/report.py  asks all questions, and puts their JSON documents
                        into one
    cards.py            the largest objects, and who holds each type
    limits.py           bounds that document
    values.py           takes the values of the program out of it
    waitgraph.py        draws who waits for whom as nodes and edges
    names.py            makes names short; origins.py says whose they are
    live.py             what all shares are shares of
    page.py             makes the page; sections/ has a file for each part
    growth/             the page of a difference of two heaps
    shell.py            the head, the bar at the top, styles and scripts of
                        any page
    assets/             the style sheets and the scripts: state.js keeps the
                        address, search.js asks all parts, panel.js shows
                        cards.js and holders.js

Pure: never imports gdb. Whatever the document says is text: markup.py is the
only way to make an element, and it escapes."""

from .page import page

__all__ = ["page"]
