/* sample_pages.c - reads /proc/PID/maps, and remembers the mappings of the last faults for a moment. */
#include "collector/kernel/sample/sample_pages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/proc.h"
#include "collector/kernel/sched/sched_internal.h"

#define KNOWN 16u
#define KEEP_NS \
	UINT64_C(200000000) /* a page that is in another mapping by then is that of the older one */

struct known {
	uint64_t from, to, offset; /* @to 0: free */
	uint64_t read_ns;
	uint32_t pid;
	char path[4096];
};

struct sample_pages {
	struct known known[KNOWN];
	unsigned next;
};

struct sample_pages *sample_pages_new(void)
{
	return calloc(1, sizeof(struct sample_pages));
}

void sample_pages_free(struct sample_pages *sp)
{
	free(sp);
}

static bool parse(const char *line, struct known *k)
{
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &k->from, &k->to,
		   &k->offset, &at) < 3 ||
	    !at)
		return false;
	snprintf(k->path, sizeof(k->path), "%.*s", (int)strcspn(line + at, "\n"), line + at);
	return true;
}

static bool read_maps(struct known *k, uint64_t address)
{
	char path[64], *line = NULL;
	bool is_found = false;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u/maps", proc_root(), k->pid);
	f = fopen(path, "re");
	while (f && !is_found && getline(&line, &size, f) > 0)
		is_found = parse(line, k) && address >= k->from && address < k->to;
	free(line);
	if (f)
		fclose(f);
	return is_found;
}

static struct known *find(struct sample_pages *sp, uint32_t pid, uint64_t address)
{
	uint64_t now = sched_now();
	struct known *k;

	for (unsigned i = 0; i < KNOWN; i++) {
		k = &sp->known[i];
		if (k->pid == pid && address >= k->from && address < k->to &&
		    now - k->read_ns < KEEP_NS)
			return k;
	}
	k = &sp->known[sp->next++ % KNOWN];
	k->pid = pid;
	k->read_ns = now;
	if (read_maps(k, address))
		return k;
	k->to = 0;
	return NULL;
}

bool sample_pages_find(struct sample_pages *sp, uint32_t pid, uint64_t address,
		       struct sample_page *page)
{
	const uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);
	const struct known *k = find(sp, pid, address);

	if (!k)
		return false;
	page->path = k->path;
	page->offset = k->offset + (address - k->from) / size * size;
	return true;
}

void sample_pages_forget(struct sample_pages *sp, uint32_t pid)
{
	for (unsigned i = 0; i < KNOWN; i++)
		if (sp->known[i].pid == pid)
			sp->known[i].to = 0;
}
