"""What users write first: whole tasks, checked against numbers that were computed another way."""

import mldf
import numpy as np
import pytest

rng = np.random.default_rng(5)


def detection(path, samples=12, encode="raw"):
    """Images of different sizes with a mask, one to three boxes and as many points."""
    fields = {
        "image": mldf.Image(encode=encode),
        "seg": mldf.Image(),
        "boxes": mldf.NDArray("float32", (None, 4)),
        "points": mldf.NDArray("float32", (None, 2)),
    }
    out = []
    for i in range(samples):
        height, width = 60 + 5 * i, 100 - 3 * i
        mask = np.zeros((height, width), np.uint8)
        x0, y0, x1, y1 = width // 5, height // 4, width // 2, height - 9
        mask[y0:y1, x0:x1] = 7
        image = rng.integers(0, 255, (height, width, 3), np.uint8)
        boxes = np.array([[x0, y0, x1, y1]] * (1 + i % 3), np.float32)
        out.append({"image": image, "seg": mask, "boxes": boxes, "points": boxes[:, :2].copy()})
    mldf.write(path, out, fields)
    return out


@pytest.mark.parametrize("encode", ["raw", "jpeg"])
@pytest.mark.parametrize("last", ["pad(value=-1)", "ragged"])
def test_boxes_of_any_number_move_with_their_image(tmp_path, encode, last):
    samples = detection(tmp_path / "d.mldf", encode=encode)
    group = "image, seg as mask, boxes as boxes, points as points"
    steps = [(group, "resize([64, 96])"), ("boxes", last), ("points", last)]
    seen = 0
    for batch in mldf.Loader(tmp_path / "d.mldf", 5, index=True, pipelines=steps):
        for row, i in enumerate(batch.index.tolist()):
            boxes, (height, width) = samples[i]["boxes"], samples[i]["seg"].shape
            if last == "ragged":
                got = batch.boxes[batch.boxes_offset[row] : batch.boxes_offset[row + 1]]
                points = batch.points[batch.points_offset[row] : batch.points_offset[row + 1]]
            else:
                got, points = batch.boxes[row, : len(boxes)], batch.points[row, : len(boxes)]
                assert batch.boxes_length[row] == batch.points_length[row] == len(boxes)
                assert (batch.boxes[row, len(boxes) :] == -1).all()
            scale = np.array([96 / width, 64 / height] * 2)
            np.testing.assert_allclose(got, boxes * scale, rtol=1e-5)
            np.testing.assert_allclose(points, boxes[:, :2] * scale[:2], rtol=1e-5)
            seen += 1
    assert seen == len(samples)


def test_boxes_of_any_number_in_random_crops_lie_around_their_mask(tmp_path):
    detection(tmp_path / "d.mldf")
    steps = [("image, seg as mask, boxes as boxes", "random_resized_crop([80, 80], scale=[0.5, 1]) | hflip | vflip")]
    told = 0
    loader = mldf.Loader(tmp_path / "d.mldf", 4, pipelines=[*steps, ("boxes", "pad"), ("points", None)])
    for _ in range(4):
        for batch in loader:
            for mask, (x0, y0, x1, y1) in zip(batch.seg[..., 0], batch.boxes[:, 0]):
                ys, xs = np.nonzero(mask)
                if len(xs):
                    found = [xs.min(), ys.min(), xs.max() + 1, ys.max() + 1]
                    np.testing.assert_allclose([x0, y0, x1, y1], found, atol=1.6)
                    told += 1
    assert told > 20


@pytest.fixture(scope="module")
def squares(tmp_path_factory):
    """48 images of 40 x 50 pixels, labels 0 to 2."""
    path = tmp_path_factory.mktemp("users") / "squares.mldf"
    images = rng.integers(0, 255, (48, 40, 50, 3), np.uint8)
    fields = {"image": mldf.Image(encode="raw"), "label": mldf.Int()}
    mldf.write(path, [(p, i % 3) for i, p in enumerate(images)], fields)
    return path


