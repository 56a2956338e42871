/* top_rows.c - the activity between two moments: one row per process, thread, function, file or GPU. */
#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "collector/base/saturate.h"
#include "collector/base/slots.h"
#include "exporters/top/top.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define CALL_COLUMNS \
	{"CALLS/s", "CALLS",  "calls_per_second", "calls", UNIT_COUNT}, \
	{"ms/s",    "TIME s", "time_ms_per_second", "time_seconds", UNIT_TIME}, \
	{"AVG us",  "AVG us", "average_us", "total_average_us", UNIT_AVERAGE}

const struct top_view_info top_views[VIEW_CNT] = {
	[VIEW_PROCESSES] = {"processes", "Processes", "PROCESS", {
		{"CPU %",   "CPU s",     "cpu_percent", "cpu_seconds", UNIT_PERCENT},
		{"OFF %",   "OFF s",     "off_cpu_percent", "off_cpu_seconds", UNIT_PERCENT},
		{"CALLS/s", "CALLS",     "calls_per_second", "calls", UNIT_COUNT},
		{"CALLS %", "IN CALLS s", "in_calls_percent", "in_calls_seconds", UNIT_PERCENT},
		{"SWITCH/s", "SWITCHES", "switches_per_second", "switches", UNIT_COUNT},
		{"READ MB/s", "READ MB", "read_mb_per_second", "read_mb", UNIT_BYTES},
		{"WRITE MB/s", "WRITE MB", "written_mb_per_second", "written_mb", UNIT_BYTES}}, 7},
	[VIEW_THREADS] = {"threads", "Threads", "THREAD", {
		{"CPU %",   "CPU s",     "cpu_percent", "cpu_seconds", UNIT_PERCENT},
		{"OFF %",   "OFF s",     "off_cpu_percent", "off_cpu_seconds", UNIT_PERCENT},
		{"CALLS/s", "CALLS",     "calls_per_second", "calls", UNIT_COUNT},
		{"CALLS %", "IN CALLS s", "in_calls_percent", "in_calls_seconds", UNIT_PERCENT},
		{"SWITCH/s", "SWITCHES", "switches_per_second", "switches", UNIT_COUNT}}, 5},
	[VIEW_FUNCTIONS] = {"functions", "Functions", "FUNCTION", {
		CALL_COLUMNS,
		{"MB/s",  "MB",     "mb_per_second", "mb", UNIT_BYTES},
		{"ERR/s", "ERRORS", "errors_per_second", "errors", UNIT_COUNT}}, 5},
	[VIEW_FILES] = {"files", "Files", "PATH", {
		{"OPS/s",  "OPS",    "operations_per_second", "operations", UNIT_COUNT},
		{"ms/s",   "TIME s", "time_ms_per_second", "time_seconds", UNIT_TIME},
		{"AVG us", "AVG us", "average_us", "total_average_us", UNIT_AVERAGE},
		{"READ MB/s", "READ MB", "read_mb_per_second", "read_mb", UNIT_BYTES},
		{"WRITE MB/s", "WRITE MB", "written_mb_per_second", "written_mb", UNIT_BYTES}}, 5},
	[VIEW_CUDA] = {"cuda", "CUDA and its libraries", "FUNCTION", {
		CALL_COLUMNS,
		{"ERR/s", "ERRORS", "errors_per_second", "errors", UNIT_COUNT}}, 4},
	[VIEW_GPUS] = {"gpus", "GPUs", "GPU", {
		{"BUSY %",    "BUSY s",   "busy_percent", "busy_seconds", UNIT_PERCENT},
		{"KERNELS/s", "KERNELS",  "kernels_per_second", "kernels", UNIT_COUNT},
		{"KERN ms/s", "KERNEL s", "kernel_ms_per_second", "kernel_seconds", UNIT_TIME},
		{"COPIES/s",  "COPIES",   "copies_per_second", "copies", UNIT_COUNT},
		{"COPY MB/s", "COPY MB",  "copied_mb_per_second", "copied_mb", UNIT_BYTES}}, 5},
};
/* clang-format on */

int top_view_of(const char *name)
{
	for (int v = 0; v < VIEW_CNT; v++)
		if (strcmp(top_views[v].name, name) == 0)
			return v;
	return -1;
}

/* ---- from sums to rows ---- */

struct work {
	const struct top *top;
	const struct top_ask *ask;
	struct top_rows *rows;
	struct slots by_subject;
	bool is_out; /* of memory */
};

static bool is_same(const struct top_row *r, int64_t pid, int64_t tid, const char *text,
		    uint8_t part)
{
	return r->pid == pid && r->tid == tid && r->part == part &&
	       (r->text == text || (r->text && text && strcmp(r->text, text) == 0));
}

static uint64_t hash_of(int64_t pid, int64_t tid, const char *text, uint8_t part)
{
	uint64_t h = hash_join(hash_join(part, (uint64_t)pid), (uint64_t)tid);

	return text ? hash_bytes(h, text, strlen(text)) : h;
}

