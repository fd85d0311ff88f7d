"""Images against Pillow and djpeg: the same pixels, the same turning, errors where there should be errors.

JPEG is compared exactly with libjpeg-turbo's own djpeg of this system, and within a level or two with Pillow, which brings
another version. Everything without loss is compared exactly.
"""

import io
import json
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms, ImageOps

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "spec"))
import clib  # noqa: E402
import images  # noqa: E402
import reference_reader  # noqa: E402

PATH = clib.library_path()
pytestmark = pytest.mark.skipif(PATH is None, reason="no library: set MLDF or MLDF_LIB")


@pytest.fixture(scope="module")
def lib():
    return images.Images(clib.Library(PATH))


def photo(width, height, mode="RGB", seed=1):
    """Smooth with some noise and edges, so that codecs have work to do."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    planes = [127 + 90 * np.sin(x / (7 + 3 * c) + c) * np.cos(y / (9 + 2 * c)) + rng.normal(0, 9, (height, width))
              for c in range(4)]
    array = np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)
    array[height // 3:height // 2, width // 4:width // 2] = (250, 20, 60, 128)
    bands = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4, "CMYK": 4}[mode]
    return Image.fromarray(array[:, :, 0] if bands == 1 else np.ascontiguousarray(array[:, :, :bands]), mode=mode)


def saved(image, form, **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def array_of(image):
    array = np.asarray(image)
    if array.dtype == bool:
        array = array.astype(np.uint8) * 255
    return array if array.ndim == 3 else array[:, :, None]


def djpeg(data, *arguments):
    if not shutil.which("djpeg"):
        pytest.skip("no djpeg (Debian: libjpeg-turbo-progs)")
    out = subprocess.run(["djpeg", "-pnm", *arguments], input=data, capture_output=True, check=True).stdout
    return array_of(Image.open(io.BytesIO(out)))


def crop_cases(width, height):
    yield from ((0, 0, width, height), (0, 0, 1, 1), (width - 1, height - 1, 1, 1), (width // 3, height // 4, width // 2, height // 3))


# ---- JPEG ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("subsampling", [0, 1, 2])
@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("size", [(1, 1), (17, 9), (500, 375), (333, 251)])
def test_jpeg_equals_djpeg(lib, size, progressive, subsampling):
    data = saved(photo(*size), "JPEG", quality=87, subsampling=subsampling, progressive=progressive)
    info = lib.probe(data)
    assert (images.MODES[info.mode], info.width, info.height, info.channels, info.bits) == ("jpeg", *size, 3, 8)
    assert info.progressive == progressive
    np.testing.assert_array_equal(lib.decode(data), djpeg(data))
    np.testing.assert_array_equal(lib.decode(data, fast_dct=True), djpeg(data, "-dct", "fast"))
    for scale in (2, 4, 8):
        np.testing.assert_array_equal(lib.decode(data, scale=scale), djpeg(data, "-scale", f"1/{scale}"))
    close = np.abs(lib.decode(data).astype(int) - array_of(Image.open(io.BytesIO(data))).astype(int))
    assert close.max() <= 2


def test_jpeg_gray_and_channels(lib):
    image = photo(120, 77, "L")
    data = saved(image, "JPEG", quality=90)
    gray = lib.decode(data)
    np.testing.assert_array_equal(gray, djpeg(data))
    np.testing.assert_array_equal(lib.decode(data, channels=3), np.repeat(gray, 3, 2))
    rgba = lib.decode(data, channels=4)
    assert (rgba[:, :, 3] == 255).all() and (rgba[:, :, :3] == gray).all()
    data = saved(photo(120, 77), "JPEG")
    rgb = lib.decode(data)
    expected = array_of(Image.fromarray(rgb).convert("L"))
    np.testing.assert_array_equal(lib.decode(data, channels=1), expected)
    np.testing.assert_array_equal(lib.decode(data, channels=4)[:, :, :3], rgb)
    np.testing.assert_array_equal(lib.decode(data, bits=16), rgb.astype(np.uint16) * 257)


@pytest.mark.parametrize("scale", [1, 2, 8])
def test_jpeg_regions(lib, scale):
    data = saved(photo(301, 203), "JPEG", quality=80)
    whole = lib.decode(data, scale=scale)
    rng = np.random.default_rng(5)
    height, width = whole.shape[:2]
    cases = list(crop_cases(width, height))
    for _ in range(200):
        w, h = rng.integers(1, width + 1), rng.integers(1, height + 1)
        cases.append((int(rng.integers(0, width - w + 1)), int(rng.integers(0, height - h + 1)), int(w), int(h)))
    for x, y, w, h in cases:
        np.testing.assert_array_equal(lib.decode(data, scale=scale, region=(x, y, w, h)), whole[y:y + h, x:x + w])


def adobe(data, transform):
    """The Adobe marker's transform byte, changed."""
    at = data.index(b"\xff\xee\x00\x0eAdobe") + 15
    return data[:at] + bytes([transform]) + data[at + 1:]


