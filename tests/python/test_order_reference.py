"""docs/order.md once more, in Python: an implementation of its own, from the text, against docs/order-vectors.json and the C library.

The C tests read the same vectors (tests/unit/order/test_vectors.c). They are never made again; a new case is added with

    python3 tests/python/test_order_reference.py --add <<< '{"form": "range", "count": 5, "kind": "random", "seed": 1, ...}'
"""

import bisect
import ctypes
import json
import math
import random
import struct
import sys
from ctypes import POINTER, byref, c_double, c_int, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "docs" / "spec"), str(Path(__file__).resolve().parent)]
import clib  # noqa: E402
from reference_reader import xxh64  # noqa: E402

VECTORS = ROOT / "docs" / "order-vectors.json"
M = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
KINDS = {"sequential": 0, "random": 1, "quasi-random": 2}


# ---- The algorithm ---------------------------------------------------------------------------------------------------


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & M
    x = (x ^ x >> 27) * 0x94D049BB133111EB & M
    return x ^ x >> 31


def epoch_key(seed, epoch):
    return mix(mix(seed + GOLDEN & M) + epoch & M)


def permutation_key(seed, epoch, use, index):
    return mix(mix(epoch_key(seed, epoch) + use * GOLDEN & M) + index & M)


def philox(key, counter):
    x, y = key & 0xFFFFFFFF, key >> 32
    a, b, c, d = counter
    for _ in range(10):
        p, q = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = q >> 32 ^ b ^ x, q & 0xFFFFFFFF, p >> 32 ^ d ^ y, p & 0xFFFFFFFF
        x, y = x + 0x9E3779B9 & 0xFFFFFFFF, y + 0xBB67AE85 & 0xFFFFFFFF
    return [a, b, c, d]


