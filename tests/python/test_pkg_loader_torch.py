"""The loader with PyTorch: tensors over its memory, devices, torch's own workers, ranks by torch.distributed."""

import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap
import warnings

import mldf
import numpy as np
import pkg
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (make torch)")

COUNT = 50
STEPS = [mldf.CenterCrop((8, 8)), mldf.Normalize("imagenet"), mldf.CHW()]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return str(pkg.make(tmp_path_factory.mktemp("torch") / "a.mldf", count=COUNT))


def load(path, *extra, dtype="same", **options):
    steps = [*STEPS[:2], mldf.CHW(dtype), *extra]
    return mldf.Loader(path, 8, pipelines={"image": steps}, fields=["image", "label"], **options)


def test_tensors_equal_the_arrays(path):
    arrays = list(load(path, shuffle=True, index=True, valid=True))
    tensors = list(load(path, shuffle=True, index=True, valid=True, output="torch"))
    assert tensors[0].names == ("image", "label", "index", "valid")
    for a, t in zip(arrays, tensors):
        for x, y in zip(a, t):
            assert torch.is_tensor(y) and np.array_equal(x, y.numpy())
    assert [x.dtype for x in tensors[0]] == [torch.float32, torch.uint8, torch.int64, torch.bool]


def test_tensors_are_the_loaders_memory(path):
    loader = load(path, output="torch", threads=1, batches_ahead=3)
    places = {t.image.data_ptr() for _ in range(4) for t in loader}
    assert len(places) <= 8 and all(p % 64 == 0 for p in places)


def test_every_dtype_reaches_torch(path):
    for dtype in (torch.float16, torch.bfloat16, torch.float32, "f64"):
        batch = next(iter(load(path, dtype=dtype, output="torch")))
        assert batch.image.dtype == (torch.float64 if dtype == "f64" else dtype)
    plain = next(iter(load(path, output="torch"))).image
    half = next(iter(load(path, dtype="bf16", output="torch"))).image
    assert torch.equal(plain.to(torch.bfloat16), half)
    bits = next(iter(load(path, dtype="bf16"))).image
    if bits.dtype == np.uint16:  # without ml_dtypes
        assert np.array_equal(bits, half.view(torch.uint16).numpy())


def test_kept_tensors_stay_valid_after_close(path):
    loader = load(path, output="torch", threads=2)
    kept = list(loader)
    copies = [t.image.clone() for t in kept]
    list(loader)
    loader.close()
    del loader
    gc.collect()
    assert all(torch.equal(t.image, c) for t, c in zip(kept, copies))
    kept[0].image.zero_()
    assert torch.equal(kept[1].image, copies[1])


def test_pinning_and_devices_without_cuda(path):
    if torch.cuda.is_available():
        pytest.skip("there is CUDA here")
    batch = next(iter(load(path, output="torch", pin_memory=True, device="cpu")))
    assert batch.image.device.type == "cpu" and not batch.image.is_pinned()
    with pytest.raises(mldf.errors.ArgumentError, match="no CUDA device"):
        load(path, output="torch", device="cuda")
    meta = next(iter(load(path, output="torch", device="meta")))
    assert meta.image.device.type == "meta" and meta.image.shape == (8, 3, 8, 8)


def test_devices_that_torch_does_not_know(path):
    for device in ("gpu", object()):
        with pytest.raises(mldf.errors.ArgumentError, match="device="):
            load(path, output="torch", device=device)


def test_modules_and_functions_come_last(path):
    layer = torch.nn.Flatten()
    batch = next(
        iter(load(path, layer, lambda t: t + 1, output="torch", transform=lambda b: b._replace(label=b.label.long())))
    )
    assert batch.image.shape == (8, 192) and batch.label.dtype == torch.int64


def test_gradients_flow_and_outlive_the_batch(path):
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 2))
    losses = []
    for batch in load(path, output="torch"):
        losses.append(torch.nn.functional.cross_entropy(model(batch.image), batch.label.long() % 2))
    sum(losses).backward()  # the inputs of all layers were kept by autograd
    assert model[1].weight.grad.abs().sum() > 0


class Wrapped(torch.utils.data.Dataset):
    def __init__(self, path, loader):
        self.path, self.loader = path, loader

    def __len__(self):
        return COUNT

    def __getitem__(self, i):
        try:
            next(iter(self.loader))
        except mldf.errors.StateError as error:
            assert "fork" in str(error)
            return i
        raise AssertionError("a loader worked in a forked child")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torchs_forked_workers_live_beside_a_loader(path):
    loader = load(path, threads=2, output="torch")
    it = iter(loader)
    first = next(it)
    workers = torch.utils.data.DataLoader(
        Wrapped(path, loader), batch_size=5, num_workers=2, multiprocessing_context="fork"
    )
    assert torch.cat(list(workers)).tolist() == list(range(COUNT))
    assert len(first.label) + sum(len(b.label) for b in it) == COUNT


