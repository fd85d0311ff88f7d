#!/usr/bin/env python3
"""wheel_check.py [FEATURE ...]: uses an installed mldf, which must have these features, and looks at which shared libraries that
loaded: those of the wheel itself, of Python and NumPy, and of the system none but the C library's and zlib. tools/wheel.sh runs it
in an empty virtual environment."""

import base64
import ctypes
import importlib.metadata
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
import zlib

import mldf
import numpy as np

# What every Linux has, by the rules of manylinux.
SYSTEM = ("libz.so", "libc.so", "libm.so", "libpthread.so", "libdl.so", "librt.so", "libutil.so", "ld-linux", "libgcc_s.so", "linux-vdso",
          "libstdc++.so")


WEBP = "UklGRjIAAABXRUJQVlA4TCYAAAAvAUAAAB8gECBo9d9gQ0iQkP3/V4EAwX+YLPMf+OSo4AYMEf0PAQ=="  # two by two pixels, lossless

# A tenth of a second of 400 Hz, 8,000 samples a second: AAC by ffmpeg.
AAC = (
    "//FsQB7//AEWMq1MYqpVbfnPX1K1eMkSJEiJEgczei/Nda8Xd+/Vvwvh3bv3b+L6Fzb4l9h/Fdy7G8R+peg8ldI6+2bsLFdFca8lbJz90j8Vy6mYWpwtppYmlxOF3TatOH"
    "QfkKpbV4xlGMOfK13eb7aMOvDRJThNqmwx1TYY6tElOGipnmqZ2kR2dBbjFsiyxTcYuMT8U0RcYkRIiKKKKJEQiKKJEUURRRIiREURRRIiEUUUUUSIiiKKJEUURRRIiREU"
    "RIiREIiiiREiIooookRFEUUSIhEURIiREURRRIiERRckRRdxRcookdxRFFyR3I7iiuRyR//xbEAYH/wBQDKL5hSt9/p+PbV3LkkiSJEiIgab5oMu59pyHnm3Zc7jTfNBlC"
    "GhnKADI0yHnm3PtOaG+aDK641mh55tz7TkPPNuyuuNN80GXc+05DzzQPuuNN80GV3I1mh55tz7TjTfNBldcaZDzzbn2nIW+aDK6403zc8259pyHn5t2V1xpvmgyuvtOQ88"
    "27Lncab5oMrrjTkPPNufac0N80GV1xpuHnm3PtOQtzQZXXGm+bny7n2nIeebdldc4A=="
)

