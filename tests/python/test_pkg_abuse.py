"""Odd uses of datasets, writers and whole-file functions: what people type, and what goes wrong around them."""

import gc
import json
import os
import pickle
import subprocess
import sys
import threading
import warnings

import mldf
import numpy as np
import pkg
import pytest
from mldf import _mldf
from mldf.errors import ArgumentError, NoSampleError, RangeError, SchemaError, WrongTypeError

LABEL = {"label": mldf.Int()}


def numbers(path, count, **options):
    mldf.write(path, range(count), LABEL, keys=[f"k{i}" for i in range(count)], **options)
    return mldf.open(path)


# ---- opening ----


def test_paths_of_all_kinds(tmp_path):
    path = tmp_path / "a.mldf"
    numbers(path, 3)
    text = str(path)
    for given in (
        text,
        path,
        os.fsencode(path),
        [os.fsencode(path)],
        (path,),
        {text},
        iter([path]),
        f"{tmp_path}/[a].mldf",
    ):
        assert len(mldf.open(given)) == 3
    for given in (None, 3, 2.5, [None], mldf.open(path)):
        with pytest.raises(WrongTypeError, match="path"):
            mldf.open(given)
    for given in ("", "a\0b", []):
        with pytest.raises(ArgumentError):
            mldf.open(given)
    for call in (mldf.info, mldf.verify, lambda p: mldf.Writer(p, LABEL)):
        with pytest.raises(WrongTypeError, match="a path is needed here, not a NoneType"):
            call(None)


def test_names_of_files_that_are_no_text(tmp_path):
    """Linux takes any bytes; errors and what is printed show them."""
    folder = os.path.join(os.fsencode(tmp_path), b"caf\xe9")
    os.mkdir(folder)
    path, out = os.path.join(folder, b"\xff.mldf"), os.path.join(folder, b"new\xff.mldf")
    numbers(path, 3)
    assert len(mldf.open(path)) == len(mldf.open(mldf.open(path).paths)) == 3
    for shown in (repr(mldf.open(path)), mldf.open(path)._repr_html_(), repr(mldf.Loader(path, 2))):
        assert "(\\xff.mldf: 3 samples" in shown.encode().decode()
    assert mldf.convert(path, out).written == 3 and mldf.verify(out).ok
    for call in (
        mldf.open,
        mldf.info,
        mldf.verify,
        mldf.repair,
        lambda p: mldf.diff(path, p),
        lambda p: mldf.merge([p], tmp_path / "m.mldf"),
    ):
        with pytest.raises(mldf.errors.NotFoundError, match=r"caf\\xe9/no\\xff: cannot be opened"):
            call(os.path.join(folder, b"no\xff"))
    for call in (lambda: mldf.convert(path, out), lambda: mldf.Writer(out, LABEL)):
        with pytest.raises(mldf.errors.ExistsError, match=r"caf\\xe9/new\\xff.mldf: already exists"):
            call()
    with open(out, "r+b") as file:
        file.truncate(os.path.getsize(out) - 20)
    with pytest.raises(mldf.errors.TruncatedError, match=r"new\\xff.mldf: the file ends"):
        mldf.open(out)
    with open(out, "wb") as file:
        file.write(b"no dataset at all")
    with pytest.raises(mldf.errors.MagicError, match=r"new\\xff.mldf"):
        mldf.open(out)
    assert "new\\xff.mldf" in mldf.verify(out).problems[0].message


def test_keys_and_passphrases_of_all_kinds(tmp_path):
    key, path = bytes(range(32)), tmp_path / "k.mldf"
    mldf.write(path, [1, 2, 3], LABEL, key=bytearray(key))
    assert len(mldf.open(path, key=memoryview(key))) == 3
    with pytest.raises(WrongTypeError, match="words are a passphrase"):
        mldf.open(path, key="x" * 32)
    with pytest.raises(WrongTypeError, match="passphrase is bytes"):
        mldf.open(path, passphrase=5)
    mldf.write(tmp_path / "p.mldf", [1, 2, 3], LABEL, passphrase="geheim")
    assert len(mldf.open(tmp_path / "p.mldf", passphrase=bytearray(b"geheim"))) == 3


def test_only_the_chosen_fields_need_to_be_alike(tmp_path):
    mldf.write(tmp_path / "a.mldf", [(1, 0.5)], {"label": mldf.Int(), "x": mldf.Float()})
    mldf.write(tmp_path / "b.mldf", [(2,)], LABEL)
    with pytest.raises(SchemaError, match="no field 'x'"):
        mldf.open(tmp_path / "*.mldf")
    ds = pickle.loads(pickle.dumps(mldf.open(tmp_path / "*.mldf", fields=["label"])))
    assert ds.column("label").tolist() == [1, 2] and ds.fields == ("label",)
    mldf.convert(tmp_path / "b.mldf", tmp_path / "c.tar")
    mldf.open([tmp_path / "b.mldf", tmp_path / "c.tar"])  # an archive of ours keeps the name and the type


