"""FFCV's programs with mldf.compat.ffcv in their import lines: outputs, own operations, fields, orders."""

import importlib
import pickle

import mldf
import numpy as np
import pkg
import pytest
from mldf.compat import ffcv
from mldf.compat.ffcv.memory_managers import OSCacheManager

torch = pytest.importorskip("torch")

COUNT = 32


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """As an FFCV program writes it, with a field called index."""
    path = tmp_path_factory.mktemp("ffcv") / "a.beton"
    fields = {
        "index": ffcv.IntField(),
        "image": ffcv.RGBImageField(),
        "label": ffcv.IntField(),
        "score": ffcv.FloatField(),
        "box": ffcv.NDArrayField(np.dtype("float32"), (4,)),
        "meta": ffcv.JSONField(),
        "blob": ffcv.BytesField(),
    }
    samples = [
        (
            100 + i,
            pkg.image(i, 40, 40),
            i % 10,
            i / 4,
            np.arange(4, dtype="f4") + i,
            {"n": "x" * i},
            np.full(i + 1, i, np.uint8),
        )
        for i in range(COUNT)
    ]
    ffcv.DatasetWriter(path, fields).from_indexed_dataset(samples)
    return str(path)


def only(path, **pipelines):
    """All fields but these are left out."""
    return {**dict.fromkeys(mldf.open(path).schema), **pipelines}


def test_a_field_without_a_pipeline_gets_its_decoder_and_to_tensor(path):
    batch = next(iter(ffcv.Loader(path, 8)))
    index, image, label, score, box, meta, blob = batch
    assert all(isinstance(v, torch.Tensor) for v in batch)
    assert tuple(image.shape) == (8, 40, 40, 3) and image.dtype == torch.uint8
    assert tuple(index.shape) == tuple(label.shape) == tuple(score.shape) == (8, 1)
    assert index[:, 0].tolist() == list(range(100, 108)) and label.dtype == torch.int64 and score.dtype == torch.float64
    assert tuple(box.shape) == (8, 4) and tuple(blob.shape) == (8, 8) and blob.dtype == torch.uint8
    assert blob[2].tolist() == [2, 2, 2, 0, 0, 0, 0, 0]
    assert ffcv.JSONField.unpack(meta) == [{"n": "x" * i} for i in range(8)] and ffcv.JSONField.unpack(meta[3]) == {
        "n": "xxx"
    }
    assert (meta == 0).any(1).all()  # a program may look for the byte that ends the text


def test_none_leaves_a_field_out_and_the_order_is_that_of_the_file(path):
    pipelines = {
        "label": [ffcv.IntDecoder(), ffcv.ToTensor(), ffcv.Squeeze()],
        "image": None,
        "meta": None,
        "box": None,
    }
    loader = ffcv.Loader(path, 8, pipelines={**pipelines, "blob": None, "score": [ffcv.FloatDecoder()]})
    index, label, score = next(iter(loader))
    assert loader.outputs == ("index", "label", "score")
    assert tuple(index.shape) == (8, 1) and label.tolist() == list(range(8))
    assert isinstance(score, np.ndarray) and score.shape == (8, 1)


@pytest.mark.parametrize("dims", [(), (1,), (-1,)])
def test_squeeze_of_numbers(path, dims):
    steps = [ffcv.FloatDecoder(), ffcv.ToTensor(), ffcv.Squeeze(*dims)]
    batches = list(ffcv.Loader(path, 31, drop_last=False, pipelines=only(path, score=steps)))
    assert [tuple(b[0].shape) for b in batches] == [(31,), (1,)]  # the batch's own dimension stays
    late = [ffcv.FloatDecoder(), lambda x: x + 1, ffcv.Squeeze(*dims)]
    value = next(iter(ffcv.Loader(path, 8, pipelines=only(path, score=late))))[0]
    assert value.shape == (8,) and value.tolist() == [1 + i / 4 for i in range(8)]


