# SPDX-License-Identifier: Apache-2.0
"""Commands of gdb that are only the first words of others."""

import gdb

from ..errors import Error


class Prefix(gdb.Command):
    """Alone it prints its help."""

    name: str

    def __init__(self) -> None:
        super().__init__(self.name, gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)

    def invoke(self, arg: str, from_tty: bool) -> None:
        self.dont_repeat()
        if arg:
            raise Error(
                f'Undefined {self.name} command: "{arg.split()[0]}".  '
                f'Try "help {self.name}".'
            )
        self.run()

    def run(self) -> None:
        gdb.execute(f"help {self.name}")
