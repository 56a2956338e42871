/* tracks.c - leaves of the walk as slices: equal leaves in a row are one slice. */
#include "exporters/why/answer/tracks.h"

#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/hash.h"

/* Slices with the same cause in the same thread have one name and the same arguments. */
struct why_track_kind {
	struct why_cause cause;
	uint32_t thread;
	bool is_gpu; /* on the track of a GPU, whose idle time the leaf explains */
};

static uint64_t hash_of(const struct why_track_kind *k)
{
	const uint32_t part[] = {k->cause.reason, k->cause.place, k->cause.name,
				 k->cause.object, k->thread,      k->is_gpu};

	return hash_bytes(0, part, sizeof(part));
}

static bool is_same(const struct why_track_kind *a, const struct why_track_kind *b)
{
	return memcmp(&a->cause, &b->cause, sizeof(a->cause)) == 0 && a->thread == b->thread &&
	       a->is_gpu == b->is_gpu;
}

/* TL_MADE_GAP: no memory. */
static uint32_t kind_of(struct why_tracks *t, const struct why_track_kind *k)
{
	size_t cnt = t->made.kinds_cnt;
	uint64_t hash = hash_of(k);
	uint32_t at, i;

	for (i = slots_first(&t->by_kind, hash, &at); i != SLOTS_NONE;
	     i = slots_next(&t->by_kind, hash, &at))
		if (is_same(&t->of_kind[i], k))
			return i;
	if (!grow(&t->of_kind, cnt, &t->of_kind_room, sizeof(*t->of_kind)) ||
	    !grow(&t->made.kinds, cnt, &t->made.kinds_room, sizeof(*t->made.kinds)) ||
	    !slots_add(&t->by_kind, hash, (uint32_t)cnt))
		return TL_MADE_GAP;
	t->of_kind[cnt] = *k;
	memset(&t->made.kinds[cnt], 0, sizeof(*t->made.kinds));
	return (uint32_t)t->made.kinds_cnt++;
}

/* ---- slices ---- */

static void add_slice(struct why_tracks *t, int64_t start, uint32_t kind)
{
	struct tl_made_track *track = &t->made.tracks[t->made.tracks_cnt - 1];

	if (track->slices_cnt) {
		struct tl_made_slice *last = &track->slices[track->slices_cnt - 1];

		if (last->kind == kind)
			return;
		if (last->start == start) { /* the gap between spans that touch */
			last->kind = kind;
			return;
		}
	}
	if (!grow(&track->slices, track->slices_cnt, &track->slices_room, sizeof(*track->slices))) {
		t->is_short = true;
		return;
	}
	track->slices[track->slices_cnt++] = (struct tl_made_slice){start, kind};
}

static void on_leaf(void *ctx, uint32_t thread, const struct why_cause *cause, int64_t ns)
{
	struct why_tracks *t = ctx;
	const struct why_track_kind k = {*cause, thread, t->is_gpu};
	uint32_t kind = kind_of(t, &k);

	t->is_short |= kind == TL_MADE_GAP;
	add_slice(t, t->at, kind);
	t->at += ns;
}

/* ---- tracks ---- */

static bool add_track(struct why_tracks *t, uint32_t thread, int64_t device)
{
	struct tl_made *m = &t->made;

	if (!grow(&m->tracks, m->tracks_cnt, &m->tracks_room, sizeof(*m->tracks)))
		return false;
	m->tracks[m->tracks_cnt++] = (struct tl_made_track){
		.name = "why",
		.category = "why",
		.thread = t->y.model.threads[thread].tid,
		.device = device,
	};
	t->is_gpu = device >= 0;
	return true;
}

/* CUDA's number of a GPU of the report in a thread's process. */
static int64_t ordinal_of(const struct why_model *m, const struct why_gpu *g)
{
	int64_t pid = m->processes[m->threads[g->thread].process].pid;

	for (size_t i = 0; i < m->devices_cnt; i++)
		if (m->devices[i].gpu == g->device &&
		    (m->devices[i].pid == pid || m->devices[i].pid == (pid & 0xffffff)))
			return m->devices[i].ordinal;
	return g->device;
}

static bool cover_thread(struct why_tracks *t)
{
	struct why *y = &t->y;

	if (!y->time.spans_cnt)
		return true;
	if (!add_track(t, y->focus, -1))
		return false;
	for (size_t i = 0; i < y->time.spans_cnt; i++) {
		const struct why_span *s = &y->time.spans[i];

		t->at = s->start;
		walk_cover(&y->walk, y->focus, s->start, s->end);
		add_slice(t, s->end, TL_MADE_GAP);
	}
	return true;
}

