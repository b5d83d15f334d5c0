# SPDX-License-Identifier: Apache-2.0
# The command "goref" in every gdb. It loads what it needs when it is first
# used. Without the package, this file does nothing.


def _source_goref():
    import os

    import gdb

    loader = "/usr/share/goref/goref.py"
    # ./gdb-goref brings the loader of a build tree.
    if os.path.exists(loader) and "GOREF_OWN_LOADER" not in os.environ:
        gdb.execute("source " + loader)


_source_goref()
del _source_goref