# 0.3 seconds of 400 Hz at 8,000 samples a second: MP3 by lame -b 8 -t; Ogg Vorbis by oggenc -q -1, packed by zlib.
MP3 = (
    "/+MYxAAJ0ALtuUEAAv4HdtsAAfB8HwfKAgCAIOicH4Jg+D79TtYPn8oco8/ynn+U9/R7+hWAMADDCAAAASqNO1Kf////+lhm/+MYxBMRgPbBmZkQAFUNf/1P/6cRgCXAcE5S7TVc"
    "eTNSQU1jegoCAmMb/8KAgIYCAinf5URBUFREe/6wVER4Ff/+ovOcFnC4/+MYxAgOuJ5UAdYAAIlwCAJgYIgXgYWBTgYJyIgYPAEAEi1A5DcUA6eoKAyJjYAxVhUBv4AADQFAOiEw"
    "4RZxJP/+swOniJid/+MYxAgOSKJAAKf2YALqwChAGjJmBCATRgdoEUYHCAuGAVhHhhe6roYlkFnG355iy4AS8KCwVBy6iuGbyC/VVawM+/+sMMMM/+MYxAkPaJaMUVsYAPP9Yc/W"
    "FPb1hMP4KAg6LGHAhjZ+B3c/42MWDkLI27cP2+ExOHy4IcSHOGOUdwxyjuc/wxyiJEexwEsk/+MYxAYOwOawAZRAALOJeNMWQNASdZkZGPgUIAZ56CjQMZjqMnR8IwCAvPDwXJqZ"
    "//9zBcHAuc/lxIFxGLN/6xUWTEFNRTMu/+MYxAYAAANIAcAAADEwMKqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq"
)
VORBIS = (
    "eNqlVn1QU1cWvwFUvspGTNnQwjZoY/OSgHmou4WZdjFUNC+I+BJQEh01AZGP0MqHM87WXUaSDiB1WHjJyIdug3mRPMhTsiaOzxYRCbrBYdANsSXa7q4r2ETR3Rldt7Szex/qtp3Z"
    "f3b2zbx7zz0fv3POe+eee7eWl6tABHjxxBwdXcnOfZf7izk/4xx8v1ZXUccyODlvPNd4OXdxtrKW4IeWHDjvx9+mY9/714unPfI5xDoo2VHxwf6MrbXlguoKXfEiV6AQZMoyZbJf"
    "yNYJRHhZaYO+oqZcsLHmYEXt+zWGspp6ZNH1kucYP5HnFkMPHBCP89KEySpMH23GcWRJqr5QuylV78/KSyvlqpoVyeSvtorNO7Bry/EdyMZUVb5KYcYtkNLzVJvTVAG0zFrHU36k"
    "iBFWb6Hrk5T3u/QWNC9VP6nBTugDKNTDcYW1jp+9T1jKy87z3td9KMs298lFw1e/xL9ON7VqWz+79ZoqnG7kKysuR++te+ievo1Vevn6NnTc+xeV6MhUexEbJ8iJ4izGHAvAaGH8"
    "xm2NrCBnKWgEvI0HeFcPpGzqeHMiYlElB7A/QXTsz6KOVYqO0hJLWYnFfsjSf4Fas0BnhOmHISbB+NFgFLQF/DxrQ764iZvryzXy9FNrT3Fz4/PHU/QF62zxmc1rve2ZzVppRj83"
    "ypomiWgUATDCH+Pr4rPmbKX4yrnjRAEWeeKUf5tPZOYp25LJRG0LemRyW0hURsjbSG8b3jI0pobBN0bC11S4/1orEMSCRtlSxAQVkFleXTN6L6UpHh0XlE4i9/mdBdi93s5JRQtf"
    "P4kuM9cVYHO22inFH2wrAOD+Cb570nivuVaC5hVAtrnDXtK9utVib+krb6VCLX2U5mR598kKiirvpiopKtxNhXyWuS47XIa67FSrPcTYKYY+TXmqGSqjh64M0g++8VRdHJ53UNU9"
    "lCRsD/mYkM8zz3geKk+epvqgcjlFDzB0zQBdFeyu9NEOxmVg6PSLruowLQ0z+ygaQqX3QJp+MOMRTzBrWGXX4AIlXRiuDjPzM8zjo3RVmJKGh8UTw2jQ83iCyUjpfIuiTlN0uIsK"
    "UxCZCs8w9m4IRafDMIJQ2SOZ8NBdlLSHlgTtYZ8L2j7yuWqO0uGwHfoVT4zOhxj0use50BcOwSVzxueiLzLzC66auIswyRqf60wPDMNDx00MBhmUoR8NuNK/paRxl+iF0czwu/r6"
    "Xbu3G0r4xV88PXznH2Z9oGFviUH7z13a8k+Ha+Iv1nzrc8ZNuGY8Q9cZp/TMmdevZDz4UPvM3E3NeL5mFuFhHuca7mzPu/Xk8LTn8G5z2VfnTbsrXr9yto0egOmHR6smfGvCzNkH"
    "o2ukAwbJpYGwTxZkzt4ePiu9NB83QQWHH4WYm+6GsguHfzckOf+3OFiMHwAQLbPGv/zFOdzaBGSpVRcrj7bauHLxq3o8c9ZWOqlASIKHKZy6fGy2l7iOIlbCgiEOI64Rk2M8rCKd"
    "DOgwh7cQqyJtAahHErp8p5ePrhbCgoIWHXiV0BzInBOVJWAhgY3AxE6bXzfba0vIlqQa/ZgYNRO6OMdYMVbptPH0EnTarzmWRvKV2JCZ0BjQ6YBmYP0L51liIRmAAGWTipDgnD9L"
    "5IBQYsTry1KkGonMa/0EoZE4xhLxFuc5nh5xeP06GvEm5SrSLYRG6hgL6NrcbrXqLdLbgbcJzXzt4AVPoDKehM6PDtkIbRV6K0l/zGpLUkpY59Xue59rJta71XrMGUjSf4zeI6qc"
    "75wO6Lag0zOawQvTFu1191wBzJxIUmKoJ6D7GJ1NwSpgHloEGQ9onE7vzlxkyHyTdf65btDtLdZXOseTtE7SralyfjZerM1wTt/WDb7jJqoG3bM7VIYlAMS/DUDU8cKlsa+UxID3"
    "YDsal43zjXnI1d7Om6J7vXW4eE5gbMdnU4xc3NfbVIgpu+q4mAKBn7rSacLh4IYtKTYFdqbqKWJHyidT7WaQIwaNlw+s28Irmm44vHtIuk1ddMtsuLtdCjlFBw3aZ+tZjtsQTPr1"
    "IqfsC48J7kmXIQir/Eo/u3NchnA/PRBknEFmjXpXicWgPd+QesvTcOdpw65nyb83hD014eHHq+I3ffUs7a93F+rl0QBshVUmPru3wdjZNzQCG2YESAagEcWSTfy1m1E7X5+Pjh+H"
    "HM4y2CBX+HL+0/my5nrrJn88HEPHF1v1fx/ywUiBMRK+bOfDgACmnxOdhsDqxbHlqskNbB3jFK+pDcNYysZrgAJIrSQ/sXUsUopFFUi1ZWMvqP9nUP9oxQN7/g57qnnP3XiJotx0"
    "6rKJPRRqIwEw8Zu4clgzahwTFk1uEAkJAoZohsEeb+JiYgfJRue+uUFkJQoxRAjRREIjF4uxEmq5BO5DbJnVmChHrEY1K4UAaaYEuYIk/PLNqfVqHEkzQ3shSWRHW2GFKNPNuAZz"
    "1CfiiMPsxysd7g48xmorxhRC8qZGIXQnshSBKxGTGlcIjR24WOi2QAt3AN/sgFFhDtIPIyXbMczBVpwQ8irTzAQsQJsfJmpTyxUOEvpId0Oe4xxEIQlWSuKYEiEToRlJaBSIiU3L"
    "DAMSutVYLOsSKrN+IQ8eq8sS4Emcp9Y0n9i381DUMVHp8UZY1DnwZIsRyHIKZbEbGmUR7L0FjAAArzabONzlN3ovc+RHRiNym65Efn/BAY2LF56oPTHfX3jYe9OG5NjIOO5yLpe7"
    "nB1+au+h3xWC+7tXA/Db6e++43hOdOlNNtZBIhjxBX4OWMbGGPDNpzjEPH9wKVz/sXNRYSmYP2mIfinfiXDAiPaXPwDgc0Z8T59E/M+IdlXVIQJwH7rfBED9RLei40bRlxYwRf/G"
    "Ogg4B5mnq25sueN/9ZV/A2oURWo="
)


