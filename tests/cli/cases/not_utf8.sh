# Names that are not UTF-8 can be neither keys nor classes: an error that names the file, or, with --on-error=skip, one file less.
mkdir -p classes/good classes/$'b\xe4d' flat
cp "$source_dir/tests/data/images/rgb.jpg" classes/good/a.jpg
cp "$source_dir/tests/data/images/rgb.jpg" classes/good/$'\xff.jpg'
cp "$source_dir/tests/data/images/rgb.jpg" classes/$'b\xe4d'/b.jpg
cp "$source_dir/tests/data/images/rgb.jpg" classes/$'b\xe4d'/c.jpg
cp "$source_dir/tests/data/images/rgb.jpg" flat/a.jpg
cp "$source_dir/tests/data/images/rgb.jpg" flat/$'z\xe4.jpg'

expect_error 1 $'classes/b\xe4d/b.jpg: the name of its class folder is not UTF-8' mldf pack classes -o c.mldf
check test ! -e c.mldf
mldf pack classes -o c.mldf --on-error=skip 2>messages || complain 'pack --on-error=skip fails'
check grep -qaxF $'mldf pack: skipped classes/b\xe4d/b.jpg: the name of its class folder is not UTF-8' messages
check grep -qaxF $'mldf pack: skipped classes/b\xe4d/c.jpg: the name of its class folder is not UTF-8' messages
check grep -qaxF $'mldf pack: skipped classes/good/\xff.jpg: the name is not UTF-8, and it is the sample\'s key' messages
check grep -qa '1 sample written, .*, 3 skipped' messages
mldf cat c.mldf --json >lines
json 'd["key"] == "good/a.jpg" and d["fields"]["label"] == 0' <lines
mldf info c.mldf --json | json 'd["card"]["classes"] == ["good"]'
mldf pack classes -o j.mldf --on-error=skip --json -q >got.json
json 'd["written"] == 1 and [s["source"] for s in d["skipped"]] == ["classes/b\ufffdd/b.jpg", "classes/b\ufffdd/c.jpg", "classes/good/\ufffd.jpg"]' <got.json

# Nothing but such folders: a file without samples.
mkdir -p none/$'\xe4'
cp flat/a.jpg none/$'\xe4'/a.jpg
mldf pack none -o none.mldf --on-error=skip -q || complain 'a folder without a good class fails'
mldf info none.mldf --json | json 'd["num_samples"] == 0'

expect_error 1 $'flat/z\xe4.jpg: the name is not UTF-8' mldf pack flat -o f.mldf
mldf pack flat -o f.mldf --on-error=skip -q || complain 'a flat folder fails'
mldf cat f.mldf --json | json 'd["key"] == "a.jpg"'
# A file without keys needs no names.
printf '{"image":{"path":"flat/a.jpg"}}\n' >one.jsonl
mldf pack one.jsonl -o keyless.mldf -q --schema '[{"name":"image","type":"image"}]' --root . || complain 'pack of rows fails'
mldf append keyless.mldf flat -q || complain 'append to a file without keys fails'
mldf info keyless.mldf --json | json 'd["num_samples"] == 3'

# Tables and archives.
printf 'k,a\nx,1\n\xe4,2\ny,3\n' >rows.csv
expect_error 1 'UTF-8' mldf pack rows.csv --key-column k -o rows.mldf
mldf pack rows.csv --key-column k -o rows.mldf --on-error=skip --json -q >got.json
json 'd["written"] == 2 and len(d["skipped"]) == 1' <got.json
python3 - <<'PY'
import io, tarfile
with tarfile.open("t.tar", "w", format=tarfile.USTAR_FORMAT, encoding="latin-1") as t:
    for name in ["x", "\xe4", "y"]:
        info = tarfile.TarInfo(name + ".txt")
        info.size = 3
        t.addfile(info, io.BytesIO(b"abc"))
PY
expect_error 1 'UTF-8' mldf pack t.tar -o t.mldf
mldf pack t.tar -o t.mldf --on-error=skip --json -q >got.json
json 'd["written"] == 2 and len(d["skipped"]) == 1' <got.json
mldf cat t.mldf --json | python3 -c 'import json,sys; print([json.loads(line)["key"] for line in sys.stdin])' >keys
check grep -qx "\['x', 'y'\]" keys
