/*
 * gpu_numbers.c - TARGET_INFO_GPU.id: the index of a GPU in NVML, which counts the machine's GPUs by their PCI addresses.
 *
 * The order in which samples and processes report GPUs does not decide: sl-gpu has the index from NVML; that of a process's GPU
 * follows from the names of the driver's folders. Where there are no folders (WSL), it is the CUDA ordinal.
 */
#include "collector/decode/gpu/gpu_internal.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define FOLDERS "/proc/driver/nvidia/gpus"
#define NUMBERS ((int64_t)(sizeof(((struct gpu_report *)0)->gpus.uuid) / 16))

/* -1: it has none yet. */
static int64_t number_of(const struct gpu_report *r, const uint8_t uuid[16])
{
	for (int64_t i = 0; i < NUMBERS; i++)
		if (r->gpus.given >> i & 1 && memcmp(r->gpus.uuid[i], uuid, 16) == 0)
			return i;
	return -1;
}

int64_t gpu_number(struct arenas *as, const uint8_t uuid[16], uint32_t index)
{
	struct gpu_report *r = &as->gpu;
	int64_t id = number_of(r, uuid);

	for (int64_t i = 0; i < NUMBERS && id < 0; i++) {
		int64_t at = ((int64_t)index + i) % NUMBERS;

		if (r->gpus.given >> at & 1)
			continue;
		id = at;
		memcpy(r->gpus.uuid[id], uuid, 16);
		r->gpus.given |= UINT64_C(1) << id;
		r->has_changed = true;
	}
	return id;
}

/* ---- the driver's folders ---- */

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

/* PCI address as a number, in the order of which NVML counts; false: the name is of another form. */
static bool read_address(const char *name, unsigned part[4], uint64_t *address)
{
	if (sscanf(name, "%x:%x:%x.%x", &part[0], &part[1], &part[2], &part[3]) != 4)
		return false;
	*address = (uint64_t)part[0] << 24 | (part[1] & 0xff) << 16 | (part[2] & 0xff) << 8 |
		   (part[3] & 0xff);
	return true;
}

void gpu_place_find(const char *root, const char *uuid, struct gpu_place *place)
{
	DIR *d = opendir(root);
	uint64_t found = 0, address;
	unsigned part[4];

	*place = (struct gpu_place){.cnt = 0};
	for (struct dirent *e; d && (e = readdir(d));) {
		if (!read_address(e->d_name, part, &address))
			continue;
		place->cnt++;
		if (place->bus[0] || !is_gpu(root, e->d_name, uuid))
			continue;
		snprintf(place->bus, sizeof(place->bus), "%04x:%02x:%02x.%x", part[0], part[1],
			 part[2], part[3]);
		found = address;
	}
	if (d)
		rewinddir(d);
	for (struct dirent *e; d && place->bus[0] && (e = readdir(d));)
		if (read_address(e->d_name, part, &address) && address < found)
			place->index++;
	if (d)
		closedir(d);
}

int64_t gpu_number_used(struct arenas *as, const struct sl_gpu_device *d, const char *uuid,
			struct gpu_place *place)
{
	const struct gpu_report *r = &as->gpu;
	int64_t id = number_of(r, d->uuid);

	*place = (struct gpu_place){.cnt = 0};
	if (id >= 0 && r->gpus.used >> id & 1)
		return id;
	gpu_place_find(r->gpus.folders ? r->gpus.folders : FOLDERS, uuid, place);
	/* A part of a GPU has no folder: its number is above those of GPUs with a folder. */
	return gpu_number(as, d->uuid,
			  place->bus[0] ? place->index
			  : place->cnt  ? place->cnt
					: d->id);
}
