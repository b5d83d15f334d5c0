# SPDX-License-Identifier: Apache-2.0
"""goref native leaks in a service that uses libraries as Debian has them: what
it has not closed is named, and nothing is said of what it still uses."""

import bisect
from pathlib import Path

import pytest

import natives
from natives import CENTRAL
from session import run_cli
from toolchains import variants

HEADERS = ["sqlite3.h", "zstd.h", "openssl/evp.h"]
# Objects of each library in a session, and the sessions.
KINDS = {
    "sqlite3": {"sqlite3", "sqlite3_stmt"},
    "zstd": {"ZSTD_CCtx", "ZSTD_DCtx"},
    "openssl": {"EVP_CIPHER_CTX", "EVP_MD_CTX", "BIGNUM"},
}
OPENED, DROPPED = 4, 12
# malloc fills what is freed. Without that, words of ended sessions stay in
# blocks that are used again and not written whole, and they hold sessions that
# lie where these were: nobody can tell them from pointers.
FILLED = {"MALLOC_PERTURB_": "85"}
# An old word on a stack may look like a pointer to one.
MOST_MISSED = 8


@pytest.fixture(scope="module", autouse=True)
def headers():
    for header in HEADERS:
        if not Path("/usr/include", header).exists():
            pytest.skip(f"no /usr/include/{header}")


class Blocks:
    """Finds the block that an object is in: sqlite3 has its own words before
    the addresses that it hands out."""

    def __init__(self, found):
        self._found = found
        self._starts = sorted(found)

    def around(self, address):
        i = bisect.bisect(self._starts, address) - 1
        start = self._starts[i] if i >= 0 else address
        is_within = i >= 0 and address < start + self._found[start] - 8
        return start if is_within else None


def check_kept(truth, blocks):
    for name, kinds in KINDS.items():
        kept = truth["kept"][name]
        assert len(kept) == OPENED * len(kinds)
        assert {kind for kind, _ in kept} == kinds
        for kind, address in kept:
            assert blocks.around(address), (name, kind)


def service(farm, variant, *args, env=FILLED):
    return farm.target("native_libs", variant, args=list(args), env=env)


@variants("cgo")
def test_leaks(farm, variant):
    """The objects of each library that were lost are held by nothing."""
    target = service(farm, variant, "leak")
    truth = target.truth
    blocks = Blocks(natives.reached(target))
    check_kept(truth, blocks)
    document = natives.leaks(target)
    lost = 0
    for name, kinds in KINDS.items():
        rows = truth["leaked"][name]
        assert len(rows) == DROPPED * len(kinds)
        missed = [row for row in rows if blocks.around(row[1])]
        assert len(missed) <= MOST_MISSED, (name, missed)
        lost += len(rows) - len(missed)
    # The blocks that they hold are lost, too.
    assert document["leaked_blocks"] > lost
    assert document["leaked_bytes"] > 64 * lost


@variants("cgo")
def test_groups_name_what_was_lost(farm, variant):
    """The objects of one kind have one size, and are in one group."""
    target = service(farm, variant, "leak")
    groups = natives.leaks(target)["groups"]
    assert groups[0]["bytes"] == max(group["bytes"] for group in groups)
    often = [group for group in groups if group["blocks"] >= DROPPED - 2]
    kinds = sum(len(kinds) for kinds in KINDS.values())
    assert len(often) >= kinds - 1
    for group in groups:
        assert int(group["example"], 16)


@variants("cgo")
def test_healthy_run(farm, variant):
    """All but the sessions in use was closed: there is nothing to say."""
    target = service(farm, variant)
    check_kept(target.truth, Blocks(natives.reached(target)))
    assert not any(target.truth["leaked"].values())
    document = natives.leaks(target)
    assert (document["leaked_blocks"], document["groups"]) == (0, [])


@pytest.mark.parametrize("env", [FILLED, {}], ids=["filled", "as it is"])
@pytest.mark.parametrize("args, status", [([], 0), (["leak"], 4)])
def test_fail_on_leaks(farm, args, status, env):
    target = service(farm, CENTRAL, *args, env=env)
    check_kept(target.truth, Blocks(natives.reached(target)))
    words = [*natives.where(target), "native", "leaks", "--fail-on-leaks"]
    done = run_cli(words)
    assert done.returncode == status, done.stdout
