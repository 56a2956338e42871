/*
 * collect.c - one collection from beginning to end.
 *
 * The order of a tick matters: the clock's snapshot first (records up to it are taken), then what
 * the kernel saw, then the rings; a commit ends with the positions in shared memory moving on.
 */
#include "collector/collect/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/message.h"
#include "collector/capture/flight/flight.h"
#include "collector/collect/record_families.h"
#include "collector/session/ring_keeper.h"
#include "collector/collect/python_modules.h"
#include "collector/collect/positions.h"
#include "collector/kernel/sample/sample.h"

#define ROWS_PER_ROUND  65536u
#define ROWS_PER_COMMIT 262144u
#define LAZY_FILL       25u /* per cent of the kernel's buffers that may wait */
#define FREE_LOOKS      4u  /* so often in a row a processor must have been free */
#define LOOK_NS         100000000ll
#define COMMIT_ROWS \
	16384u /* from here on chunks are worth giving back, to be used again while warm */
#define COMMIT_NS     200000000ll
#define COMMIT_END_NS 2000000ll
#define SECOND_NS     1000000000ll
/* Where programs wait for a capture to begin or to end, nothing that they wait behind takes long. */
#define PROMPT_ROWS  4096u
#define PROMPT_NS    5000000ll
#define IDLE_NS      (10 * SECOND_NS)
#define REAP_NS      250000000ll
#define TICK_NS      20000000ll /* a tick under load ends after this, so that others are heard */
#define DRAIN_END_NS (60 * SECOND_NS)

static int64_t mono_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * SECOND_NS + ts.tv_nsec;
}

/* Not where the clock is that of an earlier boot (recover from files): the map is complete then. */
static void add_snapshot(struct collector *c)
{
	struct clock_snapshot s = clock_snapshot_take(c->clock.mode, false);

	if (c->is_past) {
		c->now = clock_map_ns(&c->clock, c->clock.newest);
		return;
	}
	clock_map_add(&c->clock, s.ticks, s.mono);
	c->now = s.mono - c->clock.zero;
}

void collect_now(struct collector *c)
{
	if (!c->is_past)
		c->now = mono_now() - c->clock.zero;
}

void collect_clocks(struct collector *c)
{
	struct clock_snapshot s = clock_snapshot_take(c->clock.mode, true);

	if (c->is_past)
		return;
	clock_map_add(&c->clock, s.ticks, s.mono);
	db_clock_snapshot(c->db, (int64_t)s.ticks, s.mono, s.real, s.boot);
	c->clock_at = c->now = s.mono - c->clock.zero;
}

/* Without them the recording goes on. */
static void watch_samples(struct collector *c, uint32_t root, bool is_child)
{
	int err = c->sample ? sample_follow(c->sample, (pid_t)root, is_child) : 0;

	/* Where only stacks of threads without a CPU are wanted, what is mapped is read from /proc. */
	if (err && err != -ESRCH && c->options->sample != SCHED_MODE_NONE)
		notes_say(c, 2, "no CPU samples: following process %u failed: %s%s", root,
			  strerror(-err), err == -EPERM ? " (locked memory: ulimit -l)" : "");
}

void collect_watch(struct collector *c, uint32_t root, bool is_child)
{
	int err;

	c->root = c->model.root_pid = root;
	c->session.control->root_pid = root;
	c->child = is_child ? (pid_t)root : 0;
	model_get(&c->model, root, c->now);
	watch_samples(c, root, is_child);
	collect_counters_follow(c, root, is_child);
	if (!c->sched)
		return;
	err = sched_follow(c->sched, (pid_t)root);
	if (err)
		notes_say(c, 2, "no context switches: following process %u failed: %s", root,
			  strerror(-err));
}

void collect_arena(struct collector *c, int fd, uint32_t id, uint32_t pid, uint32_t claimed)
{
	struct keeper_message m = {
		.kind = KEEPER_ARENA, .id = id, .peer_pid = pid, .claimed_pid = claimed};
	struct arena *a;

	/* First of all: from here on our death loses nothing of it. */
	if (c->keeper >= 0)
		keeper_send(c->keeper, &m, fd);
	a = arena_attach(&c->arenas, fd, id, pid, claimed);
	if (!a && c->keeper >= 0) {
		m.kind = KEEPER_GONE;
		keeper_send(c->keeper, &m, -1);
	}
}

