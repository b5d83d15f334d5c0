# SPDX-License-Identifier: Apache-2.0
# Writes the tables of rows and of methods of the extension. The file
# _goref.pyi declares them and says what the comments behind fields mean. The
# structs of the rows are in the headers that the sources below TOP include.
#
# Usage: make-rows.py PYI FOLDER TOP SOURCE...

import ast
import os
import re
import sys

# The selector of the conversion by the type of the field, and if it may be
# None. gdbext/convert.h defines them.
SCALARS = {
    "bool": ("GR_PY_BOOL", None),
    "int": ("GR_PY_INT", "GR_PY_INT_OR_NONE"),
    "str": ("GR_PY_STR", "GR_PY_STR_OR_NONE"),
    "_Addr": ("GR_PY_ADDR", "GR_PY_ADDR_OR_NONE"),
    "_Known": (None, "GR_PY_KNOWN"),
    "_Number": (None, "GR_PY_NUMBER"),
    "_Path": ("GR_PY_PATH", "GR_PY_PATH"),
    "_RootKind": ("GR_PY_ROOT_KIND", None),
    "_TargetKind": ("GR_PY_TARGET_KIND", None),
    "_Text": (None, "GR_PY_STR"),
    "_TypeId": (None, "GR_PY_TYPE_ID"),
}
# The classes whose methods are in tables.
WITH_METHODS = ("Growth", "Process", "Result", "Scan")
OWN = re.compile(r"(gr_py_\w+)\(\)")
MADE_FROM = re.compile(
    r"(?P<member>[a-z_][\w.]*(?:\[[\w.]*\])?)?"
    r" ?(?:if (?P<negated>not )?(?P<condition>[\w.]+))?"
)
ARRAY = re.compile(r"(?P<array>[\w.]+)\[(?P<count>[\w.]*)\]")
INCLUDE = re.compile(r'^#include "(?!gdbext/)\w+/[^"]*"', re.M)
STRUCT = re.compile(r"(?P<tag>\w+)(?:\.(?P<pattern>\S*\{(?:name|NAME)\}\S*))?")

NO_CONDITION = "it may be None, and no comment says when (# if MEMBER)"


class Undeclared(Exception):
    """The file does not declare what a table needs."""


