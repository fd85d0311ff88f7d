"""Ends that come too soon: interrupts and exceptions at any moment, forks, and the interpreter's own end. What is
counted each time: threads, open and mapped files, memory.
"""

import gc
import os
import signal
import textwrap
import time
import warnings

import mldf
import numpy as np
import pkg
import pytest

COUNT = 60


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return str(pkg.make(tmp_path_factory.mktemp("end") / "a.mldf", count=COUNT))


def load(path, **options):
    pipelines = {"image": [mldf.RandomResizedCrop(8), mldf.CHW("f32")]}
    return mldf.Loader(path, 8, pipelines=pipelines, fields=["image", "label"], threads=2, **options)


# ---- interrupts and exceptions ----


@pytest.fixture
def alarm():
    """alarm(seconds): a KeyboardInterrupt then, wherever Python is."""

    def ring(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ring)
    gc.disable()  # JAX has a function in gc.callbacks: what is raised in there is lost
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    gc.enable()


def test_a_hundred_interrupts_leave_nothing_behind(path, alarm):
    loader, hits = load(path, shuffle=True), []

    def once(i):
        try:
            alarm(0.0005 + (i * 7919 % 97) / 20_000)  # in next(), in the loader's Python, in ours
            while True:
                for batch in loader:
                    assert batch.label.shape[0] in (8, COUNT % 8)
        except KeyboardInterrupt:
            hits.append(i)

    pkg.nothing_is_left_by(once, 100)
    assert len(hits) == 120
    assert sorted(i for b in loader for i in b.label.tolist()) == list(range(COUNT))


def test_interrupts_while_loaders_are_made_and_closed_leave_nothing_behind(path, alarm):
    made = []

    def make_one(i):
        began = time.monotonic()
        with load(path) as loader:
            next(iter(loader))
            made.append(i)
        return time.monotonic() - began

    took = min(0.2, *(make_one(0) for _ in range(3)))  # sanitizers and busy machines take ten times as long
    made.clear()
    hits = []

    def once(i):
        nonlocal took
        try:
            alarm(0.0005 + took * (i * 7919 % 97) / 30)  # from the very beginning to the third
            deadline = time.monotonic() + pkg.HANG
            while time.monotonic() < deadline:
                make_one(i)
            pytest.fail("the interrupt was lost")
        except KeyboardInterrupt:
            hits.append(i)
        if not made:
            took *= 1.2  # the machine has become slower

    pkg.nothing_is_left_by(once, 60)
    assert len(hits) == 80 and made


def test_a_hundred_exceptions_in_the_users_loop_leave_nothing_behind(path):
    kept = []

    def once(i):
        with pytest.raises(LookupError, match="mine"), load(path, shuffle=True) as loader:
            for batch in loader:
                kept[:] = [batch.image[1:]]  # a view outlives its loader, once
                raise LookupError("mine")

    pkg.nothing_is_left_by(once, 100)
    assert np.isfinite(kept[0]).all()


def test_exceptions_in_a_users_generator_leave_nothing_behind(path):
    loader = load(path)

    def batches():
        yield from loader

    def once(i):
        steps = batches()
        next(steps)
        if i % 2:
            steps.close()
        else:
            with pytest.raises(LookupError):
                steps.throw(LookupError)

    pkg.nothing_is_left_by(once, 100)
    assert sum(len(b.label) for b in loader) == COUNT


# ---- forks ----


def test_a_hundred_forks_leave_nothing_behind(path):
    loader = load(path, shuffle=True)

    def once(i):
        it = iter(loader)
        kept = next(it)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # fork with threads
            child = os.fork()
        if child == 0:
            status = 1
            try:
                del it
                status = 7 if kept.label.shape == (8,) else 2
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert sum(len(b.label) for b in it) == COUNT - 8

    pkg.nothing_is_left_by(once, 100, warm_up=10)


# ---- the end of the interpreter ----


ENDS = {
    "capsules": """
        loader._core.form(mldf.batch.batch_type(("label",)), (0,), (None,))
        loader._core.begin(0)
        array = loader._core.next()[0]
        capsules = [array.__dlpack__(), array.__dlpack__(max_version=(1, 0))]
        taken = np.from_dlpack(array)
        sys.modules["kept"] = [capsules, taken]  # until modules are taken down
    """,
    "a cycle": """
        class Holder:
            def __del__(self):
                self.batch[0].tobytes()
        holder = Holder()
        holder.me, holder.it = holder, iter(loader)
        holder.batch = next(holder.it)
        loader.holder = holder
    """,
    "daemon threads in next()": """
        def forever(own):
            with contextlib.suppress(mldf.errors.StateError):  # the end of the program closes loaders
                while True:
                    for batch in own:
                        batch.label.sum()
        for _ in range(3):
            own = mldf.Loader(sys.argv[1], 8, fields=["label", "image"], pipelines="image: resize([8, 8])", threads=2)
            threading.Thread(target=forever, args=(own,), daemon=True).start()
        time.sleep(0.2)
    """,
    "a thread that outlives the main one": """
        def later():
            time.sleep(0.3)
            assert sum(len(b.label) for b in loader) == 60
            print("later")
        threading.Thread(target=later).start()
    """,
    "an atexit function of the user's": """
        import atexit
        it = iter(loader)
        next(it)
        atexit.register(lambda: print(sum(len(b.label) for b in it)))
    """,
}


@pytest.mark.parametrize("what", ENDS)
def test_the_interpreter_ends_in_peace_with(path, what):
    code = """
        import contextlib, sys, threading, time, mldf
        import numpy as np
        loader = mldf.Loader(sys.argv[1], 8, fields=["label"], threads=3)
    """
    done = pkg.run_python(
        textwrap.dedent(code) + textwrap.dedent(ENDS[what]), path, env=pkg.MAY_LEAK if "daemon" in what else None
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    want = {"a thread that outlives the main one": "later\n", "an atexit function of the user's": "52\n"}
    assert done.stdout == want.get(what, "")


def test_a_sub_interpreter_works_or_is_refused_and_harms_nobody(path):
    """NumPy decides: it warns, or refuses to be loaded twice. Interpreters with their own lock (3.12) refuse us."""
    code = """
        import sys, warnings, mldf
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            import _interpreters as interpreters
        program = (
            "import warnings; warnings.simplefilter('ignore'); import mldf; "
            f"assert sum(len(b.label) for b in mldf.Loader({sys.argv[1]!r}, 8, fields=['label'], threads=2)) == 60"
        )
        other = interpreters.create()
        try:
            failure = interpreters.run_string(other, program)
        except Exception as error:
            failure = error
        assert failure is None or "ImportError" in repr(failure), failure
        interpreters.destroy(other)
        warnings.simplefilter("ignore")
        print(sum(len(b.label) for b in mldf.Loader(sys.argv[1], 8, fields=["label"], threads=2)))
    """
    done = pkg.run_python(code, path)
    assert done.returncode == 0 and done.stdout == "60\n", done.stderr