static void arenas_gone(struct collector *c)
{
	struct keeper_message m = {.kind = KEEPER_GONE};

	for (const struct arena *a = c->arenas.first; a; a = a->next) {
		if (!a->is_over || c->keeper < 0)
			continue;
		m.id = a->id;
		keeper_send(c->keeper, &m, -1);
	}
}

static void disk_full(struct collector *c, int err)
{
	positions_lost(&c->arenas);
	if (!c->sched_dead)
		c->sched_dead_first = c->model.sched_first;
	c->sched_dead += c->model.sched_rows;
	c->sched_dead_last = c->model.sched_last;
	if (!c->said_disk_full && !c->is_quiet)
		sl_warn("cannot write the report: %s; the program goes on, what is lost is counted",
			strerror(-err));
	c->said_disk_full = true;
}

void collect_commit(struct collector *c)
{
	int err;

	/* Arenas go with this commit: what they leave goes into it. */
	for (struct arena *a = c->arenas.first; a; a = a->next)
		if (a->is_over)
			families_settle(&c->arenas, a, true);
	positions_save(&c->arenas);
	err = db_commit(c->db, c->now);
	if (err)
		disk_full(c, err);
	else
		arenas_gone(c);
	c->sched_told += c->model.sched_rows;
	c->model.sched_rows = 0;
	positions_release(&c->arenas);
	c->committed_at = c->now;
	c->is_busy = false;
}

/* One heartbeat per second says to waiting programs that somebody will make room. */
static void beat(struct collector *c)
{
	if (c->now - c->beat_at < SECOND_NS / 2)
		return;
	c->beat_at = c->now;
	__atomic_add_fetch(&c->session.control->heartbeat, 1, __ATOMIC_RELAXED);
}

/* Threads come and go by the hundred: give slots back before there are none, at once. */
static void relieve(struct collector *c)
{
	if (!drain_is_pressed(&c->arenas))
		return;
	drain_reap(&c->arenas, true);
	/* What those that are gone had written before we asked is visible now. */
	add_snapshot(c);
	drain_round(&c->arenas, ROWS_PER_ROUND);
	drain_reap(&c->arenas, true);
	collect_commit(c);
}

/* Is there a report whose sums anybody could watch? */
static bool is_watched(const struct collector *c)
{
	return c->capture.state != CAPTURE_IDLE && c->capture.state != CAPTURE_OVER;
}

static void housekeeping(struct collector *c)
{
	/* At the end somebody waits for the last of them to be noticed. */
	bool all = c->now - c->reaped_at >= (c->root_is_gone ? REAP_NS / 50 : REAP_NS);

	if (all)
		c->reaped_at = c->now;
	if (all || c->model.forks)
		model_settle(&c->model, c->now, false);
	drain_reap(&c->arenas, all);
	if (c->now - c->totals_at >= SECOND_NS) {
		c->totals_at = c->now;
		drain_totals(&c->arenas, false);
		if (is_watched(c))
			c->is_busy |= live_flush(&c->arenas, c->sched, c->now, capture_is_on(c));
	}
	if (c->now - c->clock_at >= (c->is_busy ? SECOND_NS : IDLE_NS))
		collect_clocks(c);
}

/* An idle session writes nothing. */
static bool has_news(const struct collector *c)
{
	return c->is_busy || c->clock_at > c->committed_at || positions_changed(&c->arenas);
}

/*
 * How long and how much may wait: bursts are what the rings are for. Where the program has all processors, each
 * round takes its share of them, and what waits may find a free one later. With one free, rings that are emptied
 * early stay in the caches, and small.
 */
struct patience {
	int64_t ns;      /* longest time between two rounds */
	uint32_t chunks; /* backlog of an arena; never more than a quarter of its room */
};
static const struct patience when_full = {500000000, 512}, when_free = {200000000, 32};

/*
 * Whether the processors are idle for a good part of the time, by the second number of /proc/uptime: the seconds that
 * all of them have been so far. (How many run at a moment tells nothing: we get to ask when somebody has just slept.)
 */
static void look_for_free_cpu(struct collector *c)
{
	int64_t now = mono_now(), passed = now - c->looked_at, idle;
	unsigned long long s, hundredths;
	char text[64] = "";

	if (c->uptime < 0 || passed < LOOK_NS)
		return;
	(void)!pread(c->uptime, text, sizeof(text) - 1, 0);
	if (sscanf(text, "%*s %llu.%llu", &s, &hundredths) != 2)
		return;
	idle = (int64_t)(s * 100 + hundredths) * 10000000;
	c->free_looks = idle - c->idle_ns > passed / 3 ? c->free_looks + 1 : 0;
	c->idle_ns = idle;
	c->looked_at = now;
}

