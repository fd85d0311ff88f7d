# A new field for the samples of a file: in order, by key, and what leaves the file as it was.
printf 'k,x,t\na,1,one\nb,2,two\nc,3,three\n' >a.csv
mldf pack a.csv --key-column k -o a.mldf -q
cp a.mldf before.mldf
printf '{"cap":"first"}\n{"cap":"second"}\n{"cap":"third"}\n' >cap.jsonl
expect 0 mldf add-field a.mldf caption=cap.jsonl -q <<'END'
END
expect 0 mldf cat --json a.mldf <<'END'
{"index":0,"key":"a","fields":{"x":1,"t":"one","caption":"first"}}
{"index":1,"key":"b","fields":{"x":2,"t":"two","caption":"second"}}
{"index":2,"key":"c","fields":{"x":3,"t":"three","caption":"third"}}
END
expect_error 0 '' mldf verify --deep a.mldf
mldf info --json a.mldf | json 'd["generation"] == 1 and d["num_samples"] == 3 and len(d["fields"]) == 3'
# By key, in another order, with one missing.
printf 'id,score,other\nc,0.5,x\na,0.25,y\n' >score.csv
mldf add-field a.mldf score=score.csv --key-column id --json | json 'd["written"] == 3 and d["skipped"] == [] and d["bytes"] > 0'
printf 'y,z\n9,1\n9,2\n9,3\n' >z.csv
expect_error 0 '' mldf add-field a.mldf w=z.csv --schema '[{"name":"w","type":"float"}]' --column z
expect 0 mldf cat --json --fields score,w a.mldf <<'END'
{"index":0,"key":"a","fields":{"score":0.25,"w":1.0}}
{"index":1,"key":"b","fields":{"score":null,"w":2.0}}
{"index":2,"key":"c","fields":{"score":0.5,"w":3.0}}
END
expect_error 0 '' mldf verify --deep a.mldf
# An append and a repack afterwards.
printf 'k,x,t,caption,score,w\nd,4,four,fourth,1,4\n' >more.csv
expect_error 0 '' mldf append a.mldf more.csv --key-column k
expect_error 0 '' mldf verify --deep a.mldf
mldf repack a.mldf -o r.mldf -q
expect 0 mldf diff a.mldf r.mldf <<'END'
END
mldf select a.mldf -o s.mldf -q --fields x,t --samples :3
expect 0 mldf diff before.mldf s.mldf <<'END'
END
# Mistakes leave the file as it was.
cp a.mldf now.mldf
expect 2 mldf add-field a.mldf x=cap.jsonl <<'END'
--- stderr
mldf add-field: a.mldf: has a field 'x' already
END
expect 1 mldf add-field a.mldf new=cap.jsonl <<'END'
--- stderr
mldf add-field: cap.jsonl: has 3 rows, and the file has 4 samples
END
printf 'n\n1\n2\nx\n4\n' >bad.csv
expect_error 0 '' mldf add-field a.mldf n=bad.csv
cp now.mldf a.mldf
expect 1 mldf add-field a.mldf n=bad.csv --schema '[{"name":"n","type":"int"}]' <<'END'
--- stderr
mldf add-field: bad.csv:4:1: column 'n' (int): 'x' is not an integer
END
printf 'id,score\nzz,1\n' >unknown.csv
expect_error 1 'unknown.csv:2' mldf add-field a.mldf s2=unknown.csv --key-column id --column score
printf 'id,score\na,1\na,2\n' >twice.csv
expect_error 1 'second row' mldf add-field a.mldf s2=twice.csv --key-column id --column score
expect_error 2 'no column is named' mldf add-field a.mldf s2=more.csv
expect_error 2 'is not NAME=SRC' mldf add-field a.mldf more.csv
expect_error 3 'nosuch' mldf add-field a.mldf q=nosuch.csv
expect_error 3 'nosuch' mldf add-field nosuch.mldf q=cap.jsonl
check cmp -s a.mldf now.mldf
check test -z "$(ls -A | grep -F .tmp)"