def test_jpeg_cmyk_as_pillow(lib):
    data = saved(photo(97, 61, "CMYK"), "JPEG", quality=95)
    info = lib.probe(data)
    assert info.channels == 4 and info.color in (1, 2)
    expected = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)
    got = lib.decode(data)
    assert got.shape == expected.shape and np.abs(got.astype(int) - expected).max() <= 2
    for transform in (0, 2):
        changed = adobe(data, transform)
        assert lib.probe(changed).color == (2 if transform else 1)
        expected = np.asarray(Image.open(io.BytesIO(changed)).convert("RGB")).astype(int)
        assert np.abs(lib.decode(changed).astype(int) - expected).max() <= 3


def test_jpeg_wide(lib):
    data = saved(photo(65500, 3), "JPEG")
    np.testing.assert_array_equal(lib.decode(data), djpeg(data))
    np.testing.assert_array_equal(lib.decode(data, region=(60000, 1, 5000, 2)), djpeg(data)[1:3, 60000:65000])


def test_jpeg_truncated(lib):
    data = saved(photo(160, 120), "JPEG", quality=90)
    for cut in range(0, len(data) - 2, 97):
        with pytest.raises(clib.CError) as caught:
            lib.decode(data[:cut])
        assert caught.value.status in ("truncated", "type", "corrupt"), cut
        if cut > 700:
            assert caught.value.status == "truncated" and caught.value.offset == cut
            assert lib.decode(data[:cut], tolerant=True).shape == (120, 160, 3)


def test_jpeg_scan_bomb_and_limits(lib):
    data = saved(photo(64, 64), "JPEG", progressive=True)
    with pytest.raises(clib.CError, match="limit"):
        lib.decode(data, max_scans=3)
    with pytest.raises(clib.CError, match="limit"):
        lib.decode(data, max_pixels=64 * 63)
    with pytest.raises(clib.CError, match="limit"):
        lib.decode(data, max_bytes=64 * 64 * 3 - 1)


def test_baseline_is_lossless(lib):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    exif = Image.Exif()
    exif[274] = 6
    data = saved(photo(203, 151), "JPEG", progressive=True, quality=88, icc_profile=profile, exif=exif, comment=b"hello")
    assert lib.probe(data).progressive
    plain = lib.baseline(data)
    assert not lib.probe(plain).progressive
    np.testing.assert_array_equal(lib.decode(plain), lib.decode(data))
    again = Image.open(io.BytesIO(plain))
    assert again.info["icc_profile"] == profile and again.getexif()[274] == 6 and again.info["comment"] == b"hello"
    bare = lib.baseline(data, 7)
    assert lib.probe(bare).icc_bytes == 0 and lib.probe(bare).orientation == 0 and b"hello" not in bare
    np.testing.assert_array_equal(lib.decode(bare), lib.decode(data))


