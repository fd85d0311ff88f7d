"""Lifetimes, threads, fork, spawn, leaks, signals: what must hold however the package is used."""

import contextlib
import copy
import gc
import multiprocessing
import os
import pickle
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import mldf
import numpy as np
import pkg
import pytest


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return pkg.make(tmp_path_factory.mktemp("life") / "a.mldf", 200)


# ---- lifetimes ----


def test_views_outlive_the_dataset(path):
    gc.collect()
    before = pkg.open_files()[1]  # what other tests left to classes that are registered
    ds = mldf.open(path)
    fixed, image, labels, rows, raw, box = (
        ds[4].fixed,
        ds[4].image,
        ds.column("label"),
        ds.rows,
        ds.raw(5, "image"),
        ds[6].box,
    )
    ds.close()
    with pytest.raises(mldf.errors.StateError, match="closed"):
        ds[0]
    assert "closed" in repr(ds)
    del ds
    gc.collect()
    assert pkg.open_files()[1] > before  # still mapped, for the views' sake
    assert (
        fixed.tolist() == [4, -4, 7]
        and np.array_equal(image, pkg.image(4))
        and labels[7] == 7
        and rows["label"][9] == 9
    )
    assert raw.tobytes() == pkg.sample(5)["image"] and box["x"] == 6
    del fixed, image, labels, rows, raw, box
    gc.collect()
    assert pkg.open_files()[1] == before


def test_close_is_for_all_subsets(path):
    with mldf.open(path) as ds:
        part = ds[5:]
        assert part[0].label == 5
    for call in (
        lambda: part[0],
        lambda: part.column("text"),
        lambda: part.__getitems__([0]),
        lambda: part.raw(0, "text"),
        lambda: part.rows,
        lambda: pickle.dumps(part),
        lambda: part.keys[0],
        lambda: part.card,
    ):
        with pytest.raises(mldf.errors.StateError):
            call()
    ds.close()  # twice is fine


def test_memory_is_exported_by_buffer_and_dlpack(path):
    reader = mldf.open(path)._reader
    array = reader.raw(mldf.open(path).fields.index("text"), 3, False)
    view = memoryview(array)
    assert view.readonly == (not np.asarray(array).flags.writeable) and bytes(view) == "sample 3 ä".encode()
    rows = reader.rows()
    assert memoryview(rows).readonly and rows.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match="read-only"):
        rows.__dlpack__()
    with pytest.raises(BufferError, match="copy"):
        rows.__dlpack__(copy=True, max_version=(1, 0))
    capsule = rows.__dlpack__(max_version=(1, 0))
    assert "dltensor_versioned" in repr(capsule)
    del capsule
    gathered = reader.gather(1, np.arange(4, dtype=np.uint64), 8)
    taken = np.from_dlpack(gathered)
    assert taken.view(np.int64).tolist() == [0, 1, 2, 3]
    del gathered
    gc.collect()
    assert taken.view(np.int64).tolist() == [0, 1, 2, 3]
    got = np.from_dlpack(rows)
    assert not got.flags.writeable and got.size == memoryview(rows).nbytes
    for bad in ({"stream": 1}, {"dl_device": (2, 0), "max_version": (1, 0)}, {"max_version": 5}):
        with pytest.raises((BufferError, TypeError, SystemError)):
            rows.__dlpack__(**bad)


# ---- threads ----


def test_many_threads_read_one_dataset(path):
    ds = mldf.open(path)
    failures = []

    def work(seed):
        try:
            for i in np.random.default_rng(seed).integers(0, 200, 150):
                pkg.check(ds[int(i)], int(i))
            for i, s in zip(range(50), ds.__getitems__(range(50))):
                pkg.check(s, i)
        except BaseException as error:  # for the main thread to see
            failures.append(error)

    workers = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not failures


def test_closing_while_others_read(path):
    for _ in range(20):
        ds = mldf.open(path)
        stop = threading.Event()

        def work():
            while not stop.is_set():
                try:
                    ds.__getitems__(range(100))
                except mldf.errors.StateError:
                    return

        workers = [threading.Thread(target=work) for _ in range(3)]
        for w in workers:
            w.start()
        time.sleep(0.005)
        ds.close()
        for w in workers:
            w.join(pkg.HANG)
            assert not w.is_alive()
        stop.set()


def test_decoding_releases_the_gil(tmp_path):
    path = tmp_path / "big.mldf"
    big = mldf.images.encode(np.random.default_rng(0).integers(0, 255, (1500, 2000, 3), np.uint8), "png")
    with mldf.Writer(path, {"image": mldf.Image()}) as w:
        w.append({"image": big})
    ds = mldf.open(path)
    assert pkg.gives_up_the_lock(lambda: ds[0])