static bool cover_gpus(struct why_tracks *t)
{
	struct why *y = &t->y;

	for (size_t i = 0; i < y->gpus.list_cnt; i++) {
		const struct why_gpu *g = &y->gpus.list[i];

		if (g->thread == WHY_NONE)
			continue;
		if (!add_track(t, g->thread, ordinal_of(&y->model, g)))
			return false;
		t->at = g->from;
		why_gpu_cover(&y->walk, g, g->from, g->to);
		add_slice(t, g->to, TL_MADE_GAP);
	}
	return true;
}

/* ---- names and arguments ---- */

static void text_arg(struct tl_made_kind *k, const char *key, const char *text)
{
	if (text)
		k->args[k->arg_cnt++] = (struct tl_arg){
			.key = key, .kind = TL_TEXT, .text = {0, text, strlen(text)}};
}

static bool is_idle(uint32_t reason)
{
	return reason != WHY_GPU_KERNEL && reason != WHY_GPU_ONLY && reason != WHY_UNKNOWN;
}

/* False: no memory. */
static bool name_kind(struct why_tracks *t, const struct why_track_kind *of, struct tl_made_kind *k)
{
	const struct place *p = &t->y.walk.places.list[of->cause.place];
	const char *idle =
		!of->is_gpu || !is_idle(of->cause.reason) ? ""
		: of->cause.reason == WHY_GPU_LAUNCH || of->cause.reason == WHY_GPU_LATENCY
			? "idle: "
			: "idle: host ";
	char thread[96], *name, *made;

	if (asprintf(&name, "%s%s", idle, why_reason_text(of->cause.reason)) < 0)
		return false;
	k->name = (struct tl_text){0, name, strlen(name)};
	text_arg(k, "reason", why_reason_name(of->cause.reason));
	text_arg(k, "call", why_string(&t->y, &t->y.model.names, of->cause.name));
	text_arg(k, "object", why_string(&t->y, &t->y.model.objects, of->cause.object));
	text_arg(k, "place", p->text);
	text_arg(k, "file", p->file);
	made = strdup(why_thread_text(&t->y, of->thread, thread, sizeof(thread)));
	text_arg(k, "thread", made);
	k->args[k->arg_cnt++] = (struct tl_arg){
		.key = "tid",
		.kind = TL_INT,
		.num = t->y.model.threads[of->thread].tid & 0xffffff,
	};
	return made;
}

static bool name_kinds(struct why_tracks *t)
{
	for (size_t i = 0; i < t->made.kinds_cnt; i++)
		if (!name_kind(t, &t->of_kind[i], &t->made.kinds[i]))
			return false;
	return true;
}

/* ---- the whole ---- */

static int make(struct why_tracks *t)
{
	struct why *y = &t->y;
	int rc = why_list_gpus(&y->gpus, &y->model);

	if (rc == SQLITE_OK)
		rc = walk_open(&y->walk, &y->model);
	if (rc != SQLITE_OK)
		return rc;
	y->walk.seen = on_leaf;
	y->walk.seen_ctx = t;
	if (!cover_thread(t) || !cover_gpus(t) || t->is_short || !name_kinds(t))
		return SQLITE_NOMEM;
	return walk_end(&y->walk);
}

int why_tracks_make(struct why_tracks *t, sqlite3 *db, const struct db_filter *f, char *text,
		    size_t len)
{
	const struct why_scope scope = {.filter = f};
	struct why *y = &t->y;
	int rc;

	memset(t, 0, sizeof(*t));
	y->focus = y->time.thread = WHY_NONE;
	rc = why_model_read(&y->model, db, &scope);
	if (rc != SQLITE_OK) {
		snprintf(text, len, "%s", why_error_text(db, rc));
		return -1;
	}
	if (why_find_focus(&y->time, &y->model, &(struct why_ask){0}, text, len) < 0)
		return -1;
	y->focus = y->time.thread;
	if (y->focus == WHY_NONE)
		return 0;
	rc = make(t);
	if (rc != SQLITE_OK)
		snprintf(text, len, "%s", sqlite3_errstr(rc));
	return rc == SQLITE_OK ? 0 : -1;
}

/* Frees the texts made for a kind; all others belong to the walk. */
static void free_kind(struct tl_made_kind *k)
{
	static const char *const made[] = {"call", "object", "thread"};

	free((void *)(uintptr_t)k->name.text);
	for (uint32_t i = 0; i < k->arg_cnt; i++)
		for (size_t n = 0; n < sizeof(made) / sizeof(*made); n++)
			if (strcmp(k->args[i].key, made[n]) == 0) {
				free((void *)(uintptr_t)k->args[i].text.text);
				break;
			}
}

void why_tracks_free(struct why_tracks *t)
{
	for (size_t i = 0; i < t->made.tracks_cnt; i++)
		free(t->made.tracks[i].slices);
	for (size_t i = 0; i < t->made.kinds_cnt; i++)
		free_kind(&t->made.kinds[i]);
	free(t->made.tracks);
	free(t->made.kinds);
	free(t->of_kind);
	slots_free(&t->by_kind);
	why_free(&t->y);
}