def test_ffcv_decoders_grow_between_epochs(squares):
    from mldf.compat import ffcv

    decoder = ffcv.RandomResizedCropRGBImageDecoder((16, 16))
    pipelines = {"image": [decoder, ffcv.RandomHorizontalFlip()], "label": [ffcv.IntDecoder(), ffcv.Squeeze()]}
    loader = ffcv.Loader(squares, 8, order=ffcv.OrderOption.RANDOM, pipelines=pipelines)
    plain = mldf.Loader(squares, 8, order="random", drop_last=True, pipelines="image: resize([8, 8])")
    for size in (16, 24, 24, 32):
        decoder.output_size = (size, size)
        assert decoder.output_size == (size, size)
        plain.pipelines = {"image": [mldf.RandomResizedCrop(size, filter="area"), mldf.HorizontalFlip()]}
        for ours, theirs in zip(loader, plain, strict=True):
            assert ours.image.shape == (8, size, size, 3)
            np.testing.assert_array_equal(ours.image, theirs.image)
    with pytest.raises(mldf.Error):
        decoder.output_size = (0, 8)
    assert decoder.output_size == (32, 32) and decoder.text == mldf.RandomResizedCrop((32, 32), filter="area").text


def test_ffcv_decoders_set_behind_a_loaded_state_go_on_there(squares):
    from mldf.compat import ffcv

    def make(size):
        decoder = ffcv.CenterCropRGBImageDecoder((size, size), 1)
        pipelines = {"image": [decoder], "label": [ffcv.IntDecoder()]}
        return decoder, ffcv.Loader(squares, 8, order=ffcv.OrderOption.RANDOM, pipelines=pipelines, index=True)

    _, first = make(32)
    batches = iter(first)
    next(batches)
    state = first.state_dict()
    decoder, second = make(16)
    second.load_state_dict(state)
    decoder.output_size = (32, 32)
    for a, b in zip(batches, second, strict=True):
        np.testing.assert_array_equal(a.index, b.index)
        np.testing.assert_array_equal(a.image, b.image)


def test_ffcv_loader_takes_other_pipelines_of_ffcv(squares):
    from mldf.compat import ffcv

    loader = ffcv.Loader(squares, 8, pipelines={"image": [ffcv.CenterCropRGBImageDecoder((16, 16), 1)]})
    loader.pipelines = {"image": [ffcv.CenterCropRGBImageDecoder((20, 20), 1)], "label": [ffcv.IntDecoder()]}
    assert next(iter(loader)).image.shape == (8, 20, 20, 3)


# ---- What is tried first ----


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda path: mldf.load(path), AttributeError, "here it is mldf.open"),
        (lambda path: mldf.ImageFolder(path), AttributeError, "here it is mldf.pack"),
        (lambda path: mldf.open(path).classes, AttributeError, r'here it is ds.card\["classes"\]'),
        (lambda path: mldf.open(path).label, AttributeError, r"ds\['label'\], and that of a sample ds\[i\].label"),
        (lambda path: mldf.open(path).nothing, AttributeError, "no attribute 'nothing'$"),
        (lambda path: mldf.Dataset(path), TypeError, r"mldf.open\(path\) makes a dataset"),
        (lambda path: mldf.open(path.parent), OSError, "is a folder.*mldf.pack"),
        (lambda path: mldf.Loader(path, 4, transforms={}), TypeError, "here it is pipelines="),
        (lambda path: mldf.Loader(path, 4, collate_fn=len), TypeError, "mldf.Pad"),
        (lambda path: mldf.Loader(path, 4, "image"), TypeError, "shuffle='image': True or False"),
        (lambda path: mldf.pack(path, "x", max_resolution=9), TypeError, r"here it is image=\{'max_resolution': ...\}"),
        (lambda path: mldf.pack(path, "x", num_workers=9), TypeError, "here it is threads="),
        (lambda path: mldf.pack(path, "x", image=5), TypeError, "a dict or an mldf.Image"),
    ],
)
def test_habits_of_other_libraries_are_answered(squares, call, error, words):
    with pytest.raises(error, match=words):
        call(squares)


def test_pack_takes_an_image_field(squares, tmp_path):
    (tmp_path / "a").mkdir()
    image = rng.integers(0, 255, (30, 60, 3), np.uint8)
    (tmp_path / "a" / "1.png").write_bytes(mldf.images.encode(image, "png"))
    mldf.pack(tmp_path, tmp_path / "x.mldf", image=mldf.Image(encode="jpeg", max_resolution=20, quality=70))
    mldf.pack(tmp_path, tmp_path / "y.mldf", image={"encode": "jpeg", "max_resolution": 20, "quality": 70})
    assert mldf.open(tmp_path / "x.mldf")[0].image.shape == (10, 20, 3)
    assert (tmp_path / "x.mldf").read_bytes() == (tmp_path / "y.mldf").read_bytes()


