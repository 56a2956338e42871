#!/bin/sh
# why_pipes.t - a wait for the other end of a pipe is one, whatever function waits: those that common programs call, those of
# stdio that read or write, and the variants that _FORTIFY_SOURCE puts in their place.
. tests/lib.sh
command -v gcc >/dev/null || skip_all 'gcc is not installed (package gcc)'
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'

cat >slow.py <<'END2'
import os, sys, time
if sys.argv[1] == 'write':
    for i in range(20):
        os.write(1, b'%05d some words\n' % i * 8)
        time.sleep(0.02)
else:
    while os.read(0, 4096): time.sleep(0.02)
END2
cat >calls.c <<'END2'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	static char text[4096], a[64], b[64], c[64];
	const char *how = argc > 1 ? argv[1] : "";
	size_t size = (size_t)argc * 32, room = 0; /* not known to the compiler: the checks remain */
	char *line = NULL;

	memset(text, 'x', sizeof(text) - 1);
	if (!strcmp(how, "fread"))
		while (fread(text, 1, size, stdin) > 0) {}
	else if (!strcmp(how, "getline"))
		while (getline(&line, &room, stdin) > 0) {}
	else if (!strcmp(how, "fscanf"))
		while (fscanf(stdin, "%63s %63s %63s", a, b, c) == 3) {}
	for (int i = 0; i < 60; i++)
		if (!strcmp(how, "fputs"))
			fputs(text, stdout);
		else if (!strcmp(how, "printf"))
			printf("%s", text);
	return 0;
}
END2
gcc -O2 -U_FORTIFY_SOURCE -o plain calls.c 2>gcc.err && gcc -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -o fortified calls.c 2>gcc.err ||
	{ diag <gcc.err; exit 1; }
nm -D fortified >symbols
check 'the fortified program calls the variants' sh -c 'grep -q __fread_chk symbols && grep -q __printf_chk symbols'

# What most of the time of the program's thread is, and which program is behind the end of that wait.
blames() { # COMMAND...
	profile piped -t osrt "$@" >out 2>err
	"$BIN" why -f json --limit=0 --max-bytes=0 --thread="$(q "$R" "SELECT globalPid >> 24 & 0xffffff FROM SL_PROCESS_TREE WHERE kind = 2
		AND exe NOT GLOB '*/*sh' AND exe NOT GLOB '*/python*' ORDER BY start LIMIT 1")" "$R" >why.json 2>why.err || cat why.err err
	"$PY" - "$(q "$R" "SELECT globalPid >> 24 & 0xffffff FROM SL_PROCESS_TREE WHERE kind = 2 AND exe GLOB '*/python*' ORDER BY start LIMIT 1")" <<'END2'
import json, sys
d = json.load(open('why.json'))
own = {}
for p in d['partition']:
    first = p['chain'][0]['reason'] if p['chain'] else p['reason']
    own[first] = own.get(first, 0) + p['ns']
most = max(own, key=own.get)
peers = {p['tid'] & 0xffffff for p in d['partition'] if p['chain'] and p['chain'][0]['reason'] == most and p['reason'] == 'SLEEP'}
print(most, 'python' if peers == {int(sys.argv[1])} else peers)
END2
}

"$BIN" profile -f true -o probe -t osrt -s none true >out 2>err
[ "$(q probe.sqlite 'SELECT count(*) FROM SCHED_EVENTS' 2>/dev/null)" -gt 0 ] 2>/dev/null || skip_all 'no context switches here'
for program in sort md5sum 'sed s/w/W/' wc 'gzip -c' 'tr a b' 'grep -c words'; do
	command -v "${program%% *}" >/dev/null || { skip "$program waits for a pipe" 'it is not installed'; continue; }
	is "$(blames sh -c "'$PY' slow.py write | $program")" 'PIPE python' "$program waits for a pipe, and for its writer"
done
for build in plain fortified; do
	for how in fread getline fscanf; do
		is "$(blames sh -c "'$PY' slow.py write | ./$build $how")" 'PIPE python' "$how waits for a pipe, and for its writer ($build)"
	done
	for how in fputs printf; do
		is "$(blames sh -c "./$build $how | '$PY' slow.py read")" 'PIPE python' "$how waits for a pipe, and for its reader ($build)"
	done
done
done_testing
