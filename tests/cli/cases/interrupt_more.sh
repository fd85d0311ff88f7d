# Ctrl-C in the commands that make files of files: exit code 130, nothing left behind, and what was there is as it was.
python3 -c '
print("k,t")
for i in range(60000):
    print("k%d,%s" % (i, "text " * 8))' >a.csv
mldf pack a.csv --key-column k -o a.mldf -q
sha256sum a.mldf >sum
interrupt() { # the command, which puts something into out
    python3 - "$MLDF" "$@" >result 2>messages <<'END'
import os, shutil, sys
import signals
code = 0
for attempt in range(20):
    if code == 0:  # not yet, or it was quicker than we are
        shutil.rmtree("out", ignore_errors=True)
        os.mkdir("out")
        code = signals.interrupt(sys.argv[1:], lambda: os.listdir("out"))
print(code)
END
    check grep -qx 130 result
    check grep -q 'interrupted' messages
    check test -z "$(ls -A out)"
}
interrupt extract a.mldf -o out/x
interrupt split a.mldf -o out/{:05d}.mldf --count 5
# A source that never ends.
mkfifo source
python3 - "$MLDF" >result 2>messages <<'END'
import os, subprocess, sys
import signals
p = subprocess.Popen([sys.argv[1], "add-field", "a.mldf", "n=source", "--format", "csv", "--schema", '[{"name":"n","type":"text"}]'])
feed = os.open("source", os.O_WRONLY)
os.write(feed, b"n\n" + b"some text\n" * 3000)
signals.until(lambda: signals.is_waiting(p, feed), p)
print(signals.end(p))
END
check grep -qx 130 result
check sha256sum --quiet -c sum
check test -z "$(ls -A | grep -F .tmp)"
