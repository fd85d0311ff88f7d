# By content: order of fields, compression, pages and JSON spelling do not count.
cat >a.jsonl <<'END'
{"i":1,"j":{"b":1,"a":[1,2]},"t":"x"}
{"i":2,"j":{"c":2},"t":"y"}
END
cat >b.jsonl <<'END'
{"t":"x","j":{"a":[ 1,2],"b":1},"i":1}
{"t":"y","j":{"c":2},"i":2}
END
sed 's/"y"/"z"/; s/"i":1/"i":7/' a.jsonl >c.jsonl
for f in a b c; do mldf pack $f.jsonl -o $f.mldf -q; done
mldf repack a.mldf -o a2.mldf --compress j --page-size 64K -q
for other in a b a2; do
    expect 0 mldf diff a.mldf $other.mldf <<'END'
END
done
expect 1 mldf diff a.mldf c.mldf <<'END'
sample 0: i: value: 1 in the first file, 7 in the second
sample 1: t: value: 'y' in the first file, 'z' in the second
END
expect 1 mldf diff --max 1 a.mldf c.mldf <<'END'
sample 0: i: value: 1 in the first file, 7 in the second
--- stderr
mldf diff: there are more differences than the 1 listed
END
mldf diff --json a.mldf c.mldf | json 'd["equal"] is False and d["truncated"] is False and d["differences"][1] == {"sample": 1, "field": "t",
    "what": "value", "message": "\x27y\x27 in the first file, \x27z\x27 in the second"}'
mldf diff --json a.mldf a.mldf | json 'd["equal"] is True and d["differences"] == []'
mldf diff --json a.mldf a.jsonl 2>/dev/null | json 'd["equal"] is None and "error" in d'
expect_error 1 'not an MLDF file' mldf diff a.mldf a.jsonl
expect_error 3 'nosuch' mldf diff a.mldf nosuch
mldf append a2.mldf a.jsonl -q
expect 1 mldf diff a.mldf a2.mldf <<'END'
num_samples: 2 samples in the first file, 4 in the second
END
printf '{"title":"one"}' >card.json
mldf pack a.jsonl -o card.mldf --card card.json -q
expect 1 mldf diff a.mldf card.mldf <<'END'
card: only the second file has a card
END
mldf info --json card.mldf | json 'd["card"] == {"title": "one"}'
# A JSON number beyond the doubles is stored as it is; it must not stand in the way of the other samples.
printf '{"j":{"x":1e400}}\n{"j":{"x":1}}\n' >h.jsonl
printf '{"j":{"x":1e401}}\n{"j":{"x":2}}\n' >h2.jsonl
for f in h h2; do mldf pack $f.jsonl -o $f.mldf -q; done
expect 0 mldf diff h.mldf h.mldf <<'END'
END
expect 1 mldf diff h.mldf h2.mldf <<'END'
sample 0: j: value: '{"x":1e400}' in the first file, '{"x":1e401}' in the second
sample 1: j: value: '{"x":1}' in the first file, '{"x":2}' in the second
END
