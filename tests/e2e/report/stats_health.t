#!/bin/sh
# stats_health.t - reports of hardware metrics, of counters of GPUs and of the machine: curves that are known against figures worked
# out of them (stats_health.py), in the binary and in the sqlite3 shell; reports of nsys; sizes; damaged rows.
. tests/lib.sh
GOLD=$TOP/tests/golden/reports
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'

st() { "$BIN" stats -q -f csv "$@" | sed '/^$/d'; }
rows() { "$PY" -c '
import csv, re, sys
for row in csv.reader(sys.stdin): print([re.sub(r"^(-?\d+\.\d+?)0*$", r"\1", x) for x in row])'; }

sqlite3 health.sqlite <"$GOLD/health.sql" || exit 1
cp health.sqlite shell.sqlite
cat "$B/gen/report_tables.def" "$TOP/exporters/read/compat.def" >tables.def
"$PY" - tables.def <<'EOP' | sqlite3 shell.sqlite
import re, sys
for name, columns in re.findall(r'TABLE\((\w+),((?:\s*"[^"]*")+)\)', open(sys.argv[1]).read()):
    columns = ', '.join('"%s"' % c for c in ''.join(re.findall('"([^"]*)"', columns)).split())
    print('CREATE TABLE IF NOT EXISTS %s(%s);' % (name, columns))
EOP
sqlite3 shell.sqlite 'ALTER TABLE TARGET_INFO_GPU ADD busLocation TEXT'
md5sum health.sqlite >before.md5
for r in gpu_metrics_sum gpu_metrics_sum:ranges gpu_energy_sum gpu_energy_sum:ranges gpu_health_sum host_counters_sum host_counters_sum:cores; do
	st -r $r health.sqlite >got.csv
	check "$r has the figures of the curves" sh -c '"$1" "$2" "$3" <got.csv' - "$PY" "$E2E/report/stats_health.py" $r
	check "$r is as worked out by hand" diff -u "$GOLD/health-$(echo $r | tr : +).csv" got.csv
	case $r in *:*) continue ;; esac
	"$BIN" stats --show-sql=$r | sql_shell -csv -header shell.sqlite 2>&1 | tr -d '\r' | rows >shell.rows
	rows <got.csv >want.rows
	check "$r in the sqlite3 shell gives the same rows" diff -u want.rows shell.rows
done
check 'stats of health does not change a report' md5sum -c before.md5

# ---- reports of nsys: no SL_ tables; a distance of more than 1.5 samples is a gap ----
cp health.sqlite nsys.sqlite
sqlite3 nsys.sqlite 'DROP TABLE SL_GPU_METRIC_SETS; DROP TABLE SL_GPU_METRIC_GAPS; DROP TABLE SL_COUNTERS; DROP TABLE SL_COUNTER_SAMPLES;
	DROP TABLE SL_GPU_EVENTS; ALTER TABLE GPU_METRICS DROP COLUMN exact; UPDATE GPU_METRICS SET value = 50 WHERE typeId & 0xFF = 1'
is "$(st -r gpu_metrics_sum:ranges nsys.sqlite | sed 's/,50.0,50,50,50,50,SMs/,50.25,50.25,50.25,50.25,50.25,SMs/')" \
	"$(st -r gpu_metrics_sum:ranges health.sqlite)" 'GPU metrics of nsys give the same figures'
is "$("$BIN" stats nsys.sqlite 2>&1 | grep -cE 'GPU (Metrics|Energy|Health) Summary|Host Counter')" 1 'GPU metrics of nsys alone are among the default tables'
is "$(st -r gpu_metrics_sum --filter-time 0/100ms nsys.sqlite | sed -n 2p | cut -d, -f2,4)" 100,50.0 '--filter-time gives GPU metrics of a part of the time'

# ---- next to nothing; strange numbers ----
sqlite3 health.sqlite .schema | sqlite3 empty.sqlite
for r in gpu_metrics_sum gpu_energy_sum gpu_health_sum host_counters_sum; do
	is "$("$BIN" stats -r $r empty.sqlite 2>&1 | grep -c SKIPPED)" 1 "$r says that there is no data"
done
cp health.sqlite odd.sqlite
sqlite3 odd.sqlite "DELETE FROM GPU_METRICS WHERE rowid > 1; INSERT INTO GPU_METRICS VALUES (0, 9223372036854775807, -1, 77, -5, 9e999), (0, 0, 0, 0, 0, NULL);
	INSERT INTO SL_COUNTER_SAMPLES VALUES (1, -9223372036854775807, 1e308), (1, 9223372036854775807, 'x'), (99, 0, 1), (6, 0, 9e999), (6, 0, -1);
	INSERT INTO SL_GPU_EVENTS VALUES (0, -1, '', NULL, 1, 1); INSERT INTO SL_COUNTERS VALUES (98, '', NULL, NULL, NULL, '', '', 1)"
for r in gpu_metrics_sum:ranges gpu_energy_sum:ranges gpu_health_sum host_counters_sum:cores; do
	check "$r of strange numbers ends without a crash" timeout 60 "$BIN" stats -q -r $r odd.sqlite
done
done_testing
