# Tables that name files: --files, image fields of a schema, {"path": ...}, and where such paths may lead.
images=$source_dir/tests/data/images
mkdir -p set/img && cp "$images"/{rgb.jpg,rgb.png,wrong_name.png} set/img/ && cp "$images/one.png" outside.png
printf 'image,label\nimg/rgb.jpg,1\n./img//rgb.png,2\nimg/../img/rgb.jpg,3\n' >set/list.csv
expect 0 mldf pack set/list.csv --files image -o a.mldf -q <<'END'
END
mldf info --json a.mldf | json '[(f["name"], f["type"]) for f in d["fields"]] == [("image", "image"), ("label", "int")]'
mldf cat --raw image --samples 1 a.mldf >1.bin
check cmp -s 1.bin set/img/rgb.png
# Without --files a path is text.
mldf pack set/list.csv -o text.mldf -q
mldf info --json text.mldf | json 'd["fields"][0]["type"] == "text"'
# A schema: image fields are paths, bytes by {"path"}, {"base64"} without a file; nulls.
schema='{"fields":[{"name":"image","type":"image","nullable":true},{"name":"blob","type":"bytes"}]}'
printf '%s\n' '{"image":{"path":"img/rgb.jpg"},"blob":{"path":"img/rgb.png"}}' '{"image":"img/rgb.png","blob":"words"}' \
    "{\"image\":{\"base64\":\"$(base64 -w0 "$images/one.png")\"},\"blob\":\"\"}" '{"image":null,"blob":"x"}' >set/list.jsonl
expect 0 mldf pack set/list.jsonl --schema "$schema" -o b.mldf -q <<'END'
END
mldf cat --raw blob --samples 0 b.mldf >1.bin
check cmp -s 1.bin set/img/rgb.png
mldf cat --raw image --samples 2 b.mldf >1.bin
check cmp -s 1.bin "$images/one.png"
mldf cat --json --samples 3 b.mldf | json 'd["fields"]["image"] is None'
# --files with a schema: text and bytes from files.
printf 'b,t\nimg/rgb.jpg,list.csv\n' >set/bt.csv
mldf pack set/bt.csv --files b --files t --schema '{"fields":[{"name":"b","type":"bytes"},{"name":"t","type":"text"}]}' -o bt.mldf -q
mldf cat --json bt.mldf | json 'd["fields"]["t"].startswith("image,label") and d["fields"]["b"]["bytes"] == 815'
mldf pack set/bt.csv --schema '{"fields":[{"name":"b","type":"bytes","source":"file"},{"name":"t","type":"text"}]}' -o src.mldf -q
mldf cat --json src.mldf | json 'd["fields"]["t"] == "list.csv" and d["fields"]["b"]["bytes"] == 815'
expect_error 2 '"source" is for bytes, text, images and audio' mldf pack set/bt.csv --schema '{"fields":[{"name":"b","type":"int","source":"file"}]}' -o x.mldf
# Errors name file, line and column; skip lists them.
printf 'image,label\nimg/rgb.jpg,1\nimg/none.jpg,2\n../outside.png,3\n/etc/hostname,4\nlist.csv,5\n,6\nimg/wrong_name.png,7\n' >set/bad.csv
expect_error 1 "set/bad.csv:3:1: column 'image' (image): set/img/none.jpg: cannot be opened" mldf pack set/bad.csv --files image -o c.mldf
mldf pack set/bad.csv --files image -o c.mldf --on-error=skip --json 2>/dev/null >c.json
json 'd["written"] == 3 and [s["source"] for s in d["skipped"]] == ["set/bad.csv:%d" % n for n in (3, 4, 5, 6)]' <c.json
json '"leads out of the folder" in d["skipped"][1]["message"] and "not an image" in d["skipped"][3]["message"]' <c.json
json 'd["warnings"] == [{"source": "set/bad.csv:8", "message": "the name ends in .png, and the bytes are jpeg"}]' <c.json
mldf cat --json --samples 1 c.mldf | json 'd["fields"] == {"image": None, "label": 6}'
# Outside of the folder: only when asked for; --root moves the folder.
printf 'image\n../outside.png\n%s\n' "$PWD/outside.png" >set/out.csv
expect_error 1 'leads out of the folder' mldf pack set/out.csv --files image -o d.mldf
mldf pack set/out.csv --files image --allow-outside -o d.mldf -q
mldf info --json d.mldf | json 'd["num_samples"] == 2'
# A link that leads out of the folder is refused, whether the file or a folder on the way is one; a link that stays inside is followed.
ln -s ../outside.png set/out.png
ln -s "$PWD" set/away
ln -s img/rgb.jpg set/in.jpg
ln -s "$PWD/set/img" set/inside
printf 'image\nout.png\n' >set/link.csv
printf 'image\naway/outside.png\n' >set/links.csv
printf 'image\nin.jpg\ninside/rgb.jpg\n%s\n' "$PWD/set/inside/rgb.jpg" >set/inner.csv
expect_error 1 "set/link.csv:2:1: column 'image' (image): set/out.png: the path 'out.png' leads out of the folder set/ by a link" mldf pack set/link.csv --files image -o link.mldf
expect_error 1 'leads out of the folder set/ by a link' mldf pack set/links.csv --files image -o link.mldf
expect_error 1 'leads out of the folder set by a link' mldf pack set/link.csv --files image --root set -o link.mldf
check test ! -e link.mldf
mldf pack set/link.csv --files image --allow-outside -o link.mldf -q
mldf pack set/inner.csv --files image -o inner.mldf -q
mldf info --json inner.mldf | json 'd["num_samples"] == 3'
rm set/out.png set/away set/in.jpg set/inside link.mldf inner.mldf
printf 'image\n%s\nimg/rgb.jpg\n' "$PWD/set/img/rgb.jpg" >abs.csv
mldf pack abs.csv --files image --root set -o e.mldf -q
mldf info --json e.mldf | json 'd["num_samples"] == 2'
printf 'image\nset/img/rgb.jpg\n' >stdin.csv
INPUT=stdin.csv expect 0 mldf pack - --format csv --files image -o f.mldf -q <<'END'
END
# A column that is not there, or that no file can fill.
expect_error 2 "there is no field \"photo\"" mldf pack set/list.csv --files photo -o g.mldf
expect_error 2 'a field of type int is not read from one' mldf pack set/list.csv --files label --schema '{"fields":[{"name":"image","type":"text"},{"name":"label","type":"int"}]}' -o g.mldf
# Image options reach the field; appending takes paths too.
mldf pack set/list.csv --files image -o h.mldf -q --encode raw
mldf info --json h.mldf | json 'd["fields"][0]["arguments"] == {"encode": "raw"}'
expect 0 mldf append a.mldf set/list.csv -q <<'END'
END
for file in a b h; do
    check mldf verify --deep $file.mldf >verified
done
