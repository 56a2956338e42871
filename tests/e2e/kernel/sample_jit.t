#!/bin/sh
# sample_jit.t - code made at run time in processes that have a /tmp and numbers of their own, as in containers, and that end before
# names are looked up.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
[ "$(uname -m)" = x86_64 ] || skip_all 'makes code for x86-64'
unshare -Umr true 2>/dev/null || skip_all 'namespaces of users are not permitted'

cat >jit.py <<'END'
import ctypes, mmap, os, sys, time
code = bytes.fromhex("4889f9" "48ffc9" "75fb" "c3")  # mov %rdi,%rcx; 1: dec %rcx; jne 1b; ret
room = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
room.write(code)
at = ctypes.addressof(ctypes.c_char.from_buffer(room))
with open("/tmp/perf-%d.map" % os.getpid(), "w") as f:
    f.write("%x 1000 %s\n" % (at, sys.argv[1]))
loop = ctypes.CFUNCTYPE(None, ctypes.c_uint64)(at)
end = time.process_time() + 1.5
while time.process_time() < end:
    loop(3000000)
END
named() { # REPORT: samples whose innermost function is NAME
	q "$1" "SELECT s.value, count(*) > 10 FROM SAMPLING_CALLCHAINS c JOIN StringIds s ON s.id = c.symbol WHERE c.stackDepth = 0 AND s.value LIKE 'made\\_%' ESCAPE '\\' GROUP BY 1"
}
profile here -s process-tree -t none "$PY" jit.py made_here >out 2>err
is "$?$(cat out)" 0 'a program that makes code ends with status 0'
if ! is "$(q "$R" "SELECT count(*) > 0 FROM SAMPLING_CALLCHAINS")" 1 'a program that makes code is sampled'; then
	said err | diag
	done_testing
fi
is "$(named "$R")" 'made_here|1' 'code made at run time has its name'
profile apart -s process-tree -t none unshare -Umr sh -c 'mount -t tmpfs none /tmp && exec "$0" -c "$1" made_apart' "$PY" "$(cat jit.py)" >out 2>err
is "$?$(cat out)" 0 'a program with a /tmp of its own ends with status 0'
is "$(named "$R")" 'made_apart|1' 'code made at run time has its name where /tmp is another'
profile inside -s process-tree -t none unshare -Umrpf sh -c 'mount -t tmpfs none /tmp && "$0" -c "$1" made_inside; exit $?' "$PY" "$(cat jit.py)" >out 2>err
is "$?$(cat out)" 0 'a program with a PID namespace of its own ends with status 0'
is "$(named "$R")" 'made_inside|1' 'code made at run time has its name where the process has another number'
is "$(ls /tmp/perf-*.map 2>/dev/null | while read -r f; do grep -l 'made_apart\|made_inside' "$f"; done)" '' 'the maps are in no folder that others see'
for f in /tmp/perf-*.map; do grep -q made_here "$f" 2>/dev/null && rm -f "$f"; done
done_testing
