# SPDX-License-Identifier: Apache-2.0
"""goref native leaks with allocators beside that of glibc, alone and two in one
process: the blocks that a program has lost on purpose, and none of those that
something holds."""

import pytest

import allocators
import natives
import test_native_leaks
from natives import CENTRAL
from reports import embedded, write
from session import run_cli
from targets import attach_reason, skip_if
from test_native_leaks import HELD, LEAST_FOUND, LOST, LOST_BY_OTHERS, PLACES
from toolchains import RELEASES, Variant

PRELOADED = ["jemalloc", "tcmalloc", "tcmalloc-minimal", "mimalloc"]
ENDS = sorted({RELEASES[0], RELEASES[-1]})
# Other allocators leave more addresses of blocks on stacks.
MORE_MISSED = 5
# The break of a program that is linked with musl cannot be moved, and musl has
# no coroutines.
NOT_IN_MUSL = {"break", "frame that was left", "under a coroutine"}


def name_of(allocator):
    return allocator.partition("-")[0]


def target_of(farm, allocator, release, kind="core", how="other"):
    library = str(natives.library())
    if allocator.startswith("musl"):
        is_static = allocator == "musl-static"
        variant = allocators.musl(release, is_static)
        library = ""
        env = {}
    elif allocator == "je":
        variant, env = allocators.with_jemalloc(release), {}
    else:
        variant = Variant(release, "cgo")
        env = allocators.preloaded(allocator)
    return farm.target("native_leaks", variant, kind, [library, how], env)


def check_leaks(leaks):
    """Each block that was lost is leaked, in whichever allocator it is."""
    assert {kind: len(leaks.truth["leaked"][kind]) for kind in LOST} == LOST
    found = {kind: leaks.found(kind) for kind in leaks.truth["leaked"]}
    most = sum(found[kind] for kind in LOST)
    assert most >= LEAST_FOUND - MORE_MISSED, found
    assert found["threads"] >= LOST["threads"] - 2, found
    assert found["dead slice"] == 100
    assert found["behind c"] >= 9
    assert found["640"] >= 9
    others = leaks.document["leaked_blocks"] - sum(found.values())
    assert 0 <= others <= LOST_BY_OTHERS
    assert leaks.document["unchecked_arenas"] == 0


def check_held(leaks, places, is_exact):
    kept = leaks.truth["kept"]
    assert {kind: len(kept[kind]) for kind in HELD} == HELD
    assert places <= kept.keys()
    missing = {kind: len(leaks.missing(kind)) for kind in kept}
    assert {kind: n for kind, n in missing.items() if n} == {}
    for rows in kept.values():
        for address, bytes_ in rows:
            found = leaks.reached[address]
            assert found == bytes_ if is_exact else found >= bytes_


def check(target, places, is_exact=True):
    leaks = test_native_leaks.Leaks(target)
    check_held(leaks, places, is_exact)
    check_leaks(leaks)
    test_native_leaks.check_freed(leaks)
    return leaks


@pytest.mark.parametrize("kind", ["core", "live"])
@pytest.mark.parametrize("release", ENDS)
@pytest.mark.parametrize("allocator", PRELOADED)
def test_preloaded(farm, allocator, release, kind):
    if kind == "live":
        skip_if(attach_reason())
    target = target_of(farm, allocator, release, kind)
    check(target, set(PLACES))
    allocators.the_one(target, name_of(allocator))


@pytest.mark.parametrize("kind", ["core", "live"])
@pytest.mark.parametrize("release", ENDS)
@pytest.mark.parametrize("allocator", ["musl", "musl-static"])
def test_musl(farm, allocator, release, kind):
    if kind == "live":
        skip_if(attach_reason())
    target = target_of(farm, allocator, release, kind)
    check(target, set(PLACES) - NOT_IN_MUSL - {"library"}, is_exact=False)
    allocators.the_one(target, "musl")


# ---------------------------------------------------------------- two of them


def check_both(target, other):
    """Blocks of both allocators are lost, held and found, each in its own."""
    leaks = check(target, set(PLACES))
    of_glibc = set(leaks.truth["of_glibc"])
    lost = {
        address
        for rows in leaks.truth["leaked"].values()
        for address, _ in rows
    }
    assert len(lost & of_glibc) > 300 and len(lost - of_glibc) > 300
    found = lost - leaks.reached.keys()
    assert len(lost & of_glibc - found) <= 5
    assert len((lost - of_glibc) - found) <= 5
    for name in "glibc", other:
        allocator = allocators.the_one(target, name)
        assert allocator["in_use_blocks"] > 300
        allocators.check_sums(allocator)


@pytest.mark.parametrize("kind", ["core", "live"])
@pytest.mark.parametrize("release", ENDS)
def test_jemalloc_beside_glibc(farm, release, kind):
    """It is linked with the prefix je_, and malloc() is that of glibc."""
    if kind == "live":
        skip_if(attach_reason())
    check_both(target_of(farm, "je", release, kind, "both"), "jemalloc")


@pytest.mark.parametrize("allocator", PRELOADED)
def test_glibc_beside(farm, allocator):
    """The program calls that of glibc by its other name. Both may take the
    break."""
    target = target_of(farm, allocator, CENTRAL.release, how="both")
    check_both(target, name_of(allocator))


@pytest.mark.parametrize("kind", ["core", "gcore"])
@pytest.mark.parametrize("allocator", [*PRELOADED, "je"])
def test_saved(farm, tmp_path, allocator, kind):
    """A core of gdb tells no mappings of constants, such as a version."""
    how = "both" if allocator == "je" else "other"
    target = target_of(farm, allocator, CENTRAL.release, kind, how)
    allocators.check_saved(target, tmp_path)


@pytest.mark.parametrize("allocator", [*PRELOADED, "musl", "je"])
def test_verbs(farm, allocator):
    """The questions of the graph, and the classes of resident memory."""
    how = "both" if allocator == "je" else "other"
    target = target_of(farm, allocator, CENTRAL.release, how=how)
    where = natives.where(target)
    document = natives.asked(target, "rss")
    classes = {row["name"]: row["bytes"] for row in document["classes"]}
    assert classes["c_heap_leaked"] > 0 and classes["c_heap_go"] > 0
    leaks = test_native_leaks.Leaks(target)
    [address, _] = leaks.truth["kept"]["go"][0]
    done = run_cli([*where, "why", f"{address:#x}"])
    assert done.returncode == 0 and "main.goPointers" in done.stdout
    for verb in "overview", "native", "verify", "histogram --by holder":
        done = run_cli([*where, *verb.split()])
        assert done.returncode == 0, (verb, done.stderr)


def test_page(farm, tmp_path):
    """The page has the arenas of both, and the answer on leaks once."""
    target = target_of(farm, "je", CENTRAL.release, how="both")
    page = tmp_path / "page.html"
    write(target, page)
    names = [a["name"] for a in embedded(page)["native"]["allocators"]]
    assert sorted(names) == ["glibc", "jemalloc"]
    text = page.read_text(encoding="utf-8")
    for name in names:
        assert text.count(f"Arenas of {name} ") == 1
    assert text.count("Blocks that nothing holds") == 1


def test_linked_and_not_used(farm):
    """A jemalloc that has no memory says nothing beside glibc."""
    target = target_of(farm, "je", CENTRAL.release, how="")
    test_native_leaks.check(target)
    [allocator] = natives.native(target)["allocators"]
    assert allocator["name"] == "glibc"
