#!/bin/sh
# view_pictures.t - what the page of `sightline view` looks like, against the pictures in tests/golden/view: not more than 1 % of the
# pixels differ. Texts are left out of them, with a font of blanks (tests/web/blank.mjs): they are the same on each machine.
# VIEW_PICTURES=FOLDER keeps what was seen, with texts; VIEW_PICTURES_WRITE=1 writes the golden pictures anew: look at each.
. tests/lib.sh
. "$TOP/tests/web/driver.sh"
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
[ -s "$B/view/index.html" ] || skip_all 'built without the page of sightline view: the npm registry could not be reached (package npm)'
"$BIN" view --help >/dev/null 2>&1 || skip_all 'built without sightline view (package libevent-dev)'
web_driver "$E2E"/report/view_pictures.mjs || exit 1

schema=$TOP/collector/schema.sql gold=$TOP/tests/golden
"$PY" "$E2E/report/view_make.py" "$schema" train.sqlite 20 && "$PY" "$E2E/report/view_make.py" "$schema" slow.sqlite 20 40 &&
	sqlite3 cpu.sqlite <"$schema" && sqlite3 cpu.sqlite <"$gold/why/waits.sql" && cp cpu.sqlite lost.sqlite &&
	sqlite3 lost.sqlite "INSERT INTO SL_LOST_EVENTS VALUES (0, 160000000, NULL, 'samples', 3), (20000000, 22000000, NULL, 'calls', 7)" &&
	cat "$gold/corpus/base.sql" "$gold/corpus/3.25.0.sql" | sqlite3 -bail nsys.sqlite &&
	sqlite3 health.sqlite <"$gold/reports/health.sql" && sqlite3 empty.sqlite <"$schema" || exit 1
# Real ones of nsys, where they are.
for real in "${NSYS_REPORTS:-$TOP/../shared/data/nsys}"/*.sqlite; do
	[ ! -f "$real" ] || { cp "$real" . && chmod u+w "$(basename "$real")"; }
done
timeout 900 node run/view_pictures.mjs "$BIN" "$W" "$browser" "$gold/view"
status=$?
[ -z "${VIEW_PICTURES-}" ] || cp ./*.png "$VIEW_PICTURES"
exit $status
