/*
 * collect.c - the life of a collection after its opening: ticks, and the end.
 */
#include "collector/run/collect.h"
#include "collector/base/now.h"
#include "collector/run/drain_pacing.h"
#include "collector/run/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/capture/capture.h"
#include "collector/capture/flight/flight.h"
#include "collector/collect/checks.h"
#include "collector/collect/event_sources.h"
#include "collector/collect/intake.h"
#include "collector/collect/notes.h"
#include "collector/collect/positions.h"
#include "collector/collect/pump.h"
#include "collector/collect/python_modules.h"
#include "collector/collect/record_families.h"
#include "collector/collect/setup.h"
#include "collector/model/identity.h"
#include "collector/model/live.h"
#include "collector/waits/open_waits.h"
#include "collector/session/ring_keeper.h"

#define COMMIT_ROWS \
	16384u /* from here on chunks are worth giving back, to be used again while warm */
#define COMMIT_NS     200000000ll
#define COMMIT_END_NS 2000000ll
#define SECOND_NS     1000000000ll
#define DEFER_ROWS \
	4096u /* at a time while records wait: a program that makes few calls has its rows at once */
/* While programs wait for a capture to begin or to end, ticks are short. */
#define PROMPT_ROWS 4096u
#define PROMPT_NS   5000000ll
#define IDLE_NS     (10 * SECOND_NS)
#define REAP_NS     250000000ll
#define TICK_NS     20000000ll /* a tick under load ends after this, to serve others */

void collect_watch(struct collector *c, uint32_t root, bool is_child)
{
	const struct source_process p = {.pid = root, .is_child = is_child};

	c->root.pid = root;
	c->session.control->root_pid = root;
	c->root.child = is_child ? (pid_t)root : 0;
	setup_keeper(c);
	identity_root(&c->model, root, c->clocks.now);
	sources_follow(&c->recording, &p);
}

/* One heartbeat per second: programs that wait for room know that the collector lives. */
static void beat(struct collector *c)
{
	if (c->clocks.now - c->clocks.beat_at < SECOND_NS / 2)
		return;
	c->clocks.beat_at = c->clocks.now;
	__atomic_add_fetch(&c->session.control->heartbeat, 1, __ATOMIC_RELAXED);
}

/* Threads come and go by the hundred: give slots back before there are none, at once. */
static void relieve(struct collector *c)
{
	if (!drain_is_pressed(&c->arenas))
		return;
	drain_reap(&c->arenas, true);
	/* Records that ended threads wrote before the check are visible now. */
	pump_snapshot(c);
	drain_round(&c->arenas, ROWS_PER_ROUND);
	drain_reap(&c->arenas, true);
	pump_try_commit(c);
}

/* Is there a report whose live sums can be read? */
static bool is_watched(const struct collector *c)
{
	return c->capture->state != CAPTURE_IDLE && c->capture->state != CAPTURE_OVER;
}

static void housekeeping(struct collector *c)
{
	/* At the end the user waits for the last threads to be noticed. */
	bool all =
		c->clocks.now - c->clocks.reaped_at >= (c->root.is_gone ? REAP_NS / 50 : REAP_NS);

	if (all)
		c->clocks.reaped_at = c->clocks.now;
	if (all || c->model.counts.forks)
		model_settle(&c->model, c->clocks.now, false);
	if (all)
		model_forget(&c->model, c->clocks.now);
	if (all && !c->root.is_gone)
		db_tend(c->report.db);
	drain_reap(&c->arenas, all);
	if (!c->report.locked_at && is_watched(c))
		open_waits_look(c);
	if (c->clocks.now - c->clocks.totals_at >= SECOND_NS && !c->report.locked_at) {
		c->clocks.totals_at = c->clocks.now;
		drain_totals(&c->arenas, false);
		if (is_watched(c))
			c->report.is_busy |=
				live_flush(&c->arenas, c->recording.sched,
					   &(struct live_now){c->clocks.now, pump_behind(c),
							      capture_is_on(c)});
	}
	if (c->clocks.now - c->clocks.clock_at >= (c->report.is_busy ? SECOND_NS : IDLE_NS))
		pump_clocks(c);
}

/* An idle session writes nothing. */
static bool has_news(const struct collector *c)
{
	return c->report.is_busy || c->clocks.clock_at > c->clocks.committed_at ||
	       positions_changed(&c->arenas);
}

/* At the end the user waits, and arenas are over only after the commit that gives their slots back. */
static int64_t commit_period(const struct collector *c)
{
	if (c->root.is_gone && c->model.counts.alive == 0)
		return COMMIT_END_NS;
	return c->report.is_busy ? COMMIT_NS : SECOND_NS;
}