def fail_at_seven(samples):
    if any(int(s.label) == 7 for s in samples):
        raise LookupError("seven")
    return [int(s.label) for s in samples]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_epochs_of_torchs_forked_workers_leave_nothing_behind(path):
    """Beside a loader with live threads: whole epochs, early breaks, and exceptions in a worker."""
    loader = load(path, threads=2, output="torch")

    def once(i):
        it = iter(loader)
        first = next(it)
        workers = torch.utils.data.DataLoader(
            mldf.open(path),
            batch_size=5,
            num_workers=2,
            multiprocessing_context="fork",
            collate_fn=fail_at_seven if i % 3 == 2 else list,
        )
        failed = None
        try:
            for n, _ in enumerate(workers):
                if i % 3 == 1 and n == 2:
                    break
        except LookupError as error:
            failed = str(error)
        assert (failed is not None and "seven" in failed) == (i % 3 == 2)
        del workers
        gc.collect()  # torch ends its workers when the iterator goes
        for process in multiprocessing.active_children():
            process.join(pkg.HANG)
        assert not multiprocessing.active_children()
        assert sum(len(b.label) for b in it) == COUNT - len(first.label)

    pkg.nothing_is_left_by(once, 6, warm_up=3, most=24 << 20)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_loader_inside_torchs_workers(path):
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            info = torch.utils.data.get_worker_info()
            with mldf.Loader(path, 5, fields=["label"], threads=1, rank=info.id, world_size=info.num_workers) as loader:
                for batch in loader:
                    yield batch.label.copy()

    got = torch.utils.data.DataLoader(Stream(), batch_size=None, num_workers=2, multiprocessing_context="fork")
    assert sorted(int(i) for t in got for i in t) == list(range(COUNT))


def test_loaders_that_repeat_all_samples_in_each_of_torchs_workers_are_told(path, monkeypatch):
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                mldf.Loader(path, 5, fields=["label"], threads=0).close()
            yield [(str(w.message), w.filename) for w in told]

    class Sent(torch.utils.data.IterableDataset):
        """What spawned workers get."""

        sent = pickle.dumps(mldf.Loader(path, 5, fields=["label"], threads=0))

        def __iter__(self):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                pickle.loads(self.sent).close()
            yield [str(w.message) for w in told]

    both = torch.utils.data.DataLoader(Sent(), batch_size=None, num_workers=2, multiprocessing_context="fork")
    assert ["each of 2 gives all samples" in message for (message,) in both] == [True, True]

    def told(workers):
        options = {"multiprocessing_context": "fork"} if workers else {}
        return list(torch.utils.data.DataLoader(Stream(), batch_size=None, num_workers=workers, **options))

    assert told(0) == [[]] and told(1) == [[]]
    for i, ((message, filename),) in enumerate(told(2)):
        assert f"in worker {i} of torch's DataLoader: each of 2 gives all samples" in message and filename == __file__
        assert "rank=info.id and world_size=info.num_workers of" in message
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "3")
    for ((message, _),) in told(2):
        assert "rank=2 * info.num_workers + info.id and world_size=3 * info.num_workers of" in message


@pytest.mark.skipif(not pkg.has_loopback(), reason="there is no network, not even of the machine with itself")
def test_two_ranks_by_torch_distributed(path, tmp_path):
    code = """
        import os, sys, mldf, torch, torch.distributed as dist
        rank = int(sys.argv[2])
        dist.init_process_group("gloo", init_method="file://" + sys.argv[3], rank=rank, world_size=2)
        loader = mldf.Loader(sys.argv[1], 4, shuffle=True, fields=["label"], output="torch", index=True, valid=True)
        assert (loader.rank, loader.world_size) == (rank, 2) and "torch.distributed" in repr(loader)
        seen = torch.zeros(50, dtype=torch.int64)
        for batch in loader:
            seen[batch["index"][batch.valid]] += 1
            dist.all_reduce(torch.ones(1))  # as many batches here as there
        dist.all_reduce(seen)
        assert seen.tolist() == [1] * 50
        state = [None, None]
        dist.all_gather_object(state, loader.state_dict())
        assert state[0] == state[1]
        dist.destroy_process_group()
        print("fine", flush=True)
        os._exit(0)  # gloo's thread may still be dropping a tensor, which the end of the interpreter does not survive
    """
    env = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")}
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), path, str(rank), str(tmp_path / "meet")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
        )
        for rank in range(2)
    ]
    for job in jobs:
        out, err = job.communicate(timeout=pkg.HANG)
        assert (out.strip(), job.returncode) == ("fine", 0), err