def test_another_epoch_behind_a_loaded_state_is_told(squares):
    loader = mldf.Loader(squares, 16, shuffle=True, fields=["label"], index=True)
    list(loader)
    state = loader.state_dict()  # of an epoch's end
    again = mldf.Loader(squares, 16, shuffle=True, fields=["label"], index=True)
    again.load_state_dict(state)
    assert again.epoch == 1
    again.set_epoch(1)
    with pytest.warns(UserWarning, match=r"set_epoch\(0\): the state that was loaded is of epoch 1"):
        again.set_epoch(0)
    again.load_state_dict(state)
    for epoch in range(again.epoch, 2):
        again.set_epoch(epoch)
        for a, b in zip(loader, again, strict=True):
            np.testing.assert_array_equal(a.index, b.index)


@pytest.mark.parametrize("place", [0, 2])
def test_what_a_shard_lacks_is_null_there(tmp_path, place):
    image = mldf.images.encode(rng.integers(0, 255, (8, 9, 3), np.uint8))
    paths = [str(tmp_path / f"{i}.tar") for i in range(3)]
    for i, path in enumerate(paths):
        fields = {"jpg": mldf.Image()} | ({} if i == place else {"cls": mldf.Int()})
        sample = {"jpg": image} | ({} if i == place else {"cls": i})
        mldf.write(tmp_path / "one.mldf", [sample], fields, keys=[f"k{i}"], overwrite=True)
        mldf.convert(tmp_path / "one.mldf", path)
    loader = mldf.Loader(paths, 3, key=True, pipelines={"jpg": []})
    assert next(iter(loader)).names == ("jpg", "key") and next(iter(loader)).key == ["k0", "k1", "k2"]
    assert "key  list of str" in repr(loader) and "index" not in repr(loader)
    mldf.convert(paths, tmp_path / "all.mldf")
    for source in (paths, tmp_path / "all.mldf"):
        filled = mldf.Loader(source, 3, pipelines={"jpg": [], "cls": [mldf.Fill(-1, valid=True)]})
        batch = next(iter(filled))
        assert batch.cls.tolist() == [-1 if i == place else i for i in range(3)]
        assert batch.cls_valid.tolist() == [i != place for i in range(3)]
    with pytest.raises(
        mldf.errors.NullError, match=rf"{place}.tar: sample 0, field cls: the value is null; the step fill"
    ):
        next(iter(mldf.Loader(paths, 3, fields=["cls"])))
    skip = mldf.Loader(paths, 3, fields=["cls"], on_error="skip", index=True, shuffle=True)
    assert sorted(next(iter(skip)).index.tolist()) == [i for i in range(3) if i != place]


def test_shards_of_optional_images_texts_and_jsons(tmp_path):
    import io
    import tarfile

    have = {"jpg": range(2, 7), "txt": (0, 1, 2, 7), "json": range(8), "mask.png": (7,)}
    for shard in range(4):
        with tarfile.open(tmp_path / f"{shard}.tar", "w") as tar:
            for i in (2 * shard, 2 * shard + 1):
                image = mldf.images.encode(np.full((6, 6, 3), 10 * i, np.uint8), "png")
                made = {"jpg": image, "mask.png": image, "txt": b"t" * i, "json": b"{}"}
                for name in (n for n in made if i in have[n]):
                    info = tarfile.TarInfo(f"{i}.{name}")
                    info.size = len(made[name])
                    tar.addfile(info, io.BytesIO(made[name]))
    paths = [tmp_path / f"{shard}.tar" for shard in range(4)]
    ds = mldf.open(paths)
    assert {n for n in ds.fields if ds.schema[n].nullable} == {"jpg", "txt", "mask.png"} and len(ds) == 8
    pipelines = {
        "jpg": [mldf.Resize((4, 4)), mldf.Fill(255, valid=True)],
        "mask.png": [mldf.Resize((4, 4)), mldf.Fill(1)],
        "txt": [mldf.Fill(), mldf.Pad()],
        "json": [mldf.Ragged()],
    }
    loader = mldf.Loader(paths, 3, shuffle=True, seed=3, threads=2, pipelines=pipelines, index=True)
    seen = []
    for batch in loader:
        for row, i in enumerate(batch.index.tolist()):
            assert (batch["jpg"][row] == (10 * i if i in have["jpg"] else 255)).all()
            assert batch["jpg_valid"][row] == (i in have["jpg"])
            assert (batch["mask.png"][row] == (10 * i if i == 7 else 1)).all()
            assert batch["txt_length"][row] == (i if i in have["txt"] else 0)
            seen.append(i)
    assert sorted(seen) == list(range(8))
    again = mldf.Loader([paths[3], *paths[:3]], 8, pipelines=pipelines)  # another one comes first
    with pytest.raises(mldf.errors.StateError, match="keys"):
        again.load_state_dict(mldf.Loader(paths, 8, pipelines=pipelines).state_dict())
    assert sorted(again.outputs) == sorted(set(loader.outputs) - {"index"})