class Tenfold(ffcv.Operation):
    """As FFCV's documentation has own operations: memory that it asked for, and the samples' numbers."""

    def generate_code(self):
        my_range = ffcv.Compiler.get_iterator()

        def code(values, destination, indices):
            assert isinstance(values, np.ndarray) and destination.dtype == np.float32
            for i in my_range(len(indices)):
                destination[i] = values[i] * 10.0 + indices[i]
            return destination  # which has the batch's length, also that of the last

        code.is_parallel = code.with_indices = True
        return code

    def declare_state_and_memory(self, previous_state):
        assert previous_state.jit_mode and previous_state.dtype == np.int64 and previous_state.shape == (1,)
        return previous_state, ffcv.AllocationQuery(previous_state.shape, np.dtype("float32"))


class OnTensors(ffcv.Operation):
    def generate_code(self):
        return lambda images, destination: images.float().mul_(2) if destination is None else None

    def declare_state_and_memory(self, previous_state):
        assert not previous_state.jit_mode and previous_state.dtype == torch.uint8
        return previous_state, None


def test_own_operations_on_arrays_and_tensors(path):
    pipelines = only(
        path,
        label=[ffcv.IntDecoder(), Tenfold(), ffcv.ToTensor(), ffcv.Squeeze()],
        image=[ffcv.SimpleRGBImageDecoder(), ffcv.ToTensor(), OnTensors(), ffcv.ToTorchImage()],
    )
    pipelines["index"] = [ffcv.IntDecoder(), ffcv.Squeeze(), lambda n: n - 100]
    loader = ffcv.Loader(path, 9, order=ffcv.OrderOption.RANDOM, drop_last=False, pipelines=pipelines)
    first = mldf.open(path)
    seen = []
    for index, image, label in loader:
        assert len(label) == len(index) in (9, 5)
        for i, n in enumerate(index.tolist()):
            assert label[i] == n % 10 * 10 + n
            assert np.array_equal(image[i].numpy().transpose(1, 2, 0), first[n].image * 2.0)
            seen.append(n)
    assert sorted(seen) == list(range(COUNT))


def test_callables_anywhere_and_transforms_after_them(path):
    """What is before a callable runs in C, what is after it on the batch; both give the same."""
    mean, std = np.array([120.0, 110, 100]), np.array([50.0, 60, 70])
    tail = [ffcv.ToTensor(), ffcv.ToTorchImage(), ffcv.NormalizeImage(mean, std, np.float32)]
    decoder = ffcv.CenterCropRGBImageDecoder((16, 16), 1)
    plain = next(iter(ffcv.Loader(path, 8, pipelines=only(path, image=[decoder, *tail]))))[0]
    late = next(iter(ffcv.Loader(path, 8, pipelines=only(path, image=[decoder, lambda x: x, *tail]))))[0]
    assert plain.shape == late.shape == (8, 3, 16, 16) and plain.dtype == late.dtype == torch.float32
    assert (plain - late).abs().max() < 1e-5
    both = [decoder, lambda x: 255 - x, ffcv.RandomHorizontalFlip(1), ffcv.Convert(np.float32), torch.nn.Identity()]
    flipped = next(iter(ffcv.Loader(path, 8, pipelines=only(path, image=both))))[0]
    want = next(iter(ffcv.Loader(path, 8, pipelines=only(path, image=[decoder]))))[0]
    assert flipped.dtype == np.float32 and np.array_equal(flipped, 255.0 - want[:, :, ::-1])
    with pytest.raises(mldf.errors.WrongTypeError, match="gave None"):
        next(iter(ffcv.Loader(path, 8, pipelines=only(path, image=[decoder, lambda x: None]))))