def test_views_are_checked(tmp_path):
    ds = mldf.open(pkg.make(tmp_path / "a.mldf", 3))
    with pytest.raises(ArgumentError, match="twice"):
        mldf.open(tmp_path / "a.mldf", fields=["label", "label"])
    with pytest.raises(ArgumentError, match="channels=2"):
        ds.with_options(channels=2)
    assert ds.with_fields(["label", "text"]).fields == ds.with_fields("label", "text").fields == ("label", "text")
    with pytest.raises(KeyError, match="no field"):
        ds.column(["label"])
    with pytest.raises(ValueError, match="no field 'lable'"):
        ds[0]._replace(lable=1)


def test_a_warning_is_about_the_users_line(tmp_path):
    data = bytearray(pkg.make(tmp_path / "a.mldf", 3).read_bytes())
    data[20] ^= 255
    (tmp_path / "a.mldf").write_bytes(data)
    with pytest.warns(UserWarning, match="front header") as caught:
        mldf.open(tmp_path / "a.mldf")
    assert caught[0].filename == __file__


# ---- numbers of samples ----


def test_indices_of_narrow_types(tmp_path):
    ds = numbers(tmp_path / "a.mldf", 300)
    for dtype in (np.int8, np.int16, ">i4", np.int64):
        assert ds[np.array([-1, 5, -100], dtype)].column("label").tolist() == [299, 5, 200]
        assert [s.label for s in ds.__getitems__(np.array([-1, 5], dtype))] == [299, 5]
    assert ds[np.array([255], np.uint8)][0].label == 255
    with pytest.raises(NoSampleError):
        ds[np.array([2**63], np.uint64)]


def test_brackets_that_mean_something_else(tmp_path):
    ds = numbers(tmp_path / "a.mldf", 5)
    for index in (["label"], (0, ["label"])):
        with pytest.raises(ArgumentError, match=r"ds.with_fields\('label'\)"):
            ds[index]
    for index in (1.0, None, {1, 2}, [1.5], (0, "label", "x"), np.array([1], dtype=object)):
        with pytest.raises(ArgumentError, match="chosen by"):
            ds[index]
    with pytest.raises(TypeError, match="integer"):
        ds.raw(0.5, "label")
    for index, count in ((0, 0), (3, 3), (-1, 3)):
        with pytest.raises(ArgumentError, match="shard"):
            ds.shard(index, count)


def test_keys_by_bytes_and_lists(tmp_path):
    keys = numbers(tmp_path / "a.mldf", 9).keys
    assert (
        keys.index(b"k3") == 3 and b"k3" in keys and keys[[1, -1]] == ["k1", "k8"] and keys[::4] == ["k0", "k4", "k8"]
    )
    assert keys.index("k7", -2) == 7 and 5 not in keys
    with pytest.raises(NoSampleError, match="no sample has the key"):
        keys.index("k7", -1)
    with pytest.raises(WrongTypeError, match="key is a str"):
        keys.index(5)


def test_a_million_numbers_travel_light(tmp_path):
    ds = numbers(tmp_path / "a.mldf", 100)[np.arange(1_000_000) % 100]
    sent = pickle.dumps(ds)
    assert len(sent) < 1_100_000 and np.array_equal(pickle.loads(sent).column("label"), ds.column("label"))


# ---- splits ----


def test_splits_keep_their_sizes_with_rare_values(tmp_path):
    ds = numbers(tmp_path / "a.mldf", 1000)  # every label once
    assert [len(p) for p in ds.split(0.8, 0.1, 0.1, by="label")] == [800, 100, 100]
    mldf.write(tmp_path / "b.mldf", [(i * i) % 7 for i in range(1000)] + [99], LABEL)
    ds = mldf.open(tmp_path / "b.mldf")
    parts = ds.split(0.7, 0.2, 0.1, by="label", seed=3)
    assert sum(len(p) for p in parts) == 1001
    for share, part in zip((0.7, 0.2, 0.1), parts):
        assert abs(len(part) - share * 1001) <= 1.5
        for label in np.unique(ds.column("label")):
            wanted = share * np.count_nonzero(ds.column("label") == label)
            assert abs(np.count_nonzero(part.column("label") == label) - wanted) < 1


