# pack --resume: refused where it cannot work; the result of a run that was not interrupted has the same bytes.
seq 5000 | sed '1i n' >a.csv
mldf pack a.csv -o a.mldf -q
expect 0 mldf pack a.csv -o b.mldf --resume -q <<'END'
END
check cmp -s a.mldf b.mldf
check test -z "$(ls -A | grep -F partial)"
INPUT=a.csv expect 2 mldf pack - --format csv -o c.mldf --resume <<'END'
--- stderr
mldf pack: a run can be resumed only from regular files to a regular file
END
