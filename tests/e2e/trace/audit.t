#!/bin/sh
# Programs with LD_AUDIT set: thread-local variables of preloaded libraries then come out of a small reserve of the loader.
. tests/lib.sh

AUDITOR=$PROG/lib/audit.so
mkdir folder
echo content >folder/file
cat >all <<END
import sys; print(open('folder/file').read(), end=''); sys.exit(3)
END
try() { # WHAT AUDITOR PROGRAM...: the program ends and prints as without a tracer
	what=$1 auditor=$2
	shift 2
	LD_AUDIT=$auditor "$@" >want 2>want.err
	want=$?
	for way in bare profile; do
		case $way in
		bare) LD_AUDIT=$auditor SIGHTLINE_OUTPUT=$W/b.sqlite LD_PRELOAD=$SHIM "$@" >got 2>got.err ;;
		*) profile p env LD_AUDIT="$auditor" "$@" >got 2>got.err ;;
		esac
		is "$? $(cat got)" "$want $(cat want)" "$what: status and output are those of the untraced program, $way"
		# A missing auditor is reported for each program, also for sightline's own ones.
		is "$(grep -v '^sightline: \|LD_AUDIT' got.err)" "$(grep -v LD_AUDIT want.err)" "$what: standard error is that of the untraced program, $way"
		[ $way = profile ] || continue
		is "$(q "$R" "SELECT count(*) > 0 FROM SL_PROCESS_TREE WHERE traced = 1 AND exe LIKE '%/$(basename "$(readlink -f "$(command -v "$1")")")'" 2>&1)" 1 "$what is traced"
	done
}
for auditor in "$AUDITOR" "$W/missing.so"; do
	name="an auditor that $([ -e "$auditor" ] && echo works || echo 'does not exist')"
	try "python3 with $name" "$auditor" "$PY" all
	try "sh with $name" "$auditor" /bin/sh -c 'cat folder/file; exit 5'
	try "ls with $name" "$auditor" /bin/ls folder
done
done_testing