def test_random_steps_after_a_callable_repeat(path):
    steps = [ffcv.SimpleRGBImageDecoder(), lambda x: x, ffcv.RandomTranslate(4), ffcv.Cutout(8)]
    runs = [[b[0] for b in ffcv.Loader(path, 8, seed=s, pipelines=only(path, image=steps))] for s in (1, 1, 2)]
    assert all(np.array_equal(a, b) for a, b in zip(runs[0], runs[1]))
    assert not all(np.array_equal(a, b) for a, b in zip(runs[0], runs[2]))


@pytest.mark.parametrize("same", [True, False])
def test_mixup_of_image_and_label(path, same):
    """As FFCV defines it: lambda of a sample and 1 - lambda of the one before it in the batch."""
    decoder = ffcv.CenterCropRGBImageDecoder((16, 16), 1)
    mixed = ffcv.Loader(
        path,
        8,
        pipelines=only(
            path,
            image=[decoder, ffcv.ImageMixup(0.5, same), ffcv.ToTensor(), ffcv.ToTorchImage()],
            label=[ffcv.IntDecoder(), ffcv.LabelMixup(0.5, same), ffcv.ToTensor(), ffcv.MixupToOneHot(10)],
        ),
    )
    clean = ffcv.Loader(path, 8, pipelines=only(path, image=[decoder], label=[ffcv.IntDecoder(), ffcv.Squeeze()]))
    seen = set()
    for (image, label), (pixels, classes) in zip(mixed, clean, strict=True):
        assert tuple(label.shape) == (8, 10) and torch.allclose(label.sum(1), torch.ones(8))
        for i in range(8):
            weight = float(label[i, classes[i]])
            seen.add(round(weight, 5))
            want = pixels[i] * weight + pixels[i - 1] * (1 - weight)
            assert np.abs(want - image[i].numpy().transpose(1, 2, 0)).max() <= 1
    assert (len(seen) == 4) == same


def test_image_mixup_alone(path):
    steps = [ffcv.SimpleRGBImageDecoder(), ffcv.ImageMixup(1.0), ffcv.ToTensor(), ffcv.ToTorchImage()]
    assert next(iter(ffcv.Loader(path, 8, pipelines=only(path, image=steps))))[0].shape == (8, 3, 40, 40)


def test_attributes_of_a_loader(path):
    loader = ffcv.Loader(path, 8, num_workers=2, seed=5, indices=range(4, 30), drop_last=False)
    assert (loader.batch_size, loader.num_workers, loader.seed, loader.drop_last) == (8, 2, 5, False)
    assert loader.indices.tolist() == list(range(4, 30)) and loader.next_traversal_order().tolist() == list(
        range(4, 30)
    )
    reader = loader.reader
    assert (
        reader.num_samples == COUNT and reader.num_fields == 7 and list(reader.handlers) == list(mldf.open(path).schema)
    )
    assert isinstance(reader.handlers["image"], ffcv.RGBImageField) and isinstance(
        reader.handlers["meta"], ffcv.JSONField
    )
    assert ffcv.Reader(path).num_samples == COUNT and len(loader) == 4
    shuffled = ffcv.Loader(path, 8, order=ffcv.OrderOption.RANDOM, seed=5)
    order = shuffled.next_traversal_order()
    assert sorted(order.tolist()) == list(range(COUNT)) and shuffled.next_epoch == 0
    assert (
        np.concatenate(
            [b["index"][:, 0] - 100 if b["index"].ndim == 2 else b["index"] for b in no_index(path)]
        ).tolist()
        == order.tolist()
    )
    loader.close()
    with pytest.raises(mldf.errors.StateError):
        iter(loader)


def no_index(path):
    return ffcv.Loader(path, 8, order=ffcv.OrderOption.RANDOM, seed=5, pipelines=only(path, index=[ffcv.IntDecoder()]))


