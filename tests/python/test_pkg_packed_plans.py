"""Plans of packed views: stored or made, of several files, of subsets and mixtures; files that are compressed,
encrypted or damaged; the command.
"""

import json
import os
import pathlib
import subprocess
import sys

import mldf
import numpy as np
import pytest
from packed_reference import ALL, BACKENDS, EOS, PAD, RULE_NAMES, check, corpus, outputs, texts_of, view_text
from test_plan_tokens import MLDF, documents

ROOT = pathlib.Path(os.environ["MLDF_SOURCE_DIR"])
sys.path[:0] = [str(ROOT / "docs/spec"), str(ROOT / "tools")]
from vectors_invalid import Editor  # noqa: E402

# ---- Plans that are stored and made, several files, subsets, mixtures ----


def digest(path, text):
    return mldf.open(path).as_view(text).digest


@pytest.mark.parametrize(
    "rule", [{}, {"algorithm": "next-fit", "eos": True}, {"align": 8, "long": "drop"}], **RULE_NAMES
)
def test_a_stored_plan_is_the_one_that_would_be_made(tmp_path, rule, recwarn):
    texts = texts_of(documents(5, 100))
    made, stored = corpus(tmp_path / "a.mldf", texts), corpus(tmp_path / "b.mldf", texts)
    mldf.plan_tokens(stored, 32, **{k: EOS if k == "eos" else v for k, v in rule.items()})
    text = view_text(32, rule)
    assert digest(made, text) == digest(stored, text) != digest(stored, view_text(16, rule))
    assert digest(made, view_text(32, rule, ends="next", base=0, pad=9)) == digest(made, text)
    runs = []
    for path in (made, stored):
        with mldf.Loader(path, 4, shuffle=True, seed=5, view=text, fields=ALL) as loader:
            runs.append([[np.asarray(a) for a in b] for b in loader])
            state = loader.state_dict()
    assert all(np.array_equal(x, y) for a, b in zip(*runs) for x, y in zip(a, b))
    with mldf.Loader(made, 4, shuffle=True, seed=5, view=text) as loader:
        loader.load_state_dict(state)
    assert not recwarn.list
    with mldf.Writer.existing(stored) as w:
        w.append({"tokens": texts_of([9])[0]})
    with pytest.warns(UserWarning, match="plan-tokens"):
        view = mldf.open(stored).as_view(text)
    assert view.find(len(texts)) != []


def test_the_stored_plan_is_used(tmp_path):
    """Of a plan that is not the one that would be made, a piece that its row does not have is an error of that item."""
    texts = texts_of([20] * 12)
    path = corpus(tmp_path / "a.mldf", texts)
    mldf.plan_tokens(path, 32)
    data = bytearray(path.read_bytes())
    view = mldf.open(path).as_view("packed(tokens, 32)")
    assert view.locate(0)[0][1:] == (0, 0, 20)
    at = data.find(b"".join(int(v).to_bytes(4, "little") for v in (0, 0, 20, 1, 0, 20)))
    assert at > 0
    data[at + 8 : at + 12] = (12).to_bytes(4, "little")
    data[at + 20 : at + 24] = (24).to_bytes(4, "little")
    broken = tmp_path / "b.mldf"
    editor = Editor(data)
    editor.fix()
    broken.write_bytes(editor.b)
    view = mldf.open(broken).as_view("packed(tokens, 32)")
    assert view.locate(0)[0][1:] == (0, 0, 12)
    with pytest.raises(mldf.Error, match="row 1, field tokens has 20 tokens, and the plan has a piece from 0 to 24"):
        view[1]
    with mldf.Loader(broken, 4, view="packed(tokens, 32)", on_error="skip", fields=["tokens"]) as loader:
        assert sum(len(b.tokens) for b in loader) == 11