def import_seconds():
    """Of a fresh process, files in the cache: the best of three."""
    program = "import time; t = time.perf_counter(); import mldf; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True) for _ in range(3)]
    return min(float(run.stdout) for run in runs)


def tiff(pixels, compression, data, photometric=2):
    """A TIFF file of one strip; images of 8 bits and three channels."""
    height, width, _ = pixels.shape
    tags = [(256, 3, 1, width), (257, 3, 1, height), (258, 3, 3, 8), (259, 3, 1, compression), (262, 3, 1, photometric),
            (273, 4, 1, 8), (277, 3, 1, 3), (278, 3, 1, height), (279, 4, 1, len(data))]
    at = 8 + len(data) + len(data) % 2
    bits = at + 2 + 12 * len(tags) + 4
    entries = b"".join(struct.pack("<HHII", tag, kind, count, bits if tag == 258 else value) for tag, kind, count, value in tags)
    return (struct.pack("<2sHI", b"II", 42, at) + data + b"\0" * (len(data) % 2) + struct.pack("<H", len(tags)) + entries +
            struct.pack("<I", 0) + struct.pack("<3H", 8, 8, 8))


def read_images(features):
    """WebP and TIFF are read, and a compression that the wheel leaves out is refused in words."""
    if "webp" in features:
        want = [[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [9, 99, 199]]]
        assert mldf.images.decode(base64.b64decode(WEBP)).tolist() == want
    if "tiff" not in features:
        return
    image = (np.arange(16 * 16 * 3) * 5 % 251).astype(np.uint8).reshape(16, 16, 3)
    for compression, data in ((1, image.tobytes()), (8, zlib.compress(image.tobytes()))):
        got = mldf.images.decode(tiff(image, compression, data))
        assert np.array_equal(got, image), f"TIFF compression {compression}"
    flat = np.full((16, 16, 3), 90, np.uint8)
    got = mldf.images.decode(tiff(flat, 7, mldf.images.encode(flat, "jpeg", subsampling=444), photometric=6))
    assert abs(got.astype(int) - 90).max() <= 2, "JPEG in TIFF"
    try:
        mldf.images.decode(tiff(image, 34661, image.tobytes()))
    except mldf.Error:
        return
    raise AssertionError("JBIG was read: GPL code is inside")


