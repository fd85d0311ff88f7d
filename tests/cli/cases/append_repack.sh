# Appending rows and files, repacking, keys and cards.
printf 'k,x,t\na,1,one\nb,2,two\n' >1.csv
printf 't,k,x\nthree,c,3\n' >2.csv
printf '{"title":"T"}' >card.json
mldf pack 1.csv --key-column k --card card.json --compress t -o a.mldf -q
cp a.mldf old.mldf
expect 0 mldf append a.mldf 2.csv --key-column k -q <<'END'
END
expect 0 mldf cat --json --keys c a.mldf <<'END'
{"index":2,"key":"c","fields":{"x":3,"t":"three"}}
END
mldf info --json a.mldf | json 'd["generation"] == 1 and d["card"] == {"title": "T"} and d["has_keys"]'
expect_error 0 '' mldf verify --deep a.mldf
# A row that does not fit leaves the file as it was.
cp a.mldf before.mldf
printf 't,k,x\nfour,d,4\nfive,e,x\n' >3.csv
expect 1 mldf append a.mldf 3.csv --key-column k <<'END'
--- stderr
mldf append: 3.csv:3:8: column 'x' (int): 'x' is not an integer
END
check cmp -s a.mldf before.mldf
# Another file: its keys go along, and a key that is there already is refused.
mldf pack 3.csv --key-column k -o 3.mldf -q
expect_error 1 "field 'x'" mldf append a.mldf 3.mldf
expect_error 1 'key' mldf append a.mldf old.mldf
check cmp -s a.mldf before.mldf
expect_error 0 '' mldf repack a.mldf -o r.mldf --decompress
expect 0 mldf diff a.mldf r.mldf <<'END'
END
mldf info --json r.mldf | json 'd["generation"] == 0 and "compressed" not in d["flags"]'
expect_error 3 'exists' mldf repack a.mldf -o r.mldf
expect_error 0 '' mldf repack a.mldf
expect 0 mldf diff before.mldf a.mldf <<'END'
END
mldf repack a.mldf --json | json 'd["written"] == 3 and d["skipped"] == [] and d["bytes"] > 0 and d["seconds"] >= 0'
expect_error 2 'no field' mldf repack a.mldf --compress nosuch
expect_error 3 'nosuch' mldf repack nosuch
expect_error 3 'nosuch' mldf append nosuch 1.csv
check test -z "$(ls -A | grep -F .tmp)"
# In place through a symbolic link: the file is written anew, the link stays one.
printf 'a\n1\n' >linked.csv
mkdir elsewhere
mldf pack linked.csv -o elsewhere/linked.mldf -q
for i in 1 2 3; do mldf append elsewhere/linked.mldf linked.csv -q; done
before=$(stat -c %s elsewhere/linked.mldf)
ln -s elsewhere/linked.mldf link.mldf
mldf repack link.mldf -q
check test -L link.mldf
check test "$(stat -c %s elsewhere/linked.mldf)" -lt "$before"
# Sections that are not known here do not go along, and that is said.
cp "$source_dir/docs/spec/vectors/valid/unknown_sections.mldf" private.mldf
expect_error 0 'private section of kind 32769 (7 bytes) is left out' mldf repack private.mldf -o known.mldf
mldf repack private.mldf -o known.mldf -f --json 2>/dev/null |
    json 'len([w for w in d["warnings"] if "is left out" in w["message"]]) == 4 and d["written"] == 2'
mldf repack known.mldf --json | json 'd["warnings"] == []'