def test_several_files(tmp_path):
    texts = texts_of(documents(6, 90))
    parts = [texts[:30], texts[30:31], texts[31:]]
    nullable = [*texts, None]
    files = []
    for i, part in enumerate(parts):
        files.append(tmp_path / f"{i}.mldf")
        with mldf.Writer(
            files[-1], {"tokens": mldf.Tokens(60000, pad=PAD, nullable=any(t is None for t in nullable))}
        ) as w:
            w.extend({"tokens": t} for t in part)
    for rule in ({}, {"algorithm": "concat", "eos": True}):
        want = outputs(texts, 32, rule)
        most = max(len(w["lengths"]) for w in want)
        with mldf.Loader(files, 4, view=view_text(32, rule), fields=ALL) as loader:
            check(list(loader), want, 32, rule, most)
    separate = [w for part in parts for w in shifted(outputs(part, 32, {}), texts, part, parts)]
    most = max(len(w["lengths"]) for w in separate)
    text = view_text(32, {}, per_file="true")
    made = mldf.open(files).as_view(text)
    with mldf.Loader(made, 4, fields=ALL) as loader:
        check(list(loader), separate, 32, {}, most)
    for file in files[:2]:
        mldf.plan_tokens(file, 32)
    assert mldf.open(files).as_view("packed(tokens, 32)").digest != made.digest  # one has none: one plan of all
    mldf.plan_tokens(files[2], 32)
    stored = mldf.open(files).as_view("packed(tokens, 32)")
    assert stored.digest == made.digest and stored.text == made.text
    with mldf.Loader(stored, 4, fields=ALL) as loader:
        check(list(loader), separate, 32, {}, most)


def shifted(rows, texts, part, parts):
    """Outputs of one file's documents, numbered among those of all."""
    before = sum(len(p) for p in parts[: next(i for i, p in enumerate(parts) if p is part)])
    return [w | {"documents": [d + before for d in w["documents"]]} for w in rows]


def test_subsets_never_use_a_stored_plan(tmp_path):
    texts = texts_of(documents(8, 100))
    path = corpus(tmp_path / "a.mldf", texts)
    mldf.plan_tokens(path, 32)
    chosen = [i for i in range(len(texts)) if i % 3 != 1]
    kept = [t if i in set(chosen) else None for i, t in enumerate(texts)]
    want = outputs(kept, 32, {})
    most = max(len(w["lengths"]) for w in want)
    with mldf.Loader(path, 4, subset=chosen, view="packed(tokens, 32)", fields=ALL) as loader:
        check(list(loader), want, 32, {}, most)
        state = loader.state_dict()
    with (
        mldf.Loader(path, 4, view="packed(tokens, 32)") as loader,
        pytest.raises(mldf.errors.StateError, match="other rows|view"),
    ):
        loader.load_state_dict(state)
    for given in ({"weights": np.ones(len(texts))}, {"balance": "tokens"}):
        with pytest.raises(mldf.errors.ArgumentError, match="ratios="):
            mldf.Loader(path, 4, view="packed(tokens, 32)", **given)