def test_strip(lib):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    exif = Image.Exif()
    exif[274] = 3
    for form in ("JPEG", "PNG"):
        data = saved(photo(50, 40), form, icc_profile=profile, exif=exif)
        info = lib.probe(data)
        assert info.icc_bytes > 0 and info.orientation == 3
        without = lib.strip(data, 2)
        assert lib.probe(without).icc_bytes == 0 and lib.probe(without).orientation == 3
        assert lib.probe(lib.strip(data, 1)).orientation == 0
        np.testing.assert_array_equal(lib.decode(lib.strip(data, 7)), lib.decode(data))
        assert lib.strip(data, 0) == data
        if form == "JPEG":
            assert info.icc_bytes == len(profile) and data[info.icc_offset:][:len(profile)] == profile


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_orientation_as_pillow(lib, form, orientation):
    exif = Image.Exif()
    exif[274] = orientation
    options = {"lossless": True} if form == "WEBP" else {}
    data = saved(photo(37, 23), form, exif=exif, **options)
    info = lib.probe(data)
    assert info.orientation == orientation
    stored = lib.decode(data)
    assert stored.shape == (23, 37, 3)
    turned = Image.fromarray(stored)
    turned.getexif()[274] = orientation
    expected = np.asarray(ImageOps.exif_transpose(turned))
    np.testing.assert_array_equal(lib.decode(data, orient=True), expected)
    np.testing.assert_array_equal(lib.decode(data, orient=True, channels=4)[:, :, :3], expected)
    height, width = expected.shape[:2]
    for x, y, w, h in crop_cases(width, height):
        np.testing.assert_array_equal(lib.decode(data, orient=True, region=(x, y, w, h)), expected[y:y + h, x:x + w])


# ---- Without loss ---------------------------------------------------------------------------------------------------------


def check_lossless(lib, data, expected, mode):
    info = lib.probe(data)
    assert images.MODES[info.mode] == mode
    got = lib.decode(data)
    assert got.shape == expected.shape and got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)
    height, width = expected.shape[:2]
    for x, y, w, h in crop_cases(width, height):
        if w and h:
            np.testing.assert_array_equal(lib.decode(data, region=(x, y, w, h)), expected[y:y + h, x:x + w])


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (61, 43), (200, 100)])
@pytest.mark.parametrize("mode", ["L", "LA", "RGB", "RGBA"])
def test_png(lib, mode, size):
    image = photo(*size, mode)
    check_lossless(lib, saved(image, "PNG"), array_of(image), "png")


def test_png_sixteen_bits(lib):
    rng = np.random.default_rng(3)
    wide = rng.integers(0, 65536, (31, 45), np.uint16)
    data = saved(Image.fromarray(wide), "PNG")
    check_lossless(lib, data, wide[:, :, None], "png")
    np.testing.assert_array_equal(lib.decode(data, bits=8), (wide >> 8).astype(np.uint8)[:, :, None])
    for channels in (1, 2, 3, 4):
        pixels = rng.integers(0, 65536, (13, 21, channels), np.uint16)
        check_lossless(lib, lib.encode_png(pixels), pixels, "png")


def test_png_palette_and_transparency(lib):
    image = photo(64, 48).quantize(37)
    data = saved(image, "PNG")
    assert lib.probe(data).color == 3
    check_lossless(lib, data, np.asarray(image.convert("RGB")), "png")
    for bits in (1, 2, 4):
        small = photo(50, 33).quantize(2 ** bits)
        check_lossless(lib, saved(small, "PNG", bits=bits), np.asarray(small.convert("RGB")), "png")
    data = saved(image, "PNG", transparency=bytes(range(37)))
    check_lossless(lib, data, np.asarray(Image.open(io.BytesIO(data)).convert("RGBA")), "png")
    one = photo(33, 21, "L").convert("1")
    check_lossless(lib, saved(one, "PNG"), array_of(one), "png")
    gray = photo(30, 20, "L")
    value = int(np.asarray(gray)[3, 4])
    got = lib.decode(saved(gray, "PNG", transparency=value))
    np.testing.assert_array_equal(got[:, :, 0], np.asarray(gray))
    np.testing.assert_array_equal(got[:, :, 1], np.where(np.asarray(gray) == value, 0, 255))
    colour = photo(30, 20)
    key = tuple(int(v) for v in np.asarray(colour)[3, 4])
    data = saved(colour, "PNG", transparency=key)
    check_lossless(lib, data, np.asarray(Image.open(io.BytesIO(data)).convert("RGBA")), "png")


