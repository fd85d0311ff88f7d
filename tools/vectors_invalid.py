"""The invalid vectors: a good file, one rule of docs/spec/format.md broken, and what a reader must say.

Used by make_vectors.py. An edit is followed by fix(), which makes every checksum right again, so that the file gets past
the checksums and reaches the rule that it breaks; a checksum that is itself the matter is left out of fix().
"""

import json
import os
import struct

import make_vectors as mv

HEADER = {"version_major": 9, "version_minor": 11, "flags": 13, "num_samples": 17, "num_fields": 25, "page_size": 29,
          "field_desc_ptr": 33, "metadata_ptr": 41, "data_ptr": 49, "alloc_table_ptr": 57, "directory_ptr": 65}
NAME, TYPE, FLAGS, SIZE, OFFSET, ARGUMENTS, ALIGN, ARGUMENTS_BYTES = 0, 64, 66, 68, 72, 76, 204, 206


class Editor:
    def __init__(self, data):
        self.b = bytearray(data)

    def get(self, code, at):
        return struct.unpack_from("<" + code, self.b, at)[0]

    def put(self, code, at, value):
        struct.pack_into("<" + code, self.b, at, value)

    def write(self, at, data):
        self.b[at:at + len(data)] = data

    @property
    def directory(self):
        return self.get("Q", 65)

    @property
    def footer(self):
        return self.directory + 16 + 40 * self.get("I", self.directory + 8)

    def entry(self, kind):
        for e in range(self.directory + 16, self.footer, 40):
            if self.get("I", e) == kind:
                return e
        raise KeyError(kind)

    def ptr(self, kind):
        return self.get("Q", self.entry(kind) + 8)

    def size(self, kind):
        return self.get("Q", self.entry(kind) + 16)

    def descriptor(self, i, member=0):
        return self.get("Q", 33) + 208 * i + member

    def record(self, sample, field):
        row_bytes = self.get("Q", self.ptr(1) + 32) // self.get("Q", self.ptr(1) + 40)
        return self.get("Q", 41) + sample * row_bytes + self.get("I", self.descriptor(field, OFFSET))

    def fix(self, blocks=True, param=True, sections=True, directory=True, footer=True):
        """All checksums that are not excepted, from the inside out; then the footer's copy of the header."""
        try:
            e = self.entry(1)
        except KeyError:
            e = None
        if e is not None:
            t, end = self.ptr(1), self.ptr(1) + self.size(1)
            at = t + 72
            for k in range(3):
                ptr, size = self.get("Q", t + 24 * k), self.get("Q", t + 24 * k + 8)
                for block in range(ptr, min(ptr + size, len(self.b)), 65536):
                    if blocks and at + 4 <= end:
                        self.put("I", at, mv.crc(self.b[block:min(block + 65536, ptr + size)]))
                    at += 4
            if param:
                self.put("Q", e + 32, mv.crc(self.b[t:t + 72]))
        if sections:
            for e in range(self.directory + 16, self.footer, 40):
                ptr, size = self.get("Q", e + 8), self.get("Q", e + 16)
                if ptr + size <= len(self.b):
                    self.put("I", e + 24, mv.crc(self.b[ptr:ptr + size]))
        if directory:
            self.put("I", self.directory + 12, mv.crc(self.b[self.directory + 16:self.footer]))
        if footer:
            f = self.footer
            self.write(f, self.b[9:73])
            self.put("I", f + 76, mv.crc(self.b[f:f + 76]))
        return bytes(self.b)

    def drop(self, kind):
        """Takes an entry out of the directory; the footer moves up."""
        e, f = self.entry(kind), self.footer
        del self.b[e:e + 40]
        self.put("I", self.directory + 8, self.get("I", self.directory + 8) - 1)
        self.put("Q", f - 40 + 64, f - 40 + 96)


def case(rule, name, data, status, offset, what, when="open", **more):
    entry = {"file": f"{rule}_{name}.mldf", "rule": rule, "status": status, "offset": offset, "when": when,
             "sample": None, "field": None, "what": what, "data": bytes(data)}
    entry.update(more)
    return entry


def packets():
    """Compressed recordings: the record, then the table, whose CRC is made right again where it is not the fault itself."""
    frames = [[(100 * i + k,) for k in range(32)] for i in range(3)]
    whole = mv.flac_sound(16000, 1, frames)
    vary = mv.flac_sound(16000, 1, [frames[0], frames[1] * 2, frames[2]])
    for name, code, member, value, status, at in (("codec", "B", 31, 7, "feature", 31), ("bits", "B", 30, 3, "corrupt", 30),
                                                  ("lossy_bits", "B", 31, 3, "corrupt", 30), ("rate", "I", 24, 0, "corrupt", 24)):
        e = Editor(mv.Writer([mv.packets_field("a")], [[{"a": whole}]]).write())
        e.put(code, e.record(0, 0) + member, value)
        yield case("A7", f"packets_{name}", e.fix(), status, e.record(0, 0) + at, f"a compressed recording's record: {name}", when="access",
                   sample=0, field="a")
    e = Editor(mv.Writer([mv.packets_field("a")], [[{"a": mv.sound(3, 16000, 1, 16, 1, bytes(127))}]]).write())
    yield case("A7", "packets_size", e.fix(), "corrupt", e.record(0, 0) + 8, "127 bytes for a table of packets", when="access", sample=0, field="a")
    columns = 64 + 64 + 40
    for name, value, code, member, number, status, right in (
            ("version", whole, "I", 0, 2, "feature", True), ("flags", whole, "I", 4, 64, "feature", True),
            ("count", whole, "Q", 8, 4, "corrupt", True), ("count_huge", whole, "Q", 8, 2**61, "corrupt", True),
            ("duration", whole, "I", 16, 31, "corrupt", True), ("duration_zero", whole, "I", 16, 0, "corrupt", True),
            ("stream_bytes", whole, "I", 20, 2**30, "corrupt", False), ("first", whole, "Q", 24, 64, "corrupt", True),
            ("bytes_past_end", whole, "Q", 32, 2**63, "corrupt", True), ("head", whole, "I", 40, 2**17, "corrupt", True),
            ("file", whole, "Q", 48, 2**64 - 1, "corrupt", True), ("crc", whole, "I", 56, 0, "corrupt", False),
            ("kind", whole, "H", 64, 0, "corrupt", True), ("stream_codec", whole, "B", 66, 4, "corrupt", True),
            ("stream_rate", whole, "I", 72, 8000, "corrupt", True), ("skip", whole, "Q", 96, 2**64 - 1, "corrupt", True),
            ("extra", whole, "I", 116, 41, "corrupt", True), ("offset", whole, "I", columns + 4, 0xFFFFFF, "corrupt", True),
            ("offset_first", whole, "I", columns, 1, "corrupt", True), ("offset_last", whole, "I", columns + 12, 9, "corrupt", True),
            ("samples", vary, "I", columns + 16 + 8, 31, "corrupt", True), ("samples_last", vary, "I", columns + 16 + 12, 127, "corrupt", True)):
        data = bytearray(value.data)
        struct.pack_into("<" + code, data, member, number)
        if right:
            struct.pack_into("<I", data, 56, mv.crc(bytes(data[:56] + data[64:64 + struct.unpack_from("<I", data, 20)[0]])))
        e = Editor(mv.Writer([mv.packets_field("a")], [[{"a": mv.Raw(value.record, bytes(data))}]]).write())
        ptr = e.get("Q", e.record(0, 0))
        yield case("A7", f"packets_deep_{name}", e.fix(), status, ptr, f"a table of packets: {name}", when="verify", deep=True, sample=0, field="a")


def video_packets():
    """Videos of packets: the record, then head and stream table, whose CRC is made right again where it is not the fault itself, then the entries."""
    sound = mv.flac_sound(16000, 1, [[(k,) for k in range(32)]])
    good = mv.video_packets(mv.VIDEO_IMAGES, sound)
    field = mv.video_packets_field("v")
    for name, code, member, value, at in (
            ("frames", "I", 16, 2**31, 8), ("keys", "I", 20, 2**31, 20), ("width", "H", 24, 0, 24), ("height", "H", 26, 0, 26), ("fps", "I", 28, 0, 28),
            ("streams", "B", 37, 0, 37), ("zero", "H", 38, 1, 38), ("sound_bytes", "Q", 56, 2**60, 56), ("sound_rate", "I", 64, 0, 64),
            ("sound_channels", "H", 68, 0, 68)):
        e = Editor(mv.Writer([field], [[{"v": good}]]).write())
        e.put(code, e.record(0, 0) + member, value)
        yield case("A7", f"video_packets_{name}", e.fix(), "corrupt", e.record(0, 0) + at, f"a video's record: {name}", when="access", sample=0, field="v")
    table = struct.unpack_from("<Q", good.data, 8)[0]
    packets, frames = struct.unpack_from("<QQ", good.data, 64 + 40)
    for name, code, member, number, status, right in (
            ("version", "H", 0, 2, "feature", True), ("flags", "I", 4, 1, "feature", True), ("streams", "H", 2, 65, "corrupt", False),
            ("table", "Q", 8, 2**40, "corrupt", False), ("data", "Q", 16, 2**63, "corrupt", True), ("total", "Q", 32, 7, "corrupt", True),
            ("crc", "I", 56, 0, "corrupt", False), ("kind", "H", 64, 9, "feature", True), ("codec", "B", 66, 1, "corrupt", True),
            ("tick", "I", 80, 0, "corrupt", True), ("end", "q", 96, -1, "corrupt", True), ("packets", "Q", 104, 2**62, "corrupt", True),
            ("frames", "Q", 112, 8, "corrupt", True), ("packet_count", "I", 120, 0, "corrupt", True), ("frame_count", "I", 124, 1, "corrupt", True),
            ("configs", "Q", 128, 2**50, "corrupt", True), ("turn", "B", 139, 8, "corrupt", True), ("reorder", "B", 138, 65, "corrupt", True),
            ("reorder_17", "B", 138, 17, "corrupt", True), ("packet_overlap", "Q", packets + 32 + 8, 0, "corrupt", True),
            ("width", "I", 140, 40000, "corrupt", True), ("planes", "B", 156, 2, "corrupt", True), ("start", "Q", 64 + 192 + 152, 0, "corrupt", True),
            ("sound", "Q", 64 + 192 + 160, 3, "corrupt", True), ("sound_rate", "I", 64 + 192 + 104, 8000, "corrupt", True),
            ("config", "Q", 64 + 2 * 192, 2**40, "corrupt", True),
            ("packet_offset", "Q", packets + 8, 2**63, "corrupt", True), ("packet_size", "I", packets + 16, 2**31, "corrupt", True),
            ("packet_flags", "H", packets + 28, 16, "corrupt", True), ("packet_config", "H", packets + 30, 1, "corrupt", True),
            ("frame_first", "q", frames, 1, "corrupt", True), ("frame_back", "q", frames + 24, -1, "corrupt", True),
            ("frame_packet", "I", frames + 8, 2, "corrupt", True), ("frame_start", "I", frames + 12, 1, "corrupt", True),
            ("frame_config", "H", frames + 22, 1, "corrupt", True)):
        data = bytearray(good.data)
        struct.pack_into("<" + code, data, member, number)
        if right:
            struct.pack_into("<I", data, 56, mv.crc(bytes(data[:56] + data[64:table])))
        e = Editor(mv.Writer([field], [[{"v": mv.Raw(good.record, bytes(data))}]]).write())
        ptr = e.get("Q", e.record(0, 0))
        yield case("A7", f"video_packets_deep_{name}", e.fix(), status, ptr, f"a video's tables: {name}", when="verify", deep=True, sample=0, field="v")