/* The row about this; NULL: there is none. */
static struct top_row *find_row(const struct work *w, uint64_t hash, int64_t pid, int64_t tid,
				const char *text, uint8_t part)
{
	uint32_t at, i;

	for (i = slots_first(&w->by_subject, hash, &at); i != SLOTS_NONE;
	     i = slots_next(&w->by_subject, hash, &at))
		if (is_same(&w->rows->row[i], pid, tid, text, part))
			return &w->rows->row[i];
	return NULL;
}

/* The row about this; made when there is none. NULL: no memory. */
static struct top_row *row_of(struct work *w, int64_t pid, int64_t tid, const char *text,
			      uint8_t part)
{
	uint64_t hash = hash_of(pid, tid, text, part);
	struct top_row *found = find_row(w, hash, pid, tid, text, part);
	struct top_rows *rows = w->rows;

	if (found)
		return found;
	if (!grow(&rows->row, rows->cnt, &rows->cap, sizeof(*rows->row)) ||
	    !slots_add(&w->by_subject, hash, (uint32_t)rows->cnt)) {
		w->is_out = true;
		return NULL;
	}
	rows->row[rows->cnt] =
		(struct top_row){.pid = pid,
				 .tid = tid,
				 .text = text,
				 .part = part,
				 .process = pid >= 0 ? top_process_name(w->top, pid) : NULL,
				 .interval = top_interval(w->top)};
	return &rows->row[rows->cnt++];
}

static void add(struct top_row *r, unsigned column, const struct top_item *i, unsigned sum)
{
	int64_t delta = sat_sub(i->now[sum], i->before[sum]);

	r->sum[column] = sat_add(r->sum[column], i->now[sum]);
	r->delta[column] = sat_add(r->delta[column], delta > 0 ? delta : 0);
	r->is_known[column] = true;
}

static void add_threads(struct work *w)
{
	const struct top_set *set = &w->top->set[TOP_THREAD];
	bool apart = w->ask->view == VIEW_THREADS;

	for (size_t n = 0; n < set->cnt; n++) {
		const struct top_item *i = &set->item[n];
		struct top_row *r;

		/* A process that has ended shows in totals, and shortly after its last event. */
		if (i->is_over && !w->ask->totals && memcmp(i->now, i->before, sizeof(i->now)) == 0)
			continue;
		r = row_of(w, i->pid, apart ? i->tid : -1, NULL, 0);
		if (!r)
			return;
		if (i->has_switches) {
			add(r, 0, i, THREAD_CPU);
			add(r, 1, i, THREAD_OFF);
			add(r, 4, i, THREAD_SWITCHES);
		}
		if (i->has_name_only)
			continue;
		add(r, 2, i, THREAD_CALLS);
		add(r, 3, i, THREAD_CALL_NS);
	}
}

/* Names may change, so that they do not identify rows. */
static void name_rows(struct work *w)
{
	for (size_t i = 0; i < w->rows->cnt; i++) {
		struct top_row *r = &w->rows->row[i];

		r->text = w->ask->view == VIEW_THREADS ? top_thread_name(w->top, r->pid, r->tid)
						       : r->process;
	}
}

static void add_process_io(struct work *w)
{
	const struct top_set *set = &w->top->set[TOP_FILE];

	for (size_t n = 0; n < set->cnt; n++) {
		const struct top_item *i = &set->item[n];
		struct top_row *r = find_row(w, hash_of(i->pid, -1, NULL, 0), i->pid, -1, NULL, 0);

		if (!r)
			continue;
		add(r, 5, i, FILE_READ);
		add(r, 6, i, FILE_WRITTEN);
	}
}

static void add_calls(struct work *w)
{
	const struct top_set *set = &w->top->set[TOP_CALL];
	bool cuda = w->ask->view == VIEW_CUDA;

	for (size_t n = 0; n < set->cnt; n++) {
		const struct top_item *i = &set->item[n];
		struct top_row *r;

		if ((i->part != CALL_OSRT) != cuda)
			continue;
		r = row_of(w, w->ask->by_process ? i->pid : -1, -1, i->text, i->part);
		if (!r)
			return;
		add(r, 0, i, CALL_CNT);
		add(r, 1, i, CALL_NS);
		if (!cuda)
			add(r, 3, i, CALL_BYTES);
		add(r, cuda ? 3 : 4, i, CALL_ERRORS);
	}
}

static void add_files(struct work *w)
{
	const struct top_set *set = &w->top->set[TOP_FILE];

	for (size_t n = 0; n < set->cnt; n++) {
		const struct top_item *i = &set->item[n];
		struct top_row *r = row_of(
			w, w->ask->by_process ? i->pid : -1, -1,
			i->part == 2 ? "(calls below the threshold, all files)" : i->text, i->part);

		if (!r)
			return;
		add(r, 0, i, FILE_CNT);
		add(r, 1, i, FILE_NS);
		add(r, 3, i, FILE_READ);
		add(r, 4, i, FILE_WRITTEN);
	}
}

