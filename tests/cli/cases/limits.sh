# --max-decoded: what one compressed value may become. 3 MB of one letter are a few hundred bytes in the file.
python3 - <<'EOF'
import base64, json
for name, rows in (("a", [3 << 20, 5]), ("b", [5, 5])):
    with open(name + ".jsonl", "w") as out:
        for i, size in enumerate(rows):
            out.write(json.dumps({"n": i, "t": "x" * size}) + "\n")
EOF
mldf pack a.jsonl -o a.mldf --compress t -q
mldf pack b.jsonl -o b.mldf --compress t -q
mldf cat --json a.mldf >all.txt
[ "$(wc -c <all.txt)" -gt 3000000 ] || complain 'the large value was not shown'
mldf cat --json --max-decoded 3M a.mldf | cmp - all.txt || complain 'a limit that is not passed changes nothing'
expect_error 1 'stored bytes become 3145728, and the limit is 1048576: max_decoded_bytes, or --max-decoded' \
    mldf cat --json --max-decoded 1M a.mldf
expect_error 2 'not a size in bytes' mldf cat --max-decoded much a.mldf
expect_error 2 'limit of 0 bytes' mldf cat --max-decoded 0 a.mldf
# A bad sample, if it may be skipped; an error otherwise.
expect_error 1 'the limit is 1048576' mldf convert a.mldf -o c.mldf --max-decoded 1M
[ ! -e c.mldf ] || complain 'a file was left'
mldf convert a.mldf -o c.mldf --max-decoded 1M --on-error=skip -q 2>/dev/null || complain 'skipping failed'
[ "$(mldf info --json c.mldf | python3 -c 'import json,sys; print(json.load(sys.stdin)["num_samples"])')" = 1 ] || complain 'not one sample'
# verify names it.
mldf verify --deep --max-decoded 1M a.mldf >out.txt && complain 'verify found nothing'
grep -q 'field t: .* the limit is 1048576' out.txt || complain "verify said: $(cat out.txt)"
# Nothing is lost for it.
expect_error 1 'the limit is 1048576' mldf repair a.mldf -o r.mldf --max-decoded 1M
[ ! -e r.mldf ] || complain 'repair left a file'
for command in 'diff a.mldf a.mldf' 'merge a.mldf b.mldf -o m.mldf' 'stats a.mldf' 'extract a.mldf -o e' 'repack a.mldf -o p.mldf' \
    'select a.mldf -o s.mldf --fields t' 'split a.mldf -o x{}.mldf --count 1' 'append b.mldf a.mldf'; do
    # shellcheck disable=SC2086
    expect_error 1 'limit is 1048576' mldf $command --max-decoded 1M
done
