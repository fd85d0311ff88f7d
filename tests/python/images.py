"""The image functions of libmldf.so through ctypes."""

import ctypes
from ctypes import byref, c_bool, c_int, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p

import numpy as np

import clib

MODES = {0: "raw", 1: "jpeg", 2: "png", 3: "webp", 4: "bmp", 5: "tiff", 6: "yuv420", 255: "other"}
FILTERS = {"box": 0, "bilinear": 1, "bicubic": 2, "lanczos": 3, "area": 4}


class Info(ctypes.Structure):
    _fields_ = [("struct_bytes", c_size_t), ("mode", c_int), ("color", c_int), ("width", c_uint32), ("height", c_uint32), ("channels", c_uint8),
                ("bits", c_uint8), ("orientation", c_uint8), ("progressive", c_bool), ("frames", c_uint32),
                ("exif_offset", c_uint64), ("exif_bytes", c_uint64), ("icc_offset", c_uint64), ("icc_bytes", c_uint64)]


class Options(ctypes.Structure):
    _fields_ = [("struct_bytes", c_size_t), ("channels", c_int), ("bits", c_int), ("scale", c_int), ("region", c_bool),
                ("x", c_uint32), ("y", c_uint32), ("width", c_uint32), ("height", c_uint32), ("orient", c_bool),
                ("orientation", c_uint8), ("fast_dct", c_bool), ("tolerant", c_bool), ("max_pixels", c_uint64),
                ("max_bytes", c_uint64), ("max_chunk", c_uint64), ("max_scans", c_uint32)]


class Shape(ctypes.Structure):
    _fields_ = [("width", c_uint32), ("height", c_uint32), ("channels", c_uint32), ("bits", c_uint32), ("bytes", c_uint64)]


class Pixels(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("width", c_uint32), ("height", c_uint32), ("channels", c_uint32), ("bits", c_uint32)]


class JpegOptions(ctypes.Structure):
    _fields_ = [("struct_bytes", c_size_t), ("quality", c_int), ("subsampling", c_int), ("optimize", c_bool),
                ("progressive", c_bool), ("icc", c_void_p), ("icc_bytes", c_size_t)]


def options(region=None, **given):
    given.setdefault("scale", 1)
    if region:
        given.update(region=True, x=region[0], y=region[1], width=region[2], height=region[3])
    return Options(ctypes.sizeof(Options), **given)


class Images:
    def __init__(self, library):
        self.lib, self.c = library, library.c
        self.decoder, error = c_void_p(), clib.Error()
        library.check(self.c.mldf_image_decoder_new(byref(self.decoder), byref(error)), error)

    def probe(self, data):
        info, error = Info(ctypes.sizeof(Info)), clib.Error()
        self.lib.check(self.c.mldf_image_probe(data, c_size_t(len(data)), byref(info), byref(error)), error)
        return info

    def decode(self, data, **given):
        """height x width x channels."""
        shape, error, chosen = Shape(), clib.Error(), options(**given)
        size = c_size_t(len(data))
        self.lib.check(self.c.mldf_image_decoded_shape(data, size, byref(chosen), byref(shape), byref(error)), error)
        out = np.zeros((shape.height, shape.width, shape.channels), np.uint16 if shape.bits == 16 else np.uint8)
        assert out.nbytes == shape.bytes
        self.lib.check(self.c.mldf_image_decode(self.decoder, data, size, byref(chosen), c_void_p(out.ctypes.data),
                                                c_size_t(out.nbytes), byref(error)), error)
        return out

    def _pixels(self, array):
        array = np.ascontiguousarray(array)
        height, width, channels = array.shape if array.ndim == 3 else (*array.shape, 1)
        return array, Pixels(array.ctypes.data, width, height, channels, array.itemsize * 8)

    def _buffer(self, call):
        out, error = clib.Buffer(), clib.Error()
        try:
            self.lib.check(call(byref(out), byref(error)), error)
            return ctypes.string_at(out.data, out.size)
        finally:
            self.c.mldf_buffer_free(byref(out))

    def encode_jpeg(self, array, quality=90, subsampling=0, **given):
        _keep, pixels = self._pixels(array)
        chosen = JpegOptions(ctypes.sizeof(JpegOptions), quality, subsampling, **given)
        return self._buffer(lambda out, e: self.c.mldf_image_encode_jpeg(byref(pixels), byref(chosen), out, e))

    def encode_png(self, array, level=-1):
        _keep, pixels = self._pixels(array)
        return self._buffer(lambda out, e: self.c.mldf_image_encode_png(byref(pixels), c_int(level), out, e))

    def encode_yuv(self, array):
        _keep, pixels = self._pixels(array)
        return self._buffer(lambda out, e: self.c.mldf_image_encode_yuv420(byref(pixels), out, e))

    def baseline(self, data, drop=0):
        return self._buffer(lambda out, e: self.c.mldf_image_to_baseline(data, c_size_t(len(data)), drop, out, e))

    def strip(self, data, drop):
        return self._buffer(lambda out, e: self.c.mldf_image_strip(data, c_size_t(len(data)), drop, out, e))

    def icc(self, data):
        """The profile, or b"" when there is none."""
        return self._buffer(lambda out, e: self.c.mldf_image_icc(data, c_size_t(len(data)), out, e))

    def resize(self, array, width, height, name):
        _keep, pixels = self._pixels(array)
        out, error = np.zeros((height, width, pixels.channels), array.dtype), clib.Error()
        self.lib.check(self.c.mldf_image_resize(byref(pixels), c_uint32(width), c_uint32(height), c_int(FILTERS[name]), None,
                                                c_void_p(out.ctypes.data), c_size_t(out.nbytes), byref(error)), error)
        return out
