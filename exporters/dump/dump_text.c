/* dump_text.c - threads as text: deadlocks, then each thread with its stack. */
#include <stdlib.h>
#include <string.h>

#include "exporters/dump/dump.h"
#include "exporters/text/cell.h"
#include "exporters/text/terminal.h"
#include "exporters/why/model/frame.h"
#include "exporters/why/why_out.h"

#define NAMED 4 /* threads that are alike: so many are named */

static void put_processes(FILE *out, const struct dump *d)
{
	for (size_t i = 0; i < d->processes_cnt; i++) {
		const struct dump_process *p = &d->processes[i];
		size_t cnt = 0;

		for (size_t k = 0; k < d->threads_cnt; k++)
			cnt += dump_process_of(d, d->threads[k].tid) == p;
		if (!cnt)
			continue;
		fprintf(out, "Process %lld: ", (long long)(p->pid >> 24 & 0xffffff));
		text_put_people(out, p->command ? p->command : p->name ? p->name : "?");
		fprintf(out, " (%zu thread%s)\n", cnt, cnt == 1 ? "" : "s");
	}
}

void dump_put_place(FILE *out, const char *file, int64_t line, const char *module)
{
	if (file && line) {
		fputs(" (", out);
		text_put_people(out, file);
		fprintf(out, ":%lld)", (long long)line);
	} else if (module) {
		fputs(" (", out);
		text_put_people(out, frame_base_of(module));
		fputs(")", out);
	}
}

static void put_frame(FILE *out, const struct dump_frame *f, int indent)
{
	fprintf(out, "%*s", indent, "");
	text_put_people(out, f->function ? f->function : "?");
	if (f->kind == FRAME_IS_REMARK) {
		putc('\n', out);
		return;
	}
	dump_put_place(out, f->file, f->line, f->module);
	putc('\n', out);
}

void dump_put_frames(FILE *out, const struct dump_stack *s, int indent)
{
	for (size_t i = 0; i < s->cnt; i++)
		put_frame(out, &s->list[i], indent);
}

static void put_name(FILE *out, const struct dump *d, const struct dump_thread *t)
{
	const struct dump_process *p = dump_process_of(d, t->tid);

	fprintf(out, "%lld", (long long)(t->tid & 0xffffff));
	if (t->name && !(p && p->name && strcmp(p->name, t->name) == 0)) {
		fputs(" \"", out);
		text_put_people(out, t->name);
		fputs("\"", out);
	}
}

/* "Thread 4711 "worker": " or "Threads 4711, 4712, 4713, 4714 and 60 more: " */
static void put_threads(FILE *out, const struct dump *d, const struct dump_thread *t)
{
	const struct dump_process *p = dump_process_of(d, t->tid);
	bool is_process = t->alike == 1 && d->processes_cnt > 1 &&
			  (t->tid >> 24 & 0xffffff) == (t->tid & 0xffffff);

	if (is_process) {
		fprintf(out, "Process %lld (", (long long)(t->tid & 0xffffff));
		text_put_people(out, p && p->name ? frame_base_of(p->name) : "?");
		fputs("): ", out);
		return;
	}
	fputs(t->alike > 1 ? "Threads " : "Thread ", out);
	for (uint32_t i = 0; i < t->alike && i < NAMED; i++) {
		if (i)
			fputs(", ", out);
		put_name(out, d, &t[i]);
	}
	if (t->alike > NAMED)
		fprintf(out, " and %u more", t->alike - NAMED);
	if (d->processes_cnt > 1)
		fprintf(out, " of process %lld", (long long)(t->tid >> 24 & 0xffffff));
	fputs(": ", out);
}

static void put_wait(FILE *out, const struct dump *d, const struct dump_thread *t)
{
	if (t->hang != WHY_NONE) {
		why_put_hang(out, &d->why, &d->why.hangs.list[t->hang]);
	} else if (t->state && *t->state == 'R') {
		fputs("running, or ready to run", out);
	} else {
		text_put_people(out, t->call ? t->call : "not known");
	}
	if (t->state && *t->state == 'D')
		fputs("; it cannot be interrupted", out);
	if (t->peer) {
		fputs("; ", out);
		text_put_people(out, t->peer);
	}
	if (t->has_gil)
		fputs("; it has the GIL", out);
	putc('\n', out);
}

static void put_thread(FILE *out, const struct dump *d, const struct dump_thread *t)
{
	bool runs = t->state && *t->state == 'R';

	putc('\n', out);
	put_threads(out, d, t);
	put_wait(out, d, t);
	if (t->stack != WHY_NONE)
		dump_put_frames(out, &d->stacks[t->stack], 4);
	if (t->stack == WHY_NONE)
		fputs(runs ? "    [not recorded: the stack of compiled code of a thread that "
			     "runs]\n"
			   : "    [not recorded: the thread went on while its stack was read]\n",
		      out);
	else if (runs)
		fputs("    [not recorded: compiled code, for the thread runs]\n", out);
}

static void put_all(FILE *out, struct dump *d)
{
	put_processes(out, d);
	why_put_deadlocks(out, &d->why);
	for (size_t i = 0; i < d->threads_cnt; i++)
		if (d->threads[i].alike)
			put_thread(out, d, &d->threads[i]);
	dump_put_tasks(out, d);
}

void dump_put_text(FILE *out, struct dump *d, size_t columns)
{
	char *text = NULL;
	size_t len;
	FILE *memory = columns ? open_memstream(&text, &len) : NULL;

	if (!memory) {
		put_all(out, d);
		return;
	}
	put_all(memory, d);
	if (fclose(memory) == 0)
		text_put_fitted(out, text, columns);
	free(text);
}
