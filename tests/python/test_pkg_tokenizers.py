"""Tokenizers from Python and through the command's co-process: the ids of the real ones, on real text."""

import json
import os
import pathlib
import subprocess
import sys

import mldf
import numpy as np
import pytest

MLDF = os.environ.get("MLDF", "mldf")
EOS = "<|endoftext|>"


def documents():
    """Debian's licences, and what is hard: special strings, spaces, empty, other scripts."""
    texts = []
    for path in sorted(pathlib.Path("/usr/share/common-licenses").iterdir()):
        texts.append(path.read_text(encoding="utf-8")[:20000])
    assert len(texts) > 5
    hard = [
        "",
        " ",
        "\n\n\n",
        f"a {EOS} inside",
        "<s></s><unk>",
        "ünïcödé 中文 🙂\u200d🙂",
        "x" * 3000,
        "a\0b",
        "\r\n\t",
    ]
    return texts + hard


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a byte-level BPE (tokenizer.json) and a SentencePiece model, both small."""
    tokenizers = pytest.importorskip("tokenizers")
    sentencepiece = pytest.importorskip("sentencepiece")
    from tokenizers import decoders, models, pre_tokenizers, processors, trainers

    folder, texts = tmp_path_factory.mktemp("tokenizers"), documents()
    bpe = tokenizers.Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=700, special_tokens=[EOS, "<pad>"], initial_alphabet=alphabet, show_progress=False
    )
    bpe.train_from_iterator(texts[:6], trainer)
    # Its post-processor adds an eos: nobody asked mldf for it.
    bpe.post_processor = processors.TemplateProcessing(single=f"$A {EOS}", special_tokens=[(EOS, 0)])
    bpe.save(str(folder / "tokenizer.json"))
    lines = (line for text in texts[:4] for line in text.splitlines() if line.strip())
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=lines,
        model_prefix=str(folder / "sp"),
        vocab_size=500,
        model_type="bpe",
        byte_fallback=True,
        num_threads=1,
        minloglevel=2,
    )
    return folder


def bpe(trained):
    import tokenizers

    return tokenizers.Tokenizer.from_file(str(trained / "tokenizer.json"))


def expected(tokenizer, texts, parse=False):
    tokenizer.encode_special_tokens = not parse
    return [e.ids for e in tokenizer.encode_batch(texts, add_special_tokens=False)]


def packed(tmp_path, tokenizer, *more):
    source, out = tmp_path / "docs.jsonl", tmp_path / "out.mldf"
    source.write_text("".join(json.dumps({"text": t}) + "\n" for t in documents()))
    words = [MLDF, "pack", str(source), "--text", "text=tokens", "--tokenizer", tokenizer, "-o", str(out), "-f", *more]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "warning" not in done.stderr, done.stderr
    ds = mldf.open(out)
    return [sample.tokens.tolist() for sample in ds], ds.schema["tokens"].arguments


@pytest.mark.parametrize("specials", ["text", "parse"])
def test_hugging_face_through_python(tmp_path, trained, specials):
    tokenizer, texts = bpe(trained), documents()
    field = mldf.Tokens(tokenizer=tokenizer, eos=EOS, pad="<pad>", specials=specials)
    mldf.write(tmp_path / "a.mldf", ({"tokens": t} for t in texts), {"tokens": field})
    ds = mldf.open(tmp_path / "a.mldf")
    wanted = expected(bpe(trained), texts, specials == "parse")
    assert [s.tokens.tolist() for s in ds] == [ids + [0] for ids in wanted]
    arguments = ds.schema["tokens"].arguments
    assert arguments["vocabulary"] == 700 and arguments["eos"] == 0 and arguments["pad"] == 1
    assert arguments["eos_inside"] is True and arguments["specials"] == specials
    assert tokenizer.encode_special_tokens is False  # the user's object is as it was
    assert (max(map(max, filter(None, wanted))) < 700) and ds[0].tokens.dtype == np.uint16


@pytest.mark.parametrize("specials", ["text", "parse"])
def test_hugging_face_through_the_command(tmp_path, trained, specials):
    command = f"exec:'{sys.executable}' -m mldf.tokenize {trained}/tokenizer.json --specials {specials}"
    ids, arguments = packed(tmp_path, command, "--eos")
    assert ids == [one + [0] for one in expected(bpe(trained), documents(), specials == "parse")]
    import hashlib

    digest = hashlib.sha256((trained / "tokenizer.json").read_bytes()).hexdigest()
    assert arguments == {
        "dtype": "<u2",
        "eos": 0,
        "eos_inside": True,
        "pad": 1,
        "specials": specials,
        "tokenizer": "tokenizer.json",
        "tokenizer_sha256": digest,
        "vocabulary": 700,
    }


def test_tiktoken_through_python_and_by_name_through_the_command(tmp_path, trained, monkeypatch):
    tiktoken = pytest.importorskip("tiktoken")
    plugins = tmp_path / "plugins" / "tiktoken_ext"
    plugins.mkdir(parents=True)
    (plugins / "mine.py").write_text(
        "def mine():\n"
        "    ranks = {bytes([i]): i for i in range(256)}\n"
        "    for pair in (b'th', b'he', b'the', b' the', b'in', b'er', b'an', b're', b'on', b'ion'):\n"
        "        ranks[pair] = len(ranks)\n"
        "    return {'name': 'mine', 'pat_str': r'''\\s?\\w+|\\s|[^\\s\\w]+''', 'mergeable_ranks': ranks,\n"
        "            'special_tokens': {'<|endoftext|>': len(ranks)}}\n"
        "ENCODING_CONSTRUCTORS = {'mine': mine}\n"
    )
    namespace = {}
    exec((plugins / "mine.py").read_text(), namespace)
    encoding = tiktoken.Encoding(**namespace["mine"]())
    texts = documents()
    wanted = encoding.encode_ordinary_batch(texts)
    mldf.write(tmp_path / "a.mldf", ({"t": t} for t in texts), {"t": mldf.Tokens(tokenizer=encoding, eos=EOS)})
    ds = mldf.open(tmp_path / "a.mldf")
    assert [s.t.tolist() for s in ds] == [ids + [266] for ids in wanted]
    assert ds.schema["t"].arguments["tokenizer"] == "mine" and ds.schema["t"].arguments["vocabulary"] == 267
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(plugins.parent), os.environ.get("PYTHONPATH", "")]))
    ids, arguments = packed(tmp_path, f"exec:'{sys.executable}' -m mldf.tokenize mine", "--eos")
    assert ids == [one + [266] for one in wanted] and arguments["tokenizer"] == "mine"


def test_sentencepiece_three_ways(tmp_path, trained):
    import sentencepiece

    model = trained / "sp.model"
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    texts = documents()
    wanted = processor.encode(texts)
    mldf.write(tmp_path / "a.mldf", ({"t": t} for t in texts), {"t": mldf.Tokens(tokenizer=processor, eos="</s>")})
    assert [s.t.tolist() for s in mldf.open(tmp_path / "a.mldf")] == [ids + [2] for ids in wanted]
    ids, arguments = packed(tmp_path, f"exec:'{sys.executable}' -m mldf.tokenize {model}")
    assert ids == wanted and arguments["vocabulary"] == 500
    if not (pathlib.Path(MLDF).parent / "mldf-sentencepiece").exists():
        pytest.skip("built without libsentencepiece-dev")
    assert packed(tmp_path, f"sentencepiece:{model}") == (ids, arguments)


def test_any_callable_and_loss_masks(tmp_path):
    calls = []

    def chat(texts):
        calls.append(len(texts))
        return [{"tokens": list(t.encode()), "loss_mask": [i % 2 for i in range(len(t.encode()))]} for t in texts]

    fields = {
        "tokens": mldf.Tokens(256, tokenizer=chat),
        "loss_mask": mldf.NDArray("uint8", (None,), along="tokens"),
        "n": mldf.Int(),
    }
    texts = [f"document {i}" * (i % 50) for i in range(9000)]
    mldf.write(tmp_path / "a.mldf", ({"tokens": t, "n": i} for i, t in enumerate(texts)), fields)
    ds = mldf.open(tmp_path / "a.mldf")
    assert len(ds) == 9000 and len(calls) > 2 and sum(calls) == 9000
    for i in (0, 1, 4095, 4096, 8999):
        assert bytes(ds[i].tokens) == texts[i].encode() and ds[i].n == i
        assert ds[i].loss_mask.tolist() == [k % 2 for k in range(len(texts[i]))]


def test_ids_may_still_be_given_and_the_order_stays(tmp_path):
    field = mldf.Tokens(256, tokenizer=lambda texts: [list(t.encode()) for t in texts], nullable=True)
    with mldf.Writer(tmp_path / "a.mldf", {"t": field}) as w:
        w.append({"t": [1, 2]})
        w.append({"t": "ab"}, None)
        w.append({"t": [3]})
        w.append({"t": None})
        assert len(w) == 4
    assert [None if s.t is None else s.t.tolist() for s in mldf.open(tmp_path / "a.mldf")] == [
        [1, 2],
        [97, 98],
        [3],
        None,
    ]


@pytest.mark.parametrize(
    "results, message",
    [
        (lambda texts: [[1]], "1 results for 2 documents"),
        (lambda texts: [[1], [300]], "token 0 is 300, outside the vocabulary: 0 to 255"),
        (lambda texts: 1 / 0, "division by zero"),
        (lambda texts: [{"ids": []}, []], 'a dict without "tokens"'),
        (lambda texts: [["a"], []], "token ids"),
    ],
)
def test_a_tokenizer_that_fails_ends_the_writer_and_leaves_nothing(tmp_path, results, message):
    with pytest.raises(Exception, match=message):
        with mldf.Writer(tmp_path / "a.mldf", {"t": mldf.Tokens(256, tokenizer=results)}) as w:
            w.append({"t": "a"})
            w.append({"t": "b"})
    assert list(tmp_path.iterdir()) == []


def test_what_a_tokenizer_must_say(tmp_path):
    with pytest.raises(mldf.errors.SchemaError, match="give vocabulary="):
        mldf.Tokens(tokenizer=lambda texts: []).arguments()
    with pytest.raises(mldf.errors.SchemaError, match="cannot say which id"):
        mldf.Tokens(9, tokenizer=lambda texts: [], eos="</s>").arguments()
    with pytest.raises(mldf.errors.SchemaError, match="has no tokenizer"):
        mldf.TokenStream(9, tokenizer=lambda texts: []).arguments()
    assert mldf.Tokens(9, tokenizer="gpt2").arguments() == {"vocabulary": 9, "tokenizer": "gpt2"}


def test_pack_from_python(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"ab\xff")
    with pytest.raises(mldf.errors.Error, match="byte 2 of the text is not UTF-8"):
        mldf.pack(tmp_path / "a.txt", tmp_path / "a.mldf", text="tokens", tokenizer="bytes")
    mldf.pack(tmp_path / "a.txt", tmp_path / "a.mldf", text="tokens", tokenizer="bytes", utf8="replace")
    assert mldf.open(tmp_path / "a.mldf")[0].tokens.tolist() == [97, 98, 0xEF, 0xBF, 0xBD]
    with pytest.raises(mldf.errors.ArgumentError, match="given together"):
        mldf.pack(tmp_path / "a.txt", tmp_path / "b.mldf", tokenizer="bytes")


def test_the_ten_lines(tmp_path, trained, monkeypatch):
    """docs/guides/text.md: from texts to a training loop that resumes in mid-epoch."""
    torch = pytest.importorskip("torch")
    import torch.nn.functional as F
    from tokenizers import Tokenizer

    monkeypatch.chdir(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes((trained / "tokenizer.json").read_bytes())
    texts = [text[i : i + 700] for text in documents()[:8] for i in range(0, len(text), 700)]

    def model(tokens, positions, cu_seqlens, max_seqlen):
        assert tokens.dtype == torch.int64 and tokens.shape == positions.shape and cu_seqlens.dtype == torch.int32
        assert (cu_seqlens[:, 0] == 0).all() and (cu_seqlens[:, -1] == tokens.shape[1]).all()
        return F.one_hot(tokens, 700).float().requires_grad_()

    def train(saved, stop=None):
        tok = mldf.Tokens(tokenizer=Tokenizer.from_file("tokenizer.json"), eos="<|endoftext|>")
        mldf.write("corpus.mldf", ({"tokens": t} for t in texts), {"tokens": tok}, overwrite=True)
        loader = mldf.Loader("corpus.mldf", 4, shuffle=True, seed=1, output="torch",
            view="packed(tokens, 256)", fields=["tokens", "labels", "positions", "cu_seqlens",
                "max_seqlen"])  # fmt: skip
        if saved:
            loader.load_state_dict(saved["data"])
        seen = []
        for b in loader:
            scores = model(b.tokens, b.positions, b.cu_seqlens, b.max_seqlen)
            loss = F.cross_entropy(scores.flatten(0, 1), b.labels.flatten())
            loss.backward()
            torch.save({"data": loader.state_dict()}, "ckpt.pt")
            seen.append((b.tokens.clone(), b.labels.clone()))
            if len(seen) == stop:
                break
        return seen

    whole = train(None)
    first = train(None, stop=3)
    rest = train(torch.load("ckpt.pt", weights_only=True))
    assert len(whole) > 6 and len(first) + len(rest) == len(whole)
    for (a, b), (c, d) in zip(whole, first + rest):
        assert torch.equal(a, c) and torch.equal(b, d)
    placed = torch.cat([tokens.flatten() for tokens, _ in whole])
    assert int((placed == 0).sum()) >= len(texts)  # every document ends with its eos; padding is eos, too