def test_filter_gives_a_loader_of_the_samples_that_pass(path):
    pipelines = {
        "label": [ffcv.IntDecoder(), ffcv.ToTensor(), ffcv.Squeeze()],
        "image": None,
        "meta": None,
        "blob": None,
    }
    loader = ffcv.Loader(path, 4, pipelines=pipelines, drop_last=False, indices=np.arange(5, COUNT))
    small = loader.filter("label", lambda label: label < 3)
    want = [i for i in range(5, COUNT) if i % 10 < 3]
    assert small.indices.tolist() == want
    assert [100 + i for i in want] == torch.cat([index[:, 0] for index, *_ in small]).tolist()
    by_default = ffcv.Loader(path, 4, pipelines={"image": None}, drop_last=False).filter("score", lambda s: s[0] > 7)
    assert by_default.indices.tolist() == [29, 30, 31]
    with pytest.raises(mldf.errors.UnsupportedError, match="no field 'lable'"):
        loader.filter("lable", bool)


class Backwards(ffcv.TraversalOrder):
    def sample_order(self, epoch):
        return np.roll(self.indices[::-1].astype(np.int64), epoch)


def test_own_orders(path):
    pipelines = only(path, index=[ffcv.IntDecoder(), ffcv.Squeeze()])
    loader = ffcv.Loader(path, 8, order=Backwards, pipelines=pipelines, drop_last=False, indices=[3, 5, 6, 9, 20])
    epochs = [np.concatenate([b[0] for b in loader]).tolist() for _ in range(3)]
    assert epochs == [[120, 109, 106, 105, 103], [103, 120, 109, 106, 105], [105, 103, 120, 109, 106]]
    loader = ffcv.Loader(path, 4, order=Backwards, pipelines=pipelines)
    list(loader)
    running = iter(loader)
    head = [next(running)[0] for _ in range(3)]
    state = loader.state_dict()
    rest = np.concatenate([b[0] for b in running]).tolist()
    again = ffcv.Loader(path, 4, order=Backwards, pipelines=pipelines)
    again.load_state_dict(state)
    assert np.concatenate([b[0] for b in again]).tolist() == rest and np.concatenate(head).tolist() == [
        100,
        *range(131, 120, -1),
    ]
    with pytest.raises(mldf.errors.WrongTypeError, match="the class"):
        ffcv.Loader(path, 4, order=Backwards(loader), pipelines=pipelines)


def test_two_views_of_a_field(path):
    spec = ffcv.PipelineSpec("image", ffcv.CenterCropRGBImageDecoder((8, 8), 1), [ffcv.ToTensor(), ffcv.ToTorchImage()])
    loader = ffcv.Loader(path, 8, pipelines={**only(path, image=[ffcv.SimpleRGBImageDecoder()]), "small": spec})
    image, small = next(iter(loader))
    assert loader.outputs == ("image", "small") and image.shape == (8, 40, 40, 3) and small.shape == (8, 3, 8, 8)


class Doubled(ffcv.IntField):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def encode(self, destination, field, malloc):
        super().encode(destination, field * self.factor, malloc)


class Gray(ffcv.RGBImageField):
    def encode(self, destination, field, malloc):
        super().encode(destination, np.repeat(field[:, :, :1], 3, 2), malloc)


class Small(ffcv.CenterCropRGBImageDecoder):
    def __init__(self):
        super().__init__((8, 8), 1)


class OwnDecoder(Small):
    def generate_code(self):
        return lambda *_: None


def test_subclasses_of_fields_and_decoders(tmp_path):
    fields = {"n": Doubled(3), "image": Gray(write_mode="raw")}
    ffcv.DatasetWriter(tmp_path / "a.beton", fields).from_indexed_dataset([(i, pkg.image(i, 16, 16)) for i in range(4)])
    n, image = next(iter(ffcv.Loader(tmp_path / "a.beton", 4, pipelines={"image": [Small(), ffcv.ToTensor()]})))
    assert n[:, 0].tolist() == [0, 3, 6, 9] and image.shape == (4, 8, 8, 3) and (image[..., 0] == image[..., 2]).all()
    with pytest.raises(mldf.errors.UnsupportedError, match="OwnDecoder"):
        ffcv.Loader(tmp_path / "a.beton", 4, pipelines={"image": [OwnDecoder()]})


