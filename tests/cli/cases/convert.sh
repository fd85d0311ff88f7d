# convert: round trips, rules of each format, and what is refused.
golden=$source_dir/tests/golden
python3 "$source_dir/tests/cli/make_archives.py"

# ---- Round trips ----------------------------------------------------------------------------------------------------------
expect 0 mldf convert samples.tar -o samples.mldf -q <<'END'
END
expect 0 mldf diff samples.tar samples.mldf <<'END'
END
check mldf verify -q --deep samples.mldf >/dev/null
mldf convert samples.mldf -o back.tar -q
mkdir one two
tar xf samples.tar -C one
tar xf back.tar -C two
check diff -r one two
check cmp <(tar tf samples.tar) <(tar tf back.tar)
mldf convert samples.tar -o samples.tbl -q --lz4
mldf convert samples.tbl -o t.mldf -q
expect 0 mldf diff samples.tbl t.mldf <<'END'
END
mldf convert t.mldf -o t.tbl -q --lz4
check cmp samples.tbl t.tbl
for file in "$golden"/tbl/*.tbl; do
    to=$(mldf info --json "$file" | sed 's/^{"format":"\([a-z0-9]*\)".*/\1/')
    mldf convert "$file" -o g.mldf -q -f
    mldf convert g.mldf -o g.tbl --to "$to" -q -f
    for other in g.mldf g.tbl; do
        expect 0 mldf diff "$file" $other <<'END'
END
    done