class Permutation:
    def __init__(self, n, key):
        self.n = n
        if n <= 20:
            number = (mix(key + GOLDEN & M) << 64 | mix(key + 2 * GOLDEN & M)) * math.factorial(n) >> 128
            self.list = list(range(n))
            for i in range(n, 1, -1):
                number, j = divmod(number, i)
                self.list[j], self.list[i - 1] = self.list[i - 1], self.list[j]
            return
        self.list = None
        root = math.isqrt(n - 1) + 1
        self.rows = root + root % 2
        self.columns = -(-n // self.rows)
        bits = self.columns.bit_length() - 1
        rounds = max(8, 2 * -(-40 // bits))
        self.keys = [mix(key + (i + 1) * GOLDEN & M) for i in range(rounds)]

    def at(self, x):
        if self.list is not None:
            return self.list[x]
        while True:
            row, column = divmod(x, self.columns)
            for i, key in enumerate(self.keys):
                if i % 2 == 0:
                    row = (row + (mix(key + column & M) * self.rows >> 64)) % self.rows
                else:
                    column = (column + (mix(key + row & M) * self.columns >> 64)) % self.columns
            x = row * self.columns + column
            if x < self.n:
                return x


class Range:
    """A range [0, count), or a subset: a list of samples."""

    def __init__(self, kind, seed, count, block=0, window=0, samples=None):
        self.kind, self.seed, self.count, self.samples = kind, seed, count, samples
        self.block = self.window = 0
        if kind == "quasi-random":
            self.block = min(block, max(1, count))
            self.blocks = max(1, -(-count // self.block))
            self.window = min(window, self.blocks)

    def rank(self, epoch, position):
        if self.kind == "sequential":
            return position
        if self.kind == "random":
            return Permutation(self.count, permutation_key(self.seed, epoch, 1, 0)).at(position)
        blocks = Permutation(self.blocks, permutation_key(self.seed, epoch, 2, 0))
        # The places of the epoch: slot after slot, each a block; plain and slow.
        start, index = 0, 0
        for first in range(0, self.blocks, self.window):
            places = []
            for slot in range(first, min(first + self.window, self.blocks)):
                b = blocks.at(slot)
                places += range(b * self.block, min((b + 1) * self.block, self.count))
            if position < start + len(places):
                inside = Permutation(len(places), permutation_key(self.seed, epoch, 3, index))
                return places[inside.at(position - start)]
            start, index = start + len(places), index + 1
        raise AssertionError

    def at(self, epoch, position):
        rank = self.rank(epoch, position)
        return (self.samples[rank] if self.samples is not None else rank), 0

    def digest(self):
        pieces = [struct.pack(f"<{self.count}Q", *self.samples)] if self.samples else []
        return digest(0 if self.samples is None else 1, KINDS[self.kind], self.seed, self.count, self.block, self.window,
                      pieces)


class Weighted:
    def __init__(self, seed, weights, draws):
        self.seed, self.count = seed, draws
        each, self.sums, total = 2.0**61 / sequential_sum(weights), [], 0
        for w in weights:
            total += round(w * each)
            self.sums.append(total)

    def at(self, epoch, position):
        stream = 0x811C9DC5
        for c in b"mldf.order.weights":
            stream = (stream ^ c) * 0x01000193 & 0xFFFFFFFF
        stream = mix(stream) >> 32
        n, block = self.sums[-1], 0
        assert n >= 2**32
        while True:
            words = philox(epoch_key(self.seed, epoch), [block // 2, stream, position & 0xFFFFFFFF, position >> 32])
            half = words[0:2] if block % 2 == 0 else words[2:4]
            product = (half[0] | half[1] << 32) * n
            if product & M >= 2**64 % n:
                return bisect.bisect_right(self.sums, product >> 64), 0
            block += 1

    def digest(self):
        return digest(2, 1, self.seed, self.count, 0, 0, [struct.pack(f"<{len(self.sums)}Q", *self.sums)])


def sequential_sum(values):
    total = 0.0
    for v in values:
        total = total + v
    return total


class Mixture:
    def __init__(self, seed, parts, count):
        self.seed, self.parts = seed, parts
        self.period = sum(ratio for _, ratio in parts)
        self.count = count or max(-(-order.count // ratio) for order, ratio in parts) * self.period

    def at(self, epoch, position):
        run, q = divmod(epoch * self.count + position, self.period)
        slot = Permutation(self.period, permutation_key(self.seed, 0, 4, run & M)).at(q)
        for index, (order, ratio) in enumerate(self.parts):
            if slot < ratio:
                their_epoch, their_position = divmod(run * ratio + slot, order.count)
                return order.at(their_epoch & M, their_position)[0], index
            slot -= ratio
        raise AssertionError

    def digest(self):
        pieces = [order.digest() + struct.pack("<Q", ratio) for order, ratio in self.parts]
        return digest(3, 1, self.seed, self.count, 0, 0, pieces)


def digest(form, kind, seed, count, block, window, pieces):
    chain = [0, 1]
    for piece in [b"mldf-ord" + struct.pack("<7Q", 1, form, kind, seed, count, block, window), *pieces]:
        chain = [xxh64(piece, seed) for seed in chain]
    return struct.pack("<2Q", *chain)


def build(case):
    """An order from the form of docs/order-vectors.json."""
    form, seed = case["form"], case.get("seed", 0)
    if form in ("range", "subset"):
        samples = case["samples"] if form == "subset" else None
        count = len(samples) if form == "subset" else case["count"]
        return Range(case["kind"], seed, count, case.get("block", 0), case.get("window", 0), samples)
    if form == "weights":
        return Weighted(seed, case["weights"], case["draws"])
    return Mixture(seed, [(build(p["order"]), p["ratio"]) for p in case["parts"]], case.get("count", 0))


def answer(case):
    """The case with what it must give."""
    order = build(case)
    places = [order.at(case.get("epoch", 0), p) for p in case["positions"]]
    out = dict(case, digest=order.digest().hex(), found=[s for s, _ in places])
    if case["form"] == "mixture":
        out["found_parts"] = [p for _, p in places]
    return out


# ---- The C library ---------------------------------------------------------------------------------------------------


class Options(ctypes.Structure):
    _fields_ = [("struct_bytes", c_size_t), ("kind", c_int), ("seed", c_uint64), ("block", c_uint64), ("window", c_uint64),
                ("sample_bytes", c_uint64)]


class Place(ctypes.Structure):
    _fields_ = [("sample", c_uint64), ("part", c_uint32)]


class Part(ctypes.Structure):
    _fields_ = [("order", c_void_p), ("ratio", c_uint64)]


class Native:
    """The same order, made and asked through mldf/order.h."""

    def __init__(self, c, case):
        self.c, self.handle, error = c, c_void_p(), clib.Error()
        o = Options(ctypes.sizeof(Options), KINDS[case.get("kind", "sequential")], case.get("seed", 0), case.get("block", 0),
                    case.get("window", 0), 0)
        form, out = case["form"], (byref(o), byref(self.handle), byref(error))
        if form == "range":
            status = c.mldf_order_new(c_uint64(case["count"]), *out)
        elif form == "subset":
            n = len(case["samples"])
            status = c.mldf_order_new_subset((c_uint64 * n)(*case["samples"]), c_uint64(n), *out)
        elif form == "weights":
            n = len(case["weights"])
            status = c.mldf_order_new_weighted((c_double * n)(*case["weights"]), c_uint64(n), c_uint64(case["draws"]), *out)
        else:
            parts = [Native(c, p["order"]) for p in case["parts"]]
            array = (Part * len(parts))(*[Part(p.handle, q["ratio"]) for p, q in zip(parts, case["parts"])])
            status = c.mldf_order_new_mixture(array, c_size_t(len(parts)), c_uint64(case.get("count", 0)), *out)
        assert status == 0, error.message

    def at(self, epoch, position):
        place, error = Place(), clib.Error()
        status = self.c.mldf_order_at(self.handle, c_uint64(epoch), c_uint64(position), byref(place), byref(error))
        assert status == 0, error.message
        return place.sample, place.part

    def digest(self):
        out = (c_uint8 * 16)()
        self.c.mldf_order_digest(self.handle, out)
        return bytes(out)

    @property
    def count(self):
        return self.c.mldf_order_count(self.handle)

    def __del__(self):
        self.c.mldf_order_free(self.handle)


@pytest.fixture(scope="module")
def library():
    if clib.library_path() is None:
        pytest.skip("neither MLDF_LIB nor MLDF names a build of the C library")
    c = ctypes.CDLL(clib.library_path())
    c.mldf_order_count.restype = c_uint64
    c.mldf_order_free.argtypes = [c_void_p]
    c.mldf_order_at.argtypes = [c_void_p, c_uint64, c_uint64, POINTER(Place), c_void_p]
    return c


# ---- Tests -----------------------------------------------------------------------------------------------------------

CASES = json.loads(VECTORS.read_text())["orders"] if VECTORS.exists() else []


@pytest.mark.parametrize("index", range(len(CASES)))
def test_vectors(index):
    assert answer(CASES[index]) == CASES[index]


def test_there_are_vectors_of_every_form():
    assert {(c["form"], c.get("kind")) for c in CASES} >= {
        ("range", "sequential"), ("range", "random"), ("range", "quasi-random"), ("subset", "random"),
        ("subset", "quasi-random"), ("weights", None), ("mixture", None)}


def random_case(r, mixture=True):
    form = r.choice(["range", "range", "subset", "weights"] + ["mixture"] * mixture)
    case = {"form": form, "seed": r.getrandbits(64)}
    if form in ("range", "subset"):
        case |= {"kind": r.choice(list(KINDS)), "block": r.randrange(1, 60), "window": r.randrange(1, 12)}
        if form == "range":
            case["count"] = r.choice([r.randrange(1, 40), r.randrange(1, 3000)])
        else:
            case["samples"] = r.choices(range(r.choice([100, 10**12])), k=r.randrange(1, 300))
            if r.randrange(2):
                case["samples"] = sorted(set(case["samples"]))
    elif form == "weights":
        case["weights"] = [r.choice([0.0, 1.0, r.random(), r.expovariate(1) * 10.0 ** r.randrange(-9, 9)])
                           for _ in range(r.randrange(1, 200))] + [0.25]
        case["draws"] = r.randrange(1, 2**40)
    else:
        case["parts"] = [{"order": random_case(r, False), "ratio": r.randrange(1, 8)} for _ in range(r.randrange(1, 6))]
        case["count"] = r.choice([0, r.randrange(1, 5000)])
    return case


@pytest.mark.parametrize("seed", range(150))
def test_random_orders_agree_with_the_library(library, seed):
    r = random.Random(seed)
    case = random_case(r)
    ours, theirs = build(case), Native(library, case)
    assert theirs.count == ours.count
    assert theirs.digest() == ours.digest()
    for _ in range(20):
        epoch = r.choice([0, 1, r.randrange(1000), r.getrandbits(64)])
        position = r.randrange(ours.count)
        assert theirs.at(epoch, position) == ours.at(epoch, position), (case, epoch, position)


@pytest.mark.parametrize("n", [2**32 - 1, 2**32, 2**40 + 1, 2**62 + 3, 2**63 - 1, 2**63])
def test_large_random_orders_agree_with_the_library(library, n):
    case = {"form": "range", "kind": "random", "seed": n ^ 5, "count": n}
    ours, theirs = build(case), Native(library, case)
    for position in [0, 1, n // 2, n - 1] + [random.Random(n).randrange(n) for _ in range(20)]:
        assert theirs.at(3, position) == ours.at(3, position)


if __name__ == "__main__":
    if sys.argv[1:] != ["--add"]:
        sys.exit(__doc__)
    document = json.loads(VECTORS.read_text()) if VECTORS.exists() else {"algorithm": 1, "orders": []}
    document["orders"] += [answer(json.loads(line)) for line in sys.stdin if line.strip()]
    body = ",\n".join("  " + json.dumps(case) for case in document["orders"])
    VECTORS.write_text('{"algorithm": 1, "orders": [\n%s\n]}\n' % body)
