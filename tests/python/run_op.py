"""tests/unit/pipeline/run_op.c from Python: one operation, or several, on NumPy arrays.

    out = run_op.run("solarize(128, p=1)", array, seed=1)

An image is an array of three dimensions. bf16 comes and goes as uint16.
"""

import os
import subprocess
from pathlib import Path

import numpy as np

WORDS = {"bool": np.bool_, "i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "i32": np.int32,
         "u32": np.uint32, "i64": np.int64, "u64": np.uint64, "f16": np.float16, "bf16": np.uint16, "f32": np.float32,
         "f64": np.float64, "c64": np.complex64, "c128": np.complex128}


class Refused(Exception):
    """The operation would not take it; the message is the library's."""


def program():
    """The path, or None."""
    if os.environ.get("MLDF_RUN_OP"):
        return os.environ["MLDF_RUN_OP"]
    if os.environ.get("MLDF"):
        path = Path(os.environ["MLDF"]).resolve().parent.parent / "tests" / "run_op"
        if path.exists():
            return str(path)
    return None


def word_of(dtype):
    return next(word for word, kind in WORDS.items() if np.dtype(kind) == dtype)


def run(text, value, *, seed=0, epoch=0, position=0, dtype=None, array=None, planar=False, role=None, frame=None, pair=False,
        draws=False, sample=None, null=False):
    """One value, a list of inputs, or with pair=True the two sides. A list comes back where several values do."""
    values = [np.asarray(v, order="C") for v in (value if isinstance(value, (list, tuple)) else [value])]
    first = values[0]
    options = ["--array"] if (array if array is not None else first.ndim != 3) else []
    options += ["--planar"] if planar else []
    options += ["--pair"] if pair else []
    options += ["--role", role] if role else []
    options += ["--frame", f"{frame[0]}x{frame[1]}"] if frame else []
    options += ["--draw"] if draws else []
    options += ["--null"] if null else []
    options += ["--sample", str(sample)] if sample is not None else []
    options += ["--inputs", str(len(values))] if len(values) > 1 and not pair else []
    dims = "x".join(map(str, first.shape)) or "-"
    done = subprocess.run([program(), *options, text, dtype or word_of(first.dtype), dims, str(seed), str(epoch), str(position)],
                          input=b"".join(v.tobytes() for v in values), capture_output=True, check=False)
    if done.returncode:
        raise Refused(done.stderr.decode())
    out, rest = [], done.stdout
    while rest:
        line, _, rest = rest.partition(b"\n")
        word, shape, *_ = line.decode().split()
        shape = [] if shape == "-" else [int(n) for n in shape.split("x")]
        kind = np.dtype(WORDS[word])
        count = int(np.prod(shape, dtype=np.int64))
        out.append(np.frombuffer(rest[:count * kind.itemsize], kind).reshape(shape))
        rest = rest[count * kind.itemsize:]
    result = out if len(out) > 1 else out[0]
    return (result, [bytes.fromhex(line) for line in done.stderr.decode().split()]) if draws else result
