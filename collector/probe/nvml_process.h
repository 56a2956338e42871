/* nvml_process.h - processes that use a GPU: their memory, their share of its time. */
#pragma once

#include "collector/probe/nvml.h"
#include "collector/probe/source.h"

struct nvml_processes;

struct nvml_processes *nvml_processes_new(struct probe_gpu *gpu,
					  struct out *out); /* NULL: no memory */
void nvml_processes_poll(struct nvml_processes *p);         /* @p may be NULL */
void nvml_processes_free(struct nvml_processes *p);
