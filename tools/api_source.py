"""The public names of the Python package, read from its source: what tools/make_api.py writes and the tests check.

Nothing is imported, so that the result is the same for every version of Python and needs no built extension: signatures and
defaults are the characters of the source.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import pathlib
import re

INTERNAL = {"from_raw", "from_reader"}  # public by name, for the package's own use
SECTIONS = ("ops", "errors", "images", "compat.ffcv", "compat.torchvision", "compat.turboloader")


@dataclasses.dataclass
class Parameter:
    name: str
    text: str  # as written: "batch_size: int | None = None"
    about: str = ""


@dataclasses.dataclass
class Thing:
    """A class, a function, a method, a property or a value."""

    name: str
    kind: str
    module: str
    doc: str = ""
    parameters: list[Parameter] = dataclasses.field(default_factory=list)
    returns: str = ""
    line: int = 0
    bases: list[str] = dataclasses.field(default_factory=list)
    members: list[Thing] = dataclasses.field(default_factory=list)
    status: str = ""  # of an exception


class Module:
    def __init__(self, root: pathlib.Path, name: str) -> None:
        base = root.joinpath(*name.split(".")) if name else root
        self.path = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
        self.package = name if base.is_dir() else name.rpartition(".")[0]
        self.name = name
        text = self.path.read_text(encoding="utf-8")
        self.lines = text.encode().splitlines(keepends=True)  # ast counts columns in bytes
        self.tree = ast.parse(text)
        self.doc = inspect.cleandoc(ast.get_docstring(self.tree) or "")
        self.defined = {}  # name: (node, docstring behind it)
        self.imported = {}  # name: (module, name there)
        for node, after in zip(self.tree.body, [*self.tree.body[1:], None]):
            doc = _string(after)
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                self.defined[node.name] = (node, "")
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                self.defined[node.target.id] = (node, doc)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self.defined[node.targets[0].id] = (node, doc)
            elif isinstance(node, ast.ImportFrom) and node.level:
                parts = self.package.split(".") if self.package else []
                parts = parts[: len(parts) - node.level + 1] + ([node.module] if node.module else [])
                for alias in node.names:
                    self.imported[alias.asname or alias.name] = (".".join(parts), alias.name)

    def source(self, node: ast.AST) -> str:
        """The characters of a node, on one line. (ast.get_source_segment cuts the file into lines each time.)"""
        lines = self.lines[node.lineno - 1 : node.end_lineno]
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        return re.sub(r"\s*\n\s*", " ", b"".join(lines).decode())


def _assigns(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name


def _string(node: ast.AST | None) -> str:
    found = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return inspect.cleandoc(node.value.value) if found else ""


class Package:
    """``Package(root).names("")`` are the things of mldf itself, ``names("errors")`` those of mldf.errors."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self._modules: dict[str, Module] = {}

    def module(self, name: str) -> Module:
        if name not in self._modules:
            self._modules[name] = Module(self.root, name)
        return self._modules[name]

    def is_module(self, name: str) -> bool:
        base = self.root.joinpath(*name.split("."))
        return base.with_suffix(".py").exists() or base.is_dir()

    def names(self, module: str) -> list[str]:
        """What __all__ says, in the order of the source."""
        tree = self.module(module).tree
        out: list[str] = []
        for node in tree.body:
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            if isinstance(node, (ast.Assign, ast.AugAssign)) and getattr(target, "id", "") == "__all__":
                if isinstance(node.value, ast.List):
                    out += ast.literal_eval(node.value)
                else:  # __all__ += ops.__all__
                    out += self.names(node.value.value.id)
        return out

    def find(self, module: str, name: str) -> tuple[Module, str]:
        """Where a name of a module is defined."""
        m = self.module(module)
        if name in m.defined:
            return m, name
        if name in m.imported:
            return self.find(*m.imported[name])
        for there, what in [v for k, v in m.imported.items() if k == "*"]:
            if name in self.names(there):
                return self.find(there, name)
        raise LookupError(f"mldf.{module}: {name} is not found in the source")

    def thing(self, module: str, name: str) -> Thing:
        m, real = self.find(module, name)
        node, doc = m.defined[real]
        if isinstance(node, ast.ClassDef):
            return self._class(m, node)
        if isinstance(node, ast.FunctionDef):
            return self._function(m, node, "function")
        if isinstance(node.value, ast.Name):  # another name of the same
            same = self.thing(m.name, node.value.id)
            return dataclasses.replace(same, name=name, doc=f"The same as {node.value.id}.")
        return Thing(name, "value", m.name, doc, returns=m.source(node.annotation if hasattr(node, "annotation") else node.value))

    # ---- functions ----

    def _function(self, m: Module, node: ast.FunctionDef, kind: str) -> Thing:
        a = node.args
        positional = [*a.posonlyargs, *a.args]
        defaults = [None] * (len(positional) - len(a.defaults)) + list(a.defaults)
        if kind in ("method", "property") or (kind == "classmethod"):
            positional, defaults = positional[1:], defaults[1:]
        pairs = list(zip(positional, defaults))
        out = [self._parameter(m, arg, default) for arg, default in pairs]
        if a.posonlyargs and len(a.posonlyargs) > len(positional) - len(a.args):
            out.insert(len(a.posonlyargs) - (kind == "method"), Parameter("/", "/"))
        if a.vararg:
            out.append(self._parameter(m, a.vararg, None, "*"))
        elif a.kwonlyargs:
            out.append(Parameter("*", "*"))
        out += [self._parameter(m, arg, default) for arg, default in zip(a.kwonlyargs, a.kw_defaults)]
        if a.kwarg:
            out.append(self._parameter(m, a.kwarg, None, "**"))
        doc = inspect.cleandoc(ast.get_docstring(node) or "")
        return Thing(node.name, kind, m.name, doc, out, m.source(node.returns) if node.returns else "", node.lineno)

    def _parameter(self, m: Module, arg: ast.arg, default: ast.AST | None, stars: str = "") -> Parameter:
        text = stars + arg.arg
        if arg.annotation:
            text += f": {m.source(arg.annotation)}"
        if default is not None:
            text += f" = {m.source(default)}" if arg.annotation else f"={m.source(default)}"
        return Parameter(arg.arg, text)

    # ---- classes ----

    def _class(self, m: Module, node: ast.ClassDef) -> Thing:
        out = Thing(node.name, "class", m.name, inspect.cleandoc(ast.get_docstring(node) or ""), line=node.lineno)
        dataclass = any("dataclass" in m.source(d) for d in node.decorator_list)
        inherited: list[Thing] = []
        parts: list[Thing] = []
        repeated: set[str] = set()  # explained by a base that has its own place
        for base in node.bases:
            text = m.source(base)
            root = text.partition("[")[0]
            try:
                there, real = self.find(m.name, root)
            except LookupError:
                out.bases.append(text)  # Python's own
                continue
            if real in {*self.names("")} or real.startswith("Base"):
                out.bases.append(real)
                parent = self._class(there, there.defined[real][0])
                repeated |= {t.name for t in parent.members if t.doc}
                inherited += [t for t in parent.members if t.kind == "field"] if dataclass else []
            else:  # a part of the class that has a file of its own: its members are the class's
                parent = self._class(there, there.defined[real][0])
                parts += parent.members
                out.bases += parent.bases
                out.parameters = out.parameters or parent.parameters
        own = [t for t in self._members(m, node, dataclass) if t.doc or t.name not in repeated]
        names = {t.name for t in own}
        out.members = [t for t in inherited if t.name not in names] + own + [t for t in parts if t.name not in names]
        out.status = next((m.source(n.value) for n in node.body if _assigns(n, "status")), "").strip('"')
        made = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
        if made is not None:
            out.parameters = self._function(m, made, "method").parameters
            out.members += self._attributes(m, made)
        elif dataclass:
            fields = [t for t in out.members if t.kind == "field"]
            alone = [t for t in fields if t in inherited]  # keyword-only, in this package
            first = [t for t in fields if t not in inherited]
            if "kw_only=True" in "".join(m.source(d) for d in node.decorator_list):
                alone, first = fields, []
            out.parameters = [Parameter(t.name, t.returns, t.doc) for t in first]
            out.parameters += [Parameter("*", "*")] * bool(alone) + [Parameter(t.name, t.returns, t.doc) for t in alone]
        return out

    def _members(self, m: Module, node: ast.ClassDef, dataclass: bool) -> list[Thing]:
        out: list[Thing] = []
        for part, after in zip(node.body, [*node.body[1:], None]):
            if isinstance(part, ast.FunctionDef):
                decorators = [m.source(d) for d in part.decorator_list]
                if "overload" in decorators or any(d.endswith(".setter") for d in decorators) or part.name in INTERNAL:
                    continue
                hidden = part.name.startswith("_")
                if hidden and (not part.name.startswith("__") or not ast.get_docstring(part) or part.name == "__new__"):
                    continue
                kind = next((d for d in decorators if d in ("property", "classmethod", "staticmethod")), "method")
                out.append(self._function(m, part, kind))
            elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                name, kind = part.target.id, m.source(part.annotation)
                if name.startswith("_"):
                    continue
                text = f"{name}: {kind}"
                if part.value is not None:
                    value = m.source(part.value)
                    text += " = []" if value == "field(default_factory=list)" else " = {}" if "default_factory" in value else f" = {value}"
                what = "field" if dataclass and not kind.startswith("ClassVar") else "attribute"
                out.append(Thing(name, what, m.name, _string(after), returns=text))
            elif isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name) and node.bases:
                name = part.targets[0].id
                if m.source(node.bases[0]) == "Enum" and not name.startswith("_"):
                    out.append(Thing(name, "choice", m.name, _string(after), returns=m.source(part.value)))
        return out

    def _attributes(self, m: Module, node: ast.FunctionDef) -> list[Thing]:
        """Of ``self.x = ...`` with a docstring behind it."""
        out: list[Thing] = []
        for part, after in zip(node.body, [*node.body[1:], None]):
            doc = _string(after)
            if not doc or not isinstance(part, (ast.Assign, ast.AnnAssign)):
                continue
            target = part.targets[0] if isinstance(part, ast.Assign) else part.target
            for one in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(one, ast.Attribute) and not one.attr.startswith("_"):
                    kind = f": {m.source(part.annotation)}" if isinstance(part, ast.AnnAssign) else ""
                    out.append(Thing(one.attr, "attribute", m.name, doc, returns=one.attr + kind))
        return out


