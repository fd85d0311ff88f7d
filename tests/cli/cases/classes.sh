# The card's names of classes, and what the records of images say: in head, cat, stats, its drawing, --where; and what diff shows of values.
python3 - <<'END'
import os, struct, zlib
def png(path, height, width, grey):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes([grey]) * width for _ in range(height))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
                chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
for c, grey in (("dark", 10), ("light", 200)):
    os.makedirs("photos/" + c)
    for i in range(3):
        png("photos/%s/%d.png" % (c, i), 20 + i, 30 + 10 * i, grey)
END
mldf pack photos -o p.mldf -q
mldf head -n 1 --fields label p.mldf >out
check grep -qx '  label: 0 (dark)' out
mldf cat --samples 5 --fields label p.mldf >out
check grep -qx '  label: 1 (light)' out
mldf cat --json --samples 5 --fields label p.mldf | json 'd["fields"] == {"label": 1}'

mldf stats p.mldf >out
check grep -Eq '^  height +20 +22 ' out
check grep -Eq '^  width +30 +50 ' out
check grep -Eq '## 3  0 \(dark\)$' out
mldf stats -q p.mldf >out
check test "$(grep -c '#' out)" -eq 0
check grep -Eq '^  width +30 +50 ' out
mldf stats --json p.mldf | json 'd["fields"]["image"]["measures"]["height"]["max"] == 22 and
    [c["class_name"] for c in d["fields"]["label"]["classes"]] == ["dark", "light"]'
mldf stats -q p.mldf --svg p.svg >/dev/null
check python3 -c '
import xml.etree.ElementTree as tree
texts = [t.text for t in tree.parse("p.svg").getroot().iter() if t.tag.endswith("}text")]
assert {"dark", "light", "bytes"} <= set(texts), texts
assert "3" in texts and "0" in texts, texts
assert any(t.startswith("image, 6 values, 0 nulls, height 20 to 22, width 30 to 50") for t in texts), texts'

count() { # predicate
    mldf select p.mldf -o q.mldf -f --json --where "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["written"])'
}
check test "$(count "label == 'dark'")" = 3
check test "$(count "label != 'dark' and image.width > 30")" = 2
check test "$(count "label in ['dark', 'light'] and image.height == 20")" = 2
check test "$(count "image.mode == 'png' and image.channels == 1 and image.bytes > 0")" = 6
hash=$(mldf cat --json --samples 2 p.mldf | python3 -c 'import json, sys; print(json.load(sys.stdin)["fields"]["image"]["sha256"])')
check test "$(count "image.sha256 == '$hash' and image.width == 50")" = 1
expect_error 2 "no class is called 'drak': the card names 2, the first is 'dark'" mldf select p.mldf -o q.mldf -f --where "label == 'drak'"
expect_error 2 'field "image" has no member "heigth"; it has bytes, sha256, height, width' mldf select p.mldf -o q.mldf -f --where 'image.heigth > 1'
# A plain list is for the field label; names by field are for the fields they name.
printf 'a,b\n0,1\n1,0\n' >two.csv
echo '{"classes": {"b": ["no", "yes"]}}' >card.json
mldf pack two.csv -o two.mldf -q --card card.json
expect 0 mldf head -n 1 two.mldf <<'END'
sample 0
  a: 0
  b: 1 (yes)
END
echo '{"classes": ["no", "yes"]}' >card.json
mldf pack two.csv -o plain.mldf -q --card card.json
expect 0 mldf head -n 1 plain.mldf <<'END'
sample 0
  a: 0
  b: 1
END

# diff: short arrays whole, long ones by their first difference; bytes; what members differ.
echo '{"a":[1,2,3],"n":1}' >a.jsonl
echo '{"a":[1,5,3],"n":1}' >b.jsonl
python3 -c 'import json
for f in "ab": print(json.dumps({"a": [0] * 11 + [7 if f == "a" else 8], "n": 1}), file=open("long_%s.jsonl" % f, "w"))'
for f in a b long_a long_b; do mldf pack $f.jsonl -o $f.mldf -q; done
expect 1 mldf diff a.mldf b.mldf <<'END'
sample 0: a: value: [1,2,3] in the first file, [1,5,3] in the second; 1 of 3 elements differ, the first at [1]
END
expect 1 mldf diff long_a.mldf long_b.mldf <<'END'
sample 0: a: value: 7 in the first file, 8 in the second; 1 of 12 elements differ, the first at [11]
END
expect 0 mldf diff a.mldf a.mldf </dev/null
check test "$(python3 -c 'import os, pty, sys
pty.spawn([os.environ["MLDF_UNDER_TEST"], "diff", "a.mldf", "a.mldf"])' </dev/null | tr -d '\r')" = equal
expect 0 mldf diff --layout -q a.mldf a.mldf <<END
$(mldf diff --layout a.mldf a.mldf)
END
mldf diff --layout a.mldf long_a.mldf >out
check test $? -eq 1
check grep -Eq '^! metadata_ptr +[0-9]+ +[0-9]+$' out
check grep -Eq '^  num_samples +1 +1$' out
check grep -Eq '^! field 0 +a: ndarray\(4\) .*"shape":\[3\]} +a: ndarray\(4\) .*"shape":\[12\]}$' out
mldf diff --layout --json a.mldf b.mldf | json '{x["name"]: x["a"] for x in d["layout"]}["data_ptr"] == "4096" and d["equal"] is False'

# The card is read once, whatever the number of labels: what is wrong with it is said once.
echo '{"a":1,"b":0,"c":1}' >three.jsonl
echo '{"classes":{"a":["no","yes"],"c":["red","blue"]}}' >three.json
mldf pack three.jsonl -o three.mldf --card three.json -q
expect 0 mldf head three.mldf --json <<'END'
{"index":0,"key":null,"fields":{"a":1,"b":0,"c":1}}
END
mldf head three.mldf >out
check grep -qF 'a: 1 (yes)' out
check grep -qF 'c: 1 (blue)' out
python3 -c 'd = open("three.mldf", "rb").read(); open("three.mldf", "wb").write(d.replace(b"yes", b"yEs"))'
mldf head three.mldf >out 2>err
check test "$(wc -l <err)" -eq 1
mldf stats three.mldf >out 2>err
check test "$(grep -c card err)" -eq 1

# Of an array, what head shows can be asked too; a list may be written as in SQL.
printf '{"x":[1,2,3],"y":1}\n{"x":[4,5,6],"y":2}\n' >arrays.jsonl
mldf pack arrays.jsonl -o arrays.mldf -q
for where in 'x.shape[0] == 3' 'x.shape[-1] == 3 and len(x.shape) == 1' "x.dtype == '<i8'" 'x.bytes == 24' 'y in (1, 2)' \
    "x.sha256 != '00'"; do
    mldf select arrays.mldf -o chosen.mldf -f -q --where "$where"
    check test "$(mldf info --json chosen.mldf | grep -o '"num_samples":[0-9]*')" = '"num_samples":2'
done
mldf select arrays.mldf -o chosen.mldf -f -q --where 'y not in (1)'
check test "$(mldf head chosen.mldf | grep y:)" = '  y: 2'
expect_error 2 'field "x" is an array: it has no member "size"; it has dtype, shape' mldf select arrays.mldf -o q.mldf -f --where 'x.size > 1'
expect_error 2 "',' or ')' is missing" mldf select arrays.mldf -o q.mldf -f --where 'y in (1 2)'
expect_error 2 'in needs a list: [1, 2]' mldf select arrays.mldf -o q.mldf -f --where 'y in 1'
