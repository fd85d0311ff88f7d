# Files of other formats through every command that reads: the golden ones to what is known of them, archives of our own.
golden=$source_dir/tests/golden
python3 "$source_dir/tests/cli/make_archives.py"

# ---- TBL ----------------------------------------------------------------------------------------------------------------
expect 0 mldf info "$golden/tbl/v2_comp_meta.tbl" <<END
$golden/tbl/v2_comp_meta.tbl: TBL 2
samples    3
file       223 B
data       15 B

fields (3)
  image     image
  format    int {"dtype":"|u1"}
  metadata  json nullable
END
mldf info --json "$golden/tbl/v1_4samples.tbl" | json 'd["format"] == "tbl1" and d["version"] == "1" and d["num_samples"] == 4 and
    d["file_bytes"] == 119 and d["data_bytes"] == 23 and d["padding_bytes"] is None and d["page_size"] is None and d["flags"] == [] and
    d["sections"] == [] and d["card"] is None and [(f["name"], f["type_id"]) for f in d["fields"]] == [("image", 13), ("format", 1)]'
mldf info --json "$golden/tbl/v2_empty.tbl" | json 'd["format"] == "tbl2" and d["num_samples"] == 0'
check [ "$(mldf cat --raw image "$golden/tbl/v1_4samples.tbl")" = "hello-jpegpng!tiff-data" ]
check [ "$(mldf cat --raw image --samples 0 "$golden/tbl/v2_comp_meta.tbl")" = "$(printf 'A%.0s' {1..100})" ]
mldf cat --json --samples 0 "$golden/tbl/v2_comp_meta.tbl" | json 'd == {"index": 0, "key": None, "fields": {"image": {"bytes": 100,
    "sha256": "d82c6aa133a0fc25b087f46ad7ed2a3042772e612e015571e61753ff55ba6da8", "height": 480, "width": 640, "channels": 0, "mode": "other",
    "bits": 8, "color": None, "orientation": 0}, "format": 1, "metadata": {"label": 7}}}'