def test_a_writer_is_one_threads_at_a_time(tmp_path):
    seen = set()
    with mldf.Writer(tmp_path / "a.mldf", {"x": mldf.Bytes()}, threads=1) as w:

        def work():
            for _ in range(200):
                try:
                    w.append((b"x" * 100_000,))
                except mldf.errors.StateError as error:
                    seen.add(str(error))

        workers = [threading.Thread(target=work) for _ in range(4)]
        for t in workers:
            t.start()
        for t in workers:
            t.join()
    assert all("another thread" in s for s in seen)
    assert mldf.verify(tmp_path / "a.mldf").ok


def test_a_writer_is_not_copied(tmp_path):
    """The copy that is forgotten first would end both."""
    with mldf.Writer(tmp_path / "a.mldf", {"x": mldf.Int()}) as w:
        w.append((1,))
        for twice in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="a Writer cannot be copied or pickled"):
                twice(w)
        w.append((2,))
    assert mldf.open(tmp_path / "a.mldf").column("x").tolist() == [1, 2]


# ---- processes ----


def child(ds, queue):
    queue.put([ds[i].label for i in range(len(ds))])


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_other_processes_read_on(path, method):
    ds = mldf.open(path)[3:9]
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    workers = [context.Process(target=child, args=(ds, queue)) for _ in range(2)]
    for w in workers:
        w.start()
    for _ in workers:
        assert queue.get(timeout=pkg.HANG) == [3, 4, 5, 6, 7, 8]
    for w in workers:
        w.join(pkg.HANG)
        assert w.exitcode == 0
    pkg.check(ds[0], 3)


def test_a_forked_child_leaves_the_writer_alone(tmp_path):
    path = tmp_path / "a.mldf"
    with mldf.Writer(path, {"x": "int"}) as w:
        w.append({"x": 1})
        pid = os.fork()
        if pid == 0:
            try:
                w.append({"x": 2})
            except mldf.errors.StateError:
                w = None  # its end must not remove the parent's file
                gc.collect()
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        w.append({"x": 3})
    assert mldf.open(path).column("x").tolist() == [1, 3]


def test_interpreter_exit_with_everything_open(path, tmp_path):
    done = pkg.run_python(
        """
        import sys, mldf, threading, time
        ds = mldf.open(sys.argv[1])
        view, column = ds[4].fixed, ds.column("label")
        w = mldf.Writer(sys.argv[2], {"x": "bytes"})
        w.append((b"x" * 100000,))
        def read():
            while True:
                ds.__getitems__(range(100))
        threading.Thread(target=read, daemon=True).start()
        time.sleep(0.05)
        print("end")
    """,
        path,
        tmp_path / "left.mldf",
        env=pkg.MAY_LEAK,
    )
    assert done.returncode == 0 and done.stdout == "end\n"
    assert done.stderr.count("\n") == 1 and "left.mldf was never closed: 1 sample is lost" in done.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("ending", ["pass", "sys.exit(3)", "raise LookupError"])
def test_a_program_that_ends_inside_a_block(tmp_path, ending):
    pkg.run_python(
        f"""
        import sys, mldf
        with mldf.Writer(sys.argv[1], {{"x": "int"}}) as w:
            w.append((1,))
            {ending}
    """,
        tmp_path / "a.mldf",
    )
    assert os.listdir(tmp_path) == (["a.mldf"] if ending == "pass" else [])


# ---- leaks ----


def test_nothing_is_leaked_by_reading(path):
    def once():
        ds = mldf.open(path)
        for s in ds[:40]:
            s.image.sum()
        ds.__getitems__(range(40))
        ds.column("text")
        ds.column("score")
        pickle.loads(pickle.dumps(ds[3:]))
        with contextlib.suppress(IndexError):
            ds[1000]

    once()
    before, files, count = pkg.resident(), pkg.open_files(), sys.getallocatedblocks()
    for _ in range(60):
        once()
    assert pkg.open_files() == files
    assert pkg.resident() - before < 8 << 20
    gc.collect()
    assert sys.getallocatedblocks() - count < 2000


def test_nothing_is_leaked_by_writing(tmp_path):
    def once(fail):
        try:
            with mldf.Writer(tmp_path / "a.mldf", pkg.FIELDS, overwrite=True, threads=2) as w:
                for i in range(30):
                    w.append(pkg.sample(i))
                if fail:
                    raise LookupError
        except LookupError:
            pass

    for i in range(4):
        once(i % 2)
    before, files, count, threads = pkg.resident(), pkg.open_files(), sys.getallocatedblocks(), pkg.threads()
    for i in range(40):
        once(i % 2)
    assert pkg.threads_after(threads) <= threads and pkg.open_files() == files
    assert pkg.resident() - before < 12 << 20
    gc.collect()
    assert sys.getallocatedblocks() - count < 2000


