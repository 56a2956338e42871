#!/bin/sh
# analyze_streams.t - rule io_small_reads: small reads of a stream enter the kernel where the program took its buffer away, and
# only there.
. tests/lib.sh
command -v gcc >/dev/null || skip_all 'gcc is not installed (package gcc)'

cat >small.c <<'END2'
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
	FILE *f = fopen("big.bin", "r");
	char b[16];
	long sum = 0;

	if (!f || argc < 3)
		return 1;
	if (!strcmp(argv[2], "setvbuf"))
		setvbuf(f, NULL, _IONBF, 0);
	else if (!strcmp(argv[2], "setbuf"))
		setbuf(f, NULL);
	else if (!strcmp(argv[2], "setbuffer"))
		setbuffer(f, NULL, 0);
	else if (!strcmp(argv[2], "larger"))
		setvbuf(f, NULL, _IOFBF, 65536);
	for (int i = 0; i < 100000; i++)
		sum += !strcmp(argv[1], "fread") ? (long)fread(b, 1, 16, f) : !strcmp(argv[1], "fgetc") ? fgetc(f) : !!fgets(b, 17, f);
	return sum < 0;
}
END2
gcc -O1 -U_FORTIFY_SOURCE -D_DEFAULT_SOURCE -o small small.c 2>gcc.err || { diag <gcc.err; exit 1; }
head -c 1600000 /dev/zero | tr '\0' '\n' >big.bin

# Of the rows of the rule: whether they have all calls (of each part fewer than 100 are too few for a row), bytes per call, functions.
rows() {
	"$BIN" analyze -q -f csv -r io_small_reads "$R" 2>/dev/null | sed -n '/^Time (ns),/,$p' | "$PY" -c '
import csv, sys
rows = list(csv.DictReader(sys.stdin))
n, size = sum(int(r["Reads"]) for r in rows), sum(int(r["Bytes"]) for r in rows)
print("all" if 99800 < n <= 100000 else n, size / n if n else 0, *sorted({r["Function"] for r in rows}))'
}
while read -r function buffer want; do
	profile small -t osrt ./small "$function" "$buffer" >out 2>err
	is "$(rows)" "$want" "$function, buffer: $buffer"
done <<'END2'
fread setvbuf all 16.0 fread
fread setbuf all 16.0 fread
fread setbuffer all 16.0 fread
fgetc setvbuf all 1.0 fgetc
fread larger 0 0
fread usual 0 0
fgetc usual 0 0
fgets usual 0 0
END2
done_testing
