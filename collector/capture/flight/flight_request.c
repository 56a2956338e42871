/* flight_request.c - requests reports of the flight recorder: commands, triggers, processes that end badly. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "collector/base/now.h"
#include "collector/capture/flight/flight.h"
#include "collector/capture/flight/flight_internal.h"
#include "collector/model/ended.h"

#define CRASH_NS 100000000ll /* other processes may end with it for so long */

void flight_request_clear(struct flight_request *w)
{
	free(w->report);
	memset(w, 0, sizeof(*w));
}

void flight_request_add(struct flight *f, enum capture_source source, const char *reason,
			int64_t due)
{
	struct flight_request *w = &f->request;
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
	flight_request_add(f, CAPTURE_SOURCE_COMMAND, reason, mono_ns());
	if (report && !f->request.report) {
		f->request.report = strdup(report);
		f->request.overwrite = overwrite;
	}
	return f->state == FLIGHT_DUMPING;
}

void flight_triggered(void *to, const char *why, uint64_t since)
{
	struct collector *c = to;
	struct flight *f = c->flight;
	int64_t now = mono_ns();

	/* Too soon after a report, or already covered by the one about to be written. */
	if ((f->done.cnt && now - f->done.at < f->ns) || f->state == FLIGHT_DUMPING ||
	    f->request.is_there) {
		f->done.held_off++;
		return;
	}
	flight_request_add(f, CAPTURE_SOURCE_TRIGGER, why, now);
	if (since)
		f->request.since = clock_map_ns(&c->clocks.map, since) + c->clocks.map.zero;
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

/* The reason for a signal that means a crash; NULL: another signal. */
static const char *crash_name(int sig)
{
	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		if (crashes[i].sig == sig)
			return crashes[i].name;
	return NULL;
}

/* The kernel has ended a process of the machine since it was looked at last, which is mostly this one. */
static bool is_oom(struct collector *c)
{
	int64_t before = c->flight->done.oom_kills, now = ended_oom_kills();

	c->flight->done.oom_kills = now;
	return before >= 0 && now > before;
}

void flight_process_ended(void *ctx, struct proc *p)
{
	struct collector *c = ctx;
	struct flight *f = c->flight;
	bool is_root = p->pid == c->root.pid;
	int64_t now = mono_ns();
	char why[256];

	if (!f || !p->flags.in_tree || (c->end == RUN_CUT) || f->state == FLIGHT_OVER)
		return;
	if (WIFSIGNALED(p->life.status) && WTERMSIG(p->life.status) == SIGKILL && is_oom(c))
		snprintf(why, sizeof(why),
			 "the kernel killed process %u (%s), for memory had run out", p->pid,
			 name_of(&c->model, p));
	else if (WIFSIGNALED(p->life.status) && crash_name(WTERMSIG(p->life.status)))
		snprintf(why, sizeof(why), "process %u (%s) was killed by %s", p->pid,
			 name_of(&c->model, p), crash_name(WTERMSIG(p->life.status)));
	else if (WIFSIGNALED(p->life.status) && is_root)
		snprintf(why, sizeof(why), "the program was killed by signal %d",
			 WTERMSIG(p->life.status));
	else if (WIFSIGNALED(p->life.status) && triggers_have(&f->trigger.list, TRIGGER_SIGNAL))
		snprintf(why, sizeof(why),
			 "process %u (%s) was killed by signal %d (trigger 'signal')", p->pid,
			 name_of(&c->model, p), WTERMSIG(p->life.status));
	else if (WIFEXITED(p->life.status) && WEXITSTATUS(p->life.status) && is_root)
		snprintf(why, sizeof(why), "the program ended with exit status %d",
			 WEXITSTATUS(p->life.status));
	else
		return;
	/* Processes that crash all the time get one report per window; a failure of the program itself always gets one. */
	if (!is_root && f->done.crashed && now - f->done.crashed < f->ns && !f->request.is_there) {
		f->done.held_off++;
		return;
	}
	f->done.crashed = now;
	flight_request_add(f, CAPTURE_SOURCE_EXIT, why, now + CRASH_NS);
}
