"""libmldf.so through ctypes: just enough of its C interface to compare it with the specification.

The library's path comes from the environment, MLDF_LIB, or stands beside the command that MLDF names
(build/<preset>/bin/mldf and build/<preset>/lib/libmldf.so).
"""

import ctypes
import os
from ctypes import POINTER, byref, c_bool, c_char, c_char_p, c_int, c_int64, c_size_t, c_uint16, c_uint32, c_uint64, c_void_p
from pathlib import Path

NONE = 2**64 - 1


def library_path():
    if os.environ.get("MLDF_LIB"):
        return os.environ["MLDF_LIB"]
    if os.environ.get("MLDF"):
        path = Path(os.environ["MLDF"]).resolve().parent.parent / "lib" / "libmldf.so"
        if path.exists():
            return str(path)
    return None


class Error(ctypes.Structure):
    _fields_ = [("status", c_int), ("sys_errno", c_int), ("offset", c_uint64), ("sample", c_uint64), ("field", c_char * 64),
                ("path", c_char * 256), ("context", c_char * 256), ("message", c_char * 512), ("advice", c_char * 256),
                ("reserved", c_uint64 * 4)]


class Secret(ctypes.Structure):
    _fields_ = [("key", c_char_p), ("key_bytes", c_size_t), ("passphrase", c_char_p), ("passphrase_bytes", c_size_t)]


class ReaderOptions(ctypes.Structure):
    _fields_ = [("struct_bytes", c_size_t), ("context", c_void_p), ("backend", c_int), ("verify", c_bool),
                ("without_key", c_bool), ("secret", Secret)]


class Buffer(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t), ("capacity", c_size_t)]


class Value(ctypes.Structure):
    _fields_ = [("kind", c_int), ("dtype", c_int), ("number", c_uint64), ("data", c_void_p), ("bytes", c_uint64),
                ("record", c_void_p), ("record_bytes", c_uint32), ("ndim", c_uint32), ("dims", c_uint64 * 8)]


class FieldInfo(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("type_id", c_uint16), ("flags", c_uint16), ("type_name", c_char_p),
                ("arguments", c_char_p), ("record_bytes", c_uint32), ("record_align", c_uint32), ("row_offset", c_uint32),
                ("known", c_bool), ("compress_level", c_int), ("dtype", c_int), ("ndim", c_uint32), ("dims", c_int64 * 8)]


class Tokens(ctypes.Structure):
    _fields_ = [("type_id", c_uint16), ("dtype", c_int), ("ids", c_void_p), ("count", c_uint64), ("documents", c_uint64),
                ("table", c_void_p)]


class WriterOptions(ctypes.Structure):
    _fields_ = [("struct_bytes", c_size_t), ("context", c_void_p), ("threads", c_int), ("overwrite", c_bool),
                ("no_checksums", c_bool), ("dictionary", c_bool), ("page_size", c_uint64), ("card", c_char_p),
                ("card_bytes", c_size_t), ("secret", Secret), ("skip_bad_samples", c_bool), ("skipped", c_void_p),
                ("skipped_user", c_void_p), ("progress", c_void_p), ("progress_user", c_void_p)]


PROBLEM = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Error))


class VerifyOptions(ctypes.Structure):
    _fields_ = [("struct_bytes", c_size_t), ("context", c_void_p), ("deep", c_bool), ("threads", c_int), ("secret", Secret),
                ("problem", PROBLEM), ("problem_user", c_void_p), ("progress", c_void_p), ("progress_user", c_void_p)]


class CError(Exception):
    def __init__(self, status, error):
        super().__init__(f"{status} at byte {error.offset}: {error.message.decode('utf-8', 'replace')}")
        self.status = status
        self.offset = None if error.offset == NONE else error.offset


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        self.c.mldf_status_name.restype = c_char_p
        self.c.mldf_reader_schema.restype = c_void_p
        self.c.mldf_schema_field.restype = POINTER(FieldInfo)
        self.c.mldf_schema_field_count.restype = c_size_t
        self.c.mldf_reader_sample_count.restype = c_uint64
        self.c.mldf_reader_has_keys.restype = c_bool

    def check(self, status, error):
        if status < 0:
            raise CError(self.c.mldf_status_name(status).decode(), error)
        return status

    def open(self, path, key=None, passphrase=None, backend=0, verify=False):
        """path: a file name, or the bytes of a file."""
        return CReader(self, path, key, passphrase, backend, verify)

    def verify(self, path, deep=False):
        """[(status, byte)] of every problem; an encrypted file is checked without its key."""
        error, found = Error(), []

        def problem(_, p):
            found.append((self.c.mldf_status_name(p.contents.status).decode(), p.contents.offset if p.contents.offset != NONE else None))

        options = VerifyOptions(ctypes.sizeof(VerifyOptions), deep=deep, problem=PROBLEM(problem))
        self.check(self.c.mldf_verify(os.fsencode(path), byref(options), None, byref(error)), error)
        return found

    def write(self, path, fields, samples, keys=None, threads=0, stream=None, **options):
        """fields: [(name, type id, arguments as JSON text, flags 1 and 2)]; samples: lists of Value or None; keys: bytes."""
        error, schema, writer = Error(), c_void_p(), c_void_p()
        self.check(self.c.mldf_schema_new(None, byref(schema), byref(error)), error)
        for name, type_id, arguments, flags in fields:
            self.check(self.c.mldf_schema_add(schema, name.encode(), c_uint16(type_id), arguments.encode(), c_uint16(flags),
                                              byref(error)), error)
        chosen = WriterOptions(ctypes.sizeof(WriterOptions), threads=threads, **options)
        if stream is None:
            status = self.c.mldf_writer_open(os.fsencode(path), schema, byref(chosen), byref(writer), byref(error))
        else:
            status = self.c.mldf_writer_open_stream(c_int(stream), schema, byref(chosen), byref(writer), byref(error))
        self.check(status, error)
        self.c.mldf_schema_free(schema)
        self._fill(writer, samples, keys, error)

    def append(self, path, samples, keys=None, threads=0):
        error, writer = Error(), c_void_p()
        chosen = WriterOptions(ctypes.sizeof(WriterOptions), threads=threads)
        self.check(self.c.mldf_writer_open_append(os.fsencode(path), byref(chosen), byref(writer), byref(error)), error)
        self._fill(writer, samples, keys, error)

    def _fill(self, writer, samples, keys, error):
        for i, sample in enumerate(samples):
            values = (Value * len(sample))(*[v if v is not None else Value() for v in sample])
            key = keys[i] if keys is not None else None
            status = self.c.mldf_writer_append(writer, values, c_size_t(len(sample)), key, c_size_t(len(key or b"")),
                                               byref(error))
            if status < 0:
                self.c.mldf_writer_abort(writer)
            self.check(status, error)
        self.check(self.c.mldf_writer_finish(writer, None, byref(error)), error)


