/* tracks.c - the timeline's tracks as rows, and the depth at which an event lies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/view/build/live.h"

/* The globalPid or machine of the parent; -1: none. */
static long long of_parent(const struct tl_track *t)
{
	return t->parent ? (long long)t->parent->global : -1;
}

static void number_row(struct view_row *r, const struct tl_track *t)
{
	bool is_thread = t->kind == TL_THREAD || t->kind == TL_GIL;

	r->process = t->process_pid >= 0 && t->global >= 0 ? TL_PROCESS_OF(t->global) : -1;
	if (t->kind == TL_NVTX_GPU)
		r->process = of_parent(t);
	if (t->kind == TL_COUNTER)
		r->process = t->parent && t->parent->kind == TL_MACHINE ? -1 : of_parent(t);
	r->pid = t->process_pid;
	r->thread = is_thread ? t->global : -1;
	r->tid = is_thread ? TL_TID(t->global) : -1;
	r->cpu = t->cpu;
	r->device = t->device;
	r->context = t->context;
	r->stream = t->stream >= 0 ? t->stream : -1;
	r->sort = t->sort;
}

/* "name (number)"; a report's names may be of any length. */
static void name_of(const struct tl_track *t, char *buf, size_t len)
{
	const char *base = t->name;

	switch (t->kind) {
	case TL_PROCESS:
		for (const char *p = base; *p; p++)
			if (*p == '/' && p[1])
				base = p + 1;
		snprintf(buf, len, "%.200s%s(%lld)", *base ? base : "process", " ",
			 (long long)t->process_pid);
		break;
	case TL_THREAD:
		snprintf(buf, len, "%.200s (%lld)", *base ? base : "thread",
			 (long long)TL_TID(t->global));
		break;
	case TL_DEVICE: {
		char process[256] = "?";

		if (t->parent)
			name_of(t->parent, process, sizeof(process));
		snprintf(buf, len, "%.200s of %s", base, process);
		break;
	}
	case TL_MACHINE:
		snprintf(buf, len, "CPUs and counters");
		break;
	default:
		snprintf(buf, len, "%.240s", base);
	}
}

static void key_of(const struct tl_track *t, char *buf, size_t len)
{
	char parent[200] = "";

	switch (t->kind) {
	case TL_PROCESS:
		snprintf(buf, len, "p:%lld", (long long)t->global);
		break;
	case TL_THREAD:
	case TL_GIL:
		snprintf(buf, len, "t:%lld", (long long)t->global);
		break;
	case TL_ASYNC:
		snprintf(buf, len, "p:%lld/async", (long long)t->global);
		break;
	case TL_DEVICE:
		snprintf(buf, len, "g:%lld:%lld", (long long)t->global, (long long)t->device);
		break;
	case TL_STREAM:
		snprintf(buf, len, "g:%lld:%lld/s:%lld:%lld", of_parent(t), (long long)t->device,
			 (long long)t->context, (long long)t->stream);
		break;
	case TL_NVTX_GPU:
		snprintf(buf, len, "g:%lld:%lld/n:%lld:%lld:%lld", of_parent(t),
			 (long long)t->device, (long long)t->global, (long long)t->context,
			 (long long)t->stream);
		break;
	case TL_MACHINE:
		snprintf(buf, len, "m");
		break;
	case TL_CPU:
		snprintf(buf, len, "c:%lld", (long long)t->cpu);
		break;
	default:
		if (t->parent)
			key_of(t->parent, parent, sizeof(parent));
		snprintf(buf, len, "%s/c:%lld", parent, (long long)t->global);
	}
}

static enum view_kind kind_of_track(const struct tl_track *t)
{
	static const enum view_kind kinds[TL_TRACK_KINDS] = {
		[TL_PROCESS] = VIEW_PROCESS, [TL_THREAD] = VIEW_THREAD,
		[TL_ASYNC] = VIEW_ASYNC,     [TL_DEVICE] = VIEW_GPU,
		[TL_STREAM] = VIEW_STREAM,   [TL_NVTX_GPU] = VIEW_NVTX_GPU,
		[TL_MACHINE] = VIEW_MACHINE, [TL_CPU] = VIEW_CPU,
		[TL_COUNTER] = VIEW_COUNTER, [TL_GIL] = VIEW_GIL,
	};

	return t->kind == TL_STREAM && t->stream == TL_SYNC_STREAM ? VIEW_SYNC : kinds[t->kind];
}

/* Names of threads and processes may come after their first events. */
static int rename_row(struct view_store *v, struct view_row *r, const char *name)
{
	char *was, *copy;

	if (strcmp(r->name, name) == 0)
		return 0;
	copy = strdup(name);
	if (!copy)
		return -1;
	pthread_rwlock_wrlock(&v->lock);
	was = r->name;
	r->name = copy;
	pthread_rwlock_unlock(&v->lock);
	free(was);
	return 0;
}

static struct view_row *row_of(struct view_builder *b, const struct tl_track *t)
{
	const struct view_track *parent = t->parent ? t->parent->of_sink : NULL;
	struct view_row *r;
	char key[256], name[512];

