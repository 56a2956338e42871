/* gpu_targets.c - writes rows of devices, contexts and streams. */
#include "collector/decode/gpu/gpu_internal.h"

#include <stdio.h>

#include "collector/model/strings.h"
#include "collector/source/recording.h"

#define GLOBAL_VM (INT64_C(1) << 48)

static void uuid_text(const uint8_t *u, char text[40])
{
	snprintf(text, 40, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12],
		 u[13], u[14], u[15]);
}

void gpu_seen_write(struct arenas *as, int64_t id, const struct gpu_seen *seen)
{
	uint64_t bit = UINT64_C(1) << id;
	char text[40];
	struct db_row_TARGET_INFO_GPU row = db_none_TARGET_INFO_GPU();

	if ((as->gpu.gpus.sampled | as->gpu.gpus.used) & bit)
		return;
	as->gpu.gpus.sampled |= bit;
	as->gpu.has_changed = true;
	uuid_text(as->gpu.gpus.uuid[id], text);
	row.rowid = id + 1;
	row.vmId = GLOBAL_VM;
	row.id = id;
	row.name = seen->name;
	row.busLocation = seen->bus;
	row.totalMemory = seen->memory ? gpu_or_null(seen->memory) : DB_NULL;
	row.uuid = text;
	row.computeMajor = row.smMajor = seen->major < 0 ? DB_NULL : seen->major;
	row.computeMinor = row.smMinor = seen->minor < 0 ? DB_NULL : seen->minor;
	db_put_TARGET_INFO_GPU(as->db, &row);
}

/* The row of a GPU that a process uses. */
static void target_write(struct arenas *as, int64_t id, const struct sl_gpu_device *d,
			 const char *name, const char *bus, const char *uuid)
{
	struct db_row_TARGET_INFO_GPU row = db_none_TARGET_INFO_GPU();

	row.rowid = id + 1;
	row.vmId = GLOBAL_VM;
	row.id = id;
	row.name = name;
	row.busLocation = bus;
	row.l2CacheSize = gpu_or_null(d->l2_bytes);
	row.totalMemory = gpu_or_null(d->memory_bytes);
	row.memoryBandwidth = gpu_or_null((uint64_t)d->memory_bandwidth * 1000);
	row.clockRate = gpu_or_null((uint64_t)d->core_clock_khz * 1000);
	row.smCount = gpu_or_null(d->sm_cnt);
	row.uuid = uuid;
	row.cuDevice = d->id;
	row.constantMemory = gpu_or_null(d->const_bytes);
	row.maxRegistersPerBlock = gpu_or_null(d->max_registers_per_block);
	row.maxShmemPerBlock = gpu_or_null(d->max_shared_per_block);
	row.threadsPerWarp = gpu_or_null(d->warp_size);
	row.asyncEngines = gpu_or_null(d->copy_engines);
	row.maxWarpsPerSm = gpu_or_null(d->max_warps_per_sm);
	row.maxBlocksPerSm = gpu_or_null(d->max_blocks_per_sm);
	row.maxThreadsPerBlock = gpu_or_null(d->max_threads_per_block);
	row.computeMajor = row.smMajor = d->major;
	row.computeMinor = row.smMinor = d->minor;
	as->gpu.gpus.used |= UINT64_C(1) << id;
	as->gpu.has_changed = true;
	db_put_TARGET_INFO_GPU(as->db, &row);
}

void gpu_device_write(struct arenas *as, struct arena *a, struct gpu_process *p,
		      const struct sl_gpu_device *d)
{
	char bus[32], uuid[40];
	struct db_row_TARGET_INFO_CUDA_DEVICE row = {.gpuId = DB_NULL,
						     .cudaId = d->id,
						     .pid = p->id.pid,
						     .uuid = uuid,
						     .numMultiprocessors = d->sm_cnt};
	bool has_bus = true;
	int64_t id;
	struct gpu_place place;

	uuid_text(d->uuid, uuid);
	id = gpu_number_used(as, d, uuid, &place);
	/* CUPTI does not report the bus; the driver's folders name it by the UUID. */
	if (d->pci_bus != SL_GPU_NONE)
		snprintf(bus, sizeof(bus), "%04x:%02x:%02x.0", d->pci_domain, d->pci_bus,
			 d->pci_device);
	else if (place.bus[0])
		snprintf(bus, sizeof(bus), "%s", place.bus);
	else
		has_bus = false;
	if (id >= 0) {
		row.gpuId = id;
		if (d->id < GPU_DEVICES)
			p->tables.gpu[d->id] = (uint8_t)(id + 1);
		if (!(as->gpu.gpus.used >> id & 1))
			target_write(as, id, d, string_find(a, d->name), has_bus ? bus : NULL,
				     uuid);
	}
	db_put_TARGET_INFO_CUDA_DEVICE(as->db, &row);
}

void gpu_context_write(struct arenas *as, struct gpu_process *p, const struct sl_gpu_context *c)
{
	struct db_row_TARGET_INFO_CUDA_CONTEXT_INFO row = db_none_TARGET_INFO_CUDA_CONTEXT_INFO();

	row.nullStreamId = c->null_stream;
	row.hwId = 0;
	row.vmId = 1;
	row.processId = p->id.pid;
	row.deviceId = c->device;
	row.contextId = c->id;
	row.parentContextId = c->is_green ? (int64_t)c->parent : DB_NULL;
	row.isGreenContext = c->is_green != 0;
	if (c->id < GPU_CONTEXTS)
		p->tables.device[c->id] = c->device + 1;
	db_put_TARGET_INFO_CUDA_CONTEXT_INFO(as->db, &row);
}

void gpu_stream_write(struct arenas *as, struct gpu_process *p, const struct sl_gpu_stream *s)
{
	db_put_TARGET_INFO_CUDA_STREAM(as->db, &(struct db_row_TARGET_INFO_CUDA_STREAM){
						       .streamId = s->id,
						       .hwId = 0,
						       .vmId = 1,
						       .processId = p->id.pid,
						       .contextId = s->context,
						       .priority = s->priority,
						       .flag = s->flag <= 3 ? s->flag : 0});
}
