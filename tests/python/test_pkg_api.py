"""docs/api: written from the docstrings, current, complete; and every link of every document leads somewhere."""

import functools
import importlib
import os
import pathlib
import pydoc
import re
import subprocess
import sys
import tomllib

import mldf
import pkg
import pytest

sys.path.insert(0, str(pkg.ROOT / "tools"))
import api_source
import make_api

REFERENCE = make_api.Reference(api_source.Package(pkg.ROOT / "python/mldf"))


def test_the_reference_is_current(tmp_path):
    subprocess.run([sys.executable, "-S", str(pkg.ROOT / "tools/make_api.py"), str(tmp_path)], check=True)
    stored = {p.name: p.read_text(encoding="utf-8") for p in (pkg.ROOT / "docs/api").glob("*.md")}
    made = {p.name: p.read_text(encoding="utf-8") for p in tmp_path.glob("*.md")}
    assert stored.keys() == made.keys()
    for name, text in made.items():
        assert stored[name] == text, f"docs/api/{name} is out of date: make api"


def test_everything_public_is_explained():
    assert make_api.undocumented(REFERENCE) == []


def test_docstrings_have_the_parameters_of_their_signatures():
    """In numpydoc's sections, each name once."""
    assert make_api.mismatched(REFERENCE) == []


def test_the_help_of_a_loader_begins_with_what_people_use():
    """On one screen, after the signature: rare options are further down."""
    text = pydoc.render_doc(mldf.Loader, renderer=pydoc.plaintext).splitlines()
    begin = next(i for i, line in enumerate(text) if "Batches of a dataset" in line)
    rare = next(i for i, line in enumerate(text) if "Other Parameters" in line)
    assert rare - begin <= 45
    shown = [line.removeprefix(" |  ") for line in text[begin:rare]]
    for name in ("source", "batch_size", "shuffle", "pipelines", "fields", "seed", "threads", "drop_last"):
        assert name in shown


def test_the_source_and_the_package_agree():
    """What is read from the source is what the package really has."""
    have = {t.name for page, things in REFERENCE.pages.items() if page != "compat" for _, t in things}
    modules = {n for n in mldf.__all__ if type(getattr(mldf, n)) is type(mldf)}
    assert {n for n in mldf.__all__ if not n.startswith("__")} - modules <= have
    assert set(mldf.errors.__all__) | set(mldf.images.__all__) <= have
    for things in REFERENCE.pages.values():
        for section, thing in things:
            if thing.kind == "class" and not section.startswith("compat"):
                cls = getattr(importlib.import_module(f"mldf.{section}"), thing.name)
                public = {n for c in cls.__mro__ if c.__module__.startswith("mldf") for n in vars(c) if n[0] != "_"}
                shown = {m.name for m in thing.members} | api_source.INTERNAL | {p.name for p in thing.parameters}
                bases = {n for b in thing.bases if hasattr(mldf, b) for n in dir(getattr(mldf, b))}
                assert public <= shown | bases, thing.name


def test_what_is_not_explained_is_found(tmp_path):
    package = tmp_path / "python"
    package.mkdir()
    (package / "__init__.py").write_text('from .part import A, f, g\n__all__ = ["A", "f", "g"]\n', encoding="utf-8")
    (package / "mixin.py").write_text("class Half:\n    def half(self, by):\n        pass\n", encoding="utf-8")
    (package / "part.py").write_text(
        "from .mixin import Half\n"
        'class A(Half):\n    """An A."""\n    def m(self): pass\n    @property\n    def p(self): return 1\n'
        'def f(x, y=(1, 2), *, z: int = 0):\n    """Does.\n\n    x, z  are numbers\n    """\n'
        "def g(): pass\n",
        encoding="utf-8",
    )
    source = api_source.Package(package)
    things = [source.thing("", name) for name in source.names("")]
    assert make_api.signature(things[1], "") == ["f(x, y=(1, 2), *, z: int = 0)"]
    reference = make_api.Reference.__new__(make_api.Reference)
    reference.package, reference.pages = source, {"part": [("part", t) for t in things]}
    assert make_api.undocumented(reference) == ["A.m", "A.p", "A.half", "A.half(by)", "f(y)", "g"]
    assert make_api.mismatched(reference) == ["A.half: by", "f: x, y, z"]


