#!/bin/sh
# NVTX: what programs say they marked is what the report holds; programs that do not use it notice nothing.
# shellcheck disable=SC2016,SC2086
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
NVTX=$PROG/nvtx
unset NVTX_INJECTION64_PATH

# ---- the truth ----
profile truth -t nvtx "$NVTX" truth 100000 >told 2>err
is "$?$(grep -v '^sightline: ' err)" 0 'a program with 100,000 NVTX ranges runs under profile'
check 'the report of 100,000 NVTX ranges is sound' intact "$R"
check '100,000 ranges, 8 threads, 8 domains, 10 deep: the report is what the program printed' "$PY" "$E2E/trace/nvtx.py" "$R" told
is "$(q "$R" "SELECT coalesce(sum(count), 0) FROM SL_LOST_EVENTS WHERE $RECORDS")" 0 'no event of 100,000 NVTX ranges is lost'
is "$(q "$R" 'SELECT min(eventId), max(eventId) - count(*) FROM NVTX_EVENTS')" '1|0' 'rows of NVTX_EVENTS are numbered from 1'
is "$("$BIN" stats -r nvtx_sum -f csv "$R" 2>/dev/null | awk -F, 'NR > 1 && $3 ~ /^[0-9]+$/ { n += $3 } END { print n }')" \
	"$(awk -F'\t' '$1 == 59 || $1 == 60' told | wc -l)" 'stats -r nvtx_sum counts all ranges'
"$BIN" stats -r nvtx_sum -f csv "$R" >sum 2>/dev/null
is "$(grep -c 'StartEnd,:start$' sum)$(grep -c ',theta:' sum | sed 's/^0$/none/;s/^[1-9].*/some/')" 1some 'stats -r nvtx_sum has the domains and styles of ranges'

SIGHTLINE_OUTPUT=$W/bare.sqlite SIGHTLINE_OPTIONS='-t nvtx,osrt' LD_PRELOAD=$SHIM "$NVTX" truth 8000 >told 2>err
is "$?$(grep -v '^sightline: ' err)" 0 'a program with NVTX ranges runs under a bare preload, with other calls'
check 'bare preload: the report is what the program printed' "$PY" "$E2E/trace/nvtx.py" bare.sqlite told

# ---- levels, payloads, names ----
profile levels -t nvtx "$NVTX" levels >out 2>err
is "$(tr '\n' ' ' <out)" '0 0 1 1 2 2 2 2 1 1 0 0 ' 'push and pop answer the level, per domain'
profile payload -t nvtx "$NVTX" payload >out 2>err
is "$?$(grep -v '^sightline: ' err)" 0 'a program with extended NVTX payloads runs'
is "$(q "$R" "SELECT jsonText FROM NVTX_EVENTS WHERE text = 'with payload'")" \
	'{"i":-5,"d":2.5,"name":"abc\"","list":[1,2,3],"mode":"fast","color":{"r":10,"g":20,"b":30},"f":0.5,"registered":"a registered one"}' \
	'a payload of a known schema is JSON in the report'
is "$(q "$R" "SELECT jsonText FROM NVTX_EVENTS WHERE eventType = 34 AND text = ''")" '[-77,"a string"]' 'the two payloads of a mark are JSON in the report'
is "$(q "$R" "SELECT jsonText IS NULL, binaryData FROM NVTX_EVENTS WHERE text = 'unknown'")" '1|0102feff' 'a payload of an unknown schema stays binary'
is "$(q "$R" "SELECT jsonText FROM NVTX_EVENTS WHERE eventType = 59 AND text = ''")" '-77' 'a pop adds a payload to its range'
is "$(q "$R" 'SELECT name, type, numEntries, payloadSize FROM NVTX_PAYLOAD_SCHEMAS ORDER BY name')" 'all|1|8|56
rgb|1|3|0' 'NVTX_PAYLOAD_SCHEMAS has the schemas of the program'
is "$(q "$R" "SELECT idx, type, name, description, arrayOrUnionDetail FROM NVTX_PAYLOAD_SCHEMA_ENTRIES WHERE name IN ('i', 'name', 'list') ORDER BY idx")" \
	'0|15|i|an integer|0
2|75|name||8
3|14|list||3' 'NVTX_PAYLOAD_SCHEMA_ENTRIES has the entries of the schemas'
is "$(q "$R" 'SELECT e.name, v.idx, v.name, v.value FROM NVTX_PAYLOAD_ENUMS e JOIN NVTX_PAYLOAD_ENUM_ENTRIES v USING (domainId, schemaId) ORDER BY 2')" \
	'mode|0|slow|1
mode|1|fast|2' 'NVTX_PAYLOAD_ENUMS has the enumerations of the program'
profile name -t nvtx "$NVTX" name >out 2>err
is "$?$(grep -v '^sightline: ' err)" 0 'a program that names threads and GPUs runs'
is "$(q "$R" "SELECT globalTid % 0x1000000 = globalTid / 0x1000000 % 0x1000000, text FROM NVTX_EVENTS WHERE eventType = 39 ORDER BY eventId")" \
	'1|main thread
