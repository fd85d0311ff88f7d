#!/usr/bin/env python3
"""Writes docs/api/: the reference of the Python package, from its docstrings and signatures (`make api`).

    tools/make_api.py [FOLDER]

The standard library is all it needs: the source is read, not imported (tools/api_source.py), so that every Python from 3.11 on
writes the same bytes. tests/python/test_pkg_api.py fails when the stored pages are out of date, and when something public
or one of its parameters is not explained.
"""

from __future__ import annotations

import pathlib
import re
import sys

import api_source
from api_source import Package, Thing, paragraphs, rows

ROOT = pathlib.Path(__file__).resolve().parents[1]

# Page: its title, and the modules whose public names it has. A module that stands nowhere has a page of its own.
PAGES = {
    "mldf": ("The package", [""]),
    "dataset": ("Reading datasets", ["dataset", "columns", "subsets", "keys", "schema", "sample"]),
    "writer": ("Writing datasets", ["writer", "fields", "audio", "tokens"]),
    "loader": ("Loading batches", ["loader", "engine", "loader_state", "loader_stats", "batch"]),
    "pipeline": ("Steps of pipelines", ["pipeline", "per_sample"]),
    "ops": ("Operations", ["ops"]),
    "files": ("Whole files", ["tools", "tool_options", "look", "results", "progress"]),
    "errors": ("mldf.errors", ["errors"]),
    "images": ("mldf.images", ["images"]),
    "compat": ("mldf.compat", ["compat.ffcv", "compat.torchvision", "compat.turboloader"]),
}
NOT_MADE = {"Dataset", "Keys", "Schema", "Operation"}  # by users: others give them
HEAD = "<!-- Written by tools/make_api.py (make api) from the docstrings of python/mldf. Do not edit. -->\n"


