# tar archives: shards, pipes, compression, fields by extension.
images=$source_dir/tests/data/images
make_tar() { # out from to
    mkdir -p parts && rm -f parts/*
    for ((i = $2; i <= $3; i++)); do
        cp "$images/rgb.jpg" "parts/$(printf %04d "$i").jpg"
        printf '%d\n' $((i % 3)) >"parts/$(printf %04d "$i").cls"
        [ $((i % 2)) -eq 1 ] || printf '{"n":%d}' "$i" >"parts/$(printf %04d "$i").json"
    done
    (cd parts && tar --format=ustar -cf "../$1" -- *)
}
make_tar s-0.tar 0 3
make_tar s-1.tar 4 6
expect 0 mldf pack 's-{0..1}.tar' -o a.mldf -q <<'END'
END
mldf info --json a.mldf | json 'd["num_samples"] == 7 and [(f["name"], f["type"], f["nullable"]) for f in d["fields"]] == [("cls", "int", False), ("jpg", "image", False), ("json", "json", True)]'
mldf cat --json --keys 0004 a.mldf | json 'd["fields"]["cls"] == 1 and d["fields"]["json"] == {"n": 4} and d["fields"]["jpg"]["bytes"] == 815'
mldf cat --json --keys 0005 a.mldf | json 'd["fields"]["json"] is None'
mldf pack s-0.tar s-1.tar -o b.mldf -q -j 0
check cmp -s a.mldf b.mldf
# From a pipe, and compressed, whatever the name says.
mldf pack s-0.tar -o c.mldf -q
mldf pack - --format tar -o p.mldf -q < <(cat s-0.tar)
check cmp -s c.mldf p.mldf
gzip -c s-0.tar >s.data
mldf pack s.data -o z.mldf -q
check cmp -s c.mldf z.mldf
mldf pack - --format tar -o z2.mldf -q < <(cat s.data)
check cmp -s c.mldf z2.mldf
mldf pack s-0.tar s-1.tar -o r.mldf -q --resume
check cmp -s a.mldf r.mldf
INPUT=s-0.tar expect_error 2 '(standard input): is a tar archive: --format tar packs it' mldf pack - -o q.mldf
# Image options; a schema; what does not fit.
mldf pack s-0.tar -o e.mldf -q --encode raw
mldf cat --raw jpg --samples 0 e.mldf >1.bin
check test "$(wc -c <1.bin)" = 4608
mldf pack s-0.tar -o s.mldf -q --schema '{"fields":[{"name":"jpg","type":"bytes"},{"name":"cls","type":"text"},{"name":"json","type":"json","nullable":true}]}'
mldf cat --json --samples 1 s.mldf | json 'd["fields"]["cls"] == "1\n"'
mkdir bad && cp "$images/rgb.jpg" bad/1.jpg && printf x >bad/1.cls && cp "$images/rgb.jpg" bad/2.jpg && printf 4 >bad/2.cls
tar -C bad -cf bad.tar 1.jpg 1.cls 2.jpg 2.cls
expect_error 1 "bad.tar: 1: .cls: not an integer: 'x'" mldf pack bad.tar -o bad.mldf
mldf pack bad.tar -o bad.mldf --on-error=skip --json | json 'd["written"] == 1 and d["skipped"] == [{"source": "bad.tar: 1", "message": ".cls: not an integer: '"'x'"'"}]'
head -c 3000 s-0.tar >cut.tar
expect_error 1 'cut.tar' mldf pack cut.tar -o cut.mldf
check test ! -e cut.mldf
expect_error 3 'none.tar' mldf pack none.tar -o none.mldf
# A part that comes after the first 10,000 samples is an error that names it.
python3 - <<'END'
import io, tarfile
with tarfile.open("late.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
    for i in range(10003):
        for ending in ["cls"] + ["new"] * (i == 10001):
            info = tarfile.TarInfo("%05d.%s" % (i, ending))
            info.size = 1
            tar.addfile(info, io.BytesIO(b"1"))
END
expect_error 1 "late.tar: 10001: a part '.new', and no sample before had one: the fields come from the first 10000 samples" mldf pack late.tar -o late.mldf
mldf pack late.tar -o late.mldf --on-error=skip --json | json 'd["written"] == 10002 and len(d["skipped"]) == 1'
check mldf verify --deep a.mldf >verified
# A pattern that names too many is a mistake of whoever typed it.
for pattern in 's-{0..1000000}.tar' 's-{0..9}{0..9}{0..9}{0..9}{0..9}{0..9}{0..9}.tar' \
    '{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}.tar'; do
    expect_error 2 'more than 1' mldf pack "$pattern" -o too_many.mldf
done