0|other thread' 'NVTX_EVENTS has the names of threads'
is "$(q "$R" 'SELECT deviceId, name FROM TARGET_INFO_NVTX_CUDA_DEVICE')" '1|second GPU' 'TARGET_INFO_NVTX_CUDA_DEVICE has the names of GPUs'
is "$(q "$R" 'SELECT type, identifier, name FROM SL_NVTX_NAMES ORDER BY type')" '65537|4660|a pointer
262147|3567|driver stream
327681|2748|copy stream' 'SL_NVTX_NAMES has the names of streams and pointers'
is "$(q "$R" "SELECT eventType FROM NVTX_EVENTS WHERE domainId = 1 ORDER BY eventType" | tr '\n' ' ')" '75 76 ' 'a domain that is destroyed has both events'

# ---- children ----
profile fork -t nvtx "$NVTX" fork >out 2>err
is "$?$(grep -v '^sightline: ' err)" 0 'a program that forks with NVTX ranges runs'
is "$(q "$R" "SELECT p.globalPid = (SELECT min(globalPid) FROM PROCESSES WHERE globalPid IN (SELECT globalTid >> 24 << 24 FROM NVTX_EVENTS)),
	d.text, coalesce(e.text, value), e.end IS NULL
	FROM NVTX_EVENTS e JOIN PROCESSES p ON p.globalPid = e.globalTid >> 24 << 24 LEFT JOIN StringIds s ON s.id = e.textId
	LEFT JOIN NVTX_EVENTS d ON d.eventType = 75 AND d.domainId = e.domainId AND d.globalTid >> 24 = e.globalTid >> 24
	WHERE e.eventType IN (34, 59) ORDER BY 3")" "1|parent's own|after|1
0||child|0
0|child's own|known after it|1
0|alpha|known before the fork|0
1||parent's|0" "a forked child goes on in its parent's domains"

# ---- kill ----
for sig in KILL TERM; do
	rm -f ready
	{ profile kill$sig -t nvtx "$NVTX" open >ready 2>err; } &
	job=$!
	wait_for 10 grep -q ready ready
	pid=$(pgrep -f "^$NVTX open" | head -1)
	send $sig $pid
	wait $job
	R=$W/kill$sig.sqlite
	is "$(q "$R" "SELECT eventType, text, end IS NULL FROM NVTX_EVENTS WHERE eventType IN (59, 60) ORDER BY text")" '59|closed|0
59|inner|1
59|outer|1
60|started|1' "killed by $sig: open ranges have no end"
done

# ---- the collector is killed while ranges are open ----
rm -f go ready
SIGHTLINE_OUTPUT=$W/gone.sqlite SIGHTLINE_OPTIONS='-t nvtx' LD_PRELOAD=$SHIM "$NVTX" wait go >ready 2>err &
job=$!
R=$W/gone.sqlite
wait_for 10 grep -q ready ready
wait_for 10 eval '[ "$(sqlite3 -readonly "$R" "SELECT count(*) FROM NVTX_EVENTS WHERE eventType IN (59, 60)")" = 3 ]'
result $? 'open ranges can be seen while the program runs'
victims=$(for p in /proc/[0-9]*; do
	[ "$(readlink "$p/exe")" = "$BIN" ] && tr '\0' '\n' <"$p/environ" 2>/dev/null | grep -qF "$W" && echo "${p#/proc/}"
done)
send KILL $victims
touch go
wait $job
check 'recover succeeds after the collector was killed with ranges open' "$BIN" recover "$R"
is "$(q "$R" "SELECT eventType, coalesce(text, value), end > start FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId
	WHERE eventType IN (59, 60) ORDER BY eventId")" '59|outer|1
59|inner|1
60|registered before|1
59|registered before|1' 'ranges go on over the death of the collector'
check 'a report recovered with ranges open is sound' intact "$R"

# ---- the program's own injection library ----
profile chain -t nvtx env NVTX_INJECTION64_PATH="$PROG/lib/nvtx_other.so" "$NVTX" chain >out 2>err
is "$?$(grep -v '^sightline: ' err)$(cat out)" '0100 100
1
0 0
other: push 1 pop 1 domain 1 string 1 mark 1 start 1 end 1' 'an injection library of the program is called too, and answers'
is "$(q "$R" "SELECT eventType, coalesce(text, value), end IS NULL, rangeId >= 7000 FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId ORDER BY eventId")" \
	'75|chained|1|
59|chained push|0|
34|chained string|1|
60|chained string|0|1
59|chained string|0|' 'ranges are recorded beside an injection library of the program'
profile chain -t nvtx env NVTX_INJECTION64_PATH=/nonexistent "$NVTX" levels >out 2>err
is "$?$(grep -v '^sightline: ' err)$(tr '\n' ' ' <out)" '00 0 1 1 2 2 2 2 1 1 0 0 ' 'an injection library that does not exist does no harm'
profile self -t nvtx env NVTX_INJECTION64_PATH="$SHIM" "$NVTX" levels >out 2>err
is "$?$(grep -v '^sightline: ' err)$(tr '\n' ' ' <out)" '00 0 1 1 2 2 2 2 1 1 0 0 ' 'libtrace.so as NVTX_INJECTION64_PATH does no harm'

