/* gpu_targets.c - writes rows of devices, contexts and streams. */
#include "collector/decode/gpu/gpu_internal.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "collector/model/strings.h"

#define GLOBAL_VM (INT64_C(1) << 48)

/* The number of the GPU in the report; *is_new: it had none before. */
static int64_t gpu_number(struct arenas *as, const uint8_t uuid[16], bool *is_new)
{
	struct gpu_report *r = &as->gpu;

	*is_new = false;
	for (uint32_t i = 0; i < r->gpus; i++)
		if (memcmp(r->uuid[i], uuid, 16) == 0)
			return i;
	*is_new = true;
	r->has_changed = true;
	if (r->gpus == sizeof(r->uuid) / sizeof(r->uuid[0]))
		return r->gpus;
	memcpy(r->uuid[r->gpus], uuid, 16);
	return r->gpus++;
}

static void uuid_text(const uint8_t *u, char text[40])
{
	snprintf(text, 40, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12],
		 u[13], u[14], u[15]);
}

int64_t gpu_seen_number(struct arenas *as, const uint8_t uuid[16], const struct gpu_seen *seen)
{
	char text[40];
	const char *texts[] = {seen->name, seen->bus, text};
	bool is_new;
	int64_t id = gpu_number(as, uuid, &is_new);
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

	if (id >= (int64_t)(sizeof(as->gpu.uuid) / sizeof(as->gpu.uuid[0])))
		return -1;
	if (!is_new)
		return id;
	uuid_text(uuid, text);
	as->gpu.seen |= UINT64_C(1) << id;
	db_gpu_row(as->db, DB_GPU_TARGET, row, texts);
	return id;
}

static bool is_gpu(const char *root, const char *name, const char *uuid)
{
	char path[512], line[256];
	bool is_it = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/information", root, name);
	f = fopen(path, "re");
	while (f && !is_it && fgets(line, sizeof(line), f)) {
		const char *at = strncmp(line, "GPU UUID:", 9) ? NULL : strstr(line + 9, "GPU-");

		is_it = at && strncasecmp(at + 4, uuid, strlen(uuid)) == 0;
	}
	if (f)
		fclose(f);
	return is_it;
}

bool gpu_bus_find(const char *root, const char *uuid, char *bus, size_t size)
{
	DIR *d = opendir(root);
	bool is_found = false;

	for (struct dirent *e; d && !is_found && (e = readdir(d));) {
		unsigned part[4];

		if (sscanf(e->d_name, "%x:%x:%x.%x", &part[0], &part[1], &part[2], &part[3]) != 4)
			continue;
		is_found = is_gpu(root, e->d_name, uuid);
		if (is_found)
			snprintf(bus, size, "%04x:%02x:%02x.%x", part[0], part[1], part[2],
				 part[3]);
	}
	if (d)
		closedir(d);
	return is_found;
}

void gpu_device_write(struct arenas *as, struct arena *a, struct gpu_process *p,
		      const struct sl_gpu_device *d)
{
	char bus[32], uuid[40] = "";
	const char *texts[] = {string_find(a, d->name), bus, uuid}, *const of_device[] = {uuid};
	const uint8_t *u = d->uuid;
	bool is_new;
	int64_t id = gpu_number(as, d->uuid, &is_new);
	const int64_t gpu[] = {
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
	const int64_t of_process[] = {id, d->id, p->id.pid, d->sm_cnt};

	snprintf(bus, sizeof(bus), "%04x:%02x:%02x.0", d->pci_domain, d->pci_bus, d->pci_device);
	uuid_text(u, uuid);
	if (id < 64 && as->gpu.seen >> id & 1) {
		as->gpu.seen &= ~(UINT64_C(1) << id);
		is_new = true;
	}
	/* CUPTI does not report the bus; the driver's folders name it by the UUID. */
	if (d->pci_bus == SL_GPU_NONE &&
	    !(is_new && gpu_bus_find("/proc/driver/nvidia/gpus", uuid, bus, sizeof(bus))))
		texts[1] = NULL;
	if (d->id < GPU_DEVICES)
		p->tables.gpu[d->id] = (uint8_t)(id + 1);
	if (is_new)
		db_gpu_row(as->db, DB_GPU_TARGET, gpu, texts);
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
