/* autopsy_text.c - an autopsy for people at a terminal: the cause with its stack, then all others, ranks alike in one line. */
#include <stdlib.h>
#include <string.h>

#include "exporters/dump/dump.h"
#include "exporters/html/html_text.h"
#include "exporters/ranks/autopsy/words.h"
#include "exporters/text/cell.h"
#include "exporters/text/terminal.h"

#define FRAMES_MOST 20
#define CALLS_MOST  5
#define LINES_MOST  200 /* of other ranks */

static void put_stack(FILE *out, const struct autopsy_thread *t)
{
	size_t cnt = t->stack.cnt < FRAMES_MOST ? t->stack.cnt : FRAMES_MOST;

	for (size_t i = 0; i < cnt; i++) {
		const struct autopsy_frame *f = &t->stack.list[i];

		fputs("    ", out);
		text_put_people(out, f->function ? f->function : "?");
		dump_put_place(out, f->file, f->line, f->module);
		putc('\n', out);
	}
	if (t->stack.cnt > cnt)
		fprintf(out, "    and %zu more\n", t->stack.cnt - cnt);
}

static void put_last(FILE *out, const struct autopsy_rank *r)
{
	char time[HUMAN_MAX], n[HUMAN_MAX];
	bool any = false;

	for (size_t i = 0; i < r->calls_cnt && i < CALLS_MOST; i++) {
		fputs(i ? ", " : "  Calls of its last 30 s: ", out);
		text_put_people(out, r->calls[i].name ? r->calls[i].name : "?");
		fprintf(out, " %s x %s", human_count(n, (double)r->calls[i].n),
			human_time(time, (double)r->calls[i].ns));
	}
	fputs(r->calls_cnt ? "\n" : "", out);
	for (size_t i = 0; i < r->ranges_cnt; i++)
		if (r->ranges[i].end == AUTOPSY_NONE) {
			fputs(any ? ", " : "  Open ranges: ", out);
			text_put_people(out, r->ranges[i].name ? r->ranges[i].name : "?");
			any = true;
		}
	fputs(any ? "\n" : "", out);
}

static void put_notes(FILE *out, const struct autopsy_rank *r)
{
	char text[AUTOPSY_EXIT_MAX];

	for (size_t i = 0; i < r->notes_cnt; i++) {
		fputs("  ", out);
		text_put_people(out, r->notes[i].name ? r->notes[i].name : "");
		putc('\n', out);
	}
	for (size_t i = 0; i < r->children_cnt; i++) {
		const struct autopsy_rank child = {
			.life = {.status = r->children[i].n, .end = r->children[i].ns}};

		fprintf(out, "  A child, %s: ", autopsy_exit_text(&child, text, sizeof(text)));
		text_put_people(out, r->children[i].name ? r->children[i].name : "?");
		putc('\n', out);
	}
}

static void put_cause(FILE *out, const struct autopsy *a, const struct autopsy_rank *r)
{
	fprintf(out, "Cause: rank %lld (", (long long)r->id.rank);
	text_put_people(out, r->id.host ? r->id.host : r->id.node);
	fprintf(out, ", process %lld): ", (long long)r->id.pid);
	words_end(out, a, r, text_put_people);
	fprintf(out, "\n  %s\n", words_reason(a));
	if (r->verdict.waiters)
		fprintf(out, "  %zu rank%s for it.\n", r->verdict.waiters,
			r->verdict.waiters == 1 ? " waits" : "s wait");
	if (r->verdict.in) {
		fputs("  It waits in ", out);
		text_put_people(out, r->verdict.in->op ? r->verdict.in->op : "a collective");
		fprintf(out, " %lld on communicator %016llx.\n", (long long)r->verdict.in->seq,
			(unsigned long long)r->verdict.in->comm);
	}
	if (words_have_wait(r)) {
		fputs("  ", out);
		words_wait(out, r, text_put_people);
		putc('\n', out);
	}
	put_notes(out, r);
	if (r->verdict.thread) {
		fprintf(out, "  Stack of thread %lld:\n",
			(long long)(r->verdict.thread->tid ? r->verdict.thread->tid : r->id.pid));
		put_stack(out, r->verdict.thread);
	} else {
		fputs("  Its stack was not recorded.\n", out);
	}
	put_last(out, r);
}

/* Ranks from @from on that are alike; ranks that were put have a mark. */
static void put_others(FILE *out, const struct autopsy *a, size_t from, bool *put,
		       struct autopsy_number *list)
{
	const struct autopsy_rank *r = &a->ranks[from];
	size_t cnt = 0;

	for (size_t i = from; i < a->ranks_cnt; i++)
		if (!put[i] && (i == from || words_alike(r, &a->ranks[i]))) {
			put[i] = true;
			list[cnt++].rank = a->ranks[i].id.rank;
		}
	fprintf(out, "Rank%s ", cnt == 1 ? "" : "s");
	words_numbers(out, list, cnt);
	fputs(": ", out);
	words_end(out, a, r, text_put_people);
	if (r->verdict.in) {
		fputs(", in ", out);
		text_put_people(out, r->verdict.in->op ? r->verdict.in->op : "a collective");
		fprintf(out, " %lld", (long long)r->verdict.in->seq);
	}
	putc('\n', out);
	put_notes(out, r);
}

static void put_all(FILE *out, const struct autopsy *a, const char *run)
{
	bool *put = calloc(a->ranks_cnt + 1, sizeof(*put));
	struct autopsy_number *list = calloc(a->ranks_cnt + 1, sizeof(*list));
	size_t from = a->ranks_cnt && a->ranks[0].verdict.role == AUTOPSY_CAUSE ? 1 : 0, lines = 0;

	fputs("Run ", out);
	text_put_people(out, run);
	fprintf(out, ": the ends of %zu ranks", a->ranks_cnt);
	if (a->world > (int64_t)a->ranks_cnt)
		fprintf(out, " of %lld; of the others nothing was recorded", (long long)a->world);
	if (a->unread)
		fprintf(out, "; %zu node%s no file of them", a->unread,
			a->unread == 1 ? " has" : "s have");
	fputs("\n\n", out);
	if (from)
		put_cause(out, a, &a->ranks[0]);
	else
		fprintf(out, "%s\n", words_reason(a));
	for (size_t i = 0; i < a->stuck_cnt; i++) {
		fputs(i ? "" : "\n", out);
		words_stuck(out, &a->stuck[i], text_put_people);
		putc('\n', out);
	}
	putc('\n', out);
	for (size_t i = from; put && list && i < a->ranks_cnt && lines < LINES_MOST; i++)
		if (!put[i]) {
			put_others(out, a, i, put, list);
			lines++;
		}
	free(put);
	free(list);
}

void autopsy_put_text(FILE *out, const struct autopsy *a, const char *run, size_t columns)
{
	char *text = NULL;
	size_t len;
	FILE *memory = columns ? open_memstream(&text, &len) : NULL;

	if (!memory) {
		put_all(out, a, run);
		return;
	}
	put_all(memory, a, run);
	if (fclose(memory) == 0)
		text_put_fitted(out, text, columns);
	free(text);
}
