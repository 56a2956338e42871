/* info_json.c - the contents of a report, as one JSON object. Unknown values are null. Times are ns. */
#include "collector/base/json.h"
#include "exporters/info/info.h"
#include "exporters/text/bounded.h"

static void put_number(struct writer *w, const char *name, int64_t n)
{
	if (n == INFO_NONE)
		json_null(w, name);
	else
		json_int(w, name, n);
}

static void put_bool(struct writer *w, const char *name, int64_t n)
{
	if (n == INFO_NONE)
		json_null(w, name);
	else
		json_bool(w, name, n);
}

static size_t open_list(struct writer *w, const char *name, size_t cnt)
{
	json_line(w, 2);
	return bounded_list(w, name, cnt);
}

static void open_row(struct writer *w)
{
	json_line(w, 4);
	json_open(w, NULL, '{');
}

static void put_tables(struct writer *w, const struct info *i)
{
	size_t cnt = open_list(w, "tables", i->tables_cnt);

	for (size_t k = 0; k < cnt; k++) {
		open_row(w);
		json_text(w, "name", i->tables[k].name);
		put_number(w, "rows", i->tables[k].rows);
		put_number(w, "first", i->tables[k].first);
		put_number(w, "last", i->tables[k].last);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void put_processes(struct writer *w, const struct info *i)
{
	size_t cnt = open_list(w, "processes", i->processes_cnt);

	for (size_t k = 0; k < cnt; k++) {
		const struct info_process *p = &i->processes[k];

		open_row(w);
		put_number(w, "globalPid", p->global);
		put_number(w, "pid", p->pid);
		put_number(w, "parentGlobalPid", p->parent);
		json_text(w, "name", p->name);
		json_text(w, "command", p->command);
		put_number(w, "start", p->start);
		put_number(w, "end", p->end);
		put_bool(w, "traced", p->traced);
		put_number(w, "exitStatus", p->status);
		put_number(w, "events", p->events);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void put_pairs(struct writer *w, const char *name, const struct info_pair *list, size_t cnt)
{
	cnt = open_list(w, name, cnt);
	for (size_t k = 0; k < cnt; k++) {
		open_row(w);
		json_text(w, "name", list[k].name);
		json_text(w, "value", list[k].value);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void put_gpus(struct writer *w, const struct info *i)
{
	size_t cnt = open_list(w, "gpus", i->gpus_cnt);

	for (size_t k = 0; k < cnt; k++) {
		const struct info_gpu *g = &i->gpus[k];

		open_row(w);
		put_number(w, "id", g->id);
		json_text(w, "name", g->name);
		json_text(w, "busLocation", g->bus);
		put_number(w, "memory", g->memory);
		put_number(w, "multiprocessors", g->sms);
		put_number(w, "computeMajor", g->major);
		put_number(w, "computeMinor", g->minor);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void put_losses(struct writer *w, const struct info *i)
{
	size_t cnt = open_list(w, "losses", i->losses_cnt);

	for (size_t k = 0; k < cnt; k++) {
		const struct info_loss *l = &i->losses[k];

		open_row(w);
		put_number(w, "start", l->start);
		put_number(w, "end", l->end);
		put_number(w, "pid", l->pid);
		put_number(w, "count", l->count);
		json_text(w, "what", l->what);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void put_notes(struct writer *w, const struct info *i)
{
	size_t cnt = open_list(w, "diagnostics", i->notes_cnt);

	for (size_t k = 0; k < cnt; k++) {
		open_row(w);
		put_number(w, "time", i->notes[k].time);
		put_number(w, "severity", i->notes[k].severity);
		json_text(w, "text", i->notes[k].text);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void put_head(struct writer *w, const struct info *i)
{
	json_line(w, 2);
	json_text(w, "report", i->path);
	json_text(w, "file", i->path);
	put_number(w, "bytes", i->bytes);
	json_line(w, 2);
	json_text(w, "product", i->product);
	json_text(w, "version", i->version);
	json_text(w, "schema", i->schema);
	put_bool(w, "complete", i->complete);
	json_line(w, 2);
	put_number(w, "duration", i->duration);
	put_number(w, "wall", i->wall.basis ? wall_ns(&i->wall) : INFO_NONE);
	put_number(w, "utcEpochNs", i->epoch);
	json_text(w, "host", i->host);
	json_line(w, 2);
	json_text(w, "command", i->command);
	json_text(w, "folder", i->folder);
}

static void put_info(struct writer *w, const void *ctx)
{
	const struct info *i = ctx;

	put_head(w, i);
	put_tables(w, i);
	put_processes(w, i);
	put_pairs(w, "machine", i->machine, i->machine_cnt);
	put_pairs(w, "capture", i->capture, i->capture_cnt);
	put_gpus(w, i);
	put_losses(w, i);
	put_notes(w, i);
	json_line(w, 0);
}

int info_json(FILE *out, const struct info *i, const struct bounds *b)
{
	return bounded_print(out, b, put_info, i);
}