def videos():
    """Videos frame by frame: the record, then the tables."""
    good = mv.video(2, 3, [bytes(18)] * 3, (30, 1), [1, 2, 3])
    field = mv.video_field("v", {"mode": "raw", "pts": True})
    for name, code, member, value, at in (
            ("fps_num", "I", 24, 0, 24), ("fps_den", "I", 28, 0, 28), ("height", "H", 20, 0, 20), ("width", "H", 22, 0, 20), ("count", "I", 16, 4, 8),
            ("count_huge", "I", 16, 2**32 - 1, 8), ("size", "H", 20, 65535, 8)):
        e = Editor(mv.Writer([field], [[{"v": good}]]).write())
        e.put(code, e.record(0, 0) + member, value)
        yield case("A7", f"video_{name}", e.fix(), "corrupt", e.record(0, 0) + at, f"a video's record: {name}", when="access", sample=0, field="v")
    for name, code, member, number in (
            ("offset_low", "Q", 0, 0), ("offset_back", "Q", 8, 2**63), ("offset_end", "Q", 24, 109), ("offset_past_end", "Q", 24, 111),
            ("frame_size", "Q", 8, 75), ("pts_equal", "q", 40, 1), ("pts_back", "q", 48, -2**63)):
        data = bytearray(good.data)
        struct.pack_into("<" + code, data, member, number)
        e = Editor(mv.Writer([field], [[{"v": mv.Raw(good.record, bytes(data))}]]).write())
        ptr = e.get("Q", e.record(0, 0))
        yield case("A7", f"video_deep_{name}", e.fix(), "corrupt", ptr, f"a video's tables: {name}", when="verify", deep=True, sample=0, field="v")


def features():
    """Spectrograms and codec tokens that contradict themselves."""
    mel = mv.grid_field("x", mv.SPECTROGRAM, {"bins": 3, "dtype": "<f2"})
    codes = mv.grid_field("x", mv.CODEC_TOKENS, {"vocabulary": 1000})
    values = {"mel": (mel, mv.Grid(mel, [2, 3], [1, 2, 3, 4, 5, 6])), "codes": (codes, mv.Grid(codes, [2, 3], [1, 2, 3, 4, 5, 999]))}
    for kind, name, code, member, value, at in (
            ("mel", "kind", "B", 22, 2, 22), ("mel", "zero", "B", 23, 1, 23), ("mel", "bins", "H", 20, 2, 20), ("mel", "frames", "I", 16, 3, 8),
            ("mel", "wraps", "I", 16, 2**32 - 1, 8), ("codes", "width", "B", 22, 1, 22), ("codes", "codebooks", "H", 20, 65535, 8)):
        field, grid = values[kind]
        e = Editor(mv.Writer([field], [[{"x": grid}]]).write())
        e.put(code, e.record(0, 0) + member, value)
        yield case("A7", f"{kind}_{name}", e.fix(), "corrupt", e.record(0, 0) + at, f"features, {kind}: {name}", when="access", sample=0, field="x")
    field, grid = values["codes"]
    e = Editor(mv.Writer([field], [[{"x": grid}]], checksums=False).write())
    ptr = e.get("Q", e.record(0, 0))
    e.put("H", ptr + 4, 1000)
    yield case("A7", "codes_deep_id", e.fix(), "corrupt", ptr, "codec tokens: an id beyond the vocabulary", when="verify", deep=True, sample=0, field="x")


def flow():
    """Optical flow: the record, then an infinite number."""
    byte, half = mv.flow_field("x", {"dtype": "|i1"}), mv.flow_field("x", {"dtype": "<f2"})
    values = {"byte": (byte, mv.Flow(byte, 2, 1, 2, [1, 2, 3, 4, 5, 6, 7, 8], 0.5)), "half": (half, mv.Flow(half, 1, 1, 2, [1, 2, 3, 4]))}
    for kind, name, code, member, value, status, at in (
            ("byte", "dtype", "B", 30, 2, "corrupt", 30), ("byte", "zero", "B", 31, 1, "corrupt", 31), ("byte", "keys", "H", 28, 8, "feature", 28),
            ("byte", "scale_zero", "f", 24, 0.0, "corrupt", 24), ("byte", "scale_nan", "f", 24, float("nan"), "corrupt", 24),
            ("byte", "scale_large", "f", 24, 2.0**101, "corrupt", 24), ("half", "scale", "f", 24, 2.0, "corrupt", 24),
            ("half", "height", "H", 20, 0, "corrupt", 20), ("half", "width", "H", 22, 0, "corrupt", 20), ("byte", "frames", "I", 16, 3, "corrupt", 8),
            ("byte", "frames_huge", "I", 16, 2**32 - 1, "corrupt", 8), ("half", "no_frames", "I", 16, 0, "corrupt", 8)):
        field, good = values[kind]
        e = Editor(mv.Writer([field], [[{"x": good}]]).write())
        e.put(code, e.record(0, 0) + member, value)
        yield case("A7", f"flow_{kind}_{name}", e.fix(), status, e.record(0, 0) + at, f"optical flow, {kind}: {name}", when="access", sample=0, field="x")
    e = Editor(mv.Writer([half], [[{"x": mv.Flow(half, 1, 1, 2, [1, 2, float("inf"), 4])}]]).write())
    yield case("A7", "flow_deep_infinite", e.fix(), "corrupt", e.get("Q", e.record(0, 0)), "optical flow: infinity", when="verify", deep=True, sample=0, field="x")


def levels():
    """Hierarchical text whose paragraphs and sentences contradict themselves."""
    field = mv.token_field("t", mv.HIERARCHICAL, {"dtype": "<u2", "vocabulary": 1000})
    value = mv.Ids(field, [1, 2, 3, 4, 999], ((2, 5), (1, 2, 5)))  # ids at 0, paragraphs at 16, sentences at 24
    for name, changes, at in (("count", [(16, 9)], 8), ("more", [(24, 4)], 8), ("zero", [(28, 1)], 28), ("no_paragraphs", [(20, 0), (24, 5)], 20),
                              ("paragraphs", [(20, 3), (24, 2)], 20), ("sentences", [(16, 2), (24, 5), (8, 36)], 24)):
        e = Editor(mv.Writer([field], [[{"t": value}]]).write())
        r = e.record(0, 0)
        for member, number in changes:
            e.put("I", r + member, number)
        yield case("A7", f"levels_{name}", e.fix(), "corrupt", r + at, f"hierarchical text: {name}", when="access", sample=0, field="t")
    for name, at, code, number in (("last_paragraph", 20, "I", 4), ("last_sentence", 32, "I", 6)):
        e = Editor(mv.Writer([field], [[{"t": value}]]).write())
        ptr = e.get("Q", e.record(0, 0))
        e.put(code, ptr + at, number)
        yield case("A7", f"levels_{name}", e.fix(), "corrupt", ptr, f"hierarchical text: {name}", when="access", sample=0, field="t")
    for name, at, code, number in (("id", 2, "H", 1000), ("paragraphs", 16, "I", 0), ("sentences", 24, "I", 2), ("inside", 16, "I", 3)):
        e = Editor(mv.Writer([field], [[{"t": value}]], checksums=False).write())
        ptr = e.get("Q", e.record(0, 0))
        e.put(code, ptr + at, number)
        yield case("A7", f"levels_deep_{name}", e.fix(), "corrupt", ptr, f"hierarchical text: {name}", when="verify", deep=True, sample=0, field="t")


