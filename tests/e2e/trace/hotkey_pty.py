"""What happens on a terminal with --capture-range=hotkey: hotkey_pty.py SIGHTLINE SCENARIO, in an empty folder.
The terminal is a real pseudo terminal; what is asked is what its modes are and what the program gets."""
import fcntl
import glob
import json
import os
import select
import signal
import subprocess
import sys
import termios
import time

SIGHTLINE, SCENARIO = sys.argv[1:3]
HERE = os.path.dirname(os.path.abspath(__file__))
PHASES = [sys.executable, os.path.join(HERE, "sessions_phases.py")]
F12 = b"\033[24~"


def shown(want, seconds=20):
    """Waits for the truth of want()."""
    end = time.time() + seconds
    while time.time() < end:
        value = want()
        if value:
            return value
        time.sleep(0.02)
    terminal.read()
    raise SystemExit(f"never came true; on the terminal: {terminal.text!r}\nmodes: {terminal.modes()}, {state()}")


class Terminal:
    def __init__(self, *command):
        self.text = b""
        # The other side is kept open, so that its modes can be asked when the program has gone.
        self.fd, self.side = os.openpty()
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(self.side, termios.TIOCSCTTY, 0)
            for fd in range(3):
                os.dup2(self.side, fd)
            os.closerange(3, 100)
            os.execvp(command[0], command)

    def read(self):
        while select.select([self.fd], [], [], 0)[0]:
            try:
                data = os.read(self.fd, 4096)
            except OSError:
                break
            if not data:
                break
            self.text += data

    def has(self, text):
        self.read()
        return text in self.text

    def type(self, keys):
        os.write(self.fd, keys)

    def modes(self):
        flags = termios.tcgetattr(self.side)[3]
        return bool(flags & termios.ICANON), bool(flags & termios.ECHO)

    def wait(self):
        end = time.time() + 20
        while time.time() < end:
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.read()
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        raise SystemExit(f"does not end; on the terminal: {self.text!r}")


ORDINARY, TAKEN = (True, True), (False, False)
terminal = None


def run(*command):
    global terminal
    terminal = Terminal(*command)
    return terminal