static void add_gpus(struct work *w)
{
	const struct top_set *set = &w->top->set[TOP_GPU];

	for (size_t n = 0; n < set->cnt; n++) {
		const struct top_item *i = &set->item[n];
		struct top_row *r = row_of(w, -1, i->pid, i->text, 0);

		if (!r)
			return;
		for (unsigned k = 0; k < TOP_SUMS; k++)
			add(r, k, i, k);
		/* CUPTI reports GPU work a while later, a second of it at once. */
		if (i->until > i->until_before && i->until_before >= 0)
			r->interval = (double)(i->until - i->until_before) / 1e9;
	}
}

/* ---- numbers ---- */

static double average(int64_t ns, int64_t calls)
{
	return calls > 0 ? (double)ns / (double)calls / 1e3 : NAN;
}

static void fill_numbers(const struct top *t, const struct top_view_info *v, struct top_row *r)
{
	static const double rate_scale[] = {1e-7, 1e-6, 1, 1e-6},
			    total_scale[] = {1e-9, 1e-9, 1, 1e-6};

	for (unsigned c = 0; c < v->columns; c++) {
		enum top_unit unit = v->column[c].unit;

		r->rate[c] = r->total[c] = NAN;
		if (unit == UNIT_AVERAGE) {
			r->rate[c] = average(r->delta[c - 1], r->delta[c - 2]);
			r->total[c] = average(r->sum[c - 1], r->sum[c - 2]);
			continue;
		}
		if (!r->is_known[c])
			continue;
		r->total[c] = (double)r->sum[c] * total_scale[unit];
		if (t->is_sampled && r->interval > 0)
			r->rate[c] = (double)r->delta[c] * rate_scale[unit] / r->interval;
	}
	if (!t->is_sampled)
		for (unsigned c = 0; c < v->columns; c++)
			r->rate[c] = NAN;
}

/* ---- order and choice ---- */

static int compare_text(const struct top_row *a, const struct top_row *b)
{
	int way = strcmp(a->text ? a->text : "", b->text ? b->text : "");

	if (way)
		return way;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

/* Unknown values come last, in either direction. */
static int compare_rows(const void *one, const void *two, void *arg)
{
	const struct top_row *a = one, *b = two;
	const struct top_ask *ask = arg;
	int column = ask->sort, way = 0;
	double x, y;

	if (column >= 0) {
		x = ask->totals ? a->total[column] : a->rate[column];
		y = ask->totals ? b->total[column] : b->rate[column];
		if (isnan(x) || isnan(y))
			way = isnan(x) - isnan(y);
		else if (x != y)
			way = (x < y ? 1 : -1) * (ask->reverse ? -1 : 1);
	} else {
		way = compare_text(a, b) * (ask->reverse ? -1 : 1);
	}
	return way ? way : compare_text(a, b);
}

static bool number_has(int64_t n, const char *filter)
{
	char text[24];

	if (n < 0)
		return false;
	snprintf(text, sizeof(text), "%lld", (long long)n);
	return strstr(text, filter) != NULL;
}

static bool is_wanted(const struct top_row *r, const char *filter)
{
	if (!filter || !*filter)
		return true;
	return (r->text && strcasestr(r->text, filter)) ||
	       (r->process && strcasestr(r->process, filter)) || number_has(r->pid, filter) ||
	       number_has(r->tid, filter);
}

/* A live table leaves out rows without activity, but for threads: that a thread waits is news. */
static bool has_done_something(const struct top_ask *ask, const struct top_row *r)
{
	if (ask->view <= VIEW_THREADS || ask->view == VIEW_GPUS || ask->totals)
		return true;
	return r->delta[0] > 0;
}

static void choose(const struct top_ask *ask, struct top_rows *rows)
{
	size_t left = 0;

	for (size_t i = 0; i < rows->cnt; i++)
		if (is_wanted(&rows->row[i], ask->filter) && has_done_something(ask, &rows->row[i]))
			rows->row[left++] = rows->row[i];
	rows->cnt = left;
}

bool top_rows(const struct top *t, const struct top_ask *ask, struct top_rows *rows)
{
	static void (*const fill[VIEW_CNT])(struct work * w) = {
		[VIEW_PROCESSES] = add_threads, [VIEW_THREADS] = add_threads,
		[VIEW_FUNCTIONS] = add_calls,   [VIEW_FILES] = add_files,
		[VIEW_CUDA] = add_calls,        [VIEW_GPUS] = add_gpus,
	};
	struct work w = {.top = t, .ask = ask, .rows = rows};

	rows->cnt = 0;
	fill[ask->view](&w);
	if (ask->view == VIEW_PROCESSES)
		add_process_io(&w);
	if (ask->view <= VIEW_THREADS)
		name_rows(&w);
	slots_free(&w.by_subject);
	for (size_t i = 0; i < rows->cnt; i++)
		fill_numbers(t, &top_views[ask->view], &rows->row[i]);
	choose(ask, rows);
	if (rows->cnt)
		qsort_r(rows->row, rows->cnt, sizeof(*rows->row), compare_rows, (void *)ask);
	return !w.is_out;
}

void top_rows_free(struct top_rows *rows)
{
	free(rows->row);
	*rows = (struct top_rows){0};
}
