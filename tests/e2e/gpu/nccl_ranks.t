#!/bin/sh
# Which rank a process is, and which communicator a handle means: variables of launchers, and names of communicators that
# are equal on all ranks, also in the reports of other nodes.
. tests/lib.sh
GPU=$B/tests/gpu
STANDIN=$B/tests/standin
[ -f "$STANDIN/libnccl.so.2" ] || skip_all 'the stand-ins are not built'
LD_LIBRARY_PATH=$STANDIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13
export LD_LIBRARY_PATH SIGHTLINE_CUPTI
for v in RANK LOCAL_RANK WORLD_SIZE SLURM_PROCID OMPI_COMM_WORLD_RANK PMI_RANK; do unset "$v"; done
communicators() { q "$R" "SELECT $1 FROM SL_NCCL_COMMUNICATORS ORDER BY rank" 2>&1; }

for how in fork spawn; do
	profile ranks -t cuda,nccl "$GPU/two" reduce $how >said 2>err
	result $? "$how: works" || diag <err
	is "$(communicators "rank || '/' || nRanks || ' ' || (end > start) || ' ' || (parentHash IS NULL)")" '0/2 1 1
1/2 1 1' "$how: each rank has its communicator, from its making to its end"
	is "$(communicators 'count(DISTINCT commHash) || count(DISTINCT globalPid)')" 12 "$how: of one name in both processes"
	is "$(q "$R" "SELECT count(*) > 5, count(*) - count(c.comm) FROM SL_LIBRARY_API l
		JOIN StringIds s ON s.id = l.nameId AND s.value = 'ncclAllReduce'
		JOIN SL_GPU_ARGUMENTS a USING (callId) JOIN ENUM_SL_GPU_ROLE e ON e.id = a.role AND e.name = 'comm'
		LEFT JOIN SL_NCCL_COMMUNICATORS c ON c.globalPid = l.globalTid & ~0xffffff AND c.comm = a.value
			AND c.start <= l.start AND (c.end IS NULL OR c.end >= l.end)" 2>&1)" '1|0' "$how: each collective leads to it"
	is "$(q "$R" "SELECT count(*) FROM sqlite_master WHERE name = 'SL_RANK_VARIABLES'")" 0 "$how: no launcher, no table"
	communicators 'DISTINCT commHash' >"$how.hash"
done
is "$(sort -u ./*.hash | wc -l)" 2 'two runs have two names'

# ---- the hash, computed by others ----
cat >hash.py <<'E'
import ctypes
nccl = ctypes.CDLL('libnccl.so.2')
class Id(ctypes.Structure):
    _fields_ = [('bytes', ctypes.c_ubyte * 128)]
unique, comm, h = Id(), ctypes.c_void_p(), 0xcbf29ce484222325
assert nccl.ncclGetUniqueId(ctypes.byref(unique)) == 0
nccl.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, Id, ctypes.c_int]
assert nccl.ncclCommInitRank(ctypes.byref(comm), 1, unique, 0) == 0
for b in unique.bytes:
    h = (h ^ b) * 0x100000001b3 % 2 ** 64
print(h - (h >> 63 << 64))
E
if [ -x "$PY" ]; then
	profile hash -t cuda,nccl "$PY" hash.py >said 2>err
	result $? 'a program that knows its id: works' || diag <err
	is "$(communicators commHash)" "$(cat said)" 'the name is the FNV-1a of its bytes'
	is "$(q "$R" "SELECT a.value FROM SL_GPU_ARGUMENTS a JOIN SL_LIBRARY_API USING (callId) JOIN StringIds s ON s.id = nameId
		WHERE s.value = 'ncclGetUniqueId'" 2>&1)" "$(cat said)" 'the name of ncclGetUniqueId is the FNV-1a of its bytes'
fi

# ---- variables ----
variables() { q "$R" "SELECT name || '=' || value FROM SL_RANK_VARIABLES ORDER BY name" 2>&1 | tr '\n' ' '; }
RANK=3 WORLD_SIZE=8 LOCAL_RANK=1 SECRET=x SLURM_PROCID=3 NOT_RANK=4 profile variables /bin/true 2>err
is "$(variables)" 'LOCAL_RANK=1 RANK=3 SLURM_PROCID=3 WORLD_SIZE=8 ' 'variables that name a rank are kept, no others'
profile launcher sh -c 'RANK=0 /bin/true; RANK=1 sh -c "/bin/true; :"; (: forked); true' 2>err
is "$(q "$R" "SELECT group_concat(value) FROM (SELECT DISTINCT value FROM SL_RANK_VARIABLES ORDER BY 1)")" '0,1' \
	'each process has its own'
is "$(q "$R" 'SELECT count(*) FROM SL_RANK_VARIABLES WHERE globalPid = (SELECT globalPid FROM SL_PROCESS_TREE ORDER BY start LIMIT 1)')" \
	0 'the launcher has none'
RANK=$(printf '%0300d' 7) profile long /bin/true 2>err
is "$(q "$R" 'SELECT length(value) FROM SL_RANK_VARIABLES')" 128 'a long value is cut'

# ---- clocks ----
is "$(q "$R" 'SELECT count(*) > 0, min(isSynchronized IN (0, 1)), min(errorNs >= 0), min(maxErrorNs >= 0) FROM SL_CLOCK_SNAPSHOTS' 2>&1)" \
	'1|1|1|1' 'how far the clock may be trusted'
done_testing
