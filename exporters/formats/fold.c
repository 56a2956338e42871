/* fold.c - stacks out of a timeline. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "collector/base/message.h"
#include "exporters/read/db_read.h"
#include "exporters/events/thread_switches.h"
#include "exporters/formats/fold.h"
#include "exporters/read/intern.h"

/* ---- frames ---- */

/* A text's number. Line ends would end a line of the output; the writer escapes the rest. */
static uint32_t frame_of(struct fold *f, const char *text, size_t len)
{
	uint64_t *at = map_at(&f->by_hash, hash_bytes(0, text, len), true);
	char *copy;

	if (at && *at)
		return (uint32_t)*at - 1;
	grow(&f->frame, f->frame_cnt, &f->frame_max, sizeof(*f->frame));
	copy = malloc(len + 1);
	if (!at || !copy || f->frame_cnt == f->frame_max) {
		free(copy);
		f->failed = true;
		return 0;
	}
	memcpy(copy, text, len);
	copy[len] = '\0';
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)copy[i] < ' ')
			copy[i] = ' ';
	f->frame[f->frame_cnt] = copy;
	*at = ++f->frame_cnt;
	return f->frame_cnt - 1;
}

/*
 * PyTorch numbers its ranges, "aten::item, op_id = 17": such numbers are '#', or nothing would ever sum up.
 * Other numbers ("layer 3") are kept.
 */
static uint32_t frame_of_name(struct fold *f, const char *text, size_t len)
{
	char buf[512];
	size_t out = 0;

	if (len >= sizeof(buf) || !memmem(text, len, " = ", 3))
		return frame_of(f, text, len);
	for (size_t i = 0; i < len;) {
		bool number = i >= 3 && memcmp(text + i - 3, " = ", 3) == 0;
		size_t digits = 0;

		while (number && i + digits < len && text[i + digits] >= '0' &&
		       text[i + digits] <= '9')
			digits++;
		buf[out++] = digits ? '#' : text[i];
		i += digits ? digits : 1;
	}
	return frame_of(f, buf, out);
}

static uint32_t frame_of_text(struct fold *f, const struct tl_text *t)
{
	uint64_t *at = t->id > 0 ? map_at(&f->by_id, (uint64_t)t->id, true) : NULL;
	uint32_t frame;

	if (at && *at)
		return (uint32_t)*at - 1;
	frame = t->len ? frame_of_name(f, t->text, t->len) : frame_of(f, "(no name)", 9);
	if (at)
		*at = (uint64_t)frame + 1;
	return frame;
}

/* ---- tracks ---- */

/* "app 100, worker 101"; a lane next to the first: "..., overlapping". */
static bool name_track(struct fold *f, struct fold_track *t, const struct tl_track *track)
{
	const char *own = f->frame[t->path[t->path_cnt - 1]],
		   *also = track->lane ? ", overlapping" : "";
	int len;

	if (track->kind == TL_THREAD)
		len = asprintf(&t->name, "%s %lld, %s %lld%s", f->frame[t->path[0]],
			       (long long)track->process_pid, own, (long long)TL_TID(track->global),
			       also);
	else
		len = asprintf(&t->name, "%s %lld, %s%s%s%s", f->frame[t->path[0]],
			       (long long)track->process_pid,
			       t->path_cnt > 2 ? f->frame[t->path[1]] : "",
			       t->path_cnt > 2 ? ", " : "", own, also);
	if (len < 0)
		t->name = NULL;
	return len >= 0;
}

static struct fold_track *fold_track(struct fold *f, struct tl_track *track)
{
	static const char *const unnamed[TL_TRACK_KINDS] = {
		[TL_PROCESS] = "process", [TL_THREAD] = "thread", [TL_ASYNC] = "ranges",
		[TL_DEVICE] = "GPU",      [TL_STREAM] = "stream", [TL_NVTX_GPU] = "ranges",
		[TL_MACHINE] = "machine",
	};
	const struct tl_track *above[4];
	struct fold_track *t = track->of_sink;
	unsigned cnt = 0;

	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t) {
		f->failed = true;
		return NULL;
	}
	for (const struct tl_track *p = track; p && cnt < 4; p = p->parent)
		above[cnt++] = p;
	while (cnt > 0) {
		const struct tl_track *p = above[--cnt];
		const char *name = *p->name ? p->name : unnamed[p->kind] ? unnamed[p->kind] : "";

		t->path[t->path_cnt++] = frame_of(f, name, strlen(name));
	}
	if (!f->failed && !name_track(f, t, track))
		f->failed = true;
	if (f->failed) {
		free(t->name);
		free(t);
		return NULL;
	}
	*f->last = t;
	f->last = &t->next;
	return track->of_sink = t;
}

/* ---- slices that open and close ---- */

static void close_until(struct fold *f, struct fold_track *t, int64_t ts)
{
	while (t->open_cnt > 0 && t->open[t->open_cnt - 1].end <= ts) {
		struct fold_open *o = &t->open[t->open_cnt - 1];

		f->on_close(f, t, o);
		if (t->open_cnt > 1)
			o[-1].inner += o->end - o->start;
		t->open_cnt--;
	}
}

static void open_frame(struct fold *f, struct fold_track *t, uint32_t frame, int64_t start,
		       int64_t end)
{
	close_until(f, t, start);
	if (!grow(&t->open, t->open_cnt, &t->open_max, sizeof(*t->open))) {
		f->failed = true;
		return;
	}
	t->open[t->open_cnt++] = (struct fold_open){.start = start, .end = end, .frame = frame};
	f->on_open(f, t, &t->open[t->open_cnt - 1]);
}

