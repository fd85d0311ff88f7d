# Appending folders, archives and files of other formats: the file's own fields, classes and keys.
images=$source_dir/tests/data/images
golden=$source_dir/tests/golden

# ---- Folders ----------------------------------------------------------------------------------------------------------------
mkdir -p photos/{cat,dog,eel} more/{eel,cat} strange/{cat,wolf}
cp "$images/rgb.jpg" photos/cat/1.jpg && cp "$images/rgb.png" photos/dog/1.png && cp "$images/one.png" photos/eel/1.png
cp "$images/gray.jpg" more/eel/9.jpg && cp "$images/rgb.bmp" more/cat/9.bmp
cp "$images/rgb.jpg" strange/cat/s.jpg && cp "$images/rgb.jpg" strange/wolf/w.jpg
mldf pack photos -o photos.mldf -q
cp photos.mldf before.mldf
mldf append photos.mldf more --json -q | json 'd["written"] == 2 and d["skipped"] == []'
# Sorted inside the folder; eel is class 2 of the card, though it would be 1 of the new folder.
mldf cat --json photos.mldf >got
check test "$(python3 -c 'import json
print(*["%s=%d" % (d["key"], d["fields"]["label"]) for d in map(json.loads, open("got"))])')" = "cat/1.jpg=0 dog/1.png=1 eel/1.png=2 cat/9.bmp=0 eel/9.jpg=2"
mldf info --json photos.mldf | json 'd["card"]["classes"] == ["cat", "dog", "eel"]'
check mldf verify --deep photos.mldf >verified
mldf cat --raw image --keys cat/9.bmp photos.mldf >raw.bin
check cmp -s raw.bin "$images/rgb.bmp"
for j in 0 1 2 7; do
    cp before.mldf j$j.mldf
    mldf append j$j.mldf more -q -j $j
    check cmp j0.mldf j$j.mldf
