#!/bin/sh
# view_page.t - the page of `sightline view` in a headless Chromium: each thing that can be done with it once, held against SQL on
# the same report. view_page.mjs, view_others.mjs and view_far.mjs have the tests, tests/web/page.mjs what drives the browser, view_make.py the report.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'no python3'
command -v sqlite3 >/dev/null || skip_all 'needs the sqlite3 shell'
command -v node >/dev/null || skip_all 'no node'
command -v "${NPM:-npm}" >/dev/null || skip_all 'no npm'
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip_all 'no Chromium'
[ -s "$B/view/index.html" ] || skip_all 'built without the page of sightline view'
"$BIN" view --help >/dev/null 2>&1 || skip_all 'built without sightline view'

# The driver of the browser, from its lock file, once per build folder.
mkdir -p "$B/tests/web"
(
	flock 9
	cd "$B/tests/web" || exit 1
	if ! cmp -s "$TOP/tests/web/package-lock.json" package-lock.json || [ ! -d node_modules/playwright-core ]; then
		rm -rf node_modules
		cp "$TOP/tests/web/package.json" "$TOP/tests/web/package-lock.json" .
		"${NPM:-npm}" ci --ignore-scripts --no-audit --no-fund >npm.log 2>&1 || { rm -f package-lock.json; exit 1; }
	fi
) 9>"$B/tests/web/lock" || skip_all 'playwright-core cannot be installed (no registry)'
mkdir run && ln -s "$B/tests/web/node_modules" run/node_modules && cp "$TOP/tests/web/page.mjs" "$E2E"/report/view_*.mjs run || exit 1

schema=$TOP/collector/schema.sql
"$PY" "$E2E/report/view_make.py" "$schema" train.sqlite 20 && "$PY" "$E2E/report/view_make.py" "$schema" slow.sqlite 20 40 &&
	"$PY" "$E2E/report/html_make.py" "$schema" hostile.sqlite && sqlite3 empty.sqlite <"$schema" || exit 1
timeout 300 node run/view_page.mjs "$BIN" "$W" "$browser"
status=$?
[ -z "${VIEW_PICTURES-}" ] || cp ./*.png "$VIEW_PICTURES"
exit $status
