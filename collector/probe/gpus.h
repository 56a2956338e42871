/* gpus.h - the GPUs of the machine, and which of them are meant. */
#pragma once

#include "collector/probe/nvml.h"
#include "collector/probe/source.h"

#define GPUS_MOST 64u

struct gpus {
	struct probe_gpu gpu[GPUS_MOST];
	unsigned cnt;
	unsigned parts_from; /* info.number of the next part of a GPU */
	unsigned denied;     /* not among them: the driver does not permit their use */
};

/* Parts of GPUs (MIG) follow the GPU they belong to; info.gpu is the place in the list. */
void gpus_find(struct gpus *g, const struct nvml *n);
/*
 * Marks the GPUs that @ids (--gpu-metrics-devices: all, cuda-visible, or numbers) means; @visible: CUDA_VISIBLE_DEVICES of
 * the program, NULL: it has none. A GPU that is divided is replaced by its parts. False: @why.
 */
bool gpus_choose(const struct gpus *g, const char *ids, const char *visible,
		 bool is_meant[GPUS_MOST], char *why, size_t why_len);
