"""The package with the real PyTorch. Skipped, loudly, where it is not installed (`make torch`)."""

import multiprocessing
import warnings

import mldf
import numpy as np
import pkg
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (make torch)")
from torch.utils.data import DataLoader  # noqa: E402

FIELDS = {"image": mldf.Image(), "label": mldf.Int(), "x": mldf.NDArray("float32", (4,)), "name": mldf.Text()}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("torch") / "a.mldf"
    with mldf.Writer(path, FIELDS) as w:
        for i in range(64):
            image = pkg.image(i)
            w.append((image if i % 2 else mldf.images.encode(image, "png"), i, np.full(4, i, np.float32), f"n{i}"))
    return path


def as_list(loader):
    return [int(label) for batch in loader for label in batch.label]


@pytest.mark.parametrize("workers", [0, 2])
def test_dataloader(path, workers):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # among them torch's about arrays that are not writable
        warnings.filterwarnings("ignore", r"os\.fork\(\) was called")  # JAX's, if another test has imported it
        warnings.filterwarnings("ignore", "This DataLoader will create")  # torch's, on a machine with one processor
        loader = DataLoader(mldf.open(path), batch_size=10, num_workers=workers)
        batches = list(loader)
    assert len(batches) == 7 and batches[0].image.shape == (10, 12, 16, 3) and batches[0].image.dtype == torch.uint8
    assert torch.equal(batches[1].image[3], torch.from_numpy(pkg.image(13)))
    assert list(batches[6].name) == ["n60", "n61", "n62", "n63"]
    assert batches[0].label.tolist() == list(range(10)) and batches[2].x[0].tolist() == [20.0] * 4
    image, label, x, name = batches[0]
    assert isinstance(batches[0], mldf.Sample) and label is batches[0]["label"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_dataloader_processes(path, method):
    loader = DataLoader(
        mldf.open(path)[8:40], batch_size=8, num_workers=2, shuffle=True, multiprocessing_context=method
    )
    assert sorted(as_list(loader)) == list(range(8, 40))


def test_dataloader_without_batches_and_with_samplers(path):
    ds = mldf.open(path).with_fields("label", "x")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # single samples are views
        assert [int(s.label) for s in DataLoader(ds, batch_size=None)] == list(range(64))
    sampler = torch.utils.data.WeightedRandomSampler(torch.ones(64), 30)
    assert len(as_list(DataLoader(ds, batch_size=7, sampler=sampler))) == 30
    subset = torch.utils.data.Subset(ds, [5, 3, 1])
    assert as_list(DataLoader(subset, batch_size=2)) == [5, 3, 1]
    concat = torch.utils.data.ConcatDataset([ds[:3], ds[10:12]])
    assert as_list(DataLoader(concat, batch_size=5)) == [0, 1, 2, 10, 11]


def test_a_hundred_epochs_of_early_break(path):
    ds = mldf.open(path)
    loader = DataLoader(ds, batch_size=4, shuffle=True)
    next(iter(loader))
    before, files, threads = pkg.resident(), pkg.open_files(), pkg.threads()
    for _ in range(100):
        for n, batch in enumerate(loader):
            if n == 3:
                break
    assert pkg.threads_after(threads) <= threads and pkg.open_files() == files and pkg.resident() - before < 24 << 20


def test_worker_processes_end_after_early_break(path):
    loader = DataLoader(mldf.open(path), batch_size=4, num_workers=2)
    for _ in range(5):
        for batch in loader:
            break
        del batch
    del loader
    for process in multiprocessing.active_children():
        process.join(pkg.HANG)
    assert not multiprocessing.active_children()


def test_an_exception_in_user_code_in_a_worker(path):
    def collate(batch):
        raise LookupError("from collate")

    with pytest.raises(LookupError, match="from collate"):
        list(DataLoader(mldf.open(path), batch_size=4, num_workers=1, collate_fn=collate))


def test_an_error_of_the_library_in_a_worker(path, tmp_path):
    data = bytearray(path.read_bytes())
    ptr = int(mldf.open(path).rows["image"]["ptr"][6])
    data[ptr + 20] ^= 255
    bad = tmp_path / "bad.mldf"
    bad.write_bytes(data)
    with pytest.raises(mldf.Error, match="field image"):
        list(DataLoader(mldf.open(bad, verify=True), batch_size=4, num_workers=1))


def test_tensors_are_values(tmp_path):
    path = tmp_path / "t.mldf"
    fields = {
        "i": mldf.Int(),
        "f": mldf.Float(),
        "a": mldf.NDArray(torch.float32, (2, 3)),
        "h": mldf.NDArray("bfloat16", (2,)),
        "image": mldf.Image(),
        "b": mldf.Bytes(),
        "s": mldf.Struct(("f4", (2,))),
    }
    chw = torch.from_numpy(pkg.image(1)).permute(2, 0, 1)
    half = torch.tensor([1.0, -2.5], dtype=torch.bfloat16)
    with mldf.Writer(path, fields) as w:
        w.append(
            {
                "i": torch.tensor(7),
                "f": torch.tensor(0.5),
                "a": torch.ones(3, 2).T,
                "h": half,
                "image": chw,
                "b": torch.tensor([1, 2], dtype=torch.uint8),
                "s": torch.tensor([1.0, 2.0]),
            }
        )
        w.append(
            {
                "i": torch.tensor(7),
                "f": 1,
                "a": torch.ones(2, 3, requires_grad=True),
                "h": half,
                "image": chw[:1],
                "b": b"",
                "s": [1, 2],
            }
        )
        for bad in (torch.zeros(12, 16, 3, dtype=torch.uint8), torch.zeros(3, 4, 4)):
            with pytest.raises(TypeError, match=r"channels, height, width|uint8"):
                w.append({"i": 1, "f": 1, "a": torch.ones(2, 3), "h": half, "image": bad, "b": b"", "s": [1, 2]})
        with pytest.raises(TypeError, match="float32"):
            w.append(
                {
                    "i": 1,
                    "f": 1,
                    "a": torch.ones(2, 3, dtype=torch.float64),
                    "h": half,
                    "image": chw,
                    "b": b"",
                    "s": [1, 2],
                }
            )
    s = mldf.open(path)[0]
    assert s.i == 7 and s.f == 0.5 and s.a.tolist() == [[1, 1, 1]] * 2 and s.b == b"\1\2" and s.s.tolist() == [1, 2]
    assert np.array_equal(s.image, pkg.image(1)) and mldf.open(path)[1].image.shape == (12, 16, 1)
    assert torch.from_numpy(s.h.view(np.int16).copy()).view(torch.bfloat16).tolist() == [1.0, -2.5]


def test_torch_takes_the_memory_itself(path):
    ds = mldf.open(path)
    gathered = ds._reader.gather(1, np.arange(8, dtype=np.uint64), 8)
    tensor = torch.from_dlpack(gathered)
    pointer = np.asarray(gathered).ctypes.data
    assert tensor.data_ptr() == pointer and tensor.view(torch.int64).tolist() == list(range(8))
    del gathered
    tensor[0] = 9
    assert tensor.view(torch.int64)[0] == 9


def test_torch_datasets_are_written(tmp_path, path):
    class Squares(torch.utils.data.Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, i):
            return torch.full((3, 4, 4), i, dtype=torch.uint8), i * i

    mldf.write(tmp_path / "s.mldf", Squares(), {"image": mldf.Image(encode="jpeg"), "label": mldf.Int()})
    assert mldf.open(tmp_path / "s.mldf").column("label").tolist() == [0, 1, 4, 9, 16]
    loader = DataLoader(mldf.open(path).with_fields("x", "label"), batch_size=8)
    batches = ((x, label) for batch in loader for x, label in zip(batch.x, batch.label))
    mldf.write(tmp_path / "b.mldf", batches, {"x": mldf.NDArray("float32", (4,)), "label": "int"})
    assert len(mldf.open(tmp_path / "b.mldf")) == 64
