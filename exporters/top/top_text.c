/* top_text.c - the contents of the screen and of `top --once`, as text; and JSON. */
#include "exporters/top/top.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/json.h"
#include "exporters/text/cell.h"

#define COLUMN   11
#define ID       8
#define TEXT_MIN 12 /* columns that are left for names; numbers give way */

/* ---- lines ---- */

/* Four digits or so. */
static void put_number(char *out, size_t size, double v)
{
	if (isnan(v))
		snprintf(out, size, "-");
	else if (v < 0.005)
		snprintf(out, size, "0");
	else if (v < 10)
		snprintf(out, size, "%.2f", v);
	else if (v < 1000)
		snprintf(out, size, "%.1f", v);
	else if (v < 1e6)
		snprintf(out, size, "%.0f", v);
	else if (v < 1e9)
		snprintf(out, size, "%.2fM", v / 1e6);
	else
		snprintf(out, size, "%.2fG", v / 1e9);
}

/* The id columns, which stand before the numbers. */
static unsigned ids_of(const struct top_ask *ask)
{
	switch (ask->view) {
	case VIEW_THREADS:
		return 2;
	case VIEW_PROCESSES:
	case VIEW_GPUS:
		return 1;
	default:
		return ask->by_process ? 1 : 0;
	}
}

static unsigned columns_that_fit(const struct top_ask *ask, size_t width)
{
	unsigned cnt = top_views[ask->view].columns;

	while (cnt > 1 && ids_of(ask) * ID + cnt * COLUMN + 2 + TEXT_MIN > width)
		cnt--;
	return cnt;
}

struct line {
	char *text;
	size_t len, size;
};

static void put(struct line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct line *l, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(l->text + l->len, l->size - l->len, format, ap);
	va_end(ap);
	if (n > 0)
		l->len += (size_t)n < l->size - l->len ? (size_t)n : l->size - l->len - 1;
}

static void put_ids(struct line *l, const struct top_ask *ask, const struct top_row *r)
{
	unsigned ids = ids_of(ask);

	if (ask->view == VIEW_GPUS) {
		if (r)
			put(l, "%*lld", ID, (long long)r->tid);
		else
			put(l, "%*s", ID, "NUMBER");
		return;
	}
	if (ids && r)
		put(l, "%*lld", ID, (long long)r->pid);
	else if (ids)
		put(l, "%*s", ID, "PID");
	if (ids > 1 && r)
		put(l, "%*lld", ID, (long long)r->tid);
	else if (ids > 1)
		put(l, "%*s", ID, "TID");
}

/* The heading of the column that sorts is marked; ^ where the smallest comes first. */
static void put_head(struct line *l, const struct top_ask *ask, unsigned column)
{
	const struct top_column *c = &top_views[ask->view].column[column];
	char text[24];

	snprintf(text, sizeof(text), "%s%s",
		 ask->sort != (int)column ? ""
		 : ask->reverse           ? "^"
					  : ">",
		 ask->totals ? c->total_head : c->head);
	put(l, "%*s", COLUMN, text);
}

static void put_cell(struct line *l, const struct top_ask *ask, const struct top_row *r,
		     unsigned column)
{
	char text[32];

	put_number(text, sizeof(text), ask->totals ? r->total[column] : r->rate[column]);
	put(l, "%*s", COLUMN, text);
}

/* Nothing in a name may upset a terminal. */
static void put_name(struct line *l, const struct top_ask *ask, const struct top_row *r,
		     size_t width)
{
	char with[4200];
	size_t used = 0;
	char *shown;

	if (width == 0)
		return;
	snprintf(with, sizeof(with), "%s%s%s%s", r->text ? r->text : "?",
		 ask->by_process && r->process && ask->view > VIEW_THREADS ? "  (" : "",
		 ask->by_process && r->process && ask->view > VIEW_THREADS ? r->process : "",
		 ask->by_process && r->process && ask->view > VIEW_THREADS ? ")" : "");
	shown = text_people(with, strlen(with), width, &used);
	if (shown)
		put(l, "%s", shown);
	free(shown);
}

char *top_line(const struct top_ask *ask, const struct top_row *row, size_t width)
{
	unsigned columns = columns_that_fit(ask, width);
	struct line l = {.size = width * 4 + 256};

	l.text = malloc(l.size);
	if (!l.text)
		return NULL;
	l.text[0] = 0;
	put_ids(&l, ask, row);
	for (unsigned c = 0; c < columns; c++)
		row ? put_cell(&l, ask, row, c) : put_head(&l, ask, c);
	put(&l, "  ");
	if (row)
		put_name(&l, ask, row, width > l.len ? width - l.len : 0);
	else
		put(&l, "%s%s", ask->sort == SORT_TEXT ? (ask->reverse ? "^" : ">") : "",
		    top_views[ask->view].text_head);
	/* Numbers alone may be wider than a very narrow terminal. */
	if (l.len > width && (!row || width < ID))
		l.text[width] = 0;
	return l.text;
}

