# SPDX-License-Identifier: Apache-2.0
"""Names, and how the page of `goref report' shows them: for its Python and for
its scripts, which have the same rules."""

LONG = "main.(*Tree).insertAtTheRightmostPlaceThatIsFreeInTheTree.node"

# (the whole name, as it stands in a column of 56 characters)
SHORT = (
    ("main.T", "main.T"),
    ("[]uint8", "[]uint8"),
    ("", ""),
    ("github.com/nats-io/nats-server/v2/server.Account", "server.Account"),
    ("github.com/x/y/v2.T", "y.T"),
    ("y/v2.T", "v2.T"),
    ("v2.T", "v2.T"),
    ("map[string]*github.com/a/b/c.T", "map[string]*c.T"),
    ("map[a/k.K][]*a/b.T data", "map[k.K][]*b.T data"),
    ("func(a/b.T, ...c/d.U) (e/f.V, error)", "func(b.T, ...d.U) (f.V, error)"),
    ("chan<- a/b.T", "chan<- b.T"),
    ("a/b.T[c/d.U,[]*e/f.V]", "b.T[d.U,[]*f.V]"),
    ("a/b.(*T).M", "b.(*T).M"),
    ("a/b.(*Tree[go.shape.int_0]).Insert", "b.(*Tree[go.shape.int_0]).Insert"),
    ("github.com/a/b.(*T).M.func1", "b.(*T).M.func1"),
    ("github.com/a/b.c/d.T", "d.T"),
    ("gopkg.in/yaml%2ev3.(*Node).Decode", "yaml.(*Node).Decode"),
    ("msgs. (map[uint64]*github.com/x/y.T)", "msgs. (map[uint64]*y.T)"),
    ("[4]*a/b.node in a/b.node.children", "[4]*b.node in b.node.children"),
    ('struct { a/b.x int "json:\\"c/d.e\\"" }',
     'struct { b.x int "json:\\"c/d.e\\"" }'),
    ('main.routes["/a/b.c"]', 'main.routes["/a/b.c"]'),
    ('main.routes["a/b.c', 'main.routes["a/b.c'),
    ("encoding/json.Marshal", "json.Marshal"),
    ("a/b", "a/b"),
    ("/srv/a/b.c", "/srv/a/b.c"),
    ("../a/b.c", "../a/b.c"),
    ("a/b.\u00dcbung", "b.\u00dcbung"),
    (LONG, "main.(*Tree).insertAtTheRigh\u2026aceThatIsFreeInTheTree.node"),
    ("\U0001f600" * 57, "\U0001f600" * 28 + "\u2026" + "\U0001f600" * 27),
    ("x" * 56, "x" * 56),
    ("x" * 57, "x" * 28 + "\u2026" + "x" * 27),
)  # fmt: skip

MODULES = {
    "main": "github.com/x/y",
    "path": "github.com/x/y/cmd/y",
    "dependencies": ["corp/tools", "github.com/x/y/api", "go.uber.org/zap"],
}

# (a name, where it comes from in a program of MODULES)
ORIGINS = (
    ("main.T", "main"),
    ("*github.com/x/y/z.T", "main"),
    ("map[string]*github.com/x/y.T", "main"),
    ("map[github.com/x/y.K]bool", "main"),
    ("map[map[net/http.K]int]struct {}", "std"),
    ("github.com/x/y/api.T", "dependency"),
    ("github.com/x/y/vendor/a/b.T", "dependency"),
    ("go.uber.org/zap.(*Logger).Info", "dependency"),
    ("gopkg.in/yaml%2ev3.Unmarshal", "dependency"),
    ("corp/tools/log.T", "dependency"),
    ("example.org/unknown.T", "dependency"),
    ("chan<- net/http.Response", "std"),
    ("map[a/k.K[[2]c/d.U]][]*sync.Pool", "std"),
    ("runtime.g", "runtime"),
    ("internal/abi.Type", "runtime"),
    ("type:.eq.main.T", "runtime"),
    ("go.shape.int", "runtime"),
    ("[]uint8", "none"),
    ("string data", "none"),
    ("map[unfinished", "none"),
    ("struct { a/b.T; n int }", "none"),
    ("", "none"),
)
