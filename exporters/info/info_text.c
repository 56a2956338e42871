/* info_text.c - the contents of a report, for people: most important first, long lists cut. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "exporters/text/cell.h"
#include "exporters/info/info.h"

#define SHOWN_MAX 100 /* of a list; JSON has all */
#define TEXT_MAX  120 /* columns of a text */

/* "1,234,567" */
static const char *grouped(int64_t n, char buf[CELL_NUMBER_MAX])
{
	const struct cell c = {.kind = CELL_INT, .num = n};

	cell_number_people(&c, 0, true, buf);
	return buf;
}

/* ns as seconds, or "-" */
static const char *seconds(int64_t ns, char buf[32])
{
	if (ns == INFO_NONE)
		return "-";
	snprintf(buf, 32, "%.6f", (double)ns / 1e9);
	return buf;
}

static void put_size(FILE *out, int64_t bytes)
{
	static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	double n = (double)bytes;
	size_t i = 0;

	for (; n >= 1024 && i < 4; i++)
		n /= 1024;
	fprintf(out, i ? "%.1f %s" : "%.0f %s", n, unit[i]);
}

static void put_text(FILE *out, const char *text, size_t width)
{
	size_t taken;
	char *safe = text_people(text, strlen(text), width, &taken);

	fputs(safe ? safe : "?", out);
	free(safe);
}

static void line(FILE *out, const char *name, const char *text)
{
	if (!text)
		return;
	fprintf(out, "  %-11s ", name);
	put_text(out, text, 0);
	putc('\n', out);
}

static void put_head(FILE *out, const struct info *i)
{
	char buf[160], when[64];
	time_t seconds_of = (time_t)(i->epoch / 1000000000);
	struct tm tm;

	put_text(out, i->path, 0);
	if (i->bytes != INFO_NONE) {
		fputs("  (", out);
		put_size(out, i->bytes);
		putc(')', out);
	}
	putc('\n', out);
	snprintf(buf, sizeof(buf), "%s %s, schema %s%s",
		 i->product ? i->product : "unknown (before 2022)", i->version ? i->version : "",
		 i->schema ? i->schema : "unknown",
		 i->complete == 0
			 ? "; not finished: it is being written, or 'sightline recover' ends it"
			 : "");
	line(out, "written by", buf);
	if (i->duration != INFO_NONE) {
		snprintf(buf, sizeof(buf), "%s s", seconds(i->duration, when));
		line(out, "duration", buf);
	}
	if (i->wall.basis != WALL_NONE) {
		snprintf(buf, sizeof(buf), "%s s, %s", seconds(wall_ns(&i->wall), when),
			 wall_basis_text(i->wall.basis));
		line(out, "wall time", buf);
	}
	if (i->epoch != INFO_NONE && gmtime_r(&seconds_of, &tm) &&
	    strftime(when, sizeof(when), "%F %T UTC", &tm))
		line(out, "recorded", when);
	line(out, "host", i->host);
	line(out, "command", i->command);
	line(out, "folder", i->folder);
}

static void put_losses(FILE *out, const struct info *i)
{
	char n[CELL_NUMBER_MAX], a[32], b[32];

	fprintf(out, "\nLost:%s\n", i->losses_cnt ? "" : " nothing that the report knows of");
	for (size_t k = 0; k < i->losses_cnt && k < SHOWN_MAX; k++) {
		const struct info_loss *l = &i->losses[k];

		fprintf(out, "  %12s  ", grouped(l->count, n));
		put_text(out, l->what ? l->what : "events", TEXT_MAX);
		fprintf(out, ", between %s s and %s s", seconds(l->start, a), seconds(l->end, b));
		if (l->pid != INFO_NONE)
			fprintf(out, ", pid %lld", (long long)l->pid);
		putc('\n', out);
	}
}

/* ---- processes: a tree where the report has the parents ---- */

static bool has_parent(const struct info *i, const struct info_process *p)
{
	for (size_t k = 0; k < i->processes_cnt; k++)
		if (i->processes[k].global == p->parent && &i->processes[k] != p)
			return true;
	return false;
}

static void put_process(FILE *out, const struct info *i, const struct info_process *p, int depth,
			size_t *shown)
{
	char n[CELL_NUMBER_MAX];

	if ((*shown)++ >= SHOWN_MAX || depth > 64)
		return;
	fprintf(out, "  %9lld  %14s  %*s", (long long)p->pid, grouped(p->events, n), depth * 2, "");
	put_text(out, p->command ? p->command : p->name ? p->name : "?", TEXT_MAX);
	if (p->traced == 0)
		fputs("  [not traced]", out);
	if (p->status != INFO_NONE && WIFSIGNALED((int)p->status))
		fprintf(out, "  [killed by signal %d]", WTERMSIG((int)p->status));
	else if (p->status > 0)
		fprintf(out, "  [exit %d]", WEXITSTATUS((int)p->status));
	putc('\n', out);
	for (size_t k = 0; k < i->processes_cnt; k++)
		if (i->processes[k].parent == p->global && &i->processes[k] != p)
			put_process(out, i, &i->processes[k], depth + 1, shown);
}