@pytest.mark.parametrize(
    "sections, wrong",
    [
        (
            "Parameters\n----------\na, b\n    Both.\n*c\n    More.\n\nOther Parameters\n----------------\n**d\n    x",
            [],
        ),
        ("Parameters\n----------\na\n    One.\nb : int\n    Two.\n*c, **d\n    More.", []),
        ("Parameters\n----------\na, b\n    Both.\n*c\n    More.", ["f: **d"]),
        ("Parameters\n----------\na, b, e\n    All.\n*c, **d\n    More.", ["f: e"]),
        ("Parameters\n----------\na, b, c\n    All.\n**d\n    More.", ["f: *c, c"]),
        ("Parameters\n----------\na, b\n    Both.\na, *c, **d\n    More.", ["f: **d, *c, a, a, b"]),
        ("a  is one\nb  is two", ["f: **d, *c, a, b"]),
    ],
)
def test_parameters_that_do_not_match_are_found(tmp_path, sections, wrong):
    doc = sections.replace("\n", "\n    ")
    (tmp_path / "__init__.py").write_text('from .part import f\n__all__ = ["f"]\n', encoding="utf-8")
    (tmp_path / "part.py").write_text(
        f'def f(a, b: int = 3, *c: str, **d):\n    """Does.\n\n    {doc}\n    """\n', encoding="utf-8"
    )
    source = api_source.Package(tmp_path)
    reference = make_api.Reference.__new__(make_api.Reference)
    reference.package, reference.pages = source, {"part": [("part", source.thing("", "f"))]}
    assert make_api.mismatched(reference) == wrong


# ---- examples ----


def test_functions_and_classes_have_examples():
    """A function or class that does something stands in an example that runs: its own, or its module's."""
    plain = {"ops", "errors", "results", "compat"}
    for page, things in REFERENCE.pages.items():
        for section, thing in things:
            if page in plain or section in plain or thing.kind == "value" or thing.name in ("Field", "FieldInfo"):
                continue
            text = REFERENCE.package.module(section).doc + thing.doc
            lines = [line for line in text.splitlines() if line.lstrip().startswith((">>>", "..."))]
            lines += [line for m in thing.members for line in m.doc.splitlines() if line.startswith(">>>")]
            assert any(re.search(rf"\b{thing.name}\b", line) for line in lines) or thing.name in LEFT, thing.name


# Results and handles: examples have them, under no name of their own.
LEFT = {"Batch", "Keys", "LoaderStats", "Sample", "Schema", "WriteResult", "Progress", "Dataset", "CFunction"}
LEFT |= {"Interleaved", "Float", "Bytes", "Text", "Operation", "ItemView", "Piece", "Place"}


# ---- links ----

DOCUMENTS = sorted(
    p for p in [*pkg.ROOT.glob("*.md"), *pkg.ROOT.glob("docs/**/*.md"), *pkg.ROOT.glob("bench/**/*.md")] if p.is_file()
)
LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")


