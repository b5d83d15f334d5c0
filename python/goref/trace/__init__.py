# SPDX-License-Identifier: Apache-2.0
"""Growth of a running process, explained while it happens: the events that a
helper sees, joined with the pages and the heap that the scanner sees."""