	key_of(t, key, sizeof(key));
	if (t->kind == TL_GIL)
		snprintf(key + strlen(key), sizeof(key) - strlen(key), "/gil");
	r = view_row_find(b->v, key);
	name_of(t, name, sizeof(name));
	if (r)
		return rename_row(b->v, r, name) == 0 ? r : NULL;
	/* A GPU stands above the processes. */
	r = view_row_add(b->v, kind_of_track(t),
			 parent && parent->group && t->kind != TL_DEVICE ? parent->group->id : 0,
			 key, name, strlen(name));
	if (!r)
		return NULL;
	number_row(r, t);
	if (t->unit && *t->unit)
		r->unit = strdup(t->unit);
	return r;
}

/* The lane of a row that has one lane. */
static struct view_lane *only_lane(struct view_builder *b, struct view_row *row)
{
	if (b->live && row->lane_cnt > 0)
		return b->v->lanes[row->lanes[0] - 1];
	return view_lane_add(b->v, row);
}

struct view_track *view_track_of(struct view_builder *b, struct tl_track *t)
{
	struct view_track *made = calloc(1, sizeof(*made));

	if (!made)
		return NULL;
	made->track = t;
	made->next = b->tracks;
	b->tracks = made;
	t->of_sink = made;
	made->group = row_of(b, t);
	if (made->group && (t->kind == TL_CPU || t->kind == TL_COUNTER))
		made->lane = only_lane(b, made->group);
	return made->group ? made : NULL;
}

void view_tracks_free(struct view_builder *b)
{
	for (struct view_track *t = b->tracks, *next; t; t = next) {
		next = t->next;
		for (int k = 0; k < VIEW_KINDS; k++)
			free(t->nests[k]);
		free(t);
	}
	b->tracks = NULL;
}

/* ---- events ---- */

/* The kind of an event on the track of a thread, a process or the machine; other tracks are rows themselves. */
static enum view_kind kind_of(const struct tl_event *e)
{
	enum view_kind of_track = kind_of_track(e->track);

	if (of_track != VIEW_THREAD && of_track != VIEW_PROCESS && of_track != VIEW_MACHINE)
		return of_track;
	switch (e->activity) {
	case TL_ACT_NVTX:
		return VIEW_NVTX;
	case TL_ACT_CUDA_API:
		return VIEW_CUDA;
	case TL_ACT_LIBRARY:
		return VIEW_LIBRARY;
	case TL_ACT_OSRT:
		return VIEW_OSRT;
	case TL_ACT_SYSCALL:
		return VIEW_SYSCALL;
	case TL_ACT_SAMPLE:
		return VIEW_SAMPLE;
	case TL_ACT_OVERHEAD:
		return VIEW_OVERHEAD;
	default:
		return VIEW_MARKS;
	}
}

static struct view_row *row_of_kind(struct view_builder *b, const struct view_track *t,
				    enum view_kind kind)
{
	static const char *const texts[VIEW_KINDS] = {
		[VIEW_STATE] = "state",    [VIEW_NVTX] = "NVTX",
		[VIEW_CUDA] = "CUDA API",  [VIEW_LIBRARY] = "libraries",
		[VIEW_OSRT] = "libc",      [VIEW_SYSCALL] = "system calls",
		[VIEW_SAMPLE] = "samples", [VIEW_OVERHEAD] = "overhead of the tracer",
		[VIEW_MARKS] = "messages",
	};
	struct view_row *r;
	char key[300];

	if (t->group->kind == kind)
		return t->group;
	snprintf(key, sizeof(key), "%s/%s", t->group->key, view_kind_names[kind]);
	r = view_row_find(b->v, key);
	if (r)
		return r;
	r = view_row_add(b->v, kind, t->group->id, key, texts[kind] ? texts[kind] : "",
			 texts[kind] ? strlen(texts[kind]) : 0);
	if (r)
		number_row(r, t->track);
	return r;
}

struct view_lane *view_track_state_lane(struct view_builder *b, struct view_track *t)
{
	struct view_row *row = t->lane ? NULL : row_of_kind(b, t, VIEW_STATE);

	if (row)
		t->lane = only_lane(b, row);
	return t->lane;
}

int view_track_slice(struct view_builder *b, const struct tl_event *e, struct view_event *out)
{
	struct view_track *t = e->track->of_sink;
	enum view_kind kind = kind_of(e);
	struct view_nest *n = t->nests[kind];
	uint32_t depth;

	if (!n) {
		n = t->nests[kind] = calloc(1, sizeof(*n));
		if (!n || !(n->row = row_of_kind(b, t, kind)))
			return -1;
	}
	if (b->live)
		return view_live_put(b->live, n->row, VIEW_ADDED, out);
	while (n->open > 0 && n->at[n->open - 1].end <= out->start)
		n->open--;
	depth = n->open;
	if (depth == VIEW_DEPTH_MAX) {
		b->too_deep++;
		return 0;
	}
	if (!n->at[depth].lane && !(n->at[depth].lane = view_lane_add(b->v, n->row)))
		return -1;
	if (e->kind == TL_SLICE)
		n->at[n->open++].end = out->end;
	return view_lane_put(b->v, n->at[depth].lane, out);
}
