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
import os, signal, subprocess, sys, time
def command(out, *more):
    return [sys.argv[1], "pack", "many", "-o", out, "-q", "--on-error=skip", "--encode", "jpeg", "-j", "0", *more]
kept = 0
for i in range(60):
    p = subprocess.Popen(command("parts.mldf", "--resume"))
    time.sleep(0.3 + 0.05 * i)
    p.send_signal(signal.SIGINT)
    code = p.wait(timeout=60)
    if code == 0:
        break
    assert code == 130, code
    assert not os.path.exists("parts.mldf")
    kept += os.path.exists("parts.mldf.partial")
print("resumed" if kept else "never interrupted", code)
p = subprocess.Popen(command("gone.mldf"))
time.sleep(0.2)
p.send_signal(signal.SIGINT)
p.wait(timeout=60)
END
check grep -qx 'resumed 0' result
check cmp -s whole.mldf parts.mldf
check test -z "$(find . -maxdepth 1 -name '*partial*' -o -name '*.tmp')"
# A folder that changed meanwhile does not fit the partial file.
python3 - "$MLDF" <<'END'
import os, signal, subprocess, sys, time
for i in range(40):
    p = subprocess.Popen([sys.argv[1], "pack", "many", "-o", "other.mldf", "-q", "--on-error=skip", "--encode", "jpeg", "--resume", "-j", "0"])
    time.sleep(0.3)
    p.send_signal(signal.SIGINT)
    if p.wait(timeout=60) == 0:
        os.remove("other.mldf")
    if os.path.exists("other.mldf.partial"):
        break
END
check test -e other.mldf.partial
touch -d 2001-01-01 many/a/000.png
expect_error 2 'comes from other sources, or they have changed' mldf pack many -o other.mldf -q --on-error=skip --encode jpeg --resume
