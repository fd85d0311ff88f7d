"""Values of VIDEO_COMPRESSED for the test vectors: payloads put together by hand, of two images of MJPEG and a FLAC recording.

The images were made once by ffmpeg (testsrc2 of 16 x 16 pixels, 4:2:0, quality 8); the tables that every MJPEG decoder knows were taken out.
"""
import struct

IMAGES = (
    bytes.fromhex(
        "ffd8ffdb0043000810101310131616161616161a181a1b1b1b1a1a1a1a1b1b1b1d1d1d2222221d1d1d1b1b1d1d202022222526252323222326262828"
        "2830302e2e38383a454553ffc00011080010001003012200021100031100ffda000c03010002110311003f00f2e267795923ec371fba00006492cdc0"
        "1ee4d4d69f6cb79b09f2b6d0f9fdd95d983f3ee394dbcf5ce33c75ad9b620b5d478dccde49099c1709cb007d71e9cfa568c6e82d7ecdb3127facfb3e"
        "e3b821977ecddfded9dbefe39c515736c44e53b7328ca51f7799be58c95f99eb1f763b6c979a3e82be1e3cd562e4e5caaac7d6f78b85ad2d651e9ae9"
        "d19fffd9"),
    bytes.fromhex(
        "ffd8ffdb0043000810101310131616161616161a181a1b1b1b1a1a1a1a1b1b1b1d1d1d2222221d1d1d1b1b1d1d202022222526252323222326262828"
        "2830302e2e38383a454553ffc00011080010001003012200021100031100ffda000c03010002110311003f00e022bbbd86e1c5b3ed206e3c478002f2"
        "497180393c93552d3ed96d3109f2b6d0f9f90aecda7e6dc729b79eb9c678eb5ab6fb5cddc646f2fe4909920b84396008ef8f4e7d2b56374fb2fd9f66"
        "24ff0059f67dc770432efd9bbfbdb3b7dfc738af3a9e2e5414a34a0a3cdece336959c972df9e4d495e316dad5597f32b9f4b8aa319d6c436eee4eb5f"
        "fbda38726cf570b2ebeee96b1fffd9"),
)


def payload(crc32c, images, sound=None, turn=0, start=(0, 1)):
    """(record without ptr and size, payload). images: packets, each a frame, shown at ticks 0, 1, 3, 6 ...; sound: (record, payload) of AUDIO_COMPRESSED."""
    streams, n = (2 if sound else 1), len(images)
    configs = 64 + 192 * streams
    table = (configs + 16 + 7) // 8 * 8
    frames = table
    packets = frames + 24 * n
    data = (packets + 32 * n + 63) // 64 * 64
    size = sum(map(len, images))
    sound_at = (data + size + 63) // 64 * 64 if sound else data + size
    total = sound_at + (len(sound[1]) if sound else 0)
    ticks = [k * (k + 1) // 2 for k in range(n + 1)]
    entry = bytearray(192)
    struct.pack_into("<HBxIiiIIqqQQIIQHBBIIII", entry, 0, 0, 8, 0, -99, -99, 1, 10, 5, 5 + ticks[n], packets, frames, n, n, configs, 1, 0, turn, 16, 16, 0, 0)
    entry[92:103] = bytes([3, 8, 1, 1, 0, 1, 2, 2, 5, 2, 2])
    out = bytearray(data)
    out[64:256] = entry
    if sound:
        second = bytearray(192)
        samples, rate, channels, bits, codec = struct.unpack("<QIHBB", sound[0])
        struct.pack_into("<HB", second, 0, 1, codec)
        struct.pack_into("<II", second, 16, 1, rate)
        struct.pack_into("<IHBxQ", second, 104, rate, channels, bits, samples)
        struct.pack_into("<qQQQ", second, 144, start[0], start[1], sound_at, len(sound[1]))
        out[256:448] = second
    struct.pack_into("<QI", out, configs, configs + 16, 0)
    at = 0
    for k, image in enumerate(images):
        struct.pack_into("<qIIIHH", out, frames + 24 * k, ticks[k], k, k, ticks[k + 1] - ticks[k], 0, 0)
        struct.pack_into("<qQIiIHH", out, packets + 32 * k, 5 + ticks[k], at, len(image), 0, ticks[k + 1] - ticks[k], 1, 0)
        at += len(image)
    struct.pack_into("<HHIQQQQ", out, 0, 1, streams, 0, table, data, size, total)
    struct.pack_into("<I", out, 56, crc32c(bytes(out[:56]) + bytes(out[64:table])))
    out += b"".join(images)
    if sound:
        out += bytes(sound_at - len(out)) + sound[1]
    heard = struct.pack("<QQ", 0, 0) + bytes(8)
    if sound:
        heard = struct.pack("<QQIHBB", samples, len(sound[1]), rate, channels, bits, codec)
    record = struct.pack("<IIHHIIBBHQ", n, n, 16, 16, 10, 1, 8, streams, 0, 100000 * ticks[n]) + heard
    return record, bytes(out)
