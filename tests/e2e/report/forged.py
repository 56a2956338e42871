"""forged.py BINARY REPORT: with every figure of a copy of the report as large or as small as it can be, every command that reads
reports ends well, and the page is made. Prints what did not."""
import shutil
import sqlite3
import subprocess
import sys

COLUMNS = ("start", "end", "bytes", "calls", "total", "totalNs", "min", "max", "count", "timestamp", "bytesRead", "value")


def forge(path, number):
    db = sqlite3.connect(path)
    for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        for column in db.execute(f'PRAGMA table_info("{table}")').fetchall():
            if column[1] in COLUMNS and column[1] != "start":
                db.execute(f'UPDATE OR IGNORE "{table}" SET "{column[1]}" = ? WHERE typeof("{column[1]}") = \'integer\'', (number,))
    db.commit()
    db.close()


def main():
    binary, report = sys.argv[1:]
    wrong = 0
    for number in (2**63 - 1, -2**63, 2**62 + 12345, 1 << 53):
        name = f"forged{number}.sqlite"
        shutil.copy(report, name)
        forge(name, number)
        for words in (["stats", "-q"], ["stats", "-q", "-r", "osrt_sum,file_access_sum,cuda_gpu_sum,osrt_exact_sum"], ["analyze"], ["info"],
                      ["top", "--once"], ["report", "-f", "true", "-o", "page.html"],
                      ["export", "-t", "chrome", "-f", "true", "-o", "out.json"], ["export", "-t", "folded", "-f", "true", "-o", "out.folded"],
                      ["compare", report]):
            run = subprocess.run([binary, *words, name], capture_output=True, text=True, errors="replace", timeout=300, check=False)
            if run.returncode or "overflow" in run.stderr or "runtime error" in run.stderr:
                print(number, words, run.returncode, run.stderr[-600:])
                wrong += 1
    sys.exit(wrong > 0)


main()
