#!/usr/bin/env python3
"""Uses an installed mldf, and looks at which shared libraries that loaded: those of the wheel itself, of Python and NumPy, and of
the system none but the C library's and zlib. tools/wheel.sh runs it in an empty virtual environment."""

import pathlib
import subprocess
import sys
import tempfile

import mldf
import numpy as np

# What every Linux has, by the rules of manylinux.
SYSTEM = ("libz.so", "libc.so", "libm.so", "libpthread.so", "libdl.so", "librt.so", "libutil.so", "ld-linux", "libgcc_s.so", "linux-vdso",
          "libstdc++.so")


def import_seconds():
    """Of a fresh process, files in the cache: the best of three."""
    program = "import time; t = time.perf_counter(); import mldf; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True) for _ in range(3)]
    return min(float(run.stdout) for run in runs)


def use(folder):
    """Every codec once, and the loader."""
    picture = (np.arange(48 * 64 * 3) % 251).astype(np.uint8).reshape(48, 64, 3)
    fields = {"image": mldf.Image(), "text": mldf.Text(compress=3), "x": mldf.NDArray("float32", (None, 2)), "label": mldf.Int()}
    path = folder / "a.mldf"
    with mldf.Writer(path, fields, passphrase="secret" if "sodium" in mldf.features else None) as w:
        for i, form in enumerate(("jpeg", "png")):
            w.append({"image": mldf.images.encode(picture, form), "text": "word " * 100, "x": [[1, 2]], "label": i}, key=f"k{i}")
    ds = mldf.open(path, passphrase="secret" if "sodium" in mldf.features else None)
    assert np.array_equal(ds[1].image, picture) and ds[0].image.shape == picture.shape
    assert ds[1].text == "word " * 100 and ds[0].x.tolist() == [[1, 2]] and ds.keys.index("k1") == 1
    assert ds.column("label").tolist() == [0, 1]
    mldf.write(folder / "plain.mldf", ds)
    mldf.convert(folder / "plain.mldf", folder / "a.tar", fields=["image"])
    assert len(mldf.open(folder / "a.tar")) == 2
    assert mldf.verify(folder / "plain.mldf", deep=True).ok
    pipeline = 'image: resize([16, 16]) | normalize(imagenet) | chw(f32)\nx: expr("x * 2") | pad(4)'
    with mldf.Loader(folder / "plain.mldf", 2, pipelines=pipeline, codegen="off") as loader:
        batch = next(iter(loader))
    assert batch.image.shape == (2, 3, 16, 16) and batch.x.tolist()[0][0] == [2, 4] and batch.label.tolist() == [0, 1]


def foreign_libraries():
    """What this process has mapped that is neither the environment's nor the C library's."""
    inside = [pathlib.Path(sys.prefix).resolve(), pathlib.Path(sys.base_prefix).resolve()]
    out = set()
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        path = line.split(maxsplit=5)[5] if len(line.split(maxsplit=5)) > 5 else ""
        if ".so" not in path or pathlib.Path(path).name.startswith(SYSTEM):
            continue
        if not any(parent in pathlib.Path(path).resolve().parents for parent in inside):
            out.add(path)
    return out


def main():
    extension = pathlib.Path(mldf._mldf.__file__)
    before = foreign_libraries()
    with tempfile.TemporaryDirectory() as folder:
        use(pathlib.Path(folder))
    wanted = subprocess.run(["ldd", str(extension)], capture_output=True, text=True, check=True).stdout
    outside = [line.split()[0] for line in wanted.splitlines()
               if not pathlib.Path(line.split()[0]).name.startswith(SYSTEM) and "mldf.libs" not in line]
    # Python's own modules may load libraries of the system (ssl, sqlite ...): those of mldf are what ldd says.
    assert not outside, f"libraries from outside the wheel: {outside}\n{wanted}"
    assert foreign_libraries() == before, foreign_libraries() - before
    print(f"mldf {mldf.__version__} ({' '.join(mldf.features)}), import {import_seconds():.2f} s; nothing of the system but the C library and zlib")


if __name__ == "__main__":
    main()
