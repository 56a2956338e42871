#!/bin/sh
# Counts of real programs - threads, forks, exec, pipes, scripts, interpreters - are those of strace: calls, bytes and opens of
# their files, command lines and exit statuses of all their processes; and those of the kernel: time on a CPU, context switches and
# major page faults of all their threads; and their output is the same.
# shellcheck disable=SC2016
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
command -v strace >/dev/null || skip_all 'strace is not installed (package strace)'
strace -o probe true 2>/dev/null || skip_all 'strace is not permitted'

awk 'BEGIN { for (i = 0; i < 3000; i++) print i * 7919 % 3001, "line of text", i }' >text
mkdir tree && for i in 1 2 3 4 5; do head -c $((i * 5000)) text >tree/$i.txt; done

# Context switches and page faults are recorded by eBPF; the kernel sends its own figures to root, and to the first PID namespace.
witness=none
if ! "$BIN" status 2>/dev/null | grep -q '^eBPF  *ok'; then
	skip 'times, switches and page faults are those of the kernel' 'no eBPF here'
elif ! why=$("$PY" "$E2E/trace/taskstats.py" 2>&1); then
	skip 'times, switches and page faults are those of the kernel' "$why"
else
	witness=kernel
fi

# NAME PACKAGE PROGRAM FILES COMMAND...: skipped without the program
counts() {
	name=$1 package=$2 program=$3 files=
	for file in $4; do files=$files${files:+,}$W/$file; done
	shift 4
	if command -v "$program" >/dev/null; then
		check "$name: the report has what strace has" "$PY" "$E2E/trace/real_counts.py" "$BIN" "$name" "$files" $witness -- "$@"
	else
		skip "$name: the report has what strace has" "$program is not installed (package $package)"
	fi
}
counts cat coreutils cat 'text tree/1.txt' cat text tree/1.txt
counts cp coreutils cp 'text copied' cp text copied
counts cat-to coreutils cat 'text catted' sh -c 'cat text >catted'
counts dd coreutils dd text dd if=text of=copy bs=100 status=none
counts sum coreutils md5sum 'tree/1.txt tree/2.txt tree/3.txt' md5sum tree/1.txt tree/2.txt tree/3.txt
counts wc coreutils wc text wc text
counts tail coreutils tail text tail -n 3 text
counts grep grep grep 'text tree/5.txt' grep -c 17 text tree/5.txt
counts grep-none grep grep text grep -q 'not there' text
counts sed sed sed text sed -n 's/line/row/p' text
counts awk mawk awk text awk '{ n += $1 } END { print n }' text
counts sort coreutils sort text sort -n text
counts gzip gzip gzip text gzip -c text
counts tar tar tar 'tree/1.txt tree/4.txt' tar cf - tree
counts diff diffutils diff 'text tree/5.txt' diff text tree/5.txt
counts find findutils find 'tree/1.txt tree/2.txt' find tree -name '*.txt' -exec head -c 10 '{}' ';'
counts xargs findutils xargs 'tree/1.txt tree/5.txt' sh -c 'ls tree/*.txt | xargs -n 2 cat | wc -c'
counts script dash sh 'text tree/3.txt' sh -c 'for i in 1 2 3; do (cat tree/3.txt; exit $i) | wc -l; done; read -r a <text; echo "$a"; exit 5'
counts bash bash bash 'text tree/2.txt' bash -c 'while read -r a b; do n=$((n + a)); done <tree/2.txt; echo $n; cat text | tail -n 2; exit 9'
printf '.PHONY: all one two\nall: one two\none:\n\t@wc -c tree/1.txt >one\ntwo:\n\t@cat tree/1.txt | wc -l >two; exit 7\n' >Makefile
counts make make make 'Makefile tree/1.txt' make -s -j2
counts perl perl perl text perl -e 'open F, "<", "text"; while (<F>) { $n += length } print "$n\n"; if (!fork) { exit 4 } wait; exec "true"'
cat >workers.py <<'END'
import concurrent.futures, os, subprocess, sys
def read(i):
    with open(f'tree/{i}.txt', 'rb', buffering=100 * i) as f:
        return sum(len(line) for line in f)
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    print(sum(pool.map(read, [1, 2, 3, 4, 5] * 20)))
for i in range(3):
    pid = os.fork()
    if not pid:
        read(1)
        os._exit(i)
    os.waitpid(pid, 0)
print(subprocess.run(['wc', '-c', 'text'], capture_output=True).stdout)
os.execvp('cat', ['cat', 'tree/2.txt'])
END
counts python python3 "$PY" 'text tree/1.txt tree/2.txt tree/5.txt' "$PY" -S -E workers.py
cat >read.js <<'END'
const fs = require('fs');
for (let i = 0; i < 50; i++) fs.readFileSync('tree/1.txt');
const fd = fs.openSync('text');
const b = Buffer.alloc(100);
let n = 0, got;
while ((got = fs.readSync(fd, b)) > 0) n += got;
console.log(n);
process.exitCode = 3;
END
counts node nodejs node 'text tree/1.txt' node read.js
cat >Read.java <<'END'
import java.io.*;
public class Read {
	public static void main(String[] a) throws Exception {
		long n = 0;
		for (int i = 0; i < 20; i++)
			try (FileInputStream in = new FileInputStream("tree/1.txt")) {
				byte[] b = new byte[256];
				for (int got; (got = in.read(b)) > 0;) n += got;
			}
		System.out.println(n);
		System.exit(6);
	}
}
END
if command -v javac >/dev/null; then javac Read.java; fi
counts java default-jdk javac 'tree/1.txt' java -Xshare:off -XX:TieredStopAtLevel=1 -cp "$W" Read
cat >hello.rs <<'END'
use std::io::Read;
use std::thread;
fn main() {
    let hands: Vec<_> = (1..6)
        .map(|i| thread::spawn(move || (0..20).map(|_| std::fs::read(format!("tree/{i}.txt")).unwrap().len()).sum::<usize>()))
        .collect();
    let mut n: usize = hands.into_iter().map(|h| h.join().unwrap()).sum();
    let mut f = std::fs::File::open("text").unwrap();
    let mut b = [0u8; 100];
    loop {
        match f.read(&mut b).unwrap() {
            0 => break,
            got => n += got,
        }
    }
    println!("{n}");
    std::process::exit(7);
}
END
if command -v rustc >/dev/null; then rustc -O -o hello-rust hello.rs; fi
counts rust rustc rustc 'text tree/1.txt tree/5.txt' ./hello-rust
# A program in Go makes its system calls itself: its processes and threads are recorded, no calls.
cat >hello.go <<'END'
package main

import (
	"fmt"
	"os"
	"sync"
)

func main() {
	var all sync.WaitGroup
	sums := make([]int, 5)
	for i := range sums {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			for k := 0; k < 20; k++ {
				b, _ := os.ReadFile(fmt.Sprintf("tree/%d.txt", i+1))
				for _, c := range b {
					sums[i] += int(c)
				}
			}
		}(i)
	}
	all.Wait()
	fmt.Println(sums)
	os.Exit(8)
}
END
if command -v go >/dev/null; then GO111MODULE=off GOCACHE=$B/tests/go-cache go build -o hello-go hello.go; fi
counts go golang-go go '' ./hello-go
counts sqlite sqlite3 sqlite3 text sqlite3 :memory: '.import text t' 'SELECT count(*) FROM t'
done_testing
