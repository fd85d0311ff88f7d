# Folders, interrupted: nothing is left without --resume; with it the run goes on and the bytes are those of one run.
images=$source_dir/tests/data/images
python3 - "$images" <<'END'
import os, shutil, sys
for c in "abcd":
    os.makedirs("many/" + c)
    for i in range(600):
        shutil.copy(os.path.join(sys.argv[1], "rgb.png" if i % 2 else "rgb.jpg"), "many/%s/%04d.%s" % (c, i, "png" if i % 2 else "jpg"))
    shutil.copy(os.path.join(sys.argv[1], "empty.jpg"), "many/%s/zero.jpg" % c)
END
mldf pack many -o whole.mldf -q --on-error=skip --encode jpeg
mldf info --json whole.mldf | json 'd["num_samples"] == 2400'
python3 - "$MLDF" >result <<'END'
import os, signal, subprocess, sys, time
def command(out, *more):
    return [sys.argv[1], "pack", "many", "-o", out, "-q", "--on-error=skip", "--encode", "jpeg", "-j", "0", *more]
kept = 0
for i in range(60):
    p = subprocess.Popen(command("parts.mldf", "--resume"))
    time.sleep(0.03 + 0.02 * i)
    p.send_signal(signal.SIGINT)
    code = p.wait(timeout=60)
    if code == 0:
        break
    assert code == 130, code
    assert not os.path.exists("parts.mldf")
    kept += os.path.exists("parts.mldf.partial")
print("resumed" if kept else "never interrupted", code)
p = subprocess.Popen(command("gone.mldf"))
time.sleep(0.05)
p.send_signal(signal.SIGINT)
p.wait(timeout=60)
END
check grep -qx 'resumed 0' result
check cmp -s whole.mldf parts.mldf
check test -z "$(ls -A | grep -F -e partial -e .tmp)"
# A folder that changed meanwhile does not fit the partial file.
python3 - "$MLDF" <<'END'
import os, signal, subprocess, sys, time
for i in range(40):
    p = subprocess.Popen([sys.argv[1], "pack", "many", "-o", "other.mldf", "-q", "--on-error=skip", "--encode", "jpeg", "--resume", "-j", "0"])
    time.sleep(0.03)
    p.send_signal(signal.SIGINT)
    if p.wait(timeout=60) == 0:
        os.remove("other.mldf")
    if os.path.exists("other.mldf.partial"):
        break
END
check test -e other.mldf.partial
touch -d 2001-01-01 many/a/0000.jpg
expect_error 2 'comes from other sources, or they have changed' mldf pack many -o other.mldf -q --on-error=skip --encode jpeg --resume