static bool arena_can_wait(const struct sl_arena *m, uint32_t quota, uint32_t most)
{
	uint32_t room = quota < m->chunk_cnt ? quota : m->chunk_cnt;

	return __atomic_load_n(&m->used_chunks, __ATOMIC_RELAXED) <=
		       (room / 4 < most ? room / 4 : most) &&
	       !__atomic_load_n(&m->waiter_cnt, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&m->fresh_slot, __ATOMIC_RELAXED) <= SL_SLOT_CNT / 2;
}

/* True while nothing presses: rings, slots and the kernel's buffers have plenty of room, nobody waits. */
bool collect_can_wait(struct collector *c)
{
	const struct patience *p;

	if (c->root_is_gone || c->leaving_cnt || !c->session.control || capture_is_urgent(c))
		return false;
	if (c->flight)
		return flight_can_wait(c, mono_now() - c->tick_at);
	look_for_free_cpu(c);
	p = c->free_looks < FREE_LOOKS ? &when_full : &when_free;
	if (mono_now() - c->tick_at > p->ns || (c->sched && sched_fill(c->sched) > LAZY_FILL) ||
	    (c->sample && sample_fill(c->sample) > LAZY_FILL))
		return false;
	for (const struct arena *a = c->arenas.first; a; a = a->next)
		if (!arena_can_wait(a->map, c->session.control->quota_chunks, p->chunks))
			return false;
	return true;
}

/* At the end somebody waits, and arenas are not over before the commit that gives their slots back. */
static int64_t commit_period(const struct collector *c)
{
	if (c->root_is_gone && c->model.alive == 0)
		return COMMIT_END_NS;
	return c->is_busy ? COMMIT_NS : SECOND_NS;
}

void collect_sampled(struct collector *c, const struct sample_report *r)
{
	if (r->cnt == c->sample_cnt)
		return;
	c->is_busy = true;
	/* In case the disk is full. */
	if (!c->model.sched_rows)
		c->model.sched_first = r->first;
	c->model.sched_last = r->last;
	c->model.sched_rows += r->cnt - c->sample_cnt;
	c->sample_cnt = r->cnt;
}

void collect_samples(struct collector *c, bool all)
{
	struct sample_report r = {
		.db = c->db, .zero = c->clock.zero, .cnt = c->sample_cnt, .first = INT64_MIN};
	const struct sample_sink sink = sample_report_sink(&r);

	if (!c->sample)
		return;
	if (c->flight) {
		flight_poll_samples(c, all);
		return;
	}
	/* `start` may have said so. */
	sample_leave_out(c->sample, c->options->sample == SCHED_MODE_NONE);
	sample_poll(c->sample, &sink, &c->capture.windows, all);
	collect_sampled(c, &r);
}

int collect_poll(struct collector *c)
{
	collect_samples(c, false);
	collect_counters(c);
	if (!c->sched)
		return 0;
	return c->flight ? flight_poll(c) : sched_poll(c->sched, &model_sched_ops, &c->model);
}

size_t collect_tick(struct collector *c)
{
	bool is_prompt = c->capture.options && c->capture.options->by;
	size_t round = is_prompt ? PROMPT_ROWS : ROWS_PER_ROUND, taken, all = 0;
	int64_t begun = mono_now();

	c->tick_at = begun;
	add_snapshot(c);
	if (c->session.control)
		beat(c);
	c->sched_rows = (size_t)collect_poll(c);
	all += c->sched_rows;
	/* Whoever forked in what was just polled had said hello before. */
	loop_accept(c);
	flight_before(c);
	do {
		taken = drain_round(&c->arenas, round);
		all += taken;
		if (db_pending(c->db) >= (is_prompt ? PROMPT_ROWS : ROWS_PER_COMMIT))
			collect_commit(c);
		if (is_prompt)
			loop_accept(c);
	} while (taken >= round / 4 && mono_now() - begun < (is_prompt ? PROMPT_NS : TICK_NS));
	for (struct arena *a = c->arenas.first; a; a = a->next)
		families_settle(&c->arenas, a, false);
	relieve(c);
	housekeeping(c);
	c->is_busy |= all > 0;
	if ((c->now - c->committed_at >= commit_period(c) || db_pending(c->db) >= COMMIT_ROWS) &&
	    has_news(c))
		collect_commit(c);
	capture_tick(c);
	flight_after(c);
	return all;
}