class PairDecoder(ffcv.Operation):
    """As FFCV's documentation has the decoder of an own field."""

    def declare_state_and_memory(self, previous_state):
        longest = int(self.metadata["size"].max())
        return previous_state, ffcv.AllocationQuery((longest,), np.dtype("uint8"))

    def generate_code(self):
        read, scale = self.memory_read, self.field.scale

        def decode(indices, destination, metadata, storage_state):
            destination[:] = 0
            for i, sample in enumerate(indices):
                data = read(metadata[sample]["ptr"], storage_state)
                destination[i, : len(data)] = data * scale
            return destination

        return decode


class PairField(ffcv.Field):
    def __init__(self, scale=1):
        self.scale = scale

    @property
    def metadata_type(self):
        return np.dtype([("ptr", "<u8"), ("size", "<u8")])

    @staticmethod
    def from_binary(binary):
        return PairField(int(binary[0]))

    def to_binary(self):
        out = np.zeros(1024, np.uint8)
        out[0] = self.scale
        return out

    def encode(self, destination, field, malloc):
        destination["ptr"], storage = malloc(len(field))
        destination["size"] = len(field)
        storage[:] = field

    def get_decoder_class(self):
        return PairDecoder


def test_own_fields_with_their_decoders(tmp_path):
    samples = [(np.arange(i + 1, dtype=np.uint8), i) for i in range(6)]
    ffcv.DatasetWriter(tmp_path / "a.beton", {"pair": PairField(2), "n": ffcv.IntField()}).from_indexed_dataset(samples)
    own = {"pair": PairField}
    for pipelines in ({}, {"pair": [PairDecoder(), ffcv.ToTensor()]}):
        loader = ffcv.Loader(tmp_path / "a.beton", 3, custom_fields=own, pipelines=pipelines)
        (a, n), (b, _) = loader
        assert a.tolist() == [[0, 0, 0], [0, 2, 0], [0, 2, 4]] and n[:, 0].tolist() == [0, 1, 2]
        assert b[2].tolist() == [0, 2, 4, 6, 8, 10] and isinstance(b, torch.Tensor)


def test_webdataset_shards(tmp_path, path):
    webdataset = pytest.importorskip("webdataset")
    shards = [str(tmp_path / f"{i}.tar") for i in range(2)]
    for i, shard in enumerate(shards):
        with webdataset.TarWriter(shard) as sink:
            for j in range(3):
                sink.write({"__key__": f"{i}{j}", "png": pkg.image(j, 8, 8), "cls": i * 3 + j})
    fields = {"image": ffcv.RGBImageField(), "label": ffcv.IntField()}

    def pipeline(dataset):
        return dataset.decode("rgb8").to_tuple("png", "cls")

    ffcv.DatasetWriter(tmp_path / "w.beton", fields).from_webdataset(shards, pipeline)
    image, label = next(iter(ffcv.Loader(tmp_path / "w.beton", 6)))
    assert label[:, 0].tolist() == list(range(6)) and np.array_equal(image[4], pkg.image(1, 8, 8))


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("fields", "IntField RGBImageField"),
        ("fields.decoders", "IntDecoder SimpleRGBImageDecoder"),
        ("fields.basics", "IntDecoder FloatField"),
        ("fields.rgb_image", "CenterCropRGBImageDecoder RGBImageField"),
        ("fields.base", "Field"),
        ("loader", "Loader OrderOption"),
        ("loader.loader", "Loader"),
        ("transforms", "ToTensor Cutout"),
        ("transforms.common", "Squeeze"),
        ("transforms.ops", "ToDevice"),
        ("transforms.cutout", "Cutout"),
        ("pipeline.operation", "Operation"),
        ("pipeline.allocation_query", "AllocationQuery"),
        ("pipeline.state", "State"),
        ("pipeline.compiler", "Compiler"),
        ("traversal_order.base", "TraversalOrder"),
        ("writer", "DatasetWriter"),
        ("reader", "Reader"),
    ],
)
def test_ffcvs_module_paths(module, names):
    found = importlib.import_module(f"mldf.compat.ffcv.{module}")
    assert all(hasattr(found, name) for name in names.split())


