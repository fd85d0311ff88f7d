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
# In place nothing can be done about it, and that is said.
mldf repair hit.mldf >report
check test $? -eq 1
check grep -q '^hit.mldf: left: .*row 1, field t: ' report
check grep -q '^hit.mldf: 1 problem cannot be repaired in place; with -o OUT, the 2 of 3 samples that are whole go into a new file$' report
mldf repair hit.mldf --json | json 'd["problems"] == 1 and d["skipped"][0]["sample"] == 1 and not d["changed"]'
expect 0 mldf repair a.mldf <<'END'
a.mldf: nothing was wrong
END
mldf repair hit.mldf -o saved.mldf --json >report.json
check test $? -eq 1
json 'd["written"] == 2 and d["lost"] == 1 and d["skipped"][0]["sample"] == 1' <report.json
json 'd["losses"] == {"samples": 1, "keys": 0, "values": 0, "sections": 0, "directory": False, "card": False, "dictionary": False,
    "history": False}' <report.json
# What is not a sample counts as well: card, keys, nulls. Each is said, and the exit code is 1.
printf '{"id":"a","n":0,"t":"x"}\n{"id":"b","n":null,"t":"y"}\n{"id":"c","n":5,"t":"z"}\n' >k.jsonl
echo '{"title":"cats"}' >card.json
mldf pack k.jsonl -o k.mldf --key-column id --card card.json -q
damage() { # SECTION OFFSET VALUE...: bytes of a section of k.mldf, into hurt.mldf
    python3 - "$@" <<'END'
import json, os, subprocess, sys
info = json.loads(subprocess.run([os.environ["MLDF_UNDER_TEST"], "info", "--json", "k.mldf"], capture_output=True).stdout)
data = bytearray(open("k.mldf", "rb").read())
at = next(s for s in info["sections"] if s["name"] == sys.argv[1])["ptr"] + int(sys.argv[2])
data[at:at + len(sys.argv) - 3] = bytes(map(int, sys.argv[3:]))
open("hurt.mldf", "wb").write(data)
END
}
saves() { # CONDITION: repair into a new file ends with 1, and what it says fulfils the condition
    mldf repair hurt.mldf -f -o healed.mldf --json >report.json
    check test $? -eq 1
    json "$1" <report.json
    mldf verify --deep --json healed.mldf 2>/dev/null | json 'd["ok"]'
}
damage card 0 0
saves 'd["losses"]["card"] and d["written"] == 3 and "the card" in d["action"]'
damage validity 0 255
saves 'd["losses"]["values"] == 2 and d["written"] == 3 and "2 values" in d["action"]'
expect 0 mldf cat --json --fields n healed.mldf <<'END'
{"index":0,"key":"a","fields":{"n":null}}
{"index":1,"key":"b","fields":{"n":null}}
{"index":2,"key":"c","fields":{"n":5}}
END
damage keys 32 88
saves 'd["losses"]["samples"] == 1 and d["written"] == 2 and d["losses"]["keys"] == 0'
damage keys 8 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
saves 'd["losses"]["keys"] == 3 and d["written"] == 3 and "3 keys" in d["action"]'
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