done
# A class that the file does not know: named, with those it knows; the file is as it was.
cp photos.mldf before.mldf
expect 1 mldf append photos.mldf strange <<'END'
--- stderr
mldf append: strange: the folder 'wolf' is none of the file's classes: cat, dog, eel
END
check cmp photos.mldf before.mldf
# The same images again: their keys are there. An image that is none: the first in order is named, or left out.
expect_error 1 'cat/9.bmp' mldf append photos.mldf more
check cmp photos.mldf before.mldf
mkdir -p bad/dog && cp "$images/rgb.jpg" bad/dog/a.jpg && : >bad/dog/b.jpg && echo no >bad/dog/c.jpg && cp "$images/rgb.jpg" bad/dog/d.jpg
expect_error 1 'bad/dog/b.jpg: the file is empty' mldf append photos.mldf bad
check cmp photos.mldf before.mldf
mldf append photos.mldf bad --on-error=skip --json -q >said
json 'd["written"] == 2 and [s["source"] for s in d["skipped"]] == ["bad/dog/b.jpg", "bad/dog/c.jpg"]' <said
mldf info --json photos.mldf | json 'd["num_samples"] == 7'
# No class folders where the file has labels; no labels in the file; classes that are not in the card.
mkdir flat && cp "$images/rgb.jpg" flat/x.jpg
expect_error 1 'has no value for the field label' mldf append photos.mldf flat
mldf pack flat -o flat.mldf -q
mkdir flat2 && cp "$images/gray.jpg" flat2/y.jpg && mkdir flat2/deep && cp "$images/gray.jpg" flat2/deep/z.jpg
mldf append flat.mldf flat2 -q
check test "$(mldf cat --json flat.mldf | grep -o '"key":"[^"]*"' | tr '\n' ' ')" = '"key":"x.jpg" "key":"deep/z.jpg" "key":"y.jpg" '
expect_error 1 'no integer field named label' mldf append flat.mldf more --layout classes
mldf append flat.mldf more strange -q
check test "$(mldf cat --json flat.mldf | grep -c '"key":"\(more\|strange\)/')" = 4
printf '{"title":"no classes"}' >card.json
mldf convert photos.mldf -o nocard.mldf -q --card card.json
expect_error 1 'the file'"'"'s card has no list "classes"' mldf append nocard.mldf more
# Images are stored as the file's field says.
mldf pack photos -o small.mldf -q --max-resolution 8 --encode jpeg
mldf append small.mldf more -q
mldf cat --json small.mldf | python3 -c 'import json, sys
for line in sys.stdin:
    f = json.loads(line)["fields"]["image"]
    assert f["mode"] == "jpeg" and max(f["width"], f["height"]) <= 8, f' || complain "appended images are not resized"
expect_error 2 'a key column is for tables' mldf append photos.mldf more --key-column k

# ---- Archives ---------------------------------------------------------------------------------------------------------------
mkdir t1 t2
for n in 1 2 3; do echo $n >t1/s$n.cls && cp "$images/rgb.png" t1/s$n.png; done
for n in 4 5; do echo $n >t2/s$n.cls && cp "$images/one.png" t2/s$n.png; done
rm t2/s5.png
for t in t1 t2; do tar cf $t.tar --sort=name -C $t .; tar czf $t.tar.gz --sort=name -C $t .; done
mldf pack t1.tar -o tar.mldf -q
cp tar.mldf before.mldf
expect_error 1 "t2.tar: ./s5: no part '.png'" mldf append tar.mldf t2.tar
check cmp tar.mldf before.mldf
mldf append tar.mldf t2.tar.gz --on-error=skip --json -q | json 'd["written"] == 1 and d["skipped"][0]["source"] == "t2.tar.gz: ./s5"'
mldf cat --json tar.mldf | tail -1 | json 'd["key"] == "./s4" and d["fields"]["cls"] == 4 and d["fields"]["png"]["mode"] == "png"'
mkdir t3 && cp t1/s1.png t3/u1.png && echo 1 >t3/u1.cls && echo {} >t3/u1.json && tar cf t3.tar -C t3 u1.cls u1.json u1.png
expect_error 1 "t3.tar: u1: a part '.json', and the file has no field of that name" mldf append tar.mldf t3.tar
# Shards by a pattern, and standard input.
for n in 0 1; do
    mkdir shard && echo 1 >shard/q$n.cls && cp t1/s1.png shard/q$n.png
    tar cf q-$n.tar -C shard q$n.cls q$n.png && rm -r shard
done
mldf append tar.mldf 'q-{0..1}.tar' --json -q | json 'd["written"] == 2'
mkdir shard && echo 7 >shard/in.cls && cp t1/s1.png shard/in.png && tar cf in.tar -C shard in.cls in.png
mldf append tar.mldf - --format tar --json -q <in.tar | json 'd["written"] == 1'
check mldf verify --deep tar.mldf >verified
# A file without keys stays without.
printf '{"cls":1,"txt":"a"}\n' >nokeys.jsonl
mldf pack nokeys.jsonl -o nokeys.mldf -q
mkdir t4 && echo 2 >t4/v.cls && echo hello >t4/v.txt && tar cf t4.tar -C t4 v.cls v.txt
mldf append nokeys.mldf t4.tar -q
mldf cat --json nokeys.mldf | tail -1 | json 'd["key"] is None and d["fields"] == {"cls": 2, "txt": "hello\n"}'

# Nor does it take them from a file that has some.
printf 'k,a\nx,1\ny,2\n' >keyed.csv
printf 'a\n3\n4\n' >plain.csv
mldf pack keyed.csv --key-column k -o keyed.mldf -q
mldf pack plain.csv -o plain.mldf -q
mldf append plain.mldf keyed.mldf -q || complain 'a file with keys cannot be appended to one without'
mldf cat --json plain.mldf | tail -1 | json 'd["key"] is None and d["fields"] == {"a": 2}'
# A file with keys and a source without: an error that says how, whatever --on-error says, or keys made of the source's name.
mkdir sub
mldf convert plain.mldf -o sub/p.beton -q
sha256sum keyed.mldf >sum
for more in '' --on-error=skip; do
    # shellcheck disable=SC2086
    expect 1 mldf append keyed.mldf sub/p.beton $more <<'END'
--- stderr
mldf append: sub/p.beton: its samples have no keys, but those of the file have; with number-keys they get "p.beton/0" and so on
END
    # shellcheck disable=SC2086
    expect 1 mldf append keyed.mldf plain.csv $more <<'END'
--- stderr
mldf append: plain.csv: its rows have no keys, but the samples of the file have: a key column is needed
END
done
check sha256sum --quiet -c sum
mldf append keyed.mldf sub/p.beton --number-keys -q || complain 'append --number-keys fails'
mldf cat --json keyed.mldf | python3 -c 'import json,sys; print(*[json.loads(line)["key"] for line in sys.stdin])' >keys
check grep -qx 'x y p.beton/0 p.beton/1 p.beton/2 p.beton/3' keys
check test "$(mldf cat --json --keys p.beton/3 keyed.mldf | python3 -c 'import json,sys; print(json.load(sys.stdin)["fields"]["a"])')" = 2
expect_error 1 'p.beton/0' mldf append keyed.mldf sub/p.beton --number-keys # a second time: the keys are there
check mldf verify --deep keyed.mldf >verified
mldf append plain.mldf sub/p.beton --number-keys -q || complain 'a file without keys refuses --number-keys'
mldf info --json plain.mldf | json 'd["num_samples"] == 8'

# ---- Files of other formats, and a mixture ----------------------------------------------------------------------------------
mldf convert "$golden/tbl/v2_comp_meta.tbl" -o tbl.mldf -q
mldf append tbl.mldf "$golden/tbl/v2_comp_meta.tbl" --json -q | json 'd["written"] == 3'
mldf convert "$golden/tbl/v2_comp_meta.tbl" "$golden/tbl/v2_comp_meta.tbl" -o twice.mldf -q
expect 0 mldf diff tbl.mldf twice.mldf <<'END'
END
# One without metadata: the field is null there.
mldf append tbl.mldf "$golden/tbl/v1_4samples.tbl" --json -q | json 'd["written"] == 4'
mldf cat --json tbl.mldf | tail -1 | json 'd["fields"]["metadata"] is None'
mldf pack nokeys.jsonl -o rows.mldf -q
mldf convert rows.mldf -o rows.beton -q
mldf convert rows.beton -o frombeton.mldf -q
mldf append frombeton.mldf rows.beton -q
mldf info --json frombeton.mldf | json 'd["num_samples"] == 2'
cp rows.mldf before.mldf
expect_error 1 "$golden/tbl/v1_4samples.tbl: there is no field 'cls'" mldf append rows.mldf "$golden/tbl/v1_4samples.tbl"
check cmp rows.mldf before.mldf
printf 'cls,txt\n5,five\n' >five.csv
printf 'cls,txt\n6,six\nseven,7\n' >six.csv
mldf append rows.mldf five.csv t4.tar before.mldf five.csv --json -q | json 'd["written"] == 4'
check test "$(mldf cat --json rows.mldf | grep -o '"cls":[0-9]*' | tr '\n' ' ')" = '"cls":1 "cls":5 "cls":2 "cls":1 "cls":5 '
cp rows.mldf before.mldf
expect_error 1 "six.csv:3:1: column 'cls' (int): 'seven' is not an integer" mldf append rows.mldf t4.tar six.csv
check cmp rows.mldf before.mldf
mldf append rows.mldf t4.tar six.csv --on-error=skip --json -q | json 'd["written"] == 2 and d["skipped"][0]["source"] == "six.csv:3"'
check test -z "$(find . -name '*.tmp')"
