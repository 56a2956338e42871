# ranks.sh - ranks on the stand-ins of CUDA and NCCL; to be sourced after tests/lib.sh. No variable of a launcher around is seen.
# shellcheck shell=sh disable=SC2034
GPU=$B/tests/gpu
STANDIN=$B/tests/standin
[ -f "$STANDIN/libnccl.so.2" ] && [ -x "$GPU/ranks" ] || skip_all 'the stand-ins are not built'
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
LD_LIBRARY_PATH=$STANDIN${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13
PATH=$B/tests/duckdb/duckdb_cli:$PATH
export LD_LIBRARY_PATH SIGHTLINE_CUPTI PATH
for v in RANK LOCAL_RANK WORLD_SIZE SLURM_PROCID SLURM_NTASKS SLURM_JOB_ID TORCHELASTIC_RUN_ID OMPI_COMM_WORLD_RANK PMI_RANK PMIX_RANK PMIX_NAMESPACE; do
	unset "$v"
done

