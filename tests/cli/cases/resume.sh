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
# Interrupted, killed and resumed, as often as it takes: the same bytes, and nothing left over.
python3 - <<'END'
with open("big.jsonl", "w") as f:
    for i in range(400000):
        f.write('{"n":%d,"t":"line %d of a source that takes a while","l":[%d,%d]}\n' % (i, i, i % 7, i % 11))
END
mldf pack big.jsonl -o whole.mldf -q --compress t
python3 - "$MLDF" >result <<'END'
import os, signal, subprocess, sys, time
command = [sys.argv[1], "pack", "big.jsonl", "-o", "parts.mldf", "-q", "--compress", "t", "--resume"]
kept = 0
for i in range(40):
    p = subprocess.Popen(command)
    time.sleep(0.15 + 0.05 * i)
    p.send_signal(signal.SIGKILL if i % 3 == 2 else signal.SIGINT)
    code = p.wait(timeout=60)
    if code == 0:
        break
    assert code == (-9 if i % 3 == 2 else 130), code
    assert not os.path.exists("parts.mldf")
    kept += os.path.exists("parts.mldf.partial")
print("resumed" if kept else "never interrupted", code)
END
check grep -qx 'resumed 0' result
check cmp -s whole.mldf parts.mldf
check test -z "$(ls -A | grep -F partial)"
# Other options do not fit a partial file.
python3 - "$MLDF" <<'END'
import signal, subprocess, sys, time
p = subprocess.Popen([sys.argv[1], "pack", "big.jsonl", "-o", "other.mldf", "-q", "--resume"])
time.sleep(0.3)
p.send_signal(signal.SIGINT)
p.wait(timeout=60)
END
check test -e other.mldf.partial
expect_error 2 'was begun with another schema, other options or another version' mldf pack big.jsonl -o other.mldf -q --resume --page-size 4K
