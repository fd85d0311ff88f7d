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
# A file that is no part of an interrupted run is not overwritten.
echo precious >d.mldf.partial
expect 3 mldf pack a.csv -o d.mldf --resume -q <<'END'
--- stderr
mldf pack: d.mldf.partial: already exists and was not left by an interrupted run; remove it to start again
END
check test "$(cat d.mldf.partial)" = precious
check test "$(ls -A | grep -F d.mldf)" = d.mldf.partial
rm d.mldf.partial
# Interrupted and killed, each time that there is a little more, and resumed: the same bytes, and nothing left over.
python3 - <<'END'
with open("big.jsonl", "w") as f:
    for i in range(200000):
        f.write('{"n":%d,"t":"line %d of a source that takes a while","l":[%d,%d]}\n' % (i, i, i % 7, i % 11))
END
mldf pack big.jsonl -o whole.mldf -q --compress t
python3 - "$MLDF" >result <<'END'
import os, signal, sys
import signals
command = [sys.argv[1], "pack", "big.jsonl", "-o", "parts.mldf", "-q", "--compress", "t", "--resume"]
partial = "parts.mldf.partial"
kept, code = 0, 0
for attempt in range(20):  # until one run was interrupted; it may be quicker than we are
    if os.path.exists("parts.mldf"):
        os.remove("parts.mldf")
    for i in range(6):
        enough = signals.size(partial) + (1 << 20)
        number = signal.SIGKILL if i % 3 == 2 else signal.SIGINT
        code = signals.interrupt(command, lambda: signals.size(partial) >= enough, number)
        if code == 0:
            break
        assert code == (-9 if i % 3 == 2 else 130), code
        assert not os.path.exists("parts.mldf")
        kept += os.path.exists(partial)
    if code:
        code = signals.interrupt(command, lambda: False, 0)  # to its end
    if kept:
        break
print("resumed" if kept else "never interrupted", code)
END
check grep -qx 'resumed 0' result
check cmp -s whole.mldf parts.mldf
check test -z "$(ls -A | grep -F partial)"
# Other options do not fit a partial file.
python3 - "$MLDF" <<'END'
import os, sys
import signals
command = [sys.argv[1], "pack", "big.jsonl", "-o", "other.mldf", "-q", "--resume"]
for attempt in range(20):
    if signals.interrupt(command, lambda: signals.size("other.mldf.partial") > 0) != 0:
        break
    os.remove("other.mldf")
END
check test -e other.mldf.partial
expect_error 2 'was begun with another schema, other options or another version' mldf pack big.jsonl -o other.mldf -q --resume --page-size 4K
