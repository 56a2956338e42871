/* stack_tree.c - all stacks of a report as one tree, outermost frames first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "exporters/read/intern.h"
#include "exporters/stacks/stack_costs.h"

#define DEPTH_MAX 1024 /* of deeper stacks the innermost frames are left out */

int stack_costs_fail(struct stack_costs *w)
{
	snprintf(w->why, w->why_len, "%s", w->failed ? "out of memory" : sqlite3_errmsg(w->db));
	return -1;
}

const char *stack_string(struct stack_costs *w, int64_t id)
{
	uint64_t *at = map_at(&w->strings, (uint64_t)id, true);
	const char *text = "";
	char *copy;

	if (at && *at)
		return (const char *)(uintptr_t)*at;
	sqlite3_bind_int64(w->string, 1, id);
	if (sqlite3_step(w->string) == SQLITE_ROW && sqlite3_column_text(w->string, 0))
		text = (const char *)sqlite3_column_text(w->string, 0);
	copy = strdup(text);
	sqlite3_reset(w->string);
	if (!at || !copy) {
		free(copy);
		w->failed = true;
		return "";
	}
	*at = (uintptr_t)copy;
	return copy;
}

/* ---- frames ---- */

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Addresses without a name are their module: nothing else would sum up. */
static char *frame_text(const struct stack_costs *w, const struct stack_frame *f, bool unresolved)
{
	const char *module = base_of(f->module), *name = f->function;
	char plain[512], *text = NULL;
	int rc;

	if (unresolved || !*name) {
		snprintf(plain, sizeof(plain), *module == '[' ? "%s" : "[%s]",
			 *module ? module : "unknown");
		name = plain;
	}
	if (w->frames == FRAMES_BY_LINE && *f->file && f->line > 0)
		rc = asprintf(&text, "%s (%s:%lld)", name, base_of(f->file), (long long)f->line);
	else if (w->frames == FRAMES_BY_LINE && *f->file)
		rc = asprintf(&text, "%s (%s)", name, base_of(f->file));
	else if (w->frames == FRAMES_BY_MODULE && *module && name != plain)
		rc = asprintf(&text, "%s (%s)", name, module);
	else
		rc = asprintf(&text, "%s", name);
	return rc < 0 ? NULL : text;
}

