# driver.sh - for tests with a browser: the driver from its lock file, once per build folder; to be sourced after tests/lib.sh.
# Sets $browser; leaves run/ in the working directory, with page.mjs, the driver and what is named.
# shellcheck shell=sh disable=SC2034
web_driver() { # FILE...
	command -v node >/dev/null || skip_all 'no node'
	command -v "${NPM:-npm}" >/dev/null || skip_all 'no npm'
	browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip_all 'no Chromium'
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
	mkdir run && ln -s "$B/tests/web/node_modules" run/node_modules && cp "$TOP"/tests/web/*.mjs "$TOP"/tests/web/blank.ttf "$@" run
}
