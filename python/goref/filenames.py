# SPDX-License-Identifier: Apache-2.0
"""The real names of files that gdb has open. Never imports gdb.

gdb 13 resolves all links of an executable's name. gdb 16 resolves those of its
folder: /proc/self/fd/7 becomes /proc/1234/fd/7, and /proc/1234/exe stays."""

import os
import re
from collections.abc import Mapping

_DESCRIPTOR = r"/proc/(?:self|{})/fd/(\d+)"


def _descriptor_in(pid: int) -> re.Pattern[str]:
    return re.compile(_DESCRIPTOR.format(pid))


def own_name(path: str, opened: Mapping[int, str], pid: int) -> str:
    """The name of a file that gdb names by a descriptor of ours. Any other name
    stays as it is.

    opened: names of files by descriptor of the process pid, which is ours."""
    match = _descriptor_in(pid).fullmatch(path)
    return opened.get(int(match[1]), path) if match else path


def with_own_names(text: str, opened: Mapping[int, str], pid: int) -> str:
    """Text of gdb in which files have their own names."""
    return _descriptor_in(pid).sub(
        lambda match: opened.get(int(match[1]), match[0]), text
    )


def real_name(path: str) -> str:
    """The name of a file without links. A link of /proc may have a name that
    leads to no file or to another one: the file was deleted, or the process
    sees other mounts. Such a link stays."""
    real = os.path.realpath(path)
    try:
        return real if os.path.samefile(real, path) else path
    except OSError:
        return path
