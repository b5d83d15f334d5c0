# SPDX-License-Identifier: Apache-2.0
"""The memory that the kernel keeps for the sockets of a process, by sock_diag.
Source: linux/inet_diag.h, linux/unix_diag.h, linux/sock_diag.h, man 7
sock_diag."""

from __future__ import annotations

import ctypes
import os
import re
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress

_NETLINK_SOCK_DIAG = 4
_BY_FAMILY = 20  # SOCK_DIAG_BY_FAMILY
_DUMP = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
_DONE, _ERROR = 3, 2
_INET_SKMEMINFO = 7  # INET_DIAG_SKMEMINFO
_UNIX_SHOW_MEMINFO = 0x20  # UDIAG_SHOW_MEMINFO
_UNIX_MEMINFO = 5  # UNIX_DIAG_MEMINFO
_INET_BYTES, _UNIX_BYTES = 72, 16  # of the messages before their attributes
_INET_INODE, _UNIX_INODE = 68, 4
_TIMEOUT_S = 5.0
_MOST_FDS = 1 << 20

_HEAD = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")


class _RefusedError(OSError):
    """The kernel does not tell all sockets."""


def _inodes(pid: int) -> set[int]:
    """The inodes of the open sockets of a process. Raises an OSError."""
    found: set[int] = set()
    with os.scandir(f"/proc/{pid}/fd") as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                name = os.readlink(entry.path)
                if match := re.fullmatch(r"socket:\[(\d+)\]", name):
                    found.add(int(match[1]))
            if len(found) >= _MOST_FDS:
                raise _RefusedError
    return found


def _requests() -> Iterator[tuple[bytes, int, int, int]]:
    """(request, offset of the inode, bytes before attributes, attribute)."""
    for family in (socket.AF_INET, socket.AF_INET6):
        for protocol in (socket.IPPROTO_TCP, socket.IPPROTO_UDP):
            body = struct.pack(
                "=BBBBI48x",
                family,
                protocol,
                1 << (_INET_SKMEMINFO - 1),
                0,
                0xFFFFFFFF,
            )
            yield body, _INET_INODE, _INET_BYTES, _INET_SKMEMINFO
    body = struct.pack(
        "=BBHIIIII", socket.AF_UNIX, 0, 0, 0xFFFFFFFF, 0,
        _UNIX_SHOW_MEMINFO, 0, 0,
    )  # fmt: skip
    yield body, _UNIX_INODE, _UNIX_BYTES, _UNIX_MEMINFO


def _answers(link: socket.socket, body: bytes) -> Iterator[bytes]:
    """The answers to a request, each without its head. Raises an OSError: these
    are not all."""
    size = _HEAD.size + len(body)
    link.send(_HEAD.pack(size, _BY_FAMILY, _DUMP, 1, 0) + body)
    while True:
        data = link.recv(1 << 16)
        at = 0
        while at + _HEAD.size <= len(data):
            size, kind, *_ = _HEAD.unpack_from(data, at)
            if kind == _DONE:
                return
            if kind == _ERROR or size < _HEAD.size:
                raise _RefusedError
            yield data[at + _HEAD.size : at + size]
            at += (size + 3) & ~3
        if not data:
            raise _RefusedError


def memory_of(answer: bytes, begin: int, wanted: int) -> int | None:
    """The bytes of a socket, by its attribute: what it has received and not
    read, what it sends, and the rest that it has reserved (sk_meminfo:
    SK_MEMINFO_RMEM_ALLOC, WMEM_ALLOC or WMEM_QUEUED, FWD_ALLOC, OPTMEM,
    BACKLOG)."""
    at = begin
    while at + _ATTRIBUTE.size <= len(answer):
        size, kind = _ATTRIBUTE.unpack_from(answer, at)
        if size < _ATTRIBUTE.size:
            return None
        if kind == wanted and size >= _ATTRIBUTE.size + 32:
            values = struct.unpack_from("=8I", answer, at + _ATTRIBUTE.size)
            received, _, sent, _, reserved, queued, options, backlog = values
            # TCP counts what it sends twice; others do not queue it.
            sending = max(sent, queued)
            return received + sending + reserved + options + backlog
        at += (size + 3) & ~3
    return None


def _read_here(inodes: set[int]) -> int:
    """The memory of sockets in our own network namespace. Raises an OSError:
    the kernel has refused a request, and not all sockets were seen without
    it."""
    total, unseen, refused = 0, set(inodes), False
    with socket.socket(
        socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_SOCK_DIAG
    ) as link:
        link.settimeout(_TIMEOUT_S)
        for body, inode_at, begin, wanted in _requests():
            try:
                for answer in _answers(link, body):
                    if len(answer) < begin:
                        continue
                    (inode,) = struct.unpack_from("=I", answer, inode_at)
                    if inode in unseen:
                        unseen.remove(inode)
                        total += memory_of(answer, begin, wanted) or 0
            except _RefusedError:
                refused = True
    if refused and unseen:
        raise _RefusedError
    return total


def bytes_of(pid: int) -> int | None:
    """The memory of all sockets of a process; None: it cannot be known."""
    try:
        inodes = _inodes(pid)
        ours, theirs = (
            os.stat(f"/proc/{who}/ns/net") for who in ("self", str(pid))
        )
        if os.path.samestat(ours, theirs):
            return _read_here(inodes)
        return _read_there(pid)
    except (OSError, ValueError, struct.error, subprocess.SubprocessError):
        return None


def _read_there(pid: int) -> int | None:
    """The memory of sockets in another network namespace, which a process of
    ours enters."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    script = (
        f"import sys; sys.path.insert(0, {package!r})\n"
        "from goref.trace import sockets\n"
        f"print(sockets.enter_and_read({pid}))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script],
        capture_output=True,
        text=True,
        timeout=2 * _TIMEOUT_S,
    )
    return int(done.stdout) if done.stdout.strip().isdigit() else None


def enter_and_read(pid: int) -> int | None:
    """Enter the network namespace of a process, for ever, and read there."""
    inodes = _inodes(pid)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    if libc.setns(fd, 0x40000000):  # CLONE_NEWNET
        return None
    return _read_here(inodes)