class Reference:
    def __init__(self, package: Package) -> None:
        self.package = package
        self.pages: dict[str, list[tuple[str, Thing]]] = {page: [] for page in PAGES}  # (module of the name, thing)
        self.where: dict[str, str] = {}  # "Dataset", "Dataset.close", "errors.Error": page and anchor
        taken: set[str] = set()
        for section in ("", *api_source.SECTIONS):
            for name in package.names(section):
                if name in taken and not section.startswith("compat") or name.startswith("__"):
                    continue
                if section == "" and package.is_module(name):
                    continue
                thing = package.thing(section, name)
                if section == "":
                    taken.add(name)
                self._place(section, thing)

    def _place(self, section: str, thing: Thing) -> None:
        of = section if section.startswith("compat") else thing.module
        page = next((p for p, (_, modules) in PAGES.items() if of in modules), of.replace(".", "-") or "mldf")
        if thing.name in NOT_MADE:
            thing.parameters = []
        self.pages.setdefault(page, []).append((of, thing))
        prefix = section.rpartition(".")[2] + "." if section.startswith("compat") else ""
        self.where.setdefault(prefix + thing.name, f"{page}.md#{slug(prefix + thing.name)}")
        for member in thing.members if not prefix else ():
            if member.kind in ("method", "property", "classmethod", "staticmethod"):
                self.where[f"{thing.name}.{member.name}"] = f"{page}.md#{slug(f'{thing.name}.{member.name}')}"

    # ---- text ----

    def link(self, name: str, page: str, owner: str = "") -> str:
        """The name as code, and a link where it has a place."""
        plain = name.removeprefix("mldf.")
        target = self.where.get(f"{owner}.{plain}") or self.where.get(plain)
        if target is None and plain in PAGES:
            target = f"{plain}.md"
        elif target is None and plain.startswith("compat."):
            target = f"compat.md#{slug('mldf.' + plain)}"
        if target is None:
            return f"`{name}`"
        there, _, anchor = target.partition("#")
        return f"[`{name}`]({'' if there == page + '.md' and anchor else there}{'#' + anchor if anchor else ''})"

    def inline(self, text: str, page: str, owner: str = "") -> str:
        """One paragraph's markup: roles, literals."""
        out = []
        for piece in re.split(r"(:\w+:`[^`]+`|``.+?``|`[^`]+`)", text):
            role = re.fullmatch(r":\w+:`~?([^`]+)`", piece)
            if role:
                out.append(self.link(role[1], page, owner))
            elif piece.startswith("``"):
                out.append(f"`{piece[2:-2]}`")
            elif piece.startswith("`"):
                out.append(piece)
            else:
                piece = re.sub(r"\bdocs/([\w./-]+\.md)\b", r"[docs/\1](../\1)", piece)
                out.append(re.sub(r"(?<!\w)\*(?=\w)|<(?=\w)|(?<=\w)\*\*(?=\w)", lambda m: "\\" + m[0], piece))
        return "".join(out)

    def text(self, thing: Thing, page: str, skip: set[str], owner: str = "") -> list[str]:
        """A docstring as Markdown. Rows of the parameters in `skip` stand in their own table."""
        out: list[str] = []
        parts = paragraphs(thing.doc)
        literal = False
        for lines in parts:
            table = rows(lines)
            if lines[0].startswith(">>>"):
                out += ["```pycon", *lines, "```", ""]
            elif literal and lines[0].startswith("    "):
                out += ["```", *(line[4:] for line in lines), "```", ""]
                continue
            elif table is not None:
                left = [(a, b) for a, b in table if not (n := api_source.table_names(a)) or not set(n) <= skip]
                if left:
                    out += ["| | |", "|---|---|"]
                    out += [f"| {cell(self.inline(code(a), page))} | {cell(self.inline(b, page, owner))} |" for a, b in left]
                    out.append("")
            else:
                out += self._prose(lines, page, owner)
            literal = lines[-1].endswith("::")
        return out

    def _prose(self, lines: list[str], page: str, owner: str) -> list[str]:
        """A paragraph, with an example that follows without an empty line."""
        at = next((i for i, line in enumerate(lines) if line.startswith(">>>")), len(lines))
        text = re.sub(r"::$", ":", " ".join(line.strip() for line in lines[:at]))
        out = [self.inline(text, page, owner), ""]
        return out + (["```pycon", *lines[at:], "```", ""] if at < len(lines) else [])

    # ---- things ----

    def parameters(self, thing: Thing, page: str, owner: str = "") -> list[str]:
        """The table of the parameters that are explained."""
        together: dict[str, list[str]] = {}  # several in one row have one explanation
        for name, about in self.about(thing).items():
            if about:
                together.setdefault(about, []).append(f"`{name}`")
        out = [f"| {', '.join(names)} | {cell(self.inline(about, page, owner))} |" for about, names in together.items()]
        return ["| parameter | |", "|---|---|", *out, ""] if out else []

    def about(self, thing: Thing) -> dict[str, str]:
        """Parameter to explanation: in its own row, or after the member."""
        own = {m.name: m.doc for m in thing.members if m.kind in ("attribute", "field")} | api_source.explained(thing.doc)
        return {p.name: own.get(p.name) or p.about for p in thing.parameters}

    def thing(self, section: str, thing: Thing, page: str) -> list[str]:
        title = section.rpartition(".")[2] + "." + thing.name if section.startswith("compat") else thing.name
        out = [f"{'###' if section.startswith('compat') else '##'} {title}", ""]
        if thing.kind == "value":
            out += [f"`{thing.name}: {thing.returns}`", ""]
        else:
            word = "class " if thing.kind == "class" else ""
            bare = thing.name in NOT_MADE or (thing.module == "errors" and not thing.parameters)
            lines = [f"class {thing.name}"] if bare else signature(thing, word)
            out += ["```python", *lines, "```", ""]
        bases = [b for b in thing.bases if not b.startswith(("Base", "tuple"))]
        if bases and thing.module != "ops":
            out += ["Bases: " + ", ".join(self.link(b, page) for b in bases) + ".", ""]
        names = {p.name for p in thing.parameters}
        out += self.text(thing, page, names, thing.name)
        out += [f"`status` is `{thing.status}`.", ""] if thing.status else []
        out += self.parameters(thing, page, thing.name)
        out += self._values(thing, page, names)
        for member in thing.members:
            if member.kind not in ("method", "property", "classmethod", "staticmethod"):
                continue
            out += [f"{'####' if section.startswith('compat') else '###'} {title}.{member.name}", ""]
            if member.kind == "property":
                out += [f"*property*: `{member.returns}`", ""]
            else:
                word = {"classmethod": "classmethod ", "staticmethod": "staticmethod "}.get(member.kind, "")
                out += ["```python", *signature(member, word), "```", ""]
            skip = {p.name for p in member.parameters}
            out += self.text(member, page, skip, thing.name) + self.parameters(member, page, thing.name)
        return out

    def _values(self, thing: Thing, page: str, parameters: set[str]) -> list[str]:
        """Attributes of an object, members of an enum."""
        if thing.module == "ops":
            return []
        have = [m for m in thing.members if m.kind in ("attribute", "choice", "field") and m.name not in parameters]
        if not have:
            return []
        out = ["| attribute | |", "|---|---|"]
        for m in have:
            left = f"`{thing.name}.{m.name}`" if m.kind == "choice" else f"`{m.returns}`"
            out.append(f"| {cell(left)} | {cell(self.inline(m.doc or (m.returns if m.kind == 'choice' else ''), page, thing.name))} |")
        return [*out, ""]

    # ---- pages ----

    def page(self, page: str) -> str:
        title, modules = PAGES.get(page, (f"mldf.{page}", [page]))
        out = [HEAD, f"# {title}", ""]
        files = [f"python/mldf/{self.package.module(m).path.relative_to(self.package.root)}" for m in modules]
        links = [f"[{f}](../../{f})" for f in files]
        out += [f"[Index](README.md) · source: {', '.join(links)}", ""]
        for module in modules:
            things = [t for m, t in self.pages[page] if m == module]
            things.sort(key=lambda t: t.line)
            if module.startswith("compat"):
                out += self._compat(module, things, page)
                continue
            out += self.text(Thing(module, "module", module, introduction(self.package.module(module).doc)), page, set())
            for thing in things:
                out += self.thing(module, thing, page)
        return "\n".join(out).rstrip("\n") + "\n"

    def _compat(self, module: str, things: list[Thing], page: str) -> list[str]:
        """Functions with another library's names and arguments: a table is enough."""
        short = module.rpartition(".")[2]
        out = [f"## mldf.{module}", ""]
        out += self.text(Thing(module, "module", module, self.package.module(module).doc), page, set())
        out += [f"The arguments are those of {short}; [docs/migrate-{short}.md](../migrate-{short}.md) says what differs.", ""]
        plain = [t for t in things if t.kind != "class" or t.module == "ops" or _is_step(t)]
        out += ["| | |", "|---|---|"]
        for t in plain:
            doc = brief(t.doc)
            if doc.startswith("The same") and " as " not in doc and t.name in self.where:
                doc = f"The same as mldf.{t.name}{doc.removeprefix('The same')}"
            about = self.inline(re.sub(r"\bmldf\.(\w+)", r":class:`mldf.\1`", doc), page)
            if t.kind == "value":
                about = about or "Nothing to do: values are decoded by their field."
                left = f"{t.name}()" if "(" in t.returns else t.name
            else:
                left = " ".join(signature(t, "", 10_000))
            if t.module == "ops":
                left, about = t.name, f"The same as {self.link('mldf.' + t.name, page)}."
            out.append(f"| {cell(code(left))} | {cell(about)} |")
        out.append("")
        for t in things:
            if t not in plain:
                out += self.thing(module, t, page)
        return out

    def index(self) -> str:
        out = [HEAD, "# The Python package, name by name", ""]
        out += [
            "From the docstrings; `help(mldf.open)` shows the same. How things go together is in [the guide](../guides/python.md) and in",
            "[loading batches](../python-loader.md).",
            "",
        ]
        for page, things in self.pages.items():
            title = PAGES.get(page, (f"mldf.{page}",))[0]
            out += [f"## [{title}]({page}.md)", ""]
            if page in ("compat", "ops", "errors"):
                names = {"compat": [m for m in PAGES["compat"][1]]}.get(page, [t.name for _, t in things])
                out += [" · ".join(self.link(f"mldf.{n}" if page == "compat" else n, "README") for n in names), ""]
                continue
            out += ["| | |", "|---|---|"]
            out += [f"| {self.link(t.name, 'README')} | {cell(self.inline(brief(t.doc), 'README'))} |" for _, t in things]
            out.append("")
        return "\n".join(out).rstrip("\n") + "\n"

    def files(self) -> dict[str, str]:
        out = {"README.md": self.index()}
        for page, things in self.pages.items():
            if things:
                out[f"{page}.md"] = self.page(page)
        return out


