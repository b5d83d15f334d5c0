# SPDX-License-Identifier: Apache-2.0
"""Rows to text and to JSON. Pure: never imports gdb.

Each verb has a report: it takes the rows of _goref, and gives lines of text
and a JSON document of the same rows. Plain Python imports this package.
"""
