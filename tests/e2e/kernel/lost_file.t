#!/bin/sh
# Functions have their names where no path leads to the program's file when it ends: a memfd, a file that was removed or
# replaced while it ran; and where its code lies in anonymous memory.
# shellcheck disable=SC2016
. tests/lib.sh

"$BIN" profile -t none -s process-tree -o probe true 2>err
grep -q 'no CPU samples' err && skip_all "$(grep -m1 'no CPU samples' err)"

# CASE COMMAND: most samples and the call of usleep() are in work(), which main() called.
named() {
	profile "$1" --sampling-frequency=1000 --osrt-backtrace-threshold=1000 sh -c "$2" sh "$PROG/lost_file" >out 2>err
	is $? 0 "$1: the program ends well"
	rm -f folded*
	"$BIN" export -t folded -o folded "$R" >out 2>err
	cat folded* | awk '/_start.*main/ { all += $NF; if (/;main;work( |;)/) named += $NF } END { exit !(all > 20 && named > 0.8 * all) }'
	result $? "$1: samples have the names of functions"
	is "$(q "$R" "SELECT group_concat(value, ' ') FROM (SELECT s.value AS value FROM OSRT_API JOIN OSRT_CALLCHAINS c ON c.id = callchainId JOIN StringIds n
		ON n.id = nameId JOIN StringIds s ON s.id = symbol WHERE n.value = 'usleep' AND stackDepth < 2 ORDER BY stackDepth)")" \
		'work main' "$1: stacks of calls have the names of functions"
}
named kept '"$1"'
named memfd '"$1" memfd'
named moved '"$1" moved'
# They are removed once it runs, which its first line of output shows.
named removed 'cp "$1" gone && { ./gone >line1 & until [ -s line1 ]; do sleep 0.01; done; rm gone; wait $!; }'
named replaced 'cp "$1" new && { ./new >line2 & until [ -s line2 ]; do sleep 0.01; done; rm new; cp /bin/true new; wait $!; }'
done_testing
