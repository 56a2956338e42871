/*
 * db_symbolize_prefetch.c - what is at the addresses of stacks is looked up while stacks still come (symbols.h).
 *
 * A guess that costs little: each address once, in the file that is the youngest there. What it misses is looked up at
 * the end, where the report says what lay where at which time (db_spaces.h).
 */
#include "collector/report/db_internal.h"
#include "collector/report/db_stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/report/db_frames.h"
#include "collector/symbols/symbols.h"
#include "preload/wire/frame.h"

#define ADDRESSES_MAX   (1u << 18)
#define MODULES_MAX     (1u << 18)
#define GENERATIONS_MAX 64
#define EARLY_MAX       1024u

/* The last one of a space comes first. */
struct ahead_module {
	uint64_t start, end, bias;
	struct symbols_module *file;
	uint32_t before; /* place in the list + 1, 0 none */
};

struct db_ahead {
	struct symbols *symbols; /* NULL: names are not wanted */
	struct db_map addresses; /* seen: 1 */
	struct db_map last;      /* module of a space: place in the list + 1 */
	struct db_map parent;    /* of a space */
	struct ahead_module *module;
	uint32_t modules, module_cap;
	bool has_kernel;
	/* Those whose module was not known yet: it may be told of after the stack. */
	struct ahead_early {
		int64_t space;
		uint64_t address;
	} early[EARLY_MAX];
	uint32_t earlies;
};

static struct db_ahead *ahead_of(struct db *db)
{
	struct db_ahead *a = db->ahead;

	if (a)
		return a;
	a = db->ahead = calloc(1, sizeof(*a));
	if (a && db_frames_wanted(db))
		a->symbols = symbols_open();
	return a;
}

void db_ahead_space(struct db *db, int64_t space, int64_t parent)
{
	struct db_ahead *a = ahead_of(db);
	int64_t *there = a && parent ? db_map_get(&a->parent, space) : NULL;

	if (there)
		*there = parent;
}

static bool make_room(struct db_ahead *a)
{
	uint32_t cap = a->module_cap ? a->module_cap * 2 : 256;
	struct ahead_module *more;

	if (a->modules < a->module_cap)
		return true;
	more = cap <= MODULES_MAX ? realloc(a->module, cap * sizeof(*more)) : NULL;
	if (!more)
		return false;
	a->module = more;
	a->module_cap = cap;
	return true;
}

static int64_t value(const struct db_map *m, int64_t key)
{
	return m->cnt ? *db_map_peek(m, key) : 0;
}

static struct ahead_module *module_at(struct db_ahead *a, int64_t space, uint64_t address)
{
	for (int i = 0; space && i < GENERATIONS_MAX; i++, space = value(&a->parent, space))
		for (uint32_t at = (uint32_t)value(&a->last, space); at;
		     at = a->module[at - 1].before)
			if (address >= a->module[at - 1].start && address < a->module[at - 1].end)
				return &a->module[at - 1];
	return NULL;
}

static bool ask(struct db_ahead *a, int64_t space, uint64_t address)
{
	const struct ahead_module *m = module_at(a, space, address);

	if (m)
		symbols_ahead(a->symbols, m->file, address - m->bias);
	return m;
}

/* Those that may lie in a module which has just come: others, made at run time, may never find one. */
static void ask_earlies(struct db_ahead *a, uint64_t start, uint64_t end)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < a->earlies; i++) {
		const struct ahead_early *e = &a->early[i];

		if (e->address < start || e->address >= end || !ask(a, e->space, e->address))
			a->early[left++] = *e;
	}
	a->earlies = left;
}

void db_ahead_module(struct db *db, const struct db_module *m)
{
	struct db_ahead *a = ahead_of(db);
	struct symbols_module *file;
	int64_t *last;

	if (!a || !a->symbols || !make_room(a))
		return;
	file = symbols_module(a->symbols, m->path, m->build_id, m->build_id_len);
	last = file ? db_map_get(&a->last, m->space) : NULL;
	if (!last)
		return;
	a->module[a->modules++] = (struct ahead_module){.start = m->start,
							.end = m->end,
							.bias = m->bias,
							.file = file,
							.before = (uint32_t)*last};
	*last = a->modules;
	ask_earlies(a, m->start, m->end);
}

/* @address: in the call, not behind it. */
static void look(struct db_ahead *a, int64_t space, uint64_t address)
{
	uint64_t key = (uint64_t)space * 0x9e3779b97f4a7c15u ^ address;
	int64_t *seen =
		a->addresses.cnt < ADDRESSES_MAX ? db_map_get(&a->addresses, (int64_t)key) : NULL;

	if (!seen || *seen)
		return;
	*seen = 1;
	if (!ask(a, space, address) && a->earlies < EARLY_MAX)
		a->early[a->earlies++] = (struct ahead_early){.space = space, .address = address};
}

void db_ahead_stack(struct db *db, int64_t space, const uint64_t *frames, size_t cnt)
{
	struct db_ahead *a = ahead_of(db);

	if (!a || !a->symbols)
		return;
	for (size_t i = 0; i < cnt; i++) {
		if (frames[i] & (SL_FRAME_PYTHON | SL_FRAME_REMARK))
			continue;
		if (frames[i] & SL_FRAME_KERNEL) {
			if (!a->has_kernel)
				symbols_ahead(a->symbols, NULL, 0);
			a->has_kernel = true;
		} else {
			look(a, space, sl_frame_address(frames[i]) - !(frames[i] & SL_FRAME_EXACT));
		}
	}
}

bool db_ahead_is_there(const struct db *db)
{
	return db->ahead && db->ahead->symbols;
}

struct symbols *db_ahead_symbols(const struct db *db)
{
	return db->ahead->symbols;
}

bool db_ahead_is_idle(const struct db *db)
{
	return symbols_is_idle(db->ahead->symbols);
}

int db_ahead_take(struct db *db, struct symbols **out)
{
	struct symbols *s = db->ahead ? db->ahead->symbols : NULL;

	*out = s ? s : symbols_open();
	if (!s)
		return *out ? 0 : -ENOMEM;
	db->ahead->symbols = NULL;
	if (symbols_settle(s))
		return 0;
	*out = NULL;
	return -EINTR;
}

void db_ahead_free(struct db *db)
{
	struct db_ahead *a = db->ahead;

	if (!a)
		return;
	symbols_close(a->symbols);
	db_map_free(&a->addresses);
	db_map_free(&a->last);
	db_map_free(&a->parent);
	free(a->module);
	free(a);
	db->ahead = NULL;
}