def test_a_loader_can_be_pickled(path):
    loader = ffcv.Loader(path, 8, pipelines=only(path, label=[ffcv.IntDecoder(), ffcv.Squeeze()]))
    copy = pickle.loads(pickle.dumps(loader))
    assert [b[0].tolist() for b in copy] == [b[0].tolist() for b in loader]


def test_fields_that_may_be_null_are_left_out_with_a_warning(tmp_path):
    fields = {"n": mldf.Int(), "maybe": mldf.Int(nullable=True), "pose": mldf.Struct([("x", "f4")])}
    mldf.write(tmp_path / "n.mldf", [{"n": 1, "maybe": None, "pose": (1.0,)}] * 4, fields)
    with pytest.warns(UserWarning, match="maybe|pose"):
        loader = ffcv.Loader(tmp_path / "n.mldf", 2)
    assert loader.outputs == ("n",) and len(next(iter(loader))) == 1
    filled = ffcv.Loader(tmp_path / "n.mldf", 2, pipelines={"maybe": [mldf.Fill(7)], "pose": None})
    assert next(iter(filled)).maybe.tolist() == [[7], [7]]
    with pytest.raises(mldf.errors.UnsupportedError, match="pose"):
        ffcv.Loader(tmp_path / "n.mldf", 2, pipelines={"maybe": None, "pose": [ffcv.ToTensor()]})


# ---- the file's tables, as FFCV's own tests look at them ----


@pytest.mark.parametrize("ending", ["mldf", "beton"])
def test_the_readers_tables_are_those_of_the_file(tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    values = [(i, i / 4, bytes(range(i, i + i % 3 * 5)), pkg.image(i, 8, 9 + i)) for i in range(7)]
    fields = {"n": int, "x": float, "data": mldf.Bytes(), "image": mldf.Image(encode="raw")}
    mldf.write(tmp_path / "whole.mldf", values, fields)
    if ending == "mldf":
        path = tmp_path / "whole.mldf"
    else:
        mldf.convert(tmp_path / "whole.mldf", path)
    reader = ffcv.Reader(path)
    table, places = reader.metadata, reader.alloc_table
    assert table.dtype.names == ("f0", "f1", "f2", "f3") and len(table) == 7 and not table.flags.writeable
    assert table["f0"].tolist() == list(range(7)) and table["f1"].tolist() == [i / 4 for i in range(7)]
    assert table["f2"]["size"].tolist() == [len(v[2]) for v in values]
    assert table["f3"]["width"].tolist() == [9 + i for i in range(7)] and set(table["f3"]["height"]) == {8}
    manager = OSCacheManager(reader)
    read, found = manager.compile_reader(), {}
    with manager.schedule_epoch(np.arange(7)) as context:
        for sample, ptr, size in places.tolist():
            found.setdefault(sample, []).append(read(ptr, context.state).tobytes())
            assert len(found[sample][-1]) == size
    for i, value in enumerate(values):
        assert sorted(p for p in found[i] if p) == sorted(p for p in (value[2], value[3].tobytes()) if p), i
    with pytest.raises(KeyError, match="no payload begins at byte 3"):
        read(3, context.state)
    with pytest.raises(mldf.errors.UnsupportedError, match="one whole"):
        ffcv.Reader(mldf.open(path)[2:4]).metadata  # noqa: B018


def test_code_is_made_again_when_asked_for(path):
    for recompile in (False, True):
        loader = ffcv.Loader(path, 8, recompile=recompile)
        iter(loader)
        before = loader.code
        iter(loader)
        assert (loader.code is before) == (not recompile)
