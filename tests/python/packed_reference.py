"""Packed sequences once more, one token at a time: what each output of a sequence must be, for tests."""

import mldf
import numpy as np
from test_plan_tokens import expected

BACKENDS = ["map", "read"]
BOS, EOS, PAD, NONE = 1, 2, 3, -100
RULE_NAMES = {"ids": lambda r: "-".join(f"{k}={v}" for k, v in r.items()) or "default"}


def texts_of(lengths, seed=0, vocabulary=60000):
    rng = np.random.default_rng(seed)
    return [None if n is None else rng.integers(4, vocabulary, n).astype(np.uint16) for n in lengths]


def corpus(path, texts, vocabulary=60000, columns=None, **options):
    fields = {"tokens": mldf.Tokens(vocabulary, bos=BOS, eos=EOS, pad=PAD, nullable=any(t is None for t in texts))}
    fields |= {name: field for name, (field, _) in (columns or {}).items()}
    values = {name: of for name, (_, of) in (columns or {}).items()}
    with mldf.Writer(path, fields, **options) as w:
        for i, t in enumerate(texts):
            w.append({"tokens": t} | {name: of(i) for name, of in values.items()})
    return path


def view_text(length, rule, **more):
    given = {k: {"bos": BOS, "eos": EOS}.get(k, v) for k, v in rule.items()} | more
    return f"packed(tokens, {length}" + "".join(f", {k}={v}" for k, v in given.items()) + ")"


# ---- The same, token by token ----


class Token:
    """One place of a sequence: which token of which document it is; None: padding."""

    def __init__(self, document, place, value, piece, first):
        self.document, self.place, self.value, self.piece, self.first = document, place, value, piece, first


def spelled(texts, rule):
    """Documents with their added ends."""
    lead, tail = [BOS] * bool(rule.get("bos")), [EOS] * bool(rule.get("eos"))
    return [[] if t is None or not len(t) else [*lead, *t.tolist(), *tail] for t in texts]


def sequences(texts, length, rule):
    """Each a list of `length` Tokens or Nones, from the specification's plan; concat from the run of all documents."""
    whole, lead, align = spelled(texts, rule), bool(rule.get("bos")), rule.get("align", 1)
    if rule.get("algorithm") == "concat":
        run = [(d, i, v) for d, words in enumerate(whole) for i, v in enumerate(words)]
        out = []
        for at in range(0, len(run), length):
            piece, row, last = -1, [], None
            for d, i, v in run[at : at + length]:
                piece += d != last
                row.append(Token(d, i, v, piece, d != last))
                last = d
            out.append(row + [None] * (length - len(row)))
        return out
    plan = expected([None if t is None else len(t) for t in texts], length, **rule)
    out = []
    for pieces in plan:
        row = []
        for k, (d, start, n) in enumerate(pieces):
            row += [None] * (-len(row) % align)
            begin = 0 if start == 0 else start + lead
            end = start + lead + n
            if start + n == len(texts[d]):
                end = len(whole[d])
            row += [Token(d, i, whole[d][i], k, i == begin) for i in range(begin, end)]
        out.append(row + [None] * (length - len(row)))
    return out


def outputs(texts, length, rule, ends="mask", positions="piece", base=1, concat_next=True):
    """Every output of every sequence, one token at a time."""
    whole, rows = spelled(texts, rule), sequences(texts, length, rule)
    concat = rule.get("algorithm") == "concat"
    out = []
    for r, row in enumerate(rows):
        tokens = [PAD if t is None else t.value for t in row]
        labels, unshifted, place, segments, pads = [], [], [], [], 0
        following = next((t for t in rows[r + 1] if t), None) if concat and r + 1 < len(rows) else None
        for i, t in enumerate(row):
            if t is None:
                labels.append(NONE), unshifted.append(NONE), segments.append(base - 1), place.append(pads)
                pads += 1
                continue
            pads = 0
            after = next((u for u in row[i + 1 :] if u is not None), following)
            last = t.place + 1 == len(whole[t.document])
            inside = i + 1 < length and row[i + 1] is not None and row[i + 1].document == t.document
            if not last and (inside or concat or rule.get("long", "cut") == "cut"):
                labels.append(whole[t.document][t.place + 1])
            elif last and ends == "next" and after is not None:
                labels.append(after.value)
            else:
                labels.append(NONE)
            unshifted.append(NONE if t.first else t.value)
            segments.append(base + t.piece)
            begin = next(u.place for u in row if u is not None and u.piece == t.piece)
            place.append(t.place if positions == "document" else t.place - begin)
        count = 1 + max(t.piece for t in row if t)
        lengths = [sum(t is not None and t.piece == k for t in row) for k in range(count)]
        starts = [next(i for i, t in enumerate(row) if t is not None and t.piece == k) for k in range(count)]
        who = [next(t.document for t in row if t is not None and t.piece == k) for k in range(count)]
        mask = np.zeros((length, length), bool)
        kinds, run = [], 0  # runs of paddings are segments of their own
        for i, t in enumerate(row):
            run += t is None and i > 0 and row[i - 1] is not None
            kinds.append(("pad", run) if t is None else ("piece", t.piece))
        for i in range(length):
            for j in range(i + 1):
                mask[i, j] = kinds[i] == kinds[j]
        out.append(
            {
                "tokens": tokens,
                "labels": labels,
                "unshifted": unshifted,
                "positions": place,
                "segment_ids": segments,
                "lengths": lengths,
                "starts": starts,
                "documents": who,
                "mask": mask,
                "row": row,
            }
        )
    return out


def check(batches, want, length, rule, most, unshifted=False):
    align = rule.get("align", 1)
    got = [{n: np.asarray(b[n])[i] for n in b._fields} for b in batches for i in range(len(b.tokens))]
    assert len(got) == len(want)
    for g, w in zip(got, want):
        for name in ("tokens", "positions", "segment_ids"):
            assert g[name].tolist() == w[name], name
        assert g["labels"].tolist() == w["unshifted" if unshifted else "labels"]
        assert g["documents"].tolist() == w["documents"] + [-1] * (most - len(w["documents"]))
        assert np.array_equal(g["mask"], w["mask"])
        assert g["loss_mask"].tolist() == [v != NONE for v in (w["unshifted"] if unshifted else w["labels"])]
        sums = [0, *np.cumsum(w["lengths"]).tolist()]
        fill = sums[-1] if align > 1 else length
        assert g["cu_seqlens"].tolist() == sums + [fill] * (most + 2 - len(sums)) and g["cu_seqlens"].dtype == np.int32
        if align > 1:
            end = -(-(w["starts"][-1] + w["lengths"][-1]) // align) * align
            places = [*w["starts"], end]
            assert g["cu_seqlens_padded"].tolist() == places + [length] * (most + 2 - len(places))
            assert g["max_seqlen"] == max(-(-n // align) * align for n in w["lengths"])
        else:
            assert g["max_seqlen"] == max(*w["lengths"], length - sums[-1])


ALL = ["tokens", "labels", "positions", "segment_ids", "cu_seqlens", "max_seqlen", "documents", "loss_mask", "mask"]
CONCAT = [
    {"algorithm": "concat"},
    {"algorithm": "concat", "eos": True},
    {"algorithm": "concat", "bos": True, "eos": True},
]
