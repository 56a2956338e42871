"""inject.py BIN PROGRAM LIBRARY ROUNDS KILLS - attach --inject to programs, driven by commands: counts between entering and leaving, slots
equal afterwards, nothing left when the collector is killed. Prints one line for each check: STATUS|NAME|DETAILS."""
import os, random, signal, sqlite3, subprocess, sys, time

BIN, PROGRAM, LIBRARY = sys.argv[1:4]
ROUNDS, KILLS = int(sys.argv[4]), int(sys.argv[5])


def say(ok, name, details=""):
    print("%d|%s|%s" % (0 if ok else 1, name, str(details).replace("\n", " ")), flush=True)


class Program:
    def __init__(self, threads):
        self.p = subprocess.Popen([PROGRAM, str(threads)], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        self.pid = int(self.p.stdout.readline().split()[1])
        self.threads = threads
        self.ask("calls 1")
        self.ask("slots")
        self.slots = self.ask("slots")

    def ask(self, command):
        self.p.stdin.write(command + "\n")
        self.p.stdin.flush()
        return self.p.stdout.readline().strip()

    def has_been_left(self):
        tasks = len(os.listdir("/proc/%d/task" % self.pid))
        return self.ask("slots") == self.slots and tasks == self.threads + 1

    def end(self):
        self.p.stdin.close()
        return self.p.wait()


def attach(pid, *options):
    return subprocess.Popen([BIN, "attach", "--inject", "-p", str(pid), "-f", "true", "-o", "inject.sqlite",
                             "--cpuctxsw=none", "--sample=none", *options], stderr=subprocess.PIPE, text=True)


def attached(a):
    """Waits until it records; its words if it does not."""
    said = ""
    for line in a.stderr:
        said += line
        if "attached to" in line:
            return ""
    return said or "ended without a word"


def stop(a):
    a.send_signal(signal.SIGINT)
    said = a.stderr.read()
    a.wait()
    return said


def count(name):
    """Calls of a function in the report: rows and totals."""
    c = sqlite3.connect("inject.sqlite")
    total = 0
    for table, what in (("OSRT_API", "count(*)"), ("SL_OSRT_TOTALS", "sum(count)")):
        if c.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
            total += c.execute("SELECT %s FROM %s JOIN StringIds s ON s.id = nameId WHERE value IN (?, ?)" % (what, table),
                               (name, name + "64")).fetchone()[0] or 0
    c.close()
    return total


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def rounds():
    p = Program(64)
    bad = []
    for i in range(ROUNDS):
        a = attach(p.pid)
        said = attached(a)
        if said:
            bad.append(said)
            break
        p.ask("calls 157")
        said = stop(a)
        got = count("pread")
        if got != 64 * 157 or a.returncode:
            bad.append("round %d: %d calls, status %d: %s" % (i, got, a.returncode, said))
        if not p.has_been_left():
            bad.append("round %d: %s, not %s" % (i, p.ask("slots"), p.slots))
    say(not bad, "64 threads entered and left %d times: 10048 calls are counted each time, and slots are as before" % ROUNDS, bad[:3])
    say(p.end() == 7, "a program that was entered many times ends with its own status")


def later_library():
    p = Program(1)
    a = attach(p.pid)
    said = attached(a)
    answer = p.ask("load " + LIBRARY)
    stop(a)
    say(answer == "loaded 100" and count("pread") == 100, "calls of a library that is opened later are counted",
        "%s %s %d" % (said, answer, count("pread")))
    say(p.has_been_left(), "a program that has opened a library meanwhile has its slots as before")
    p.end()


def kills(spins):
    random.seed(44 + spins)
    p = Program(16)
    bad = []
    for i in range(KILLS):
        if spins:
            p.ask("spin")
        a = attach(p.pid)
        time.sleep(random.uniform(0.02, 0.30))
        a.kill()
        a.wait()
        if spins:
            p.ask("rest")
        if not until(p.has_been_left):
            bad.append("moment %d: %s, not %s" % (i, p.ask("slots"), p.slots))
            break
        if p.ask("calls 3") != "called":
            bad.append("moment %d: no answer" % i)
    say(not bad, "nothing is left in a program with %s threads when the collector is killed at %d moments" %
        ("busy" if spins else "waiting", KILLS), bad[:3])
    say(p.end() == 7, "a program with %s threads ends with its own status after its collectors were killed" %
        ("busy" if spins else "waiting"))


def python():
    script = ("import os, sys, time\nprint('ready', flush=True)\nfor line in sys.stdin:\n"
              "    f = open('/dev/null', 'wb', 0)\n    for i in range(10000): f.write(b'x')\n    f.close()\n    print('written', flush=True)\n")
    p = subprocess.Popen([sys.executable, "-S", "-E", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    a = attach(p.pid)
    said = attached(a)
    p.stdin.write("go\n")
    p.stdin.flush()
    p.stdout.readline()
    stop(a)
    got = count("write")
    say(not said and 10000 <= got <= 10002, "10000 writes of a Python that runs already are counted, and those of its answer", "%s %d" % (said, got))
    p.stdin.close()
    say(p.wait() == 0, "a Python that was entered ends with its own status")


rounds()
later_library()
kills(False)
kills(True)
python()
