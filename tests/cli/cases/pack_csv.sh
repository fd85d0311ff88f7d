# Types from CSV, and the values that come back.
printf '\xef\xbb\xbfid,name,score,ok,big,zip,list,mixed,none,u\r\n' >a.csv
printf '1,"Ann, ""A""",1.5,true,123456789012345678901234567890,00123,"[1,2,3]",5,,18446744073709551615\r\n' >>a.csv
printf '2,"two\nlines",2,false,1,00456,"[4, 5, 6]",true,,1\r\n' >>a.csv
printf '\r\n-3,,nan,True,2,1,"[7,8,9]",x,,0' >>a.csv
expect 0 mldf pack a.csv -o a.mldf -q <<'END'
END
expect 0 mldf cat --json a.mldf <<'END'
{"index":0,"key":null,"fields":{"id":1,"name":"Ann, \"A\"","score":1.5,"ok":true,"big":"123456789012345678901234567890","zip":"00123","list":[1,2,3],"mixed":"5","none":null,"u":18446744073709551615}}
{"index":1,"key":null,"fields":{"id":2,"name":"two\nlines","score":2.0,"ok":false,"big":"1","zip":"00456","list":[4,5,6],"mixed":"true","none":null,"u":1}}
{"index":2,"key":null,"fields":{"id":-3,"name":"","score":"NaN","ok":true,"big":"2","zip":"1","list":[7,8,9],"mixed":"x","none":null,"u":0}}
END
expect 0 mldf head -n 1 --fields ok,name a.mldf <<'END'
sample 0
  ok: true
  name: "Ann, \"A\""
END
mldf info --json a.mldf | json '[(f["type"], f["arguments"].get("dtype"), f["nullable"]) for f in d["fields"]] == [
    ("int", None, False), ("text", None, False), ("float", None, False), ("int", "|b1", False), ("text", None, False),
    ("text", None, False), ("ndarray", "<i8", False), ("text", None, False), ("text", None, True), ("int", "<u8", False)]'
mldf info --json a.mldf | json 'd["format"] == "mldf" and d["version"] == "1.1" and d["num_samples"] == 3 and d["card"] is None'
# Empty cells of number columns are nulls.
printf 'x,y\n1,\n,2.5\n' >n.csv
expect 0 mldf pack n.csv -o n.mldf -q <<'END'
END
expect 0 mldf cat --json n.mldf <<'END'
{"index":0,"key":null,"fields":{"x":1,"y":null}}
{"index":1,"key":null,"fields":{"x":null,"y":2.5}}
END
# The same samples for any number of threads, and from a pipe.
for threads in 0 1 2 8; do
    mldf pack a.csv -o t$threads.mldf -q -j $threads
    check cmp -s a.mldf t$threads.mldf
done
INPUT=a.csv expect 0 mldf pack - --format csv -o p.mldf -q <<'END'
END
check cmp -s a.mldf p.mldf
mldf pack a.csv -o - -q >stream.mldf
expect 0 mldf diff -q a.mldf stream.mldf <<'END'
END
# TSV, several sources with their columns in another order, keys.
printf 'k\tv\na\t1\nb\t2\n' >1.tsv
printf 'v\tk\n3\tc\n' >2.tsv
expect 0 mldf pack 1.tsv 2.tsv --key-column k -o k.mldf -q <<'END'
END
expect 0 mldf cat --json --keys c,a k.mldf <<'END'
{"index":2,"key":"c","fields":{"v":3}}
{"index":0,"key":"a","fields":{"v":1}}
END
printf 'v\tother\n3\tc\n' >3.tsv
expect 1 mldf pack 1.tsv 3.tsv -o k2.mldf <<'END'
--- stderr
mldf pack: 3.tsv:1:3: column 'other' is not one of the columns expected (a schema field or a column of the first source)
END
check test ! -e k2.mldf

# A key that is there twice: an error that names the line, or the later row is left out.
printf 'k,v\na,1\nb,2\na,3\nc,4\nb,5\n' >twice.csv
expect 1 mldf pack twice.csv -o twice.mldf --key-column k <<'END'
--- stderr
mldf pack: twice.csv:4: sample 2: samples 0 and 2 have the same key "a"
END
expect_error 0 'skipped twice.csv:6: the key "b" is that of sample 1 too' mldf pack twice.csv -o twice.mldf --key-column k --on-error=skip
check test "$(mldf cat --json --fields v twice.mldf | grep -o '"v":[0-9]*' | xargs)" = 'v:1 v:2 v:4'
printf 'k,v\nd,6\na,7\nd,8\n' >more.csv
expect_error 0 '1 sample added' mldf append twice.mldf more.csv --key-column k --on-error=skip
check mldf verify -q twice.mldf >/dev/null
