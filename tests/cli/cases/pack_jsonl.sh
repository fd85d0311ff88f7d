# JSON lines: types, missing keys, errors with line and column.
cat >a.jsonl <<'END'
{"i":1,"f":1.5,"s":"h\u00e9","n":{"a": [1, 2]},"v":[1,2,3],"w":[1,2.5],"b":true,"u":18446744073709551615,"big":123456789012345678901,"x":1}

{"f":2,"i":2,"s":"\ud83d\ude00","n":[1,"a"],"v":[4,5,6],"w":[3,4],"b":false,"u":1,"big":-5,"x":"t","late":null}
{"f":"NaN","i":3,"s":"","n":null,"v":[4,5,6],"w":[3,4],"b":false,"u":1,"big":-5,"x":[],"late":7}
END
expect 0 mldf pack a.jsonl -o a.mldf -q <<'END'
END
expect 0 mldf cat --json a.mldf <<'END'
{"index":0,"key":null,"fields":{"i":1,"f":1.5,"s":"hé","n":{"a":[1,2]},"v":[1,2,3],"w":[1.0,2.5],"b":true,"u":18446744073709551615,"big":"123456789012345678901","x":1,"late":null}}
{"index":1,"key":null,"fields":{"i":2,"f":2.0,"s":"😀","n":[1,"a"],"v":[4,5,6],"w":[3.0,4.0],"b":false,"u":1,"big":"-5","x":"t","late":null}}
{"index":2,"key":null,"fields":{"i":3,"f":"NaN","s":"","n":null,"v":[4,5,6],"w":[3.0,4.0],"b":false,"u":1,"big":"-5","x":[],"late":7}}
END
bad() { # content message
    printf '%s\n' "$1" >bad.jsonl
    rm -f bad.mldf
    expect_error 1 "$2" mldf pack bad.jsonl -o bad.mldf
    check test ! -e bad.mldf
}
bad '[1]' 'bad.jsonl:1:1: a line must hold one JSON object'
bad '{"a":1}
{"a":}' 'bad.jsonl:2:6: '
bad '{"a":1,"a":2}' 'bad.jsonl:1:'
{ for i in $(seq 10000); do echo "{\"a\":$i,\"v\":[1,2]}"; done; echo '{"a":1,"v":[1,2],"new":1}'; echo '{"a":"x","v":[1,2]}'; echo '{"a":1,"v":[1]}'; echo '{"v":[1,2]}'; } >late.jsonl
expect 1 mldf pack late.jsonl -o late.mldf <<'END'
--- stderr
mldf pack: late.jsonl:10001:24: column 'new' is not known: no field of the schema, and not in the rows that the types were taken from
END
mldf pack late.jsonl -o late.mldf --on-error skip --json | json 'd["written"] == 10000 and len(d["skipped"]) == 4 and
    "column '"'a'"' (int)" in d["skipped"][1]["message"] and "late.jsonl:10003:12" in d["skipped"][2]["message"]'
# A schema: structs, narrow floats, bytes, nulls.
cat >schema.json <<'END'
{"fields":[{"name":"box","type":"inline","descr":[["x","<f4"],["y","|u1",[2]],["t","|S4"],["in",[["a","<i2"],["b","<U2"]]]]},
           {"name":"h","type":"ndarray","dtype":"<f2","shape":[null]},
           {"name":"z","type":"ndarray","dtype":"<c8","shape":[2]},
           {"name":"raw","type":"bytes"},
           {"name":"maybe","type":"int","dtype":"|u1","nullable":true}]}
END
cat >s.jsonl <<'END'
{"box":{"x":0.5,"y":[1,255],"t":"ab","in":{"a":-3,"b":"é"}},"h":[0.1,65504,"-Infinity"],"z":[[1,2],3],"raw":"hi"}
{"box":[1,[0,0],"",[7,"xy"]],"h":[],"z":[0,0],"raw":{"base64":"AP8="},"maybe":200}
END
expect 0 mldf pack s.jsonl --schema schema.json -o s.mldf -q <<'END'
END
expect 0 mldf cat --json s.mldf <<'END'
{"index":0,"key":null,"fields":{"box":{"x":0.5,"y":[1,255],"t":"ab","in":{"a":-3,"b":"é"}},"h":[0.0999755859375,65504.0,"-Infinity"],"z":[[1.0,2.0],[3.0,0.0]],"raw":{"bytes":2,"sha256":"8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"},"maybe":null}}
{"index":1,"key":null,"fields":{"box":{"x":1.0,"y":[0,0],"t":"","in":{"a":7,"b":"xy"}},"h":[],"z":[[0.0,0.0],[0.0,0.0]],"raw":{"bytes":2,"sha256":"06eb7d6a69ee19e5fbdf749018d3d2abfa04bcbd1365db312eb86dc7169389b8"},"maybe":200}}
END
mldf cat --samples 1 --raw raw s.mldf | od -An -tx1 >raw.txt
check grep -q '00 ff' raw.txt
out_of_range() { # line message
    printf '%s\n' "$1" >r.jsonl
    expect_error 1 "$2" mldf pack r.jsonl --schema schema.json -o r.mldf
}
out_of_range '{"box":{"x":1,"y":[1,256],"t":"","in":[0,""]},"h":[],"z":[0,0],"raw":""}' "column 'box' (inline): member 'y': 256 is beyond the range of |u1"
out_of_range '{"box":{"x":1,"y":[1,2],"t":"abcde","in":[0,""]},"h":[],"z":[0,0],"raw":""}' "member 't'"
out_of_range '{"box":{"x":1,"y":[1,2],"t":"","in":[0,""]},"h":[70000],"z":[0,0],"raw":""}' "beyond the range of <f2"
out_of_range '{"box":{"x":1,"y":[1,2],"t":"","in":[0,""]},"h":[],"z":[0],"raw":""}' "column 'z' (ndarray)"
out_of_range '{"box":{"x":1,"y":[1,2],"t":"","in":[0,""]},"h":[],"z":[0,0],"raw":"","maybe":256}' "column 'maybe' (int): 256 is beyond the range of |u1"
out_of_range '{"h":[],"z":[0,0],"raw":""}' "column 'box' (inline): there is no value, and the field is not nullable"
# --full gives everything back, so that what cat prints can be packed again.
mldf cat --json --full s.mldf | python3 -c 'import json,sys
for line in sys.stdin: print(json.dumps(json.loads(line)["fields"]))' >again.jsonl
expect 0 mldf pack again.jsonl --schema schema.json -o again.mldf -q <<'END'
END
check cmp -s s.mldf again.mldf
# A key that cannot be one costs its own row, no matter what is wrong with it.
printf '{"k":"x","a":1}\n{"k":"a\\u0000b","a":2}\n{"k":"y","a":3}\n' >keys.jsonl
expect_error 1 'keys.jsonl:2' mldf pack keys.jsonl --key-column k -o keys.mldf
mldf pack keys.jsonl --key-column k -o keys.mldf --on-error skip --json | json 'd["written"] == 2 and d["skipped"][0]["source"] == "keys.jsonl:2"'
expect 0 mldf cat --json keys.mldf <<'END'
{"index":0,"key":"x","fields":{"a":1}}
{"index":1,"key":"y","fields":{"a":3}}
END