def test_nothing_is_leaked_by_errors_and_tools(path, tmp_path):
    bad = tmp_path / "bad.mldf"
    bad.write_bytes(path.read_bytes()[:5000])

    def once(_):
        for call in (
            lambda: mldf.open(bad),
            lambda: mldf.open(tmp_path / "none"),
            lambda: mldf.Writer(bad, {"x": "int"}),
            lambda: mldf.Writer(tmp_path / "w", {"x": "itn"}),
            lambda: mldf.images.decode(b"\xff\xd8\xff"),
        ):
            with pytest.raises(mldf.Error):
                call()
        mldf.stats(path)
        mldf.verify(path, threads=1)
        mldf.select(path, tmp_path / "s.mldf", where="label > 10", overwrite=True, threads=0)

    pkg.nothing_is_left_by(once, 30, warm_up=1, most=8 << 20)


# ---- Ctrl-C ----


INTERRUPTED = """
    import os, signal, sys, threading, time
    import mldf
    def interrupt():  # as soon as something is written
        while not os.listdir(sys.argv[2]):
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        {call}
    except KeyboardInterrupt:
        print("interrupted")
    else:
        print("finished")
"""


def interrupt(call, source, out):
    for _ in range(20):
        done = pkg.run_python(INTERRUPTED.format(call=call), source, out)
        if done.stdout != "finished\n":  # else it was done before the interrupt came
            break
        (out / "out.mldf").unlink()
    return done


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    rows = tmp_path_factory.mktemp("rows") / "rows.csv"
    with open(rows, "w") as file:
        file.write("a,b,c\n")
        for _ in range(6):
            file.write("".join(f"{n},{n * 0.5},some text {n}\n" for n in range(100_000)))
    return rows


def test_ctrl_c_in_pack_leaves_nothing_behind(rows, tmp_path):
    done = interrupt('mldf.pack(sys.argv[1], sys.argv[2] + "/out.mldf", threads=1)', rows, tmp_path)
    assert done.stdout == "interrupted\n", done
    assert os.listdir(tmp_path) == []


def test_ctrl_c_in_a_writer_leaves_nothing_behind(tmp_path):
    done = interrupt(
        'mldf.write(sys.argv[2] + "/out.mldf", (({"b": bytes(100000)}) for _ in range(10**9)), {"b": "bytes"})',
        "",
        tmp_path,
    )
    assert done.stdout == "interrupted\n", done
    assert os.listdir(tmp_path) == []


BEFORE_A_PIPE = """
    import signal, sys, threading
    sys.path.insert(0, sys.argv[1])
    import pkg
    from mldf import _mldf
    # Another thread gets the signal, at the first moment of the call: nothing that waits for the pipe is ended by it.
    def kill():
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
    source, out = (name.encode() for name in sys.argv[2:4])
    try:
        with pkg.as_soon_as_others_run(kill):
            _mldf.pack([source], out, {"format": int(sys.argv[4])}, [], None)
    except KeyboardInterrupt:
        print("interrupted")
"""


@pytest.mark.parametrize("kind", ["csv", "tar"])
def test_ctrl_c_a_moment_before_a_pipe_is_opened_is_heard(kind, tmp_path):
    (tmp_path / "out").mkdir()
    os.mkfifo(tmp_path / "pipe")
    number = ("auto", "csv", "tsv", "jsonl", "tar").index(kind)
    done = pkg.run_python(
        BEFORE_A_PIPE, pkg.ROOT / "tests/python", tmp_path / "pipe", tmp_path / "out" / "x.mldf", number
    )
    assert done.stdout == "interrupted\n", done
    assert os.listdir(tmp_path / "out") == []


def test_a_pipe_is_read_from_the_first_byte_whoever_opens_it_first(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    text = b"n,word\n" + b"".join(b"%d,w%d\n" % (n, n) for n in range(30_000))
    for _ in range(3):
        with ThreadPoolExecutor(1) as pool:
            written = pool.submit((tmp_path / "pipe").write_bytes, text)
            mldf.pack(tmp_path / "pipe", tmp_path / "out.mldf", format="csv", overwrite=True)
            written.result()
        assert np.array_equal(mldf.open(tmp_path / "out.mldf")["n"], np.arange(30_000))


def test_ctrl_c_reaches_python_handlers(rows, tmp_path):
    done = interrupt(
        'signal.signal(signal.SIGINT, lambda *a: print("handler")); mldf.pack(sys.argv[1], sys.argv[2] + "/out.mldf")',
        rows,
        tmp_path,
    )
    assert done.stdout == "handler\nfinished\n" and os.listdir(tmp_path) == ["out.mldf"]
    (tmp_path / "out.mldf").unlink()