def snake(name):
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def quoted(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    escaped = escaped.replace("\n", "\\n")
    return f'"{escaped}"'


def without_none(annotation):
    """The annotation without ` | None', and whether it had that."""
    if isinstance(annotation, ast.BinOp):
        right = annotation.right
        if isinstance(right, ast.Constant) and right.value is None:
            return annotation.left, True
    return annotation, False


class Declarations:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.path = path
        self.lines = text.split("\n")
        self.body = ast.parse(text, path).body
        self.classes = [n for n in self.body if isinstance(n, ast.ClassDef)]
        self.rows = {}
        self.nested = set()  # the names of those that are fields of others
        for node in self.classes:
            if "NamedTuple" in [getattr(b, "id", "") for b in node.bases]:
                self.rows[node.name] = Row(self, node)
        self.methods = [Methods("gr_py_functions", self.body)] + [
            Methods(f"gr_py_{n.name.lower()}_methods", n.body, n.name)
            for n in self.classes
            if n.name in WITH_METHODS
        ]

    def comment(self, line, column):
        """The comment behind a place in a line, without that for mypy."""
        text = self.lines[line - 1][column:].strip()
        text = re.sub(r"^# type: ignore\S*\s*", "", text)
        return text.removeprefix("#").strip()


class Row:
    """A class of rows, which a struct is made into."""

    def __init__(self, declared, node):
        head = declared.lines[node.lineno - 1]
        struct = STRUCT.fullmatch(
            declared.comment(node.lineno, head.find(":") + 1)
        )
        if not struct:
            raise Undeclared(
                node, f"{node.name}: no struct is named behind it"
            )
        self.name = node.name
        self.symbol = f"gr_py_{snake(node.name)}_row"
        self.node = node
        self.tag, self.pattern = struct["tag"], struct["pattern"]
        self.fields = [
            Field(declared, self, n)
            for n in node.body
            if isinstance(n, ast.AnnAssign)
        ]
        self.is_kept = any("Rows[" in f.annotation for f in self.fields)

    def check(self):
        """A pattern stands for all of an array or of a struct."""
        of = f"((struct {self.tag} *)0)"
        first = f"{of}->{self.fields[0].member}"
        whole = f"*{of}"
        if "[" in self.pattern:
            whole = f"{of}->{self.pattern.partition('[')[0]}"
        return (
            f"_Static_assert(sizeof({whole}) == "
            f"{len(self.fields)} * sizeof({first}), "
            f'"{self.name} has all of them");'
        )


class Field:
    """A field of a row, and what it is made from."""

    def __init__(self, declared, row, node):
        self.declared, self.row, self.node = declared, row, node
        self.name = node.target.id
        self.annotation = ast.unparse(node.annotation)
        self.type, self.is_optional = without_none(node.annotation)
        comment = declared.comment(node.end_lineno, node.end_col_offset)
        own, made = OWN.fullmatch(comment), MADE_FROM.fullmatch(comment)
        if not own and not made:
            self.fail(f'"{comment}" is no member and no function')
        self.own = own and own[1]
        self.member = (made and made["member"]) or self.name
        self.condition = made and made["condition"]
        self.is_negated = made and made["negated"]
        if row.pattern:
            self.member = row.pattern.format(
                name=self.name, NAME=self.name.upper()
            )

    def fail(self, text):
        raise Undeclared(self.node, f"{self.row.name}.{self.name}: {text}")

    def kind(self):
        """Type, and for tuple and Rows the type of the elements."""
        node = self.type
        if isinstance(node, ast.Name):
            return node.id, None
        if isinstance(node, ast.Subscript) and isinstance(
            node.value, ast.Name
        ):
            outer, inner = node.value.id, node.slice
            if outer == "Literal":
                return "str", None
            if outer == "Rows" and isinstance(inner, ast.Name):
                return outer, inner.id
            if outer == "tuple" and ast.unparse(inner).endswith(", ...)"):
                return outer, ast.unparse(inner.elts[0])
        return self.annotation, None

    def selector(self, name, is_optional):
        """The macro that selects the conversion of a scalar."""
        macro = SCALARS.get(name, (None, None))[is_optional]
        if not macro:
            self.fail(f"no conversion makes {self.annotation}")
        return macro

    def array(self):
        """Where an array is, and the count of its elements."""
        array = ARRAY.fullmatch(self.member)
        if array:
            return array["array"], array["count"]
        before, dot, last = self.member.rpartition(".")
        return self.member, f"{before}{dot}n{last}"

    def conversion(self, member, name, is_optional):
        """An expression: the function that converts a member, by its type."""
        row = self.declared.rows.get(name)
        if not row:
            return f"{self.selector(name, is_optional)}({member})"
        if is_optional:
            self.fail(NO_CONDITION)
        self.declared.nested.add(name)
        return f"_Generic({member}, struct {row.tag}: from_{snake(name)})"

    def expression(self):
        """An expression: the value, made from the struct that `of' is."""
        outer, inner = self.kind()
        array, count = self.array()
        count = count if count.isupper() else f"of->{count}"
        if outer == "bytes":
            return f"gr_py_bytes(of->{array}, {count})"
        if outer == "Rows":
            row = self.declared.rows.get(inner) or self.fail(f"no row {inner}")
            row = f"_Generic(*of->{array}, struct {row.tag}: &{row.symbol})"
            return (
                f"gr_py_rows_new(kept->owner, {row}, of->{array}, "
                f"sizeof(*of->{array}), {count})"
            )
        if outer == "tuple" and self.is_optional and not self.condition:
            self.fail(NO_CONDITION)
        if outer == "tuple" and inner == "str" and count == "of->":
            return f"gr_py_texts(of->{array})"
        if outer == "tuple":
            convert = self.conversion(f"*of->{array}", inner, False)
            return (
                f"gr_py_tuple(of->{array}, sizeof(*of->{array}), {count}, "
                f"{convert})"
            )
        may_be_none = self.is_optional and not self.condition
        convert = self.conversion(f"of->{self.member}", outer, may_be_none)
        return f"{convert}(&of->{self.member})"

    def is_simple(self):
        """It is one member, which one function converts."""
        outer = self.kind()[0]
        composed = outer in ("bytes", "tuple", "Rows")
        return not (self.own or self.condition or composed)

    def function(self):
        """The name of the function that makes it from the whole struct."""
        return self.own or f"{self.name}_of_{snake(self.row.name)}"

    def line(self):
        return f"#line {self.node.lineno} {quoted(self.declared.path)}"

    def definition(self):
        """That function, as lines."""
        tag = f"struct {self.row.tag}"
        yield self.line()
        yield f"static PyObject *{self.function()}(const void *value)"
        yield "{"
        if self.kind()[0] == "Rows":
            yield f"\tconst struct kept_{snake(self.row.name)} *kept = value;"
            yield f"\tconst {tag} *of = &kept->answer;"
        else:
            yield f"\tconst {tag} *of = value;"
        if self.condition:
            sign = "" if self.is_negated else "!"
            yield f"\tif ({sign}of->{self.condition})"
            yield "\t\tPy_RETURN_NONE;"
        yield f"\treturn {self.expression()};"
        yield "}"

    def entry(self):
        """Its entry in the table of the row."""
        offset, convert = "0", self.function()
        if self.is_simple():
            tag = self.row.tag
            offset = f"offsetof(struct {tag}, {self.member})"
            convert = self.conversion(
                f"((struct {tag} *)0)->{self.member}",
                self.kind()[0],
                self.is_optional,
            )
        yield self.line()
        yield f"\t{{ {quoted(self.name)}, {offset}, {convert} }},"


class Method:
    """A method of a class, a constructor, or a function of the module."""

    def __init__(self, node, owner=""):
        arguments = node.args
        if arguments.vararg or arguments.kwonlyargs or arguments.kwarg:
            raise Undeclared(node, f"{node.name}: * is not understood")
        self.owner = owner
        self.is_new = node.name == "__new__"
        self.name = owner if self.is_new else node.name
        prefix = f"{owner.lower()}_" if owner and not self.is_new else ""
        self.symbol = f"gr_py_{prefix}{self.name.lower()}"
        positional, named = arguments.posonlyargs, arguments.args
        if owner:
            del (positional or named)[0]
        given = [*positional, *named]
        defaults = [f"={ast.unparse(d)}" for d in arguments.defaults]
        defaults = [""] * (len(given) - len(defaults)) + defaults
        self.texts = [a.arg + d for a, d in zip(given, defaults)]
        if positional:
            self.texts.insert(len(positional), "/")
            if len(given) > 1:
                raise Undeclared(node, f"{node.name}: / is behind one only")
        self.names = [a.arg for a in named]

    def signature(self):
        first = [] if self.is_new else ["$self" if self.owner else "$module"]
        return quoted(f"{self.name}({', '.join(first + self.texts)})\n--\n\n")

    def entry(self):
        function, flags = self.symbol, "METH_NOARGS"
        if self.names:
            function = f"(PyCFunction)(void (*)(void)){function}"
            flags = "METH_VARARGS | METH_KEYWORDS"
        elif self.texts:
            flags = "METH_O"
        doc = f'{self.signature()} "See _goref.pyi."'
        return f"\t{{ {quoted(self.name)}, {function}, {flags}, {doc} }},"

    def declarations(self):
        if self.is_new:
            yield f"#define GR_PY_{self.name.upper()}_SIGNATURE \\"
            yield f"\t{self.signature()}"
        else:
            kind = "method" if self.names else "getter"
            yield f"gr_py_{kind}_fn {self.symbol};"
        if self.names:
            yield f"extern char *{self.symbol}_names[];"

    def definition(self):
        if self.names:
            texts = ", ".join(map(quoted, self.names))
            yield f"char *{self.symbol}_names[] = {{ {texts}, NULL }};"


class Methods:
    """A table of methods: those of a class, or the functions."""

    def __init__(self, symbol, body, owner=""):
        self.symbol = symbol
        self.methods = [
            Method(node, owner)
            for node in body
            if isinstance(node, ast.FunctionDef)
        ]

    def declarations(self):
        for method in self.methods:
            yield from method.declarations()
        yield f"extern PyMethodDef {self.symbol}[];"

    def definitions(self):
        for method in self.methods:
            yield from method.definition()
        yield f"PyMethodDef {self.symbol}[] = {{"
        for method in self.methods:
            if not method.is_new:
                yield method.entry()
        if not self.methods[0].owner:
            yield '\t{ "__getattr__", gr_py_rows_getattr, METH_O, NULL },'
            yield '\t{ "__dir__", gr_py_rows_dir, METH_NOARGS, NULL },'
        yield "\t{ NULL, NULL, 0, NULL },"
        yield "};"


def from_row(row):
    """The conversion of a row that is a field of another one."""
    yield f"static PyObject *from_{snake(row.name)}(const void *value)"
    yield "{"
    yield f"\treturn gr_py_row_new(&{row.symbol}, value);"
    yield "}"


def table(row):
    """The table of a row, behind the functions that it names."""
    name = f"{snake(row.name)}_fields"
    for field in row.fields:
        if not field.is_simple() and not field.own:
            yield from field.definition()
    yield f"static const struct gr_py_field {name}[] = {{"
    for field in row.fields:
        yield from field.entry()
    yield "\t{ NULL, 0, NULL },"
    yield "};"
    yield f'struct gr_py_row {row.symbol} = {{ "{row.name}", {name}, NULL }};'
    if row.pattern:
        yield row.check()


def keeping(row):
    """The structure that keeps an answer while one of its rows may be asked for."""
    kept, tag = f"struct kept_{snake(row.name)}", f"struct {row.tag}"
    yield f"{kept} {{"
    yield f"\t{tag} answer; // the fields of the row are its own"
    yield "\tPyObject *owner;"
    yield "};"
    yield f"static void destroy_{snake(row.name)}(void *answer)"
    yield "{"
    yield f"\t{row.tag}_destroy(answer);"
    yield "}"
    yield f"{keep_of(row)}"
    yield "{"
    yield f"\t{kept} kept = {{ .answer = *answer }};"
    yield "\t_cleanup_py_ PyObject *owner = gr_py_owner_new("
    yield f"\t\tscan, answer, destroy_{snake(row.name)});"
    yield "\tkept.owner = owner;"
    yield f"\treturn owner ? gr_py_row_new(&{row.symbol}, &kept) : NULL;"
    yield "}"


def keep_of(row):
    return (
        f"PyObject *gr_py_keep_{snake(row.name)}"
        f"(struct gr_py_scan *scan, struct {row.tag} *answer)"
    )


def includes_of(paths):
    """The lines that include headers of other rooms."""
    found = set()
    for path in paths:
        with open(path, encoding="utf-8") as file:
            found.update(INCLUDE.findall(file.read()))
    return sorted(found)


def source_of(declared, includes):
    rows = declared.rows.values()
    tables = [line for row in rows for line in table(row)]
    yield '#include "gdbext/gdbext.h"'
    yield from includes
    for row in rows:
        if row.name in declared.nested:
            yield from from_row(row)
        if row.is_kept:
            yield from keeping(row)
    yield from tables
    yield "struct gr_py_row *const gr_py_all_rows[] = {"
    for row in rows:
        yield f"\t&{row.symbol},"
    yield "\tNULL,"
    yield "};"
    for methods in declared.methods:
        yield from methods.definitions()


def header_of(declared):
    rows = declared.rows.values()
    yield "#ifndef GR_DECLARED_H"
    yield "#define GR_DECLARED_H"
    for row in rows:
        yield f"extern struct gr_py_row {row.symbol};"
    for own in sorted({f.own for row in rows for f in row.fields if f.own}):
        yield f"gr_py_convert_fn {own};"
    for row in rows:
        if row.is_kept:
            yield f"struct {row.tag};"
            yield f"{keep_of(row)};"
    for methods in declared.methods:
        yield from methods.declarations()
    yield "#endif"


def write(path, lines):
    """Write a file, unless it is as it should be: it is not compiled again."""
    text = "// Made of _goref.pyi by build-aux/make-rows.py.\n"
    text += "".join(f"{line}\n" for line in lines)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    with open(f"{path}.tmp", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{path}.tmp", path)


def main(path, folder, top, *sources):
    try:
        declared = Declarations(path)
        includes = includes_of(os.path.join(top, name) for name in sources)
        source = list(source_of(declared, includes))
        header = list(header_of(declared))
    except Undeclared as error:
        node, text = error.args
        sys.exit(f"{path}:{node.lineno}: {text}")
    except (OSError, SyntaxError) as error:
        sys.exit(f"{path}: {error}")
    write(f"{folder}/declared.c", source)
    write(f"{folder}/declared.h", header)


main(*sys.argv[1:])