static void put_processes(FILE *out, const struct info *i)
{
	size_t shown = 0;

	if (i->processes_cnt == 0)
		return;
	fprintf(out, "\nProcesses: %zu\n        pid          events  command\n", i->processes_cnt);
	for (size_t k = 0; k < i->processes_cnt; k++)
		if (i->processes[k].parent == INFO_NONE || !has_parent(i, &i->processes[k]))
			put_process(out, i, &i->processes[k], 0, &shown);
	if (shown > SHOWN_MAX)
		fprintf(out, "  and %zu more\n", shown - SHOWN_MAX);
}

static void put_tables(FILE *out, const struct info *i)
{
	char n[CELL_NUMBER_MAX], a[32], b[32];

	fputs("\nTables:\n            rows       first (s)        last (s)  name\n", out);
	for (size_t k = 0; k < i->tables_cnt; k++) {
		const struct info_table *t = &i->tables[k];

		if (t->rows <= 0)
			continue;
		fprintf(out, "  %14s  %14s  %14s  ", grouped(t->rows, n), seconds(t->first, a),
			seconds(t->last, b));
		put_text(out, t->name, 0);
		putc('\n', out);
	}
}

static void put_gpus(FILE *out, const struct info *i)
{
	if (i->gpus_cnt)
		fputs("\nGPUs:\n", out);
	for (size_t k = 0; k < i->gpus_cnt; k++) {
		const struct info_gpu *g = &i->gpus[k];

		fprintf(out, "  %3lld  ", (long long)g->id);
		put_text(out, g->name ? g->name : "?", TEXT_MAX);
		if (g->memory != INFO_NONE) {
			fputs(", ", out);
			put_size(out, g->memory);
		}
		if (g->sms != INFO_NONE)
			fprintf(out, ", %lld multiprocessors", (long long)g->sms);
		if (g->major != INFO_NONE)
			fprintf(out, ", compute %lld.%lld", (long long)g->major,
				(long long)g->minor);
		if (g->bus) {
			fputs(", at ", out);
			put_text(out, g->bus, TEXT_MAX);
		}
		putc('\n', out);
	}
}

static void put_notes(FILE *out, const struct info *i)
{
	static const char *const word[] = {"", "", "warning", "error"};
	size_t shown = 0, quiet = 0;
	char a[32];

	for (size_t k = 0; k < i->notes_cnt; k++) {
		const struct info_note *n = &i->notes[k];

		if (n->severity != 2 && n->severity != 3) {
			quiet++;
			continue;
		}
		if (shown++ == 0)
			fputs("\nDiagnostics:\n", out);
		if (shown > SHOWN_MAX)
			continue;
		fprintf(out, "  %14s  %s: ", seconds(n->time, a), word[n->severity]);
		put_text(out, n->text ? n->text : "", 0);
		putc('\n', out);
	}
	if (shown > SHOWN_MAX)
		fprintf(out, "  and %zu more\n", shown - SHOWN_MAX);
	if (quiet)
		fprintf(out, "%s  (%zu that are no warnings: --format json has them)\n",
			shown ? "" : "\nDiagnostics:\n", quiet);
}

/* Options that are off and capabilities of the machine are not worth a line here. */
static bool is_off(const struct info_pair *p)
{
	static const char *const leads[] = {"Has", "Supports", "Supported", "Is"};

	if (!p->name || !p->value || strcmp(p->value, "false") == 0 || strcmp(p->value, "0") == 0 ||
	    strcmp(p->value, "{}") == 0)
		return true;
	for (size_t k = 0; k < sizeof(leads) / sizeof(leads[0]); k++)
		if (strncmp(p->name, leads[k], strlen(leads[k])) == 0)
			return true;
	return false;
}

static void put_pairs(FILE *out, const char *heading, const struct info_pair *list, size_t cnt)
{
	size_t shown = 0;

	for (size_t k = 0; k < cnt; k++) {
		if (is_off(&list[k]))
			continue;
		if (shown++ == 0)
			fprintf(out, "\n%s:\n", heading);
		fputs("  ", out);
		put_text(out, list[k].name, 60);
		fputs(" = ", out);
		put_text(out, list[k].value, TEXT_MAX);
		putc('\n', out);
	}
}

void info_text(FILE *out, const struct info *i)
{
	put_head(out, i);
	put_losses(out, i);
	put_processes(out, i);
	put_gpus(out, i);
	put_tables(out, i);
	put_notes(out, i);
	put_pairs(out, "Recorded with", i->capture, i->capture_cnt);
	put_pairs(out, "Machine", i->machine, i->machine_cnt);
}
