# SPDX-License-Identifier: Apache-2.0
"""Packages of names, and whose they are."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from goref.packages import NONE, origin, package_of

MODULES = {
    "main": "github.com/nats-io/nats-server/v2",
    "path": "github.com/nats-io/nats-server/v2/cmd/nats",
    "dependencies": [
        "corp/tools",
        "github.com/nats-io/nats-server/v2/api",
        "golang.org/x/crypto",
    ],
}


@pytest.mark.parametrize(
    "name, package",
    [
        ("map[string]*github.com/x/y/z.T", "github.com/x/y/z"),
        ("map[a/k.K[[2]c/d.U]][]*a/b.T", "a/b"),
        ("map[string]map[int]chan a/b.T", "a/b"),
        ("map[a/k.K]bool", "a/k"),
        ("map[string]map[*a/k.K]struct {}", "a/k"),
        ("map[map[a/k.K]int]bool", "a/k"),
        ("map[string]bool", ""),
        ("[]uint8", ""),
        ("[4096]uint8", ""),
        ("[8]*main.T", "main"),
        ("**sync.Pool", "sync"),
        ("chan<- net/http.Response", "net/http"),
        ("<-chan *main.T", "main"),
        ("chan (<-chan time.Time)", "time"),
        ("a/b.T[c/d.U]", "a/b"),
        ("main.Pair[string,go/ast.Node]", "main"),
        ("main.(*T).f", "main"),
        ("main.(*Tree[go.shape.int_0]).Insert", "main"),
        ("github.com/x/y.(*T).Run.func1", "github.com/x/y"),
        ("a/b%2ec.f.func1", "a/b.c"),
        ("gopkg.in/yaml%2ev3.Unmarshal", "gopkg.in/yaml.v3"),
        ("gopkg.in/yaml.v3.(*Node).Decode", "gopkg.in/yaml.v3"),
        ("gopkg.in/a.v1/b.T", "gopkg.in/a.v1/b"),
        ("main.glob..func1", "main"),
        ("encoding/json.structEncoder.encode-fm", "encoding/json"),
        ("go/ast.Node", "go/ast"),
        ("go.etcd.io/etcd/raft.(*node).run", "go.etcd.io/etcd/raft"),
        ("go.uber.org/zap.Logger", "go.uber.org/zap"),
        ("type.example.org/x.T", "type.example.org/x"),
        ("go.shape.struct { F int }", "runtime"),
        ("string data", ""),
        ("main.T data", "main"),
        ("interface {}", ""),
        ("struct { a/b.T; n int }", ""),
        ("func(main.T) bool", ""),
        ("(type not known)", ""),
        ("gcWriteBarrier", ""),
        ("type:.eq.main.T", "runtime"),
        ("type..hash.[2]main.T", "runtime"),
        ("go:itab.*os.File,io.Reader", "runtime"),
        ("go.itab.*os.File,io.Reader", "runtime"),
        ("go.shape.int", "runtime"),
        ("go.etcd.io/etcd/mvcc.store", "go.etcd.io/etcd/mvcc"),
        ("*go.uber.org/zap.Logger", "go.uber.org/zap"),
        ("map[unfinished", ""),
        ("", ""),
        (".T", ""),
    ],
)
def test_package_of(name, package):
    assert package_of(name) == package


@pytest.mark.parametrize("part", ("map[", "[]", "*", "map[a]", "chan "))
def test_long_names(part):
    """The name of a type may have any length."""
    assert package_of(part * 50_000) == ""
    assert package_of(part * 50_000 + "a/b.T").count("a/b") <= 1


@pytest.mark.parametrize(
    "package, whose",
    [
        ("main", "main"),
        ("github.com/nats-io/nats-server/v2", "main"),
        ("github.com/nats-io/nats-server/v2/server", "main"),
        ("github.com/nats-io/nats-server/v2/api/x", "dependency"),
        ("github.com/nats-io/nats-server/v22", "dependency"),
        ("github.com/nats-io/nats-server/v2/vendor/a/b", "dependency"),
        ("golang.org/x/crypto/ssh", "dependency"),
        ("example.org/unknown", "dependency"),
        ("corp/tools/log", "dependency"),
        ("corp/toolset", "std"),
        ("net/http", "std"),
        ("vendor/golang.org/x/net/http/httpguts", "std"),
        ("internal/poll", "std"),
        ("runtime", "runtime"),
        ("runtime/debug", "runtime"),
        ("internal/runtime/maps", "runtime"),
        ("internal/abi", "runtime"),
        ("internal/abis", "std"),
        ("", ""),
    ],
)
def test_origin(package, whose):
    assert origin(package, MODULES) == whose


def test_main_module_without_a_dot():
    modules = {**NONE, "main": "shop"}
    assert origin("shop/cart", modules) == "main"
    assert origin("shopping", modules) == "std"


def test_build_without_modules():
    """The path of the main package is all that it has."""
    path = {**NONE, "path": "github.com/x/y"}
    assert origin("github.com/x/y/z", path) == "main"
    assert origin("github.com/x/z", path) == "dependency"
    assert origin("github.com/x/y", NONE) == "dependency"
    assert origin("main", NONE) == "main"
    assert origin("net/http", NONE) == "std"