# ---- others notice nothing ----
profile off -t osrt "$NVTX" levels >out 2>err
is "$(cat out)" 'no injection' 'a program without -t nvtx has no injection'
is "$(q "$R" "SELECT count(*) FROM sqlite_master WHERE name = 'NVTX_EVENTS'")" 0 'no table of NVTX is in a report without -t nvtx'
look='import os, ctypes
libc = ctypes.CDLL(None); libc.getenv.restype = ctypes.c_char_p
print(sorted(k for k in os.environ if not k.startswith("SIGHTLINE") and k != "LD_PRELOAD"))
print([libc.getenv(n) for n in (b"HOME", b"NOT_THERE", b"", b"N", b"NVTX_INJECTION64_PAT", b"NVTX_INJECTION64_PATHS", b"NVTX_INJECTION32_PATH", b"PYTHONDONTWRITEBYTECODE")])
os.environ["NOT_THERE"] = "now"; print(libc.getenv(b"NOT_THERE"))'
"$PY" -c "$look" >want
profile same -t nvtx "$PY" -c "$look" >got
is "$(cat got)" "$(cat want)" 'the environment of a program with -t nvtx is what it was'
profile children -t nvtx sh -c 'env' >got
is "$(grep NVTX got)" '' "the environment of children has no variable of NVTX"
is "$(q "$R" "SELECT count(*) FROM sqlite_master WHERE name LIKE 'NVTX%'")" 0 'a program without NVTX leaves no table of it'

is "$(env EARLY=y LD_PRELOAD="$PROG/lib/early.so" true 2>&1)" 'early 1' 'a variable can be asked for while libraries are loaded'
for v in y ''; do
	is "$(env ${v:+EARLY=$v} SIGHTLINE_OUTPUT="$W/early$v.sqlite" LD_PRELOAD="$SHIM:$PROG/lib/early.so" true 2>&1)" "early $([ "$v" ] && echo 1 || echo 0)" \
		"a variable can be asked for before libtrace.so is ready: ${v:-not set}" || :
done

# ---- Python, through the interface itself ----
cat >drive.py <<'END'
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.getenv.restype = ctypes.c_char_p
lib = ctypes.CDLL(libc.getenv(b"NVTX_INJECTION64_PATH").decode())
VOID = ctypes.CFUNCTYPE(None)
slots = [(ctypes.c_void_p * 1)() for _ in range(16)]
table = (ctypes.c_void_p * 16)(*[None] + [ctypes.addressof(s) for s in slots[1:]])
@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint))
def module(which, out, cnt):
    if which != 1:
        return 0
    out[0], cnt[0] = ctypes.addressof(table), 16
    return 1
class Callbacks(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("module", ctypes.c_void_p)]
callbacks = Callbacks(16, ctypes.cast(module, ctypes.c_void_p).value)
@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)
def get(which):
    return ctypes.addressof(callbacks) if which == 1 else None
assert lib.InitializeInjectionNvtx2(get) == 1
push = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)(slots[9][0])
pop = ctypes.CFUNCTYPE(ctypes.c_int)(slots[11][0])
for i in range(1000):
    assert push(b"step %d" % i) == 0 and push("größer".encode()) == 1
    assert pop() == 1 and pop() == 0
if os.fork() == 0:
    push(b"in the child"); pop(); os._exit(0)
os.wait()
END
profile python -t nvtx "$PY" drive.py >out 2>err
is "$?$(grep -v '^sightline: ' err)" 0 'a Python program that drives NVTX by ctypes runs'
is "$(q "$R" "SELECT count(*), count(DISTINCT text), sum(end > start), sum(text = 'größer'), sum(text = 'in the child') FROM NVTX_EVENTS WHERE eventType = 59")" \
	'2001|1002|2001|1000|1' 'every NVTX range of a Python program is in the report'

# ---- NVIDIA's own headers, where they are ----
if [ "$("$PROG/nvtx_real")" != 'no headers' ]; then
	profile real -t nvtx "$PROG/nvtx_real" >out 2>err
	is "$?$(grep -v '^sightline: ' err)" 0 'a program with the NVTX headers of NVIDIA runs'
	is "$(cat out)" "$(q "$R" "SELECT eventType, coalesce(d.text, '-'), coalesce(e.text, value), e.end IS NULL, coalesce(e.jsonText, '')
		FROM (SELECT * FROM NVTX_EVENTS) e LEFT JOIN StringIds ON id = textId
		LEFT JOIN (SELECT domainId AS dom, text FROM NVTX_EVENTS WHERE eventType = 75) d ON d.dom = e.domainId ORDER BY e.start, e.eventId")" \
		'the report is what a program with the NVTX headers of NVIDIA prints'
else
	skip 'a program with the NVTX headers of NVIDIA runs' 'not installed'
fi
done_testing