static void on_switch(struct fold *f, struct fold_track *t, const struct tl_event *e)
{
	static const char *const names[THREAD_STATE_CNT] = {
		"on CPU",           "off CPU: runnable",
		"off CPU: waiting", "off CPU: waiting for I/O",
		"off CPU: stopped", "ended",
		"off CPU"};
	enum thread_state_kind state = e->sched_in ? THREAD_RUNNING : thread_state_of(e->state);

	/* On the CPU twice in a row: when it left in between is not known. */
	if (t->has_state && !(e->sched_in && t->on_cpu)) {
		open_frame(f, t, t->state, t->since, e->ts);
		close_until(f, t, e->ts);
	}
	t->has_state = state != THREAD_ENDED;
	t->state = frame_of(f, names[state], strlen(names[state]));
	t->since = e->ts;
	t->on_cpu = e->sched_in;
}

static void on_stack(struct fold *f, struct fold_track *t, const struct tl_event *e)
{
	uint32_t frames[FOLD_DEPTH_MAX];
	unsigned cnt = e->frame_cnt < FOLD_DEPTH_MAX ? e->frame_cnt : FOLD_DEPTH_MAX;

	for (unsigned i = 0; i < cnt; i++) {
		const struct tl_frame *from = &e->frames[i];

		frames[cnt - 1 - i] =
			frame_of_text(f, from->symbol.len ? &from->symbol : &from->module);
	}
	f->on_sample(f, t, frames, cnt, e->ts);
}

/* ---- the sink ---- */

static int on_track(void *self, struct tl_track *track)
{
	(void)self;
	(void)track;
	return 0;
}

static int on_event(void *self, const struct tl_event *e)
{
	struct fold *f = self;
	struct fold_track *t;

	if (e->kind != TL_SLICE && e->kind != TL_SCHED && e->kind != TL_SAMPLE)
		return 0;
	t = fold_track(f, e->track);
	if (!t)
		return -1;
	if (e->ts > f->now)
		f->now = e->ts;
	if (e->kind == TL_SLICE) {
		int64_t end = e->dur == TL_OPEN ? INT64_MAX : e->ts + e->dur;

		if (end != INT64_MAX && end > f->now)
			f->now = end;
		open_frame(f, t, frame_of_text(f, &e->name), e->ts, end);
	} else if (e->kind == TL_SCHED) {
		on_switch(f, t, e);
	} else if (e->frame_cnt > 0) {
		on_stack(f, t, e);
	}
	return f->failed || (f->job->out && f->job->out->err) ? -1 : 0;
}

/* Warns of costs without stacks or events, with the options that record them. */
static void say_missing(const struct stack_costs *w, const struct export_job *job)
{
	for (int what = 0; what < COST_CNT; what++) {
		const struct stack_cost_kind *k = &stack_cost_kinds[what];

		if (!(w->what & COST_BIT(what)) || (w->has_stack & COST_BIT(what)))
			continue;
		if (w->has & COST_BIT(what))
			sl_warn("export: %s: %s: no stacks were recorded; sightline profile %s "
				"does",
				job->input, k->name, k->record);
		else
			sl_warn("export: %s: %s: there is nothing of it; sightline profile %s "
				"records it",
				job->input, k->name, k->record);
	}
}

int fold_weigh(struct stack_costs *w, struct export_job *job, char *why, size_t why_len)
{
	unsigned asked = job->opt.flame;

	w->db = job->db;
	w->what = asked ? asked : COST_ALL;
	if (stack_costs_run(w, why, why_len) < 0)
		return -1;
	if (asked && !job->opt.quiet)
		say_missing(w, job);
	else if (!w->has_stack && !job->opt.quiet)
		sl_warn("export: %s: no stacks were recorded; sightline profile %s does, or %s",
			job->input, stack_cost_kinds[COST_CPU].record,
			stack_cost_kinds[COST_GPU].record);
	if (w->python_only && w->has_stack && !w->has_python && !job->opt.quiet)
		sl_warn("export: %s: no stack has frames of Python; sightline profile "
			"--python-sampling=true and --python-backtrace record them",
			job->input);
	job->events = w->entry_cnt;
	return 0;
}

int fold_run(struct fold *f, struct export_job *job, char *why, size_t why_len)
{
	static const struct tl_sink sink = {.track = on_track, .event = on_event};
	struct tl_options options = job->timeline;
	int64_t events;

	f->job = job;
	f->last = &f->tracks;
	f->now = INT64_MIN;
	f->samples = (options.activities & TL_ACT_SAMPLE) && db_read_has_samples(job->db);
	if (f->samples)
		options.activities = TL_ACT_SAMPLE;
	else if (options.activities != TL_ACT_SCHED)
		options.activities &= ~(uint32_t)(TL_ACT_SAMPLE | TL_ACT_SCHED);
	options.no_args = true;
	events = timeline_run(job->db, &options, &sink, f, why, why_len);
	for (struct fold_track *t = f->tracks; t && events >= 0; t = t->next) {
		/* A slice without an end ends with the timeline. */
		for (size_t i = 0; i < t->open_cnt; i++)
			if (t->open[i].end == INT64_MAX)
				t->open[i].end = f->now;
		close_until(f, t, INT64_MAX);
	}
	job->events = events > 0 ? (uint64_t)events : 0;
	if (f->failed)
		snprintf(why, why_len, "out of memory");
	return f->failed || events < 0 ? -1 : 0;
}

void fold_free(struct fold *f)
{
	struct fold_track *next;

	for (struct fold_track *t = f->tracks; t; t = next) {
		next = t->next;
		free(t->open);
		free(t->name);
		free(t->own);
		free(t);
	}
	for (uint32_t i = 0; i < f->frame_cnt; i++)
		free(f->frame[i]);
	free(f->frame);
	map_free(&f->by_id);
	map_free(&f->by_hash);
}