def test_rows_of_a_tar_are_told_apart(squares, tmp_path):
    mldf.convert(squares, tmp_path / "s.tar")
    with pytest.raises(mldf.Error, match="only MLDF files have a table of rows"):
        _ = mldf.open(tmp_path / "s.tar").rows


def test_dtypes_may_have_the_names_of_torch():
    assert mldf.Cast("long").text == mldf.Cast("int").text == mldf.Cast("int64").text


def test_tuples_of_names_share_their_draws(tmp_path):
    rows = [{"image": np.full((9, 9, 3), 9, np.uint8) * np.arange(9, dtype=np.uint8)[:, None], "a": 1, "b": 2}] * 12
    rows = [{**r, "odd name, too": r["image"][..., 0]} for r in rows]
    fields = {"image": mldf.Image(), "odd name, too": mldf.Image(), "a": mldf.Int(), "b": mldf.Int()}
    where = tmp_path / "t.mldf"
    mldf.write(where, rows, fields)
    flips = [mldf.HorizontalFlip(), mldf.RandomCrop(4)]
    pairs = {("image", "odd name, too"): flips, ("a", "b"): [lambda numbers: numbers + 1]}
    batch = next(iter(mldf.Loader(where, 12, seed=2, pipelines=pairs)))
    assert batch.names == ("image", "odd name, too", "a", "b")
    assert np.array_equal(batch.image[..., 0], batch["odd name, too"][..., 0])
    assert len({row.tobytes() for row in batch.image}) > 3  # it was random
    assert batch.a.tolist() == [2] * 12 and batch.b.tolist() == [3] * 12
    text = "image, `odd name, too`: hflip | random_crop(4)"
    assert np.array_equal(next(iter(mldf.Loader(where, 12, seed=2, pipelines=text))).image, batch.image)
    both = next(iter(mldf.Loader(where, 12, pipelines={("image", "odd name, too as mask"): None, ("a", "b"): []})))
    assert both.names == ("a", "b")


def test_tuples_take_roles_and_views_and_callables_each_output(tmp_path):
    samples = detection(tmp_path / "d.mldf")
    group = ("image", "seg as mask", "boxes as boxes", "small = image")
    steps = [(group[:3], [mldf.Resize((64, 96))]), ("boxes", [mldf.Pad()]), ("points", None)]
    seen = []
    pipelines = [*steps, (("image", "seg"), [mldf.CHW("u8"), lambda a: seen.append(a.shape) or a.mean()])]
    batch = next(iter(mldf.Loader(tmp_path / "d.mldf", 5, pipelines=pipelines)))
    assert batch.names == ("image", "seg", "boxes", "boxes_length") and seen == [(5, 3, 64, 96), (5, 1, 64, 96)]
    height, width = samples[0]["seg"].shape
    np.testing.assert_allclose(
        batch.boxes[0, 0], samples[0]["boxes"][0] * np.array([96 / width, 64 / height] * 2), 1e-5
    )


@pytest.mark.parametrize("key", [(), ("image", 3), (("image",), "seg"), 7])
def test_keys_that_are_no_names_are_refused(tmp_path, key):
    detection(tmp_path / "d.mldf", 2)
    with pytest.raises(mldf.errors.WrongTypeError, match="names of outputs are text, or tuples of text"):
        mldf.Loader(tmp_path / "d.mldf", pipelines={key: ["resize([8, 8])"]})
    with pytest.raises(mldf.errors.Error, match="no field or output sge; did you mean seg"):
        mldf.Loader(tmp_path / "d.mldf", pipelines={("image", "sge as mask"): ["resize([8, 8])"]})


def test_outputs_are_those_of_the_epoch_that_runs(tmp_path):
    detection(tmp_path / "d.mldf")
    loader = mldf.Loader(tmp_path / "d.mldf", 5, pipelines={"image": [mldf.Resize((8, 8))]})
    loader.set_pipelines({"seg": [mldf.Resize((8, 8))]})
    assert loader.outputs == ("seg",)  # nothing runs: this is what comes
    it = iter(loader)
    loader.pipelines = {"image": [mldf.Resize((4, 4))], "seg": [mldf.Resize((8, 8))]}
    assert loader.outputs == next(it).names == ("seg",) and "image" not in repr(loader).split("without")[0]
    assert len(list(it)) == 2 and loader.outputs == ("seg",)
    assert next(iter(loader)).names == loader.outputs == ("image", "seg")
    assert "image  uint8[5, 4, 4, 3]" in repr(loader)