def tokens():
    """Token values that contradict themselves."""
    types = {name: mv.token_field("t", number, {"dtype": "<u2", "vocabulary": 1000})
             for name, number in (("doc", mv.TOKENS), ("packed", mv.PACKED), ("stream", mv.STREAM))}
    tables = {"doc": (), "packed": [(2, 9), (4, 0)], "stream": [2, 2, 5]}
    for kind, name, code, member, value, status, at in (
            ("doc", "count", "I", 12, 4, "corrupt", 8), ("packed", "count", "I", 16, 9, "corrupt", 8), ("packed", "pieces", "I", 20, 3, "corrupt", 8),
            ("stream", "count", "Q", 16, 2**63 + 5, "corrupt", 8), ("stream", "documents", "Q", 24, 2**61, "corrupt", 8),
            ("stream", "none", "Q", 24, 0, "corrupt", 24), ("packed", "last", "I", None, 6, "corrupt", None),
            ("stream", "last", "Q", None, 4, "corrupt", None)):
        field = types[kind]
        e = Editor(mv.Writer([field], [[{"t": mv.Ids(field, [1, 2, 3, 4, 999], tables[kind])}]]).write())
        r = e.record(0, 0)
        ptr = e.get("Q", r)
        last = ptr + 16 + 8 * (len(tables[kind]) - 1)
        if name == "none":
            e.put("Q", r + 8, 16)
        e.put(code, last if member is None else r + member, value)
        yield case("A7", f"{kind}_{name}", e.fix(), status, ptr if at is None else r + at, f"tokens, {kind}: {name}", when="access", sample=0, field="t")
    for kind, name, at, code, value in (("doc", "id", 2, "H", 1000), ("packed", "ends", 16, "I", 0), ("stream", "ends", 24, "Q", 1),
                                        ("stream", "id", 8, "H", 65535)):
        field = types[kind]
        e = Editor(mv.Writer([field], [[{"t": mv.Ids(field, [1, 2, 3, 4, 999], tables[kind])}]], checksums=False).write())
        ptr = e.get("Q", e.record(0, 0))
        e.put(code, ptr + at, value)
        yield case("A7", f"{kind}_deep_{name}", e.fix(), "corrupt", ptr, f"tokens, {kind}: {name}", when="verify", deep=True, sample=0, field="t")
    for name, record, data, status, at in (("encoding", (2, 4), b"abcd", "feature", 14), ("size", (2, 2), b"abc", "corrupt", 8),
                                           ("count", (3, 2), b"abcd", "corrupt", 12)):
        w = mv.Writer([mv.Field("t", mv.TOKENS, {}, mv.SIZE32, 16)], [[{"t": mv.Raw(struct.pack("<HBB", *record, 0), data)}]])
        e = Editor(w.write())
        yield case("A7", f"draft_tokens_{name}", e.b, status, e.record(0, 0) + at, f"tokens of the draft: {name}", when="access", sample=0, field="t")
    field, other = types["doc"], mv.ndarray("m", "<i4", [None])
    for form, shape, value, bad in (("dense", [None], mv.Array(bytes(16), [4]), 16), ("spans", [None, 2], mv.Array(struct.pack("<4i", 0, 2, 1, 4), [2, 2]), None),
                                    ("spans", [None, 2], mv.Array(struct.pack("<2i", 0, 6), [1, 2]), None)):
        other = mv.ndarray("m", "<i4", shape)
        other.arguments |= {"along": "t", "form": form}
        e = Editor(mv.Writer([field, other], [[{"t": mv.Ids(field, [1, 2, 3, 4, 5]), "m": value}]]).write())
        at = e.get("Q", e.record(0, 1)) if bad is None else e.record(0, 1) + bad
        yield case("V14", f"along_{form}_{len(value.data)}", e.b, "corrupt", at, f"a side column, {form}, that does not fit its tokens", when="verify",
                   deep=True, sample=0, field="m")
    e = Editor(mv.Writer([field], [[{"t": mv.Ids(field, [1, 2, 3])}]]).write())
    e.put("Q", e.ptr(4) + 120, 2)
    yield case("V12", "units_max", e.fix(), "corrupt", e.ptr(4), "a value of more tokens than the statistics say", when="verify", sample=None, field=None)


