#!/bin/sh
# view_versions.t - the page of `sightline view` on a report of each version of nsys that there is: those of tests/golden/corpus, and real
# ones (NSYS_REPORTS=FOLDER: others than those of shared/data). Each is opened, and its rows have as many events as its tables.
# VIEW_PICTURES=FOLDER keeps a picture of each.
. tests/lib.sh
. "$TOP/tests/web/driver.sh"
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
[ -s "$B/view/index.html" ] || skip_all 'built without the page of sightline view: the npm registry could not be reached (package npm)'
"$BIN" view --help >/dev/null 2>&1 || skip_all 'built without sightline view (package libevent-dev)'
web_driver "$E2E"/report/view_versions.mjs || exit 1

gold=$TOP/tests/golden/corpus
for sql in "$gold"/*.sql; do
	name=$(basename "$sql" .sql)
	[ "$name" = base ] || cat "$gold/base.sql" "$sql" | sqlite3 -bail "corpus-$name.sqlite" || exit 1
done
for real in "${NSYS_REPORTS:-$TOP/../shared/data/nsys}"/*.sqlite; do
	[ ! -f "$real" ] || { cp "$real" . && chmod u+w "$(basename "$real")"; }
done
timeout 600 node run/view_versions.mjs "$BIN" "$W" "$browser"
status=$?
[ -z "${VIEW_PICTURES-}" ] || cp ./*.png "$VIEW_PICTURES"
exit $status
