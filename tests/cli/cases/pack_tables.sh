# What a table is: JSON arrays, delimiters, files that are no table, tables without rows.

# A JSON array of objects is a table: one line, many lines, with and without a name that says JSON.
printf '[{"a":1,"b":"x"},{"a":2,"b":"y, ]}\\""}]' >one.json
printf '\xef\xbb\xbf [\n  {\n    "a": 1,\n    "b": "x"\n  },\n  {"a": 2, "b": "y, ]}\\""}\n]\n' >many.json
for file in one.json many.json; do
    mldf pack $file -o t.mldf -q -f
    check test "$(mldf cat --json t.mldf | python3 -c 'import json, sys
print([json.loads(l)["fields"] for l in sys.stdin])')" = "[{'a': 1, 'b': 'x'}, {'a': 2, 'b': 'y, ]}\"'}]"
done
cp many.json many && mldf pack many -o t2.mldf -q && check cmp -s t.mldf t2.mldf
mldf pack - -o t3.mldf -q <many.json && check cmp -s t.mldf t3.mldf
# An element that does not fit is named by line and column, and can be skipped.
printf '[\n {"a": 1},\n {"a":\n  "x", "c": 1},\n 7,\n {"a": 3}\n]' >bad.json
expect_error 1 "bad.json:5:2: an element of the array must be a JSON object" mldf pack bad.json -o b.mldf
expect_error 1 "bad.json:4:13: column 'c' is not known" mldf pack bad.json -o b.mldf --schema '{"fields":[{"name":"a","type":"int"}]}'
mldf pack bad.json -o b.mldf --schema '{"fields":[{"name":"a","type":"int"}]}' --on-error=skip --json -q | json 'd["written"] == 2 and len(d["skipped"]) == 2'
# An array that is broken ends the run, also with skip: nothing after that place can be read.
printf '[{"a":1} {"a":2}]' >x.json && expect_error 1 'x.json:1: no comma between two elements of the JSON array' mldf pack x.json -o x.mldf --on-error=skip
printf '[{"a":1},\n{"a":2}' >x.json && expect_error 1 'x.json:2: the file ends before its JSON array does' mldf pack x.json -o x.mldf --on-error=skip
printf '[{"a":1}]\n]' >x.json && expect_error 1 'x.json:2: text after the end of the JSON array' mldf pack x.json -o x.mldf --on-error=skip
printf '3\n' >x.json && expect_error 1 'x.json: a table in JSON is an array of objects, or lines of one object each' mldf pack x.json -o x.mldf
check test ! -e x.mldf

# The delimiter is found, or given.
columns() { mldf info --json "$1" | python3 -c 'import json, sys; print(*[f["name"] for f in json.load(sys.stdin)["fields"]])'; }
printf 'a;b;c\n1;2,5;x\n' >s.csv && mldf pack s.csv -o s.mldf -q && check test "$(columns s.mldf)" = "a b c"
printf 'a|b\n1|2\n' >p.csv && mldf pack p.csv -o p.mldf -q && check test "$(columns p.mldf)" = "a b"
printf 'a\tb\n1\t2\n' >t.csv && mldf pack t.csv -o tt.mldf -q && check test "$(columns tt.mldf)" = "a b"
printf '"a;x","b;y"\n1,2\n' >q.csv && mldf pack q.csv -o q.mldf -q && check test "$(columns q.mldf)" = "a;x b;y"
printf 'a;x,b;y\n1,2\n' >q.csv && mldf pack q.csv -o q.mldf -q -f && check test "$(columns q.mldf)" = "a;x b;y"
printf 'a\n1\n' >one.csv && mldf pack one.csv -o one.mldf -q && check test "$(columns one.mldf)" = "a"
printf 'a b\n1 2\n' >d.csv && mldf pack d.csv -o d.mldf -q --delimiter ' ' && check test "$(columns d.mldf)" = "a b"
mldf pack t.csv -o d.mldf -q -f --delimiter tab && check test "$(columns d.mldf)" = "a b"
mldf append d.mldf t.csv --delimiter tab -q && mldf info --json d.mldf | json 'd["num_samples"] == 2'
expect_error 2 "is not one ASCII character" mldf pack d.csv -o e.mldf --delimiter '::'
expect_error 2 "a delimiter is for CSV, not for JSON" mldf pack one.json -o e.mldf --delimiter ';' --format jsonl

# Files that are no table are named, with what to do.
printf 'PAR1\x15\x04\x15\x10PAR1' >t.parquet
expect_error 3 't.parquet: is a Parquet file: read it in Python and write it: mldf.write("out.mldf", pandas.read_parquet("in.parquet"))' mldf pack t.parquet -o e.mldf
printf 'PAR1abcPAR1' >t.csv && expect_error 3 't.csv: is a Parquet file' mldf pack t.csv -o e.mldf
printf 'SQLite format 3\0xyz' >t.db && expect_error 3 't.db: is an SQLite database' mldf pack t.db -o e.mldf
printf 'ab\x01c,d\n1,2\n' >c.csv && expect_error 1 'c.csv:1:3: a control character in the name of a column' mldf pack c.csv -o e.mldf
printf 'PAR1,b\n1,2\n' >c.csv && mldf pack c.csv -o c.mldf -q && check test "$(columns c.mldf)" = "PAR1 b"
check test ! -e e.mldf

# A file without samples is made, and reported.
printf 'a,b\n' >n.csv
expect 0 mldf pack n.csv -o n.mldf <<'END'
--- stderr
mldf pack: warning: n.mldf: has no samples: the sources hold none
mldf pack: n.mldf: 0 samples written, 4.6 KiB in all
END
printf '[]' >n.json && mldf pack n.json -o n2.mldf -q --schema '{"fields":[{"name":"a","type":"int"}]}' --json | json 'd["warnings"][0]["message"] == "has no samples: the sources hold none"'
