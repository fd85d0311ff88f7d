"""What the tests of the Python package share: small datasets of every kind, and looks at this process."""

import contextlib
import gc
import os
import pathlib
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time

import mldf
import numpy as np

# A shell's background jobs ignore SIGINT, and so would every process that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = pathlib.Path(os.environ.get("MLDF_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[2])

FIELDS = {
    "image": mldf.Image(),
    "label": mldf.Int("uint8"),
    "score": mldf.Float(nullable=True),
    "text": mldf.Text(compress=3),
    "x": mldf.NDArray("float32", (None, 2)),
    "fixed": mldf.NDArray("int16", (3,)),
    "box": mldf.Struct([("x", "f4"), ("y", "f4"), ("id", "S4")]),
    "pos": mldf.Struct(("f8", (2, 2))),
    "meta": mldf.Json(nullable=True),
    "blob": mldf.Bytes(),
}


def image(i, height=12, width=16, channels=3):
    return ((np.arange(height * width * channels) * 7 + i * 13) % 256).astype(np.uint8).reshape(height, width, channels)


def sample(i):
    return {
        "image": mldf.images.encode(image(i), "png") if i % 2 else image(i),
        "label": i % 256,
        "score": None if i % 4 == 3 else i / 8,
        "text": f"sample {i} ä",
        "x": np.arange(2 * (i % 5), dtype=np.float32).reshape(-1, 2),
        "fixed": [i, -i, 7],
        "box": (i, i / 2, f"b{i}"[:4].encode()),
        "pos": [[i, 1], [2, 3]],
        "meta": None if i % 3 == 0 else {"n": i, "list": [1, "two", None]},
        "blob": bytes([i % 256]) * (i % 7),
    }


def make(path, count=20, first=0, keys=True, **options):
    with mldf.Writer(path, FIELDS, **options) as w:
        for i in range(first, first + count):
            w.append(sample(i), key=f"key-{i}" if keys else None)
    return path


def check(got, i):
    """A sample that was read is the one that `sample` made."""
    want = sample(i)
    assert np.array_equal(got.image, image(i)) and got.image.dtype == np.uint8
    assert got.label == want["label"] and got.score == want["score"] and got.text == want["text"]
    assert np.array_equal(got.x, want["x"]) and got.x.dtype == np.float32
    assert got.fixed.tolist() == want["fixed"]
    assert tuple(got.box) == want["box"]
    assert got.pos.tolist() == want["pos"]
    assert got.meta == want["meta"] and got.blob == want["blob"]


def indices(loader):
    """The numbers of the samples of an epoch."""
    return np.concatenate([b["index"] for b in loader]).tolist()


def listing(folder):
    return sorted(os.listdir(folder))


# Seconds after which something hangs. Nothing may depend on how quick the machine is.
HANG = 600


def run_python(code, *arguments, **options):
    """A program of its own."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=HANG,
        **options,
    )


def has_loopback():
    """Whether processes of this machine can talk by its own network: torch's ranks do."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname(), timeout=HANG).close()
    except OSError:
        return False
    return True


def open_files():
    """What this process has open or mapped."""
    descriptors = len(os.listdir("/proc/self/fd"))
    maps = sum(".mldf" in line for line in pathlib.Path("/proc/self/maps").read_text().splitlines())
    return descriptors, maps


def threads():
    return len(os.listdir("/proc/self/task"))


def threads_after(before):
    """Threads once there are no more than before: one that was joined leaves /proc a moment later."""
    deadline = time.monotonic() + HANG / 10
    while threads() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    return threads()


@contextlib.contextmanager
def as_soon_as_others_run(do):
    """`do()` in another thread, as soon as the block gives up the interpreter's lock, which nobody makes it do; the list that is
    given has one item then. A block that never gives it up ends before.
    """
    go, done = threading.Event(), []

    def other():
        go.wait()
        done.append(None)
        do()

    thread, interval = threading.Thread(target=other), sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        thread.start()
        go.set()
        yield done
    finally:
        try:
            thread.join()
        finally:
            sys.setswitchinterval(interval)


def gives_up_the_lock(call, tries=100):
    """Whether other threads run during `call()`; tries, because they may be slow to wake."""
    for _ in range(tries):
        with as_soon_as_others_run(lambda: None) as done:
            assert not done
            call()
            ran = bool(done)
        if ran:
            return True
    return False


ASAN = "libasan" in os.environ.get("LD_PRELOAD", "")
# For other people's programs, which the address sanitizer is not to look at.
PLAIN = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
# For processes that end with memory in nobody's hands by design: daemon threads that stop in the middle of a call, forked
# children in which the parent's threads are gone.
MAY_LEAK = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


def resident():
    """Bytes of memory in use. Under the address sanitizer 0: it keeps freed memory for a while, and finds leaks itself."""
    gc.collect()
    if ASAN:
        return 0
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def nothing_is_left_by(once, count, warm_up=20, most=12 << 20):
    """`once(i)` that often leaves this process as it was after the first few: its files, its threads, its memory but for `most` bytes."""
    for i in range(warm_up):
        once(i)
    gc.collect()
    files, before, memory = open_files(), threads(), resident()
    for i in range(count):
        once(i)
    gc.collect()
    # Fewer is fine: NumPy's own threads, for one, end when a process forks.
    assert threads_after(before) <= before
    assert all(now <= then for now, then in zip(open_files(), files)), (open_files(), files)
    assert resident() - memory < most
