# Which samples and fields a new file gets; the predicates and their mistakes.
cat >s.jsonl <<'END'
{"k":"a/1","label":3,"f":1.5,"t":"Hello","meta":{"a":{"b":7},"tags":["x","y"]},"arr":[1,2,3],"ok":true,"odd name":1}
{"k":"a/2","label":1,"f":2.5,"t":"wörld","meta":{"a":{"b":null},"tags":[]},"arr":[4,5,6],"ok":false,"odd name":2}
{"k":"b/3","label":null,"f":-1.0,"t":"","meta":[1,2,"z"],"arr":[7,8,9],"ok":true,"odd name":3}
END
mldf pack s.jsonl --key-column k -o s.mldf -q
chosen() { # keys, expression
    rm -f q.mldf
    mldf select s.mldf -o q.mldf -q --where "$2" || complain "select --where '$2' fails"
    got=$(mldf cat --json q.mldf | python3 -c 'import json,sys; print(*[json.loads(l)["key"] for l in sys.stdin])')
    [ "$got" = "$1" ] || complain "--where '$2': '$got', expected '$1'"
}
chosen 'a/1' 'label == 3'
chosen 'a/2' 'label != 3'
chosen 'b/3' 'label is null'
chosen 'b/3' 'label == null'
chosen 'a/1 a/2' 'label != null'
chosen 'a/1 a/2' 'label IS NOT NULL'
chosen 'a/2 b/3' 'not (label == 3)'
chosen 'a/1 a/2' 'label in [1, 3]'
chosen 'a/1 b/3' 'label not in [1]'
chosen 'a/2 b/3' 'label in [null, 1]'
chosen 'a/1' 'meta.a.b == 7'
chosen 'a/2 b/3' 'meta["a"]["b"] is null'
chosen 'b/3' "meta[2] == 'z' || meta[-1] == 'never'"
chosen 'a/1' "contains(meta.tags, 'y')"
chosen 'a/1 a/2' 'len(t) == 5'
chosen 'a/2' 'bytes(t) == 6'
chosen 'a/2 b/3' 'arr[0] + arr[-1] >= 10'
chosen 'a/1 b/3' 'ok'
chosen 'a/2' '!ok && f > 2'
chosen 'a/1 a/2' 'startswith(key, "a/")'
chosen 'b/3' 'endswith(key, "3") and not contains(t, "x")'
chosen 'a/1 b/3' 'index % 2 == 0'
chosen 'a/1' 'f * 2 == label'
chosen 'a/1' 'lower(t) == "hello"'
chosen 'a/1' 'len(meta.tags) == 2'
chosen 'b/3' '-f == 1 and -1 % 3 == 2'
chosen 'a/2 b/3' '`odd name` > 1'
chosen '' '1 / 0 == 1 or label / 0 > 0'
chosen 'a/1 a/2 b/3' '9007199254740993 > 9007199254740992.0 and 7 / 2 == 3.5'
chosen 'a/2' 't == "w\u00f6rld"'
refused() { # column and message, expression
    expect_error 2 "mldf select: where: column $1" mldf select s.mldf -o n.mldf --where "$2"
}
refused "7: '=' is written == here" 'label = 3'
refused '7: a number cannot be compared with text' 'label == "x"'
refused '1: there is no field "lable"; did you mean "label"?' 'lable == 1'
refused '1: a condition is needed here, and this is a number' 'label'
refused "12: ')' is missing" '(label == 1'
refused '15: the expression ends where a value is needed' 'label == 1 and'
refused '6: this text is never closed' "t == 'abc"
refused '5: text, bytes, an array or a JSON value is needed here' 'len(label) == 1'
refused '1: 2 indexes' 'arr[0][1] == 1'
refused "1: there is no function 'size'" 'size(t) == 1'
refused '7: comparisons do not chain' '1 < 2 < 3'
refused '13: a list holds' 'label in [1,f]'
refused '12: the expression should end here' 'label == 3 label'
refused '1: the expression ends' ''
refused '5: text cannot be compared with a number' 'key == 5'
for wrong in '"x" == 1' '( == 1' '. is null' ', is null' ') is null' '1 is null' '[0] is null'; do
    refused '6: a name is missing after the dot' "meta.$wrong"
done
refused '101: the expression is nested too deeply' "$(printf '(%.0s' $(seq 200))1"
expect 2 mldf select s.mldf -o n.mldf --where 'wörter == 1' <<'END'
--- stderr
mldf select: where: column 1: there is no field "wörter"
    wörter == 1
    ^
END
# Fields, samples, keys.
expect 0 mldf select s.mldf -o f.mldf -q --fields ok,label --samples -1,0:2 <<'END'
END
expect 0 mldf cat --json f.mldf <<'END'
{"index":0,"key":"b/3","fields":{"ok":true,"label":null}}
{"index":1,"key":"a/1","fields":{"ok":true,"label":3}}
{"index":2,"key":"a/2","fields":{"ok":false,"label":1}}
END
expect_error 0 '' mldf verify --deep f.mldf
printf '2\n0:1\n' >list
printf 'b/3\na/1\n' >keys
mldf select s.mldf -o l.mldf -q --samples @list
mldf select s.mldf -o k.mldf -q --keys @keys
expect 0 mldf diff l.mldf k.mldf <<'END'
END
mldf select s.mldf -o e.mldf --keys a/2 --where 'label > 5' --json | json 'd["written"] == 0 and d["skipped"] == []'
expect 1 mldf select s.mldf -o n.mldf --samples 3 <<'END'
--- stderr
mldf select: s.mldf: there is no sample 3: the file has 3
END
expect_error 1 'no sample' mldf select s.mldf -o n.mldf --keys zzz
expect_error 2 'did you mean' mldf select s.mldf -o n.mldf --fields labl
expect_error 2 'named twice' mldf select s.mldf -o n.mldf --fields ok,ok
expect_error 2 'nothing is selected' mldf select s.mldf -o n.mldf
expect_error 2 'cannot be given together' mldf select s.mldf -o n.mldf --samples 1 --keys a
expect_error 2 'not a sample number' mldf select s.mldf -o n.mldf --samples 1,x
expect_error 3 'exists' mldf select s.mldf -o f.mldf --samples 1
check test ! -e n.mldf
# The place is that of the source; the two numbers are those of the new file.
expect_error 1 's.mldf: sample 2: counted in the new file: samples 0 and 2 have the same key' mldf select s.mldf -o n.mldf --samples 2,1,2
check test ! -e n.mldf
