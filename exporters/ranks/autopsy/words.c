/* words.c - sentences of an autopsy. */
#include "exporters/ranks/autopsy/words.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "exporters/html/html_text.h"
#include "exporters/why/model/frame.h"

#define NUMBERS_MOST 40 /* runs of numbers */

static const struct {
	int number;
	const char *name;
} signals[] = {{SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"},
	       {SIGILL, "SIGILL"},   {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"},
	       {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},   {SIGKILL, "SIGKILL"},
	       {SIGUSR1, "SIGUSR1"}, {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"},
	       {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},
	       {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"}};

static bool is_oom(const struct autopsy_rank *r)
{
	for (size_t i = 0; i < r->notes_cnt; i++)
		if (r->notes[i].name && (strstr(r->notes[i].name, "Out of memory") ||
					 strstr(r->notes[i].name, "out of memory") ||
					 strstr(r->notes[i].name, "oom-kill") ||
					 strstr(r->notes[i].name, "OOM killer")))
			return true;
	return false;
}

const char *autopsy_exit_text(const struct autopsy_rank *r, char *buf, size_t len)
{
	int status = (int)r->life.status;
	const char *name = "?";

	if (r->life.status == AUTOPSY_NONE) {
		snprintf(buf, len, "%s",
			 r->life.end == AUTOPSY_NONE ? "its end was not recorded"
						     : "ended, with an unknown status");
	} else if (WIFEXITED(status)) {
		if (WEXITSTATUS(status))
			snprintf(buf, len, "exit status %d", WEXITSTATUS(status));
		else
			snprintf(buf, len, "ended well");
	} else {
		for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
			if (signals[i].number == WTERMSIG(status))
				name = signals[i].name;
		snprintf(buf, len, "killed by signal %d (%s)%s", WTERMSIG(status), name,
			 WTERMSIG(status) == SIGKILL && is_oom(r)
				 ? ", for want of memory (OOM killer)"
				 : "");
	}
	return buf;
}

void words_place(FILE *out, const struct autopsy_rank *r, words_name *name)
{
	const struct autopsy_frame *f;

	if (r->verdict.frame == SIZE_MAX)
		return;
	f = &r->verdict.thread->stack.list[r->verdict.frame];
	name(out, f->function ? f->function : "?");
	if (f->file && f->line) {
		fputs(" (", out);
		name(out, frame_base_of(f->file));
		fprintf(out, ":%lld)", (long long)f->line);
	} else if (f->module) {
		fputs(" (", out);
		name(out, frame_base_of(f->module));
		fputs(")", out);
	}
}

void words_end(FILE *out, const struct autopsy *a, const struct autopsy_rank *r, words_name *name)
{
	char text[AUTOPSY_EXIT_MAX], time[HUMAN_MAX];

	fputs(autopsy_exit_text(r, text, sizeof(text)), out);
	if (r->verdict.frame != SIZE_MAX) {
		fputs(" at ", out);
		words_place(out, r, name);
	}
	if (r->life.end != AUTOPSY_NONE && a->start && r->life.end > a->start)
		fprintf(out, ", %s after the start of the run",
			human_time(time, (double)(r->life.end - a->start)));
}

/* The look at what it waited for is not the look at its death. */
static const struct autopsy_thread *wait_of(const struct autopsy_rank *r)
{
	for (size_t i = 0; r->verdict.thread && i < r->waits_cnt; i++)
		if (r->waits[i].tid == r->verdict.thread->tid && r->waits[i].call)
			return &r->waits[i];
	return NULL;
}

bool words_have_wait(const struct autopsy_rank *r)
{
	return wait_of(r) != NULL;
}

void words_wait(FILE *out, const struct autopsy_rank *r, words_name *name)
{
	const struct autopsy_thread *t = wait_of(r);

	fprintf(out, "thread %lld was waiting in ", (long long)t->tid);
	name(out, t->call);
	if (t->path) {
		fputs(" for ", out);
		name(out, t->path);
	}
	if (t->owner && t->pid && t->pid != r->id.pid)
		fprintf(out, ", which process %lld has", (long long)t->pid);
	else if (t->owner)
		fprintf(out, ", for a lock that thread %lld has", (long long)t->owner);
	if (t->peer) {
		fputs("; ", out);
		name(out, t->peer);
	}
	if (r->verdict.is_cycle)
		fputs(": a deadlock, for that one waits for this thread", out);
}

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

void words_numbers(FILE *out, const struct autopsy_number *list, size_t cnt)
{
	size_t put = 0;

	for (size_t i = 0, next; i < cnt; i = next, put++) {
		for (next = i + 1; next < cnt && list[next].rank == list[next - 1].rank + 1;)
			next++;
		if (put == NUMBERS_MOST) {
			fprintf(out, " and %zu more", cnt - i);
			return;
		}
		fprintf(out, "%s%lld", put ? ", " : "", (long long)list[i].rank);
		if (next - i == 2)
			fprintf(out, ", %lld", (long long)list[next - 1].rank);
		else if (next - i > 2)
			fprintf(out, " to %lld", (long long)list[next - 1].rank);
	}
}

void words_stuck(FILE *out, const struct autopsy_stuck *s, words_name *name)
{
	if (s->in_cnt)
		qsort(s->in, s->in_cnt, sizeof(*s->in), by_number);
	if (s->missing_cnt)
		qsort(s->missing, s->missing_cnt, sizeof(*s->missing), by_number);
	name(out, s->op ? s->op : "a collective");
	fprintf(out, " %lld on communicator %016llx: %zu of %lld ranks have joined it (",
		(long long)s->seq, (unsigned long long)s->comm, s->in_cnt,
		(long long)(s->size ? s->size : (int64_t)(s->in_cnt + s->missing_cnt)));
	words_numbers(out, s->in, s->in_cnt);
	fputs(")", out);
	if (s->missing_cnt) {
		fprintf(out, ", and not rank%s ", s->missing_cnt == 1 ? "" : "s");
		words_numbers(out, s->missing, s->missing_cnt);
	}
	if (s->unknown)
		fprintf(out, "; of %zu ranks nothing was recorded", s->unknown);
}

const char *words_reason(const struct autopsy *a)
{
	static const char *const texts[] = {
		[AUTOPSY_UNKNOWN] = "No rank stands out as the cause.",
		[AUTOPSY_DIED] = "It ended badly, and before the others.",
		[AUTOPSY_LEFT] = "It ended before a collective in which others wait for it.",
		[AUTOPSY_NOT_JOINED] = "Others wait for it in a collective.",
		[AUTOPSY_ELSEWHERE] =
			"Others wait for it in a collective, and it waits for them in another one.",
		[AUTOPSY_DEADLOCK] = "Its threads wait for each other.",
		[AUTOPSY_DIFFERS] =
			"All ranks were ended together, and it was elsewhere than the others.",
	};

	return texts[a->reason];
}

bool words_alike(const struct autopsy_rank *x, const struct autopsy_rank *y)
{
	const struct autopsy_frame *f, *g;

	if (x->life.status != y->life.status || x->verdict.role != y->verdict.role ||
	    (x->verdict.in != NULL) != (y->verdict.in != NULL) ||
	    (x->verdict.in && (x->verdict.in->comm != y->verdict.in->comm ||
			       x->verdict.in->seq != y->verdict.in->seq)) ||
	    (x->life.end == AUTOPSY_NONE) != (y->life.end == AUTOPSY_NONE) || x->notes_cnt ||
	    y->notes_cnt)
		return false;
	if (x->verdict.frame == SIZE_MAX || y->verdict.frame == SIZE_MAX)
		return x->verdict.frame == y->verdict.frame;
	f = &x->verdict.thread->stack.list[x->verdict.frame];
	g = &y->verdict.thread->stack.list[y->verdict.frame];
	return f->line == g->line &&
	       (f->file && g->file ? strcmp(f->file, g->file) == 0 : f->file == g->file) &&
	       (f->function && g->function ? strcmp(f->function, g->function) == 0
					   : f->function == g->function);
}
