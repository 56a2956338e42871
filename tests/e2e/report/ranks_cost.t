#!/bin/sh
# While the program runs, --ranks costs it nothing: 40,000 calls of libc take as many system calls and instructions in the traced
# program with it as without. No call lasts long enough for a stack: how many do depends on the machine. How far the rings grow is below one per cent.
. tests/lib.sh
. "$TOP/tests/e2e/lib/ranks.sh"
RANK=0 WORLD_SIZE=1
export RANK WORLD_SIZE

dd_below() { # REPORT [OPTION...] -- TOOL...: the tool above dd, in the traced tree; its files are in the folder REPORT
	below=$1
	shift
	mkdir -p "$below"
	profile "$below/report" -t osrt --osrt-threshold=0 --osrt-backtrace-threshold=1000000000000 --cpuctxsw=none --gpu-health=0 "$@" dd if=/dev/zero of=/dev/null bs=1 count=20000 >"$below/out" 2>"$below/err" || diag <"$below/err"
}
within() { # A B: they differ by less than one per cent, and are of what the program did
	awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(a > 40000 && b > 40000 && d * d < (a / 100) * (a / 100)) }' || {
		echo "$1 without, $2 with --ranks"
		return 1
	}
}

if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
	calls() { awk '$NF == "total" { print $4 }' "$1/calls"; }
	dd_below s-without strace -f -c -o "$W/s-without/calls"
	dd_below s-with --ranks="$W/ds" --run=one strace -f -c -o "$W/s-with/calls"
	check '--ranks adds no system calls of the program' within "$(calls s-without)" "$(calls s-with)"
else
	skip '--ranks adds no system calls of the program' 'strace is not installed (package strace), or not permitted'
fi
if command -v valgrind >/dev/null; then
	# Of dd, the last of them; what the loader does is part of it.
	instructions() { cat "$1"/calls.* | awk '/^summary:/ && $2 > most { most = $2 } END { printf "%d\n", most }'; }
	for how in without with; do
		mkdir -p v-$how
		[ $how = without ] || set -- --ranks="$W/ds" --run=two
		dd_below v-$how "$@" valgrind -q --tool=callgrind --callgrind-out-file="$W/v-$how/calls.%p"
	done
	check '--ranks adds no instructions of the program' within "$(instructions v-without)" "$(instructions v-with)"
else
	skip '--ranks adds no instructions of the program' 'valgrind is not installed (package valgrind)'
fi
is "$(find ds/_nodes -name 'node=*.json' | wc -l)" "$(find . -path './*-with/report.sqlite' | wc -l)" 'the measured runs are in the dataset'
done_testing
