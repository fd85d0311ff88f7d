"""Packed batches and their consumers: attention over a packed batch gives what each document gives alone."""

import mldf
import numpy as np
import pytest

torch = pytest.importorskip("torch")
L, B, HEADS, DIM = 48, 4, 2, 8


@pytest.fixture
def corpus(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "a.mldf"
    texts = [rng.integers(1, 100, n) for n in rng.integers(1, 48, 60)]
    with mldf.Writer(path, {"tokens": mldf.Tokens(100, pad=0)}) as w:
        w.extend({"tokens": t} for t in texts)
    return path, texts


class Model:
    """One layer of attention with learned embeddings of tokens and positions."""

    def __init__(self):
        g = torch.Generator().manual_seed(1)
        self.words = torch.randn(100, HEADS * DIM, generator=g)
        self.places = torch.randn(L, HEADS * DIM, generator=g)
        self.qkv = torch.randn(HEADS * DIM, 3 * HEADS * DIM, generator=g) / 4

    def heads(self, tokens, positions):
        x = (self.words[tokens] + self.places[positions]) @ self.qkv
        return x.unflatten(-1, (3, HEADS, DIM)).permute(2, 0, 3, 1, 4)  # 3, b, heads, n, dim

    def alone(self, text):
        q, k, v = self.heads(torch.as_tensor(text)[None], torch.arange(len(text))[None])
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)[0]  # heads, n, dim


def batches(corpus, fields, **options):
    with mldf.Loader(
        corpus[0], B, shuffle=True, seed=2, output="torch", view="packed(tokens, 48)", fields=fields, **options
    ) as loader:
        yield from loader


def check(corpus, model, out, documents, cu):
    """out: b, heads, L, dim."""
    for row, who, ends in zip(out, documents.tolist(), cu.tolist()):
        for document, begin, end in zip(who, ends, ends[1:]):
            if document >= 0:
                assert torch.allclose(row[:, begin:end], model.alone(corpus[1][document]), atol=1e-5)
        assert torch.isfinite(row).all()


def test_scaled_dot_product_attention(corpus):
    model, seen = Model(), 0
    for b in batches(corpus, ["tokens", "positions", "mask", "documents", "cu_seqlens"]):
        q, k, v = model.heads(b.tokens, b.positions)
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=b.mask[:, None])
        check(corpus, model, out, b.documents, b.cu_seqlens)
        seen += int((b.documents >= 0).sum())
    assert seen == len(corpus[1])


@pytest.mark.filterwarnings("ignore:flex_attention called without")
def test_flex_attention(corpus):
    flex = pytest.importorskip("torch.nn.attention.flex_attention")
    model = Model()
    b = next(batches(corpus, ["tokens", "positions", "segment_ids", "documents", "cu_seqlens"]))

    def document_mask(i, h, q, k):
        return (b.segment_ids[i, q] == b.segment_ids[i, k]) & (q >= k)

    block = flex.create_block_mask(document_mask, len(b.tokens), None, L, L, device="cpu")
    q, k, v = model.heads(b.tokens, b.positions)
    check(corpus, model, flex.flex_attention(q, k, v, block_mask=block), b.documents, b.cu_seqlens)


def test_segments_one_after_the_other_as_varlen_kernels_take_them(corpus):
    """flash_attn_varlen_func's contract in plain torch: [total, heads, dim], i32 cu_seqlens, a Python max_seqlen."""
    model = Model()
    for form in ("flat", "ragged"):
        plain = batches(corpus, ["documents", "cu_seqlens"])
        for b, rows in zip(batches(corpus, ["tokens", "positions", f"cu_seqlens({form})", "max_seqlen"]), plain):
            q, k, v = (x.transpose(1, 2).flatten(0, 1) for x in model.heads(b.tokens, b.positions))
            assert b.cu_seqlens.dtype == torch.int32 and isinstance(b.max_seqlen, int)
            assert b.cu_seqlens[0] == 0 and b.cu_seqlens[-1] == len(q) and (b.cu_seqlens.diff() <= b.max_seqlen).all()
            out = torch.zeros_like(q)
            for begin, end in zip(b.cu_seqlens.tolist(), b.cu_seqlens.tolist()[1:]):
                part = [x[begin:end].transpose(0, 1)[None] for x in (q, k, v)]
                if end > begin:
                    out[begin:end] = torch.nn.functional.scaled_dot_product_attention(*part, is_causal=True)[
                        0
                    ].transpose(0, 1)
            check(corpus, model, out.unflatten(0, (-1, L)).transpose(1, 2), rows.documents, rows.cu_seqlens)


def test_documents_are_found_by_positions_and_labels_are_shifted_by_the_model(corpus):
    """Hugging Face, padding-free: position ids that begin again; the model drops the first label and the last logit."""
    for b in batches(corpus, ["tokens", "labels(shift=false)", "positions", "cu_seqlens(ragged)"]):
        starts = torch.nonzero(b.positions.flatten() == 0).flatten()
        assert torch.equal(starts, b.cu_seqlens[:-1].long())
        logits = torch.randn(*b.tokens.shape, 100, generator=torch.Generator().manual_seed(3))
        inner = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), b.labels[:, 1:].flatten())
        wanted = [
            torch.nn.functional.cross_entropy(logits[i, at - 1], b.tokens[i, at])
            for i, row in enumerate(b.positions.tolist())
            for at, place in enumerate(row)
            if place > 0 and b.labels[i, at] >= 0
        ]
        assert torch.allclose(inner, torch.stack(wanted).mean(), atol=1e-5)


def test_training_with_shifted_labels(corpus):
    """The loss of a batch is the mean over all next tokens of its documents."""
    model = Model()
    out = torch.randn(HEADS * DIM, 100, generator=torch.Generator().manual_seed(4)) / 4
    total, count = 0.0, 0
    for b in batches(corpus, ["tokens", "labels", "positions", "mask"]):
        q, k, v = model.heads(b.tokens, b.positions)
        y = (
            torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=b.mask[:, None])
            .transpose(1, 2)
            .flatten(2)
            @ out
        )
        total += float(torch.nn.functional.cross_entropy(y.flatten(0, 1), b.labels.flatten(), reduction="sum"))
        count += int((b.labels >= 0).sum())
    each = [
        float(
            torch.nn.functional.cross_entropy(
                model.alone(t).transpose(0, 1).flatten(1)[:-1] @ out, torch.as_tensor(t[1:]), reduction="sum"
            )
        )
        for t in corpus[1]
        if len(t) > 1
    ]
    assert count == sum(len(t) - 1 for t in corpus[1])
    assert abs(total - sum(each)) < 1e-3 * sum(each)
