#!/bin/sh
# build.sh OUT [check] - the page of `sightline view`: bundles src/ into OUT/{index.html,app.css.gz,app.js.gz,sql.js.gz,license.txt}.
# The libraries come from the npm registry, pinned by package-lock.json, without scripts of
# theirs. The same input gives the same bytes. With "check": the types only.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/npm"
out=$(cd "$1" && pwd)
npm=$out/npm

# The sources are copied beside node_modules: the resolver looks upwards from the file that imports.
if ! cmp -s "$here/package-lock.json" "$npm/installed.json" || [ ! -d "$npm/node_modules" ]; then
	cp "$here/package.json" "$here/package-lock.json" "$npm"
	(cd "$npm" && "${NPM:-npm}" ci --ignore-scripts --no-audit --no-fund >npm.log 2>&1) || exit 3
	cp "$here/package-lock.json" "$npm/installed.json"
fi
rm -rf "$npm/src"
cp -R "$here/src" "$here/tsconfig.json" "$npm"
constants() { # HEADER ENUM: the members of an enumeration in C as constants
	awk -v begin="enum $2 {" '
		index($0, begin) == 1 { inside = 1; next }
		inside && /^}/ { exit }
		inside && $1 ~ /^[A-Z_0-9]+,?$/ {
			if ($2 == "=")
				next_value = $3 + 0
			sub(/,$/, "", $1)
			print "export const " $1 " = " next_value++ ";"
			cnt++
		}
		END { exit !cnt }' "$here/../$1"
}
{
	echo '/* flags.ts - made by build.sh of the enumerations in lod.h and wire.h: the numbers that replies of the server hold. */'
	constants index/lod.h view_rect_flag
	constants answers/wire.h view_px
} >"$npm/src/flags.ts"
entries() { # KIND: those of colours.def as members of an object
	sed -n "s/^$1(\\([a-zA-Z_]*\\), *\\([-0-9a-f]*\\))\$/\\1 $2\\2,/p" "$here/../../text/colours.def"
}
{
	echo '/* reasons.ts - made by build.sh of colours.def: colours of reasons, and per cent towards white or, below 0, black. */'
	echo 'export const COLOURS: Record<string, number> = {'
	entries COLOUR ': 0x'
	echo '};'
	echo 'export const TONES: Record<string, number> = {'
	entries TONE ': '
	echo '};'
} >"$npm/src/reasons.ts"
cd "$npm"
if [ "${2-}" = check ]; then
	exec node_modules/.bin/tsc --noEmit -p .
fi
bundle() { # SOURCE RESULT: the console is a script of its own, which the page imports when it is opened
	node_modules/.bin/esbuild "src/$1" --bundle --format=esm --target=es2022 --minify --legal-comments=none \
		--jsx=automatic --jsx-import-source=preact --charset=utf8 --external:./sql.js --log-level=warning --outfile="$out/$2"
}
bundle main.tsx app.js
bundle console/sql.ts sql.js
node_modules/.bin/esbuild --loader=css --minify --log-level=warning <src/style.css >"$out/app.css"
gzip -9nf "$out/app.js" "$out/sql.js" "$out/app.css"
cp src/index.html "$out/index.html"
for folder in node_modules/*/ node_modules/@*/*/; do
	case $folder in node_modules/esbuild/ | node_modules/@esbuild/* | node_modules/typescript/ | node_modules/@typescript/*) continue ;; esac
	[ -f "$folder/LICENSE" ] || continue
	name=${folder#node_modules/}
	printf '==== %s ====\n\n' "${name%/}"
	cat "$folder/LICENSE"
	echo
done >"$out/license.txt"
