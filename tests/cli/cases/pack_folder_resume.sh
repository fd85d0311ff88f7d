# Folders, interrupted: nothing is left without --resume; with it the run goes on and the bytes are those of one run.
images=$source_dir/tests/data/images
python3 - "$images" <<'END'
import os, shutil, struct, sys, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
side = 500
rows = b"".join(b"\0" + bytes((x * y + c * 80) & 255 for x in range(side) for c in range(3)) for y in range(side))
png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) + \
    chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")
for c in "abcd":
    os.makedirs("many/" + c)
    for i in range(60):
        with open("many/%s/%03d.png" % (c, i), "wb") as f:
            f.write(png)
    shutil.copy(os.path.join(sys.argv[1], "empty.jpg"), "many/%s/030.zero.jpg" % c)
END
mldf pack many -o whole.mldf -q --on-error=skip --encode jpeg
mldf info --json whole.mldf | json 'd["num_samples"] == 240'
python3 - "$MLDF" >result <<'END'
import glob, os, sys
import signals
def command(out, *more):
    return [sys.argv[1], "pack", "many", "-o", out, "-q", "--on-error=skip", "--encode", "jpeg", "-j", "0", *more]
kept, code, partial = 0, 0, "parts.mldf.partial"
for attempt in range(20):  # until one run was interrupted; it may be quicker than we are
    if os.path.exists("parts.mldf"):
        os.remove("parts.mldf")
    for i in range(5):
        enough = signals.size(partial) + (1 << 18)
        code = signals.interrupt(command("parts.mldf", "--resume"), lambda: signals.size(partial) >= enough)
        if code == 0:
            break
        assert code == 130, code
        assert not os.path.exists("parts.mldf")
        kept += os.path.exists(partial)
    if code:
        code = signals.interrupt(command("parts.mldf", "--resume"), lambda: False, 0)  # to its end
    if kept:
        break
print("resumed" if kept else "never interrupted", code)
for attempt in range(20):
    if signals.interrupt(command("gone.mldf"), lambda: glob.glob(".gone.mldf*")) != 0:
        break
    os.remove("gone.mldf")
END
check grep -qx 'resumed 0' result
check cmp -s whole.mldf parts.mldf
check test ! -e gone.mldf
check test -z "$(find . -maxdepth 1 -name '*partial*' -o -maxdepth 1 -name '*.tmp')"
# A folder that changed meanwhile does not fit the partial file.
python3 - "$MLDF" <<'END'
import os, sys
import signals
command = [sys.argv[1], "pack", "many", "-o", "other.mldf", "-q", "--on-error=skip", "--encode", "jpeg", "--resume", "-j", "0"]
for attempt in range(20):
    if signals.interrupt(command, lambda: signals.size("other.mldf.partial") > 0) != 0:
        break
    os.remove("other.mldf")
END
check test -e other.mldf.partial
touch -d 2001-01-01 many/a/000.png
expect_error 2 'comes from other sources, or they have changed' mldf pack many -o other.mldf -q --on-error=skip --encode jpeg --resume
