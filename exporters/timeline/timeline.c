/* timeline.c - all tables side by side, merged by time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "collector/base/options.h"
#include "exporters/read/db_read.h"
#include "exporters/timeline/tl_internal.h"

const struct tl_activity_name tl_activities[] = {
	{"kernel", TL_ACT_KERNEL, "kernels and CUDA graphs on the GPU"},
	{"memcpy", TL_ACT_GPU_MEM, "copies and fills on the GPU; also memset, gpu-mem"},
	{"memset", TL_ACT_GPU_MEM, NULL},
	{"gpu-mem", TL_ACT_GPU_MEM, NULL},
	{"gpu", TL_ACT_KERNEL | TL_ACT_GPU_MEM, NULL},
	{"sync", TL_ACT_GPU_SYNC, "waits for the GPU"},
	{"nvtx", TL_ACT_NVTX, "NVTX ranges and marks"},
	{"nvtx-kernel", TL_ACT_NVTX_KERNEL,
	 "NVTX ranges projected onto the GPU work started in them"},
	{"cuda-api", TL_ACT_CUDA_API, "calls into the CUDA runtime and driver"},
	{"library", TL_ACT_LIBRARY, "calls into cuBLAS, cuDNN, NCCL, MPI, ..."},
	{"osrt", TL_ACT_OSRT, "calls into libc"},
	{"syscall", TL_ACT_SYSCALL, "system calls"},
	{"sched", TL_ACT_SCHED, "which thread ran on which CPU"},
	{"sample", TL_ACT_SAMPLE, "samples of the call stack"},
	{"memory", TL_ACT_MEMORY, "counters: GPU memory in use"},
	{"io", TL_ACT_IO, "counters: bytes per second read and written"},
	{"metric", TL_ACT_METRIC, "counters: of GPUs, of the machine, event counters"},
	{"overhead", TL_ACT_OVERHEAD, "time that CUDA and the profiler took for themselves"},
	{"diagnostic", TL_ACT_DIAGNOSTIC, "messages of the tracer, losses"},
	{"default", TL_ACT_DEFAULT, NULL},
	{"all", TL_ACT_ALL, "all of these"},
	{NULL, 0, NULL},
};

static uint32_t activity_of(const char *word, size_t len)
{
	for (const struct tl_activity_name *a = tl_activities; a->name; a++)
		if (strlen(a->name) == len && strncasecmp(a->name, word, len) == 0)
			return a->bits;
	return 0;
}

uint32_t tl_activities_parse(const char *list, char *why, size_t why_len)
{
	uint32_t bits = 0;

	while (*list) {
		size_t len = strcspn(list, ",");
		uint32_t more = activity_of(list, len);

		if (len > 0 && !more) {
			const char *near = NULL;
			char word[64];

			snprintf(word, sizeof(word), "%.*s", (int)len, list);
			for (const struct tl_activity_name *a = tl_activities; a->name; a++)
				near = sl_nearest(word, near, a->name);
			snprintf(why, why_len, "no activity is called '%s'%s%s%s", word,
				 near ? "; did you mean '" : "", near ? near : "",
				 near ? "'?" : "");
			return 0;
		}
		bits |= more;
		list += len + (list[len] == ',');
	}
	if (!bits)
		snprintf(why, why_len, "no activity is named");
	return bits;
}

/* ---- one run ---- */

static int open_made(struct tl_run *r)
{
	const struct tl_made *made = r->opt->made;

	for (size_t i = 0; made && i < made->tracks_cnt; i++) {
		int rc = tl_made_open(made, i, &r->source[r->source_cnt]);

		if (rc <= 0)
			tl_made_close(&r->source[r->source_cnt]);
		if (rc < 0)
			return -1;
		r->source_cnt += rc > 0;
		r->total += made->tracks[i].slices_cnt;
	}
	return 0;
}