def look_at(extension):
    """Stripped, and no path of the machine that made it."""
    if shutil.which("readelf") is None:  # a machine without binutils: `make wheel` has it
        print("wheel_check: no readelf here, so whether the extension is stripped was not checked")
    else:
        head = subprocess.run(["readelf", "-SdW", str(extension)], capture_output=True, text=True, check=True)
        assert ".debug_info" not in head.stdout and ".symtab" not in head.stdout, "not stripped"
        paths = re.findall(r"R(?:UN)?PATH.*\[(.*)\]", head.stdout)
        assert all(path.startswith("$ORIGIN") for path in paths), paths
    for file in [extension, *(extension.parent.parent / "mldf.libs").glob("*.so*")]:
        assert b"/build/wheel" not in file.read_bytes(), f"{file.name} names a folder of the build"


def use(folder):
    """Every codec once, and the loader."""
    image = (np.arange(48 * 64 * 3) % 251).astype(np.uint8).reshape(48, 64, 3)
    fields = {"image": mldf.Image(), "text": mldf.Text(compress=3), "x": mldf.NDArray("float32", (None, 2)), "label": mldf.Int()}
    path = folder / "a.mldf"
    with mldf.Writer(path, fields, passphrase="secret" if "sodium" in mldf.features else None) as w:
        for i, form in enumerate(("jpeg", "png")):
            w.append({"image": mldf.images.encode(image, form), "text": "word " * 100, "x": [[1, 2]], "label": i}, key=f"k{i}")
    ds = mldf.open(path, passphrase="secret" if "sodium" in mldf.features else None)
    assert np.array_equal(ds[1].image, image) and ds[0].image.shape == image.shape
    assert ds[1].text == "word " * 100 and ds[0].x.tolist() == [[1, 2]] and ds.keys.index("k1") == 1
    assert ds.column("label").tolist() == [0, 1]
    mldf.write(folder / "plain.mldf", ds, decrypt=True)
    mldf.convert(folder / "plain.mldf", folder / "a.tar", fields=["image"])
    assert len(mldf.open(folder / "a.tar")) == 2
    assert mldf.verify(folder / "plain.mldf", deep=True).ok
    pipeline = 'image: resize([16, 16]) | normalize(imagenet) | chw(f32)\nx: expr("x * 2") | pad(4)'
    with mldf.Loader(folder / "plain.mldf", 2, pipelines=pipeline, fields=["image", "x", "label"], codegen="off") as loader:
        batch = next(iter(loader))
    assert batch.image.shape == (2, 3, 16, 16) and batch.x.tolist()[0][0] == [2, 4] and batch.label.tolist() == [0, 1]


def use_audio(folder):
    """Recordings through the encoders and decoders that are inside."""
    tone = (np.sin(np.arange(48000) / 8) * 20000).astype(np.int16)
    for codec in {"flac", "opus"} & set(mldf.features):
        with mldf.Writer(folder / f"{codec}.mldf", {"a": mldf.CompressedAudio(rate=48000, encode=codec)}) as w:
            w.append({"a": tone})
        with mldf.Loader(folder / f"{codec}.mldf", 1, pipelines="a: window(samples=8000)", codegen="off") as loader:
            got = next(iter(loader)).a[0]
        assert got.shape == (8000,) and np.corrcoef(got, tone[:8000])[0, 1] > 0.99, codec


