"""What people read: results and errors that say what is there, names of classes, hints, warnings in results."""

import pickle
import subprocess
import sys

import mldf
import numpy as np
import pkg
import pytest


def jpegs(tmp_path, bad=None):
    """A file of three small JPEG images with labels; the bytes of one may be broken."""
    path, random = tmp_path / "photos.mldf", np.random.default_rng(1)
    with mldf.Writer(path, {"image": mldf.Image(), "label": int}, card={"classes": ["dark", "light"]}) as w:
        for i in range(3):
            data = bytes(mldf.images.encode(random.integers(0, 255, (8 + i, 64, 3), np.uint8), "jpeg"))
            w.append({"image": data if i != bad else data[: len(data) - 40], "label": i % 2})
    return path


def test_reprs_say_what_is_there(tmp_path):
    path = jpegs(tmp_path)
    assert repr(mldf.open(path)).splitlines()[2].endswith("2 classes: dark, light")
    info = mldf.info(path)
    assert isinstance(info, dict) and info["header"]["descriptor_ptr"] == 128 and 0 < info["fill_ratio"] < 1
    assert repr(info).startswith("Info(mldf 1.1: 3 samples, ") and "  image  image" in repr(info)
    stats = mldf.stats(path)
    assert stats["image"]["measures"]["height"]["max"] == 10
    assert [c["class_name"] for c in stats["label"]["classes"]] == ["dark", "light"]
    assert "image height" in repr(stats) and repr(stats).splitlines()[0].split() == [
        "count", "nulls", "min", "max", "mean", "p50", "p99"
    ]  # fmt: skip
    assert repr(mldf.verify(path)) == "VerifyResult(ok: 3 samples)"
    assert repr(mldf.diff(path, path)) == "DiffResult(equal)"
    result = mldf.select(path, tmp_path / "dark.mldf", where="label == 'dark' and image.height >= 8")
    assert result.written == 2 and repr(result).startswith("Result(2 samples, ")


def test_results_have_the_warnings(tmp_path):
    path = jpegs(tmp_path)
    with pytest.warns(UserWarning, match="does not make JPEG"):
        result = mldf.repack(path, tmp_path / "z.mldf", compress=["image"])
    assert [w.message.split(";")[0] for w in result.warnings] == [
        "field image: zstd does not make JPEG, PNG or WebP images smaller"
    ]
    assert "warning: field image" in repr(result)
    assert mldf.repack(path, tmp_path / "y.mldf").warnings == []


def test_a_sample_with_one_bad_field_says_what_can_be_read(tmp_path):
    ds = mldf.open(jpegs(tmp_path, bad=1))
    with pytest.raises(mldf.Error, match=r"the other fields can be read: ds\[1, 'label'\]") as caught:
        ds[1].image
    assert caught.value.readable == {"label": 1} and caught.value.field == "image"
    assert ds[1, "label"] == 1 and ds[2].label == 0
    with pytest.raises(mldf.Error, match=r"ds\[0, 'label'\]"):
        ds[1:][0].image


def test_one_bad_field_does_not_hide_the_others(tmp_path):
    s = mldf.open(jpegs(tmp_path, bad=1))[1]
    assert s.label == s["label"] == s[1] == s[-1] == 1 and s[1:] == (1,) and len(s) == 2
    assert s.names == ("image", "label") and isinstance(s, mldf.Sample)
    assert repr(s) == "Sample(image=<TruncatedError>, label=1)"

    def unpack(sample):
        _image, _label = sample

    touches = [
        lambda s: s.image,
        lambda s: s["image"],
        lambda s: s[0],
        lambda s: s[-2],
        lambda s: s[:],
        tuple,
        list,
        dict,
    ]
    touches += [unpack, lambda s: s.asdict(), lambda s: list(zip(s, s)), pickle.dumps, lambda s: np.asarray(s, object)]
    for touch in touches:
        with pytest.raises(mldf.errors.TruncatedError, match="sample 1, field image"):
            touch(s)