def multimodal():
    """The record, then an entry of the table, then the totals."""
    kinds = {"text": ("text", mv.text("text")), "image": ("image", mv.image_field("image")), "n": ("int", mv.integer("n"))}
    field = mv.multimodal_field("x", kinds)

    def good():
        return Editor(mv.Writer([field], [[{"x": mv.Parts(field, [("text", "words", 0, 0), ("image", mv.image(1, 2, 3, 0, b"pixels"), 0, 0), ("n", 5, 0, 0), ("n", None, 0, 0)],
                                                         0, 1, 2)}]], checksums=False).write())

    for name, code, member, value in (("parts", "I", 20, 6), ("parts_huge", "I", 20, 2**32 - 1), ("mask", "I", 16, 8), ("images", "I", 28, 5)):
        e = good()
        e.put(code, e.record(0, 0) + member, value)
        yield case("A7", f"parts_{name}", e.fix(), "corrupt", e.record(0, 0) + member, f"a multimodal record: {name}", when="access", sample=0, field="x")
    for name, code, entry, at, value in (("kind", "H", 0, 0, 3), ("flags", "H", 0, 2, 2), ("null_record", "Q", 3, 16, 1), ("tail", "B", 0, 63, 1), ("ptr_in_table", "Q", 0, 16, 255),
                                         ("ptr_huge", "Q", 0, 16, 2**64 - 1), ("size", "I", 0, 24, 2**32 - 1), ("overlap", "Q", 1, 16, 260), ("image_mode", "B", 1, 33, 99),
                                         ("image_size", "H", 1, 28, 9)):
        e = good()
        ptr = e.get("Q", e.record(0, 0))
        e.put(code, ptr + 64 * entry + at, value)
        yield case("A7", f"parts_entry_{name}", e.fix(), "feature" if name == "image_mode" else "corrupt", ptr, f"a part: {name}", when="verify", deep=True, sample=0, field="x")
    for name, code, at in (("tokens", "I", 24), ("pixels", "Q", 32), ("samples", "Q", 40), ("milliseconds", "Q", 48)):
        e = good()
        e.put(code, e.record(0, 0) + at, 77)
        if name == "tokens":
            e.put("Q", e.ptr(4) + 120, 77)  # the statistics agree
        yield case("A7", f"parts_total_{name}", e.fix(), "corrupt", e.record(0, 0) + at, f"a multimodal record: {name} that its parts do not have", when="verify", deep=True, sample=0,
                   field="x")


    kinds = {"clip": ("video_compressed", mv.video_packets_field("clip")), "text": ("text", mv.text("text"))}
    wide = mv.multimodal_field("x", kinds)  # entries of 96 bytes
    clip = mv.video_packets(mv.VIDEO_IMAGES)
    shown = struct.unpack_from("<Q", clip.record, 24)[0] // 1000

    def long():
        return Editor(mv.Writer([wide], [[{"x": mv.Parts(wide, [("text", "w", 0, 0), ("clip", clip, 0, 0)], milliseconds=shown)}]], checksums=False).write())

    e = long()
    e.put("I", e.record(0, 0) + 20, e.get("Q", e.record(0, 0) + 8) // 96 + 1)
    yield case("A7", "parts_wide", e.fix(), "corrupt", e.record(0, 0) + 20, "a table of entries of 96 bytes that passes the payload", when="access", sample=0, field="x")
    for name, code, entry, at, value in (("tail", "B", 0, 95, 1), ("tail_of_video", "B", 1, 88, 1), ("ptr_in_table", "Q", 0, 16, 191), ("frames", "I", 1, 32, 0)):
        e = long()
        ptr = e.get("Q", e.record(0, 0))
        e.put(code, ptr + 96 * entry + at, value)
        yield case("A7", f"parts_wide_{name}", e.fix(), "corrupt", ptr, f"a part in an entry of 96 bytes: {name}", when="verify", deep=True, sample=0, field="x")


def plans():
    """Section 11."""
    data = mv.planned()[0].write()
    for name, code, at, value, bad in (("count", "I", 4, 2, 0), ("bins", "Q", 8 + 16, 2**61, 8), ("bins_offset", "Q", 8, 384, 8),
                                       ("bins_odd", "Q", 8, 396, 8), ("pieces", "Q", 8 + 128 + 24, 2**60, 8 + 128 + 8),
                                       ("pieces_offset", "Q", 8 + 8, 2**64 - 8, 8 + 8), ("form", "B", 8 + 101, 2, 8 + 101),
                                       ("rows", "Q", 8 + 256 + 32, 8, 8 + 256 + 32), ("field", "H", 8 + 96, 1, 8 + 96)):
        e = Editor(data)
        e.put(code, e.ptr(11) + at, value)
        yield case("O34", f"plans_{name}", e.fix(), "corrupt", e.ptr(11) + bad, f"pack plans: {name}")
    e = Editor(data)
    e.put("Q", e.entry(11) + 16, 7)
    yield case("O34", "plans_small", e.fix(), "corrupt", e.entry(11), "pack plans of 7 bytes")
    e = Editor(data)
    e.b[e.ptr(11) + e.size(11) - 1] ^= 1
    yield case("V1", "plans", e.b, "checksum", e.ptr(11), "damaged pack plans", when="verify")
    for name, at in (("placed", 40), ("lengths", 64)):
        e = Editor(data)
        e.put("Q", e.ptr(11) + 8 + at, 1)
        yield case("V15", f"plans_{name}", e.fix(), "corrupt", None, f"a pack plan: {name}", when="verify", deep=True)


class Base:
    """The files that are damaged."""

    def __init__(self):
        names = [[f"a_member_with_a_long_name_{i}", "<u2"] for i in range(8)]
        self.fields = [mv.integer("id"), mv.integer("bit", "|b1", mv.NULLABLE), mv.ndarray("arr", "<i2", [None, 2]),
                       mv.blob("blob", mv.PREFIX), mv.js("doc"), mv.text("note", mv.NULLABLE), mv.inline("box", names),
                       mv.Field("own", 0x8001, {"type": "org.example.own"}, 0, 16)]
        rows = [self.row(k) for k in range(5)]
        self.rich = mv.Writer(self.fields, [rows], keys=["alpha", "beta", "gamma", "delta", "epsilon"],
                              card={"title": "base"}, dictionary=mv.DICTIONARY).write()
        self.lean = mv.Writer(self.fields, [rows[2:3]], statistics=False).write()
        self.grown = mv.Writer([mv.integer("id")], [[{"id": k} for k in range(3)], [{"id": 3}, {"id": 4}]]).write()
        self.hello = mv.small(2).write()
        self.plain = mv.small(2, checksums=False).write()
        self.key = mv.constant_bytes("user key", 32)
        self.locked = mv.small(3, key=self.key).write()
        self.passphrase = mv.small(2, passphrase="open sesame").write()
        self.chunked = mv.Writer([mv.sound_field("a", None, mv.CHUNKED)],
                                 [[{"a": mv.sound(65540, 8000, 1, 8, 0, bytes(65540))}]], key=self.key).write()
        self.learned = mv.Writer([mv.blob("blob", mv.PREFIX)], [[{"blob": mv.JUGS}, {"blob": b"d"}]], key=self.key,
                                 dictionary=mv.DICTIONARY, card={"title": "learned"}).write()
        self.squeezed = mv.Writer([mv.blob("blob", mv.PREFIX)], [[{"blob": b"abc"}, {"blob": b"d"}]], key=self.key).write()

    @staticmethod
    def row(k):
        values = {"id": k, "bit": k & 1, "arr": mv.Array(struct.pack("<4h", k, 1, 2, 3), [2, 2]),
                  "blob": (mv.FOX, mv.JUGS, b"stored", b"", mv.FOX)[k], "doc": f'{{"k":{k}}}', "note": f"note {k}",
                  "box": struct.pack("<8H", *range(k, k + 8)), "own": mv.Raw(bytes(range(16)))}
        if k == 2:
            del values["bit"], values["note"]
        return values


def cases(base):
    """Yields manifest entries with the bytes under "data"."""

    def edited(source=None):
        return Editor(source or base.rich)

    def lean(source=None):
        return Editor(source or base.lean)

    yield from prefix_cases(base, case)
    yield from state_cases(base, case)
    yield from header_cases(base, case, edited)
    yield from directory_cases(base, case, lean)
    yield from descriptor_cases(case, lean)
    yield from section_cases(base, case, edited)
    yield from argument_cases(case, lean)
    yield from sealed_cases(base, case)
    yield from locked_cases(base, case, edited)
    yield from draft_cases(case)
    yield from access_cases(base, case, edited)
    yield from verify_cases(base, case, edited)


def prefix_cases(base, case):
    b = base.hello
    yield case("O1", "empty", b"", "truncated", 0, "an empty file")
    yield case("O1", "five_bytes", b[:5], "truncated", 5, "the beginning of the magic")
    yield case("O2", "short_other", b"PK\3\4", "magic", 0, "four bytes of something else")
    yield case("O2", "png", b"\x89PNG\r\n\x1a\n" + bytes(200), "magic", 0, "a PNG")
    yield case("O2", "newline", b[:5] + b"\n" + b[6:], "magic", 0, "a line ending was converted")
    yield case("O3", "half_header", b[:40], "truncated", 40, "cut inside the header")
    for major in (0, 2):
        e = Editor(b)
        e.put("H", 9, major)
        yield case("O4", f"major_{major}", e.fix(), "version", 9, f"version_major is {major}")
    for name, flags in (("big_endian", 4), ("bit_4", 0x15), ("bit_15", 0x8005)):
        e = Editor(b)
        e.put("I", 13, flags)
        yield case("O5", name, e.fix(), "feature", 13, f"flags {flags:#x}")


def state_cases(base, case):
    b, good = base.hello, Editor(base.hello)
    size, d, p = len(b), good.directory, good.footer
    streamed = mv.small(3, stream=True).write()
    yield case("O8", "all_zero", b[:9] + bytes(500), "unfinished", 33, "a header of zeros")
    yield case("O8", "stream_cut", streamed[:-1], "unfinished", 33, "a stream that was cut before its end")
    yield case("O8", "no_pointers", b[:33] + bytes(40) + b[73:] + b"tail", "unfinished", 33,
               "no pointers, and the footer does not end the file")
    yield case("O10", "cut_in_data", b[:4100], "truncated", 4100, "cut inside the data")
    yield case("O10", "cut_in_directory_magic", b[:d], "truncated", d, "cut where the directory begins")
    e = Editor(b)
    e.put("Q", 49, size + 4096)
    yield case("O10", "pointer_past_end", e.b, "truncated", size, "data_ptr of the front header passes the end")
    for name, value in (("unaligned", d + 4), ("low", 64)):
        e = Editor(b + b"x")
        e.put("Q", 65, value)
        yield case("O11", f"directory_ptr_{name}", e.b, "corrupt", 65, f"directory_ptr {value}, and bytes after the footer")
    yield case("O11", "directory_cut", b[:d + 8], "truncated", d + 8, "cut inside the directory's first 16 bytes")
    e = Editor(b + b"x")
    e.b[d] ^= 1
    yield case("O11", "directory_magic", e.b, "corrupt", d, "no directory magic, and bytes after the footer")
    e = Editor(b)
    e.put("I", d + 8, 1025)
    yield case("O11", "directory_count", e.b + b"x", "corrupt", d + 8, "1025 sections")
    yield case("O12", "footer_cut", b[:-1], "truncated", size - 1, "the last byte is missing")
    yield case("O12", "no_footer", b[:p], "truncated", p, "cut before the footer")
    e = Editor(b)
    e.b[-1] = 1
    yield case("O12", "footer_magic", e.b, "corrupt", p + 80, "the zeros after the footer's magic are not zero")
    e = Editor(b)
    e.b[p + 40] ^= 1
    yield case("O12", "footer_crc", e.b, "checksum", p + 76, "the footer is damaged")
    e = Editor(b)
    e.put("Q", p + 64, size + 1)
    yield case("O12", "footer_size", e.fix(), "corrupt", p + 64, "the footer states another file size")
    e = Editor(b + b"later bytes")
    e.put("Q", 17, 1)
    yield case("O13", "header_differs", e.b, "corrupt", 17, "the front header differs from its footer, and bytes follow it")
    e = Editor(b + b"later bytes")
    e.put("H", 11, 0)
    yield case("O13", "minor_zero", e.b, "corrupt", 11, "minor 0 with a directory, and bytes after the footer")


def recovered(e):
    """The footer's copy is used: the front header loses its pointers."""
    data = bytearray(e.fix())
    data[33:73] = bytes(40)
    return bytes(data)


def header_cases(base, case, edited):
    p = Editor(base.hello).footer
    for name, at, code, value, status in (("major", 0, "H", 2, "version"), ("minor", 2, "H", 0, "corrupt"),
                                          ("flags", 4, "I", 0x85, "feature")):
        e = Editor(base.hello)
        e.put(code, 9 + at, value)
        data = bytearray(recovered(e))
        data[9:17] = base.hello[9:17]
        yield case("O14", f"footer_{name}", data, status, p + at, f"{name} of the footer's copy, which is used")
    e = edited(base.hello)
    e.put("H", 25, 0)
    yield case("O15", "no_fields", e.fix(), "corrupt", 25, "num_fields 0")
    yield case("O15", "no_fields_footer", recovered(e), "corrupt", p + 16, "num_fields 0 in the footer's copy")
    for value in (0, 2048, 5000, 3 << 30):
        e = edited(base.hello)
        e.put("I", 29, value)
        yield case("O16", f"page_size_{value}", e.fix(), "corrupt", 29, f"page_size {value}")
    for value in (72, 1 << 40):
        e = edited(base.hello)
        e.put("Q", 49, value)
        data = e.fix()
        if value > 73:  # a front pointer past the end would mean a cut file
            data = bytearray(data)
            data[33:73] = bytes(40)
            yield case("O17", "data_ptr_high", data, "corrupt", p + 40, "data_ptr of the footer's copy passes the end")
        else:
            yield case("O17", "data_ptr_low", data, "corrupt", 49, "data_ptr 72")


def directory_cases(base, case, edited):
    good = Editor(base.hello)
    d, p = good.directory, good.footer
    for name, value in (("unaligned", d + 4), ("past", p - 8)):
        e = edited(base.hello)
        e.fix()
        e.put("Q", p + 56, value)
        e.put("I", p + 76, mv.crc(e.b[p:p + 76]))
        e.write(33, bytes(40))
        yield case("O18", f"directory_ptr_{name}", e.b, "corrupt", p + 56, f"directory_ptr {value} in the footer's copy")
    e = edited(base.hello)
    data = bytearray(recovered(e))
    data[d] ^= 1
    yield case("O18", "directory_magic", data, "corrupt", d, "no directory where the footer's copy says")
    data = bytearray(recovered(e))
    struct.pack_into("<I", data, d + 8, 1)
    yield case("O18", "directory_count", data, "corrupt", d + 8, "the directory does not end at the footer")
    e = edited()
    e.put("I", e.entry(7) + 4, 2)
    yield case("O19", "directory_crc", e.b, "checksum", e.directory + 12, "an entry was changed")
    for name, old, new, flags, status in (("kind_0", 7, 0, 0, "corrupt"), ("kind_twice", 7, 5, 0, "corrupt"),
                                          ("must_understand", 7, 300, 1, "feature"),
                                          ("must_understand_13", 7, 13, 1, "feature"),
                                          ("must_understand_private", 7, 0x8000, 1, "feature")):
        e = edited()
        at = e.entry(old)
        e.put("I", at, new)
        e.put("I", at + 4, flags)
        yield case("O20", name, e.fix(), status, at, f"a directory entry of kind {new}, flags {flags}")
    for name, ptr, size in (("low", 72, 4), ("past_end", None, 1 << 20), ("wraps", None, 2**64 - 8), ("ptr_past_end", 1 << 50, 0)):
        e = edited()
        at = e.entry(7)
        e.put("Q", at + 8, e.ptr(7) if ptr is None else ptr)
        e.put("Q", at + 16, size)
        yield case("O20", f"section_{name}", e.fix(), "corrupt", at, f"a section that is not inside the file ({name})")
    e = edited()
    e.put("I", e.entry(1), 0x9001)
    yield case("O21", "no_tables", e.fix(), "corrupt", e.directory, "no section 1")

    e = edited()
    at = e.entry(1)
    e.put("Q", at + 16, 71)
    yield case("O22", "tables_small", e.fix(), "corrupt", at, "section 1 has 71 bytes")
    e = edited()
    t = e.ptr(1)
    e.put("Q", t + 64, 1)
    yield case("O22", "tables_crc", e.fix(param=False), "checksum", t, "section 1 does not match param")
    for k, table in enumerate(("descriptors", "metadata", "allocation")):
        e = edited()
        e.put("Q", t + 24 * k, e.get("Q", t + 24 * k) + 8)
        yield case("O23", f"{table}_ptr", e.fix(), "corrupt", t + 24 * k, f"section 1 and header differ on the {table}")
    for k, name in ((0, "fields"), (1, "samples")):
        e = edited()
        e.put("Q", t + 24 * k + 16, 4)
        yield case("O23", f"entries_{name}", e.fix(), "corrupt", t + 24 * k + 16, f"another number of {name} than in the header")
    e = edited()
    e.put("Q", 17, 2**64 - 1)
    yield case("O23", "num_samples_max", e.fix(), "corrupt", t + 40, "num_samples 2^64-1 in the header")
    for k, name in ((0, "descriptors"), (2, "allocation")):
        e = edited()
        e.put("Q", t + 24 * k + 8, e.get("Q", t + 24 * k + 8) + 8)
        yield case("O23", f"bytes_{name}", e.fix(), "corrupt", t + 24 * k + 8, f"bytes of the {name} do not match its entries")
    e = edited()
    e.put("Q", t + 56, 16 << 40)
    e.put("Q", t + 64, 1 << 40)
    yield case("O23", "allocation_past_end", e.fix(), "corrupt", t + 48, "the allocation table passes the end")
    e = edited()
    e.put("Q", t + 56, 0)
    e.put("Q", t + 64, 1 << 60)
    yield case("O23", "allocation_wraps", e.fix(), "corrupt", t + 56, "16 times the entries is 2^64")
    e = edited()
    e.put("Q", 41, 64)
    e.put("Q", t + 24, 64)
    yield case("O23", "metadata_low", e.fix(), "corrupt", t + 24, "the metadata table begins in the header")
    e = edited()
    at = e.entry(1)
    e.put("Q", at + 16, 72)
    yield case("O24", "tables_without_blocks", e.fix(), "corrupt", at, "flag 4 without block checksums")
    e = edited(base.plain)
    e.put("Q", e.entry(1) + 16, 76)
    yield case("O24", "tables_too_long", e.fix(blocks=False), "corrupt", e.entry(1), "block checksums without flag 4")
    e = edited()
    at = e.descriptor(0)
    e.b[at + 3] ^= 1
    yield case("O25", "descriptor_crc", e.fix(blocks=False), "checksum", at, "a damaged descriptor")


def descriptor_cases(case, edited):
    def change(rule, name, i, member, data, status, what):
        e = edited()
        e.write(e.descriptor(i, member), data)
        return case(rule, name, e.fix(), status, e.descriptor(i, member), what)

    def u16(v):
        return struct.pack("<H", v)

    def u32(v):
        return struct.pack("<I", v)

    for name, text in (("no_nul", b"n" * 64), ("empty", bytes(64)), ("after_nul", b"id\0x".ljust(64, b"\0")),
                       ("utf8", b"\xc3(".ljust(64, b"\0")), ("surrogate", b"\xed\xa0\x80".ljust(64, b"\0")),
                       ("control", b"a\nb".ljust(64, b"\0")), ("delete", b"a\x7f".ljust(64, b"\0"))):
        yield change("O26", f"name_{name}", 0, NAME, text, "corrupt", f"a field name that is not allowed ({name})")
    yield change("O26", "name_twice", 4, NAME, b"arr".ljust(64, b"\0"), "corrupt", "two fields have one name")
    yield change("O27", "type_0", 1, TYPE, u16(0), "corrupt", "type_id 0")
    yield change("O28", "flag_16", 0, FLAGS, u16(16), "feature", "a descriptor flag that is not known")
    yield change("O28", "flag_32768", 0, FLAGS, u16(0x8000), "feature", "a descriptor flag that is not known")
    yield change("O28", "flags_4_and_8", 4, FLAGS, u16(12), "corrupt", "flags 4 and 8 together")
    yield change("O28", "prefix_without_payload", 0, FLAGS, u16(2), "corrupt", "flag 2 without 4 or 8")
    yield change("O28", "chunks_without_payload", 0, FLAGS, u16(32), "corrupt", "flag 32 without 4 or 8")
    yield change("O28", "chunks_without_encryption", 2, FLAGS, u16(40), "corrupt", "flag 32, but header flag 8 is clear")
    yield change("O28", "chunks_and_prefix", 3, FLAGS, u16(42), "corrupt", "flags 2 and 32 together")
    e = edited()
    e.put("I", 13, 5)
    yield case("O28", "prefix_without_header_flag", e.fix(), "corrupt", e.descriptor(3, FLAGS), "flag 2, but header flag 2 is clear")
    for name, i, value in (("zero", 0, 0), ("huge", 7, 65537), ("form_8", 4, 12), ("form_4", 5, 8)):
        yield change("O29", f"record_{name}", i, SIZE, u32(value), "corrupt", f"metadata_size {value}")
    for name, i, value in (("zero", 0, 0), ("three", 0, 3), ("large", 7, 128), ("payload", 4, 4)):
        yield change("O30", f"align_{name}", i, ALIGN, u16(value), "corrupt", f"row_align {value}")
    for name, i, value in (("unaligned", 1, 12), ("overlap", 1, 0), ("huge", 7, 16 << 20)):
        yield change("O31", f"offset_{name}", i, OFFSET, u32(value), "corrupt", f"row_offset {value}")
    for value in (129, 65534):
        yield change("O32", f"arguments_bytes_{value}", 0, ARGUMENTS_BYTES, u16(value), "corrupt", f"arguments_bytes {value}")
    e = edited()
    e.put("Q", e.ptr(1) + 32, e.get("Q", e.ptr(1) + 32) - 8)
    yield case("O33", "metadata_bytes", e.fix(), "corrupt", e.ptr(1) + 32, "the metadata table is not rows times row size")


def section_cases(base, case, edited):
    def entry(kind, name, member, value, what, source=None, by=None):
        e = edited(source)
        at = e.entry(kind)
        e.put("Q", at + member, e.get("Q", at + member) + by if by else value)
        return case("O34", name, e.fix(), "corrupt", at, what)

    size, param = 16, 32
    yield entry(2, "checks_param", param, 3, "payload checks for another number of fields")
    yield entry(2, "checks_size", size, 0, "payload checks are 4 bytes short", by=-4)
    yield entry(4, "statistics_param", param, 64, "statistics records of another size")
    yield entry(4, "statistics_size", size, 0, "statistics for one field less", by=-128)
    yield entry(5, "validity_param", param, 1, "validity of another number of fields")
    yield entry(5, "validity_size", size, 8, "validity is too short")
    yield entry(6, "keys_param", param, 41, "2^41 slots")
    yield entry(6, "keys_few_slots", param, 2, "fewer slots than 1.5 times the samples")
    yield entry(6, "keys_size", size, 48 + 64 - 8, "keys are too short")
    yield entry(7, "page_map_param", param, 8192, "a page map for another page size")
    yield entry(7, "page_map_size", size, 0, "the page map is too short", by=-8)
    yield entry(8, "dictionary_empty", size, 0, "an empty dictionary")
    yield entry(10, "long_arguments_small", size, 7, "long arguments of 7 bytes")
    yield entry(12, "history_size", size, 25, "history is no multiple of 24 bytes", base.grown)
    yield entry(9, "encryption_size", size, 152, "an encryption section of 152 bytes", base.locked)
    yield entry(15, "sealed_dictionary_short", size, 40, "an encrypted dictionary of 40 bytes", base.learned)
    e = edited(base.learned)
    e.put("I", e.entry(3), 8)
    yield case("O34", "two_dictionaries", e.fix(), "corrupt", e.entry(15), "a plain dictionary beside the encrypted one")
    e = edited()
    at = e.entry(8)
    e.put("I", at, 15)
    yield case("O34", "sealed_dictionary_without_flag", e.fix(), "corrupt", at,
               "an encrypted dictionary, but flag 8 is clear")
    e = edited(base.learned)
    e.b[e.ptr(15) + 2] ^= 64
    yield case("O34", "sealed_dictionary_crc", e.fix(sections=False), "checksum", e.ptr(15), "damaged: encrypted dictionary")
    e = edited()
    at = e.entry(3)
    e.put("I", at, 9)
    e.put("Q", at + 16, 160)
    e.put("Q", at + 8, 4096)
    yield case("O34", "encryption_without_flag", e.fix(), "corrupt", at, "an encryption section, but flag 8 is clear")
    for kind, name in ((4, "statistics"), (8, "dictionary"), (10, "long_arguments"), (12, "history")):
        e = edited(base.grown if kind == 12 else None)
        e.b[e.ptr(kind) + 2] ^= 64
        yield case("O34", f"{name}_crc", e.fix(sections=False), "checksum", e.ptr(kind), f"damaged: {name}")
    e = edited(base.locked)
    e.b[e.ptr(9) + 9] ^= 64
    yield case("O34", "encryption_crc", e.fix(sections=False), "checksum", e.ptr(9), "damaged: encryption")
    e = edited()
    e.put("Q", e.ptr(6), 56)
    yield case("O34", "keys_first_offset", e.fix(), "corrupt", e.ptr(6), "the first key offset is not 8(n+1)")
    e = edited()
    e.put("Q", e.ptr(6) + 40, 2**64 - 1)
    yield case("O34", "keys_last_offset", e.fix(), "corrupt", e.ptr(6) + 40, "the last key offset is wild")
    for name, member, code, value, status in (("algorithm", 0, "I", 2, "feature"), ("kdf", 4, "I", 2, "feature"),
                                              ("opslimit_0", 40, "Q", 0, "limit"), ("opslimit_17", 40, "Q", 17, "limit"),
                                              ("memlimit_low", 48, "Q", 8191, "limit"),
                                              ("memlimit_high", 48, "Q", (1 << 30) + 1, "limit")):
        e = edited(base.passphrase)
        e.put(code, e.ptr(9) + member, value)
        yield case("O34", name, e.fix(), status, e.ptr(9) + member, f"encryption: {name}", passphrase="open sesame")
    for name, member, code, value, offset in (
            ("count", 0, "I", 9, 0), ("field", 8, "I", 8, 8), ("not_long", 8, "I", 0, 8), ("offset_low", 16, "Q", 31, 8),
            ("offset_high", 16, "Q", 2**64 - 1, 8), ("bytes", 24, "Q", 1 << 30, 8)):
        e = edited()
        e.put(code, e.ptr(10) + member, value)
        yield case("O34", f"long_{name}", e.fix(), "corrupt", e.ptr(10) + offset, f"long arguments: {name}")
    e = edited(two_long())
    e.put("I", e.ptr(10) + 32, 0)
    yield case("O34", "long_order", e.fix(), "corrupt", e.ptr(10) + 32, "long arguments: fields do not ascend")
    for kind, name, source in ((2, "checks", None), (5, "validity", None), (9, "encryption", base.locked)):
        e = edited(source)
        e.drop(kind)
        yield case("O35", f"no_{name}", e.fix(), "corrupt", e.directory, f"section {kind} is missing")


def two_long():
    names = [[f"a_member_with_a_long_name_{i}", "<u2"] for i in range(8)]
    return mv.Writer([mv.inline("a", names), mv.inline("b", names)], [[{"a": bytes(16), "b": bytes(16)}]]).write()


def argument_cases(case, edited):
    def arguments(name, i, text, what, member=ARGUMENTS):
        e = edited()
        e.write(e.descriptor(i, ARGUMENTS), text.ljust(128, b"\0"))
        e.put("H", e.descriptor(i, ARGUMENTS_BYTES), len(text))
        if i == 6:
            e.put("I", e.ptr(10), 0)
        return case("O36", name, e.fix(), "corrupt", e.descriptor(i, member), what)

    e = edited()
    e.put("I", e.ptr(10), 0)
    yield case("O36", "long_missing", e.fix(), "corrupt", e.descriptor(6, ARGUMENTS_BYTES), "long arguments that are not there")
    e = edited()
    at = e.ptr(10) + 32
    e.b[at] = ord("[")
    yield case("O36", "long_not_json", e.fix(), "corrupt", at, "long arguments that are no JSON object")
    yield arguments("not_json", 0, b'{"dtype":', "arguments that are cut")
    yield arguments("not_object", 0, b'["<u2"]', "arguments that are a list")
    yield arguments("key_twice", 0, b'{"a":1,"a":2}', "a key is there twice")
    yield arguments("not_utf8", 0, b'{"a":"\xff"}', "arguments that are not UTF-8")
    yield arguments("int_dtype", 0, b'{"dtype":"<f4"}', "an INT of a type that is none")
    yield arguments("int_dtype_number", 0, b'{"dtype":8}', "a dtype that is a number")
    yield arguments("array_no_dtype", 2, b'{"shape":[null,2]}', "an array without dtype")
    yield arguments("array_dtype", 2, b'{"dtype":">i2","shape":[null,2]}', "a big-endian array")
    yield arguments("array_no_shape", 2, b'{"dtype":"<i2"}', "an array without shape")
    yield arguments("array_shape", 2, b'{"dtype":"<i2","shape":[null,-2]}', "a negative dimension")
    yield arguments("array_shape_float", 2, b'{"dtype":"<i2","shape":[null,2.5]}', "a dimension of 2.5")
    yield arguments("array_ndim", 2, b'{"dtype":"<i2","shape":[1,1,1,1,1,1,1,1,null]}', "nine dimensions")
    yield arguments("inline_no_descr", 6, b'{}', "INLINE without descr")
    yield arguments("inline_type", 6, b'{"descr":[["a","<x2",[8]]]}', "an INLINE member of a type that is none")
    yield arguments("inline_twice", 6, b'{"descr":[["a","<u8"],["a","<u8"]]}', "two members of one name")
    yield arguments("inline_control", 6, b'{"descr":[["a\x7f","<u8"],["b","<u8"]]}', "a control character in a member's name")
    yield arguments("inline_size", 6, b'{"descr":[["' + b"n" * 100 + b'","<u8"]]}', "INLINE of another size than its record",
                    SIZE)
    yield arguments("inline_large", 6, b'{"descr":[["a","<u8",[513]]]}', "INLINE of 4104 bytes")
    yield arguments("inline_shape", 6, b'{"descr":[["a","<u8",[2,0]]]}', "a dimension of 0 in INLINE")
    yield arguments("inline_deep", 6, b'{"descr":' + b'[["a",' * 9 + b'"<u8"' + b']]' * 9 + b'}', "nested nine deep")
    yield arguments("private_nameless", 7, b'{"rate":1}', "a private type without its name")
    e = edited()
    e.put("H", e.descriptor(4, FLAGS), 4)
    yield case("O36", "payload_flag", e.fix(), "corrupt", e.descriptor(4, FLAGS), "JSON with flag 4")
    e = edited()
    e.put("H", e.descriptor(0, FLAGS), 1)
    e.put("H", e.descriptor(1, FLAGS), 0)
    e.put("H", e.descriptor(0, TYPE), 40)
    yield case("O36", "payload_flag_none", e.fix(), "corrupt", e.descriptor(0, FLAGS), "text without a payload flag")
    e = edited()
    e.put("I", e.descriptor(1, SIZE), 4)
    yield case("O36", "record_size", e.fix(), "corrupt", e.descriptor(1, SIZE), "INT with a record of 4 bytes")


def sealed_cases(base, case):
    key, data = base.key.hex(), mv.sealed(base.locked)
    at, size = len(data) - 232, len(data)
    yield case("S1", "cut", data[:-8], "truncated", size - 8, "the envelope is cut", key=key)
    for name, place, value, status, offset in (("magic", 0, b"X", "corrupt", 0), ("crc", 40, b"\0", "checksum", 228)):
        e = Editor(data)
        e.write(at + place, value)
        yield case("S2", name, e.b, status, at + offset, f"the envelope's {name}", key=key)
    for name, member, value in (("tail", 8, 4096 + 32), ("tail_bytes", 16, 2**63), ("prefix_bytes", 24, 128)):
        e = Editor(data)
        e.put("Q", at + member, value)
        e.put("I", at + 228, mv.crc(bytes(e.b[at:at + 228])))
        yield case("S3", name, e.b, "corrupt", at + 8, f"the envelope's {name}", key=key)
    for name, member, offset in (("algorithm", 56, 56), ("kdf", 60, 60)):
        e = Editor(data)
        e.put("I", at + member, 9)
        e.put("I", at + 228, mv.crc(bytes(e.b[at:at + 228])))
        yield case("S4", name, e.b, "feature", at + offset, f"the envelope's {name}", key=key)
    yield case("S5", "no_key", data, "key_missing", at + 56, "no key given")
    yield case("S5", "passphrase_for_key", data, "key_wrong", at + 60, "a passphrase where a key is needed", passphrase="x")
    yield case("S5", "wrong_key", data, "key_wrong", at + 56 + 80, "another key", key="00" * 32)
    tail = struct.unpack_from("<Q", data, at + 8)[0]
    for name, place in (("table", tail + 3), ("tag", at - 20)):
        e = Editor(data)
        e.b[place] ^= 1
        yield case("S6", name, e.b, "tampered", tail, f"a bit of an encrypted {name}", key=key)


def locked_cases(base, case, edited):
    key, e = base.key.hex(), edited(base.locked)
    s = e.ptr(9)
    yield case("O37", "no_key", base.locked, "key_missing", s, "no key given")
    yield case("O37", "passphrase_for_key", base.locked, "key_wrong", s + 4, "a passphrase where a key is needed", passphrase="x")
    yield case("O37", "wrong_key", base.locked, "key_wrong", s + 80, "another key", key="00" * 32)
    yield case("O37", "wrong_passphrase", base.passphrase, "key_wrong", Editor(base.passphrase).ptr(9) + 80,
               "another passphrase", passphrase="open barley")
    e.put("Q", e.record(1, 0), 99)
    yield case("O37", "edited_row", e.fix(), "tampered", s + 128, "a row was edited and all checksums made right", key=key)
    e = edited(base.locked)
    e.put("I", e.footer + 72, 5)
    e.put("Q", e.ptr(4), 2)
    yield case("O37", "edited_section", e.fix(), "tampered", s + 128, "statistics were edited", key=key)
    e = edited(base.learned)
    s = e.ptr(9)
    e.b[e.ptr(15) + 30] ^= 1
    yield case("O37", "edited_dictionary", e.fix(), "tampered", s + 128, "a bit of the encrypted dictionary", key=key)
    e = edited(base.learned)
    e.put("I", e.entry(15), 8)
    yield case("O37", "dictionary_downgraded", e.fix(), "tampered", s + 128,
               "the encrypted dictionary is called a plain one", key=key)
    e = edited(base.learned)
    e.put("Q", e.entry(15) + 16, len(mv.DICTIONARY))
    e.put("I", e.entry(15), 8)
    e.write(e.ptr(8), mv.DICTIONARY)
    yield case("O37", "dictionary_replaced", e.fix(), "tampered", s + 128,
               "a plain dictionary in place of the encrypted one", key=key)
    e = edited(base.learned)
    e.b[e.ptr(15) + 30] ^= 1
    yield case("O37", "dictionary_not_sealed", relock(e, base), "tampered", e.ptr(15),
               "a dictionary that does not open, with a MAC that is right", key=key)


def draft(fields=((b"a", 1, 8), (b"b", 3, 16)), rows=bytes(24), stride=208, n=1, flags=1, payload=b""):
    """A 1.0 file: magic, header, descriptors at 73, rows at the next multiple of 64, payloads."""
    out = bytearray(mv.MAGIC + bytes(64))
    for name, type_id, size in fields:
        out += struct.pack("<64sHHI132x", name, type_id, 0, size) + bytes(stride - 204)
    metadata = mv.up(len(out), 64)
    out += bytes(metadata - len(out)) + rows
    data_ptr = mv.up(len(out), 4096)
    alloc = data_ptr
    if payload:
        out += bytes(data_ptr - len(out)) + payload
        alloc = len(out)
        out += struct.pack("<QQ", data_ptr, len(payload))
    out[9:73] = struct.pack("<HHIQHHIQQQQQ", 1, 0, flags, n, len(fields), 0, 4096, 73, metadata, data_ptr, alloc, 0)
    return out


def draft_cases(case):
    for flag, name in ((3, "compressed"), (9, "encrypted")):
        yield case("Z1", name, draft(flags=flag), "feature", 13, f"a 1.0 file that says it is {name}")
    yield case("Z2", "no_fields", draft(fields=()), "corrupt", 25, "a 1.0 file without fields")
    b = draft()
    struct.pack_into("<Q", b, 33, 70)
    yield case("Z2", "descriptors_low", b, "corrupt", 33, "field_desc_ptr 70")
    yield case("Z3", "descriptors_cut", draft()[:73 + 407], "truncated", 480, "cut inside the descriptors")
    yield case("Z4", "name", draft(((b"", 1, 8),)), "corrupt", 73, "a field without a name")
    yield case("Z4", "type", draft(((b"x", 0, 8),)), "corrupt", 73 + 64, "type 0")
    yield case("Z4", "record", draft(((b"x", 3, 8),)), "corrupt", 73 + 68, "a BYTES record of 8 bytes")
    b = draft()
    struct.pack_into("<Q", b, 41, 8)
    yield case("Z6", "metadata_low", b, "corrupt", 41, "metadata_ptr 8")
    b = draft()
    yield case("Z6", "metadata_cut", b[:-1], "truncated", len(b) - 1, "cut inside the rows")
    b = draft()
    struct.pack_into("<Q", b, 17, 2**61)
    yield case("Z6", "num_samples", b, "truncated", len(b), "2^61 samples")
    b = draft()
    struct.pack_into("<Q", b, 57, 72)
    yield case("Z7", "allocation_low", b, "corrupt", 57, "alloc_table_ptr 72")
    yield case("V13", "record", draft(((b"x", 2, 7),), bytes(8)), "corrupt", 73 + 68, "a FLOAT record of 7 bytes in a 1.0 file",
               when="verify")
    yield case("V13", "arguments", draft(((b"x", 4, 16),), bytes(16)), "feature", 73 + 64, "an array without arguments in a 1.0 file",
               when="verify")
    b = draft(rows=struct.pack("<qQQ", 1, 4096, 100), payload=b"pay")
    yield case("A3", "draft_payload", b, "corrupt", 512 + 8, "a 1.0 payload that passes the end", when="access",
               sample=0, field="b")


def access_cases(base, case, edited):
    def record(rule, name, sample, field, member, code, value, status, what, offset=None, **more):
        e = edited()
        at = e.record(sample, field)
        e.put(code, at + member, value)
        return case(rule, name, e.fix(), status, at + (member if offset is None else offset), what, when="access",
                    sample=sample, field=base.fields[field].name, **more)

    e = edited()
    yield case("A1", "no_sample", base.rich, "no_sample", None, "sample 5 of 5", when="access", sample=5, field="id")
    yield case("A1", "no_field", base.rich, "no_field", None, "a field that is not there", when="access", sample=0, field="ID")
    yield record("A3", "empty_with_ptr", 1, 4, 8, "Q", 0, "corrupt", "size 0 but a pointer", 0)
    yield record("A3", "ptr_zero", 1, 4, 0, "Q", 0, "corrupt", "a size but no pointer")
    yield record("A3", "ptr_low", 1, 4, 0, "Q", 4088, "corrupt", "a pointer in front of the data")
    yield record("A3", "past_end", 1, 4, 8, "Q", 1 << 20, "corrupt", "the payload passes the end", 0)
    yield record("A3", "wraps", 1, 4, 8, "Q", 2**64 - 100, "corrupt", "pointer plus size wraps", 0)
    yield record("A3", "ptr_past_end", 1, 5, 0, "Q", 2**64 - 1, "corrupt", "a pointer past the end")

    e = edited(base.locked)
    r = e.record(0, 1)
    ptr = e.get("Q", r)
    e.b[ptr + 30] ^= 1
    e.put("I", e.ptr(2), mv.crc(e.b[ptr:ptr + e.get("I", r + 8)]))
    yield case("A5", "flipped", relock(e, base), "tampered", ptr, "a bit of an encrypted payload", when="access", sample=0,
               field="name", key=base.key.hex())
    e = edited(base.locked)
    r0, r1 = e.record(0, 1), e.record(2, 1)
    first, second = bytes(e.b[r0:r0 + 16]), bytes(e.b[r1:r1 + 16])
    e.write(r0, second)
    e.write(r1, first)
    yield case("A5", "swapped", relock(e, base), "tampered", struct.unpack_from("<Q", second)[0],
               "two payloads were exchanged by one who has the key", when="access", sample=0, field="name", key=base.key.hex())
    e = edited(base.locked)
    e.put("I", e.record(0, 1) + 8, 40)
    yield case("A5", "short", relock(e, base), "corrupt", e.record(0, 1) + 8, "40 bytes of ciphertext", when="access",
               sample=0, field="name", key=base.key.hex())

    e = edited(base.chunked)
    r = e.record(0, 0)
    ptr = e.get("Q", r)
    e.b[ptr + 24 + 65552 + 2] ^= 1
    e.put("I", e.ptr(2), mv.crc(e.b[ptr:ptr + e.get("Q", r + 8)]))
    yield case("A5", "chunk_flipped", relock(e, base), "tampered", ptr + 24 + 65552, "a bit of the second chunk", when="access", sample=0, field="a",
               key=base.key.hex())
    e = edited(base.chunked)
    e.put("Q", r + 8, 24 + 65552)
    e.put("I", e.ptr(2), mv.crc(e.b[ptr:ptr + 24 + 65552]))
    yield case("A5", "chunk_dropped", relock(e, base), "tampered", ptr + 24, "the last chunk was left out by one who has the key", when="access",
               sample=0, field="a", key=base.key.hex())
    e = edited(base.chunked)
    e.put("Q", r + 8, 24 + 65552 + 16)
    e.put("I", e.ptr(2), mv.crc(e.b[ptr:ptr + 24 + 65552 + 16]))
    yield case("A5", "chunk_empty", relock(e, base), "corrupt", e.record(0, 0) + 8, "a last chunk of a tag alone", when="access", sample=0,
               field="a", key=base.key.hex())

    for name, at, value, status in (("codec", 7, 2, "feature"), ("stored_size", 0, 7, "corrupt")):
        e = edited()
        r = e.record(2, 3)
        ptr = e.get("Q", r)
        e.b[ptr + at] = value
        yield case("A6", name, e.fix(), status, ptr, f"compression prefix: {name}", when="access", sample=2, field="blob")
    e = edited()
    e.put("Q", e.record(2, 3) + 8, 8)
    yield case("A6", "short", e.fix(), "corrupt", e.record(2, 3) + 8, "a prefix and nothing else", when="access", sample=2, field="blob")
    for name, prefix in (("raw_zero", bytes(7) + b"\0"), ("raw_huge", b"\xff" * 7 + b"\1"),
                         ("raw_other", (2111).to_bytes(7, "little") + b"\1")):
        e = edited()
        ptr = e.get("Q", e.record(0, 3))
        e.write(ptr, prefix)
        yield case("A6", name, e.fix(), "corrupt", ptr, f"compression prefix: {name}", when="access", sample=0, field="blob")
    for name, at, value in (("no_frame", 8, 0), ("frame_damaged", 8 + 7, 0xFF)):
        e = edited()
        ptr = e.get("Q", e.record(0, 3))
        e.b[ptr + at] = value
        yield case("A6", name, e.fix(), "corrupt", ptr, f"zstd: {name}", when="access", sample=0, field="blob")
    e = edited()
    r = e.record(0, 3)
    e.put("Q", r + 8, e.get("Q", r + 8) + 1)
    yield case("A6", "after_frame", e.fix(), "corrupt", e.get("Q", r), "a byte after the zstd frame", when="access", sample=0, field="blob")
    e = edited()
    r = e.record(0, 3)
    e.put("Q", r + 8, e.get("Q", r + 8) - 1)
    yield case("A6", "frame_cut", e.fix(), "corrupt", e.get("Q", r), "the zstd frame lacks a byte", when="access", sample=0, field="blob")
    e = edited()
    at = e.entry(8)
    e.put("I", at, 0x8008)
    e.put("I", at + 4, 0)
    yield case("A6", "no_dictionary", e.fix(), "corrupt", e.get("Q", e.record(1, 3)), "a frame whose dictionary is missing",
               when="access", sample=1, field="blob")

    yield record("A7", "bool_two", 0, 1, 0, "Q", 2, "corrupt", "a bool of 2")
    e = Editor(mv.Writer([mv.integer("n", "<i2")], [[{"n": 5}]]).write())
    e.put("q", e.record(0, 0), -32769)
    yield case("A7", "int_range", e.fix(), "corrupt", e.record(0, 0), "-32769 in an <i2", when="access", sample=0, field="n")
    yield record("A7", "array_fixed_dim", 0, 2, 20, "I", 3, "corrupt", "a stored dimension differs from the fixed one")
    yield record("A7", "array_size", 0, 2, 16, "I", 3, "corrupt", "the shape does not match the payload", 8)
    yield record("A7", "array_size_zero", 0, 2, 16, "I", 0, "corrupt", "an empty shape with a payload", 8)
    e = Editor(mv.Writer([mv.ndarray("a", "<c16", [None] * 8)], [[{"a": mv.Array(bytes(16), [1] * 8)}]]).write())
    for k in range(8):
        e.put("I", e.record(0, 0) + 16 + 4 * k, 2**32 - 1)
    yield case("A7", "array_wraps", e.fix(), "corrupt", e.record(0, 0) + 8, "the product of the dimensions wraps", when="access",
               sample=0, field="a")
    e = edited()
    e.write(e.record(0, 4), bytes(16))
    yield case("A7", "json_empty", e.fix(), "corrupt", e.record(0, 4) + 8, "an empty JSON value", when="access", sample=0, field="doc")
    for name, member, value, status in (("mode", 17, 8, "feature"), ("orientation", 20, 9, "corrupt"), ("channels", 16, 5, "corrupt"),
                                        ("bits", 18, 4, "corrupt"), ("size", 12, 4, "corrupt")):
        e = Editor(mv.Writer([mv.image_field("image")], [[{"image": mv.image(3, 2, 3, 0, bytes(18))}]]).write())
        e.b[e.record(0, 0) + member] = value
        yield case("A7", f"image_{name}", e.fix(), status, e.record(0, 0) + (8 if name == "size" else member),
                   f"an image record: {name}", when="access", sample=0, field="image")
    for name, code, member, value, status, at in (
            ("codec", "B", 31, 1, "feature", 31), ("bits", "B", 30, 12, "corrupt", 30), ("codec_bits", "B", 31, 17, "corrupt", 30),
            ("rate_zero", "I", 24, 0, "corrupt", 24), ("rate", "I", 24, 44100, "corrupt", 24), ("channels_zero", "H", 28, 0, "corrupt", 28),
            ("channels", "H", 28, 3, "corrupt", 28), ("size", "Q", 16, 4, "corrupt", 8), ("size_wraps", "Q", 16, 2**62 + 3, "corrupt", 8)):
        field = mv.sound_field("sound", {"channels": 2, "rate": 16000})
        e = Editor(mv.Writer([field], [[{"sound": mv.sound(3, 16000, 2, 16, 0, bytes(12))}]]).write())
        e.put(code, e.record(0, 0) + member, value)
        yield case("A7", f"audio_{name}", e.fix(), status, e.record(0, 0) + at, f"an audio record: {name}", when="access", sample=0,
                   field="sound")
    yield from packets()
    yield from videos()
    yield from video_packets()
    yield record("A7", "text_encoding", 0, 5, 14, "B", 1, "feature", "text of another encoding")
    yield from tokens()
    yield from levels()
    yield from features()
    yield from flow()
    yield from multimodal()
    yield from plans()

    e = edited()
    s = e.ptr(6)
    e.put("Q", s + 16, 47)
    yield case("A8", "key_low", e.fix(), "corrupt", s + 16, "a key that begins in the offsets", when="access", call="key", sample=2)
    e = edited()
    e.put("Q", s + 16, e.get("Q", s + 24))
    yield case("A8", "key_empty", e.fix(), "corrupt", s + 16, "an empty key", when="access", call="key", sample=2)
    e = edited()
    e.put("Q", s + 16, e.get("Q", s + 24) + 1)
    yield case("A8", "key_backwards", e.fix(), "corrupt", s + 16, "a key that ends before it begins", when="access", call="key", sample=2)
    e = edited()
    e.put("Q", s + 24, 2**63)
    yield case("A8", "key_past_end", e.fix(), "corrupt", s + 16, "a key that passes the section", when="access", call="key", sample=2)
    e = edited()
    slots = s + e.size(6) - 64
    home = slots + 8 * (mv.hash64(b"alpha") % 8)
    e.put("Q", home, 6)
    yield case("A9", "slot", e.fix(), "corrupt", home, "a slot with sample 5 of 5", when="access", call="find", find="alpha")
    e = edited()
    for k in range(8):
        e.put("Q", slots + 8 * k, 1)
    yield case("A9", "full_table", e.fix(), "no_sample", None, "no empty slot: the search must end", when="access", call="find", find="zeta")
    e = edited()
    e.b[e.ptr(3)] = ord("x")
    yield case("A10", "card_crc", e.b, "checksum", e.ptr(3), "a damaged card", when="access", call="card")
    yield case("A10", "card_not_json", e.fix(), "corrupt", e.ptr(3), "a card that is no JSON", when="access", call="card")
    e = edited()
    e.write(e.ptr(3), b'["abcdefghijk"]')
    e.put("Q", e.entry(3) + 16, 15)
    yield case("A10", "card_list", e.fix(), "corrupt", e.ptr(3), "a card that is a list", when="access", call="card")


def relock(e, base):
    """Makes the MAC right again, as one could who has the key."""
    e.fix()
    header, tables, t = bytes(e.b[9:73]), b"", e.ptr(1)
    for k in range(3):
        ptr, size = e.get("Q", t + 24 * k), e.get("Q", t + 24 * k + 8)
        tables += bytes(e.b[ptr:ptr + size])
    authenticated = header + tables
    for at in range(e.directory + 16, e.footer, 40):
        kind, flags, ptr, size, _, _, param = struct.unpack_from("<IIQQIIQ", e.b, at)
        if kind != 9:
            authenticated += struct.pack("<IIQQ", kind, flags, size, param) + bytes(e.b[ptr:ptr + size])
    e.write(e.ptr(9) + 128, mv.keyed_hash(authenticated, mv.derive(mv.constant_bytes("file key", 32), 2)))
    return e.fix()


def verify_cases(base, case, edited):
    def verify(rule, name, data, status, offset, what, **more):
        return case(rule, name, data, status, offset, what, when="verify", **more)

    for kind, name in ((2, "checks"), (3, "card"), (5, "validity"), (6, "keys"), (7, "page_map")):
        e = edited()
        at = e.ptr(kind) + (12 if kind == 6 else 0)
        e.b[at] ^= 16
        yield verify("V1", f"{name}_crc", e.fix(sections=False), "checksum", e.ptr(kind), f"damaged: {name}")
    e = Editor(mv.small(2, sections=[(200, 0, b"optional", 0)]).write())
    e.b[e.ptr(200)] ^= 1
    yield verify("V1", "unknown_crc", e.b, "checksum", e.ptr(200), "a damaged section of unknown kind")
    e = edited()
    e.b[e.record(3, 0)] ^= 1
    yield verify("V2", "rows", e.b, "checksum", e.get("Q", 41), "a damaged row: its block is named", sample=0)
    w, _, _ = mv.inline_blocks()
    mv.finish_values(w)
    e = Editor(w.write())
    e.b[e.record(16, 0)] ^= 1
    yield verify("V2", "rows_second_block", e.b, "checksum", e.get("Q", 41) + 65536, "a damaged row in the second block", sample=15)
    e = edited()
    e.b[e.get("Q", 57) + 8] ^= 1
    yield verify("V2", "allocation", e.b, "checksum", e.get("Q", 57), "a damaged allocation")
    a = e.get("Q", 57)
    for name, k, member, value in (("order", 1, 0, 4096), ("size_zero", 2, 8, 0), ("past_end", 2, 8, 1 << 40),
                                   ("low", 0, 0, 4000)):
        e = edited()
        e.put("Q", a + 16 * k + member, value)
        yield verify("V3", name, e.fix(), "corrupt", a + 16 * k, f"allocation table: {name}")
    e = edited()
    e.b[e.ptr(5) + 8 + 0] |= 0x20
    yield verify("V4", "padding_bit", e.fix(), "corrupt", e.ptr(5) + 8, "a validity bit of a sample that is not there")
    e = edited()
    at = e.ptr(6) + e.get("Q", e.ptr(6))
    e.b[at] = 0xFF
    yield verify("V5", "not_utf8", e.fix(), "corrupt", at, "a key that is not UTF-8", sample=0)
    e = edited()
    e.put("Q", e.ptr(6) + e.size(6) - 64 + 8 * e_slot(e, 2), 0)
    yield verify("V5", "lost_key", e.fix(), "corrupt", e.ptr(6) + 16, "a key that no slot leads to", sample=2)
    e = edited()
    empty = next(k for k in range(8) if e.get("Q", e.ptr(6) + e.size(6) - 64 + 8 * k) == 0)
    e.put("Q", e.ptr(6) + e.size(6) - 64 + 8 * empty, 1)
    yield verify("V5", "slot_count", e.fix(), "corrupt", e.ptr(6) + e.size(6) - 64, "one slot too many is used")
    e = edited()
    e.put("Q", e.ptr(7), 3)
    yield verify("V6", "page_map", e.fix(), "corrupt", e.ptr(7), "the first page says sample 3")
    e = edited(base.grown)
    e.put("I", e.ptr(12), 2)
    yield verify("V7", "generation", e.fix(), "corrupt", e.ptr(12), "history of a generation to come")
    e = edited(base.grown)
    e.put("Q", e.ptr(12) + 16, 3)
    yield verify("V7", "count", e.fix(), "corrupt", e.ptr(12), "history of more samples than there are")
    e = edited()
    e.put("Q", e.record(2, 1), 1)
    yield verify("V8", "null_record", e.fix(), "corrupt", e.record(2, 1), "a null with a record", sample=2, field="bit")
    e = edited()
    ptr = e.get("Q", e.record(4, 5))
    e.b[ptr + 2] ^= 1
    yield verify("V8", "payload", e.b, "checksum", ptr, "a flipped bit in a payload", sample=4, field="note")
    e = edited()
    at = e.ptr(2) + 4 * (3 * 4 + 1)
    e.put("I", at, 77)
    yield verify("V8", "empty_payload", e.fix(), "checksum", e.record(3, 3), "a checksum of an empty payload", sample=3, field="blob")
    e = edited(base.plain)
    e.put("I", e.record(0, 1) + 8, 3)
    yield verify("V8", "no_allocation", e.fix(), "corrupt", e.record(0, 1), "a payload without its allocation entry", sample=0, field="name")
    e = edited(base.plain)
    e.write(e.record(1, 1), bytes(16))
    e.put("Q", e.ptr(7), 0)
    yield verify("V9", "allocations", e.fix(), "corrupt", e.get("Q", 57), "an allocation that no row uses")
    e = edited()
    e.put("Q", e.ptr(4) + 128 * 4 + 24, 6)
    yield verify("V12", "stored_bytes_max", e.fix(), "corrupt", e.ptr(4) + 128 * 4, "a payload larger than the statistics say")
    e = edited()
    e.put("Q", e.ptr(4) + 128 * 3 + 32, len(mv.FOX) - 1)
    yield verify("V12", "value_bytes_max", e.fix(), "corrupt", e.ptr(4) + 128 * 3, "a compressed value larger than the statistics say")
    e = edited()
    e.put("I", e.ptr(4) + 128 * 2 + 80, 1)
    yield verify("V12", "dims_max", e.fix(), "corrupt", e.ptr(4) + 128 * 2, "a dimension larger than the statistics say")
    data = bytearray(base.hello)
    data[9 + 20] ^= 1
    yield verify("V0", "front_header", data, "corrupt", 29, "the front header is damaged, the footer is not")
    e = edited()
    e.b[e.ptr(3)] = ord("x")
    yield verify("V10", "card", e.fix(), "corrupt", e.ptr(3), "a card that is no JSON")
    for name, field, at, value in (("json", 4, 0, ord("x")), ("text", 5, 0, 0xFF)):
        e = edited()
        ptr = e.get("Q", e.record(1, field))
        e.b[ptr + at] = value
        k = {4: 2, 5: 3}[field]
        size = e.get("Q" if field == 4 else "I", e.record(1, field) + 8)
        e.put("I", e.ptr(2) + 4 * (1 * 4 + k), mv.crc(e.b[ptr:ptr + size]))
        yield verify("V11", name, e.fix(), "corrupt", ptr, f"a value that is not {name}", sample=1, field=base.fields[field].name, deep=True)
    for name, value in (("json_key_twice", '{"a":1,"\\u0061":2}'), ("json_half_pair", '["\\ud800"]')):
        e = Editor(mv.Writer([mv.js("doc")], [[{"doc": value}]]).write())
        yield verify("V11", name, e.b, "corrupt", e.get("Q", e.record(0, 0)), f"a value that is no JSON: {value}", sample=0, field="doc",
                     deep=True)
    e = Editor(mv.Writer([mv.inline("u", [["w", "<U1"]])], [[{"u": b"a\0\0\0"}]]).write())
    e.put("I", e.record(0, 0), 0x110000)
    yield verify("V11", "inline_text", e.fix(), "corrupt", e.record(0, 0), "a character above 0x10FFFF", sample=0, field="u", deep=True)


def e_slot(e, sample):
    slots = e.ptr(6) + e.size(6) - 64
    return next(k for k in range(8) if e.get("Q", slots + 8 * k) == sample + 1)


def main(folder):
    manifest = []
    for entry in cases(Base()):
        with open(os.path.join(folder, entry["file"]), "wb") as file:
            file.write(entry.pop("data"))
        manifest.append(entry)
    names = [entry["file"] for entry in manifest]
    assert len(set(names)) == len(names), sorted(n for n in names if names.count(n) > 1)
    with open(os.path.join(folder, "manifest.json"), "w", encoding="utf-8") as file:
        file.write(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
