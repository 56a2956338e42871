/* gpu_targets.c - writes rows of devices, contexts and streams. */
#include "collector/decode/gpu/gpu_internal.h"

#include <stdio.h>

#include "collector/model/strings.h"

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
	const char *texts[] = {seen->name, seen->bus, text};
	int64_t major = seen->major < 0 ? DB_NULL : seen->major;
	int64_t minor = seen->minor < 0 ? DB_NULL : seen->minor;
	int64_t row[] = {GLOBAL_VM,
			 id,
			 DB_NULL,
			 DB_NULL,
			 seen->memory ? gpu_or_null(seen->memory) : DB_NULL,
			 DB_NULL,
			 DB_NULL,
			 DB_NULL,
			 DB_NULL,
			 DB_NULL,
			 DB_NULL,
			 DB_NULL,
			 DB_NULL,
			 DB_NULL,
			 DB_NULL,
			 DB_NULL,
			 DB_NULL,
			 major,
			 minor,
			 major,
			 minor};

	if ((as->gpu.gpus.sampled | as->gpu.gpus.used) & bit)
		return;
	as->gpu.gpus.sampled |= bit;
	as->gpu.has_changed = true;
	uuid_text(as->gpu.gpus.uuid[id], text);
	db_gpu_row(as->db, DB_GPU_TARGET, row, texts);
}

/* The row of a GPU that a process uses. */
static void target_write(struct arenas *as, int64_t id, const struct sl_gpu_device *d,
			 const char *const texts[3])
{
	const int64_t row[] = {
		GLOBAL_VM,
		id,
		DB_NULL,
		gpu_or_null(d->l2_bytes),
		gpu_or_null(d->memory_bytes),
		gpu_or_null((uint64_t)d->memory_bandwidth * 1000),
		gpu_or_null((uint64_t)d->core_clock_khz * 1000),
		gpu_or_null(d->sm_cnt),
		d->id,
		gpu_or_null(d->const_bytes),
		gpu_or_null(d->max_registers_per_block),
		gpu_or_null(d->max_shared_per_block),
		gpu_or_null(d->warp_size),
		gpu_or_null(d->copy_engines),
		gpu_or_null(d->max_warps_per_sm),
		gpu_or_null(d->max_blocks_per_sm),
		gpu_or_null(d->max_threads_per_block),
		d->major,
		d->minor,
		d->major,
		d->minor,
	};

	as->gpu.gpus.used |= UINT64_C(1) << id;
	as->gpu.has_changed = true;
	db_gpu_row(as->db, DB_GPU_TARGET, row, texts);
}

void gpu_device_write(struct arenas *as, struct arena *a, struct gpu_process *p,
		      const struct sl_gpu_device *d)
{
	char bus[32], uuid[40];
	const char *texts[] = {string_find(a, d->name), bus, uuid}, *const of_device[] = {uuid};
	int64_t of_process[] = {DB_NULL, d->id, p->id.pid, d->sm_cnt}, id;
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
		texts[1] = NULL;
	if (id >= 0) {
		of_process[0] = id;
		if (d->id < GPU_DEVICES)
			p->tables.gpu[d->id] = (uint8_t)(id + 1);
		if (!(as->gpu.gpus.used >> id & 1))
			target_write(as, id, d, texts);
	}
	db_gpu_row(as->db, DB_GPU_DEVICE, of_process, of_device);
}

void gpu_context_write(struct arenas *as, struct gpu_process *p, const struct sl_gpu_context *c)
{
	const int64_t row[] = {c->null_stream,
			       p->id.pid,
			       c->device,
			       c->id,
			       c->is_green ? (int64_t)c->parent : DB_NULL,
			       c->is_green != 0};

	if (c->id < GPU_CONTEXTS)
		p->tables.device[c->id] = c->device + 1;
	db_gpu_row(as->db, DB_GPU_CONTEXT, row, NULL);
}

void gpu_stream_write(struct arenas *as, struct gpu_process *p, const struct sl_gpu_stream *s)
{
	const int64_t row[] = {s->id, p->id.pid, s->context, s->priority,
			       s->flag <= 3 ? s->flag : 0};

	db_gpu_row(as->db, DB_GPU_STREAM, row, NULL);
}
