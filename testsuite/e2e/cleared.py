# SPDX-License-Identifier: Apache-2.0
"""Go programs with random types and random structures in their variables, for
testsuite/programs/cleared: made.go, by the number of the program.

Each field that is cleared holds structures of its own, which refer to each
other in any way (also in cycles), and to some that another variable keeps."""

import random

TYPES = 6
FIELDS = 5  # of a type
ELEMENTS = 4  # at most, of what has several
POOL = 8  # objects that others of one field may refer to again

# A kind: the type in Go, and how to make a value, of the pointer's type T.
KINDS = {
    "pointer": ("*{T}", "new{T}()"),
    "slice": ("[]*{T}", "slice{T}()"),
    "slices": ("[][]*{T}", "[][]*{T}{{slice{T}(), slice{T}()}}"),
    "map": ("map[string]*{T}", "map{T}()"),
    "values": ("map[int]{T}", "values{T}()"),
    "any": ("any", "any(new{T}())"),
    "boxed": ("any", "any(slice{T}())"),
    "closure": ("func() *{T}", "closure{T}()"),
    "channel": ("chan *{T}", "channel{T}()"),
    "array": ("*[3]*{T}", "&[3]*{T}{{nil, new{T}(), nil}}"),
    "twice": ("**{T}", "twice{T}()"),
}

_TYPE = """
type {T} struct {{
	Number int
	Text   string
	Next   *{T}
{fields}
}}

var pool{T} [{pool}]*{T}
var kept{T} [4]*{T}

//go:noinline
func new{T}() *{T} {{
	t := &{T}{{}}
	made(unsafe.Pointer(t))
	pool{T}[next(len(pool{T}))] = t
	fill{T}(t)
	return t
}}

// A new one, or one that is there already.
func any{T}() *{T} {{
	if t := kept{T}[next(len(kept{T}))]; t != nil && isLucky(8) {{
		return t
	}}
	if t := pool{T}[next(len(pool{T}))]; t != nil && isLucky(25) {{
		return t
	}}
	return new{T}()
}}

func fill{T}(t *{T}) {{
	if isLucky(40) {{
		t.Text = text()
	}}
	if budget > 0 && isLucky(60) {{
		t.Next = any{T}()
	}}
{fills}
}}

func slice{T}() []*{T} {{
	s := []*{T}{{new{T}()}}
	for n := next({elements}); n > 0; n-- {{
		s = append(s, any{T}())
	}}
	return s
}}

func map{T}() map[string]*{T} {{
	m := map[string]*{T}{{text(): new{T}()}}
	for n := next({elements} * 4); n > 0; n-- {{
		m[text()] = any{T}()
	}}
	return m
}}

func values{T}() map[int]{T} {{
	m := map[int]{T}{{-1: {{Text: text(), Next: new{T}()}}}}
	for n := next({elements}); n > 0; n-- {{
		m[n] = {T}{{Next: any{T}()}}
	}}
	return m
}}

//go:noinline
func closure{T}() func() *{T} {{
	t, n := new{T}(), numbers()
	return func() *{T} {{
		n[0]++
		return t
	}}
}}

func channel{T}() chan *{T} {{
	c := make(chan *{T}, {elements}+1)
	c <- new{T}()
	for n := next({elements}); n > 0; n-- {{
		c <- any{T}()
	}}
	return c
}}

func twice{T}() **{T} {{
	p := new(*{T})
	*p = new{T}()
	return p
}}
"""

_HEAD = """
// Made by testsuite/e2e/cleared.py.
package main

import "unsafe"

const seed uint64 = {seed}
"""

_END = """
var everything struct {{
	Number int
	{of_struct}
	Sub struct {{
		Text string
		{of_sub}
	}}
	Row [2]struct {{
		Number int
		{of_row}
	}}
}}

{variables}

func forget() {{
	{forget}
}}

func fillKept() {{
	{keep}
}}

var fields = [...]field{{
{fields}
}}
"""


def _type(draw, number):
    """A type with fields of random kinds, of random other types."""
    fields, fills = [], []
    for i in range(FIELDS):
        other = f"T{draw.randrange(TYPES)}"
        kind = draw.choice([*KINDS, "struct", "text", "numbers"])
        if kind == "struct" and number + 1 < TYPES:  # no type has itself
            other = f"T{draw.randrange(number + 1, TYPES)}"
            fields.append(f"\tF{i} {other}")
            fills.append(f"\tfill{other}(&t.F{i})")
            continue
        type_, value = {
            "struct": ("string", "text()"),
            "text": ("string", "text()"),
            "numbers": ("[]int", "numbers()"),
        }.get(kind) or KINDS[kind]
        if kind == "pointer":
            value = "any{T}()"
        fields.append(f"\tF{i} {type_}".format(T=other))
        condition = f"if budget > 0 && isLucky({draw.randrange(20, 60)})"
        fills.append(f"\t{condition} {{ t.F{i} = {value.format(T=other)} }}")
    return _TYPE.format(
        T=f"T{number}",
        pool=POOL,
        elements=ELEMENTS,
        fields="\n".join(fields),
        fills="\n".join(fills),
    )


def made(seed, count):
    """made.go of the program with that number, with so many fields that are
    cleared."""
    draw = random.Random(seed)
    types = [f"T{i}" for i in range(TYPES)]
    places = {"": [], "everything.": [], "everything.Sub.": []}
    places["everything.Row[1]."] = []
    cases = []
    for i in range(count):
        prefix = draw.choice(list(places))
        kind, value = KINDS[draw.choice(list(KINDS))]
        other = draw.choice(types)
        name = f"{prefix}{'v' if not prefix else 'F'}{i}"
        places[prefix].append(f"{name.split('.')[-1]} {kind.format(T=other)}")
        cases.append(
            f'\t{{name: "main.{name}", '
            f"fill: func() {{ {name} = {value.format(T=other)} }}, "
            f"clear: func() {{ {name} = nil }}}},"
        )
    return _HEAD.format(seed=draw.randrange(1, 1 << 63)) + "".join(
        [
            *(_type(draw, i) for i in range(TYPES)),
            _END.format(
                of_struct="\n\t".join(places["everything."]),
                of_sub="\n\t\t".join(places["everything.Sub."]),
                of_row="\n\t\t".join(places["everything.Row[1]."]),
                variables="\n".join(f"var {text}" for text in places[""]),
                forget="\n\t".join(
                    f"pool{t} = [{POOL}]*{t}{{}}" for t in types
                ),
                keep="\n\t".join(
                    f"kept{t}[next(len(kept{t}))] = new{t}()" for t in types
                ),
                fields="\n".join(cases),
            ),
        ]
    )
