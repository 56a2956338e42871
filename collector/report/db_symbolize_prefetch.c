/*
 * db_symbolize_prefetch.c - hands addresses of new stacks to the prefetch thread (symbols.h) while the program runs.
 *
 * A heuristic: each address once, in the youngest module that covers it. db_symbolize_all.c looks
 * up missed addresses at the end, by the report's modules of each time.
 */
#include "collector/report/db_internal.h"
#include "collector/report/db_stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/base/grow.h"
#include "collector/report/db_frames.h"
#include "collector/symbols/symbols.h"
#include "preload/wire/frame.h"

#define ADDRESSES_MAX   (1u << 18)
#define MODULES_MAX     (1u << 18)
#define GENERATIONS_MAX 64
#define TRIES_MAX       4 /* a module's record may come after those of its first stacks */

struct prefetch_module {
	uint64_t start, end, bias;
	struct symbols_module *file;
	uint32_t before; /* the older one of the same space: index + 1, 0 none */
};

struct db_prefetch {
	struct symbols *symbols; /* NULL: --resolve-symbols=false */
	struct db_map addresses; /* how often each was tried */
	struct db_map last;      /* youngest module of a space: index + 1 */
	struct db_map parent;    /* of a space */
	struct prefetch_module *module;
	uint32_t modules, module_cap;
};

static struct db_prefetch *prefetch_of(struct db *db)
{
	struct db_prefetch *p = db->stacks.prefetch;

	if (p)
		return p;
	p = db->stacks.prefetch = calloc(1, sizeof(*p));
	if (p && db_frames_wanted(db))
		p->symbols = symbols_open();
	return p;
}

void db_prefetch_space(struct db *db, int64_t space, int64_t parent)
{
	struct db_prefetch *p = prefetch_of(db);
	int64_t *entry = p && parent ? db_map_get(&p->parent, space) : NULL;

	if (entry)
		*entry = parent;
}

static bool make_room(struct db_prefetch *p)
{
	return p->modules < MODULES_MAX &&
	       grow(&p->module, p->modules, &p->module_cap, sizeof(*p->module));
}

void db_prefetch_module(struct db *db, const struct db_module *m)
{
	struct db_prefetch *p = prefetch_of(db);
	struct symbols_module *file;
	int64_t *last;

	if (!p || !p->symbols || !make_room(p))
		return;
	file = symbols_module(p->symbols, m->path, m->build_id, m->build_id_len);
	if (file)
		symbols_mapped(
			p->symbols, file,
			&(struct symbols_mapped){db_space_pid(db, m->space), m->start, m->end});
	last = file ? db_map_get(&p->last, m->space) : NULL;
	if (!last)
		return;
	p->module[p->modules++] = (struct prefetch_module){.start = m->start,
							   .end = m->end,
							   .bias = m->bias,
							   .file = file,
							   .before = (uint32_t)*last};
	*last = p->modules;
}

static int64_t value(const struct db_map *m, int64_t key)
{
	return m->cnt ? *db_map_peek(m, key) : 0;
}

static const struct prefetch_module *module_at(const struct db_prefetch *p, int64_t space,
					       uint64_t address)
{
	for (int i = 0; space && i < GENERATIONS_MAX; i++, space = value(&p->parent, space))
		for (uint32_t at = (uint32_t)value(&p->last, space); at;
		     at = p->module[at - 1].before)
			if (address >= p->module[at - 1].start && address < p->module[at - 1].end)
				return &p->module[at - 1];
	return NULL;
}

/* How often the address was tried; NULL: it is not tried again. */
static int64_t *tries_of(struct db_prefetch *p, int64_t space, uint64_t address)
{
	uint64_t key = (uint64_t)space * 0x9e3779b97f4a7c15u ^ address;
	int64_t *tries =
		p->addresses.cnt < ADDRESSES_MAX ? db_map_get(&p->addresses, (int64_t)key) : NULL;

	return tries && *tries < TRIES_MAX ? tries : NULL;
}

static void look_up(struct db_prefetch *p, int64_t space, uint64_t address)
{
	int64_t *tries = tries_of(p, space, address);
	const struct prefetch_module *m;

	if (!tries)
		return;
	m = module_at(p, space, address);
	*tries = m ? TRIES_MAX : *tries + 1;
	if (m)
		symbols_prefetch(p->symbols, m->file, address - m->bias);
}

static void look_up_kernel(struct db_prefetch *p, uint64_t address)
{
	int64_t *tries = tries_of(p, 0, address);

	if (!tries)
		return;
	*tries = TRIES_MAX;
	symbols_prefetch(p->symbols, NULL, address);
}

void db_prefetch_stack(struct db *db, int64_t space, const uint64_t *frames, size_t cnt)
{
	struct db_prefetch *p = prefetch_of(db);

	if (!p || !p->symbols)
		return;
	for (size_t i = 0; i < cnt; i++) {
		/* In the call, not after it. */
		uint64_t address = sl_frame_address(frames[i]) - !(frames[i] & SL_FRAME_EXACT);

		if (frames[i] & (SL_FRAME_PYTHON | SL_FRAME_REMARK))
			continue;
		if (frames[i] & SL_FRAME_KERNEL)
			look_up_kernel(p, address);
		else
			look_up(p, space, address);
	}
}

int db_prefetch_take(struct db *db, struct symbols **out)
{
	struct symbols *s = db->stacks.prefetch ? db->stacks.prefetch->symbols : NULL;

	*out = s ? s : symbols_open();
	if (!s)
		return *out ? 0 : -ENOMEM;
	db->stacks.prefetch->symbols = NULL;
	if (symbols_settle(s))
		return 0;
	*out = NULL;
	return -EINTR;
}

void db_prefetch_free(struct db *db)
{
	struct db_prefetch *p = db->stacks.prefetch;

	if (!p)
		return;
	symbols_close(p->symbols);
	db_map_free(&p->addresses);
	db_map_free(&p->last);
	db_map_free(&p->parent);
	free(p->module);
	free(p);
	db->stacks.prefetch = NULL;
}
