/* causes.c - the model of sightline why for the messages that ask for causes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/view/answers/causes.h"

void view_why_free(struct view_why *w)
{
	if (!w)
		return;
	why_gpus_free(&w->y.gpus);
	why_model_free(&w->y.model);
	sqlite3_close(w->db);
	free(w);
}

/* The model of the whole report, at the first question. */
struct view_why *view_why_take(struct view_request *q, struct view_reply *a)
{
	struct view_report *r = q->report;
	struct view_why *w = r->why;
	uint32_t generation;
	int rc;

	pthread_rwlock_rdlock(&q->store->lock);
	generation = q->store->generation;
	pthread_rwlock_unlock(&q->store->lock);
	if (w && w->generation == generation)
		return w;
	view_why_free(w);
	r->why = NULL;
	w = calloc(1, sizeof(*w));
	if (!w || !(w->db = view_db_take(q, a))) {
		free(w);
		return NULL;
	}
	w->generation = generation;
	w->y.focus = w->y.time.thread = WHY_NONE;
	rc = why_model_read(&w->y.model, w->db, &(struct why_scope){.is_all = true});
	if (rc == SQLITE_OK)
		rc = why_list_gpus(&w->y.gpus, &w->y.model);
	if (rc != SQLITE_OK) {
		view_refuse(a, 503, why_error_text(w->db, rc));
		view_why_free(w);
		return NULL;
	}
	r->why = w;
	return w;
}

/* ---- whose time ---- */

/* The GPU that CUDA calls @ordinal in a process. */
static const struct why_gpu *gpu_of(const struct why *y, int64_t pid, int64_t ordinal)
{
	uint32_t gpu = (uint32_t)ordinal;

	for (size_t i = 0; i < y->model.devices_cnt; i++)
		if (y->model.devices[i].ordinal == gpu &&
		    (y->model.devices[i].pid & 0xffffff) == pid) {
			gpu = y->model.devices[i].gpu;
			break;
		}
	for (size_t i = 0; i < y->gpus.list_cnt; i++)
		if (y->gpus.list[i].device == gpu)
			return &y->gpus.list[i];
	return NULL;
}

struct view_whose view_whose_row(const struct why *y, struct view_store *v, int64_t row)
{
	struct view_whose who = {.thread = WHY_NONE};
	int64_t thread = -1, device = -1, pid = -1;

	pthread_rwlock_rdlock(&v->lock);
	if (row >= 1 && row <= v->row_cnt) {
		const struct view_row *r = v->rows[row - 1];
		bool is_gpu = r->kind == VIEW_GPU || r->kind == VIEW_STREAM ||
			      r->kind == VIEW_NVTX_GPU || r->kind == VIEW_SYNC;

		thread = r->thread;
		device = is_gpu ? r->device : -1;
		pid = r->pid;
	}
	pthread_rwlock_unlock(&v->lock);
	if (thread >= 0)
		who.thread = why_model_find(&y->model, thread);
	else if (device >= 0)
		who.gpu = gpu_of(y, pid, device);
	if (who.gpu)
		who.thread = who.gpu->thread;
	return who;
}

const char *view_whose_text(const struct why *y, const struct view_whose *who, char *buf,
			    size_t len)
{
	if (!who->gpu)
		return why_thread_text(y, who->thread, buf, len);
	snprintf(buf, len, "GPU %u", who->gpu->device);
	return buf;
}

uint32_t view_row_of_thread(struct view_store *v, int64_t global_tid)
{
	const struct view_row *r;
	uint32_t id;
	char key[64];

	snprintf(key, sizeof(key), "t:%lld", (long long)global_tid);
	pthread_rwlock_rdlock(&v->lock);
	r = view_row_find(v, key);
	id = r ? r->id : 0;
	pthread_rwlock_unlock(&v->lock);
	return id;
}

/* ---- causes ---- */

static void put_what(struct writer *b, const struct why *y, const struct why_cause *c)
{
	const struct place *p = &y->walk.places.list[c->place];
	char *name = why_string(y, &y->model.names, c->name);
	char *object = why_string(y, &y->model.objects, c->object);
	char what[1024];

	snprintf(what, sizeof(what), "%.300s%s%.300s%s%.300s", name ? name : "",
		 name && object ? " " : "", object ? object : "",
		 (name || object) && p->text ? " at " : "", p->text ? p->text : "");
	js_text(b, "what", what);
	js_text(b, "call", name);
	free(name);
	free(object);
}

void view_put_cause(struct writer *b, struct view_store *v, const struct why *y,
		    const struct why_cause *c, uint32_t thread)
{
	static const char *const colours[WHY_REASON_CNT] = {
#define REASON(id, text, part, colour, ends) [WHY_##id] = #colour,
#include "exporters/why/walk/reasons.def"
	};
	char name[96];

	js_text(b, "reason", why_reason_name(c->reason));
	js_text(b, "colour", colours[c->reason]);
	js_text(b, "text", why_reason_text(c->reason));
	put_what(b, y, c);
	js_text(b, "place", y->walk.places.list[c->place].text);
	if (thread == WHY_NONE)
		return;
	js_text(b, "thread", why_thread_text(y, thread, name, sizeof(name)));
	js_int(b, "row", view_row_of_thread(v, y->model.threads[thread].tid));
}
