# One file into parts: every sample exactly once, in order, all parts or none.
python3 -c '
print("n,c")
for i in range(1000):
    print("%d,%s" % (i, "aaaaaabbbc"[i % 10]))' >c.csv
mldf pack c.csv -o c.mldf -q
expect 0 mldf split c.mldf -o p-{:03d}.mldf --count 300 <<'END'
--- stderr
mldf split: p-000.mldf: 300 samples, 19.9 KiB
mldf split: p-001.mldf: 300 samples, 19.9 KiB
mldf split: p-002.mldf: 300 samples, 19.9 KiB
mldf split: p-003.mldf: 100 samples, 9.8 KiB
END
mldf merge p-00*.mldf -o all.mldf -q
expect 0 mldf diff c.mldf all.mldf <<'END'
END
expect 3 mldf split c.mldf -o p-{:03d}.mldf --count 400 <<'END'
--- stderr
mldf split: p-000.mldf: already exists; use -f to overwrite it (Python: overwrite=True)
END
expect_error 0 '' mldf split -f c.mldf -o p-{:03d}.mldf --count 400
mldf info --json p-000.mldf | json 'd["num_samples"] == 400'
numbers() { mldf cat --json "$1" | python3 -c 'import json,sys; print(*[json.loads(l)["fields"]["n"] for l in sys.stdin])'; }
classes() { mldf stats --json "$1" | json "{c['value']: c['count'] for c in d['fields']['c']['classes']} == $2"; }
mldf split c.mldf -o {}.mldf --fractions 0.8,0.1,0.1 --names train,val,test --by c --shuffle --seed 7 --json | json '
    [p["path"] for p in d["parts"]] == ["train.mldf", "val.mldf", "test.mldf"] and [p["written"] for p in d["parts"]] == [800, 100, 100]
    and d["written"] == 1000 and d["skipped"] == [] and d["bytes"] == sum(p["bytes"] for p in d["parts"]) and d["seconds"] >= 0'
classes train.mldf '{"a": 480, "b": 240, "c": 80}'
classes val.mldf '{"a": 60, "b": 30, "c": 10}'
classes test.mldf '{"a": 60, "b": 30, "c": 10}'
check test "$({ numbers train.mldf; numbers val.mldf; numbers test.mldf; } | tr ' ' '\n' | sort -n | tr '\n' ' ')" = "$(seq -s ' ' 0 999) "
check test "$(numbers val.mldf)" = "$(numbers val.mldf | tr ' ' '\n' | sort -n | tr '\n' ' ' | sed 's/ $//')"
# The same seed gives the same parts, another one others.
mldf split c.mldf -o again-{}.mldf --fractions 0.8,0.1,0.1 --names train,val,test --by c --shuffle --seed 7 -q
check cmp -s val.mldf again-val.mldf
mldf split c.mldf -o other-{}.mldf --fractions 0.8,0.1,0.1 --by c --shuffle --seed 8 -q
check test "$(numbers val.mldf)" != "$(numbers other-1.mldf)"
mldf split c.mldf -o plain%d.mldf --fractions 0.25,0.75 -q
check test "$(numbers plain0.mldf)" = "$(seq -s ' ' 0 249)"
mldf split c.mldf -o b%02d.mldf --bytes 20K -q
check test "$(ls b0*.mldf | wc -l)" -gt 1
check test -z "$(find . -name 'b0*.mldf' -size +20480c)"
mldf merge b0*.mldf -o ball.mldf -q
expect 0 mldf diff c.mldf ball.mldf <<'END'
END
# A part that cannot be made: none appears.
mkdir t
printf x >t/2.mldf
expect_error 3 't/2.mldf: already exists' mldf split c.mldf -o t/{}.mldf --count 300
expect_error 3 't/2.mldf: already exists' mldf split c.mldf -o t/{}.mldf --bytes 20K
check test "$(ls -A t)" = 2.mldf
expect_error 2 'has no placeholder' mldf split c.mldf -o x.mldf --count 3
expect_error 2 'more than one placeholder' mldf split c.mldf -o {}-%d.mldf --count 3
expect_error 2 'add up to 0.9' mldf split c.mldf -o x{} --fractions 0.5,0.4
expect_error 2 'not a list of fractions' mldf split c.mldf -o x{} --fractions 0.5,x
expect_error 2 'exactly one of' mldf split c.mldf -o x{} --count 3 --bytes 4
expect_error 2 'makes no sense' mldf split c.mldf -o x{} --count 0
expect_error 2 'did you mean' mldf split c.mldf -o x{} --fractions 0.5,0.5 --by cc
expect_error 2 '2 names for 3 fractions' mldf split c.mldf -o x{} --fractions 0.5,0.2,0.3 --names a,b
expect_error 2 'two parts are named' mldf split c.mldf -o x{} --fractions 0.5,0.5 --names a,a
check test -z "$(ls -A | grep -F -e .tmp -e x0)"
# A part never takes the place of the file that is split, whatever it is called.
mldf split c.mldf -o s{}.mldf --count 400 -q
cp s1.mldf before.mldf
ln s1.mldf s2.mldf 2>/dev/null
expect_error 2 's1.mldf is the same file as s1.mldf, which is read and not replaced' mldf split s1.mldf -o s{}.mldf --count 3 -f
check cmp -s s1.mldf before.mldf

# A sample that is too large alone gets a file of its own, and a word is said; a limit that no file can keep is refused.
python3 -c 'import json
for i, n in enumerate([10, 90000, 10, 10]): print(json.dumps({"t": "x" * n}))' >big.jsonl
mldf pack big.jsonl -o big.mldf -q
expect_error 0 'sample 1 alone takes a file of 94' mldf split big.mldf -o big%d.mldf --bytes 30K
check test "$(for i in 0 1 2; do mldf info --json big$i.mldf | python3 -c 'import json,sys; print(json.load(sys.stdin)["num_samples"])'; done | xargs)" = '1 1 2'
expect_error 2 'without any sample has' mldf split big.mldf -o small%d.mldf --bytes 1K
expect_error 2 'what a dictionary saves' mldf split big.mldf -o small%d.mldf --bytes 30K --compress t --dictionary
check test ! -e small0.mldf