done
check cmp "$golden/tbl/v1_4samples.tbl" <(mldf convert "$golden/tbl/v1_4samples.tbl" -o v1.tbl --to tbl1 -q; cat v1.tbl)
if command -v zstd >/dev/null; then
    for packed in "$golden"/beton/*.beton.zst; do
        name=$(basename "$packed" .zst)
        zstd -dqf "$packed" -o "$name"
        mldf convert "$name" -o b.mldf -q -f
        mldf convert b.mldf -o b.beton -q -f
        expect 0 mldf diff "$name" b.mldf <<'END'
END
        expect 0 mldf diff "$name" b.beton <<'END'
END
        check mldf verify -q --deep b.beton >/dev/null
        check cmp <(mldf info --json "$name" | grep -o '"card":.*') <(mldf info --json b.beton | grep -o '"card":.*')
    done
fi

# ---- TBL ------------------------------------------------------------------------------------------------------------------
mldf cat --json --samples 2 samples.tbl | json 'd["fields"]["format"] == 2 and d["fields"]["image"]["width"] == 5 and
    d["fields"]["metadata"] == {"cls": 6, "json": {"a": 2, "b": [2, "x"]}, "txt": "caption 2"}'
mldf convert samples.tar -o json.tbl --fields png,json -q
mldf cat --json --samples 2 json.tbl | json 'd["fields"]["metadata"] == {"a": 2, "b": [2, "x"]}'
mldf convert mixed.tar -o mixed.tbl -q
mldf cat --json --samples 1 mixed.tbl | json 'd["fields"]["format"] == 0 and d["fields"]["metadata"] == {"cls": 4}'
expect_error 1 'png, seg.png' mldf convert pairs.tar -o pairs.tbl
expect_error 1 'field cls (int) has no place in a TBL file of version 1' mldf convert samples.tar -o one.tbl --to tbl1
expect 0 mldf convert samples.tar -o one.tbl --to tbl1 --fields png --dataset-version 3 --created 1700000000 -q <<'END'
END
mldf info --json one.tbl | json 'd["format"] == "tbl1" and d["card"] == {"created": 1700000000, "dataset_version": 3}'
mldf convert one.tbl -o one.mldf -q
mldf convert one.mldf -o again.tbl --to tbl1 -q
check cmp one.tbl again.tbl
# Version 2 keeps them in its free bytes; other formats have no place.
mldf convert one.tbl -o two.tbl -q && mldf info --json two.tbl | json 'd["format"] == "tbl2" and d["card"] == {"created": 1700000000, "dataset_version": 3}'
expect_error 2 'only TBL files have a dataset version' mldf convert samples.tar -o x.tar --dataset-version 3
# The header of the public guide: a time, a version and flags in the 16 bytes that it calls reserved.
python3 - <<'END'
import struct, zlib
v1 = bytearray(open("one.tbl", "rb").read())
struct.pack_into("<QII", v1, 16, 1700000001, 5, 9)
open("guide.tbl", "wb").write(v1)
struct.pack_into("<QII", v1, 16, 0, 5, 9)
open("guide0.tbl", "wb").write(v1)
END
mldf info --json guide.tbl | json 'd["card"] == {"created": 1700000001, "dataset_version": 5, "custom_flags": 9}'
mldf info --json guide0.tbl | json 'd["card"] == {"created": 0, "dataset_version": 5, "custom_flags": 9}'
mldf diff -q one.tbl guide.tbl --json | json 'all(x["what"] == "card" for x in d["differences"])'
mldf convert guide.tbl -o guide2.tbl -q && mldf info --json guide2.tbl | json 'd["card"] == {"created": 1700000001, "dataset_version": 5, "custom_flags": 9}'
mldf convert guide2.tbl -o guide.mldf -q && mldf convert guide.mldf -o guide3.tbl -q && check cmp -s guide2.tbl guide3.tbl
expect_error 0 'the custom flags 9 are left out' mldf convert guide2.tbl -o guide1.tbl --to tbl1
expect_error 2 'LZ4' mldf convert samples.tar -o x.tar --lz4
printf '{"a":1}\n' | mldf pack - --format jsonl -o plain.mldf -q
expect_error 1 'no field holds images or bytes' mldf convert plain.mldf -o x.tbl
mldf convert "$golden/tbl/v2_raw_nocomp.tbl" -o raw1.tbl --to tbl1 -q
mldf cat --json --samples 0 raw1.tbl | json 'd["fields"]["format"] == 2 and d["fields"]["image"]["mode"] == "png"'

# ---- .beton ---------------------------------------------------------------------------------------------------------------
mldf convert samples.tar -o samples.beton -q
mldf cat --json --samples 1 samples.beton | json 'd["key"] is None and d["fields"]["cls"] == 3 and d["fields"]["json"] == {"a": 1, "b": [1, "x"]} and
    d["fields"]["png"]["mode"] == "raw" and d["fields"]["png"]["width"] == 4'
expect_error 1 'sample 0, field jpg: the value is null' mldf convert mixed.tar -o x.beton
cat >rows.jsonl <<'END'
{"i":1,"f":0.5,"t":"one","b":true,"v":[1.5,2.5],"j":{"x":[]}}
{"i":-2,"f":2.0,"t":"two","b":false,"v":[3.5,4.5],"j":{"y":1}}
END
mldf pack rows.jsonl -o rows.mldf -q
mldf convert rows.mldf -o rows.beton -q
mldf cat --json --samples 1 rows.beton | json 'd["fields"]["i"] == -2 and d["fields"]["f"] == 2.0 and d["fields"]["b"] == 0 and
    d["fields"]["v"] == [3.5, 4.5] and d["fields"]["j"] == {"y": 1} and d["fields"]["t"]["bytes"] == 3'
printf '{"l":[1,2]}\n{"l":[1,2,3]}\n' >ragged.jsonl
mldf pack ragged.jsonl -o ragged.mldf -q --schema '{"fields":[{"name":"l","type":"ndarray","dtype":"<i4","shape":[null]}]}'
expect_error 1 'field l (ndarray) has a shape that varies' mldf convert ragged.mldf -o x.beton

# ---- tar ------------------------------------------------------------------------------------------------------------------
mldf convert rows.mldf -o rows.tar -q
expect 0 tar tf rows.tar <<'END'
__mldf_schema__
000000000.i.cls
000000000.f.txt
000000000.t.txt
000000000.b.cls
000000000.v.npy
000000000.j.json
000000001.i.cls
000000001.f.txt
000000001.t.txt
000000001.b.cls
000000001.v.npy
000000001.j.json
END
check [ "$(tar xOf rows.tar 000000001.i.cls)" = -2 ]
check [ "$(tar xOf rows.tar 000000000.v.npy | head -c 66 | tail -c 56)" = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), " ]
mldf convert samples.tbl -o named.tar -q --fields image
check [ "$(tar tf named.tar | grep -v __mldf | head -n 1)" = 000000000.image.png ]

# ---- Several, pipes, choices ------------------------------------------------------------------------------------------------
mldf convert 'shard-{0..1}.tar' -o shards.mldf -q
mldf info --json shards.mldf | json 'd["num_samples"] == 3 and [(f["name"], f["nullable"]) for f in d["fields"]] ==
    [("png", True), ("cls", True), ("json", True), ("txt", True), ("jpg", True)]'
mldf convert samples.tbl samples.tbl -o twice.tbl -q
mldf info --json twice.tbl | json 'd["num_samples"] == 10'
expect_error 1 'set/0000' mldf convert samples.tar samples.tar -o x.mldf
expect_error 1 'set/0000' mldf convert samples.tar samples.tar -o x.tar
expect_error 1 'the field png is missing' mldf convert samples.tar samples.tbl -o x.mldf
INPUT=samples.tar expect 0 mldf convert - -o piped.mldf -q <<'END'
END
check cmp piped.mldf samples.mldf
mldf convert samples.mldf -o - --to tar -q | cmp - back.tar || complain "tar to a pipe"
mldf convert samples.tar -o - --to mldf -q >stream.mldf
expect 0 mldf diff samples.mldf stream.mldf <<'END'
END
expect_error 2 'pipe' mldf convert samples.tar -o - --to tbl
mldf convert samples.tar -o some.mldf --fields txt,cls -q
mldf cat --json --samples 0 some.mldf | json 'list(d["fields"]) == ["txt", "cls"]'
for j in 0 3; do mldf convert samples.tar -o "j$j.tbl" --lz4 -j $j -q; done
check cmp j0.tbl j3.tbl
mldf convert samples.tar -o all.mldf --json -q | json 'd["written"] == 5 and d["skipped"] == [] and d["bytes"] > 0 and d["seconds"] >= 0'
expect_error 3 'exists' mldf convert samples.tar -o samples.mldf
expect_error 3 'nosuch' mldf convert nosuch.tar -o x.mldf
expect_error 2 '--to' mldf convert samples.tar -o x.what
expect_error 2 'zip' mldf convert samples.tar -o x.mldf --to zip
expect_error 2 '-o OUT is missing' mldf convert samples.tar
expect_error 2 'nope' mldf convert samples.tar -o x.mldf --fields nope
head -c 3000 samples.tar >cut.tar
expect_error 1 'cut.tar' mldf convert cut.tar -o x.mldf
expect_error 3 '' mldf convert samples.tar -o nofolder/x.tbl
check [ -z "$(find . -name 'x.*' -o -name '.*.tmp')" ]

# ---- Compressed archives: other programs unpack them, and we do --------------------------------------------------------------
for to in tar.gz tgz tar.zst tzst; do
    mldf convert samples.mldf -o packed.$to --json -q >said
    check test "$(python3 -c 'import json; print(json.load(open("said"))["bytes"])')" = "$(stat -c %s packed.$to)"
    expect 0 mldf diff samples.tar packed.$to <<'END'
END
    mldf convert packed.$to -o packed.tar -q -f
    check cmp back.tar packed.tar
done
check cmp back.tar <(gzip -dc packed.tar.gz)
check cmp <(tar tf back.tar) <(tar tzf packed.tar.gz)
check cmp packed.tar.gz packed.tgz
check cmp packed.tar.zst packed.tzst
if command -v zstd >/dev/null; then
    check cmp back.tar <(zstd -dcq packed.tar.zst)
    check cmp <(tar tf back.tar) <(tar --zstd -tf packed.tar.zst)
fi
check python3 - <<'END'
import tarfile
with tarfile.open("back.tar") as plain, tarfile.open("packed.tar.gz", "r:gz") as packed:
    a, b = ([(m.name, m.size, t.extractfile(m).read()) for m in t] for t in (plain, packed))
    assert a == b and len(a) > 10, (a, b)
END
for to in tar.gz tar.zst; do
    mldf convert samples.mldf -o - --to $to -q | cmp - packed.$to || complain "$to to a pipe"
done
expect_error 3 'exists' mldf convert samples.mldf -o packed.tgz

# ---- tar_to_tbl -------------------------------------------------------------------------------------------------------------
tar_to_tbl() { "$(dirname "$MLDF")/tar_to_tbl" "$@"; }
tar_to_tbl samples.tar historic.tbl --workers 2 >said 2>/dev/null || complain "tar_to_tbl"
check grep -q '^Input:   samples.tar (5 samples, ' said
check grep -q '^Output:  historic.tbl (.* smaller)$' said
check grep -q '^Rate:    .* samples/s, .*/s$' said
mldf convert samples.tar -o plain.tbl -q
check cmp historic.tbl plain.tbl
tar_to_tbl --v1 samples.tar historic1.tbl -q
mldf info --json historic1.tbl | json 'd["format"] == "tbl1" and d["num_samples"] == 5'
expect_error 3 'exists' tar_to_tbl samples.tar historic.tbl
expect_error 2 'tar_to_tbl: more files are needed: usage: tar_to_tbl [options] IN.tar OUT.tbl' tar_to_tbl samples.tar
check [ -n "$(tar_to_tbl --help | grep 'TurboLoader reads version 1 up to 1.4')" ]