def test_mixtures_of_files(tmp_path):
    files, parts = [], []
    for k in range(2):
        parts.append(texts_of([5 + k] * 30, k))
        files.append(corpus(tmp_path / f"{k}.mldf", parts[-1]))
    with mldf.Loader(
        files,
        5,
        shuffle=True,
        ratios=[3, 2],
        samples_per_epoch=50,
        view="packed(tokens, 16)",
        fields=["tokens", "documents"],
        index=True,
    ) as loader:
        batches = list(loader)
    of = np.concatenate([b.documents[:, 0] for b in batches]) // 30
    assert len(of) == 50 and (of == 0).sum() == 30
    for b in batches:
        for tokens, who in zip(b.tokens, b.documents):
            assert len({d // 30 for d in who if d >= 0}) == 1
            assert tokens[: len(parts[who[0] // 30][0])].tolist() == parts[who[0] // 30][who[0] % 30].tolist()
    with pytest.raises(mldf.errors.ArgumentError, match="per_file"):
        mldf.Loader(files, 5, ratios=[3, 2], view="packed(tokens, 16, per_file=false)")


def test_rows_that_claim_more_tokens_than_they_can_hold(tmp_path):
    """Nothing is planned for them: 4 billion tokens of 20 bytes would be 2 million pieces."""
    path = str(tmp_path / "t.mldf")
    with mldf.Writer(path, {"tokens": mldf.Tokens(vocabulary=60000, eos=0)}, checksums=False) as w:
        for n in (10, 7, 10):
            w.append({"tokens": np.arange(1, n + 1)})
    data = pathlib.Path(path).read_bytes()
    record = (14).to_bytes(4, "little") + (7).to_bytes(4, "little")
    assert data.count(record) == 1
    pathlib.Path(path).write_bytes(data.replace(record, (14).to_bytes(4, "little") + b"\xf0\xff\xff\xff"))
    view = mldf.open(path).as_view("packed(tokens, 10, pad=0)")
    assert len(view) == 2 and sorted(view[0].tokens.tolist()) == list(range(1, 11))


# ---- Compressed, encrypted, checked; the command ----


@pytest.mark.parametrize("how", ["compress", "encrypt", "verify"])
def test_other_ways_of_storing(tmp_path, how):
    texts = texts_of([n or 0 for n in documents(13, 60)])
    path = tmp_path / "a.mldf"
    options, reading = {}, {}
    field = mldf.Tokens(60000, pad=PAD, compress=how == "compress")
    if how == "encrypt":
        options["key"] = reading["key"] = bytes(range(32))
    if how == "verify":
        reading["verify"] = True
    with mldf.Writer(path, {"tokens": field}, **options) as w:
        w.extend({"tokens": t} for t in texts)
    want = outputs(texts, 32, {})
    for backend in BACKENDS:
        with mldf.Loader(
            mldf.open(path, backend=backend, **reading), 4, view="packed(tokens, 32)", fields=ALL
        ) as loader:
            check(list(loader), want, 32, {}, max(len(w["lengths"]) for w in want))


@pytest.mark.parametrize("everything", [False, True])
def test_a_stored_plan_of_an_encrypted_file(tmp_path, everything, recwarn):
    """Its items are those of the file that is not encrypted, resumed in the middle, whatever backend reads it."""
    key = bytes(range(32))
    opened = corpus(tmp_path / "a.mldf", texts_of(documents(21, 90)))
    mldf.plan_tokens(opened, 32)
    secret = tmp_path / "b.mldf"
    mldf.repack(opened, secret, encrypt_key=key, encrypt_all=everything)
    if everything:  # its tables are written once
        with pytest.raises(mldf.errors.StateError, match="encrypt_all"):
            mldf.plan_tokens(secret, 48, key=key)
    else:
        mldf.plan_tokens(secret, 48, key=key)
    assert [s["name"] for s in mldf.info(secret, key=key)["sections"]].count("pack_plan") == 1
    assert mldf.verify(secret, deep=True, key=key).ok
    for length in (32,) if everything else (32, 48):
        text = f"packed(tokens, {length})"
        with mldf.Loader(opened, 4, shuffle=True, seed=2, view=text, fields=ALL) as loader:
            want = [[np.asarray(a).tobytes() for a in b] for b in loader]
        for backend in BACKENDS:
            source = mldf.open(secret, key=key, backend=backend)
            assert source.as_view(text).digest == digest(opened, text)
            with mldf.Loader(source, 4, shuffle=True, seed=2, view=text, fields=ALL) as loader:
                it = iter(loader)
                got = [[np.asarray(a).tobytes() for a in next(it)] for _ in range(3)]
                state = json.loads(json.dumps(loader.state_dict()))
            source = mldf.open(secret, key=key, backend=backend)
            with mldf.Loader(source, 4, shuffle=True, seed=2, view=text, fields=ALL) as loader:
                loader.load_state_dict(state)
                got += [[np.asarray(a).tobytes() for a in b] for b in loader]
            assert got == want and len(want) > 5
    assert not recwarn.list


def test_a_plan_is_the_same_bytes_for_any_number_of_threads(tmp_path):
    texts = texts_of(documents(22, 400))
    sections = set()
    for threads in (0, 1, 2, 5):
        path, packed = tmp_path / f"{threads}.mldf", tmp_path / f"{threads}-again.mldf"
        corpus(path, texts, threads=threads)
        for rule in ({}, {"algorithm": "next-fit"}, {"seed": 9}):
            mldf.plan_tokens(path, 64, **rule)
        mldf.repack(path, packed, threads=threads)
        for each in (path, packed):
            section = next(s for s in mldf.info(each)["sections"] if s["name"] == "pack_plan")
            sections.add(each.read_bytes()[section["ptr"] : section["ptr"] + section["bytes"]])
    assert len(sections) == 1 and len(sections.pop()) > 3000


def test_the_command_knows_packed_sequences(tmp_path):
    texts = texts_of([n or 0 for n in documents(14, 60)])
    path = corpus(tmp_path / "a.mldf", texts)
    text = "packed(tokens, 32, eos=own)"
    want = outputs(texts, 32, {"eos": True})

    def run(*arguments):
        done = subprocess.run([MLDF, *map(str, arguments)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    info = json.loads(run("info", "--json", path, "--view", text))
    assert info["samples" if "samples" in info else "num_samples"] == len(want)
    lines = run("cat", "--json", path, "--view", text, "--full").splitlines()
    assert len(lines) == len(want)
    shown = [json.loads(line)["fields"] for line in lines]
    assert [s["tokens"] for s in shown] == [w["tokens"] for w in want]
    assert [s["labels"] for s in shown] == [w["labels"] for w in want]
    bench = json.loads(run("bench", "--json", path, "--view", text, "--batch-size", 4))
    assert bench["samples"] == len(want)