def use_found_audio(folder):
    """Files of other encoders through the decoders that are inside, and the licences of all four libraries beside ours."""
    files = {"mp3": base64.b64decode(MP3), "vorbis": zlib.decompress(base64.b64decode(VORBIS))}
    for codec in files.keys() & set(mldf.features):
        with mldf.Writer(folder / f"{codec}.mldf", {"a": mldf.CompressedAudio()}) as w:
            w.append({"a": files[codec]})
        with mldf.Loader(folder / f"{codec}.mldf", 1, pipelines="a: window(0.1, start=0.1)", codegen="off") as loader:
            got = next(iter(loader)).a[0]
        assert got.shape == (800,) and np.argmax(np.abs(np.fft.rfft(got))) == 40, f"{codec}: not the tone of 400 Hz"
    libraries = {p.name for p in (pathlib.Path(mldf.__file__).parent.parent / "mldf.libs").glob("*.so*")}
    inside = [name for name in ("FLAC", "mpg123", "opus", "vorbis") if any(f"lib{name}" in library for library in libraries)]
    assert not libraries or len(inside) == 4, libraries
    files_inside = importlib.metadata.files("mldf") if inside else None  # None: not installed as a wheel
    named = [str(f).lower() for f in files_inside or [] if "/licenses/" in str(f)]
    for name in inside:
        assert any(name.lower() in file for file in named), f"no licence of lib{name}: {named}"


def use_ffmpeg(folder):
    """AAC through the module and the FFmpeg that are inside, and the licence of that FFmpeg."""
    with mldf.Writer(folder / "aac.mldf", {"a": mldf.CompressedAudio()}) as w:
        w.append({"a": base64.b64decode(AAC)})
    with mldf.Loader(folder / "aac.mldf", 1, pipelines="a: decode_audio | pad(4096)", codegen="off") as loader:
        got = next(iter(loader)).a[0]
    assert np.abs(got).max() > 0.05 and np.argmax(np.abs(np.fft.rfft(got))) in range(198, 213), "AAC: not the tone of 400 Hz"
    libraries = list((pathlib.Path(mldf.__file__).parent.parent / "mldf.libs").glob("libavcodec-mldf-*.so*"))
    assert len(libraries) == 1, libraries
    library = ctypes.CDLL(str(libraries[0]))
    library.avcodec_license.restype = ctypes.c_char_p
    assert library.avcodec_license() == b"LGPL version 2.1 or later", library.avcodec_license()


def use_command():
    """The scripts that pip made, and `python -m mldf`."""
    scripts = pathlib.Path(sysconfig.get_path("scripts"))
    for argv in ([scripts / "mldf"], [sys.executable, "-I", "-m", "mldf"]):
        run = subprocess.run([*argv, "--version"], capture_output=True, text=True, check=True)
        assert run.stdout.startswith(f"mldf {mldf.__version__} "), run.stdout
        run = subprocess.run([*argv, "info", "no-such-file"], capture_output=True, text=True, check=False)
        assert run.returncode == 3 and "no-such-file" in run.stderr, run
    run = subprocess.run([scripts / "tar_to_tbl", "--help"], capture_output=True, text=True, check=True)
    assert "tar_to_tbl" in run.stdout.splitlines()[0], run.stdout


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


def main(wanted_features):
    extension = pathlib.Path(mldf._mldf.__file__)
    missing = set(wanted_features) - {"ffmpeg"} - set(mldf.features)  # FFmpeg is used by modules, not by the library
    assert not missing, f"the wheel lacks {missing}; it has {mldf.features}"
    look_at(extension)
    before = foreign_libraries()
    read_images(mldf.features)
    with tempfile.TemporaryDirectory() as folder:
        use(pathlib.Path(folder))
        use_audio(pathlib.Path(folder))
        use_found_audio(pathlib.Path(folder))
        if "ffmpeg" in wanted_features:
            use_ffmpeg(pathlib.Path(folder))
    # Python's own modules may load libraries of the system (ssl, sqlite ...): those of mldf are what ldd says.
    program = extension.parent / "bin" / "mldf"
    for file in (extension, program, *(extension.parent / "lib").glob("*.so")):
        wanted = subprocess.run(["ldd", str(file)], capture_output=True, text=True, check=True).stdout
        outside = [line.split()[0] for line in wanted.splitlines()
                   if not pathlib.Path(line.split()[0]).name.startswith(SYSTEM) and "mldf.libs" not in line]
        assert not outside, f"{file.name}: libraries from outside the wheel: {outside}\n{wanted}"
    look_at(program)
    use_command()
    assert foreign_libraries() == before, foreign_libraries() - before
    print(f"mldf {mldf.__version__} ({' '.join(mldf.features)}), import {import_seconds():.2f} s; nothing of the system but the C library and zlib")


if __name__ == "__main__":
    main(sys.argv[1:])
