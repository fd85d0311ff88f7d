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
# What is printed, to a pipe that nobody empties.
python3 - "$MLDF" >result 2>messages <<'END'
import signal, subprocess, sys
import signals
p = subprocess.Popen([sys.argv[1], "cat", "a.mldf"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
p.stdout.read(1)
p.send_signal(signal.SIGINT)
_, said = p.communicate(timeout=signals.HANG)
print(p.returncode, said.decode().strip())
END
check grep -qx '130 mldf cat: interrupted' result
# The same for a dataset that goes to standard output; and a reader that has seen enough of it is no error to talk about.
for words in 'pack a.csv -o -' 'convert a.mldf --to tar -o -' 'merge a.mldf -o -' 'select a.mldf --samples : -o -'; do
    # shellcheck disable=SC2086
    python3 - "$MLDF" $words >result 2>messages <<'END'
import os, signal, subprocess, sys
import signals
read, write = os.pipe()
p = subprocess.Popen(sys.argv[1:], stdout=write, stderr=subprocess.PIPE)
os.close(write)
os.read(read, 1)
p.send_signal(signal.SIGINT)
_, said = p.communicate(timeout=signals.HANG)
print(p.returncode, "interrupted" in said.decode())
END
    check grep -qx '130 True' result
    # shellcheck disable=SC2086
    { mldf $words 2>messages; echo $? >result; } | head -c 1 >first
    check grep -qx 141 result
    drop_progress messages
    check test "$(grep -c -v warning messages)" = 0
done
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
# A file with nothing in it that could be mended, as large as a disk: the search ends when it is told to.
if ! truncate -s 1T nothing.mldf 2>/dev/null; then
    echo 130 >result # this file system has no such files
else
    python3 - "$MLDF" >result 2>messages <<'END'
import subprocess, sys
import signals
p = subprocess.Popen([sys.argv[1], "repair", "nothing.mldf", "-o", "out/mended.mldf"])
signals.until(lambda: signals.worked(p, 0.5), p)
print(signals.end(p))
END
fi
rm -f nothing.mldf
check grep -qx 130 result
check test -z "$(ls -A out)"
