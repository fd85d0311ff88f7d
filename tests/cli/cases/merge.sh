# Several files into one: fields by name, keys, cards, what is refused.
printf 'k,x,t\na,1,one\nb,2,two\n' >1.csv
printf 't,k,x\nthree,c,\n' >2.csv
printf 'k,x,t\nd,1,1\n' >3.csv
printf 'k,x\ne,1\n' >4.csv
printf 'k,x,t,u\ne,1,z,2\n' >5.csv
printf '{"title":"T"}' >card.json
printf '{"title":"U"}' >other.json
mldf pack 1.csv --key-column k --card card.json -o 1.mldf -q
mldf pack 2.csv --key-column k -o 2.mldf -q --schema '[{"name":"t","type":"text"},{"name":"x","type":"int","nullable":true}]'
for i in 3 4 5; do mldf pack $i.csv --key-column k -o $i.mldf -q; done
printf 'x,t\n1,one\n2,two\n' >plain.csv
mldf pack plain.csv -o plain.mldf -q
expect 0 mldf merge 1.mldf 2.mldf -o m.mldf -q <<'END'
END
expect 0 mldf cat --json m.mldf <<'END'
{"index":0,"key":"a","fields":{"x":1,"t":"one"}}
{"index":1,"key":"b","fields":{"x":2,"t":"two"}}
{"index":2,"key":"c","fields":{"x":null,"t":"three"}}
END
expect_error 0 '' mldf verify --deep m.mldf
mldf info --json m.mldf | json 'd["card"] == {"title": "T"} and d["has_keys"] and d["fields"][0]["nullable"]'
mldf merge 1.mldf 2.mldf -o c.mldf --card other.json --compress t=5 --page-size 8K --json | json 'd["written"] == 3 and d["skipped"] == [] and
    d["bytes"] > 0 and d["seconds"] >= 0'
mldf info --json c.mldf | json 'd["card"] == {"title": "U"} and d["page_size"] == 8192 and "compressed" in d["flags"]'
# The same bytes for any number of threads.
mldf merge 1.mldf 2.mldf -o j0.mldf -j 0 -q
mldf merge 1.mldf 2.mldf -o j3.mldf -j 3 -q
check cmp -s j0.mldf j3.mldf
expect 1 mldf merge 1.mldf 3.mldf -o n.mldf <<'END'
--- stderr
mldf merge: 3.mldf: field 't' is int, not text, as in 1.mldf
END
expect 1 mldf merge 1.mldf 4.mldf -o n.mldf <<'END'
--- stderr
mldf merge: 4.mldf: there is no field 't', as in 1.mldf
END
expect 1 mldf merge 1.mldf 5.mldf -o n.mldf <<'END'
--- stderr
mldf merge: 5.mldf: field 'u' is not in 1.mldf
END
expect 1 mldf merge m.mldf 2.mldf -o n.mldf <<'END'
--- stderr
mldf merge: m.mldf sample 2 and 2.mldf sample 0 have the same key 'c'
END
expect 1 mldf merge 1.mldf plain.mldf -o n.mldf <<'END'
--- stderr
mldf merge: plain.mldf: has no sample keys, and 1.mldf has them
END
expect 3 mldf merge 1.mldf nosuch.mldf -o n.mldf <<'END'
--- stderr
mldf merge: nosuch.mldf: cannot be opened: No such file or directory
END
expect_error 3 'exists' mldf merge 1.mldf 2.mldf -o m.mldf
expect_error 2 'no field' mldf merge 1.mldf -o n.mldf --compress nosuch
expect_error 2 '-o OUT is missing' mldf merge 1.mldf
expect_error 0 '' mldf merge -f 1.mldf 2.mldf -o m.mldf
expect_error 2 'is read and not replaced' mldf merge -f 1.mldf 2.mldf -o 2.mldf
expect_error 0 '' mldf merge plain.mldf plain.mldf -o - -q
cp "$work/got.out" stream.mldf
mldf info --json stream.mldf | json 'd["num_samples"] == 4'
check test ! -e n.mldf
check test -z "$(ls -A | grep -F .tmp)"
