# Ctrl-C: exit code 130, nothing left behind. The source is a pipe that never ends, so that the signal always comes in the middle.
mkdir out
for signal in INT TERM; do
    mkfifo source
    # A shell's background jobs ignore SIGINT; a fresh session does not.
    python3 - "$MLDF" $signal >result 2>messages <<'END'
import os, signal, subprocess, sys, time
p = subprocess.Popen([sys.argv[1], "pack", "source", "--format", "csv", "-o", "out/x.mldf"])
feed = os.open("source", os.O_WRONLY)
os.write(feed, b"a,b\n")
for i in range(12000):
    os.write(feed, b"1,hello\n")
time.sleep(0.3)
p.send_signal(getattr(signal, "SIG" + sys.argv[2]))
started = time.time()
print(p.wait(timeout=20), "quick" if time.time() - started < 5 else "slow")
END
    check grep -qx '130 quick' result
    check grep -qx 'mldf pack: interrupted' messages
    check test -z "$(ls -A out)"
    rm source
done