static void write_dead_switches(struct collector *c)
{
	const struct profile_options *o = c->options;
	bool switches = o->cpuctxsw != SCHED_MODE_NONE, samples = o->sample != SCHED_MODE_NONE;
	bool off_cpu = c->sample && o->off_cpu_ns >= 0;
	char what[128];

	if (!c->sched_dead)
		return;
	snprintf(what, sizeof(what), "%s%s%s%s%s: disk full", switches ? "context switches" : "",
		 switches && samples ? ", " : "", samples ? "CPU samples" : "",
		 off_cpu && (switches || samples) ? ", " : "",
		 off_cpu ? "stacks of threads without a CPU" : "");
	db_lost(c->db, c->sched_dead_first, c->sched_dead_last, DB_NULL, what,
		(int64_t)c->sched_dead);
}

/* Records up to the newest snapshot, from everybody; bounded, though programs may go on. */
void collect_drain(struct collector *c)
{
	int64_t begun = mono_now();

	loop_accept(c);
	add_snapshot(c);
	while (drain_round(&c->arenas, ROWS_PER_ROUND) && mono_now() - begun < DRAIN_END_NS)
		if (db_pending(c->db) >= ROWS_PER_COMMIT)
			collect_commit(c);
}

void collect_losses(struct collector *c)
{
	if (c->sample)
		c->samples = c->flight ? flight_sample_losses(c) : sample_losses(c->sample);
	if (!c->sched)
		return;
	c->sched_lost = sched_lost(c->sched) - c->sched_lost_before;
	c->calls_lost = sched_calls_lost(c->sched) - c->calls_lost_before;
}

/* What is only known now: losses, totals, ends. */
static void complete(struct collector *c)
{
	drain_totals(&c->arenas, true);
	capture_report_contents(c);
	model_settle(&c->model, c->now, true);
	collect_losses(c);
	collect_clocks(c);
	collect_commit(c);
	/* What the last commit may have lost is told in one more. */
	drain_totals(&c->arenas, true);
	write_dead_switches(c);
	python_end(c);
	notes_end(c);
}

int collect_finish(struct collector *c)
{
	struct keeper_message done = {.kind = KEEPER_DONE};
	int64_t length;
	int err;

	flight_close(c);
	capture_close(c);
	collect_counters_end(c, 0);
	collect_counters(c);
	if (c->session.control)
		__atomic_store_n(&c->session.control->state, SL_SESSION_ENDED, __ATOMIC_RELEASE);
	if (c->sample) {
		sample_stop(c->sample);
		collect_samples(c, true);
	}
	if (c->sched) {
		sched_stop(c->sched);
		collect_poll(c);
	}
	collect_drain(c);
	drain_reap(&c->arenas, true);
	collect_drain(c);
	drain_reap(&c->arenas, true);
	length = capture_report_length(c);
	if (!c->capture.is_session)
		complete(c);
	while (c->arenas.first)
		arena_detach(&c->arenas, c->arenas.first);
	collect_counters_close(c);
	sched_close(c->sched);
	sample_close(c->sample);
	err = capture_report_close(c, length);
	flight_release(c);
	session_remove(&c->session);
	python_close(c);
	if (c->keeper >= 0) {
		keeper_send(c->keeper, &done, -1);
		close(c->keeper);
	}
	model_release(&c->model);
	clock_map_release(&c->clock);
	if (c->reserve_fd >= 0)
		close(c->reserve_fd);
	if (c->uptime >= 0)
		close(c->uptime);
	close(c->epoll);
	return err;
}

void collect_abandon(struct collector *c, bool keep_report)
{
	struct keeper_message done = {.kind = KEEPER_DONE};

	if (c->db)
		db_abandon(c->db);
	c->db = NULL;
	if (!keep_report)
		db_unlink(c->report);
	session_remove(&c->session);
	sched_close(c->sched);
	sample_close(c->sample);
	collect_counters_close(c);
	if (c->keeper >= 0) {
		keeper_send(c->keeper, &done, -1);
		close(c->keeper);
	}
	if (c->epoll >= 0)
		close(c->epoll);
}

void collect_end_tree(struct collector *c, int sig)
{
	/* Stop recording first: the end we bring about is not the program's own doing. */
	__atomic_store_n(&c->session.control->state, SL_SESSION_ENDED, __ATOMIC_RELEASE);
	for (struct proc *p = c->model.procs; p && sig; p = p->next)
		if (!p->is_gone && p->in_tree)
			kill((pid_t)p->pid, sig);
}
