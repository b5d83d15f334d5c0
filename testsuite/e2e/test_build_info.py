# SPDX-License-Identifier: Apache-2.0
"""The modules of a program are those that `go version -m` prints."""

import shutil
import subprocess

import pytest

import saved_file
from reports import embedded
from session import run_cli
from targets import attach_reason, kernel_core, kernel_cores_reason, skip_if
from targets import start
from toolchains import RELEASES, go_binary, go_environment

SECRET = "Zq7vXk2mWp9r"
FILES = {
    "go.mod": """module example.org/shop/v2

go 1.19

require example.com/dep v0.0.0

replace example.com/dep => ./dep
""",
    "cmd/shop/main.go": """package main

import (
	"fmt"
	"os"

	"example.com/dep"
	"example.org/shop/v2/cart"
)

var (
	part = &dep.Part{}
	kept = make([]*cart.Cart, 0, 1000)
)

func main() {
	for len(kept) < cap(kept) {
		kept = append(kept, new(cart.Cart))
	}
	fmt.Println("{}")
	os.Stdin.Read(part.B[:])
}
""",
    "cart/cart.go": "package cart\n\ntype Cart struct{ n [64]*Cart }\n",
    "dep/go.mod": "module example.com/dep\n\ngo 1.19\n",
    "dep/dep.go": "package dep\n\ntype Part struct{ B [4096]byte }\n",
}
PLACES = (("example.org/shop/v2", "."), ("example.com/dep", "dep"))
FLAVOURS = {
    "modules": (),
    "stripped": ("-ldflags=-s -w",),
    "secret": (f"-ldflags=-X main.unused={SECRET}",),
}


def build(folder, release, options, modules):
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    exe = folder / "shop"
    environment = go_environment()
    if modules:
        environment |= {"GO111MODULE": "on", "GOPROXY": "off"}
        environment["GOFLAGS"] = "-mod=mod"
    else:
        gopath = folder / "gopath"
        environment["GOPATH"] = str(gopath)
        for path, name in PLACES:
            shutil.copytree(
                folder / name,
                gopath / "src" / path,
                ignore=shutil.ignore_patterns("gopath"),
            )
        folder = gopath / "src/example.org/shop/v2"
    done = subprocess.run(
        [go_binary(release), "build", *options, "-o", exe, "./cmd/shop"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return exe


def truth(exe, release):
    """Go's own tool prints it."""
    done = subprocess.run(
        [go_binary(release), "version", "-m", exe],
        capture_output=True,
        text=True,
        check=True,
        env=go_environment(),
    )
    rows = [line.split("\t")[1:] for line in done.stdout.splitlines()[1:]]
    first = {row[0]: row[1] for row in rows if row[0] in ("path", "mod")}
    return {
        "main": first.get("mod"),
        "path": first.get("path"),
        "dependencies": [row[1] for row in rows if row[0] == "dep"],
    }


def modules(words, path):
    done = run_cli([*words, "report", path])
    assert done.returncode == 0, done.stderr
    return embedded(path)["modules"]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_modules(flavour, release, tmp_path):
    """A process, its core, and the file saved from that have them."""
    skip_if(kernel_cores_reason() or attach_reason())
    exe = build(tmp_path, release, FLAVOURS[flavour], modules=True)
    expected = truth(exe, release)
    assert expected == {
        "main": "example.org/shop/v2",
        "path": "example.org/shop/v2/cmd/shop",
        "dependencies": ["example.com/dep"],
    }
    process = start(exe)
    page, saved = tmp_path / "page.html", tmp_path / "saved"
    assert modules(["attach", process.pid], page) == expected
    core = kernel_core(process)
    assert modules(["core", exe, core], page) == expected
    done = run_cli(["core", exe, core, "save", saved])
    assert done.returncode == 0, done.stderr
    exe.unlink()
    assert modules(["open", saved], page) == expected
    # It has no flags of the linker.
    _, frames = saved_file.read(saved.read_bytes())
    content = b"".join(bytes(frame.unpack()) for frame in frames)
    assert b"example.com/dep" in content
    assert SECRET.encode() not in content


def test_build_without_modules(tmp_path):
    """There is the path of the main package."""
    skip_if(kernel_cores_reason())
    release = RELEASES[0]
    exe = build(tmp_path, release, (), modules=False)
    expected = truth(exe, release)
    assert expected["main"] is None and expected["dependencies"] == []
    core = kernel_core(start(exe))
    assert modules(["core", exe, core], tmp_path / "page.html") == expected


@pytest.mark.parametrize("damage", ("no head", "no length", "cut off"))
def test_damaged_build_information(damage, tmp_path):
    """It is no reason to fail."""
    skip_if(kernel_cores_reason())
    exe = build(tmp_path, RELEASES[0], (), modules=True)
    core = kernel_core(start(exe))
    data = bytearray(exe.read_bytes())
    at = data.index(b"\xff Go buildinf:")
    if damage == "no head":
        data[at] = 0
    elif damage == "no length":
        data[at + 32] = 0xFF
    else:
        at = data.index(b"dep\texample.com/dep", at)
        data[at : at + 4] = b"de\n\t"
    exe.write_bytes(data)
    found = modules(["core", exe, core], tmp_path / "page.html")
    whole = damage == "cut off"
    assert found["main"] == ("example.org/shop/v2" if whole else None)
    assert found["dependencies"] == []
