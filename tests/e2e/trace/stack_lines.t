#!/bin/sh
# I/O bytes and GPU time by line of Python: a training loop with workers that keeps account of itself, line by line, and the
# same sums from the report by SQL.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
STANDIN=$B/tests/standin
[ -f "$STANDIN/libcupti.so.13" ] || skip_all 'the stand-ins are not built'
LD_LIBRARY_PATH=$STANDIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13
export LD_LIBRARY_PATH SIGHTLINE_CUPTI

mkdir data
"$PY" -c '
for i in range(24): open("data/%d" % i, "wb").write(b"x" * (100 + 37 * i))
open("index", "wb").write(b"y" * 200)'
truth() { # KIND: what the program says
	awk -v kind="$1" '$1 == kind { n[$2] += $3 } END { for (line in n) print line, n[line] }' truth | sort
}
# The innermost frame of Python in each stack of TABLE.
line_of() {
	cat <<-END
		WITH line_of AS (SELECT c.id, c.line, f.value LIKE '%stack_lines.py' AS ours, min(stackDepth) FROM $1 c
			JOIN StringIds f ON f.id = c.file WHERE f.value LIKE '%.py' AND originalIP IS NULL GROUP BY 1)
	END
}
io() { # LIKE: bytes by line
	sqlite3 -readonly -separator ' ' "$R" "$(line_of OSRT_CALLCHAINS) SELECT line, sum(returnValue) FROM OSRT_API o JOIN StringIds n ON n.id = nameId
		JOIN line_of l ON l.id = callchainId JOIN StringIds p ON p.id = pathId
		WHERE ours AND ($1) AND returnValue > 0 AND (p.value LIKE '$W/data/%' OR p.value IN ('$W/index', '$W/checkpoint')) GROUP BY 1" | sort
}
gpu() { # TABLE EXPRESSION
	sqlite3 -readonly -separator ' ' "$R" "$(line_of CUDA_CALLCHAINS) SELECT line, sum($2) FROM $1 w JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING (correlationId)
		JOIN line_of l ON l.id = callchainId GROUP BY 1" | sort
}
for how in plain torch; do
	[ $how = plain ] || "$PY" -c 'import torch' 2>/dev/null || {
		skip 'torch: the training loop runs' 'PyTorch is not installed (package python3-torch)'
		continue
	}
	rm -f truth
	profile lines -t cuda,osrt --osrt-threshold=0 --osrt-backtrace-threshold=0 --cudabacktrace=all:0 --cpuctxsw=none "$PY" "$E2E/trace/stack_lines.py" truth $how >out 2>err
	is "$? $(cat out)" "0 $(($(cat data/* | wc -c)))" "$how: the training loop runs"
	is "$(truth read | wc -l) $(truth write | wc -l) $(truth gpu | wc -l)" '3 1 3' "$how: the program's own account has its lines"
	is "$(io "n.value LIKE '%read%'")" "$(truth read)" "$how: bytes read by line are those of the program"
	is "$(io "n.value LIKE '%write%'")" "$(truth write)" "$how: bytes written by line are those of the program"
	is "$(gpu CUPTI_ACTIVITY_KIND_KERNEL 'w.end - w.start')" "$(truth gpu)" "$how: GPU time by line is that of the program"
	is "$(gpu CUPTI_ACTIVITY_KIND_MEMCPY bytes)" "$(truth copied)" "$how: bytes copied by line are those of the program"
	# The report that does this for everybody.
	"$BIN" stats -q -r python_sum -f csv -o - "$R" >sum.csv 2>err
	"$PY" - "$PWD/sum.csv" >sums <<-'END'
		import csv, sys
		rows = [r for r in csv.DictReader(l for l in open(sys.argv[1]) if l.strip())]
		for kind, column in ("gpu", "GPU Time (ns)"),:
		    for r in rows:
		        if "stack_lines.py" in r["Line"] and int(r[column] or 0) and r["Function"].split(".")[-1] in ("forward", "backward"):
		            print(r["Line"].split(":")[-1], r[column])
	END
	is "$(sort sums)" "$(truth gpu)" "$how: python_sum has the GPU time by line"
done
done_testing
