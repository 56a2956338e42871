/*
 * gpu_streams.c - names that a program gives to streams by NVTX: NVTX has handles, reports have CUPTI's numbers.
 *
 * CUPTI cannot resolve them: it dereferences a handle that is not valid any more, and a call into the driver would be
 * recorded. So some calls with a named handle as an argument are remembered; the GPU's work for one of them has the
 * number. Handles are reused: a name holds for calls from its time on, up to the next name for the handle. Names and
 * remembered calls are in SL_STATE, too.
 */
#include "collector/decode/gpu/gpu_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/report/db_nvtx.h"

#define NAMES_MAX 1024u /* of a process */

struct gpu_named {
	struct gpu_named *next; /* the youngest is the first */
	uint64_t handle;
	int64_t since; /* session ns */
	uint32_t calls;
	uint32_t place; /* in SL_STATE */
	bool is_done;   /* has its row */
	char text[];
};

static struct gpu_process *find(const struct gpu_arena *g, uint32_t number)
{
	struct gpu_process *p = g ? g->first : NULL;

	while (p && p->id.number != number)
		p = p->next;
	return p;
}

static void changed(struct gpu_process *p)
{
	p->arena->save.has_named = p->arena->save.has_changed = true;
}

static struct gpu_named *named_new(struct gpu_process *p, uint64_t handle, int64_t since,
				   const char *name, size_t len)
{
	struct gpu_named *n = p->streams.cnt < NAMES_MAX ? calloc(1, sizeof(*n) + len + 1) : NULL;

	if (!n)
		return NULL;
	n->handle = handle;
	n->since = since;
	memcpy(n->text, name, len);
	p->streams.cnt++;
	return n;
}

void gpu_stream_named(struct arena *a, uint32_t number, uint64_t handle, int64_t ns,
		      const char *name)
{
	struct gpu_process *p = find(a->family.gpu, number);
	/* Before the first call into CUDA there is no stream. */
	struct gpu_named *n = p ? named_new(p, handle, ns, name, strlen(name)) : NULL;

	if (!n)
		return;
	n->next = p->streams.named;
	p->streams.named = n;
	p->streams.open++;
	changed(p);
}

static struct gpu_named *name_for(struct gpu_process *p, uint64_t handle, int64_t ns)
{
	struct gpu_named *n = p->streams.named;

	while (n && (n->handle != handle || n->since > ns))
		n = n->next;
	return n;
}

/* The first 64, then fewer and fewer: calls on a stream that is being captured cause no work. */
static bool is_remembered(uint32_t call)
{
	return call < 64 || call % (1u << (26 - __builtin_clz(call))) == 0;
}

void gpu_stream_passed(struct gpu_process *p, uint64_t handle, int64_t start, int64_t id)
{
	struct gpu_named *n = name_for(p, handle, start);
	int64_t *call;

	if (!n || n->is_done || !is_remembered(n->calls++))
		return;
	call = db_map_get(&p->streams.calls, id);
	if (!call)
		return;
	*call = (int64_t)(intptr_t)n;
	changed(p);
}

void gpu_stream_seen(struct arenas *as, struct gpu_process *p, int64_t id, int64_t device,
		     uint32_t context, uint32_t stream)
{
	const int64_t row[] = {p->id.pid, device, context, stream};
	struct gpu_named *n;

	if (stream == SL_GPU_NONE || !p->streams.calls.cnt)
		return;
	n = (struct gpu_named *)(intptr_t)*db_map_peek(&p->streams.calls, id);
	if (!n || n->is_done)
		return;
	db_nvtx_row(as->db, DB_NVTX_CUDA_STREAM, row, &(const char *){n->text});
	n->is_done = true;
	p->streams.open--;
	changed(p);
}

void gpu_streams_shift(struct gpu_process *p, int64_t by)
{
	for (struct gpu_named *n = p->streams.named; n; n = n->next)
		n->since -= by;
	if (p->streams.named)
		changed(p);
}

void gpu_streams_release(struct gpu_process *p)
{
	while (p->streams.named) {
		struct gpu_named *n = p->streams.named;

		p->streams.named = n->next;
		free(n);
	}
	db_map_free(&p->streams.calls);
}

/* ---- for recover ---- */

/* Key "gpu.ARENA.streams": this, then names, each with its text, then calls. */
struct saved_streams {
	uint32_t names, calls;
};
struct saved_named {
	uint64_t handle;
	int64_t since;
	uint32_t number, calls, is_done, len; /* of the text, without its end */
};
struct saved_passed {
	int64_t id;
	uint32_t number, name; /* the process, the place among the names */
};

static void key_of(char key[48], const struct arena *a)
{
	snprintf(key, 48, "gpu.%u.streams", a->id);
}