static int open_source(struct tl_run *r, const struct tl_source_def *d)
{
	int rc = tl_source_open(r, d, &r->source[r->source_cnt]);

	if (rc <= 0)
		tl_source_close(&r->source[r->source_cnt]);
	r->source_cnt += rc > 0;
	r->total += rc > 0 ? tl_rows_cnt(r->db, d->table) : 0;
	return rc < 0 ? -1 : 0;
}

static int open_sources(struct tl_run *r)
{
	size_t cnt = 3 + (r->opt->made ? r->opt->made->tracks_cnt : 0);
	int rc;

	for (const struct tl_source_def *d = tl_source_defs; d->table; d++)
		cnt++;
	r->source = calloc(cnt, sizeof(*r->source));
	if (!r->source)
		return -1;
	for (const struct tl_source_def *d = tl_source_defs; d->table; d++) {
		if (!(d->activity & r->opt->activities))
			continue;
		if ((!r->opt->only_table || strcmp(r->opt->only_table, d->table) == 0) &&
		    open_source(r, d) < 0)
			return -1;
		if (tl_flows_want(r->flows, d) && tl_flows_read(r->flows, r, d) < 0)
			return -1;
	}
	if (tl_flows_settle(r->flows) < 0 || open_made(r) < 0)
		return -1;
	if (r->spans && !r->projector) {
		rc = tl_spans_open(r, &r->source[r->source_cnt]);
		if (rc < 0)
			return -1;
		r->source_cnt += rc > 0;
	}
	if (!(r->opt->activities & TL_ACT_IO))
		return 0;
	rc = tl_io_open(r, &r->source[r->source_cnt]);
	if (rc <= 0)
		tl_io_close(&r->source[r->source_cnt]);
	r->source_cnt += rc > 0;
	return rc < 0 ? -1 : 0;
}

static bool before(const struct tl_source *a, const struct tl_source *b)
{
	return a->ts != b->ts ? a->ts < b->ts : a->end != b->end ? a->end > b->end : a < b;
}

/* Puts the first of @cnt sources after those whose rows come before its own. */
static void settle(struct tl_source **order, size_t cnt)
{
	struct tl_source *s = order[0];
	size_t at = 0;

	for (; at + 1 < cnt && before(order[at + 1], s); at++)
		order[at] = order[at + 1];
	order[at] = s;
}

static int step(struct tl_source *s)
{
	switch (s->def->place) {
	case TL_AT_IO:
		return tl_io_step(s);
	case TL_AT_MADE:
		return tl_made_step(s);
	case TL_AT_PROJECTED:
		return tl_spans_step(s);
	default:
		return tl_source_step(s);
	}
}

/* Sources in the order of their next rows: the first has the next event. */
static int merge(struct tl_run *r)
{
	struct tl_source **order = calloc(r->source_cnt + 1, sizeof(struct tl_source *));
	size_t cnt = r->source_cnt;
	int rc = order ? 0 : -1;

	for (size_t i = cnt; order && i-- > 0;) {
		order[i] = &r->source[i];
		settle(order + i, cnt - i);
	}
	while (rc >= 0 && cnt > 0) {
		struct tl_source *s = order[0];

		rc = tl_place_row(r, s);
		if (rc == 0)
			rc = step(s);
		tl_stacks_trim(r, tl_names_trim(r->names));
		if (rc > 0)
			settle(order, cnt);
		else if (rc == 0)
			memmove(order, order + 1, --cnt * sizeof(struct tl_source *));
	}
	free(order);
	return rc < 0 ? -1 : 0;
}

/* Ranges on the GPU, after all else. */
static int merge_projected(struct tl_run *r)
{
	struct tl_source s;
	int rc = tl_projector_end(r->projector);

	r->projector = NULL;
	if (rc == 0)
		rc = tl_spans_open(r, &s);
	while (rc > 0) {
		rc = tl_place_row(r, &s);
		if (rc == 0)
			rc = tl_spans_step(&s);
		tl_stacks_trim(r, tl_names_trim(r->names));
	}
	return rc;
}

