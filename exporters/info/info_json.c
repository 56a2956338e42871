/* info_json.c - what is in a report, as one JSON object. What is not known is null. Times are ns. */
#include <string.h>

#include "exporters/text/format.h"
#include "exporters/info/info.h"

static void key(FILE *out, const char *name)
{
	fprintf(out, "\"%s\": ", name);
}

static void put_text(FILE *out, const char *name, const char *text)
{
	key(out, name);
	if (text)
		json_string(out, text, strlen(text));
	else
		fputs("null", out);
}

static void put_number(FILE *out, const char *name, int64_t n)
{
	key(out, name);
	if (n == INFO_NONE)
		fputs("null", out);
	else
		fprintf(out, "%lld", (long long)n);
}

#define SEP fputs(", ", out)

static void put_tables(FILE *out, const struct info *i)
{
	fputs("  \"tables\": [", out);
	for (size_t k = 0; k < i->tables_cnt; k++) {
		fputs(k ? ",\n    {" : "\n    {", out);
		put_text(out, "name", i->tables[k].name), SEP;
		put_number(out, "rows", i->tables[k].rows), SEP;
		put_number(out, "first", i->tables[k].first), SEP;
		put_number(out, "last", i->tables[k].last);
		putc('}', out);
	}
	fputs("],\n", out);
}

static void put_processes(FILE *out, const struct info *i)
{
	fputs("  \"processes\": [", out);
	for (size_t k = 0; k < i->processes_cnt; k++) {
		const struct info_process *p = &i->processes[k];

		fputs(k ? ",\n    {" : "\n    {", out);
		put_number(out, "globalPid", p->global), SEP;
		put_number(out, "pid", p->pid), SEP;
		put_number(out, "parentGlobalPid", p->parent), SEP;
		put_text(out, "name", p->name), SEP;
		put_text(out, "command", p->command), SEP;
		put_number(out, "start", p->start), SEP;
		put_number(out, "end", p->end), SEP;
		key(out, "traced");
		fputs(p->traced == INFO_NONE ? "null" : p->traced ? "true" : "false", out), SEP;
		put_number(out, "exitStatus", p->status), SEP;
		put_number(out, "events", p->events);
		putc('}', out);
	}
	fputs("],\n", out);
}

static void put_pairs(FILE *out, const char *name, const struct info_pair *list, size_t cnt)
{
	fprintf(out, "  \"%s\": [", name);
	for (size_t k = 0; k < cnt; k++) {
		fputs(k ? ",\n    {" : "\n    {", out);
		put_text(out, "name", list[k].name), SEP;
		put_text(out, "value", list[k].value);
		putc('}', out);
	}
	fputs("],\n", out);
}

static void put_rest(FILE *out, const struct info *i)
{
	fputs("  \"gpus\": [", out);
	for (size_t k = 0; k < i->gpus_cnt; k++) {
		const struct info_gpu *g = &i->gpus[k];

		fputs(k ? ",\n    {" : "\n    {", out);
		put_number(out, "id", g->id), SEP;
		put_text(out, "name", g->name), SEP;
		put_text(out, "busLocation", g->bus), SEP;
		put_number(out, "memory", g->memory), SEP;
		put_number(out, "multiprocessors", g->sms), SEP;
		put_number(out, "computeMajor", g->major), SEP;
		put_number(out, "computeMinor", g->minor);
		putc('}', out);
	}
	fputs("],\n  \"losses\": [", out);
	for (size_t k = 0; k < i->losses_cnt; k++) {
		const struct info_loss *l = &i->losses[k];

		fputs(k ? ",\n    {" : "\n    {", out);
		put_number(out, "start", l->start), SEP;
		put_number(out, "end", l->end), SEP;
		put_number(out, "pid", l->pid), SEP;
		put_number(out, "count", l->count), SEP;
		put_text(out, "what", l->what);
		putc('}', out);
	}
	fputs("],\n  \"diagnostics\": [", out);
	for (size_t k = 0; k < i->notes_cnt; k++) {
		fputs(k ? ",\n    {" : "\n    {", out);
		put_number(out, "time", i->notes[k].time), SEP;
		put_number(out, "severity", i->notes[k].severity), SEP;
		put_text(out, "text", i->notes[k].text);
		putc('}', out);
	}
	fputs("]\n}", out);
}

void info_json(FILE *out, const struct info *i)
{
	fputs("{\n  ", out);
	put_text(out, "file", i->path), SEP;
	put_number(out, "bytes", i->bytes), fputs(",\n  ", out);
	put_text(out, "product", i->product), SEP;
	put_text(out, "version", i->version), SEP;
	put_text(out, "schema", i->schema), SEP;
	key(out, "complete");
	fputs(i->complete == INFO_NONE ? "null" : i->complete ? "true" : "false", out);
	fputs(",\n  ", out);
	put_number(out, "duration", i->duration), SEP;
	put_number(out, "wall", i->wall.basis ? wall_ns(&i->wall) : INFO_NONE), SEP;
	put_number(out, "utcEpochNs", i->epoch), SEP;
	put_text(out, "host", i->host), fputs(",\n  ", out);
	put_text(out, "command", i->command), SEP;
	put_text(out, "folder", i->folder), fputs(",\n", out);
	put_tables(out, i);
	put_processes(out, i);
	put_pairs(out, "machine", i->machine, i->machine_cnt);
	put_pairs(out, "capture", i->capture, i->capture_cnt);
	put_rest(out, i);
}