def sessions():
    out = subprocess.run([SIGHTLINE, "sessions", "list", "--format=json"], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(out)


def state():
    return [s["state"] for s in sessions()]


def phase(name):
    with open("phase.new", "w") as f:
        f.write(name + "\n")
    os.rename("phase.new", "phase")
    if name != "end":
        if os.path.exists("mark-" + name):
            os.unlink("mark-" + name)
        shown(lambda: os.path.exists("mark-" + name))


def looked():
    """Waits until the collector has looked at the modes: each time it wakes up, but for a tenth of a second after a look."""
    def wakes():
        with open(f"/proc/{sessions()[0]['id']}/status") as f:
            return int(next(line.split()[1] for line in f if line.startswith("voluntary_ctxt_switches")))
    time.sleep(0.1)
    before = wakes()
    shown(lambda: wakes() >= before + 2)


def same(got, want):
    if got != want:
        raise SystemExit(f"got {got!r}, want {want!r}; on the terminal: {terminal.text!r}")


def profile(*more):
    return [SIGHTLINE, "profile", "-c", "hotkey", "--capture-range-end=repeat", "-o", "r", *more]


def toggles():
    t = run(*profile(), *PHASES)
    phase("a")
    shown(lambda: t.has(b"The key F12 begins a capture"))
    shown(lambda: t.modes() == TAKEN)
    t.type(b"x\033[2" + F12)  # other keys before it, and half of another one
    shown(lambda: state() == ["Collection"])
    phase("a")  # once more: one of its calls is made while the capture is on
    phase("b")
    t.type(F12)
    shown(lambda: glob.glob("r.1.sqlite") and state() == ["DelayedCollection"])
    t.type(F12)
    shown(lambda: state() == ["Collection"])
    phase("end")
    same(t.wait(), 7)
    same(t.modes(), ORDINARY)
    same(sorted(glob.glob("r*.sqlite")), ["r.1.sqlite", "r.2.sqlite"])
    # What was typed besides is the shell's, where the kernel lets us give it back.
    try:
        fcntl.ioctl(t.side, termios.TIOCSTI, b"y")
    except OSError:
        return
    if b"x" not in t.text:
        raise SystemExit("the other keys are lost")


def character():
    t = run(*profile("--hotkey-capture=q"), *PHASES)
    phase("a")
    shown(lambda: t.has(b"The key q begins a capture"))
    shown(lambda: t.modes() == TAKEN)
    t.type(b"q")
    shown(lambda: state() == ["Collection"])
    phase("end")
    same(t.wait(), 7)
    same(t.modes(), ORDINARY)


def reader():
    """A program that reads has its terminal: lines, echo, and every byte."""
    wait = "until [ -e %s ]; do sleep 0.02; done; "
    t = run(*profile(), "sh", "-c", wait % "go" + "echo ready; read line; echo got:$line; " + wait % "on" + "exit 3")
    shown(lambda: t.modes() == TAKEN)
    open("go", "w").close()
    shown(lambda: t.has(b"ready") and t.modes() == ORDINARY)
    t.type(b"abc\x7fd\n")
    shown(lambda: t.has(b"got:abd"))
    if b"abc" not in t.text:
        raise SystemExit(f"no echo: {t.text!r}")
    shown(lambda: t.modes() == TAKEN)
    open("on", "w").close()
    same(t.wait(), 3)
    same(t.modes(), ORDINARY)


def own_modes():
    """A program with modes of its own gets every key, ours too, and what it puts back is put back to the ordinary."""
    program = ("import sys, termios, tty, os, time\n"
               "while not os.path.exists('go'): time.sleep(.02)\n"
               "was = termios.tcgetattr(0)\n"
               "tty.setraw(0)\n"
               "print('raw', flush=True)\n"
               "data = b''\n"
               "while b'.' not in data: data += os.read(0, 100)\n"
               "termios.tcsetattr(0, termios.TCSANOW, was)\n"
               "print('keys', data, flush=True)\n"
               "while not os.path.exists('on'): time.sleep(.02)\n")
    t = run(*profile(), sys.executable, "-c", program)
    shown(lambda: t.modes() == TAKEN)
    open("go", "w").close()
    shown(lambda: t.has(b"raw"))
    looked()
    t.type(b"k" + F12 + b".")
    shown(lambda: t.has(b"keys"))
    if b"k\\x1b[24~." not in t.text:
        raise SystemExit(f"keys are missing: {t.text!r}")
    shown(lambda: t.modes() == TAKEN)
    open("on", "w").close()
    same(t.wait(), 0)
    same(t.modes(), ORDINARY)


def crash():
    t = run(*profile(), *PHASES)
    phase("a")
    shown(lambda: t.modes() == TAKEN)
    os.kill(sessions()[0]["id"], signal.SIGSEGV)
    same(t.wait(), -signal.SIGSEGV)
    same(t.modes(), ORDINARY)
    phase("end")


def interrupt():
    t = run(*profile(), *PHASES)
    phase("a")
    shown(lambda: t.modes() == TAKEN)
    t.type(b"\003")
    t.wait()
    same(t.modes(), ORDINARY)


def stop_and_continue():
    """Ctrl-Z and fg in a shell with job control."""
    t = run("bash", "--norc", "--noprofile", "-i")
    t.type(b"PS1='$ '; " + " ".join(profile(*PHASES)).encode() + b"\n")
    phase("a")
    shown(lambda: t.modes() == TAKEN)
    t.type(b"\032")
    shown(lambda: t.has(b"Stopped"))
    t.type(b"stty -a | tr ' ;' '\\n\\n' | grep -xE -- '-?(icanon|echo)' | tr '\\n' '+'; echo =no''w\n")
    shown(lambda: t.has(b"=now\r"))
    if b"icanon+echo+=now\r" not in t.text and b"echo+icanon+=now\r" not in t.text:
        raise SystemExit(f"modes when stopped: {t.text!r}")
    t.type(b"fg\n")
    phase("b")
    shown(lambda: t.modes() == TAKEN)
    t.type(F12)
    shown(lambda: state() == ["Collection"])
    phase("end")
    shown(lambda: t.has(b"r.1.sqlite"))
    t.type(b"exit\n")
    t.wait()


def background():
    """In the background nothing is touched."""
    t = run("bash", "--norc", "--noprofile", "-i")
    t.type(" ".join(profile(*PHASES)).encode() + b" &\n")
    phase("a")
    shown(lambda: state() == ["DelayedCollection"])
    looked()
    t.type(b"stty -a | tr ' ;' '\\n\\n' | grep -xE -- '-?(icanon|echo)' | tr '\\n' '+'; echo =no''w\n")
    shown(lambda: t.has(b"=now\r"))
    if b"icanon+echo+=now\r" not in t.text and b"echo+icanon+=now\r" not in t.text:
        raise SystemExit(f"modes: {t.text!r}")
    same(state(), ["DelayedCollection"])
    phase("end")
    shown(lambda: not state())
    t.type(b"exit\n")
    t.wait()


def launch():
    """The collector has no terminal, launch has."""
    t = run(SIGHTLINE, "launch", "--session-new=keys", *PHASES)
    phase("a")
    shown(lambda: state() == ["Active"])
    looked()
    same(t.modes(), ORDINARY)
    subprocess.run([SIGHTLINE, "start", "-c", "hotkey", "--capture-range-end=repeat", "-o", "l"], check=True)
    shown(lambda: t.modes() == TAKEN)
    t.type(F12)
    shown(lambda: state() == ["Collection"])
    phase("b")
    t.type(F12)
    shown(lambda: glob.glob("l.1.sqlite") and state() == ["DelayedCollection"])
    subprocess.run([SIGHTLINE, "cancel", "--session=keys"], check=True)
    shown(lambda: t.modes() == ORDINARY)
    phase("end")
    same(t.wait(), 7)


def tmux():
    """A terminal that is used every day sends what it sends."""
    name = f"sightline-{os.getpid()}"
    subprocess.run(["tmux", "-L", name, "-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30",
                    *profile(), *PHASES], check=True)
    try:
        phase("a")
        end = time.time() + 20
        while b"The key F12 begins a capture" not in subprocess.run(
                ["tmux", "-L", name, "capture-pane", "-p"], stdout=subprocess.PIPE, check=True).stdout:
            if time.time() > end:
                raise SystemExit("no message in tmux")
            time.sleep(0.05)
        looked()
        subprocess.run(["tmux", "-L", name, "send-keys", "F12"], check=True)
        end = time.time() + 20
        while state() != ["Collection"]:
            if time.time() > end:
                raise SystemExit(f"no capture in tmux: {state()}")
            time.sleep(0.05)
        phase("end")
        while not glob.glob("r.1.sqlite") or state():
            time.sleep(0.05)
    finally:
        subprocess.run(["tmux", "-L", name, "kill-server"], stderr=subprocess.DEVNULL, check=False)


globals()[SCENARIO]()
