/*
 * symbols_kernel.c - functions of the kernel that runs, and of its modules: the kernel answers for each address
 * (kernel_asker.h); /proc/kallsyms where it may not, or has no answer.
 */
#include "collector/symbols/symbols_internal.h"

#include "collector/base/grow.h"
#include "collector/base/map.h"
#include "collector/base/search.h"
#include "collector/symbols/kernel_asker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	uint64_t at;
	const char *name, *module; /* module NULL: of the kernel itself */
};

#define ASKED_MOST 8192u /* questions that take less time than reading the table */

struct table {
	char *text;
	struct entry *entry;
	size_t cnt;
};

struct found {
	const char *function, *module; /* function NULL: no name; module NULL: the kernel itself */
};

struct symbols_kernel {
	struct kernel_asker *asker; /* NULL: the table answers */
	struct table table;
	bool has_table;    /* was tried */
	struct map number; /* of an address: index of its answer */
	struct found *found;
	size_t cnt, cap;
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

static void table_read(struct table *t)
{
	size_t cap = 0;
	char *save = NULL;

	t->text = whole_file("/proc/kallsyms");
	for (char *line = t->text ? strtok_r(t->text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (t->cnt == cap) {
			struct entry *grown =
				realloc(t->entry, (cap = cap * 2 + 65536) * sizeof(*grown));

			if (!grown)
				break;
			t->entry = grown;
		}
		t->cnt += parse(line, &t->entry[t->cnt]);
	}
	if (t->cnt)
		qsort(t->entry, t->cnt, sizeof(*t->entry), by_address);
}

static bool table_find(const struct table *t, uint64_t address, struct found *found)
{
	size_t low = search_first(i, 0, t->cnt, t->entry[i].at <= address);

	if (!low)
		return false;
	found->function = t->entry[low - 1].name;
	found->module = t->entry[low - 1].module;
	return true;
}

struct symbols_kernel *symbols_kernel_open(void)
{
	struct symbols_kernel *k = calloc(1, sizeof(*k));

	if (k)
		k->asker = kernel_asker_open();
	return k;
}

void symbols_kernel_close(struct symbols_kernel *k)
{
	if (!k)
		return;
	kernel_asker_close(k->asker);
	free(k->table.entry);
	free(k->table.text);
	map_free(&k->number);
	free(k->found);
	free(k);
}

static bool ask(struct symbols *s, const struct symbols_kernel *k, uint64_t address,
		struct found *found)
{
	char text[KERNEL_TEXT_BYTES];
	const char *function, *module;

	if (!k->asker || k->cnt >= ASKED_MOST || !kernel_asker_ask(k->asker, address, text) ||
	    kernel_answer_parse(text, &function, &module) != KERNEL_NAMED)
		return false;
	found->function = symbols_text(s, function);
	found->module = module ? symbols_text(s, module) : NULL;
	return found->function && (found->module || !module);
}

static void look_up(struct symbols *s, struct symbols_kernel *k, uint64_t address,
		    struct found *found)
{
	*found = (struct found){NULL, NULL};
	if (ask(s, k, address, found))
		return;
	if (!k->has_table)
		table_read(&k->table);
	k->has_table = true;
	table_find(&k->table, address, found);
}

/* An answer that finds no room is looked up again. */
static void keep(struct symbols_kernel *k, uint64_t address, const struct found *found)
{
	uint64_t *number;

	if (k->cnt >= ASKED_MOST || !grow(&k->found, k->cnt, &k->cap, sizeof(*k->found)))
		return;
	number = map_at(&k->number, address, true);
	if (!number)
		return;
	*number = k->cnt;
	k->found[k->cnt++] = *found;
}

bool symbols_kernel_find(struct symbols *s, struct symbols_kernel *k, uint64_t address,
			 const char **function, const char **module)
{
	const uint64_t *number = k ? map_at(&k->number, address, false) : NULL;
	struct found found = {NULL, NULL};

	if (number) {
		found = k->found[*number];
	} else if (k) {
		look_up(s, k, address, &found);
		keep(k, address, &found);
	}
	if (!found.function)
		return false;
	*function = found.function;
	if (found.module)
		*module = found.module;
	return true;
}