size_t collect_tick(struct collector *c)
{
	bool is_prompt = c->capture->options && c->capture->options->by, defers;
	size_t round = is_prompt ? PROMPT_ROWS : ROWS_PER_ROUND, taken, all = 0;
	int64_t begun = mono_ns();

	c->clocks.tick_at = begun;
	pump_snapshot(c);
	if (c->session.control)
		beat(c);
	all += (size_t)pump_poll(c);
	/* Processes whose fork was just polled sent their hello before. */
	intake_accept(c);
	flight_before(c);
	ranks_tick(c);
	defers = pace_defers(c);
	if (defers)
		round = DEFER_ROWS;
	else
		c->pace.last_id = c->arenas.last_id;
	/* Rows that cannot be committed stay in memory: records wait in the rings and the spool. */
	if (c->report.locked_at) {
		round = 0;
		defers = true;
	}
	do {
		taken = drain_round(&c->arenas, round);
		all += taken;
		if (c->arenas.memory.is_high ||
		    db_pending(c->report.db) >= (is_prompt ? PROMPT_ROWS : ROWS_PER_COMMIT))
			pump_try_commit(c);
		if (is_prompt)
			intake_accept(c);
	} while (!defers && taken >= round / 4 &&
		 mono_ns() - begun < (is_prompt ? PROMPT_NS : TICK_NS));
	for (struct arena *a = c->arenas.first; a; a = a->next)
		families_settle(&c->arenas, a, false);
	relieve(c);
	housekeeping(c);
	c->report.is_busy |= all > 0;
	if ((c->clocks.now - c->clocks.committed_at >= commit_period(c) ||
	     db_pending(c->report.db) >= COMMIT_ROWS || c->arenas.memory.is_high) &&
	    has_news(c))
		pump_try_commit(c);
	capture_tick(c);
	flight_after(c);
	return all;
}

/* Writes the rows known only at the end: losses, totals, ends. */
static void complete(struct collector *c)
{
	drain_totals(&c->arenas, true);
	capture_report_contents(c);
	model_settle(&c->model, c->clocks.now, true);
	pump_clocks(c);
	pump_commit(c);
	/* Losses of the last commit go into one more. */
	drain_totals(&c->arenas, true);
	pump_lost_rows(c);
	python_end(c);
	checks_end(c, c->end == RUN_ENDS && c->options->program.wait_all);
	notes_end(c);
}

int collect_finish(struct collector *c)
{
	struct keeper_message done = {.kind = KEEPER_DONE};
	int64_t length;
	int err;

	ranks_stop_following();
	pump_be_patient(c);
	while (flight_is_dumping(c)) {
		collect_tick(c);
		usleep(1000);
	}
	flight_close(c);
	/* Unless the session has ended the processes itself. */
	if (!c->session.control ||
	    __atomic_load_n(&c->session.control->state, __ATOMIC_ACQUIRE) != SL_SESSION_ENDED)
		open_waits_write(c);
	sources_finish(&c->recording);
	capture_close(c);
	if (c->session.control)
		__atomic_store_n(&c->session.control->state, SL_SESSION_ENDED, __ATOMIC_RELEASE);
	sources_stop(&c->recording);
	sources_poll(&c->recording, true);
	pump_poll(c);
	pump_drain(c);
	drain_reap(&c->arenas, true);
	pump_drain(c);
	drain_reap(&c->arenas, true);
	length = capture_report_length(c);
	if (!c->report.is_session)
		complete(c);
	while (c->arenas.first)
		arena_detach(&c->arenas, c->arenas.first);
	open_waits_close(c);
	sources_close(&c->recording);
	setup_spool_end(c);
	err = capture_report_close(c, length);
	flight_release(c);
	session_remove(&c->session);
	python_close(c);
	if (c->intake.keeper >= 0) {
		keeper_send(c->intake.keeper, &done, -1);
		close(c->intake.keeper);
	}
	map_free(&c->arenas.elders.inode);
	model_release(&c->model);
	clock_map_release(&c->clocks.map);
	if (c->intake.reserve_fd >= 0)
		close(c->intake.reserve_fd);
	if (c->pace.uptime >= 0)
		close(c->pace.uptime);
	loop_close(&c->loop);
	return err;
}

void collect_abandon(struct collector *c, bool keep_report)
{
	struct keeper_message done = {.kind = KEEPER_DONE};

	setup_spool_end(c);
	if (c->report.db)
		db_abandon(c->report.db);
	c->report.db = NULL;
	if (!keep_report)
		db_unlink(c->report.path);
	session_remove(&c->session);
	open_waits_close(c);
	sources_close(&c->recording);
	if (c->intake.keeper >= 0) {
		keeper_send(c->intake.keeper, &done, -1);
		close(c->intake.keeper);
	}
	if (c->loop.epoll >= 0)
		loop_close(&c->loop);
}

void collect_end_tree(struct collector *c, int sig)
{
	open_waits_write(c);
	/* Stop recording first: the signal is not the program's own doing. */
	__atomic_store_n(&c->session.control->state, SL_SESSION_ENDED, __ATOMIC_RELEASE);
	for (struct proc *p = c->model.procs; p && sig; p = p->links.next)
		identity_signal(&c->model, p, sig);
}
