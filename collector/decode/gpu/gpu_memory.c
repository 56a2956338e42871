/* gpu_memory.c - writes rows of the GPU's memory: allocations, pools, page migrations and faults. */
#include "collector/decode/gpu/gpu_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collector/model/strings.h"

enum { /* CUpti_ActivityUnifiedMemoryCounterKind */
	UM_HTOD = 1,
	UM_DTOH = 2,
	UM_CPU_FAULT = 3,
	UM_GPU_FAULT = 4,
	UM_DTOD = 8
};

static void moved(struct arenas *as, struct gpu_process *p, const struct sl_gpu_um *u)
{
	int64_t *row = db_row(as->db, DB_CUPTI_ACTIVITY_KIND_MEMCPY);

	for (int i = 0; i < CPY_COL_CNT; i++)
		row[i] = DB_NULL;
	row[CPY_START] = gpu_session_ns(as, u->start);
	row[CPY_END] = gpu_session_ns(as, u->end);
	/* The GPU's side; the other is the CPU, or for copies between GPUs the source. */
	row[CPY_DEVICE_ID] = u->kind == UM_DTOH ? u->src : u->dst;
	row[CPY_CONTEXT_ID] = row[CPY_STREAM_ID] = 0;
	row[CPY_GLOBAL_PID] = p->id.global_pid;
	row[CPY_BYTES] = (int64_t)u->value;
	row[CPY_COPY_KIND] = u->kind == UM_HTOD ? 11 : u->kind == UM_DTOH ? 12 : 13;
	row[CPY_SRC_KIND] = row[CPY_DST_KIND] = GPU_MEMORY_UNKNOWN;
	if (u->kind == UM_DTOD) {
		row[CPY_SRC_DEVICE_ID] = u->src;
		row[CPY_DST_DEVICE_ID] = u->dst;
	}
	row[CPY_MIGRATION_CAUSE] = u->flags;
	row[CPY_VIRTUAL_ADDRESS] = (int64_t)u->address;
	row[CPY_COPY_COUNT] = 1;
	gpu_add_up(as, p, LIVE_COPY, row[CPY_DEVICE_ID], row[CPY_START], row[CPY_END], u->value);
}

void gpu_um_write(struct arenas *as, struct gpu_process *p, const struct sl_gpu_um *u)
{
	char pc[32];
	int64_t *row;

	switch (u->kind) {
	case UM_HTOD:
	case UM_DTOH:
	case UM_DTOD:
		moved(as, p, u);
		break;
	case UM_CPU_FAULT: /* value: the instruction's address */
		if (as->gpu.no_um_cpu_faults)
			break;
		snprintf(pc, sizeof(pc), "0x%" PRIx64, u->value);
		row = db_row(as->db, DB_CUDA_UM_CPU_PAGE_FAULT_EVENTS);
		row[UMC_START] = gpu_session_ns(as, u->start);
		row[UMC_GLOBAL_PID] = p->id.global_pid;
		row[UMC_ADDRESS] = (int64_t)u->address;
		row[UMC_ORIGINAL_FAULT_PC] = (int64_t)u->value;
		row[UMC_CPU_INSTRUCTION] = db_string(as->db, pc, strlen(pc));
		row[UMC_MODULE] = db_string(as->db, "[Unknown]", 9);
		row[UMC_UNRESOLVED_FAULT_PC] = 1;
		row[UMC_SOURCE_FILE] = row[UMC_SOURCE_LINE] = DB_NULL;
		break;
	case UM_GPU_FAULT:
		if (as->gpu.no_um_gpu_faults)
			break;
		row = db_row(as->db, DB_CUDA_UM_GPU_PAGE_FAULT_EVENTS);
		row[UMG_START] = gpu_session_ns(as, u->start);
		row[UMG_END] = gpu_session_ns(as, u->end);
		row[UMG_GLOBAL_PID] = p->id.global_pid;
		row[UMG_DEVICE_ID] = u->src;
		row[UMG_ADDRESS] = (int64_t)u->address;
		row[UMG_NUMBER_OF_PAGE_FAULTS] = (int64_t)u->value;
		row[UMG_FAULT_ACCESS_TYPE] = u->flags;
		break;
	default: /* thrashing, throttling, remote maps: nsys has no table for them */
		break;
	}
}

void gpu_memory_write(struct arenas *as, struct arena *a, struct gpu_process *p,
		      const struct sl_gpu_memory *m)
{
	bool is_local = m->pool_type == 1, is_imported = m->pool_type == 2;
	const struct db_row_CUDA_GPU_MEMORY_USAGE_EVENTS row = {
		.start = gpu_session_ns(as, m->time),
		.globalPid = p->id.global_pid,
		.deviceId = m->device,
		.contextId = m->context,
		.address = (int64_t)m->address,
		.pc = (int64_t)m->pc,
		.bytes = (int64_t)m->bytes,
		.memKind = gpu_memory_kind(m->kind),
		.memoryOperationType = m->operation == 2, /* 1 allocation, 2 release; nsys: 0, 1 */
		.name = string_find(a, m->name),
		.correlationId = gpu_alias_find(as, p, m->correlation),
		.streamId = m->is_async ? (int64_t)m->stream : DB_NULL,
		.localMemoryPoolAddress = is_local ? (int64_t)m->pool_address : DB_NULL,
		.localMemoryPoolReleaseThreshold = is_local ? (int64_t)m->pool_threshold : DB_NULL,
		.localMemoryPoolSize = is_local ? (int64_t)m->pool_size : DB_NULL,
		.localMemoryPoolUtilizedSize = is_local ? (int64_t)m->pool_used : DB_NULL,
		.importedMemoryPoolAddress = is_imported ? (int64_t)m->pool_address : DB_NULL,
		.importedMemoryPoolProcessId = is_imported ? (int64_t)m->process : DB_NULL,
	};

	db_put_CUDA_GPU_MEMORY_USAGE_EVENTS(as->db, &row);
}

void gpu_pool_write(struct arenas *as, struct gpu_process *p, const struct sl_gpu_pool *m)
{
	bool is_local = m->type == 1;
	int64_t *row = db_row(as->db, DB_CUDA_GPU_MEMORY_POOL_EVENTS);

	row[POOL_START] = gpu_session_ns(as, m->time);
	row[POOL_GLOBAL_PID] = p->id.global_pid;
	row[POOL_DEVICE_ID] = m->device;
	row[POOL_ADDRESS] = (int64_t)m->address;
	row[POOL_OPERATION_TYPE] = m->operation;
	row[POOL_POOL_TYPE] = m->type;
	row[POOL_CORRELATION_ID] = gpu_alias_find(as, p, m->correlation);
	row[POOL_MIN_BYTES_TO_KEEP] = m->operation == 3 ? (int64_t)m->min_bytes_to_keep : DB_NULL;
	row[POOL_LOCAL_MEMORY_POOL_RELEASE_THRESHOLD] = is_local ? (int64_t)m->threshold : DB_NULL;
	row[POOL_LOCAL_MEMORY_POOL_SIZE] = is_local ? (int64_t)m->size : DB_NULL;
	row[POOL_LOCAL_MEMORY_POOL_UTILIZED_SIZE] = is_local ? (int64_t)m->used : DB_NULL;
}
