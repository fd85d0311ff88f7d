# clean: the temporary files of runs that were killed, and only those.
schema='[{"name":"x","type":"int"}]'
mkfifo in
begin() { # a pack to k.mldf that waits for its input
    "$MLDF" pack - --format csv --schema "$schema" -o k.mldf -q <in 2>/dev/null &
    pid=$!
    exec 3>in
    printf 'x\n1\n' >&3
    until [ -n "$(find . -name '.k.mldf.*.mldf.tmp')" ]; do sleep 0.01; done
}
end() {
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    exec 3>&-
}
begin
# While it is written it stays, whatever is asked for.
mldf clean --json --other-hosts . | json '[(e["state"], e["action"]) for e in d["leftovers"]] == [("live", "kept")]'
end
temporary=$(find . -name '.k.mldf.*.mldf.tmp')
check test -f "$temporary"
# Afterwards it is dead. What only looks like it, and what can be resumed, is not ours to remove.
touch .other.tmp .x.0123-0.mldf.tmp .k.mldf.0123456789ab-0.part.mldf.tmp k.mldf.partial
cp "$temporary" .k.mldf.00000000-0.mldf.tmp
mldf clean --json --dry-run . | json 'sorted((e["state"], e["action"]) for e in d["leftovers"]) == [("dead", "removed"), ("other-host", "kept")]'
check test -f "$temporary"
mldf clean . >said
check grep -qF "$temporary: removed" said
check grep -q 'another host made it' said
check test ! -e "$temporary"
for name in .other.tmp .x.0123-0.mldf.tmp .k.mldf.0123456789ab-0.part.mldf.tmp k.mldf.partial .k.mldf.00000000-0.mldf.tmp; do
    check test -e "$name"
done
mldf clean --other-hosts . >said
check test ! -e .k.mldf.00000000-0.mldf.tmp
rm .k.mldf.0123456789ab-0.part.mldf.tmp .x.0123-0.mldf.tmp .other.tmp k.mldf.partial
# The next run that writes the same name removes it too.
begin
end
check test -f "$temporary"
printf 'x\n1\n' >t.csv
mldf pack t.csv --schema "$schema" -o k.mldf -q
check test ! -e "$temporary"
check test -f k.mldf
expect_error 3 'cannot be read' mldf clean nowhere
expect_error 2 '' mldf clean
