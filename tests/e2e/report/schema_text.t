#!/bin/sh
# schema_text.t - SQL behind a statement in a report's schema is not run by what copies reports.
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'

cat "$TOP/tests/golden/corpus/base.sql" "$TOP/tests/golden/corpus/3.28.1.sql" | sqlite3 -bail base.sqlite || exit 1
hide() { # KIND OUTPUT TARGET: a copy of base.sqlite with SQL that makes the file TARGET
	"$PY" - "$@" <<'EOP'
import shutil, sqlite3, sys
kind, out, target = sys.argv[1:4]
shutil.copy("base.sqlite", out)
c = sqlite3.connect(out)
c.execute({"view": "CREATE VIEW evil AS SELECT 1", "index": "CREATE INDEX evil ON StringIds(value)", "table": "CREATE TABLE evil(a)"}[kind])
if kind == "table":
    c.execute("INSERT INTO evil VALUES(1)")
c.execute("PRAGMA writable_schema = ON")
c.execute("UPDATE sqlite_master SET sql = sql || ? WHERE name = 'evil'",
          ("; COMMIT; ATTACH '%s' AS z; CREATE TABLE z.k(v); INSERT INTO z.k VALUES('text of the report'); BEGIN" % target,))
c.commit()
EOP
}
for kind in view index table; do
	hide $kind evil.sqlite "$W/written-$kind"
	for options in '' '--anonymize=true' '--time=0s/1s' '--lazy=false'; do
		# shellcheck disable=SC2086 # one word or none
		"$BIN" export -q -f true -t sqlite $options -o copy.sqlite evil.sqlite >out 2>err
		copy_status=$?
		check "export -t sqlite $options of a $kind with SQL behind it writes no other file" test ! -e "written-$kind"
		if [ $kind = table ]; then
			is "$copy_status $(grep -c 'evil in its schema is not one CREATE TABLE' err)" '1 1' "export $options refuses a table with SQL behind it in one line" || diag <err
		else
			is "$copy_status $(sqlite3 copy.sqlite "SELECT count(*) FROM sqlite_master WHERE name = 'evil'")" '0 0' "export $options leaves out a $kind with SQL behind it" || diag <err
		fi
	done
done
done_testing
