/* flight_request.c - see flight_internal.h: why somebody wants a report of the flight recorder. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "collector/capture/flight/flight.h"
#include "collector/capture/flight/flight_internal.h"

#define CRASH_NS 100000000ll /* so long others may end with it */

int64_t flight_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * SECOND_NS + ts.tv_nsec;
}

void flight_wish_clear(struct wish *w)
{
	free(w->report);
	memset(w, 0, sizeof(*w));
}

void flight_wish(struct flight *f, enum capture_source source, const char *reason, int64_t due)
{
	struct wish *w = &f->wish;
	size_t len = strlen(w->reason);

	if (!w->is_there) {
		w->source = source;
		w->due = due;
	} else if (due < w->due) {
		w->due = due;
	}
	w->is_there = true;
	if (len + strlen(reason) + 3 < sizeof(w->reason))
		snprintf(w->reason + len, sizeof(w->reason) - len, "%s%s", len ? "; " : "", reason);
	else if (len + 6 < sizeof(w->reason) &&
		 (len < 5 || strcmp(w->reason + len - 5, "; ...") != 0))
		memcpy(w->reason + len, "; ...", 6);
}

int flight_dump(struct collector *c, const char *reason, const char *report, bool overwrite)
{
	struct flight *f = c->flight;

	if (!f)
		return -ENOTSUP;
	if (f->state == FLIGHT_OVER)
		return -ESHUTDOWN;
	flight_wish(f, CAPTURE_SOURCE_COMMAND, reason, flight_now());
	if (report && !f->wish.report) {
		f->wish.report = strdup(report);
		f->wish.overwrite = overwrite;
	}
	return f->state == FLIGHT_DUMPING;
}

void flight_triggered(void *to, const char *why, uint64_t since)
{
	struct collector *c = to;
	struct flight *f = c->flight;
	int64_t now = flight_now();

	/* Too soon after a report, or of a kind with what is about to be written. */
	if ((f->dumps && now - f->dumped < f->ns) || f->state == FLIGHT_DUMPING ||
	    f->wish.is_there) {
		f->held_off++;
		return;
	}
	flight_wish(f, CAPTURE_SOURCE_TRIGGER, why, now);
	if (since)
		f->wish.since = clock_map_ns(&c->clocks.map, since) + c->clocks.map.zero;
}

static const char *name_of(struct model *m, const struct proc *p)
{
	for (int i = 0; p && !p->exe && i < 64; i++)
		p = p->parent_pid ? model_find_newest(m, p->parent_pid) : NULL;
	if (!p || !p->exe)
		return "?";
	return strrchr(p->exe, '/') ? strrchr(p->exe, '/') + 1 : p->exe;
}

static const struct {
	int sig;
	const char *name;
} crashes[] = {{SIGSEGV, "SIGSEGV"}, {SIGABRT, "SIGABRT"},
	       {SIGBUS, "SIGBUS"},   {SIGILL, "SIGILL"},
	       {SIGFPE, "SIGFPE"},   {SIGSYS, "SIGSYS"},
	       {SIGTRAP, "SIGTRAP"}, {SIGXCPU, "SIGXCPU"},
	       {SIGXFSZ, "SIGXFSZ"}, {SIGKILL, "SIGKILL (kill -9, or because memory had run out)"}};

/* Of a signal that nobody sends for a good end; NULL: another one. */
static const char *crash_name(int sig)
{
	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		if (crashes[i].sig == sig)
			return crashes[i].name;
	return NULL;
}

void flight_process_ended(void *ctx, struct proc *p)
{
	struct collector *c = ctx;
	struct flight *f = c->flight;
	bool is_root = p->pid == c->root.pid;
	int64_t now = flight_now();
	char why[256];

	if (!f || !p->in_tree || (c->end == RUN_CUT) || f->state == FLIGHT_OVER)
		return;
	if (WIFSIGNALED(p->status) && crash_name(WTERMSIG(p->status)))
		snprintf(why, sizeof(why), "process %u (%s) was killed by %s", p->pid,
			 name_of(&c->model, p), crash_name(WTERMSIG(p->status)));
	else if (WIFSIGNALED(p->status) && is_root)
		snprintf(why, sizeof(why), "the program was killed by signal %d",
			 WTERMSIG(p->status));
	else if (WIFEXITED(p->status) && WEXITSTATUS(p->status) && is_root)
		snprintf(why, sizeof(why), "the program ended with exit status %d",
			 WEXITSTATUS(p->status));
	else
		return;
	/* A tree of processes that crash all the time; but what the program itself fails of is always told. */
	if (!is_root && f->crashed && now - f->crashed < f->ns && !f->wish.is_there) {
		f->held_off++;
		return;
	}
	f->crashed = now;
	flight_wish(f, CAPTURE_SOURCE_EXIT, why, now + CRASH_NS);
}
