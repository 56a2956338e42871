/* gpus.c - the GPUs of the machine, in the order of their PCI addresses, as NVML counts them. */
#include "collector/probe/gpus.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* No more than fits: names come from a library. */
static void take(char *to, size_t len, const char *text)
{
	size_t n = strnlen(text, len - 1);

	memmove(to, text, n);
	to[n] = '\0';
}

static void describe(struct probe_gpu *g, const struct nvml *n, nvml_device device)
{
	struct nvml_memory_v2 m = {.version = NVML_VERSION(nvml_memory_v2, 2)};
	char text[96] = "";

	g->nvml = n;
	g->device = device;
	g->info.kind = PROBE_GPU;
	g->info.instance = g->info.sub_instance = -1;
	if (n->uuid(device, text, sizeof(text)) == NVML_SUCCESS)
		take(g->info.uuid, sizeof(g->info.uuid), text);
	*text = '\0';
	if (n->name(device, text, sizeof(text)) == NVML_SUCCESS)
		take(g->info.name, sizeof(g->info.name), text);
	if (n->memory && n->memory(device, &m) == NVML_SUCCESS)
		g->info.memory = m.total;
}

static void describe_whole(struct probe_gpu *g, const struct nvml *n, nvml_device device)
{
	struct nvml_pci pci = {.id = ""};

	describe(g, n, device);
	if (n->pci && n->pci(device, &pci) == NVML_SUCCESS)
		/* As CUPTI has it: the domain with four digits. */
		snprintf(g->info.bus, sizeof(g->info.bus), "%04x:%02x:%02x.0",
			 pci.domain & 0xffffff, pci.bus & 0xff, pci.device & 0xff);
	g->info.major = g->info.minor = -1;
	if (n->generation && n->generation(device, &g->info.major, &g->info.minor) != NVML_SUCCESS)
		g->info.major = g->info.minor = -1;
}

static void add_parts(struct gpus *g, const struct nvml *n, const struct probe_gpu *whole)
{
	unsigned now = 0, next, most = 0;

	if (!n->mig_mode || !n->mig_most || !n->mig_handle || !n->instance || !n->sub_instance ||
	    n->mig_mode(whole->device, &now, &next) != NVML_SUCCESS || now != 1 ||
	    n->mig_most(whole->device, &most) != NVML_SUCCESS)
		return;
	for (unsigned i = 0; i < most && i < GPUS_MOST && g->cnt < GPUS_MOST; i++) {
		struct probe_gpu *p = &g->gpu[g->cnt];
		unsigned instance, sub_instance;
		nvml_device device;

		if (n->mig_handle(whole->device, i, &device) != NVML_SUCCESS ||
		    n->instance(device, &instance) != NVML_SUCCESS ||
		    n->sub_instance(device, &sub_instance) != NVML_SUCCESS)
			continue;
		memset(p, 0, sizeof(*p));
		describe(p, n, device);
		take(p->info.bus, sizeof(p->info.bus), whole->info.bus);
		p->info.major = whole->info.major;
		p->info.minor = whole->info.minor;
		p->info.instance = (int32_t)instance;
		p->info.sub_instance = (int32_t)sub_instance;
		p->index = whole->index;
		p->parent = whole->device;
		p->info.gpu = g->cnt++;
		p->info.number = g->parts_from++;
	}
}

void gpus_find(struct gpus *g, const struct nvml *n)
{
	unsigned cnt = 0;

	memset(g, 0, sizeof(*g));
	if (n->count(&cnt) != NVML_SUCCESS)
		return;
	g->parts_from = cnt;
	for (unsigned i = 0; i < cnt && g->cnt < GPUS_MOST; i++) {
		struct probe_gpu *p = &g->gpu[g->cnt];
		nvml_device device;

		if (n->handle(i, &device) != NVML_SUCCESS) {
			g->denied++;
			continue;
		}
		describe_whole(p, n, device);
		p->index = p->info.number = i;
		p->info.gpu = g->cnt++;
		add_parts(g, n, p);
	}
}

/* ---- which ones are meant ---- */

static bool is_divided(const struct gpus *g, unsigned i)
{
	return i + 1 < g->cnt && g->gpu[i + 1].parent == g->gpu[i].device;
}

/* A GPU, or instead of it its parts. */
static void mark(const struct gpus *g, unsigned i, bool is_meant[GPUS_MOST])
{
	void *whole = g->gpu[i].device;

	is_meant[i] = !is_divided(g, i);
	for (i++; i < g->cnt && g->gpu[i].parent == whole; i++)
		is_meant[i] = true;
}

/* The GPU with this number, or with a UUID that begins so. */
static bool mark_one(const struct gpus *g, const char *id, size_t len, bool is_meant[GPUS_MOST])
{
	char text[80], *end;
	unsigned long no;

	if (!len || len >= sizeof(text))
		return false;
	memcpy(text, id, len);
	text[len] = '\0';
	no = strtoul(text, &end, 10);
	for (unsigned i = 0; i < g->cnt; i++) {
		bool is_number = *end == '\0' && *text >= '0' && *text <= '9';

		if (is_number ? !g->gpu[i].parent && g->gpu[i].index == no
			      : len > 4 && !strncasecmp(g->gpu[i].info.uuid, text, len)) {
			mark(g, i, is_meant);
			return true;
		}
	}
	return false;
}

/* As CUDA reads it: up to the first that is unknown. */
static void mark_visible(const struct gpus *g, const char *list, bool is_meant[GPUS_MOST])
{
	while (*list) {
		size_t len = strcspn(list, ",");

		while (len && *list == ' ')
			list++, len--;
		if (!mark_one(g, list, len, is_meant))
			return;
		list += len + (list[len] == ',');
	}
}

static void known(const struct gpus *g, char *why, size_t len)
{
	size_t used = strlen(why);

	for (unsigned i = 0; i < g->cnt && used < len; i++)
		if (!g->gpu[i].parent)
			used += (size_t)snprintf(why + used, len - used, "%s%u (%s)",
						 used && i ? ", " : "", g->gpu[i].index,
						 g->gpu[i].info.name);
}

bool gpus_choose(const struct gpus *g, const char *ids, const char *visible,
		 bool is_meant[GPUS_MOST], char *why, size_t why_len)
{
	const char *list = ids;

	memset(is_meant, 0, GPUS_MOST * sizeof(*is_meant));
	if (!strcmp(ids, "all") || (!strcmp(ids, "cuda-visible") && !visible)) {
		for (unsigned i = 0; i < g->cnt; i++)
			if (!g->gpu[i].parent)
				mark(g, i, is_meant);
		return true;
	}
	if (!strcmp(ids, "cuda-visible")) {
		mark_visible(g, visible, is_meant);
		return true;
	}
	while (*list) {
		size_t len = strcspn(list, ",");

		if (!mark_one(g, list, len, is_meant)) {
			snprintf(why, why_len, "no GPU has the number %.*s; there are: ",
				 (int)(len < 40 ? len : 40), list);
			known(g, why, why_len);
			return false;
		}
		list += len + (list[len] == ',');
	}
	return true;
}
