"""The loader's life: threads, signals, fork, leaks, memory that outlives it, the end of the interpreter."""

import contextlib
import gc
import os
import pathlib
import signal
import sys
import threading
import time
import warnings

import mldf
import numpy as np
import pkg
import pytest

COUNT = 60


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return str(pkg.make(tmp_path_factory.mktemp("life") / "a.mldf", count=COUNT))


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """Images that take a while each."""
    path = tmp_path_factory.mktemp("slow") / "slow.mldf"
    rng = np.random.default_rng(0)
    data = mldf.images.encode(rng.integers(0, 256, (1500, 2000, 3), np.uint8), "png")
    with mldf.Writer(path, {"image": mldf.Image(), "n": mldf.Int()}) as w:
        for i in range(64):
            w.append({"image": data, "n": i})
    return str(path)


IMAGES = {"image": [mldf.RandomResizedCrop(8), mldf.CHW("f32")]}


def load(path, size=8, **options):
    return mldf.Loader(path, size, pipelines=IMAGES, fields=["image", "label"], **options)


# ---- nothing is left behind ----


def test_a_hundred_epochs_of_early_break_leave_nothing_behind(path):
    def epoch(_):
        for i, _ in enumerate(loader):
            if i == 2:
                break

    loader = load(path, shuffle=True, threads=3)
    pkg.nothing_is_left_by(epoch, 100, most=8 << 20)
    assert loader.epoch == 119


def test_loaders_that_are_closed_or_forgotten_leave_nothing_behind(path):
    def use(how):
        loader = load(path, threads=2, batches_ahead=6)
        it = iter(loader)
        next(it)
        if how == 1:
            loader.close()
        elif how == 2:
            with loader:
                next(it)
        elif how == 3:
            with pytest.raises(ValueError, match="mine"), loader:
                raise ValueError("mine")

    pkg.nothing_is_left_by(lambda i: use(i % 4), 80, warm_up=8, most=16 << 20)


def test_exceptions_in_user_code_leak_nothing(path):
    def fail(batch):
        raise ZeroDivisionError

    loader = load(path, threads=2, transform=fail)

    def epoch(_):
        it, failed = iter(loader), 0
        with contextlib.suppress(StopIteration):
            while True:
                try:
                    next(it)
                except ZeroDivisionError:
                    failed += 1
        assert failed == 8

    pkg.nothing_is_left_by(epoch, 100, warm_up=1, most=8 << 20)


def test_a_loader_that_cannot_be_made_leaves_nothing_behind(path):
    def fail(_):
        with pytest.raises(mldf.Error):
            mldf.Loader(path, pipelines={"image": [mldf.Resize(3), "chw"]})

    pkg.nothing_is_left_by(fail, 20, warm_up=1)


# ---- memory ----


def test_kept_batches_stay_valid_and_differ(path):
    loader = load(path, threads=2)
    copies, kept = [], []
    for batch in loader:
        kept.append(batch)
        copies.append([np.array(a) for a in batch])
    list(loader)
    loader.close()
    del loader
    gc.collect()
    for batch, copy in zip(kept, copies):
        for array, want in zip(batch, copy):
            assert np.array_equal(array, want)
            array[...] = 1  # memory of its own: nobody else's changes
    assert all((a == 1).all() for b in kept for a in b)
    one = kept[3].image
    part = one[2:4, 0]
    del kept, batch, array, one
    gc.collect()
    assert (part == 1).all()


def test_the_memory_of_forgotten_batches_is_used_again(path):
    loader = load(path, threads=1, batches_ahead=3, drop_last=True)
    places = {b.image.ctypes.data for _ in range(5) for b in loader}
    assert len(places) <= 8


def test_dlpack_gives_the_same_memory(path):
    loader = load(path)
    loader._core.form(mldf.batch.batch_type(("image", "label")), (0, 1), (None, None))
    loader._core.begin(0)
    raw = loader._core.next()
    array = raw[0]
    assert array.__dlpack_device__() == (1, 0)
    a, b = np.from_dlpack(array), np.asarray(array)
    assert a.ctypes.data == b.ctypes.data and np.array_equal(a, b) and a.shape == (8, 3, 8, 8) and a.dtype == np.float32
    assert '"dltensor_versioned"' in repr(array.__dlpack__(max_version=(1, 0)))
    assert '"dltensor"' in repr(array.__dlpack__())
    loader._core.pending = None
    loader.close()
    del raw, array, b
    gc.collect()
    assert np.isfinite(a).all() and a.max() > 0


# ---- threads ----


def test_next_gives_up_the_lock_of_the_interpreter(slow):
    loader = mldf.Loader(slow, 4, pipelines=IMAGES, threads=1, batches_ahead=1)
    it = (batch for _ in range(100) for batch in loader)
    assert pkg.gives_up_the_lock(lambda: next(it))
    loader.close()