def introduction(doc: str) -> str:
    """A module's docstring without what its functions' own tables have. One line alone says nothing that the page does not."""
    parts = ["\n".join(lines) for lines in paragraphs(doc)]
    tables = {i for i, part in enumerate(parts) if rows(part.split("\n")) is not None}
    kept = [p for i, p in enumerate(parts) if i not in tables and not (i + 1 in tables and p.endswith((":", "takes")))]
    return "\n\n".join(kept) if len(kept) > 1 else ""


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def code(text: str) -> str:
    return text if "`" in text else f"`{text}`"


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def _is_step(thing: Thing) -> bool:
    """A class with another library's name that has nothing to say besides its arguments: a transform, a decoder, a field."""
    return any(base.startswith("ops.") or base in ("Operation", "Field", "list[Any]") for base in thing.bases)


def brief(doc: str) -> str:
    """The first sentence."""
    first = " ".join(doc.split("\n\n")[0].split())
    found = re.match(r"(.+?[.?])(?= [A-Z`]|$)", re.sub(r"::?$", ".", first))
    return found[1] if found else first


def signature(thing: Thing, word: str, width: int = 110) -> list[str]:
    """As written in the source, over several lines when it is long."""
    tail = f" -> {thing.returns}" if thing.returns and thing.kind != "class" else ""
    texts = [p.text for p in thing.parameters]
    line = f"{word}{thing.name}({', '.join(texts)}){tail}"
    if len(line) <= width:
        return [line]
    return [f"{word}{thing.name}(", *(f"    {text}," for text in texts), f"){tail}"]


