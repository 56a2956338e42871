/*
 * symbols_kernel.c - functions of the kernel that runs, and of its modules: /proc/kallsyms.
 */
#include "collector/symbols/symbols_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	uint64_t at;
	const char *name, *module; /* module NULL: of the kernel itself */
};

struct symbols_kernel {
	char *text;
	struct entry *entry;
	size_t cnt;
};

/* The first name of a place in the file is sorted last, and is found. */
static int by_address(const void *a, const void *b)
{
	const struct entry *one = a, *other = b;

	if (one->at != other->at)
		return one->at < other->at ? -1 : 1;
	return one->name < other->name ? 1 : -1;
}

static char *whole_file(const char *path)
{
	FILE *f = fopen(path, "re");
	size_t len = 0, cap = 1u << 22, n;
	char *text = f ? malloc(cap) : NULL, *grown;

	while (text && (n = fread(text + len, 1, cap - len - 1, f)) > 0) {
		len += n;
		if (cap - len > 1)
			continue;
		grown = realloc(text, cap *= 2);
		if (!grown)
			break;
		text = grown;
	}
	if (text)
		text[len] = 0;
	if (f)
		fclose(f);
	return text;
}

/* "ffffffff81000000 T name\t[module]", of code; addresses are 0 without the right to see them. */
static bool parse(char *line, struct entry *s)
{
	char *end, *tab;

	s->at = strtoull(line, &end, 16);
	if (!s->at || end[0] != ' ' || !end[1] || !strchr("tTwW", end[1]) || end[2] != ' ')
		return false;
	s->name = end + 3;
	s->module = NULL;
	tab = strchr(end + 3, '\t');
	if (tab) {
		*tab = 0;
		s->module = tab + 1;
	}
	return true;
}

struct symbols_kernel *symbols_kernel_open(void)
{
	struct symbols_kernel *k = calloc(1, sizeof(*k));
	size_t cap = 0;
	char *save = NULL;

	if (!k)
		return NULL;
	k->text = whole_file("/proc/kallsyms");
	for (char *line = k->text ? strtok_r(k->text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (k->cnt == cap) {
			struct entry *grown =
				realloc(k->entry, (cap = cap * 2 + 65536) * sizeof(*grown));

			if (!grown)
				break;
			k->entry = grown;
		}
		k->cnt += parse(line, &k->entry[k->cnt]);
	}
	if (k->cnt) {
		qsort(k->entry, k->cnt, sizeof(*k->entry), by_address);
		return k;
	}
	symbols_kernel_close(k);
	return NULL;
}

void symbols_kernel_close(struct symbols_kernel *k)
{
	if (!k)
		return;
	free(k->entry);
	free(k->text);
	free(k);
}

bool symbols_kernel_find(const struct symbols_kernel *k, uint64_t address, const char **function,
			 const char **module)
{
	size_t low = 0, high = k ? k->cnt : 0;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (k->entry[mid].at <= address)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return false;
	*function = k->entry[low - 1].name;
	if (k->entry[low - 1].module)
		*module = k->entry[low - 1].module;
	return true;
}
