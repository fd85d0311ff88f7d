# Compressed tar: read as a stream by what goes from front to back, unpacked where TMPDIR says for the rest, within limits.
cat >make.py <<'END'
import gzip, io, json, struct, sys, tarfile

def tar(samples, tail=True):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as t:
        for name, data in samples:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    return out.getvalue() if tail else out.getvalue()[: sum(512 + -(-len(d) // 512) * 512 for _, d in samples)]

def frame(blocks, window=0):  # zstd: (kind, bytes or (byte, count)); the window is 2^(10 + window)
    out = b"\x28\xb5\x2f\xfd\x00" + bytes([window << 3])
    for i, (kind, data) in enumerate(blocks):
        size = len(data) if kind == 0 else data[1]
        out += struct.pack("<I", (i == len(blocks) - 1) | kind << 1 | size << 3)[:3] + (data if kind == 0 else data[0])
    return out

def raw(data):
    return [(0, data[i : i + 65536]) for i in range(0, len(data), 65536)]

def zeros(count):
    return [(1, (b"\0", 1 << 17))] * (count >> 17)

def header(name, size):
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf(tarfile.GNU_FORMAT)

jpeg = open(sys.argv[1], "rb").read()
samples = []
for i in range(300):
    samples.append((f"d/{i:04d}.jpg", jpeg))
    samples.append((f"d/{i:04d}.cls", b"%d\n" % i))
    samples.append((f"d/{i:04d}.json", json.dumps({"n": i}).encode()))
    if i % 3:
        samples.append((f"d/{i:04d}.bin", bytes([i & 255]) * (i * 37)))
    if i == 7:
        samples.append(("README", b"x" * 5000))
plain = tar(samples)
half = len(plain) // 2 + 77
open("p.tar", "wb").write(plain)
open("m.tar.gz", "wb").write(gzip.compress(plain[:half]) + gzip.compress(plain[half:]))
open("m.tar.zst", "wb").write(
    frame(raw(plain[:half]), 7) + b"\x5a\x2a\x4d\x18\x03\0\0\0abc" + frame(raw(plain[half:]), 7))
large = [("a.bin", b"\0" * (64 << 20)), ("a.cls", b"1"), ("b.bin", b"\1" * (1 << 20)), ("b.cls", b"2")]
open("large.tar.gz", "wb").write(gzip.compress(tar(large), 1))
open("huge.tar.zst", "wb").write(frame(raw(header("a.bin", 5 << 30)) + zeros(5 << 30) + raw(tar([("b.cls", b"1")])), 7))
open("window.tar.zst", "wb").write(frame(raw(plain), 19))
END
python3 make.py "$source_dir/tests/data/images/rgb.jpg"
# Neither a temporary folder nor a file of more than 64 KiB in the way: nothing is unpacked.
export TMPDIR=$PWD/none
mldf convert p.tar -o p.mldf -q 2>/dev/null
mldf convert p.tar -o p2.tar -q 2>/dev/null
mldf pack p.tar -o k.mldf -q 2>/dev/null
mldf cat p.tar --json >p.lines 2>/dev/null
mldf extract p.tar -o p.files -q 2>/dev/null
for file in m.tar.gz m.tar.zst; do
    for threads in 0 3; do
        mldf convert $file -o c.mldf -q -f -j $threads 2>/dev/null || complain "convert of $file fails"
        check cmp p.mldf c.mldf
        mldf convert $file -o c.tar -q -f -j $threads 2>/dev/null || complain "convert of $file to tar fails"
        check cmp p2.tar c.tar
        mldf pack $file -o c.mldf -q -f -j $threads 2>/dev/null || complain "pack of $file fails"
        check cmp k.mldf c.mldf
    done
    for how in '' --deep; do
        mldf verify $file $how --json 2>/dev/null | json 'd["ok"] and d["num_samples"] == 300'
    done
    mldf info $file --json 2>/dev/null | json 'd["num_samples"] == 300 and len(d["fields"]) == 4'
    mldf cat $file --json 2>/dev/null | cmp - p.lines || complain "cat of $file differs"
    rm -rf c.files
    mldf extract $file -o c.files -q 2>/dev/null || complain "extract of $file fails"
    check diff -r p.files c.files
    mldf convert - -o c.mldf -q -f <$file 2>/dev/null || complain "convert of $file from standard input fails"
    check cmp p.mldf c.mldf
    expect_error 3 "the temporary folder $TMPDIR takes no file" mldf stats $file
    expect_error 3 "the temporary folder $TMPDIR takes no file" mldf cat $file --samples 5,2
done
(
    ulimit -f 64
    mldf verify large.tar.gz -q >/dev/null 2>&1 || complain 'verify writes a file'
    mldf verify large.tar.gz --deep -q >/dev/null 2>&1 || complain 'verify --deep writes a file'
    mldf info large.tar.gz >/dev/null || complain 'info writes a file'
    mldf convert large.tar.gz --fields cls -o l.mldf -q || complain 'convert writes a file besides OUT'
)
mldf convert large.tar.gz m.tar.gz --fields cls -o two.mldf -q 2>/dev/null || complain 'convert of two archives fails'
mldf info two.mldf --json | json 'd["num_samples"] == 302'
if strace -o trace -f -e trace=openat,open,creat,unlink true 2>/dev/null; then
    strace -o trace -f -e trace=openat,open,creat,unlink "$MLDF" convert m.tar.gz -o traced.mldf -q 2>/dev/null
    check grep -q 'm.tar.gz' trace
    check test -z "$(grep -E 'O_TMPFILE|O_CREAT' trace | grep -v traced.mldf)"
fi

# Where TMPDIR says.
mkdir here
export TMPDIR=$PWD/here
mldf cat m.tar.gz --samples 5,2 --json --fields cls 2>/dev/null >two.lines || complain 'samples at random fail'
check test "$(python3 -c 'import json; print([json.loads(s)["fields"]["cls"] for s in open("two.lines")])')" = '[5, 2]'
check test -z "$(ls -A here)"
(
    ulimit -f 64
    expect_error 3 "$TMPDIR" mldf stats large.tar.gz
)
check test -z "$(ls -A here)"

# The limit, with the file and the option; nothing is left behind.
for command in verify cat stats info; do
    mldf $command large.tar.gz --max-unpacked 1M >got.out 2>&1 && complain "$command passes the limit"
    check grep -qE 'large.tar.gz: (limit: )?the gzip archive unpacks to more than 1048576 bytes, which is the limit; --max-unpacked' got.out
done
for command in convert pack; do
    expect_error 1 'large.tar.gz: the gzip archive unpacks to more than 1048576 bytes' mldf $command large.tar.gz -o x.mldf --max-unpacked 1M
    check test ! -e x.mldf
done
mldf convert large.tar.gz -o x.mldf --max-unpacked 66M -q || complain 'a limit that is large enough refuses'
expect_error 2 '--max-unpacked' mldf verify large.tar.gz --max-unpacked many
expect_error 2 '--max-unpacked' mldf verify large.tar.gz --max-unpacked 0
check test -z "$(ls -A here)"

# 5 GiB of zeros in 160 KiB: they pass through little memory, and are no member to hold.
python3 - "$MLDF" <<'END' || complain 'huge.tar.zst is not read in little memory'
import resource, subprocess, sys
assert subprocess.run([sys.argv[1], "verify", "huge.tar.zst"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
for command in "convert", "pack":
    got = subprocess.run([sys.argv[1], command, "huge.tar.zst", "-o", "h.mldf"], capture_output=True, text=True)
    assert got.returncode == 1 and "5368709120 bytes, and a member of a compressed archive is held in memory" in got.stderr, got
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
assert peak < 400 << 10, f"{peak} KiB"
END
expect_error 1 'huge.tar.zst: the zstd archive unpacks to more than 1048576 bytes' mldf convert huge.tar.zst -o h.mldf --max-unpacked 1M
mldf verify window.tar.zst >got.out 2>&1 && complain 'a window of 512 MiB is made'
check grep -qE 'window.tar.zst: (limit: )?the zstd frame at byte 0 needs a window of more than 128 MiB' got.out

# Cut and damaged: the byte in the file, and nothing left behind.
mldf convert p.tar -o sums.tar.zst -q 2>/dev/null
for file in m.tar.gz sums.tar.zst; do
    head -c $(($(wc -c <$file) - 2000)) $file >cut.tar.x
    python3 - $file <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
at = len(data) // 3
data[at : at + 200] = b"\xff" * 200
open("bad.tar.x", "wb").write(data)
END
    for command in 'convert -o x.tar' 'pack --format tar -o x2.mldf'; do
        rm -f x.tar x2.mldf
        # shellcheck disable=SC2086
        expect_error 1 'cut.tar.x' mldf $command cut.tar.x
        check grep -q 'stream ends at byte [0-9]*, in the middle' "$work/got.err"
        # shellcheck disable=SC2086
        expect_error 1 'bad.tar.x' mldf $command bad.tar.x
        check grep -q 'byte [0-9]' "$work/got.err"
        check test ! -e x.tar -a ! -e x2.mldf
    done
    mldf verify cut.tar.x >got.out 2>&1 && complain 'verify of a cut archive is fine'
    check grep -q 'stream ends at byte [0-9]*, in the middle' got.out
done
check test -z "$(ls -A here)"
unset TMPDIR
