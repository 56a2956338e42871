/* gpu_names.c - names of kernels in the three forms of the report, computed once each; hashes of functions' names. */
#include "collector/base/grow.h"
#include "collector/decode/gpu/gpu_internal.h"

#include <stdlib.h>
#include <string.h>

#include "collector/symbols/demangle.h"
#include "collector/model/strings.h"

static int64_t intern(struct arenas *as, const char *text)
{
	return db_string(as->db, text, strlen(text));
}

static void work_out(struct arenas *as, const char *symbol, struct gpu_name *n)
{
	char *text = demangle_full(symbol);
	const char *begin;
	size_t len;

	n->mangled = n->demangled = n->base = intern(as, symbol);
	if (!text)
		return;
	len = demangle_base(text, &begin);
	n->demangled = intern(as, text);
	if (len)
		n->base = db_string(as->db, begin, len);
	free(text);
}

static struct gpu_name *slot(struct arena *a, uint32_t string)
{
	struct gpu_arena *g = a->family.gpu;
	struct gpu_name *page =
		grow_page(&g->name, &g->names, string / STRINGS_PAGE, STRINGS_PAGE * sizeof(*page));

	return page ? &page[string % STRINGS_PAGE] : NULL;
}

const struct gpu_name *gpu_name(struct arenas *as, struct arena *a, uint32_t string, bool force)
{
	static struct gpu_name unknown;
	const char *symbol = string_find(a, string);
	struct gpu_name *n = symbol ? slot(a, string) : NULL;

	if (n && !n->is_known) {
		work_out(as, symbol, n);
		n->is_known = true;
	}
	if (n || !force)
		return n;
	unknown.mangled = unknown.demangled = unknown.base = intern(as, "[unknown]");
	return &unknown;
}

/* Where the last of these endings begins, or @len. */
static size_t without_ending(const char *name, size_t len)
{
	size_t digits = len;

	if (len > 5 &&
	    (memcmp(name + len - 5, "_ptsz", 5) == 0 || memcmp(name + len - 5, "_ptds", 5) == 0))
		return len - 5;
	while (digits > 2 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
		digits--;
	if (digits < len && digits > 2 && memcmp(name + digits - 2, "_v", 2) == 0)
		return digits - 2;
	return len;
}

uint32_t gpu_hash(const char *name)
{
	uint32_t hash = 2166136261u;
	size_t len = strlen(name), before;

	do {
		before = len;
		len = without_ending(name, len);
	} while (len != before);
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)name[i]) * 16777619u;
	return hash ? hash : 1;
}

/*
 * cudaLaunchKernel, __cudaLaunchKernel_ptsz and CUPTI's cudaLaunchKernel_ptsz_v7000 are one function to the program; hook
 * and CUPTI may name it differently.
 */
uint32_t gpu_canon(const char *name)
{
	while (*name == '_')
		name++;
	return gpu_hash(name);
}

uint32_t gpu_canon_string(struct arena *a, uint32_t string)
{
	const char *name = string_find(a, string);
	struct gpu_name *n = name ? slot(a, string) : NULL;

	if (!n)
		return 0;
	if (!n->canon)
		n->canon = gpu_canon(name);
	return n->canon;
}
