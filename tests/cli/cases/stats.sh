# Distributions of fields, against Python's own arithmetic.
python3 -c '
import json
for i in range(500):
    print(json.dumps({"n": (i * 37) % 101, "f": "NaN" if i == 3 else i / 8, "t": "abcdefghij"[: i % 7], "a": [[1, 2]] * (i % 5),
                      "u": None if i % 4 == 0 else i, "long": "x" * 100 + str(i)}))' >s.jsonl
mldf pack s.jsonl -o s.mldf -q --schema '[{"name":"n","type":"int"},{"name":"f","type":"float"},{"name":"t","type":"text"},
    {"name":"a","type":"ndarray","dtype":"<i4","shape":[null,2]},{"name":"u","type":"int","nullable":true},{"name":"long","type":"text"}]'
mldf stats --json s.mldf >s.json || complain 'stats --json fails'
python3 - <<'END' || complain 'the numbers of stats differ'
import json, statistics
rows = [json.loads(l) for l in open("s.jsonl")]
got = json.load(open("s.json"))
assert got["num_samples"] == 500
def near(a, b): assert abs(a - b) <= 1e-9 * max(1, abs(b)), (a, b)
def percentile(values, p):
    values = sorted(values); at = p * (len(values) - 1); i = int(at)
    return values[i] + (values[min(i + 1, len(values) - 1)] - values[i]) * (at - i)
def check(d, values):
    assert d["count"] == len(values) and d["percentiles"] == "exact"
    near(d["min"], min(values)); near(d["max"], max(values)); near(d["mean"], statistics.fmean(values))
    near(d["std"], statistics.pstdev(values))
    for name, p in (("p50", .5), ("p90", .9), ("p99", .99)): near(d[name], percentile(values, p))
    assert sum(b["count"] for b in d["histogram"]) == len(values)
f = got["fields"]
check(f["n"], [r["n"] for r in rows])
assert f["f"]["nonfinite"] == 1 and f["f"]["count"] == 500 and f["f"]["nulls"] == 0
near(f["f"]["mean"], statistics.fmean(r["f"] for r in rows if r["f"] != "NaN"))
check(f["t"]["lengths"], [len(r["t"]) for r in rows]); check(f["t"]["bytes"], [len(r["t"]) for r in rows])
check(f["a"]["dims"][0], [len(r["a"]) for r in rows]); check(f["a"]["bytes"], [8 * len(r["a"]) for r in rows])
check(f["a"]["lengths"], [2 * len(r["a"]) for r in rows])
assert len(f["a"]["dims"]) == 2 and f["a"]["min"] is None and f["a"]["classes"] is None
assert f["u"]["nulls"] == 125 and f["u"]["count"] == 375
assert f["t"]["distinct"] == 7 and f["t"]["classes"][0] == {"value": "", "count": 72}
assert f["n"]["distinct"] == 101 and sum(c["count"] for c in f["n"]["classes"]) == 500
assert f["long"]["classes"] is None and f["long"]["distinct"] is None
END
printf 'x,c\n1,a\n2,b\n2,b\n4,b\n' >x.csv
mldf pack x.csv -o x.mldf -q
expect 0 mldf stats x.mldf <<'END'
x.mldf: 4 samples

x  int  4 values, 0 nulls
                    min          max         mean          std          p50          p90          p99
  value               1            4         2.25      1.08972            2          3.4         3.94
  3 different values
    ######################################## 2  2
    ####################                     1  1
    ####################                     1  4

c  text  4 values, 0 nulls
                    min          max         mean          std          p50          p90          p99
  length              1            1            1            0            1            1            1
  bytes               1            1            1            0            1            1            1
  2 different values
    ######################################## 3  "b"
    #############                            1  "a"
END
expect_error 0 '' mldf stats s.mldf --svg out.svg
check python3 -c 'import xml.dom.minidom as m; d = m.parse("out.svg"); assert len(d.getElementsByTagName("rect")) > 50'
expect_error 3 'out.svg exists' mldf stats s.mldf --svg out.svg
expect_error 0 '' mldf stats s.mldf -f --svg out.svg
expect_error 3 'nosuch' mldf stats s.mldf --svg nosuch/x.svg
expect_error 3 'nosuch' mldf stats nosuch
check test -z "$(ls -A | grep -F .tmp)"