def test_the_shares_of_a_split(tmp_path):
    ds = numbers(tmp_path / "a.mldf", 50)
    for shares in ((30, 20), ([0.6, 0.4],), ((30, 20),), (np.int64(30), 20)):
        assert [len(p) for p in ds.split(*shares)] == [30, 20]
    assert [len(p) for p in ds.split(0, 1)] == [0, 50]
    for shares in ((0.5, 0.3), (30, 30), (float("nan"), 1), (-0.5, 1.5), (), ("a",), ({},)):
        with pytest.raises(ArgumentError, match="split"):
            ds.split(*shares)
    with pytest.raises(ArgumentError, match="by=.image.: a field of type image says nothing of classes"):
        mldf.open(pkg.make(tmp_path / "b.mldf", 3)).split(0.5, 0.5, by="image")


# ---- writers ----


def test_a_writer_that_nobody_finishes_says_so(tmp_path):
    def forget():
        mldf.Writer(tmp_path / "a.mldf", LABEL).append((1,))

    with pytest.warns(
        UserWarning, match=r"the Writer of .*a.mldf was never closed: 1 sample is lost, nothing was written"
    ):
        forget()
        gc.collect()
    assert os.listdir(tmp_path) == []
    with pytest.warns(ResourceWarning, match=r"0 samples are lost"):
        mldf.Writer(tmp_path / "b.mldf", LABEL)
        gc.collect()


@pytest.mark.parametrize("resume", [False, True])
def test_a_program_that_ends_with_an_open_writer_says_what_is_lost(tmp_path, resume):
    program = (
        "import mldf, sys\n"
        "w = mldf.Writer(sys.argv[1], {'label': int}, resume=sys.argv[2] == 'True')\n"
        "for i in range(1000): w.append((i,))\n"
    )
    path = tmp_path / "a.mldf"
    run = subprocess.run([sys.executable, "-c", program, path, str(resume)], capture_output=True, text=True, check=True)
    kept = f"{path}.partial keeps" if resume else "nothing was written"
    assert f"the Writer of {path} was never closed: 1,000 samples are lost, {kept}" in run.stderr
    assert not path.exists()


def test_close_completes_the_file_once(tmp_path):
    w = mldf.Writer(tmp_path / "a.mldf", LABEL)
    w.append((7,))
    w.close()
    w.close()
    assert w.result.samples == 1 and mldf.open(tmp_path / "a.mldf")[0].label == 7
    w = mldf.Writer(tmp_path / "b.mldf", LABEL)
    w.abort()
    w.close()
    assert not (tmp_path / "b.mldf").exists()


