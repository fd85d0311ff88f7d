# Ctrl-C: exit code 130, nothing left behind. The source is a pipe that never ends, so that the signal always comes in the middle.
mkdir out
for signal in INT TERM; do
    mkfifo source
    # A shell's background jobs ignore SIGINT; a fresh process does not.
    python3 - "$MLDF" $signal >result 2>messages <<'END'
import os, signal, subprocess, sys
import signals
p = subprocess.Popen([sys.argv[1], "pack", "source", "--format", "csv", "-o", "out/x.mldf"])
feed = os.open("source", os.O_WRONLY)
os.write(feed, b"a,b\n")
for i in range(12000):
    os.write(feed, b"1,hello\n")
signals.until(lambda: signals.is_waiting(p, feed), p)
print(signals.end(p, getattr(signal, "SIG" + sys.argv[2])))
END
    check grep -qx 130 result
    check grep -qx 'mldf pack: interrupted' messages
    check test -z "$(ls -A out)"
    rm source
done
# A signal that comes in the middle of the work, a moment before the command waits for a pipe in which nothing comes any more.
python3 - "$MLDF" >result 2>messages <<'END'
import os, random, signal, subprocess, sys, time
import signals
for attempt in range(20):
    p = subprocess.Popen([sys.argv[1], "pack", "-", "--format", "csv", "-o", "out/x.mldf"], stdin=subprocess.PIPE)
    p.stdin.write(b"a,b\n" + b"1,hello\n" * 25000)
    p.stdin.flush()
    time.sleep(random.random() * 0.02)
    print(signals.end(p, signal.SIGTERM))
    p.stdin.close()
END
check test "$(sort result | uniq -c | xargs)" = '20 130'
check test -z "$(ls -A out)"
# timeout, and what ends a group of processes, sends its signal twice in a row: that is one wish, and nothing stays behind either.
python3 - "$MLDF" >result 2>messages <<'END'
import os, signal, subprocess, sys
import signals
for attempt in range(20):
    p = subprocess.Popen([sys.argv[1], "pack", "-", "--format", "csv", "-o", "out/x.mldf"], stdin=subprocess.PIPE)
    p.stdin.write(b"a,b\n" + b"1,hello\n" * 25000)
    p.stdin.flush()
    signals.until(lambda: os.listdir("out"), p)
    p.send_signal(signal.SIGSTOP)  # so that both wait for it, and come at the same moment
    os.waitpid(p.pid, os.WUNTRACED)
    p.send_signal(signal.SIGTERM)
    p.send_signal(signal.SIGINT)
    print(signals.end(p, signal.SIGCONT))
    p.stdin.close()
END
check test "$(sort result | uniq -c | xargs)" = '20 130'
check test -z "$(ls -A out)"
