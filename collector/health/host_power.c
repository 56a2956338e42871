/*
 * host_power.c - energy of processor packages (RAPL), by the kernel's powercap files.
 *
 * Domains inside of a package (cores, graphics) are part of it; psys, where there is one, is of the whole machine and no package.
 * The counters wrap, on busy servers within minutes. Since Linux 5.10 root alone may read them.
 */
#include "collector/health/host_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define PACKAGES_MOST 64
#define MICRO         1e-6

struct package {
	char name[HOST_NAME];
	struct host_file energy;
	uint64_t range;
	struct host_counter joules;
};

struct power {
	struct package one[PACKAGES_MOST];
	unsigned cnt;
};

static void add_package(struct host *h, struct power *p, const char *driver, int number,
			int *denied)
{
	struct package *one = &p->one[p->cnt];
	char range[32];

	if (!host_file_word(h, one->name, sizeof(one->name), "/sys/class/powercap/%s:%d/name",
			    driver, number))
		return;
	if (!host_file_word(h, range, sizeof(range),
			    "/sys/class/powercap/%s:%d/max_energy_range_uj", driver, number) ||
	    !host_is_number(range, &one->range))
		one->range = 0;
	if (host_file_open(h, &one->energy, "/sys/class/powercap/%s:%d/energy_uj", driver, number))
		p->cnt++;
	else if (one->energy.err == EACCES || one->energy.err == EPERM)
		*denied = one->energy.err;
}

static void *open_power(struct host *h)
{
	struct power *p = calloc(1, sizeof(*p));
	int denied = 0;

	for (int i = 0; p && i < PACKAGES_MOST && p->cnt < PACKAGES_MOST; i++)
		add_package(h, p, "intel-rapl", i, &denied);
	if (denied)
		host_say(h, "no energy of processors: root alone may read "
			    "/sys/class/powercap/intel-rapl:*/energy_uj");
	if (p && p->cnt)
		return p;
	free(p);
	return NULL;
}

static void read_power(struct host *h, void *state)
{
	static const struct host_what energy = {"CPU Energy", "J", HOST_SUM};
	struct power *p = state;

	for (unsigned i = 0; i < p->cnt; i++) {
		struct package *one = &p->one[i];
		const struct host_scope scope = {"package", i, one->name};
		char *text = host_file_read(h, &one->energy);
		char *line = text ? host_line(&text) : NULL;
		uint64_t n;

		/* A wrap of the range is the next number after its last one. */
		if (line && host_number(&line, &n))
			host_sum(h, &one->joules, &scope, &energy, n,
				 one->range ? one->range + 1 : 0, MICRO);
	}
}

static void close_power(void *state)
{
	struct power *p = state;

	for (unsigned i = 0; i < p->cnt; i++)
		host_file_close(&p->one[i].energy);
	free(p);
}

const struct host_source host_power = {
	.name = "energy", .open = open_power, .read = read_power, .close = close_power};