/* ---- head lines ---- */

static const char *status_text(const struct top *t)
{
	switch (t->status) {
	case TOP_WAITING:
		return t->path ? "nothing has been recorded yet" : "nothing is recorded at present";
	case TOP_RECORDING:
		return t->is_idle ? "recording, nothing happens" : "recording";
	case TOP_PAUSED:
		return "not recording at present";
	case TOP_FINISHED:
		return t->is_foreign   ? "a report of nsys: sums of all of it"
		       : t->has_totals ? "finished: sums of all of it"
				       : "finished";
	case TOP_LEFT:
		return "its collector is gone (sightline recover finishes it)";
	}
	return "";
}

static void gpu_line(const struct top *t, char *text, size_t size)
{
	const struct top_ask ask = {.view = VIEW_GPUS, .sort = SORT_TEXT, .totals = t->has_totals};
	struct top_rows rows = {0};
	size_t at = 0;

	text[0] = 0;
	if (t->set[TOP_GPU].cnt && top_rows(t, &ask, &rows)) {
		for (size_t i = 0; i < rows.cnt && at < size; i++) {
			const struct top_row *r = &rows.row[i];
			double busy = r->rate[0];

			at += (size_t)snprintf(text + at, size - at, "%sGPU %lld: ", i ? "   " : "",
					       (long long)r->tid);
			if (at < size && isnan(busy))
				at += (size_t)snprintf(text + at, size - at, "-");
			else if (at < size)
				at += (size_t)snprintf(
					text + at, size - at,
					"busy %.0f %%, %.0f kernels/s, %.1f MB/s copied", busy,
					r->rate[1], r->rate[4]);
		}
	}
	top_rows_free(&rows);
}

#define SHOWN_NS 2000000000ll /* a smaller lag is as usual */

/* Switches that the kernel did not report are no fault of the recording, and there are a few in nearly every one. */
static void losses_line(const struct top *t, char *text, size_t size)
{
	int64_t other = t->lost - t->unreported;
	size_t at = 0;

	if (other > 0)
		at = (size_t)snprintf(text, size, "%lld %s lost", (long long)other,
				      other == 1 ? "event is" : "events are");
	if (t->unreported > 0 && at < size)
		snprintf(text + at, size - at,
			 "%s%lld context %s lost by the kernel (skipped, or its buffer was "
			 "full)",
			 at ? "; " : "", (long long)t->unreported,
			 t->unreported == 1 ? "switch was" : "switches were");
	at = strlen(text);
	if (t->behind >= SHOWN_NS && at < size)
		snprintf(text + at, size - at, "%s%.1f s behind: the processors are busy",
			 at ? "; " : "", (double)t->behind / 1e9);
}

bool top_head(const struct top *t, unsigned i, char *text, size_t size, bool *warn)
{
	double interval = top_interval(t), seconds = (double)(t->time - t->since) / 1e9;
	size_t at;

	*warn = false;
	if (!t->path && i > 0) {
		text[0] = 0;
		return i < 8;
	}
	switch (i) {
	case 0:
		snprintf(text, size, "%s%s%s%s%s", t->session ? "session " : "",
			 t->session ? t->session : "", t->session ? ": " : "",
			 t->path ? t->path : "", t->path ? ": " : "");
		at = strlen(text);
		snprintf(text + at, size - at, "%s", status_text(t));
		*warn = t->status == TOP_LEFT;
		return true;
	case 1:
		at = (size_t)snprintf(text, size, "%.0f s", seconds > 0 ? seconds : 0);
		if (t->processes && at < size)
			at += (size_t)snprintf(text + at, size - at, ", %lld %s",
					       (long long)t->processes,
					       t->processes == 1 ? "process" : "processes");
		if (t->is_sampled && !t->has_totals && interval > 0 && at < size)
			at += (size_t)snprintf(text + at, size - at, ", %.0f events/s",
					       (double)(t->events - t->events_before) / interval);
		if (t->program && at < size)
			snprintf(text + at, size - at, ": %s", t->program);
		return true;
	case 2:
		text[0] = 0;
		*warn = true;
		losses_line(t, text, size);
		return true;
	case 3:
		snprintf(text, size, "%s", t->missing);
		return true;
	case 4:
		gpu_line(t, text, size);
		return true;
	case 5:
		snprintf(text, size, "%s", t->gpus);
		return true;
	case 6:
		snprintf(text, size, "%s", t->metrics);
		return true;
	case 7:
		snprintf(text, size, "%s%s", *t->machine ? "machine: " : "", t->machine);
		return true;
	default:
		return false;
	}
}