/* The projected ranges are known before anything else is read, or are made of this run's own events. */
static int begin_projection(struct tl_run *r)
{
	uint32_t activities = r->opt->activities;

	if (!(activities & TL_ACT_NVTX_KERNEL))
		return 0;
	r->spans = tl_spans_new();
	if (!r->spans)
		return -1;
	if (!r->opt->ranges_last || (activities & TL_ACT_PROJECTED) != TL_ACT_PROJECTED)
		return tl_project(r);
	r->projector = tl_projector_new(r, r->spans);
	return r->projector ? 0 : -1;
}

static void close_run(struct tl_run *r)
{
	for (size_t i = 0; i < r->source_cnt; i++) {
		if (r->source[i].def->place == TL_AT_IO)
			tl_io_close(&r->source[i]);
		else if (r->source[i].def->place == TL_AT_MADE)
			tl_made_close(&r->source[i]);
		else if (r->source[i].def->place != TL_AT_PROJECTED)
			tl_source_close(&r->source[i]);
	}
	free(r->source);
	if (r->projector)
		tl_projector_end(r->projector);
	tl_spans_free(r->spans);
	tl_stacks_close(r);
	for (size_t i = 0; i < r->text_cnt; i++)
		free(r->texts[i]);
	free(r->texts);
	map_free(&r->domains);
	map_free(&r->categories);
	map_free(&r->sums);
	map_free(&r->metrics);
	tl_tracks_free(r->tracks);
	tl_flows_free(r->flows);
	tl_names_free(r->names);
}

static void explain(struct tl_run *r)
{
	int rc = sqlite3_errcode(r->db) & 0xFF;

	if (r->stopped || *r->why)
		return;
	if (rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE)
		snprintf(r->why, r->why_len, "out of memory");
	else
		snprintf(r->why, r->why_len, "%s%s", sqlite3_errmsg(r->db),
			 rc == SQLITE_CORRUPT ? " (the file is damaged)"
			 : rc == SQLITE_FULL ? " (no room for temporary files: point SQLITE_TMPDIR "
					       "to a larger folder)"
					     : "");
}

int tl_run(struct tl_run *r)
{
	static const char drop[] =
		"DROP TABLE IF EXISTS temp.SL_TL_CHAINS; DROP TABLE IF EXISTS temp.SL_TL_EVENTS;"
		"DROP TABLE IF EXISTS temp.SL_TL_COUNTERS; DROP TABLE IF EXISTS temp.SL_TL_GAPS;"
		"DROP TABLE IF EXISTS temp.SL_TL_BEFORE";
	uint32_t activities = r->opt->activities;
	int rc = -1;

	*r->why = '\0';
	r->names = tl_each_begin(r->db) == 0 ? tl_names_new(r->db) : NULL;
	r->tracks = r->names ? tl_tracks_new(r->db, r->names, r->sink, r->self) : NULL;
	r->flows = r->tracks ? tl_flows_new(r) : NULL;
	if (r->flows && tl_names_of_domains(r) == 0 && tl_stacks_open(r) == 0 &&
	    begin_projection(r) == 0 && tl_counters(r) == 0 && tl_samples(r) == 0 &&
	    tl_memory(r) == 0 && open_sources(r) == 0)
		rc = merge(r);
	if (rc == 0 && r->projector)
		rc = merge_projected(r);
	if (r->tracks && r->sink->end && r->sink->end(r->self) < 0)
		rc = -1;
	if (rc < 0)
		explain(r);
	close_run(r);
	if (activities & (TL_ACT_SAMPLE | TL_ACT_METRIC | TL_ACT_MEMORY))
		sqlite3_exec(r->db, drop, NULL, NULL, NULL);
	return rc;
}

int64_t timeline_run(sqlite3 *db, const struct tl_options *options, const struct tl_sink *sink,
		     void *self, char *why, size_t why_len)
{
	struct tl_run r = {
		.db = db,
		.opt = options,
		.sink = sink,
		.self = self,
		.args_for = options->no_args ? 0 : TL_ACT_ALL,
		.why = why,
		.why_len = why_len,
	};

	return tl_run(&r) == 0 ? (int64_t)r.events : -1;
}