# ---- docstrings ----


SECTIONS_OF_NAMES = ("Parameters", "Other Parameters", "Attributes")  # numpydoc's


def paragraphs(doc: str) -> list[list[str]]:
    """Without the headings of the examples and notes, which need none."""
    doc = re.sub(r"^(Examples|Notes)\n-+\n", "", doc, flags=re.M)
    return [p.split("\n") for p in re.split(r"\n\s*\n", doc) if p.strip()]


def section(doc: str, title: str) -> list[tuple[str, str]]:
    """The rows of one of numpydoc's sections, as ("key, passphrase", what they mean)."""
    found = [p for p in paragraphs(doc) if p[0] == title and len(p) > 2 and set(p[1]) == {"-"}]
    return [row for p in found for row in rows(p) or ()]


ROW = re.compile(r"(\S(?:.*?\S)?)(\s{2,})(\S.*)$")


def rows(lines: list[str]) -> list[tuple[str, str]] | None:
    """A paragraph that is a table (names, two blanks or more, what they mean), or numpydoc's list of parameters; or None."""
    if len(lines) > 2 and lines[0] in SECTIONS_OF_NAMES and set(lines[1]) == {"-"}:
        listed: list[tuple[str, str]] = []
        for line in lines[2:]:
            if not line.startswith(" "):
                listed.append((line.split(" : ")[0], ""))
            else:
                listed[-1] = (listed[-1][0], f"{listed[-1][1]} {line.strip()}".strip())
        return listed
    first = ROW.match(lines[0])
    if first is None or lines[0].startswith((">>>", "...")):
        return None
    columns = {m.start(3) for m in map(ROW.match, lines) if m is not None and not m[0].startswith(" ")}
    out: list[tuple[str, str]] = []
    for line in lines:
        wide = ROW.match(line)
        column = next((c for c in columns if len(line) > c > 0 and line[c - 1] == " " != line[c]), 0)
        if not line.startswith(" ") and (wide or (column and line[:column].strip().count(" ") <= line[:column].count(","))):
            at = wide.start(3) if wide else column
            out.append((line[:at].strip(), line[at:].strip()))
        elif out:
            out[-1] = (out[-1][0], f"{out[-1][1]} {line.strip()}")
    return out


def table_names(left: str) -> list[str]:
    """The names that the left column of a row has: "key, passphrase"."""
    parts = [p.strip("`* ") for p in left.split(",")]
    return parts if all(re.fullmatch(r"\w+", p) for p in parts) else []


def explained(doc: str) -> dict[str, str]:
    """Parameter to explanation: those that have a row."""
    out: dict[str, str] = {}
    for paragraph in paragraphs(doc):
        for left, right in rows(paragraph) or ():
            for name in table_names(left):
                out.setdefault(name, right)
    return out


def mentions(doc: str, name: str) -> bool:
    """Is it explained in a row, as "name: ...", or named in backquotes?"""
    word = re.escape(name)
    return name in explained(doc) or re.search(rf"(\b{word}: )|(`{word}[`=(,])", doc) is not None
