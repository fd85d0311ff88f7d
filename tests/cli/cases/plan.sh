# The plan is what the writer does: begin and end of every region, for several page sizes and numbers of samples.
cat >compare.py <<'END'
import json, subprocess, sys
mldf = sys.argv[1]

def run(*args):
    return json.loads(subprocess.run([mldf, *args, "--json"], check=True, capture_output=True).stdout)

def compare(n, schema, sizes, rows, page):
    with open("rows.jsonl", "w") as f:
        for i in range(n):
            f.write(json.dumps(rows(i)) + "\n")
    open("schema.json", "w").write(json.dumps(schema))
    pages = ["--page-size", page] if page else []
    run("pack", "rows.jsonl", "--schema", "schema.json", "-o", "x.mldf", "-f", "-q", *pages)
    given = [a for name, bytes in sizes.items() for a in ("--payload-bytes", "%s=%d" % (name, bytes))]
    plan = run("plan", "--samples", str(n), "--schema", "schema.json", *given, *pages)
    info = run("info", "x.mldf")
    regions = {r["name"]: (r["begin"], r["end"]) for r in plan["regions"]}
    for s in info["sections"]:
        if regions.pop(s["name"], None) != (s["ptr"], s["ptr"] + s["bytes"]):
            sys.exit("n=%d page=%s: section %s is at %s, planned %s" % (n, page, s["name"], s, plan))
    if plan["file_bytes"] != info["file_bytes"]:
        sys.exit("n=%d page=%s: %d bytes, planned %d" % (n, page, info["file_bytes"], plan["file_bytes"]))
    if info["data_bytes"] + info["padding_bytes"] != regions["metadata"][0] - regions["descriptors"][1]:
        sys.exit("n=%d page=%s: data region differs: %s %s" % (n, page, info, regions))
    left = [r for r in regions if r not in ("magic", "header", "descriptors", "data", "metadata", "allocation", "directory", "footer")]
    if left:
        sys.exit("planned and not written: %s" % left)

plain = {"fields": [{"name": "i", "type": "int"}, {"name": "f", "type": "float", "nullable": True}]}
text = {"fields": [{"name": "t", "type": "text"}, {"name": "v", "type": "ndarray", "dtype": "<f4", "shape": [300]},
                   {"name": "b", "type": "bytes", "nullable": True}]}
long_names = [["m%03d" % i, "<f4"] for i in range(40)]
wide = {"fields": [{"name": "s", "type": "inline", "descr": long_names}, {"name": "t", "type": "text"}]}
for n in (0, 1, 7, 1000, 5000):
    compare(n, plain, {}, lambda i: {"i": i, "f": 0.5}, None)
    for page in (None, "4096", "16K", "1M"):
        for size in (0, 1, 13, 100, 700, 2000):
            if n >= 1000 and (size not in (13, 700) or page == "16K" or n * size > 3000000):
                continue # the small ones have all sizes and pages
            compare(n, text, {"t": size, "b": 5}, lambda i: {"t": "x" * size, "v": [0] * 300, "b": "bytes"}, page)
    compare(n, wide, {"t": 9}, lambda i: {"s": [0] * 40, "t": "ninebytes"}, None)
END
check python3 compare.py "$MLDF"
# Sizes that are not known.
schema='{"fields":[{"name":"i","type":"int"},{"name":"t","type":"text"}]}'
mldf plan --samples 10 --schema "$schema" --json | json '[r["name"] for r in d["regions"]][:3] == ["magic", "header", "descriptors"] and
    d["regions"][2] == {"name": "descriptors", "begin": 128, "end": 544} and d["regions"][3]["begin"] is None and d["file_bytes"] is None'
mldf plan --samples 10 --schema "$schema" --page-size 4096 --json | json 'd["regions"][3] == {"name": "data", "begin": 4096, "end": None}'
# Hundreds of millions of samples are planned at once.
mldf plan --samples 500000000 --schema "$schema" --payload-bytes t=100 --json | json 'd["regions"][3]["end"] > 5e10'
expect_error 2 'no field' mldf plan --samples 1 --schema "$schema" --payload-bytes x=1
expect_error 2 'has no payload' mldf plan --samples 1 --schema "$schema" --payload-bytes i=1
expect_error 2 '' mldf plan --samples 1 --schema '{"fields":'

