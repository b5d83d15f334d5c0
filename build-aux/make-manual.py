# SPDX-License-Identifier: Apache-2.0
# Writes the manual pages and the completion of bash and zsh. make runs it in
# gdb, whose Python is the one that is there: gdb -nx -batch -x FILE, with
# GOREF_SRC_DIR, GOREF_VERSION, and the folder GOREF_OUT.

import os
import sys

import gdb

sys.dont_write_bytecode = True


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    source = os.environ["GOREF_SRC_DIR"]
    sys.path[:0] = [source + "/python", source + "/build-aux"]
    import manual
    import shells

    out = os.environ["GOREF_OUT"]
    for name, text in manual.pages(os.environ["GOREF_VERSION"]).items():
        write(f"{out}/{name}", text)
    write(f"{out}/bash/goref", shells.bash())
    write(f"{out}/zsh/_goref", shells.zsh())


# gdb goes on after an error in a script, and ends with 0.
try:
    main()
except BaseException as problem:
    sys.stderr.write(f"make-manual.py: {problem!r}\n")
    gdb.execute("quit 1")