def test_a_second_thread_is_refused_and_close_ends_a_waiting_next(slow):
    ds = mldf.open(slow)
    many = ds[np.arange(20_000) % len(ds)]  # a batch that takes minutes
    loader = mldf.Loader(many, len(many), pipelines=IMAGES, threads=1)
    it = iter(loader)
    errors, inside = [], threading.Event()

    def wait():
        try:
            inside.set()
            next(it)
        except mldf.errors.StateError as error:
            errors.append(str(error))

    thread, interval = threading.Thread(target=wait), sys.getswitchinterval()
    sys.setswitchinterval(1000)  # from `inside` on the thread goes on until next() waits
    thread.start()
    inside.wait()
    sys.setswitchinterval(interval)
    with pytest.raises(mldf.errors.StateError, match="another thread"):
        next(it)
    assert loader.stats().threads == 1  # may be asked all the time
    loader.close()
    thread.join(pkg.HANG)
    assert not thread.is_alive() and errors == ["this loader was closed while it was waited for"]
    with pytest.raises(mldf.errors.StateError, match="closed"):
        iter(loader)
    assert repr(loader) == "Loader(slow.mldf, closed)"
    loader.close()


def test_several_threads_may_close_at_once(slow):
    """The second must not free what the workers, whom the first is waiting for, still use."""
    left_early = 0
    for _ in range(3):
        dataset = mldf.open(slow)
        loader = mldf.Loader(dataset, 8, pipelines=IMAGES, fields=["image"], shuffle=True, threads=3)
        iter(loader)  # begins: the workers have images in hand
        dataset.close()  # the loader alone keeps the file mapped now
        time.sleep(0.02)
        core, started = loader._core, threading.Barrier(4)

        def close():
            started.wait()
            core.close()

        threads = [threading.Thread(target=close) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(pkg.HANG)
            left_early += t.is_alive()
        with pytest.raises(mldf.errors.StateError, match="closed"):
            core.batch_count()
        loader.close()
    assert left_early == 0


def test_other_threads_may_look_at_a_loader_in_use(slow):
    loader = mldf.Loader(slow, 8, pipelines={"image": [mldf.CenterCrop(8)]}, threads=1)
    it = iter(loader)
    waiting = threading.Thread(target=lambda: next(it))
    waiting.start()
    while waiting.is_alive():
        assert len(loader) == 8 and "8 batches of 8" in repr(loader) and loader.stats().batches <= 1
    loader.close()


def test_worker_threads_block_all_signals(path):
    before = set(os.listdir("/proc/self/task"))
    loader = load(path, threads=3)
    next(iter(loader))
    mine = set(os.listdir("/proc/self/task")) - before
    assert len(mine) == 3
    for thread in mine:
        status = pathlib.Path(f"/proc/self/task/{thread}/status").read_text()
        blocked = int(status.split("SigBlk:")[1].split()[0], 16)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGALRM):
            assert blocked >> (number - 1) & 1


# ---- signals ----


def interrupted_epoch(path, threads):
    """Samples of an epoch in which next() was interrupted three times; None: a batch was done before that."""
    main, seen, interrupts = threading.get_ident(), [], 0
    with mldf.Loader(path, 32, pipelines=IMAGES, fields=["image", "n"], threads=threads, batches_ahead=1) as loader:
        it = iter(loader)
        while interrupts < 3:
            try:
                with pkg.as_soon_as_others_run(lambda: signal.pthread_kill(main, signal.SIGINT)):
                    next(it)
            except KeyboardInterrupt:
                interrupts += 1
            if loader.state_dict()["consumed"]:
                return None
        for batch in it:
            seen += batch.n.tolist()
    return seen


@pytest.mark.parametrize("threads", [0, 1])
def test_ctrl_c_interrupts_next_and_loses_no_batch(slow, threads):
    epochs = (interrupted_epoch(slow, threads) for _ in range(20))
    assert next((seen for seen in epochs if seen is not None), None) == list(range(64))


def endless(tmp_path):
    """A loader whose len() takes hours: a budget, and very many draws from few samples."""
    with mldf.Writer(tmp_path / "l.mldf", {"x": mldf.NDArray("int32", (None,))}) as w:
        for i in range(20):
            w.append({"x": np.zeros(i + 1, np.int32)})
    steps = {"x": [mldf.Pad()]}
    weights = np.ones(20)
    return mldf.Loader(
        tmp_path / "l.mldf",
        pipelines=steps,
        bucket="x",
        budget=64,
        bucket_window=100,
        weights=weights,
        samples_per_epoch=10**12,
    )


def test_ctrl_c_interrupts_len(tmp_path):
    main = threading.get_ident()
    with endless(tmp_path) as loader:
        for _ in range(2):
            with (
                pytest.raises(KeyboardInterrupt),
                pkg.as_soon_as_others_run(lambda: signal.pthread_kill(main, signal.SIGINT)),
            ):
                len(loader)
        assert len(next(iter(loader)).x_length) > 0


def test_a_loader_is_shown_without_counting_its_batches(tmp_path):
    with endless(tmp_path) as loader:
        assert "20 samples, batches of at most 64 elements of x)" in repr(loader)
        loader.explain()