# Known sizes are shown where places are not; other layouts. The draft's own example: 3 fields of 16 bytes, pages of 2 MiB.
three='[{"name":"a","type":"bytes"},{"name":"b","type":"bytes"},{"name":"c","type":"json"}]'
mldf plan --samples 10000000 --schema "$three" >out
check grep -Eq '^metadata +\? +\? +480000000$' out
mldf plan --to 1.0 --samples 10000000 --schema "$three" >out
check grep -Eq '^data +480247808 +\? +\?$' out
check grep -Eq '^metadata +752 +480000752 +480000000$' out
mldf plan --to 1.0 --samples 10 --schema "$three" --payload-bytes a=3 --payload-bytes b=0 --payload-bytes c=2 --page-size 4096 --json |
    json 'd["file_bytes"] == 4096 + 50 + 320 and [r["name"] for r in d["regions"]][-3:] == ["metadata", "data", "allocation"]'
mldf plan --to tbl --samples 1000 --schema '[{"name":"image","type":"image"}]' --payload-bytes image=10 --json |
    json 'd["regions"] == [{"name": "header", "begin": 0, "end": 64}, {"name": "index", "begin": 64, "end": 24064}, {"name": "data", "begin": 24064, "end": 34064}]'
expect_error 2 "a layout named 'hdf5'; mldf, 1.0, tbl and beton can be planned" mldf plan --to hdf5 --samples 1 --schema "$three"
# TBL and .beton: the plan is what convert writes. A label is metadata of a TBL file, not data: its bytes are not known before.
cat >others.py <<'END'
import json, os, subprocess, sys
mldf = sys.argv[1]

def run(*args):
    return json.loads(subprocess.run([mldf, *args, "--json"], check=True, capture_output=True).stdout)

def compare(n, to, fields, row, sizes):
    with open("rows.jsonl", "w") as f:
        for i in range(n):
            f.write(json.dumps(row(i)) + "\n")
    open("schema.json", "w").write(json.dumps({"fields": fields}))
    run("pack", "rows.jsonl", "--schema", "schema.json", "-o", "x.mldf", "-f", "-q")
    run("convert", "x.mldf", "-o", "x." + to, "-f", "-q")
    given = [a for name, bytes in sizes.items() for a in ("--payload-bytes", "%s=%d" % (name, bytes))]
    plan = run("plan", "--to", to, "--samples", str(n), "--schema", "schema.json", *given)
    if plan["file_bytes"] != os.path.getsize("x." + to):
        sys.exit("%d samples to %s: %d bytes, planned %s" % (n, to, os.path.getsize("x." + to), plan))
    return plan

for n in (1, 2, 100, 3000):
    for size in (1, 7, 1000, 300000, 1100000):
        if n * size > 30000000:
            continue
        row = lambda i: {"b": "x" * size, "v": [1, 2, 3], "i": i, "j": {"a": 1}}
        compare(n, "beton", [{"name": "b", "type": "bytes"}, {"name": "v", "type": "ndarray", "dtype": "<f4", "shape": [3]},
                {"name": "i", "type": "int"}, {"name": "j", "type": "json"}], row, {"b": size, "j": 8})
        compare(n, "tbl", [{"name": "b", "type": "bytes"}, {"name": "metadata", "type": "json"}],
                lambda i: {"b": "x" * size, "metadata": {"a": 1}}, {"b": size, "metadata": 8})
plan = compare(5, "beton", [{"name": "i", "type": "int"}, {"name": "f", "type": "float"}], lambda i: {"i": i, "f": 0.5}, {})
END
check python3 others.py "$MLDF"
photo='[{"name":"image","type":"image"},{"name":"label","type":"int"},{"name":"caption","type":"text"}]'
mldf plan --to tbl --samples 1000 --schema "$photo" --payload-bytes image=10 --payload-bytes caption=20 --json |
    json '[r["name"] for r in d["regions"]] == ["header", "index", "data", "metadata"] and d["regions"][2]["end"] == 34064 and d["file_bytes"] is None'
mldf plan --to beton --samples 1000 --schema "$photo" --payload-bytes image=1000 --payload-bytes caption=20 --json |
    json '[r["name"] for r in d["regions"]] == ["header", "descriptors", "metadata", "data", "allocation"] and d["regions"][3]["begin"] == 2 << 20'