def undocumented(reference: Reference) -> list[str]:
    """What is public and not explained."""
    out = []
    for page, things in reference.pages.items():
        for section, thing in things:
            out += _missing(reference, thing, thing.name if page != "compat" else f"{section}.{thing.name}", page)
    return out


def _missing(reference: Reference, thing: Thing, name: str, page: str) -> list[str]:
    out: list[str] = []
    if not thing.doc and not (page == "compat" and thing.kind == "value"):
        out.append(name)
    known = reference.about(thing) if page != "compat" else {}
    for parameter in known:
        plain = parameter not in "*/" and not known[parameter]
        if plain and not api_source.mentions(thing.doc, parameter):
            out.append(f"{name}({parameter})")
    for member in thing.members:
        if member.kind in ("method", "property", "classmethod", "staticmethod"):
            out += _missing(reference, member, f"{name}.{member.name}", page)
        elif member.kind == "attribute" and not member.doc and page not in ("ops", "compat"):
            if not api_source.mentions(thing.doc, member.name):
                out.append(f"{name}.{member.name}")
    return out


def mismatched(reference: Reference) -> list[str]:
    """Docstrings whose sections Parameters and Other Parameters do not list what the signature has, each name once."""
    out = []
    for page, things in reference.pages.items():
        for _, thing in things if page != "compat" else ():  # whose parameters are another library's
            methods = [m for m in thing.members if m.kind in ("method", "classmethod", "staticmethod")]
            for name, one in [(thing.name, thing), *((f"{thing.name}.{m.name}", m) for m in methods)]:
                rows = [r for title in ("Parameters", "Other Parameters") for r in api_source.section(one.doc, title)]
                listed = [word.strip() for left, _ in rows for word in left.split(",")]
                have = [p.text.split(":")[0].split("=")[0] for p in one.parameters if p.name not in "*/"]
                if sorted(listed) != sorted(have) and not one.doc.startswith("The same as "):
                    odd = sorted({*listed} ^ {*have}) or sorted(listed)
                    out.append(f"{name}: {', '.join(odd)}")
    return out


def main(arguments: list[str]) -> int:
    if arguments and arguments[0].startswith("-"):
        print("make_api.py [FOLDER]: the reference of the Python package, to docs/api", file=sys.stderr)
        return 2
    folder = pathlib.Path(arguments[0]) if arguments else ROOT / "docs/api"
    reference = Reference(Package(ROOT / "python/mldf"))
    files = reference.files()
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.md"):
        if old.name not in files:
            old.unlink()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in undocumented(reference):
        print(f"make_api: not explained: {name}", file=sys.stderr)
    for name in mismatched(reference):
        print(f"make_api: the docstring's Parameters are not the signature's: {name}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