# ---- Files that are no longer or not yet understood ---------------------------------------------------------------------------
media=$golden/draft/media_208.mldf
mldf convert "$media" -o media.mldf -q
expect 0 mldf diff "$media" media.mldf <<'END'
END
expect_error 1 'field sound' mldf convert "$media" -o x.tar
for to in tar beton; do
    mldf convert "$media" -o "dropped.$to" --drop-fields -q
    mldf info --json "dropped.$to" | json '"sound" not in [f["name"] for f in d["fields"]]'
done
expect_error 2 'only an MLDF file is repacked in place' mldf repack samples.tbl
mldf repack samples.tbl -o repacked.mldf -q
expect 0 mldf diff samples.tbl repacked.mldf <<'END'
END

# ---- Samples without an image --------------------------------------------------------------------------------------------------
expect_error 1 'sample 0: there is no image' mldf convert notes.tar -o x.tbl
mldf convert notes.tar -o notes.tbl --drop-fields --json -q | json 'd["written"] == 1 and
    d["skipped"] == [{"source": "notes.tar: README", "message": "nothing in it has a place in this format"}]'
tar_to_tbl notes.tar notes2.tbl --json -q | json 'd["written"] == 1 and len(d["skipped"]) == 1'
check cmp notes.tbl notes2.tbl
check [ "$(mldf cat --json notes.tbl | wc -l)" = 1 ]

# The keys of a packed folder are names of files: in a tar the ending goes, unless two keys would become one.
if command -v cjpeg >/dev/null; then
    mkdir -p folder/a
    { printf 'P5\n8 6\n255\n' && head -c 48 /dev/zero; } | cjpeg >folder/a/1.jpg
    cp folder/a/1.jpg folder/a/2.JPEG
    mldf pack folder -o folder.mldf -q
    expect 0 mldf convert folder.mldf -o folder.tar <<'END'
--- stderr
mldf convert: warning: keys lose the ending of an image's file, such as a/1.jpg: a key in a tar has no dot
mldf convert: folder.tar: 2 samples written, 10.0 KiB in all
END
    check test "$(tar tf folder.tar | grep -v __mldf | tr '\n' ' ')" = 'a/1.image.jpg a/1.label.cls a/2.image.jpg a/2.label.cls '
    cp folder/a/1.jpg folder/a/1.jpeg
    mldf pack folder -o folder.mldf -f -q
    expect_error 1 'the key a/1 is that of sample 0 too' mldf convert folder.mldf -o folder.tar -f -q
else
    skip 'keys with dots into a tar: no cjpeg'
fi