def test_closing_ends_a_len_that_counts_elsewhere(tmp_path):
    loader = endless(tmp_path)
    with pytest.raises(mldf.errors.StateError, match="closed while"), pkg.as_soon_as_others_run(loader.close):
        len(loader)
    with pytest.raises(mldf.errors.StateError, match="is closed"):
        len(loader)


def test_threads_that_look_are_not_in_each_others_way(path):
    """A state is there at once, but for the first, which reads samples; a thread that watches stops no other."""
    refused, before = [], sys.getswitchinterval()

    def look(loader, state):
        try:
            for _ in range(300):
                assert loader.state_dict() == state
        except mldf.Error as error:
            refused.append(error)

    with load(path) as loader:
        threads = [threading.Thread(target=look, args=(loader, loader.state_dict())) for _ in range(4)]
        sys.setswitchinterval(1e-6)
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(before)
    assert refused == []


def test_an_interrupt_between_the_loader_and_the_user_loses_no_batch(path):
    calls = []

    def transform(batch):
        calls.append(batch)
        if len(calls) in (2, 5):
            raise KeyboardInterrupt
        return batch

    loader = load(path, transform=transform, threads=2)
    it, got = iter(loader), []
    while True:
        try:
            got += next(it).label.tolist()
        except KeyboardInterrupt:
            assert loader.state_dict()["consumed"] == len(got)
            other = load(path)
            other.load_state_dict(loader.state_dict())
            assert [i for b in other for i in b.label.tolist()] == list(range(len(got), COUNT))
        except StopIteration:
            break
    assert got == list(range(COUNT)) and len(calls) == 8 + 2


def test_an_interrupt_at_the_end_of_an_epoch_begins_no_other(path, monkeypatch):
    loader = load(path, threads=2)
    it = iter(loader)
    assert sum(len(next(it).label) for _ in range(8)) == COUNT

    def interrupted(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(it), "_end", interrupted)
        with pytest.raises(KeyboardInterrupt):
            next(it)
    assert list(it) == [] and loader.epoch == 1 and loader.state_dict()["consumed"] == 0
    assert len(list(loader)) == 8


# ---- fork ----


def in_child(function):
    """What the function gives in a forked child."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork with threads
        child = os.fork()
    if child == 0:
        try:
            os.close(read)
            os.write(write, function().encode())
        except BaseException as error:
            os.write(write, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        text = file.read()
    os.waitpid(child, 0)
    return text


def test_a_forked_child_gets_a_clear_error_and_the_parent_goes_on(path):
    loader = load(path, shuffle=True, threads=2)
    it = iter(loader)
    first = next(it)

    def child():
        texts = []
        for attempt in (lambda: next(it), lambda: iter(loader), loader.state_dict, loader.stats, loader.close):
            try:
                attempt()
                texts.append("fine")
            except mldf.Error as error:
                texts.append(f"{error.status}: {error}")
        own = sum(len(b.label) for b in load(path, threads=2))  # a new one works
        return "\n".join([*texts, str(own), str(first.label.tolist())])

    for _ in range(5):
        lines = in_child(child).splitlines()
        assert all(line.startswith("state: ") and "fork" in line for line in lines[:4]), lines
        assert lines[4:] == ["fine", str(COUNT), str(first.label.tolist())], lines
    assert in_child(lambda: repr(loader)) == "Loader(a.mldf, of the process that was forked)"
    rest = [b.label.tolist() for b in it]
    want = [b.label.tolist() for b in load(path, shuffle=True)]
    assert [first.label.tolist(), *rest] == want


def test_children_that_end_normally_do_not_hang(path):
    code = """
        import os, sys, mldf
        loader = mldf.Loader(sys.argv[1], 8, fields=["label"], threads=3)
        it = iter(loader)
        kept = next(it)
        child = os.fork()
        if child == 0:
            del it
            kept = None
            sys.exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        print(sum(len(b.label) for b in it))
    """
    done = pkg.run_python(code, path, env=pkg.MAY_LEAK)
    assert done.stdout.strip() == str(COUNT - 8), done.stderr


# ---- the end of the interpreter ----


@pytest.mark.parametrize("end", ["", "del loader", "sys.exit(0)", "1 / 0", "os.kill(os.getpid(), signal.SIGINT)"])
def test_the_interpreter_ends_with_live_loaders_and_batches(path, end):
    code = f"""
        import os, signal, sys, mldf
        import numpy as np
        loader = mldf.Loader(sys.argv[1], 8, fields=["label"], threads=3)
        it = iter(loader)
        keep = np.asarray(next(it).label)
        class Later:
            def __del__(self):
                keep.sum()
        later = Later()
        {end}
    """
    done = pkg.run_python(code, path)
    want = {"1 / 0": 1, "os.kill(os.getpid(), signal.SIGINT)": -signal.SIGINT}.get(end, 0)
    assert done.returncode == want, done.stderr
    assert "mldf" not in done.stderr


def test_the_import_needs_no_torch():
    done = pkg.run_python("import sys, mldf; print('torch' in sys.modules, 'jax' in sys.modules, 'PIL' in sys.modules)")
    assert done.stdout.split() == ["False"] * 3, done.stderr