/* The number of a frame; takes over f->text. */
static uint32_t frame_of(struct stack_costs *w, struct stack_frame *f)
{
	uint64_t hash = hash_bytes(f->kind, f->text, strlen(f->text));
	uint64_t exact[4] = {(uintptr_t)f->module, (uintptr_t)f->file, (uint64_t)f->line,
			     (uint64_t)f->ip ^ (uint64_t)f->inlined << 63};
	uint64_t *at;

	if (w->frames == FRAMES_BY_EXACT)
		hash = hash_bytes(hash, exact, sizeof(exact));
	at = map_at(&w->frame_of, hash, true);
	if (at && *at) {
		free(f->text);
		return (uint32_t)*at - 1;
	}
	if (at)
		grow(&w->frame, w->frame_cnt, &w->frame_max, sizeof(*w->frame));
	if (!at || w->frame_cnt == w->frame_max) {
		free(f->text);
		w->failed = true;
		return 0;
	}
	/* Line ends would end a line of some outputs. */
	for (char *p = f->text; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
	w->frame[w->frame_cnt] = *f;
	*at = ++w->frame_cnt;
	return w->frame_cnt - 1;
}

enum {
	COL_STACK,
	COL_DEPTH,
	COL_KIND,
	COL_SYMBOL,
	COL_MODULE,
	COL_FILE,
	COL_LINE,
	COL_INLINED,
	COL_UNRESOLVED,
	COL_IP,
	COL_FRAME
};

/* Most frames come again and again: found by the report's numbers, before any text is compared. */
static uint32_t frame_of_row(struct stack_costs *w, sqlite3_stmt *stmt)
{
	bool own = sqlite3_column_type(stmt, COL_FRAME) != SQLITE_NULL;
	uint64_t key = (uint64_t)sqlite3_column_int64(stmt, COL_FRAME), *at;
	struct stack_frame f = {0};
	uint32_t frame;

	if (!own) {
		int64_t raw[7];

		for (int i = 0; i < 7; i++)
			raw[i] = sqlite3_column_int64(stmt, COL_KIND + i);
		if (w->frames == FRAMES_BY_EXACT)
			raw[6] = sqlite3_column_int64(stmt, COL_IP);
		key = hash_bytes(sqlite3_column_int(stmt, COL_UNRESOLVED) + 1u, raw, sizeof(raw));
	}
	at = map_at(&w->leaf_of, key, true);
	if (at && *at)
		return (uint32_t)*at - 1;
	f.kind = (enum stack_frame_kind)sqlite3_column_int(stmt, COL_KIND);
	f.function = stack_string(w, sqlite3_column_int64(stmt, COL_SYMBOL));
	f.module = stack_string(w, sqlite3_column_int64(stmt, COL_MODULE));
	f.file = sqlite3_column_type(stmt, COL_FILE) == SQLITE_NULL
			 ? ""
			 : stack_string(w, sqlite3_column_int64(stmt, COL_FILE));
	f.line = sqlite3_column_int64(stmt, COL_LINE);
	f.ip = sqlite3_column_int64(stmt, COL_IP);
	f.inlined = sqlite3_column_int(stmt, COL_INLINED) == 1;
	f.text = frame_text(w, &f, sqlite3_column_int(stmt, COL_UNRESOLVED) == 1);
	if (!f.text || !at) {
		free(f.text);
		w->failed = true;
		return 0;
	}
	frame = frame_of(w, &f);
	/* The map may have grown meanwhile; not this one. */
	*at = (uint64_t)frame + 1;
	return frame;
}

/* ---- the tree ---- */

static uint32_t node_of(struct stack_costs *w, uint32_t parent, uint32_t frame)
{
	uint64_t *at = map_at(&w->child_of, (uint64_t)parent << 32 | frame, true);

	if (at && *at)
		return (uint32_t)*at;
	if (at)
		grow(&w->node, w->node_cnt, &w->node_max, sizeof(*w->node));
	if (!at || w->node_cnt == w->node_max) {
		w->failed = true;
		return 0;
	}
	if (w->node_cnt == 0) /* the root */
		w->node[w->node_cnt++] = (struct stack_node){0};
	w->node[w->node_cnt] = (struct stack_node){parent, frame};
	*at = w->node_cnt;
	return w->node_cnt++;
}

uint32_t stack_leaf(struct stack_costs *w, uint32_t parent, enum stack_frame_kind kind,
		    const char *text)
{
	struct stack_frame f = {.kind = kind, .module = "", .file = "", .text = strdup(text)};

	if (!f.text) {
		w->failed = true;
		return 0;
	}
	f.function = f.text;
	return node_of(w, parent, frame_of(w, &f));
}

uint32_t stack_no_stack(struct stack_costs *w)
{
	return stack_leaf(w, 0, FRAME_REMARK, "[no stack]");
}

/* ---- reading ---- */

struct pass {
	struct stack_costs *w;
	int64_t stack;
	uint32_t frame[DEPTH_MAX]; /* innermost first */
	int64_t depth;             /* of the last one */
	unsigned cnt;
};

/* Native frames go, with the interpreter's; a stack that has no others is one frame. */
static uint32_t python_node(struct pass *p)
{
	uint32_t node = 0;

	for (unsigned i = p->cnt; i-- > 0;)
		if (p->w->frame[p->frame[i]].kind == FRAME_PYTHON)
			node = node_of(p->w, node, p->frame[i]);
	p->w->has_python |= node != 0;
	return node ? node : stack_leaf(p->w, 0, FRAME_REMARK, "[no Python]");
}

static void end_stack(struct pass *p)
{
	uint64_t *at = p->cnt ? map_at(&p->w->node_of, (uint64_t)p->stack, true) : NULL;
	uint32_t node = 0;

	if (p->cnt && !at)
		p->w->failed = true;
	if (!at || p->w->failed)
		return;
	/* The stack's frames did not lie together. */
	p->w->unsorted |= *at != 0;
	if (p->w->python_only)
		node = python_node(p);
	for (unsigned i = p->w->python_only ? 0 : p->cnt; i-- > 0;)
		node = node_of(p->w, node, p->frame[i]);
	*at = node;
	p->cnt = 0;
}

static void take_row(struct pass *p, sqlite3_stmt *stmt)
{
	int64_t stack = sqlite3_column_int64(stmt, COL_STACK);
	int64_t depth = sqlite3_column_int64(stmt, COL_DEPTH);

	if (stack != p->stack || p->cnt == 0) {
		end_stack(p);
		p->stack = stack;
		p->depth = -1;
	}
	if (depth <= p->depth)
		p->w->unsorted = true;
	p->depth = depth;
	if (p->cnt == DEPTH_MAX) {
		memmove(p->frame, p->frame + 1, (DEPTH_MAX - 1) * sizeof(p->frame[0]));
		p->cnt--;
	}
	p->frame[p->cnt++] = frame_of_row(p->w, stmt);
}

/* Tables of stacks lie stack by stack, innermost first; where they do not, they are sorted. */
int stack_costs_read(struct stack_costs *w)
{
	static const char sql[] = "SELECT stack, depth, kind, symbol, module, file, line, inlined, "
				  "unresolved, ip, frame FROM SL_CHAIN_FRAMES";
	static const char sorted[] =
		"SELECT stack, depth, kind, symbol, module, file, line, inlined, "
		"unresolved, ip, frame FROM SL_CHAIN_FRAMES ORDER BY 1, 2";
	struct pass *p = calloc(1, sizeof(*p));
	sqlite3_stmt *stmt = NULL;
	int rc = SQLITE_NOMEM;

	w->failed |= !p;
	for (int again = 0; p && again < 2 && (!again || w->unsorted) && !w->failed; again++) {
		p->w = w;
		p->cnt = 0;
		map_free(&w->node_of);
		w->unsorted = false;
		rc = sqlite3_prepare_v2(w->db, again ? sorted : sql, -1, &stmt, NULL);
		while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
			take_row(p, stmt);
			rc = w->failed || (w->unsorted && !again) ? SQLITE_ABORT : SQLITE_OK;
		}
		if (rc == SQLITE_DONE)
			end_stack(p);
		sqlite3_finalize(stmt);
		if (rc == SQLITE_ABORT && !w->failed)
			rc = SQLITE_DONE;
	}
	free(p);
	return rc == SQLITE_DONE && !w->failed ? 0 : stack_costs_fail(w);
}
