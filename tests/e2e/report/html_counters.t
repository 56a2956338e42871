#!/bin/sh
# html_counters.t - charts of what was sampled, in the page of report: bins of known curves, gaps where nothing was sampled.
. tests/lib.sh
command -v sqlite3 >/dev/null || skip_all 'sqlite3 is not installed (package sqlite3)'
sqlite3 health.sqlite <"$TOP/tests/golden/reports/health.sql" || exit 1
# The axis is that of the wall time.
sqlite3 health.sqlite "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 0, end = 2000000000"
check 'report makes a page of metrics and counters' "$BIN" report -f true -o page.html health.sqlite
check 'the curves of the page are those of the report' "$PY" - <<'END'
import json, re
text = open("page.html", encoding="utf-8").read()
data = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.S).group(1))
charts = {c["id"]: {s["name"]: s["values"] for s in c["series"]} for c in data["charts"]}
width = data["width"] * 1e3  # of a bin, ms: 2 s in 1000
assert abs(width - 2) < 0.01, width
m = charts["gpu-metrics-0"]
assert list(m) == ["SMs active", "DRAM, read and written"], list(m)
at = lambda curve, ms: curve[int(ms / width + 0.5)]
sms, dram = m["SMs active"], m["DRAM, read and written"]
assert at(sms, 10) == 80 and at(sms, 60) == 20 and at(sms, 110) == 80, sms[:60]
assert at(dram, 40) == 40.5 and at(dram, 240) == 40.5, dram[:60]
gap = [i * width for i, v in enumerate(sms) if v is None]
assert all(299 <= t < 351 or t >= 998 for t in gap) and len(gap) >= 25 + 499, (gap[:3], len(gap))
assert set(charts["gpu-metrics-1"]["SMs active"][:499]) == {50.25}
power = charts["gpu-power"]["GPU 0"]
assert at(power, 100) == 100 and at(power, 700) == 300 and power[-1] is None, power[:5]
psi = charts["pressure"]["processors, some"]
assert at(psi, 50) == 50 and at(psi, 200) == 10 and at(psi, 400) is None, psi[:200]
read = charts["disks"]["sda read"]
assert at(read, 100) is None and at(read, 300) == 1.638e4 and at(read, 700) == 0, read[120:160]
END
done_testing