static size_t padded(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

static bool put_names(struct gpu_queue *out, const struct gpu_process *p, uint32_t *cnt)
{
	for (struct gpu_named *n = p->streams.named; n; n = n->next) {
		uint32_t len = (uint32_t)strlen(n->text);
		struct saved_named *s = gpu_queue_add(out, sizeof(*s) + padded(len + 1));

		if (!s)
			return false;
		memset(s, 0, sizeof(*s) + padded(len + 1));
		*s = (struct saved_named){n->handle, n->since,   p->id.number,
					  n->calls,  n->is_done, len};
		memcpy(s + 1, n->text, len);
		n->place = (*cnt)++;
	}
	return true;
}

static bool put_calls(struct gpu_queue *out, const struct gpu_process *p, uint32_t *cnt)
{
	for (uint32_t i = 0; i < p->streams.calls.cap; i++) {
		const struct gpu_named *n =
			(const struct gpu_named *)(intptr_t)p->streams.calls.val[i];
		struct saved_passed *s;

		if (!n || n->is_done)
			continue;
		s = gpu_queue_add(out, sizeof(*s));
		if (!s)
			return false;
		*s = (struct saved_passed){p->streams.calls.key[i], p->id.number, n->place};
		(*cnt)++;
	}
	return true;
}

int gpu_streams_save(struct arenas *as, struct arena *a)
{
	struct saved_streams head = {0};
	struct gpu_queue out = {0};
	bool ok = true;
	char key[48];
	int err = 0;

	if (!a->family.gpu->save.has_named)
		return 0;
	a->family.gpu->save.has_named = false;
	ok = gpu_queue_add(&out, sizeof(head));
	for (const struct gpu_process *p = a->family.gpu->first; p && ok; p = p->next)
		ok = put_names(&out, p, &head.names);
	for (const struct gpu_process *p = a->family.gpu->first; p && ok; p = p->next)
		ok = put_calls(&out, p, &head.calls);
	if (ok) {
		memcpy(out.at, &head, sizeof(head));
		key_of(key, a);
		err = db_state_set(as->db, key, out.at, out.len);
	}
	free(out.at);
	return err;
}

/* The text lies behind @s, in a blob that may be damaged. NULL: not kept. */
static struct gpu_named *load_name(const struct gpu_arena *g, const struct saved_named *s)
{
	struct gpu_process *p = find(g, s->number);
	struct gpu_named **at, *n;

	if (!p)
		return NULL;
	n = named_new(p, s->handle, s->since, (const char *)(s + 1), s->len);
	if (!n)
		return NULL;
	n->calls = s->calls;
	n->is_done = s->is_done;
	p->streams.open += !n->is_done;
	/* The youngest came first. */
	for (at = &p->streams.named; *at; at = &(*at)->next)
		;
	*at = n;
	return n;
}

static void load_calls(const struct gpu_arena *g, const struct saved_passed *s, uint32_t cnt,
		       struct gpu_named *const *names, uint32_t name_cnt)
{
	for (; cnt; cnt--, s++) {
		struct gpu_process *p = find(g, s->number);
		int64_t *call = NULL;

		if (p && s->name < name_cnt && names[s->name])
			call = db_map_get(&p->streams.calls, s->id);
		if (call)
			*call = (int64_t)(intptr_t)names[s->name];
	}
}

static void load(const struct gpu_arena *g, const char *blob, size_t len)
{
	struct saved_streams head;
	struct gpu_named **names;
	size_t at = sizeof(head);
	uint32_t cnt = 0;

	if (len < sizeof(head))
		return;
	memcpy(&head, blob, sizeof(head));
	names = head.names <= len / sizeof(struct saved_named)
			? calloc(head.names + 1, sizeof(struct gpu_named *))
			: NULL;
	while (names && cnt < head.names && len - at >= sizeof(struct saved_named)) {
		const struct saved_named *s = (const struct saved_named *)(blob + at);

		at += sizeof(*s);
		if (s->len >= len - at || padded(s->len + 1) > len - at)
			break;
		at += padded(s->len + 1);
		names[cnt++] = load_name(g, s);
	}
	if (names && cnt == head.names && head.calls <= (len - at) / sizeof(struct saved_passed))
		load_calls(g, (const struct saved_passed *)(blob + at), head.calls, names, cnt);
	free(names);
}

void gpu_streams_restore(struct arenas *as, struct arena *a)
{
	char key[48];
	void *blob;
	size_t len;

	key_of(key, a);
	if (!a->family.gpu || db_state_get(as->db, key, &blob, &len) != 0)
		return;
	load(a->family.gpu, blob, len);
	free(blob);
}

void gpu_streams_drop(struct arenas *as, const struct arena *a)
{
	char key[48];

	key_of(key, a);
	db_state_drop(as->db, key);
}
