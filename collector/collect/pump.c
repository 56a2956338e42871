/*
 * pump.c - moves events into the report: snapshots of the clock, kernel events, records of the rings, commits.
 *
 * The order matters: first the snapshot (records up to it are taken), then the kernel's events,
 * then the rings; a commit ends with the positions in shared memory moving on.
 */
#include "collector/collect/pump.h"

#include <errno.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>

#include "collector/base/message.h"
#include "collector/base/now.h"
#include "collector/collect/event_sources.h"
#include "collector/collect/intake.h"
#include "collector/collect/notes.h"
#include "collector/collect/positions.h"
#include "collector/collect/record_families.h"
#include "collector/kernel/sched/sched.h"

#define SECOND_NS     1000000000ll
#define PATIENCE_MS   60000
#define LOCKED_SAY_NS (2 * SECOND_NS)
#define DRAIN_END_NS  (60 * SECOND_NS)

int64_t pump_behind(struct collector *c)
{
	uint64_t end = c->arenas.spool && c->arenas.spool->used ? drain_next_calls(&c->arenas).end
								: UINT64_MAX;
	int64_t ns = end == UINT64_MAX ? 0 : c->clocks.now - clock_map_ns(&c->clocks.map, end);

	return ns > 0 ? ns : 0;
}

/* Not where the clock is that of an earlier boot (recover from files): the map is complete then. */
void pump_snapshot(struct collector *c)
{
	struct clock_snapshot s = clock_snapshot_take(c->clocks.map.mode, false);

	if (c->clocks.is_past) {
		c->clocks.now = clock_map_ns(&c->clocks.map, c->clocks.map.newest);
		return;
	}
	clock_map_add(&c->clocks.map, s.ticks, s.mono);
	c->clocks.now = s.mono - c->clocks.map.zero;
}

void pump_now(struct collector *c)
{
	if (!c->clocks.is_past)
		c->clocks.now = mono_ns() - c->clocks.map.zero;
}

/* How far CLOCK_REALTIME may be trusted on other machines. */
static void clock_quality(struct db_row_SL_CLOCK_SNAPSHOTS *row)
{
	struct timex t = {0};
	int state = adjtimex(&t);

	row->isSynchronized = row->errorNs = row->maxErrorNs = DB_NULL;
	if (state < 0)
		return;
	row->isSynchronized = state != TIME_ERROR && !(t.status & STA_UNSYNC);
	row->errorNs = (int64_t)t.esterror * 1000;
	row->maxErrorNs = (int64_t)t.maxerror * 1000;
}

void pump_clocks(struct collector *c)
{
	struct clock_snapshot s = clock_snapshot_take(c->clocks.map.mode, true);
	struct db_row_SL_CLOCK_SNAPSHOTS row;

	if (c->clocks.is_past)
		return;
	clock_map_add(&c->clocks.map, s.ticks, s.mono);
	row = (struct db_row_SL_CLOCK_SNAPSHOTS){.ticks = (int64_t)s.ticks,
						 .monotonic = s.mono,
						 .realtime = s.real,
						 .boottime = s.boot};
	clock_quality(&row);
	db_put_SL_CLOCK_SNAPSHOTS(c->report.db, &row);
	c->clocks.clock_at = c->clocks.now = s.mono - c->clocks.map.zero;
}

void pump_lost_rows(struct collector *c)
{
	c->arenas.lost.disk += recording_lost_rows(&c->recording, c->arenas.lost.why);
}

/* Handles a failed transaction. Records lost earlier for another reason get their row first. */
static void lose(struct collector *c, int err)
{
	const char *why = db_loss_reason(err);

	if (c->arenas.lost.why && c->arenas.lost.why != why) {
		drain_totals(&c->arenas, false);
		pump_lost_rows(c);
	}
	c->arenas.lost.why = why;
	positions_lost(&c->arenas);
	recording_failed(&c->recording);
	if (!c->report.has_said_disk_full && !c->report.is_quiet)
		sl_warn("cannot write the report: %s; the program goes on, what is lost is counted",
			why);
	c->report.has_said_disk_full = true;
}

static void say_locked(struct collector *c)
{
	if (!c->report.has_said_locked)
		notes_say(c, 2,
			  "another program has the report locked: rows wait until it lets go");
	c->report.has_said_locked = true;
}

void pump_be_patient(struct collector *c)
{
	db_patience(c->report.db, PATIENCE_MS);
	if (db_reserve(c->report.db) == -EAGAIN)
		say_locked(c);
	db_patience(c->report.db, PATIENCE_MS);
}

/* Another program has locked the report: rows wait, but not for ever once the programs are gone. */
static bool is_locked(struct collector *c)
{
	int64_t now = mono_ns();

	if (db_reserve(c->report.db) != -EAGAIN) {
		c->report.locked_at = 0;
		return false;
	}
	if (!c->report.locked_at)
		c->report.locked_at = now;
	if (now - c->report.locked_at > LOCKED_SAY_NS)
		say_locked(c);
	return !c->root.is_gone || now - c->report.locked_at < PATIENCE_MS * 1000000ll;
}

/* At once, while the user may still see which program does that. */
static void say_removed(struct collector *c)
{
	if (c->report.is_session || c->report.has_said_removed || !db_is_removed(c->report.db))
		return;
	c->report.has_said_removed = true;
	notes_say(c, 2, "the report %s was removed: it is written again when the recording ends",
		  c->report.path);
}

void pump_commit(struct collector *c)
{
	int err;

	/* Arenas that are over go with this commit: their pending records must be in it. */
	for (struct arena *a = c->arenas.first; a; a = a->next)
		if (a->flags.is_over)
			families_settle(&c->arenas, a, true);
	positions_save(&c->arenas);
	err = db_commit(c->report.db, c->clocks.now);
	if (err)
		lose(c, err);
	else
		intake_release(c);
	say_removed(c);
	c->recording.rows.written += c->model.kernel_rows[ROWS_SWITCH].cnt;
	memset(c->model.kernel_rows, 0, sizeof(c->model.kernel_rows));
	positions_release(&c->arenas);
	c->clocks.committed_at = c->clocks.now;
	c->report.is_busy = false;
}

void pump_try_commit(struct collector *c)
{
	if (is_locked(c))
		c->clocks.committed_at = c->clocks.now;
	else
		pump_commit(c);
}

int pump_poll(struct collector *c)
{
	int events = sources_poll(&c->recording, false);

	if (c->recording.sched)
		c->model.told_mono = sched_told(c->recording.sched);
	return events;
}

bool pump_knows_processes(const struct collector *c, int64_t mono)
{
	return !c->recording.sched || c->model.told_mono >= (uint64_t)mono ||
	       mono_ns() - mono > 100 * SCHED_SETTLE_NS;
}

/* Records up to the newest snapshot, of all arenas; bounded, though programs may go on. */
void pump_drain(struct collector *c)
{
	int64_t begun = mono_ns();

	intake_accept(c);
	pump_snapshot(c);
	while (drain_round(&c->arenas, ROWS_PER_ROUND) && mono_ns() - begun < DRAIN_END_NS)
		if (db_pending(c->report.db) >= ROWS_PER_COMMIT || c->arenas.memory.is_high)
			pump_commit(c);
}
