#!/bin/sh
# Faults during a recording end in a whole report, or in losses that are counted under their name. N times: make check-faults.
. tests/lib.sh

# It traces $PROG/repeat.
fault() { # NAME OF THE FAULT
	check "every call is a row or counted, and the status is right: $1" "$PY" "$TOP/tests/losses/check-faults" -b "$B" -n 1 "$1"
}
for name in keeper root_first strangers vforked locked descriptors removed removed_nfs removed_linked renamed removed_bare replaced linked moved folder_removed cut log_cut index_cut; do
	fault $name
done
done_testing
