# SPDX-License-Identifier: Apache-2.0
# Writes the manual pages and the completion of bash and zsh.
#
# Usage: make-manual.py SOURCES VERSION FOLDER

import os
import sys

sys.dont_write_bytecode = True


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main(source, version, out):
    sys.path[:0] = [source + "/python", source + "/build-aux"]
    import manual
    import shells

    for name, text in manual.pages(version).items():
        write(f"{out}/{name}", text)
    write(f"{out}/bash/goref", shells.bash())
    write(f"{out}/zsh/_goref", shells.zsh())


main(*sys.argv[1:])
