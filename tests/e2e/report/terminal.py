"""terminal.py BINARY REPORT...: every text of copies of the reports steers a terminal; nothing of that reaches the pseudo terminal
that the commands write to. TAP's lines of what does go to stdout."""
import fcntl
import os
import pty
import shutil
import sqlite3
import struct
import subprocess
import sys
import termios

# Title, colour, delete; then what turns the direction of text, and characters without a mark: zero width, tag, variant.
EVIL = "\x1b]0;pwned\x07\u009b31m\x7f\u202e\u2066\u200b\u061c\U000e0041\ufe0f\ufeff"
MARKS = (b"\x1b]0;", b"\x07", b"\x7f", *(c.encode() for c in "\u009b\u202e\u2066\u200b\u061c\U000e0041\ufe0f\ufeff"))


def spoil(path):
    db = sqlite3.connect(path)
    for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        if table == "META_DATA_EXPORT":
            continue
        for column in db.execute(f'PRAGMA table_info("{table}")').fetchall():
            db.execute(f'UPDATE OR IGNORE "{table}" SET "{column[1]}" = "{column[1]}" || ? WHERE typeof("{column[1]}") = \'text\'', (EVIL,))
    db.commit()
    db.close()


def on_terminal(command, columns=0, lines=0):
    head, tail = pty.openpty()
    fcntl.ioctl(tail, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=tail, stderr=tail)
    os.close(tail)
    out = b""
    while True:
        try:
            piece = os.read(head, 1 << 16)
        except OSError: # the last writer has gone
            break
        if not piece:
            break
        out += piece
    os.close(head)
    child.wait()
    return out


def main():
    binary, reports = sys.argv[1], sys.argv[2:]
    # The name of a report, too.
    os.makedirs("spoiled", exist_ok=True)
    named = []
    for report in reports:
        name = "spoiled/" + os.path.basename(report)[:-7] + EVIL + ".sqlite"
        shutil.copy(report, name)
        spoil(name)
        named.append(name)
    commands = []
    for name in named:
        for words in (["stats"], ["stats", "-f", "table"], ["stats", "-f", "csv"], ["stats", "-f", "tsv"], ["stats", "-f", "json"],
                      ["info"], ["info", "-f", "json"], ["analyze"], ["top", "--once"],
                      ["export", "-t", "folded", "-o", "-"], ["export", "-t", "text", "-o", "-"], ["export", "-t", "jsonlines", "-o", "-"],
                      ["sql", "-f", "csv"]):
            commands.append([binary, *words, name] + (["SELECT value FROM StringIds"] if words[0] == "sql" else []))
        commands.append([binary, "compare", "--fail-on", "osrt>0%", name, named[0]])
        commands.append([binary, "export", "-t", "chrome", "-o", name + ".json", name])
    commands.append([binary, "stats", "nothing" + EVIL])
    wrong, seen = [], 0
    for command in commands:
        out = on_terminal(command)
        seen += len(out) > 0 and b"pwned" in out
        wrong += [f"{command[1:4]}: {mark!r}" for mark in MARKS if mark in out]
    for line in wrong:
        print(line)
    print(len(commands), "commands,", seen, "of them print it")
    sys.exit(bool(wrong) or seen < len(commands) // 3)


if __name__ == "__main__":
    main()
