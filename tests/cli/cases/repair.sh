# Damage that repair mends in place, and what it saves into a new file.
printf 'a,t\n1,one\n2,two\n3,three\n' >a.csv
mldf pack a.csv -o a.mldf -q
expect_error 0 '' mldf repair a.mldf
cp a.mldf torn.mldf
python3 -c 'd=bytearray(open("torn.mldf","rb").read()); d[17]^=1; open("torn.mldf","wb").write(d)'
mldf repair torn.mldf --json | json 'd["changed"] and d["lost"] == 0 and d["action"]'
check cmp -s a.mldf torn.mldf
cp a.mldf hit.mldf
python3 -c 'd=bytearray(open("hit.mldf","rb").read()); i=d.index(b"two"); d[i]^=1; open("hit.mldf","wb").write(d)'
mldf verify --json hit.mldf | json 'd["good_samples"] == 2 and d["problems"][0]["sample"] == 1 and d["problems"][0]["field"] == "t"'
# In place it looks at header and footer alone, and claims no more than that.
expect 0 mldf repair hit.mldf <<'END'
hit.mldf: nothing was wrong with header and footer
END
mldf repair hit.mldf -o saved.mldf --json >report.json
check test $? -eq 1
json 'd["written"] == 2 and d["lost"] == 1 and d["skipped"][0]["sample"] == 1' <report.json
expect 0 mldf cat --json saved.mldf <<'END'
{"index":0,"key":null,"fields":{"a":1,"t":"one"}}
{"index":1,"key":null,"fields":{"a":3,"t":"three"}}
END
expect_error 3 'exists' mldf repair hit.mldf -o saved.mldf
expect_error 3 'nosuch' mldf repair nosuch
# A damaged descriptor: rows cannot be told what they mean, so nothing is saved rather than something wrong.
printf 'number,word\n1,one\n2,two\n' >d.csv
mldf pack d.csv -o d.mldf -q
python3 - <<'END'
data = bytearray(open("d.mldf", "rb").read())
data[128] ^= 2  # the first letter of the first field's name
open("bad.mldf", "wb").write(data)
END
expect_error 1 'nothing can be saved' mldf repair bad.mldf -o none.mldf
check test ! -e none.mldf
# A file cut behind its rows: what is saved has lost its checksums, and the exit code says so.
python3 - <<'END'
import json, subprocess, os
data = open("d.mldf", "rb").read()
info = json.loads(subprocess.run([os.environ["MLDF_UNDER_TEST"], "info", "--json", "d.mldf"], capture_output=True).stdout)
tables = next(s for s in info["sections"] if s["name"] == "tables")
open("cut.mldf", "wb").write(data[:tables["ptr"]])
END
expect_error 1 '' mldf repair cut.mldf -o cut2.mldf
mldf cat --json cut2.mldf >lines
check test "$(wc -l <lines)" = 2
