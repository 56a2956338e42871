#!/bin/sh
# runtimes.t - sightline why of programs whose code is made at run time: lines where the run time names it, the option for names where it
# does not; Go, whose threads change goroutines; memory that is touched for the first time.
# shellcheck disable=SC2016
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
"$BIN" profile -f true -t none -s process-tree -o probe true >out 2>err
[ -f probe.sqlite ] && ! grep -q 'no CPU samples' err || skip_all 'no CPU samples are permitted'

# The places of culprits and the share of the time that each has.
cat >places.py <<'END_PY'
import json, sys
y = json.load(open(sys.argv[1]))
for c in y["culprits"]:
    print("%.2f %s:%s %s %s" % (c["ns"] / y["ns"] if "ns" in y else c["ns"] / y["focus"]["ns"], (c["file"] or "-").split("/")[-1], c["line"], c["function"],
                                max(c["reasons"], key=c["reasons"].get)))
END_PY
record() { # NAME PROGRAM...
	name=$1
	shift
	"$BIN" profile -f true --sampling-frequency=1000 -o "$name" "$@" >"$name.out" 2>"$name.err"
	is $? 0 "$name: the program ends"
	"$BIN" why "$name.sqlite" >"$name.txt"
	"$BIN" why -f json --limit=0 --max-bytes=0 "$name.sqlite" >"$name.json"
	"$PY" places.py "$name.json" >"$name.places" 2>&1
}

# ---- first touch of memory ----
if command -v gcc >/dev/null; then
	cat >touch.c <<'END_C'
#include <stdlib.h>
#include <string.h>
int main(void)
{
	long sum = 0;
	for (int i = 0; i < 40; i++) {
		char *volatile p = malloc(32 << 20);
		memset(p, i, 32 << 20); /* TOUCH */
		sum += p[i];
		free(p);
	}
	return sum < 0;
}
END_C
	gcc -g -O1 -o touch touch.c
	record touched ./touch
	if grep -q '"reason": "TOUCH"' touched.json; then
		check 'fresh memory: its first touch is a reason, at the line' "$PY" -c '
import json
y = json.load(open("touched.json"))
top = y["culprits"][0]
assert top["line"] == '"$(grep -n TOUCH touch.c | cut -d: -f1)"', top
assert top["reasons"]["TOUCH"] > top["reasons"].get("KERNEL", 0), top'
		check 'fresh memory: the advice is to keep it' grep -q 'keep the memory for use again' touched.txt
	else
		skip 'fresh memory: its first touch is a reason' 'symbols of the kernel are hidden'
	fi
fi

# ---- Node ----
if command -v node >/dev/null; then
	cat >server.js <<'END_JS'
function check(text) {
	let hash = 0;
	for (let i = 0; i < 3000; i++) hash = (hash * 31 + text.charCodeAt(i % text.length)) | 0;
	return hash;
}
let sum = 0;
for (let i = 0; i < 30000; i++) sum += check('x'.repeat(50) + i);
console.log(sum);
END_JS
	record node node server.js
	check 'Node without names: a note has the option' grep -q '^Not recorded: names of JavaScript.*--perf-basic-prof' node.txt
	record named node --perf-basic-prof --interpreted-frames-native-stack server.js
	check 'Node with names: the culprit is in the file' sh -c 'head -1 named.places | grep -q " server.js:"'
	is "$(grep -c '^Not recorded: names' named.txt)" 0 'Node with names: no note'
fi

# ---- Java ----
if command -v javac >/dev/null && command -v java >/dev/null; then
	cat >Ledger.java <<'END_JAVA'
public class Ledger {
	static long sum;
	static void book(int n) { for (int i = 0; i < 200000; i++) sum += (sum ^ i) % 7 + n; }
	public static void main(String[] a) { for (int i = 0; i < 1500; i++) book(i); System.out.println(sum); }
}
END_JAVA
	javac Ledger.java
	record java java Ledger
	check 'Java without names: a note has the options' grep -q '^Not recorded: names of Java.*DumpPerfMapAtExit' java.txt
	record mapped java -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit Ledger
	check 'Java with names: the culprit is a method' grep -q ' Ledger\.\(book\|main\) ' mapped.places
fi

# ---- Go ----
GO=$(command -v go || echo /usr/local/go/bin/go)
if [ -x "$GO" ]; then
	cat >main.go <<'END_GO'
package main

import ("fmt"; "sync"; "time")

func main() {
	var w sync.WaitGroup
	for k := 0; k < 4; k++ {
		w.Add(1)
		go func() {
			defer w.Done()
			s := 0
			for i := 0; i < 20; i++ {
				time.Sleep(time.Millisecond)
				for j := 0; j < 1000000; j++ { s += j % 7 }
			}
			fmt.Println(s)
		}()
	}
	w.Wait()
}
END_GO
	if HOME=$W GOCACHE=$W/go GOFLAGS=-mod=mod "$GO" build -o gophers main.go >log 2>&1; then
		record go ./gophers
		check 'Go: a note says that goroutines are not followed' grep -q '^Not recorded: what goroutines wait for' go.txt
		is "$(grep -c '^What to change' go.txt)" 0 'Go: no gain is claimed'
	else
		skip 'Go: a note says that goroutines are not followed' 'go cannot build here'
	fi
fi
done_testing
