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
assert len(f["a"]["dims"]) == 2 and f["a"]["classes"] is None
a = [x for r in rows for pair in r["a"] for x in pair]
check({**f["a"], "count": f["a"]["elements"]}, a)
assert f["a"]["count"] == 500 and f["n"]["elements"] is None
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
  value                  1            4         2.25      1.08972            2          3.4         3.94
  3 different values
    ######################################## 2  2
    ####################                     1  1
    ####################                     1  4

c  text  4 values, 0 nulls
                       min          max         mean          std          p50          p90          p99
  length                 1            1            1            0            1            1            1
  bytes                  1            1            1            0            1            1            1
  2 different values
    ######################################## 3  "b"
    #############                            1  "a"
END
expect_error 0 '' mldf stats s.mldf --svg out.svg
check python3 -c 'import xml.dom.minidom as m; d = m.parse("out.svg"); assert len(d.getElementsByTagName("rect")) > 50'
expect_error 3 'out.svg: already exists' mldf stats s.mldf --svg out.svg
expect_error 0 '' mldf stats s.mldf -f --svg out.svg
expect_error 3 'nosuch' mldf stats s.mldf --svg nosuch/x.svg
# A pipe or a device is never replaced: /dev/null as root would be everybody's loss.
mkfifo pipe.svg
ln -s pipe.svg link.svg
mkdir folder.svg
for out in pipe.svg link.svg folder.svg; do
    expect_error 2 "$out is not a regular file and is not replaced" mldf stats s.mldf -f --svg $out
done
check test -p pipe.svg -a -L link.svg -a -d folder.svg
expect_error 3 'nosuch' mldf stats nosuch
check test -z "$(ls -A | grep -F .tmp)"

# Arrays and structs: their numbers, member by member, nested ones and arrays of structs too; more numbers than are kept for percentiles.
python3 -c '
import json
for i in range(300):
    print(json.dumps({"v": [i + k / 4 for k in range(400)] if i != 7 else ["NaN", "Infinity"] + [1.5] * 398,
                      "box": [i, -i, 2 * i], "big": [2**64 - 1 - i, i],
                      "s": None if i % 3 == 0 else {"id": i, "pose": [{"x": i / 2, "n": "q"}, {"x": -i, "n": "r"}], "c": [1, 2]},
                      "s.id": i}))' >m.jsonl
mldf pack m.jsonl -o m.mldf -q --schema '[{"name":"v","type":"ndarray","dtype":"<f4","shape":[400]},
    {"name":"box","type":"inline","descr":[["","<i2",[3]]]},{"name":"big","type":"ndarray","dtype":"<u8","shape":[2]},
    {"name":"s","type":"inline","nullable":true,"descr":[["id","<u2"],["pose",[["x","<f8"],["n","|S4"]],[2]],["c","<c8"]]},
    {"name":"s.id","type":"int"}]'
mldf stats --json m.mldf >m.json || complain 'stats --json of arrays fails'
python3 - <<'END' || complain 'the numbers of arrays and structs differ'
import json, statistics, math
rows = [json.loads(l) for l in open("m.jsonl")]
f = json.load(open("m.json"))["fields"]
assert list(f) == ["v", "box", "big", "s", "s[id]", "s.pose.x", "s.id"], list(f)
def near(a, b): assert abs(a - b) <= 1e-9 * max(1, abs(b)), (a, b)
def check(d, values, nonfinite=0):
    assert d["elements"] == len(values) + nonfinite and d["nonfinite"] == nonfinite
    assert d["min"] == min(values) and d["max"] == max(values)
    near(d["mean"], statistics.fmean(values)); near(d["std"], statistics.pstdev(values))
    assert d["percentiles"] == ("exact" if len(values) <= 65536 else "estimated")
v = [x for r in rows for x in r["v"] if not isinstance(x, str)]
check(f["v"], v, 2)
assert abs(f["v"]["p50"] - statistics.median(v)) < 5
check(f["box"], [x for r in rows for x in r["box"]]); check(f["big"], [x for r in rows for x in r["big"]])
there = [r["s"] for r in rows if r["s"]]
check(f["s[id]"], [s["id"] for s in there]); check(f["s.pose.x"], [p["x"] for s in there for p in s["pose"]])
assert f["s[id]"]["type"] == "<u2" and f["s.pose.x"]["count"] == 200 and f["s.pose.x"]["nulls"] == 100
assert f["s"]["min"] is None and f["s.id"]["type"] == "int" and f["s.id"]["max"] == 299
END
expect_error 0 '' mldf stats m.mldf --svg m.svg
check python3 -c 'import xml.dom.minidom as m; t = [e.firstChild.data for e in m.parse("m.svg").getElementsByTagName("text")]; assert "s.pose.x" in t, t'
printf '{"a":[1,2],"s":{"x":1}}\n{"a":[],"s":{"x":3}}\n' >y.jsonl
mldf pack y.jsonl -o y.mldf -q --schema '[{"name":"a","type":"ndarray","dtype":"<f4","shape":[null]},
    {"name":"s","type":"inline","descr":[["x","|i1"]]}]'
expect 0 mldf stats y.mldf <<'END'
y.mldf: 2 samples

a  ndarray  2 values, 0 nulls
                       min          max         mean          std          p50          p90          p99
  value                  1            2          1.5          0.5          1.5          1.9         1.99
  length                 0            2            1            1            1          1.8         1.98
  bytes                  0            8            4            4            4          7.2         7.92
  dim 0                  0            2            1            1            1          1.8         1.98
    1                        ######################################## 1
    2                        ######################################## 1

s  inline  2 values, 0 nulls

s.x  |i1  2 values, 0 nulls
                       min          max         mean          std          p50          p90          p99
  value                  1            3            2            1            2          2.8         2.98
    1                        ######################################## 1
    2                                                                 0
    3                        ######################################## 1
END
