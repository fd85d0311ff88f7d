# Samples as files; names that would lead out of the folder; all or nothing.
cat >in.jsonl <<'END'
{"k":"../../etc/x","p":{"id":7,"flag":true,"name":"ab","w":"hé","box":[{"x":1.5,"y":2},{"x":3,"y":4}]},"a":"one","b":"two","v":[[1,2],[3,4]],"n":5}
{"k":"/abs","p":null,"a":"1","b":"2","v":[],"n":-1}
{"k":"d/.hidden","p":null,"a":"x","b":"y","v":[[5,6]],"n":0}
END
mldf pack in.jsonl -o in.mldf -q --key-column k --schema '[{"name":"p","type":"inline","nullable":true,"descr":[["id","<u2"],
    ["flag","|b1"],["","|V1"],["name","|S4"],["w","<U3"],["box",[["x","<f4"],["y","<f4"]],[2]]]},{"name":"a","type":"text"},
    {"name":"b","type":"text"},{"name":"v","type":"ndarray","dtype":"<i2","shape":[null,2]},{"name":"n","type":"int"}]'
expect 0 mldf extract in.mldf -o ex/ <<'END'
--- stderr
mldf extract: ex/: 3 samples extracted, 795 B in all
END
check test "$(cd ex && find . -type f | LC_ALL=C sort | tr '\n' ' ')" = "./%/abs.a.txt ./%/abs.b.txt ./%/abs.npy \
./%2E./%2E./etc/x.a.txt ./%2E./%2E./etc/x.b.txt ./%2E./%2E./etc/x.npy ./d/%2Ehidden.a.txt ./d/%2Ehidden.b.txt ./d/%2Ehidden.npy \
./manifest.jsonl "
check test "$(cat ex/%/abs.a.txt)" = 1
expect 0 head -n 1 ex/manifest.jsonl <<'END'
{"key":"../../etc/x","p":{"id":7,"flag":true,"name":"ab","w":"hé","box":[{"x":1.5,"y":2.0},{"x":3.0,"y":4.0}]},"a":"%2E./%2E./etc/x.a.txt","b":"%2E./%2E./etc/x.b.txt","v":"%2E./%2E./etc/x.npy","n":5}
END
# The header of an NPY file, read by hand: the length is a multiple of 64, the text a Python dictionary.
check python3 -c '
import ast, struct
d = open("ex/%2E./%2E./etc/x.npy", "rb").read()
assert d[:8] == b"\x93NUMPY\x01\x00"
n = struct.unpack("<H", d[8:10])[0]
assert (10 + n) % 64 == 0 and d[9 + n:10 + n] == b"\n"
assert ast.literal_eval(d[10:10 + n].decode()) == {"descr": "<i2", "fortran_order": False, "shape": (2, 2)}
assert struct.unpack("<4h", d[10 + n:]) == (1, 2, 3, 4)'
expect 3 mldf extract in.mldf -o ex <<'END'
--- stderr
mldf extract: ex: already exists and is not empty; use -f to write into it (Python: overwrite=True)
END
printf keep >ex/d/mine
mldf extract in.mldf -o ex -f --fields a,n --json | json 'd["written"] == 3 and d["skipped"] == [] and d["bytes"] > 0'
check test "$(cat ex/d/mine)" = keep -a -f ex/d/%2Ehidden.txt
mkdir empty
expect_error 0 '' mldf extract in.mldf -o empty
check test -f empty/manifest.jsonl
printf x >file
expect_error 3 'not a folder' mldf extract in.mldf -o file
expect_error 2 '-o DIR is missing' mldf extract in.mldf
expect_error 2 'no field' mldf extract in.mldf -o no --fields zz
expect_error 3 '' mldf extract in.mldf -o no/such/dir
# Without keys the names are numbers.
seq 0 11 | sed '1i t' | sed 's/$/x/; 1s/x//' >t.csv
mldf pack t.csv -o t.mldf -q
mldf extract t.mldf -o t -q
check test "$(cat t/00.txt)$(cat t/11.txt)" = 0x11x
# A name that no file system takes is cut and gets a hash.
python3 -c 'import json
for c in "ab": print(json.dumps({"k": "ü" * 300 + c, "t": c}))' >long.jsonl
mldf pack long.jsonl --key-column k -o long.mldf -q
expect_error 0 '' mldf extract long.mldf -o long
check test "$(find long -name 'ü*~*.txt' | wc -l)" = 2
check test -z "$(ls -A . empty ex | grep -F .tmp)"


# A packed folder of images comes out as it was; pixels become files that can be opened.
if command -v cjpeg >/dev/null; then
    mkdir -p photos/a photos/b
    for i in 1 2; do
        { printf 'P6\n8 6\n255\n' && head -c 144 /dev/zero | tr '\0' "\\$((100 + i))"; } | cjpeg >photos/a/$i.jpg
    done
    cp photos/a/1.jpg photos/b/x.JPEG
    cp photos/a/2.jpg photos/b/misnamed.png
    mldf pack photos -o photos.mldf -q 2>/dev/null || complain 'pack fails'
    expect_error 0 '' mldf extract photos.mldf -o photos.out -q
    mv photos.out/b/misnamed.png.jpg photos.out/b/misnamed.png
    rm photos.out/manifest.jsonl
    check diff -r photos photos.out
    mldf pack photos -o raw.mldf -q --encode raw 2>/dev/null || complain 'pack to raw pixels fails'
    expect_error 0 '' mldf extract raw.mldf -o raw.out -q
    check test "$(head -c 4 raw.out/a/1.jpg.png | tail -c 3)" = PNG
else
    skip 'extract of images: no cjpeg'
fi