mldf cat --json --samples 0 "$golden/tbl/v2_raw_nocomp.tbl" | json 'd["fields"]["image"]["mode"] == "raw" and d["fields"]["image"]["bytes"] == 12'
mldf cat --json --full --samples 0 "$golden/tbl/v2_raw_nocomp.tbl" | json 'len(d["fields"]["image"]) == 2 and len(d["fields"]["image"][0][0]) == 3'
for file in "$golden"/tbl/*.tbl; do
    mldf verify --json "$file" 2>/dev/null | json 'd["ok"] and d["problems"] == [] and d["good_samples"] == d["num_samples"]'
    # Some hold made-up bytes that their index calls images: no decoder takes them, and a deep look says so.
    mldf verify --deep --json "$file" 2>/dev/null | json 'all("is an image" in p["message"] for p in d["problems"])'
done
cp "$golden/tbl/v2_raw_nocomp.tbl" bad.tbl
printf 'X' | dd of=bad.tbl bs=1 seek=115 conv=notrunc 2>/dev/null
expect_error 1 '' mldf verify bad.tbl
mldf verify --json bad.tbl | json 'd["ok"] is False and d["good_samples"] == 1 and d["checksummed"] is True and
    d["problems"][0]["status"] == "checksum" and d["problems"][0]["sample"] == 0'
expect_error 1 '' mldf cat bad.tbl
head -c 100 "$golden/tbl/v2_comp_meta.tbl" >cut.tbl
expect_error 1 'cut.tbl' mldf info cut.tbl

# ---- .beton: every value of the manifest ----------------------------------------------------------------------------------
if command -v zstd >/dev/null; then
    for packed in "$golden"/beton/*.beton.zst; do
        name=$(basename "$packed" .zst)
        zstd -dqf "$packed" -o "$name"
        mldf verify --deep --json "$name" 2>/dev/null | json 'd["ok"]'
        mldf info --json "$name" >info.json
        mldf cat --json "$name" >samples.jsonl
        check python3 - "$golden/beton/expected.json" "$name" <<'END'
import json, sys
want = json.load(open(sys.argv[1]))[sys.argv[2]]
info = json.load(open("info.json"))
samples = [json.loads(line) for line in open("samples.jsonl")]
assert info["format"] == "beton" and info["version"] == "2" and info["page_size"] == want["page_size"], info
assert info["num_samples"] == want["num_samples"] == len(samples) and info["file_bytes"] == want["file_size"]
assert [f["name"] for f in info["fields"]] == [f["name"] for f in want["fields"]]
for row, sample in zip(want["rows"], samples):
    for field, value in zip(want["fields"], row):
        got = sample["fields"][field["name"]]
        if field["type"] in (0, 1):
            assert got == value, (got, value)
        elif field["type"] == 2:
            assert (got["mode"], got["width"], got["height"], got["bytes"]) == (["jpeg", "raw"][value["mode"]], value["w"], value["h"], value["size"]), (got, value)
END
    done
else
    skip "no zstd command: the golden .beton files stay packed"
fi

# ---- tar ----------------------------------------------------------------------------------------------------------------
mldf info --json samples.tar | json 'd["format"] == "tar" and d["version"] is None and d["num_samples"] == 5 and d["has_keys"] and
    [(f["name"], f["type"], f["nullable"]) for f in d["fields"]] == [("png", "image", False), ("cls", "int", False), ("json", "json", False), ("txt", "text", False)]'
mldf cat --json --keys set/0002 --fields cls,json,txt samples.tar | json 'd == {"index": 2, "key": "set/0002",
    "fields": {"cls": 6, "json": {"a": 2, "b": [2, "x"]}, "txt": "caption 2"}}'
mldf info --json mixed.tar | json '[f["nullable"] for f in d["fields"]] == [True, True, True]'
mldf verify --deep --json samples.tar 2>/dev/null | json 'd["ok"] and d["good_samples"] == 5'
gzip -k samples.tar
expect 0 mldf diff samples.tar samples.tar.gz <<'END'
END
tar xf samples.tar set/0001.png
check cmp set/0001.png <(mldf cat --raw png --samples 1 samples.tar)
printf '{"x": ' >bad.json
tar cf bad.tar bad.json
expect_error 1 '' mldf verify --deep bad.tar
mldf verify --deep --json bad.tar | json 'd["problems"][0]["sample"] == 0 and d["problems"][0]["field"] == "json" and d["good_samples"] == 0'

# The index of a plain tar, kept on request alone, used when it is the archive's.
mkdir kept
for n in 1 2 3; do echo $n >kept/s$n.cls; done
tar cf kept.tar -C kept s1.cls s2.cls s3.cls
mldf cat --json kept.tar >walked.jsonl
check test ! -e kept.tar.mldfidx
mldf info --json --keep-index kept.tar | json 'd["format"] == "tar" and d["num_samples"] == 3'
check test -e kept.tar.mldfidx
expect 0 mldf cat --json kept.tar <walked.jsonl
echo 9 >kept/s2.cls
tar cf kept.tar -C kept s1.cls s2.cls s3.cls
touch -d 2001-01-01 kept.tar # another time than before, however coarse the file system's clock is
mldf cat --json kept.tar >got.jsonl 2>warned
check grep -qF 'kept.tar.mldfidx is not used: the archive has changed since its index was kept' warned
check test "$(grep -c '"cls":9' got.jsonl)" = 1
mldf info -q --keep-index kept.tar >said 2>&1
check test "$(mldf cat --json kept.tar 2>&1)" = "$(cat got.jsonl)"
printf 'x' >kept.tar.mldfidx
expect_error 3 'is not an index: it is not replaced' mldf info --keep-index kept.tar
rm kept.tar.mldfidx
gzip -k kept.tar
expect_error 2 'there is no index to keep' mldf info --keep-index kept.tar.gz
mldf convert kept.tar -o kept.mldf -q
expect_error 2 'only a plain tar archive has an index to keep' mldf info --keep-index kept.mldf
check test -z "$(find . -name '*.mldfidx')"
