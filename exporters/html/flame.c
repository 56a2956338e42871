/* flame.c - COMPOSITE_EVENTS and SAMPLING_CALLCHAINS into a tree of call stacks. */
#include <stdlib.h>
#include <string.h>

#include "exporters/db_read.h"
#include "exporters/html/flame.h"

struct sample {
	int64_t gpid;
	bool counts, done;
};

struct pass {
	struct scan *scan;
	struct flame *flame;
	struct id_map ids;
	struct sample *samples;
	size_t room;
	bool late; /* the frames of a sample do not lie together */
	/* the stack that is being read */
	long sample;
	int64_t frame[FLAME_DEPTH_MAX];
	bool kernel[FLAME_DEPTH_MAX];
	int depth; /* frames, innermost first; 0: none yet */
};

/* ---- the tree ---- */

static long label_of(struct flame *f, int64_t key, bool kernel)
{
	long i = id_map_add(&f->labels, key);

	if (i >= 0 && (size_t)i >= f->kernel_room) {
		size_t room = f->kernel_room ? 2 * f->kernel_room : 256;
		bool *more = reallocarray(f->kernel, room, sizeof(*more));

		if (!more)
			return -1;
		f->kernel = more;
		f->kernel_room = room;
	}
	if (i >= 0)
		f->kernel[i] = kernel;
	return i;
}

/* The child of @parent that is called so. */
static long node_of(struct flame *f, uint32_t parent, int64_t key, bool kernel)
{
	long label = label_of(f, key, kernel), i;

	if (label < 0)
		return -1;
	i = id_map_add(&f->edges, (int64_t)((uint64_t)parent << 32 | (uint32_t)label));
	if (i < 0)
		return -1;
	if ((size_t)i + 1 == f->node_cnt) {
		if (f->node_cnt == f->node_room) {
			struct flame_node *more =
				reallocarray(f->nodes, 2 * f->node_room, sizeof(*more));

			if (!more)
				return -1;
			f->nodes = more;
			f->node_room *= 2;
		}
		f->nodes[f->node_cnt++] =
			(struct flame_node){.parent = parent, .label = (uint32_t)label};
	}
	return i + 1;
}

/* ---- samples ---- */

static int read_samples(struct pass *p)
{
	/* Stacks with cpuCycles 0 were taken when a thread was switched, not when time had passed. */
	sqlite3_stmt *stmt = scan_prepare(
		p->scan,
		"SELECT id, globalTid >> 24, cpuCycles > 0 OR NOT EXISTS "
		"(SELECT 1 FROM COMPOSITE_EVENTS WHERE cpuCycles > 0) FROM COMPOSITE_EVENTS");
	int rc;

	if (!stmt)
		return -1;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		long i = id_map_add(&p->ids, sqlite3_column_int64(stmt, 0));

		if (i >= 0 && (size_t)i >= p->room) {
			size_t room = p->room ? 2 * p->room : 1024;
			struct sample *more = reallocarray(p->samples, room, sizeof(*more));

			p->samples = more ? more : p->samples;
			p->room = more ? room : p->room;
		}
		if (i < 0 || (size_t)i >= p->room) {
			rc = SQLITE_NOMEM;
			break;
		}
		p->samples[i] = (struct sample){.gpid = sqlite3_column_int64(stmt, 1),
						.counts = sqlite3_column_int(stmt, 2) != 0};
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? 0 : scan_fail(p->scan, rc);
}

static int end_stack(struct pass *p)
{
	struct flame *f = p->flame;
	struct sample *s = p->sample >= 0 ? &p->samples[p->sample] : NULL;
	long node;

	if (!s || p->depth == 0)
		return 0;
	p->late |= s->done;
	s->done = true;
	if (!s->counts || p->late)
		return 0;
	f->nodes[0].cnt++;
	node = node_of(f, 0, FRAME_KEY(s->gpid, FRAME_PROCESS), false);
	for (int i = p->depth - 1; i >= -1 && node >= 0; i--) {
		f->nodes[node].cnt++;
		if (i < 0)
			f->nodes[node].self++;
		else
			node = node_of(f, (uint32_t)node, p->frame[i], p->kernel[i]);
	}
	return node < 0 ? scan_fail(p->scan, 0) : 0;
}

static int take_frame(struct pass *p, sqlite3_stmt *stmt)
{
	long sample = id_map_find(&p->ids, sqlite3_column_int64(stmt, 0));
	int64_t depth = sqlite3_column_int64(stmt, 1);
	bool unresolved = sqlite3_column_int(stmt, 4) != 0;

	if (sample != p->sample) {
		if (end_stack(p) < 0)
			return -1;
		p->sample = sample;
		p->depth = 0;
	}
	if (sample < 0 || depth < 0 || depth >= FLAME_DEPTH_MAX)
		return 0;
	/* A frame that is missing between others has no name. */
	for (; p->depth < depth; p->depth++)
		p->frame[p->depth] = FRAME_KEY(0, FRAME_SYMBOL);
	p->frame[depth] = unresolved ? FRAME_KEY(sqlite3_column_int64(stmt, 3), FRAME_MODULE)
				     : FRAME_KEY(sqlite3_column_int64(stmt, 2), FRAME_SYMBOL);
	p->kernel[depth] = sqlite3_column_int(stmt, 5) == 1;
	if (p->depth <= depth)
		p->depth = (int)depth + 1;
	return 0;
}

static int read_stacks(struct pass *p, bool sorted)
{
	sqlite3_stmt *stmt = scan_prepare(
		p->scan, sorted ? "SELECT id, stackDepth, symbol, module, unresolved, kernelMode "
				  "FROM SAMPLING_CALLCHAINS ORDER BY id"
				: "SELECT id, stackDepth, symbol, module, unresolved, kernelMode "
				  "FROM SAMPLING_CALLCHAINS");
	int rc, err = 0;

	if (!stmt)
		return -1;
	p->sample = -1;
	p->depth = 0;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && err == 0 && !p->late)
		err = take_frame(p, stmt);
	if (err == 0 && rc != SQLITE_ROW && rc != SQLITE_DONE)
		err = scan_fail(p->scan, rc);
	sqlite3_finalize(stmt);
	return err == 0 ? end_stack(p) : err;
}

static int reset(struct pass *p)
{
	struct flame *f = p->flame;

	flame_free(f);
	f->node_room = 1024;
	f->nodes = calloc(f->node_room, sizeof(*f->nodes));
	f->node_cnt = 1;
	for (size_t i = 0; i < p->ids.cnt; i++)
		p->samples[i].done = false;
	p->late = false;
	return f->nodes ? 0 : scan_fail(p->scan, 0);
}

int flame_read(struct flame *f, struct scan *s)
{
	struct pass p = {.scan = s, .flame = f};
	int rc = read_samples(&p);

	if (rc == 0)
		rc = reset(&p);
	if (rc == 0)
		rc = read_stacks(&p, false);
	if (rc == 0 && p.late) {
		rc = reset(&p);
		if (rc == 0)
			rc = read_stacks(&p, true);
	}
	free(p.samples);
	id_map_free(&p.ids);
	return rc;
}

void flame_free(struct flame *f)
{
	id_map_free(&f->labels);
	id_map_free(&f->edges);
	free(f->kernel);
	free(f->nodes);
	memset(f, 0, sizeof(*f));
}