@functools.cache
def anchors(path: pathlib.Path) -> set[str]:
    """Those that headings make, as the usual viewers of Markdown do it."""
    out: set[str] = set()
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    for line in re.findall(r"^#+ (.+)$", text, re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line).replace("`", "")
        base = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        name, n = base, 0
        while name in out:
            n += 1
            name = f"{base}-{n}"
        out.add(name)
    return out


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(pkg.ROOT)))
def test_links(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    for link in LINK.findall(re.sub(r"`[^`\n]*`", "", text) if "docs/api" not in str(path) else text):
        if re.match(r"\w+:", link):
            continue
        target, _, anchor = link.partition("#")
        there = pathlib.Path(os.path.normpath(path.parent / target)) if target else path
        assert there.exists(), f"{path.name}: {link}"
        if anchor:
            assert anchor in anchors(there), f"{path.name}: {link}: no such heading"


def test_every_document_can_be_reached():
    """From README.md, by links."""
    seen, todo = set(), [pkg.ROOT / "README.md"]
    while todo:
        path = todo.pop()
        if path in seen or path.suffix != ".md" or not path.is_file():
            continue
        seen.add(path)
        for link in LINK.findall(path.read_text(encoding="utf-8")):
            if not re.match(r"\w+:", link):
                todo.append(pathlib.Path(os.path.normpath(path.parent / link.partition("#")[0])))
    missing = [str(p.relative_to(pkg.ROOT)) for p in DOCUMENTS if p not in seen and "docs" in p.parts]
    assert missing == []


def test_the_readme_of_the_package_stands_alone():
    """An index of packages shows it, where links into the tree lead nowhere."""
    project = tomllib.loads((pkg.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["readme"] == "python/README.md"
    text = (pkg.ROOT / project["readme"]).read_text(encoding="utf-8")
    assert [link for link in LINK.findall(text) if not re.match(r"https?:", link)] == []


# ---- names ----

GUIDES = [pkg.ROOT / "README.md", *pkg.ROOT.glob("docs/*.md"), *pkg.ROOT.glob("docs/guides/*.md")]


def test_names_in_the_documents_are_there():
    """mldf.Something, mldf_something, MLDF_SOMETHING, and paths of this repository."""
    headers = "".join(p.read_text(encoding="utf-8") for p in (pkg.ROOT / "include/mldf").glob("*.h"))
    # a header, a stream of random numbers, the end of a temporary name, a CMake target
    own = {"mldf.h", "mldf.order.weights", "mldf.tmp", "mldf_static"}
    for name in ("mldf.compat.ffcv", "mldf.compat.torchvision", "mldf.compat.turboloader", "mldf.tokenize"):
        importlib.import_module(name)
    missing = []
    for path in GUIDES:
        text = path.read_text(encoding="utf-8")
        for name in set(re.findall(r"\bmldf(?:\.[A-Za-z_]\w*)+", text)) - own:
            thing = mldf
            for part in name.split(".")[1:]:
                thing = getattr(thing, part, None)
            missing += [(path.name, name)] * (thing is None)
        for name in set(re.findall(r"\b(?:mldf_[a-z_]+|MLDF_[A-Z0-9_]+)\b", text)) - own:
            missing += [(path.name, name)] * (re.search(rf"\b{name}\b", headers) is None)
        for name in re.findall(r"`((?:src|tests|docs|tools|bench|python|include|fuzz|cli|examples)/[\w./-]+)`", text):
            missing += [(path.name, name)] * (not (pkg.ROOT / name).exists())
    assert missing == []


def test_options_in_the_documents_are_there():
    """`mldf pack ... --option`: the command's own help knows the option."""
    command = os.environ.get("MLDF")
    if not command:
        pytest.skip("MLDF does not say where the command is")
    helps: dict[str, str] = {}
    seen, missing = 0, []
    for path in GUIDES:
        for verb, rest in re.findall(r"\bmldf ([a-z]+(?:-[a-z]+)?)\b([^`\n|;&]*)", path.read_text(encoding="utf-8")):
            for option in re.findall(r"(?<!\S)(--[a-z][a-z-]+)", rest):
                if verb not in helps:
                    done = subprocess.run([command, verb, "--help"], capture_output=True, text=True)
                    helps[verb] = done.stdout if done.returncode == 0 else ""
                seen += 1
                missing += [(path.name, verb, option)] * (option not in helps[verb])
    assert missing == [] and seen > 20


def test_the_guide_for_c_programmers_has_every_header():
    guide = (pkg.ROOT / "docs/guides/c-programmers.md").read_text(encoding="utf-8")
    for header in (pkg.ROOT / "include/mldf").glob("*.h"):
        assert f"(../../include/mldf/{header.name})" in guide, header.name
