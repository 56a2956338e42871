#!/bin/sh
# Jobs of MPI, by each implementation that is there: their collectives are those of a dataset, so the rank that the others wait for is named,
# with its reason, in a program that marks no steps. Open MPI's handles are pointers, MPICH's are ints.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
PATH=$B/tests/duckdb/duckdb_cli:$PATH
export PATH
command -v duckdb >/dev/null || skip_all 'duckdb is not there: PyPI could not be reached (package duckdb-cli)'
PYTHONPATH=$B/tests/polars
export PYTHONPATH
for v in RANK LOCAL_RANK WORLD_SIZE SLURM_PROCID SLURM_NTASKS SLURM_JOB_ID TORCHELASTIC_RUN_ID OMPI_COMM_WORLD_RANK PMI_RANK PMIX_RANK PMIX_NAMESPACE; do
	unset "$v"
done
MPIS=
for mpi in openmpi mpich; do
	if command -v "mpicc.$mpi" >/dev/null && command -v "mpirun.$mpi" >/dev/null; then
		"mpicc.$mpi" -O1 -o "$mpi" "$E2E/report/ranks_mpi.c" 2>err || { diag <err; continue; }
		MPIS="$MPIS $mpi"
	fi
done
[ "$MPIS" ] || skip_all 'no MPI is installed (packages openmpi-bin, libopenmpi-dev; mpich, libmpich-dev)'
start() { # MPI RANKS COMMAND...
	start_mpi=$1 start_ranks=$2
	shift 2
	case $start_mpi in
	openmpi) mpirun.openmpi --allow-run-as-root --oversubscribe -n "$start_ranks" "$@" ;;
	*) "mpirun.$start_mpi" -n "$start_ranks" "$@" ;;
	esac
}
rows() { # QUESTION RUN EXPRESSION of d, the rows
	"$BIN" ranks ask "$1" -d ds --run "$2" -f json 2>err | "$PY" -c "import json, sys; d = json.load(sys.stdin); print($3)" 2>&1
}
sum() { # REPORT SQL
	q "$1" "$2" | tr '\n' ' '
}

for mpi in $MPIS; do
	start "$mpi" 4 "./$mpi" 2 0 0 >plain 2>err || { skip "$mpi runs here" "$(tail -1 err)"; continue; }
	start "$mpi" 4 "$BIN" profile --ranks=ds --run="$mpi" -t mpi,osrt --gpu-health=0 -o "$mpi-%q{$([ "$mpi" = openmpi ] && echo OMPI_COMM_WORLD_RANK || echo PMI_RANK)}" "./$mpi" 20 2 40 >out 2>err
	result $? "$mpi: a traced job succeeds" || diag <err
	is "$(sort out)" "$(sort plain)" "$mpi: a traced job prints the same"
	is "$(sum "$mpi-1.sqlite" "SELECT value, count(*), min(seq), max(seq), min(size), max(requestHandle IS NOT NULL) FROM MPI_COLLECTIVES_EVENTS JOIN StringIds ON id = textId GROUP BY value ORDER BY value")" \
		'MPI_Allgather|20|1|39|512|0 MPI_Allreduce|20|2|21|1024|0 MPI_Barrier|1|1|1||0 MPI_Ibarrier|20|2|40||1 ' "$mpi: collectives have their numbers and sizes"
	is "$(sum "$mpi-1.sqlite" "SELECT value, count(*), remoteRank, tag, size FROM MPI_P2P_EVENTS JOIN StringIds ON id = textId GROUP BY remoteRank ORDER BY remoteRank")" \
		'MPI_Sendrecv|20|0|7|4 MPI_Sendrecv|20|2|7|4 ' "$mpi: messages have their peers"
	is "$(sum "$mpi-1.sqlite" "SELECT rank, localRank, size FROM MPI_COMMUNICATORS ORDER BY size DESC; SELECT rank FROM MPI_RANKS")" '1|1|4 1|1|2 1 ' "$mpi: communicators have ranks and size"
	is "$(for i in 0 1 2 3; do q "$mpi-$i.sqlite" 'SELECT commUid FROM MPI_COMMUNICATORS'; done | sort | uniq -c | awk '{ print $1 }' | sort -n | xargs)" '2 2 4' "$mpi: ranks of a communicator share its name, halves have others"
	is "$(rows straggler "$mpi" 'd[0]["rank"], d[0]["share"] > 0.5')" '2 True' "$mpi: straggler names the late rank"
	is "$(rows waits "$mpi" '[(r["op"], r["bytes"], r["culprit"]) for r in d][0]')" "('AllReduce', 1024, 2)" "$mpi: waits names the collective and the rank"
	# Ranks that wait look for each other, so on few CPUs now and then another one is late.
	is "$(rows steps "$mpi" 'len(d), max((sum(r["straggler"] == k for r in d), k) for k in range(4))[1]')" '19 2' "$mpi: steps are those from one Allreduce to the next"
	if [ "$(q "$mpi-2.sqlite" 'SELECT count(*) FROM SCHED_EVENTS')" -gt 0 ]; then
		is "$(rows why "$mpi" '[(r["rank"], r["cause"]) for r in d if r["sleepMs"] > 10]')" "[(2, 'sleeping')]" "$mpi: why names the late rank and its reason"
	else
		skip "$mpi: why names the late rank and its reason" 'context switches are not recorded here'
	fi
	is "$(rows whatif "$mpi" 'd[0]["lost"] > 0.2')" True "$mpi: whatif counts the time of the late rank"
	if "$PY" -c 'import polars' 2>/dev/null; then
		is "$("$PY" "$E2E/report/ranks_polars.py" "$BIN" ds "$mpi" "$mpi" 2>&1)" '' "$mpi: Polars has the same cells of every question"
	else
		skip "$mpi: Polars has the same cells of every question" 'polars is not there (PyPI was not reached, or Python is older than 3.11)'
	fi
	# ---- a window that begins late: calls before it are counted ----
	start "$mpi" 4 "$BIN" profile --ranks=ds --run="late-$mpi" --delay=1 -t mpi,osrt --gpu-health=0 -o "late-$mpi-%q{$([ "$mpi" = openmpi ] && echo OMPI_COMM_WORLD_RANK || echo PMI_RANK)}" "./$mpi" 100 2 20 >out 2>err
	if [ "$(q "late-$mpi-1.sqlite" "SELECT min(seq) FROM MPI_COLLECTIVES_EVENTS JOIN StringIds ON id = textId WHERE value = 'MPI_Allreduce'")" -gt 2 ]; then
		is "$(q "late-$mpi-1.sqlite" "SELECT max(seq) FROM MPI_COLLECTIVES_EVENTS JOIN StringIds ON id = textId WHERE value = 'MPI_Allreduce'")" 101 "$mpi: a window that begins late knows the numbers of its calls"
	else
		skip "$mpi: a window that begins late knows the numbers of its calls" 'the job has begun later than the window'
	fi
	is "$(rows straggler "late-$mpi" 'd[0]["rank"], d[0]["share"] > 0.5')" '2 True' "$mpi: straggler names the late rank in a window that begins late"
done

# ---- a collective that nothing can see ----
"$BIN" profile -t osrt -s none --cpuctxsw=none --gpu-health=0 -o none true >out 2>err
"$BIN" ranks add -q -d ds --run none --rank 0 none.sqlite >out 2>&1
"$BIN" ranks ask straggler -d ds --run none >out 2>err
is "$(grep -c "'-t nccl,mpi' records those of NCCL and MPI; gloo's are inside of PyTorch and cannot be seen" err)" 1 'an answer without collectives has the reason in one line'
done_testing
