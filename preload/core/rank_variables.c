/*
 * rank_variables.c - reads the variables of the environment by which launchers name a rank. Nothing else of the environment
 * is kept. A program that sets them itself, later, is not seen; NCCL's own ranks are (preload/gpu/tables/nccl.def).
 */
#include "preload/core/rank_variables.h"

#include <string.h>
#include <unistd.h>

#include "preload/core/environment.h"
#include "preload/core/hook.h"

#define VALUE_MAX 128u /* of a longer value, so many bytes */

/* torchrun; SLURM; Open MPI; PMI, PMIx; MVAPICH; PALS; Flux; Kubernetes. */
static const char NAMES[][28] = {
	"RANK",
	"LOCAL_RANK",
	"WORLD_SIZE",
	"LOCAL_WORLD_SIZE",
	"GROUP_RANK",
	"NODE_RANK",
	"TORCHELASTIC_RUN_ID",
	"TORCHELASTIC_RESTART_COUNT",
	"SLURM_JOB_ID",
	"SLURM_STEP_ID",
	"SLURM_PROCID",
	"SLURM_LOCALID",
	"SLURM_NODEID",
	"SLURM_NTASKS",
	"OMPI_COMM_WORLD_RANK",
	"OMPI_COMM_WORLD_SIZE",
	"OMPI_COMM_WORLD_LOCAL_RANK",
	"PMI_RANK",
	"PMI_SIZE",
	"PMIX_RANK",
	"PMIX_NAMESPACE",
	"MV2_COMM_WORLD_RANK",
	"MV2_COMM_WORLD_SIZE",
	"MV2_COMM_WORLD_LOCAL_RANK",
	"PALS_RANKID",
	"FLUX_TASK_RANK",
	"JOB_COMPLETION_INDEX",
};
#define NAME_CNT (sizeof(NAMES) / sizeof(NAMES[0]))

/* NAME=VALUE '\0' ... */
static size_t make_variables(const void *what, char *to, size_t room)
{
	size_t n = 0;

	(void)what;
	for (size_t i = 0; i < NAME_CNT; i++) {
		int at = sl_env_find(NAMES[i]);
		size_t name = strlen(NAMES[i]) + 1, len;

		if (at < 0)
			continue;
		len = strnlen(sl_environ()[at], name + VALUE_MAX);
		if (n + len + 1 > room)
			return room < SL_MADE_BYTES ? SL_MADE_CUT : n;
		memcpy(to + n, sl_environ()[at], len);
		n += len;
		to[n++] = 0;
	}
	return n;
}

void sl_rank_announce(void)
{
	uint64_t zero = 0;

	for (size_t i = 0; i < NAME_CNT; i++)
		if (sl_env_find(NAMES[i]) >= 0) {
			sl_meta_made(SL_META_RANK, sl_ticks(), &zero, 1, make_variables, NULL);
			return;
		}
}