def test_a_sample_of_which_nothing_can_be_read_raises_at_once(tmp_path):
    path = jpegs(tmp_path, bad=1)
    with pytest.raises(mldf.errors.TruncatedError):
        mldf.open(path, fields=["image"])[1]
    with pytest.raises(IndexError):
        mldf.open(path)[3]
    ds = mldf.open(path)
    ds.close()
    with pytest.raises(mldf.errors.StateError):
        ds[1]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda p: mldf.convert(p / "photos.mldf", p / "x.none"), r"to= does$"),
        (lambda p: mldf.convert(p / "two.mldf", p / "x.tbl"), r"choose one \(fields=\)$"),
        (lambda p: mldf.convert(p / "null.mldf", p / "x.beton"), r"fields=.*drop_fields="),
    ],
)
def test_errors_of_convert_speak_python(tmp_path, call, words):
    jpegs(tmp_path)
    pixels = np.zeros((4, 4, 3), np.uint8)
    mldf.write(tmp_path / "two.mldf", [(pixels, pixels)], {"a": mldf.Image(), "b": mldf.Image()})
    mldf.write(tmp_path / "null.mldf", [(None,)], {"text": mldf.NDArray("int32", (None,), nullable=True)})
    with pytest.raises(mldf.Error, match=words) as caught:
        call(tmp_path)
    assert "--" not in str(caught.value) and "--" not in caught.value.message


def test_another_class_cannot_take_a_registered_name():
    def make(qualname):
        class One(mldf.CustomField):
            type_name = "org.example.words"

            def encode(self, value):
                return bytes(value)

            def decode(self, data):
                return data

        One.__qualname__ = qualname
        return One

    mldf.register_field(make("First"))
    mldf.register_field(make("First"))  # the same class, from a module that was loaded again
    with pytest.raises(mldf.errors.SchemaError, match="registered already, by .*First: another class"):
        mldf.register_field(make("Second"))


def test_hints_for_names_of_other_libraries():
    for name, hint in (("Inline", "mldf.Struct"), ("JSON", "mldf.Json"), ("Array", "mldf.NDArray")):
        with pytest.raises(AttributeError, match=f"here it is {hint}"):
            getattr(mldf, name)


def test_overwriting_is_refused_in_words_of_python(tmp_path):
    path, other = jpegs(tmp_path), tmp_path / "other.mldf"
    other.write_bytes(path.read_bytes())
    with pytest.raises(mldf.errors.ExistsError, match=r"already exists; use -f .* \(Python: overwrite=True\)"):
        mldf.repack(path, other)


def test_the_figure_of_the_readme_is_what_the_table_of_benchmarks_says():
    done = subprocess.run([sys.executable, pkg.ROOT / "bench" / "figure.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("CenterCrop(10, 12)", r"are one argument: CenterCrop\(\(10, 12\)\); or name it: fill=12"),
        ("RandomCrop(32, 32)", r"are one argument: RandomCrop\(\(32, 32\)\); or name it: padding=32"),
        ("Resize(224, 192)", r"are one argument: Resize\(\(224, 192\)\)$"),
        ("RandomResizedCrop(224, 192)", r"are one argument: RandomResizedCrop\(\(224, 192\)\)$"),
    ],
)
def test_height_and_width_as_two_arguments(call, words):
    """The second number of CenterCrop was the colour of the padding, without a word."""
    with pytest.raises(mldf.errors.ArgumentError, match=words):
        eval(f"mldf.{call}")


def test_a_second_number_that_others_write_or_that_has_a_name():
    assert mldf.RandomCrop(32, 4).text == "random_crop(32, padding=4)"
    assert mldf.CenterCrop(10, fill=12).text == "center_crop(10, fill=12)"
    assert pickle.loads(pickle.dumps(mldf.CenterCrop((10, 12)))).text == "center_crop([10, 12])"