static void print_clean(FILE *out, const char *text)
{
	size_t used;
	char *shown = text_people(text, strlen(text), 0, &used);

	fprintf(out, "%s\n", shown ? shown : "");
	free(shown);
}

static void print_line(FILE *out, const struct top_ask *ask, const struct top_row *row,
		       size_t width)
{
	char *line = top_line(ask, row, width);
	size_t len = line ? strlen(line) : 0;

	while (len && line[len - 1] == ' ')
		line[--len] = 0;
	fprintf(out, "%s\n", line ? line : "");
	free(line);
}

void top_print(FILE *out, const struct top *t, const struct top_ask *ask, size_t most, size_t width)
{
	struct top_rows rows = {0};
	char text[4096];
	bool warn;

	for (unsigned i = 0; top_head(t, i, text, sizeof(text), &warn); i++)
		if (*text)
			print_clean(out, text);
	putc('\n', out);
	top_rows(t, ask, &rows);
	print_line(out, ask, NULL, width);
	for (size_t i = 0; i < rows.cnt && i < most; i++)
		print_line(out, ask, &rows.row[i], width);
	if (rows.cnt > most)
		fprintf(out, "... and %zu more\n", rows.cnt - most);
	if (!rows.cnt)
		fprintf(out, "  (none)\n");
	top_rows_free(&rows);
}

/* ---- JSON ---- */

static void put_json_number(struct writer *w, const char *key, double v)
{
	if (isnan(v))
		json_null(w, key);
	else
		json_format(w, key, "%.10g", v);
}

static void put_json_row(struct writer *w, enum top_view view, const struct top_row *r)
{
	static const char *const libraries[] = {"c", "cuda", "library"};
	const struct top_view_info *v = &top_views[view];

	json_open(w, NULL, '{');
	if (view == VIEW_GPUS) {
		json_int(w, "gpu", r->tid);
	} else {
		json_int(w, "pid", r->pid);
		json_text(w, "process", r->process);
	}
	if (view == VIEW_THREADS)
		json_int(w, "tid", r->tid);
	if (view == VIEW_CUDA)
		json_text(w, "library", libraries[r->part <= 2 ? r->part : 2]);
	if (view == VIEW_FILES)
		json_text(w, "path", r->part == 2 ? NULL : r->text);
	else if (view != VIEW_PROCESSES)
		json_text(w, view == VIEW_FUNCTIONS || view == VIEW_CUDA ? "function" : "name",
			  r->text);
	for (unsigned c = 0; c < v->columns; c++) {
		put_json_number(w, v->column[c].key, r->rate[c]);
		put_json_number(w, v->column[c].total_key, r->total[c]);
	}
	json_close(w, '}');
}

static void put_json_view(struct writer *w, const struct top *t, enum top_view view,
			  const char *filter, struct top_rows *rows)
{
	const struct top_ask ask = {
		.view = view, .by_process = true, .totals = true, .filter = filter};

	json_open(w, top_views[view].name, '[');
	if (!top_rows(t, &ask, rows))
		rows->cnt = 0;
	for (size_t i = 0; i < rows->cnt; i++)
		put_json_row(w, view, &rows->row[i]);
	json_close(w, ']');
}

void top_print_json(FILE *out, const struct top *t, const char *filter)
{
	static const char *const status[] = {"waiting", "recording", "paused", "finished",
					     "abandoned"};
	struct writer w = {.file = out, .is_spaced = true};
	double interval = top_interval(t);
	struct top_rows rows = {0};

	json_open(&w, NULL, '{');
	json_text(&w, "report", t->path);
	json_text(&w, "program", t->program);
	json_text(&w, "state", status[t->status]);
	json_format(&w, "time_seconds", "%.9g", (double)t->time / 1e9);
	put_json_number(&w, "interval_seconds", t->is_sampled ? interval : NAN);
	json_int(&w, "processes_alive", t->processes);
	put_json_number(&w, "events_per_second",
			t->is_sampled && !t->has_totals && interval > 0
				? (double)(t->events - t->events_before) / interval
				: NAN);
	json_int(&w, "lost_events", t->lost);
	json_int(&w, "switches_not_told", t->unreported);
	json_format(&w, "behind_seconds", "%.9g", (double)t->behind / 1e9);
	json_text(&w, "missing", *t->missing ? t->missing : NULL);
	json_text(&w, "gpu_health", *t->gpus ? t->gpus : NULL);
	json_text(&w, "gpu_metrics", *t->metrics ? t->metrics : NULL);
	json_text(&w, "machine", *t->machine ? t->machine : NULL);
	for (int view = 0; view < VIEW_CNT; view++)
		put_json_view(&w, t, (enum top_view)view, filter, &rows);
	json_close(&w, '}');
	putc('\n', out);
	top_rows_free(&rows);
}
