"""jobs.py SHELL-COMMAND - runs the command in an interactive bash on a terminal of its own and plays a user: Ctrl-Z, jobs,
fg, a line of input, Ctrl-C. Prints what the terminal showed of the program, without prompts and numbers."""
import os, pty, re, select, signal, sys, time

def main():
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(PS1="PROMPT> ", TERM="dumb")
        os.environ.pop("PROMPT_COMMAND", None)
        os.execvp("bash", ["bash", "--norc", "--noediting", "-i"])
    seen = ""
    def read(until, limit=15.0):
        nonlocal seen
        start, end = len(seen), time.monotonic() + limit
        while not re.search(until, seen[start:]):
            r = select.select([fd], [], [], max(0, end - time.monotonic()))[0]
            if not r:
                print("waited in vain for", until, "after", repr(seen[start:]))
                os.kill(pid, signal.SIGKILL)
                sys.exit(1)
            try:
                seen += os.read(fd, 4096).decode(errors="replace")
            except OSError:
                break
    def say(text):
        os.write(fd, text.encode())
    read(r"PROMPT> ")
    say("stty -echo; set +b\n"); read("PROMPT> ")
    seen = ""
    say(sys.argv[1] + "\n"); read(r"ready")
    time.sleep(0.2)
    say("\x1a"); read(r"Stopped[^\n]*\n[^\n]*PROMPT> ")
    say("jobs\n"); read(r"Stopped[^\n]*\n[^\n]*PROMPT> ")
    say("fg\n"); time.sleep(0.3)
    say("a line\n"); read(r"got a line")
    time.sleep(0.1)
    say("\x1a"); read(r"Stopped[^\n]*\n[^\n]*PROMPT> ")
    say("bg; sleep 0.2; fg\n"); time.sleep(0.6)
    say("second\n"); read(r"got second")
    # An interrupt between Python's last look at signals and its next read() is seen after that alone, traced or not.
    time.sleep(0.3)
    say("\x03"); read(r"PROMPT> ")
    say("echo status $?\n"); read(r"status \d+[^$]*PROMPT> ")
    # A terminal whose settings were changed would not be usable any more.
    say("exit\n")
    try:
        while select.select([fd], [], [], 5)[0] and os.read(fd, 4096):
            pass
    except OSError:
        pass
    os.waitpid(pid, 0)
    for line in seen.replace("\r", "").split("\n"):
        line = re.sub(r"PROMPT> ", "", line)
        if re.search(r"Stopped", line):
            line = "Stopped"
        if re.fullmatch(r"(Stopped|\^Z|\^C|status \d+|got .*|ready|terminal .*)", line):
            print(line)

main()
