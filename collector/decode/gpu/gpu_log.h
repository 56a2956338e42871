/* gpu_log.h - formats of the pending log (SL_PENDING_GPU) and of its notes; for gpu_pending.c and gpu_recover.c alone. */
#pragma once

#include "collector/decode/gpu/gpu_internal.h"

/* Key "gpu.ARENA": this, processes, each with its runs of ids. */
struct saved_gpu {
	uint64_t unlogged; /* records */
	int64_t first_ns;  /* the oldest of all that wait */
};
struct saved_process {
	uint32_t number, pid, cupti, runs;
	int64_t first_ns, until;
	struct gpu_run own;
	uint32_t given, own_given;
};

/* Key "gpu": of all arenas. */
struct saved_report {
	int64_t ids_given, flush_ns;
	uint64_t given, sampled, used;
	uint32_t no_um_cpu_faults, no_um_gpu_faults;
	uint8_t uuid[64][16];
};

/* A chunk of records: their cnt of settled ranges, these, then each record with its head. */
struct settled {
	uint64_t from, to;
};
struct record_head {
	uint32_t what; /* enum record_what */
	uint32_t bytes;
	uint32_t number, ns_tid; /* process, thread */
	int64_t global_tid;
};
enum record_what {
	RECORD_HOOK,
	RECORD_API,
	RECORD_WORK
};

/* A chunk of facts is an array of them. */
struct fact {
	int64_t start, end, id, global_tid;
	uint32_t number, ns_tid; /* process, thread */
	uint32_t name;           /* FACT_ALIAS: correlation id, else the function's */
	uint32_t what;           /* enum fact_what */
};
enum fact_what {
	FACT_ALIAS,        /* @name leads to the row @id */
	FACT_ROW,          /* CUPTI has yet to report this call */
	FACT_ROW_REPORTED, /* has reported it */
	FACT_REPORTED,     /* has reported a former FACT_ROW */
};

/* Key of a chunk. */
static inline int64_t gpu_seq(const struct arena *a, enum gpu_stream stream, uint32_t number)
{
	return ((int64_t)a->id * GPU_STREAM_CNT + stream) << 32 | number;
}