def value(kind, number=0, data=b"", dims=()):
    """A Value for the writer; it keeps its bytes alive."""
    v = Value(kind=kind, number=number & NONE, bytes=len(data), ndim=len(dims))
    v.keep = ctypes.create_string_buffer(data, max(1, len(data)))
    v.data = ctypes.addressof(v.keep) if data else None
    v.dims[:len(dims)] = dims
    return v


class CReader:
    def __init__(self, library, path, key, passphrase, backend, verify):
        self.lib, self.c, self.handle, self.error = library, library.c, c_void_p(), Error()
        options = ReaderOptions(ctypes.sizeof(ReaderOptions), None, backend, verify, False)
        if key is not None:
            options.secret.key, options.secret.key_bytes = key, len(key)
        if passphrase is not None:
            raw = passphrase.encode()
            options.secret.passphrase, options.secret.passphrase_bytes = raw, len(raw)
        if isinstance(path, (bytes, bytearray)):
            self.memory = ctypes.create_string_buffer(bytes(path), max(1, len(path)))
            status = self.c.mldf_reader_open_memory(self.memory, c_size_t(len(path)), byref(options), byref(self.handle),
                                                    byref(self.error))
        else:
            status = self.c.mldf_reader_open(os.fsencode(path), byref(options), byref(self.handle), byref(self.error))
        self.lib.check(status, self.error)
        self.scratch = Buffer()
        schema = c_void_p(self.c.mldf_reader_schema(self.handle))
        count = self.c.mldf_schema_field_count(schema)
        self.fields = [self.c.mldf_schema_field(schema, c_size_t(i)).contents for i in range(count)]
        self.names = [f.name.decode() for f in self.fields]
        self.num_samples = self.c.mldf_reader_sample_count(self.handle)
        self.has_keys = self.c.mldf_reader_has_keys(self.handle)

    def close(self):
        self.c.mldf_buffer_free(byref(self.scratch))
        self.c.mldf_reader_close(self.handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def get(self, sample, name, stored=False):
        """(kind, number bits, data, dims, record bytes)."""
        index = self.names.index(name) if name in self.names else len(self.names)
        value, call = Value(), self.c.mldf_reader_get_stored if stored else self.c.mldf_reader_get
        self.lib.check(call(self.handle, c_uint64(sample), c_size_t(index), byref(self.scratch), byref(value),
                            byref(self.error)), self.error)
        data = ctypes.string_at(value.data, value.bytes) if value.bytes else b""
        record = ctypes.string_at(value.record, value.record_bytes) if value.record_bytes else b""
        return value.kind, value.number, data, list(value.dims[:value.ndim]), record

    def documents(self, sample, name):
        """The ends of the documents or pieces of a token value."""
        index, value, tokens = self.names.index(name), Value(), Tokens()
        self.lib.check(self.c.mldf_reader_get(self.handle, c_uint64(sample), c_size_t(index), byref(self.scratch), byref(value),
                                              byref(self.error)), self.error)
        self.lib.check(self.c.mldf_tokens_of(byref(self.fields[index]), byref(value), byref(tokens), byref(self.error)), self.error)
        ends, begin, end = [0], c_uint64(), c_uint64()
        for i in range(tokens.documents):
            self.lib.check(self.c.mldf_tokens_document(byref(tokens), c_uint64(i), byref(begin), byref(end), byref(self.error)), self.error)
            assert begin.value == ends[-1]
            ends.append(end.value)
        return ends[1:]

    def key(self, sample):
        pointer, size = c_void_p(), c_size_t()
        self.lib.check(self.c.mldf_reader_key(self.handle, c_uint64(sample), byref(self.scratch), byref(pointer), byref(size),
                                              byref(self.error)), self.error)
        return ctypes.string_at(pointer.value, size.value)

    def find(self, key):
        raw, sample = key.encode() if isinstance(key, str) else key, c_uint64()
        self.lib.check(self.c.mldf_reader_find_key(self.handle, raw, c_size_t(len(raw)), byref(sample), byref(self.error)),
                       self.error)
        return sample.value

    def card(self):
        text = Buffer()
        try:
            if self.lib.check(self.c.mldf_reader_card(self.handle, byref(text), byref(self.error)), self.error):
                return None
            return ctypes.string_at(text.data, text.size)
        finally:
            self.c.mldf_buffer_free(byref(text))
