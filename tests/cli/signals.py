"""Signals at a known moment, for tests/cli/cases: not after so many seconds, which a busy machine may need for less or more work, but when
the command is seen to be in the middle of its own. What takes a while has no limit here but one that ends a hang."""
import array
import fcntl
import os
import signal
import subprocess
import termios
import time

HANG = 600

# What runs in the background of a shell, or under nohup, ignores these, and so would the commands that are started here.
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


def until(happened, process):
    """Waits; False: the process ended before."""
    while not happened():
        if process.poll() is not None:
            return happened()
        time.sleep(0.002)
    return True


def size(path):
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def is_waiting(process, pipe):
    """It has read all that is in the pipe, and sleeps."""
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    if count[0]:
        return False
    with open("/proc/%d/stat" % process.pid) as stat:
        return stat.read().rpartition(")")[2].split()[0] == "S"


def worked(process, seconds):
    """So much of the processor's time it has had, however long that took."""
    with open("/proc/%d/stat" % process.pid) as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") >= seconds


def end(process, number=signal.SIGINT):
    """The exit code after the signal."""
    process.send_signal(number)
    try:
        return process.wait(timeout=HANG)
    except subprocess.TimeoutExpired:
        process.kill()
        return "hangs"


def interrupt(command, happened, number=signal.SIGINT, **options):
    """The exit code of a command that gets the signal as soon as happened() is true; 0: it was done before."""
    process = subprocess.Popen(command, **options)
    until(happened, process)
    return end(process, number)