def interlaced(array):
    """Adam7, filter 0, by hand: Pillow reads such files and does not write them."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    height, width, channels = array.shape
    raw = b""
    for x, y, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):
        part = array[y::dy, x::dx]
        raw += b"".join(b"\0" + row.tobytes() for row in part) if part.size else b""
    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


@pytest.mark.parametrize("mode", ["L", "LA", "RGB", "RGBA"])
def test_png_interlaced(lib, mode):
    for size in ((1, 1), (3, 2), (37, 29)):
        array = array_of(photo(*size, mode))
        data = interlaced(array)
        assert lib.probe(data).progressive
        np.testing.assert_array_equal(array_of(Image.open(io.BytesIO(data))), array)
        check_lossless(lib, data, array, "png")


def test_png_truncated_and_damaged(lib):
    data = saved(photo(120, 90), "PNG")
    for cut in range(0, len(data) - 16, 97):
        with pytest.raises(clib.CError):
            lib.decode(data[:cut])
    damaged = bytearray(data)
    damaged[len(data) // 2] ^= 0x55
    with pytest.raises(clib.CError):
        lib.decode(bytes(damaged))
    bomb = data[:16] + struct.pack(">II", 2**31 - 1, 2**31 - 1) + data[24:]
    with pytest.raises(clib.CError, match="limit"):
        lib.decode(bomb)


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_webp(lib, mode):
    image = photo(83, 59, mode)
    data = saved(image, "WEBP", lossless=True, exact=True)
    check_lossless(lib, data, array_of(image), "webp")
    lossy = saved(image, "WEBP", quality=80)
    expected = array_of(Image.open(io.BytesIO(lossy)))
    got = lib.decode(lossy)
    assert np.abs(got.astype(int) - expected.astype(int)).max() <= 2
    np.testing.assert_array_equal(lib.decode(lossy, region=(11, 7, 40, 30)), got[7:37, 11:51])
    for cut in range(0, len(lossy) - 8, 97):
        with pytest.raises(clib.CError):
            lib.decode(lossy[:cut])


def test_webp_animated(lib):
    frames = [photo(64, 48, seed=s) for s in range(3)]
    data = saved(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=True, duration=100)
    info = lib.probe(data)
    assert info.frames == 3 and (info.width, info.height) == (64, 48)
    got = lib.decode(data, channels=3)
    np.testing.assert_array_equal(got, np.asarray(frames[0]))


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA"])
def test_bmp(lib, mode):
    image = photo(45, 31, "RGBA" if mode == "RGBA" else "RGB")
    image = image.quantize(200) if mode == "P" else image.convert(mode)
    data = saved(image, "BMP")
    expected = Image.open(io.BytesIO(data))
    expected = np.asarray(expected.convert("RGBA" if expected.mode == "RGBA" else "RGB"))
    check_lossless(lib, data, expected, "bmp")
    for cut in range(0, len(data) - 4, 97):
        with pytest.raises(clib.CError):
            lib.decode(data[:cut])


def bmp(width, height, bits, rows, compression=0, masks=b"", palette=b"", colors=0):
    header = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, compression, len(rows), 0, 0, colors, 0)
    offset = 14 + 40 + len(masks) + len(palette)
    return b"BM" + struct.pack("<IHHI", offset + len(rows), 0, 0, offset) + header + masks + palette + rows


def test_bmp_by_hand(lib):
    rng = np.random.default_rng(9)
    pixels = rng.integers(0, 65536, (5, 6), np.uint16)
    five = lambda v: v.astype(np.uint32) * 255 // 31
    data = bmp(6, -5, 16, pixels.tobytes())  # top down, 5-5-5
    expected = np.stack([five(pixels >> 10 & 31), five(pixels >> 5 & 31), five(pixels & 31)], -1).astype(np.uint8)
    np.testing.assert_array_equal(lib.decode(data), expected)
    np.testing.assert_array_equal(lib.decode(data), np.asarray(Image.open(io.BytesIO(data)).convert("RGB")))
    masks = struct.pack("<III", 0xF800, 0x7E0, 0x1F)
    data = bmp(6, 5, 16, pixels[::-1].tobytes(), 3, masks)
    np.testing.assert_array_equal(lib.decode(data), np.asarray(Image.open(io.BytesIO(data)).convert("RGB")))
    palette = bytes(v for i in range(16) for v in (i * 3, i * 5, i * 7, 0))
    rgb = np.array([(i * 7, i * 5, i * 3) for i in range(16)], np.uint8)
    # RLE8: a run, a literal, an end of row, a move, the end.
    rows = bytes([3, 1, 0, 3, 2, 4, 5, 0, 0, 0, 0, 2, 1, 1, 2, 9, 0, 1])
    indices = np.zeros((3, 6), np.uint8)
    indices[2] = [1, 1, 1, 2, 4, 5]
    indices[0, 1:3] = 9
    data = bmp(6, 3, 8, rows, 1, palette=palette, colors=16)
    np.testing.assert_array_equal(lib.decode(data), rgb[indices])
    # RLE4: nibbles in turn.
    rows = bytes([5, 0x12, 0, 0, 0, 3, 0x34, 0x50, 0, 1])
    indices = np.zeros((2, 6), np.uint8)
    indices[1, :5] = [1, 2, 1, 2, 1]
    indices[0, :3] = [3, 4, 5]
    data = bmp(6, 2, 4, rows, 2, palette=palette, colors=16)
    np.testing.assert_array_equal(lib.decode(data), rgb[indices])
    with pytest.raises(clib.CError):
        lib.decode(bmp(6, 2, 8, bytes([5, 1]), 1, palette=palette, colors=16))
    # 4 bits plain.
    data = bmp(6, 1, 4, bytes([0x12, 0x34, 0x56, 0]), palette=palette, colors=16)
    np.testing.assert_array_equal(lib.decode(data)[0], rgb[1:7])
    # 32 bits with an alpha mask, in a header of 56 bytes.
    header = struct.pack("<IiiHHIIiiII4I", 56, 1, 1, 1, 32, 3, 4, 0, 0, 0, 0, 0xFF0000, 0xFF00, 0xFF, 0xFF000000)
    data = b"BM" + struct.pack("<IHHI", 74, 0, 0, 70) + header + bytes([1, 2, 3, 4])
    np.testing.assert_array_equal(lib.decode(data), [[[3, 2, 1, 4]]])


@pytest.mark.parametrize("compression", [None, "tiff_lzw", "tiff_adobe_deflate", "packbits"])
@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK"])
def test_tiff(lib, mode, compression):
    image = photo(71, 53, "CMYK" if mode == "CMYK" else "RGBA" if "A" in mode else "RGB")
    image = image.quantize(99) if mode == "P" else image if image.mode == mode else image.convert(mode)
    data = saved(image, "TIFF", compression=compression)
    expected = array_of(image.convert("RGB") if mode in ("P", "CMYK") else image)
    check_lossless(lib, data, expected, "tiff")


def test_tiff_sixteen_bits_pages_and_white(lib):
    wide = np.random.default_rng(4).integers(0, 65536, (20, 30), np.uint16)
    check_lossless(lib, saved(Image.fromarray(wide), "TIFF", compression="tiff_lzw"), wide[:, :, None], "tiff")
    pages = [photo(20, 10, seed=s) for s in range(4)]
    data = saved(pages[0], "TIFF", save_all=True, append_images=pages[1:])
    assert lib.probe(data).frames == 4
    np.testing.assert_array_equal(lib.decode(data), np.asarray(pages[0]))
    fax = photo(67, 20, "L").convert("1")
    check_lossless(lib, saved(fax, "TIFF", compression="group4"), array_of(fax), "tiff")
    jpeg = saved(photo(100, 80), "TIFF", compression="jpeg", quality=90)
    expected = np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB")).astype(int)
    assert np.abs(lib.decode(jpeg).astype(int) - expected).max() <= 2
    floating = saved(Image.fromarray(np.ones((4, 4), np.float32)), "TIFF")
    with pytest.raises(clib.CError, match="floating"):
        lib.probe(floating)


def tiff_by_hand(tiled, planar, pixels):
    """Uncompressed RGB in strips of 3 rows or tiles of 16 x 16, interleaved or in planes."""
    height, width, _ = pixels.shape
    blocks = []
    for plane in range(3) if planar else [slice(None)]:
        source = pixels[:, :, plane]
        if tiled:
            for y in range(0, height, 16):
                for x in range(0, width, 16):
                    block = np.zeros((16, 16, *source.shape[2:]), np.uint8)
                    part = source[y:y + 16, x:x + 16]
                    block[:part.shape[0], :part.shape[1]] = part
                    blocks.append(block.tobytes())
        else:
            blocks += [np.ascontiguousarray(source[y:y + 3]).tobytes() for y in range(0, height, 3)]
    body, offsets = b"", []
    for block in blocks:
        offsets.append(8 + len(body))
        body += block
    entries, extra = [], b""
    base = 8 + len(body)

    def add(tag, kind, values):
        nonlocal extra
        raw = struct.pack(f"<{len(values)}{'H' if kind == 3 else 'I'}", *values)
        if len(raw) > 4:
            place = base + len(extra)
            extra += raw
            raw = struct.pack("<I", place)
        entries.append(struct.pack("<HHI", tag, kind, len(values)) + raw.ljust(4, b"\0"))

    add(256, 3, [width]), add(257, 3, [height]), add(258, 3, [8, 8, 8]), add(259, 3, [1]), add(262, 3, [2])
    if not tiled:
        add(273, 4, offsets)
    add(277, 3, [3])
    if not tiled:
        add(278, 3, [3]), add(279, 4, [len(b) for b in blocks])
    add(284, 3, [2 if planar else 1])
    if tiled:
        add(322, 3, [16]), add(323, 3, [16]), add(324, 4, offsets), add(325, 4, [len(b) for b in blocks])
    directory = struct.pack("<H", len(entries)) + b"".join(entries) + struct.pack("<I", 0)
    return b"II*\0" + struct.pack("<I", base + len(extra)) + body + extra + directory


@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize("planar", [False, True])
def test_tiff_blocks_and_planes(lib, tiled, planar):
    pixels = np.random.default_rng(8).integers(0, 256, (37, 41, 3), np.uint8)
    data = tiff_by_hand(tiled, planar, pixels)
    check_lossless(lib, data, pixels, "tiff")
    for cut in range(0, len(data), 97):
        with pytest.raises(clib.CError):
            lib.decode(data[:cut])


# ---- Others ------------------------------------------------------------------------------------------------------------------


def test_what_is_no_image(lib):
    gif = saved(photo(10, 10).quantize(16), "GIF")
    for data, words in ((b"", "no bytes"), (gif, "GIF"), (b"hello world", "not an image"),
                        (b"\0\0\0\x1cftypavif", "AVIF"), (b"\x89PNG", "not an image")):
        with pytest.raises(clib.CError, match=words) as caught:
            lib.probe(data)
        assert caught.value.status == "type"


@pytest.mark.parametrize("name", ["box", "bilinear", "bicubic", "lanczos"])
@pytest.mark.parametrize("size", [(50, 40), (224, 224), (31, 90), (1, 1), (400, 300)])
def test_resize_equals_pillow(lib, name, size):
    for mode in ("L", "RGB"):
        image = photo(201, 153, mode)
        expected = array_of(image.resize(size, getattr(Image.Resampling, name.upper())))
        got = lib.resize(array_of(image), *size, name)
        np.testing.assert_array_equal(got, expected)


def test_resize_wide_and_area(lib):
    image = array_of(photo(120, 90))
    wide = lib.resize(image.astype(np.uint16) * 257, 57, 31, "bilinear")
    assert np.abs(wide / 257.0 - lib.resize(image, 57, 31, "bilinear")).max() <= 1.0
    exact = image.reshape(45, 2, 40, 3, 3).mean((1, 3))
    assert np.abs(lib.resize(image, 40, 45, "area") - exact).max() <= 1.0


def test_encode_jpeg_and_yuv(lib):
    image = array_of(photo(77, 51))
    for subsampling in (0, 1, 2):
        data = lib.encode_jpeg(image, 95, subsampling)
        assert np.abs(lib.decode(data).astype(int) - image).mean() < 8
    assert len(lib.encode_jpeg(image, 90, optimize=True)) < len(lib.encode_jpeg(image, 90))
    planes = np.frombuffer(lib.encode_yuv(image), np.uint8)
    assert planes.size == 77 * 51 + 2 * 39 * 26
    ycc = np.asarray(Image.fromarray(image).convert("YCbCr")).astype(int)
    assert np.abs(planes[:77 * 51].reshape(51, 77).astype(int) - ycc[:, :, 0]).max() <= 1


# ---- Fields -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments,modes", [
    ({}, ["jpeg", "png", "webp", "bmp", "tiff", "raw"]),
    ({"encode": "raw"}, ["raw"] * 6),
    ({"encode": "jpeg", "quality": 80}, ["jpeg"] * 6),
    ({"encode": "yuv420"}, ["yuv420"] * 6),
    ({"encode": "smart", "smart_threshold": 100}, ["jpeg"] * 6),
    ({"encode": "smart", "smart_threshold": 10**6}, ["raw"] * 6),
    ({"encode": "proportion", "compress_probability": 0}, ["raw"] * 6),
    ({"max_resolution": 30}, ["jpeg", "png", "png", "png", "png", "raw"]),
    ({"min_resolution": 20}, ["jpeg", "png", "png", "png", "png", "raw"]),
])
def test_field_modes(lib, tmp_path, arguments, modes):
    image = photo(60, 45)
    files = [saved(image, "JPEG"), saved(image, "PNG"), saved(image, "WEBP", lossless=True), saved(image, "BMP"),
             saved(image, "TIFF")]
    values = [[clib.value(4, data=f)] for f in files]
    array = clib.value(6, data=np.asarray(image).tobytes(), dims=(45, 60, 3))
    array.dtype = 3
    path = tmp_path / "a.mldf"
    lib.lib.write(path, [("image", 13, json.dumps(arguments), 0)], values + [[array]])
    oracle = reference_reader.read(path)
    assert oracle.verify(deep=True) == []
    with lib.lib.open(path) as reader:
        for i, mode in enumerate(modes):
            kind, _, data, dims, record = reader.get(i, "image")
            assert oracle.value(i, "image") == (record, data)
            height, width, channels, stored, bits = struct.unpack_from("<HHBBB", record, 12)
            assert images.MODES[stored] == mode and bits == 8
            small = ("max_resolution" in arguments and (30, 22)) or ("min_resolution" in arguments and (26, 20)) or (60, 45)
            assert (width, height, channels) == (*small, 3)
            if mode == "raw":
                assert kind == 6 and dims == [height, width, 3]
                if small == (60, 45) and i:
                    np.testing.assert_array_equal(np.frombuffer(data, np.uint8).reshape(dims), np.asarray(image))
            else:
                assert kind == 4
            if not arguments and i < 5:
                assert data == files[i]


def test_field_refuses(lib, tmp_path):
    def write(type_id, data, arguments="{}"):
        lib.lib.write(tmp_path / "x.mldf", [("image", type_id, arguments, 0)], [[clib.value(4, data=data)]], overwrite=True)

    jpeg, png = saved(photo(9, 9), "JPEG"), saved(photo(9, 9), "PNG")
    write(11, jpeg), write(12, png), write(13, jpeg), write(11, png, '{"encode":"jpeg"}'), write(10, png, '{"encode":"raw"}')
    for type_id, data, words in ((11, png, "png file"), (12, jpeg, "jpeg file"), (10, jpeg, "jpeg file"), (13, b"GIF89a", "GIF"),
                                 (13, b"", "no bytes"), (13, saved(photo(65536, 1), "PNG"), "65535")):
        with pytest.raises(clib.CError, match=words):
            write(type_id, data)
    for arguments in ('{"encode":"gif"}', '{"quality":0}', '{"max_resolution":70000}', '{"baseline":1}', '{"nope":1}'):
        with pytest.raises(clib.CError) as caught:
            write(13, jpeg, arguments)
        assert caught.value.status == "schema"


def test_field_orientation_icc_and_baseline(lib, tmp_path):
    exif = Image.Exif()
    exif[274] = 6
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    data = saved(photo(60, 45), "JPEG", progressive=True, exif=exif, icc_profile=profile)

    def one(arguments):
        path = tmp_path / "o.mldf"
        lib.lib.write(path, [("image", 13, json.dumps(arguments), 0)], [[clib.value(4, data=data)]], overwrite=True)
        with lib.lib.open(path) as reader:
            return reader.get(0, "image")

    _, _, kept, _, record = one({})
    assert kept == data and record[20] == 6
    _, _, baseline, _, record = one({"baseline": True, "icc": "drop"})
    info = lib.probe(baseline)
    assert not info.progressive and info.icc_bytes == 0 and info.orientation == 6 and record[20] == 6
    np.testing.assert_array_equal(lib.decode(baseline), lib.decode(data))
    _, _, raw, dims, record = one({"encode": "raw", "orientation": "apply"})
    assert dims == [60, 45, 3] and record[20] == 1
    np.testing.assert_array_equal(np.frombuffer(raw, np.uint8).reshape(dims), lib.decode(data, orient=True))