def test_a_finished_or_failed_writer_is_silent(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        numbers(tmp_path / "a.mldf", 3)
        with pytest.raises(KeyError), mldf.Writer(tmp_path / "b.mldf", LABEL):
            raise KeyError
        with pytest.raises(FileExistsError):
            mldf.Writer(tmp_path / "a.mldf", LABEL)
        gc.collect()


def test_threads_may_append(tmp_path):
    path = tmp_path / "t.mldf"
    with mldf.Writer(path, LABEL) as w:
        threads = [threading.Thread(target=lambda k=k: w.extend((k * 500 + i,) for i in range(500))) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = mldf.open(path).column("label")
    assert sorted(found.tolist()) == list(range(2000))
    for k in range(4):  # each thread's samples in its order
        mine = found[found // 500 == k]
        assert mine.tolist() == sorted(mine.tolist())


def test_options_of_writers_are_checked(tmp_path):
    path = numbers(tmp_path / "a.mldf", 3).paths[0]
    with pytest.raises(ArgumentError, match="on_error='x'"):
        mldf.Writer.existing(path, on_error="x")
    for name, value in (("threads", -5), ("threads", 2**31), ("page_size", -1)):
        with pytest.raises(ArgumentError, match=name):
            mldf.Writer(tmp_path / "b.mldf", LABEL, **{name: value})
    for card in ([1], {"a": {1}}, {"a": float("nan")}):
        with pytest.raises(WrongTypeError, match="card"):
            mldf.Writer(tmp_path / "b.mldf", LABEL, card=card)
    assert numbers(tmp_path / "c.mldf", 1, card={"mean": np.float32(0.5)}).card == {"mean": 0.5}
    w = mldf.Writer.existing(path)
    with pytest.raises(RangeError) as caught:
        w.append((2**70,))
    assert caught.value.sample == 3  # its number in the file
    w.abort()


# ---- fields of the user's own ----


class Words(mldf.CustomField):
    type_name = "org.example.abuse.words"

    def encode(self, value):
        return bytearray(" ".join(value).encode())

    def decode(self, data):
        if data == b"boom":
            raise RuntimeError("no")
        return data.decode().split()


def test_what_the_users_field_raises_says_where(tmp_path):
    mldf.write(tmp_path / "a.mldf", [(["a"],), (["boom"],)], {"words": Words()})
    ds = mldf.open(tmp_path / "a.mldf")
    assert ds[0].words == ["a"]
    for read in (lambda: ds[1], lambda: ds[1, "words"], lambda: ds.column("words"), lambda: ds.__getitems__([0, 1])):
        with pytest.raises(RuntimeError, match="no") as caught:
            read()
        assert caught.value.__notes__ == ["in field 'words' of sample 1"]
    with pytest.raises(TypeError) as caught:
        mldf.write(tmp_path / "b.mldf", [([1],)], {"words": Words()})
    assert caught.value.__notes__ == ["in Words.encode, for field 'words'"]


def test_a_bad_type_spoils_nothing(tmp_path):
    ds = numbers(tmp_path / "a.mldf", 3)
    for members in (
        {"type_name": "org.example.low", "type_id": 5},
        {"type_name": "org.example.high", "type_id": 0x12345},
        {"type_name": "nodot"},
        {"type_name": "org.example." + "x" * 1000},
        {"type_name": Words.type_name, "type_id": 0x8001},
    ):
        cls = type("Bad", (mldf.CustomField,), members)
        mldf.register_field(Words)
        with pytest.raises(mldf.Error):
            mldf.register_field(cls)
        assert len(mldf.open(ds.paths)) == 3


def test_damaged_text_is_the_files_fault(tmp_path):
    path = tmp_path / "a.mldf"
    mldf.write(path, [("fine", {"a": 1}), ("hellö", {"k": "v"})], {"t": mldf.Text(), "j": mldf.Json()})
    data = bytearray(path.read_bytes())
    data[data.index(b"hell")] = 255
    data[data.index(b'{"k"')] = ord("[")
    path.write_bytes(data)
    ds = mldf.open(path)
    assert ds[0].t == "fine" and ds[0].j == {"a": 1}
    for name in ("t", "j"):
        for read in (lambda: ds[1, name], lambda: ds.column(name), lambda: ds.with_fields(name)[1]):
            with pytest.raises(mldf.errors.CorruptError) as caught:
                read()
            assert (caught.value.sample, caught.value.field) == (1, name)
            assert caught.value.__notes__ == [f"in field {name!r} of sample 1"]


# ---- images alone ----


def test_arguments_of_images_are_checked():
    pixels = np.zeros((4, 5, 3), np.uint8)
    jpeg = mldf.images.encode(pixels, subsampling="444")
    assert mldf.images.decode(jpeg, region=[1, 2, 3, 2]).shape == (2, 3, 3)
    for region in ((2**40, 0, 5, 5), (-1, 0, 1, 1), (0, 0), (0.5, 0, 1, 1)):
        with pytest.raises(ArgumentError, match="region"):
            mldf.images.decode(jpeg, region=region)
    spread = bytes(b for byte in jpeg for b in (byte, 0))
    assert mldf.images.probe(memoryview(spread)[::2])["format"] == "jpeg"
    for data in ("a.jpg", None, 5):
        with pytest.raises(WrongTypeError, match="bytes are needed"):
            mldf.images.decode(data)
    for wrong in (
        pixels.astype(bool),
        pixels.astype(float),
        pixels.tolist(),
        pixels[0, 0],
        np.zeros((2, 2, 5), np.uint8),
    ):
        for call in (mldf.images.encode, lambda p: mldf.images.resize(p, 2, 2)):
            with pytest.raises(WrongTypeError, match="pixels are"):
                call(wrong)
    for width in (0, -1, 2**31, 1.5):
        with pytest.raises(ArgumentError, match="width"):
            mldf.images.resize(pixels, width, 2)
    with pytest.raises(ArgumentError, match="subsampling=411"):
        mldf.images.encode(pixels, subsampling=411)


# ---- whole files ----


def test_select_takes_what_brackets_take(tmp_path):
    ds = numbers(tmp_path / "a.mldf", 10)
    for samples, want in (
        (slice(7, None), [7, 8, 9]),
        (slice(-2, None), [8, 9]),
        (slice(None, None, -4), [9, 5, 1]),
        ([True] + [False] * 8 + [True], [0, 9]),
        (np.arange(10) == 4, [4]),
        ([-1, 0], [9, 0]),
        (range(2, 4), [2, 3]),
        ([], []),
    ):
        mldf.select(ds, tmp_path / "b.mldf", samples=samples, overwrite=True)
        assert mldf.open(tmp_path / "b.mldf").column("label").tolist() == want
    for samples, error in (
        ([10], IndexError),
        ([1.5], TypeError),
        (5, ValueError),
        ("all", ValueError),
        ([True], ValueError),
    ):
        with pytest.raises(error):
            mldf.select(ds, tmp_path / "c.mldf", samples=samples)


def test_what_was_encrypted_stays_so(tmp_path):
    key, path = bytes(range(32)), tmp_path / "e.mldf"
    mldf.write(path, range(6), LABEL, key=key, keys="abcdef")
    ds = mldf.open(path, key=key)
    mldf.select(path, tmp_path / "s0.mldf", keys=["c", "a"], key=key)
    mldf.select(ds, tmp_path / "s1.mldf", samples=[2, 0])
    mldf.split(path, tmp_path / "p{}.mldf", count=3, key=key)
    mldf.split(ds, tmp_path / "q{}.mldf", fractions=[0.5, 0.5])
    mldf.convert(ds, tmp_path / "c.mldf")
    mldf.merge(ds, tmp_path / "m.mldf")
    mldf.write(tmp_path / "w.mldf", ds[::2])
    made = [p for p in tmp_path.glob("*.mldf") if p != path]
    assert len(made) == 9
    for one in made:
        with pytest.raises(mldf.errors.KeyMissingError):
            mldf.open(one)
        assert len(mldf.open(one, key=key)) in (2, 3, 6)
    assert mldf.open(tmp_path / "s0.mldf", key=key).column("label").tolist() == [2, 0]
    mldf.select(ds, tmp_path / "x0.mldf", decrypt=True)
    mldf.split(ds, tmp_path / "x{}.mldf", count=6, decrypt=True, overwrite=True)
    mldf.write(tmp_path / "x1.mldf", ds, decrypt=True)
    assert [len(mldf.open(tmp_path / f"x{i}.mldf")) for i in range(2)] == [6, 6]
    mldf.write(tmp_path / "other.mldf", ds, passphrase="another")
    assert len(mldf.open(tmp_path / "other.mldf", passphrase="another")) == 6
    with pytest.raises(ArgumentError, match="samples and keys"):
        mldf.select(ds, tmp_path / "y.mldf", samples=[1], keys=["a"])
    with pytest.raises(NoSampleError):
        mldf.select(ds, tmp_path / "y.mldf", keys=["zz"])


def test_convert_leaves_out_what_is_bad(tmp_path):
    path = tmp_path / "a.mldf"
    mldf.write(path, [b"one", b"two!", b"three"], {"x": mldf.Bytes()})
    data = bytearray(path.read_bytes())
    data[data.index(b"two!")] ^= 255
    path.write_bytes(data)
    with pytest.raises(mldf.errors.ChecksumError):
        mldf.convert(path, tmp_path / "b.mldf")
    result = mldf.convert(path, tmp_path / "b.mldf", on_error="skip")
    assert result.written == 2 and len(result.skipped) == 1 and "CRC" in result.skipped[0].message
    assert mldf.open(tmp_path / "b.mldf").column("x") == [b"one", b"three"]
    with pytest.raises(ArgumentError, match="on_error='ignore'"):
        mldf.convert(path, tmp_path / "c.mldf", on_error="ignore")


def test_numbers_of_tools_are_checked(tmp_path):
    ds = numbers(tmp_path / "a.mldf", 10)
    for name, value in (("count", -1), ("bytes", -2), ("count", 2**64)):
        with pytest.raises(ArgumentError, match=name):
            mldf.split(ds, tmp_path / "s{}.mldf", **{name: value})
    with pytest.raises(ArgumentError, match="seed"):
        mldf.split(ds, tmp_path / "s{}.mldf", fractions=[0.5, 0.5], seed=-1)
    with pytest.raises(ArgumentError, match="samples"):
        mldf.plan(LABEL, -1)
    with pytest.raises(ArgumentError, match="compress=True"):
        mldf.convert(ds, tmp_path / "c.mldf", compress=True)
    assert mldf.convert(ds, tmp_path / "c.mldf").written == mldf.merge(ds, tmp_path / "m.mldf").written == 10
    with pytest.raises(ArgumentError, match="mldf.write"):
        mldf.convert(ds[:3], tmp_path / "d.mldf")
    assert sorted(os.listdir(tmp_path)) == ["a.mldf", "c.mldf", "m.mldf"]


def test_the_bar_ends_with_the_last_state(capsys):
    from mldf.progress import Bar, Progress

    bar = Bar("write", every=0.0)
    bar(Progress("write", 3, None, 0, None))
    bar.every = 1000.0
    bar(Progress("write", 7, None, 0, None))
    bar.end()
    drawn = capsys.readouterr().err
    assert drawn.endswith("\n") and drawn.rstrip().split("\r")[-1].startswith("write  7  ")


# ---- errors ----


def test_errors_are_pickled_whole(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        mldf.open(tmp_path / "no.mldf")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.errno, again.status) == (
        mldf.errors.NotFoundError,
        str(caught.value),
        2,
        "not_found",
    )
    for name in mldf.errors.__all__:
        error = getattr(mldf.errors, name)("words", sample=3, field="f")
        error.offset = 7
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == "words"
        assert (again.sample, again.field, again.offset, again.status) == (3, "f", 7, error.status)


def test_a_forked_child_never_waits_for_a_lock(tmp_path):
    """A thread is in the middle of an append when another forks; the child is told whose writer it is."""
    program = """
import mldf, os, sys, threading, numpy as np
w = mldf.Writer(sys.argv[1], {"x": mldf.NDArray("uint8", (1 << 20,))}, threads=0)
data, stop = np.zeros(1 << 20, np.uint8), threading.Event()
def run():
    while not stop.is_set():
        w.append((data,))
thread = threading.Thread(target=run)
thread.start()
bad = 0
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        try:
            w.append((data,))
        except mldf.errors.StateError:
            os._exit(0)
        os._exit(1)
    bad += os.waitpid(pid, 0)[1] != 0
stop.set()
thread.join()
w.abort()
print(bad)
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(tmp_path / "f.mldf")],
        capture_output=True,
        text=True,
        timeout=pkg.HANG,
    )
    assert done.stdout.strip() == "0", done.stderr
    assert os.listdir(tmp_path) == []


def test_results_are_json(tmp_path):
    """What the functions that only look give back can be kept as JSON."""
    ds = mldf.open(pkg.make(tmp_path / "a.mldf", 10))
    for found in (mldf.stats(ds), mldf.info(ds.paths[0]), mldf.plan(ds.schema, 10)):
        assert json.loads(json.dumps(found))


# ---- arguments of the wrong kind ----


def calls_with_flags(path, out):
    """Every argument that is True or False, with a word for it."""
    ds, pixels = mldf.open(path), np.zeros((2, 2, 3), np.uint8)
    table = out.with_name("rows.csv")
    table.write_text("label\n1\n")
    writing = (
        [(mldf.pack, table, out, name) for name in ("overwrite", "check", "resume", "allow_outside", "checksums")]
        + [(mldf.append, path, table, name) for name in ("number_keys", "allow_outside")]
        + [(mldf.convert, path, out, name) for name in ("decrypt", "drop_fields", "lz4", "dictionary")]
        + [(function, path, out, "decrypt") for function in (mldf.select, mldf.merge)]
        + [(mldf.extract, path, out, "overwrite")]
        + [(mldf.repack, path, out, name) for name in ("decrypt", "decompress")]
        + [(mldf.repair, path, out, "overwrite"), (mldf.write, out, ds, "decrypt")]
        + [(mldf.Writer, out, LABEL, name) for name in ("overwrite", "check", "resume", "checksums", "dictionary")]
    )
    for function, a, b, name in writing:
        yield name, lambda function=function, a=a, b=b, name=name: function(a, b, **{name: "no"})
    for name in ("decrypt", "shuffle"):
        yield name, lambda name=name: mldf.split(path, f"{out}-{{}}", count=1, **{name: "no"})
    for name in ("decode", "orient", "verify"):
        yield name, lambda name=name: mldf.open(path, **{name: "no"})
    for name in ("decode", "orient"):
        yield name, lambda name=name: ds.with_options(**{name: "no"})
    for name in ("orient", "tolerant", "fast_dct"):
        yield name, lambda name=name: mldf.images.decode(mldf.images.encode(pixels), **{name: "no"})
    for name in ("optimize", "progressive"):
        yield name, lambda name=name: mldf.images.encode(pixels, **{name: "no"})
    yield "deep", lambda: mldf.verify(path, deep="no")
    yield "keep_index", lambda: mldf.info(path, keep_index="no")
    yield "contiguous", lambda: ds.shard(0, 2, contiguous="no")
    yield "shuffle", lambda: ds.split(0.5, 0.5, shuffle="no")
    yield "checksums", lambda: mldf.plan(LABEL, 3, checksums="no")


def test_a_word_where_true_or_false_is_needed_is_refused(tmp_path):
    path = tmp_path / "a.mldf"
    numbers(path, 3)
    before = path.read_bytes()
    for name, call in calls_with_flags(path, tmp_path / "out"):
        with pytest.raises(WrongTypeError, match=f"{name}='no': True or False is needed"):
            call()
    with pytest.raises(SchemaError, match="nullable='no': True or False is needed"):
        mldf.schema_json({"x": mldf.Int(nullable="no")})
    assert pkg.listing(tmp_path) == ["a.mldf", "rows.csv"] and path.read_bytes() == before
    for no in (np.False_, 0, np.int64(0)):
        with pytest.raises(mldf.errors.ExistsError):
            mldf.Writer(path, LABEL, overwrite=no)
    for yes in (np.True_, 1, np.uint8(1)):
        assert mldf.convert(path, tmp_path / "b.mldf", overwrite=yes).written == 3


def test_arguments_that_are_no_text_and_no_number_are_named(tmp_path):
    path, out = tmp_path / "a.mldf", tmp_path / "out"
    numbers(path, 3)
    for message, call in {
        "where=0: text is needed": lambda: mldf.select(path, out, where=0),
        "list of numbers or text is needed, not type": lambda: mldf.Resize(int),
        "fields=0: text is needed": lambda: mldf.select(path, out, fields=[0]),
        "fields: None is not a name": lambda: mldf.select(path, out, fields=["label", None]),
        "fields=3: a list of names": lambda: mldf.extract(path, out, fields=3),
        "compress=3: text is needed": lambda: mldf.select(path, out, compress=[3]),
        "compress=b'label'|compress=108": lambda: mldf.select(path, out, compress=b"label"),
        "keys=3: a list of names": lambda: mldf.select(path, out, keys=3),
        "samples: 1.5 is not a sample number": lambda: mldf.select(path, out, samples=[1.5]),
        "by=1: text is needed": lambda: mldf.split(path, out, count=1, by=1),
        "to=1: text is needed": lambda: mldf.convert(path, out, to=1),
        "key_column=1: text": lambda: mldf.pack(path, out, key_column=1),
        "name=1: text is needed": lambda: mldf.add_field(path, 1, path),
        "name=None: text is needed": lambda: mldf.add_field(path, None, path),
        "column=1: text is needed": lambda: mldf.add_field(path, "x", path, column=1),
        "compress='9': a whole number": lambda: mldf.add_field(path, "x", path, compress="9"),
        "channels=3.0: a whole number": lambda: mldf.open(path, channels=3.0),
        "quality='90': a whole number": lambda: mldf.images.encode(np.zeros((2, 2, 3), np.uint8), quality="90"),
        "scale='2': a whole number": lambda: mldf.images.decode(b"", scale="2"),
        "samples=None: a whole number": lambda: mldf.plan(LABEL, None),
    }.items():
        with pytest.raises(WrongTypeError, match=message):
            call()
    for message, call in {
        "half a character": lambda: mldf.open("/tmp/\ud800"),
        "passphrase has half a character": lambda: mldf.open(path, passphrase="\ud800"),
        "where='a.x00b': it has a NUL": lambda: mldf.select(path, out, where="a\0b"),
        "name='a.x00b': it has a NUL": lambda: mldf.add_field(path, "a\0b", path),
        "name='.ud800': it has a NUL or half": lambda: mldf.add_field(path, "\ud800", path),
        "region=5: it is": lambda: mldf.images.decode(b"", region=5),
        "fractions=0.5: numbers": lambda: mldf.split(path, out, fractions=0.5),
        "fractions=.'a'.: numbers": lambda: mldf.split(path, out, fractions=["a"]),
        "limit=0: it is at least 1": lambda: mldf.diff(path, path, limit=0),
    }.items():
        with pytest.raises(ArgumentError, match=message):
            call()
    assert pkg.listing(tmp_path) == ["a.mldf"]


def test_ranges_in_braces():
    from mldf.paths import braces

    assert braces("a{1..2}-{09..10}.tar") == ["a1-09.tar", "a1-10.tar", "a2-09.tar", "a2-10.tar"]
    assert len(braces("{000..999}{000..999}")) == 1_000_000
    for pattern in ("{0..999}{0..999}{0..999}", "{2..1}", "{0..1000000}", "{0.." + "9" * 5000 + "}"):
        with pytest.raises(ArgumentError, match="empty or too long"):
            mldf.open(pattern)


def test_the_class_that_does_not_take_the_arguments_of_a_file_is_named(tmp_path):
    class Forgetful(mldf.CustomField):
        type_name = "org.example.forgetful"

        def arguments(self):
            return {"size": 3}

        def encode(self, value):
            return value

    with pytest.raises(TypeError) as caught:
        mldf.Writer(tmp_path / "a.mldf", {"x": Forgetful()})
    assert caught.value.__notes__ == ["in Forgetful.from_arguments, for field 'x'"]
    assert pkg.listing(tmp_path) == []


def test_one_key_is_one_sample(tmp_path):
    numbers(tmp_path / "a.mldf", 3)
    mldf.select(tmp_path / "a.mldf", tmp_path / "b.mldf", keys="k1")
    assert list(mldf.open(tmp_path / "b.mldf").keys) == ["k1"]


def test_numbers_of_numpy_in_a_schema():
    text = mldf.schema_json({"x": mldf.Text(compress=np.int64(3)), "y": {"type": "image", "quality": np.uint8(90)}})
    assert '"compress":3' in text
    with pytest.raises(SchemaError, match="no place for a set"):
        mldf.schema_json({"x": {"type": "int", "more": {1}}})


def test_whole_file_functions_refuse_some_of_the_fields(tmp_path):
    path = tmp_path / "a.mldf"
    mldf.write(path, [(i, i) for i in range(3)], {"a": "int", "b": "int"})
    some, again = mldf.open(path).with_fields("a"), mldf.open(path, fields=["b", "a"])
    several = mldf.open([path, path], fields=["a"])
    for call in (
        lambda: mldf.select(some, tmp_path / "x"),
        lambda: mldf.stats(again),
        lambda: mldf.convert(some, tmp_path / "x.mldf"),
        lambda: mldf.merge(several, tmp_path / "x.mldf"),
    ):
        with pytest.raises(ArgumentError, match="all (its|their) fields"):
            call()
    assert mldf.select(mldf.open(path, fields=["a", "b"]), tmp_path / "y.mldf").written == 3
    assert pkg.listing(tmp_path) == ["a.mldf", "y.mldf"]


def test_what_a_schema_has(tmp_path):
    path = tmp_path / "a.mldf"
    mldf.write(path, [((1, 2), [1, 2])], {"pose": mldf.Struct([("x", "f4"), ("y", "f4")]), "v": mldf.Struct(("f4", 2))})
    schema = mldf.open(path).schema
    assert schema["pose"].is_struct and not schema["v"].is_struct
    assert "pose" in schema and "poes" not in schema and [] not in schema and 1 not in schema


def test_abort_waits_for_another_thread(tmp_path):
    inside, go, told = threading.Event(), threading.Event(), []

    def progress(_):
        inside.set()
        go.wait()

    def abort():
        about.set()
        try:
            writer.abort()
        except mldf.Error as error:
            told.append(error)

    about = threading.Event()
    go.set()  # not before the end
    writer = mldf.Writer(tmp_path / "a.mldf", LABEL, progress=progress)
    for i in range(10):
        writer.append({"label": i})
    go.clear()
    inside.clear()
    threads = [threading.Thread(target=writer.finish), threading.Thread(target=abort)]
    threads[0].start()
    inside.wait()
    threads[1].start()
    about.wait()
    threads[1].join(0.1)  # long enough for an error; if not, this test sees less, and nothing fails
    go.set()
    for thread in threads:
        thread.join()
    assert not told and len(mldf.open(tmp_path / "a.mldf")) == 10


def test_warnings_that_are_too_many_are_counted(tmp_path):
    fields = {"image": mldf.Image(), **{f"n{i}": mldf.NDArray("float32", (1,)) for i in range(40)}}
    image = mldf.images.encode(np.zeros((2, 2, 3), np.uint8))
    mldf.write(tmp_path / "a.mldf", [(image, *([n] for n in range(40)))], fields)
    with pytest.warns(UserWarning) as told:
        mldf.convert(tmp_path / "a.mldf", tmp_path / "a.tbl", drop_fields=True)
    messages = [str(one.message) for one in told]
    assert [m.split()[1] for m in messages[:32]] == [f"n{i}" for i in range(32)]
    assert messages[32:] == ["and 8 more warnings"]


def test_write_does_not_go_on_from_what_another_program_saved(tmp_path):
    for position in (b"line 3", b""):
        with pytest.raises(KeyboardInterrupt), mldf.Writer(tmp_path / "a.mldf", LABEL, resume=True) as writer:
            writer.append({"label": 1})
            assert writer.checkpoint(position)
            raise KeyboardInterrupt
        with pytest.raises(mldf.errors.StateError, match="was begun by a Writer, whose checkpoint says"):
            mldf.write(tmp_path / "a.mldf", [1, 2, 3], LABEL, resume=True)
        assert "a.mldf.partial" in pkg.listing(tmp_path)  # nothing of it is lost
        with mldf.Writer(tmp_path / "a.mldf", LABEL, resume=True) as writer:
            assert writer.position == position
        assert mldf.open(tmp_path / "a.mldf")["label"].tolist() == [1]
        (tmp_path / "a.mldf").unlink()


@pytest.mark.parametrize(
    "name", ["overwrite", "threads", "page_size", "card", "encrypt_key", "fields", "where", "ranges"]
)
def test_an_option_that_cannot_be_looked_for_is_not_taken_for_a_missing_one(tmp_path, name):
    """For want of memory, say: a file would be written without its key."""

    class Odd:
        def __hash__(self):
            return hash(name)

        def __eq__(self, other):
            raise ZeroDivisionError

    numbers(tmp_path / "a.mldf", 3)
    reader = _mldf.open_reader(os.fsencode(tmp_path / "a.mldf"), {}, [])
    with pytest.raises(ZeroDivisionError):
        _mldf.select(reader, os.fsencode(tmp_path / "b.mldf"), {Odd(): None}, [], None)
    assert pkg.listing(tmp_path) == ["a.mldf"]
