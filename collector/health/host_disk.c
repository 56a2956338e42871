/*
 * host_disk.c - disks: bytes, requests, and how long they were busy.
 *
 * Whole disks: partitions, and devices that are made of others (dm, md, loop), would count a byte twice.
 */
#include "collector/health/host_devices.h"

#include <stdio.h>
#include <stdlib.h>

#include "collector/base/grow.h"

#define SECTOR 512.0               /* whatever the disk has */
#define WRAP   (UINT64_C(1) << 32) /* of milliseconds */

struct host_device *host_device(struct host_devices *all, const char *name, bool *is_new)
{
	struct host_device *d;

	*is_new = false;
	if (!*name || strlen(name) >= sizeof(d->name))
		return NULL;
	for (size_t i = 0; i < all->cnt; i++) {
		size_t at = (all->at + i) % all->cnt;

		if (strcmp(all->list[at].name, name) == 0) {
			all->at = at + 1;
			return &all->list[at];
		}
	}
	if (all->cnt == DEVICES_MOST || !grow(&all->list, all->cnt, &all->cap, sizeof(*all->list)))
		return NULL;
	d = &all->list[all->cnt++];
	*d = (struct host_device){0};
	memcpy(d->name, name, strlen(name));
	*is_new = true;
	return d;
}

struct disks {
	struct host_file file;
	bool has_sysfs;
	struct host_devices all;
};

static bool is_made_of_others(const char *name)
{
	static const char *const kinds[] = {"loop", "ram", "dm-", "md", "zram", "drbd", "bcache"};

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strncmp(name, kinds[i], strlen(kinds[i])) == 0)
			return true;
	return false;
}

/* Without /sys: sda1 of sda, nvme0n1p1 of nvme0n1. */
static bool has_disk_before(const struct host_devices *all, const char *name)
{
	for (size_t i = 0; i < all->cnt; i++) {
		size_t len = strlen(all->list[i].name);

		if (strncmp(all->list[i].name, name, len) == 0 && name[len])
			return true;
	}
	return false;
}

static bool is_skipped(const struct host *h, const struct disks *d, const char *name)
{
	char escaped[HOST_NAME];
	size_t i = 0;

	if (is_made_of_others(name))
		return true;
	if (!d->has_sysfs)
		return has_disk_before(&d->all, name);
	for (; name[i]; i++) /* cciss/c0d0 */
		escaped[i] = name[i];
	escaped[i] = '\0';
	for (char *p = escaped; *p; p++)
		*p = *p == '/' ? '!' : *p;
	return escaped[0] == '.' || !host_is_there(h, "/sys/block/%s", escaped);
}

static void *open_disks(struct host *h)
{
	struct disks *d = calloc(1, sizeof(*d));

	if (d && host_file_open(h, &d->file, "/proc/diskstats")) {
		d->has_sysfs = host_is_there(h, "/sys/block");
		return d;
	}
	free(d);
	return NULL;
}

/* Fields behind the name: kernel's Documentation/admin-guide/iostats.rst. */
enum {
	READS,
	READS_MERGED,
	READ_SECTORS,
	READ_MS,
	WRITES,
	WRITES_MERGED,
	WRITTEN_SECTORS,
	WRITE_MS,
	IN_FLIGHT,
	BUSY_MS,
	FIELDS
};

static void read_disk(struct host *h, struct host_device *d, const uint64_t f[FIELDS])
{
	static const struct host_what read = {"Disk Read", "B", HOST_USED},
				      written = {"Disk Written", "B", HOST_USED},
				      reads = {"Disk Reads", "count", HOST_USED},
				      writes = {"Disk Writes", "count", HOST_USED},
				      busy = {"Disk Busy", "ns", HOST_USED},
				      in_flight = {"Disk Requests", "count", HOST_LEVEL};
	const struct host_scope scope = {"disk", -1, d->name};

	host_sum(h, &d->counters[0], &scope, &read, f[READ_SECTORS], 0, SECTOR);
	host_sum(h, &d->counters[1], &scope, &written, f[WRITTEN_SECTORS], 0, SECTOR);
	host_sum(h, &d->counters[2], &scope, &reads, f[READS], 0, 1);
	host_sum(h, &d->counters[3], &scope, &writes, f[WRITES], 0, 1);
	host_sum(h, &d->counters[4], &scope, &busy, f[BUSY_MS], WRAP, 1e6);
	if (d->counters[4].number)
		host_level(h, &d->counters[5], &scope, &in_flight, (double)f[IN_FLIGHT]);
}

static void read_disks(struct host *h, void *state)
{
	struct disks *d = state;
	char *text = host_file_read(h, &d->file), *line, *word;
	struct host_device *one;
	uint64_t f[FIELDS], n;
	bool is_new;

	while (text && (line = host_line(&text))) {
		unsigned i = 0;

		if (!host_number(&line, &n) || !host_number(&line, &n))
			continue;
		word = host_word(&line);
		while (word && i < FIELDS && host_number(&line, &f[i]))
			i++;
		one = word && i == FIELDS ? host_device(&d->all, word, &is_new) : NULL;
		if (!one)
			continue;
		if (is_new)
			one->is_skipped = is_skipped(h, d, word);
		if (!one->is_skipped)
			read_disk(h, one, f);
	}
}

static void close_disks(void *state)
{
	struct disks *d = state;

	host_file_close(&d->file);
	free(d->all.list);
	free(d);
}

const struct host_source host_disk = {
	.name = "disks", .open = open_disks, .read = read_disks, .close = close_disks};
