/* flight.c - bounds the recorder's memory, and writes reports of windows in the past; flight_request.c requests them. */
#include "collector/capture/flight/flight.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/message.h"
#include "collector/base/now.h"
#include "collector/collect/event_sources.h"
#include "collector/collect/notes.h"
#include "collector/collect/pump.h"
#include "collector/capture/flight/flight_internal.h"
#include "collector/kernel/sample/sample_source.h"
#include "collector/model/ended.h"
#include "collector/waits/open_waits.h"

#define SETTLE_NS   2000000ll            /* switches and samples arrive so late (sched.h) */
#define EDGE_NS     1000000ll            /* of a window before the event that must be in it */
#define RESIDENT_NS SECOND_NS            /* between two checks of resident memory */
#define WATCH_NS    20000000ll           /* period of triggers */
#define REST_NS     200000000ll          /* without triggers */
#define SLACK       (UINT64_C(16) << 20) /* unused pages, before they go back to the system */
#define AHEAD       (UINT64_C(48) << 20) /* bytes that a program may write before the next tick */
#define ALWAYS      (UINT64_C(8) << 20)  /* kept in any case, besides fixed memory of threads */
#define LAZY_FILL   25u                  /* per cent of the kernel's buffers that may wait */

static const char *const limit_words[] = {"time", "start", "previous report", "memory"};

/* ---- begin and end ---- */

size_t flight_sample_most(const struct profile_options *o)
{
	return o->capture.flight_ns ? flight_store_stacks((uint64_t)o->capture.flight_bytes) : 0;
}

uint32_t flight_quota(const struct profile_options *o)
{
	uint64_t chunks = ((uint64_t)o->capture.flight_bytes + AHEAD) / SL_CHUNK_BYTES;

	return chunks < SL_CHUNK_CNT ? (uint32_t)chunks : SL_CHUNK_CNT;
}

static int poll_switches(void *to, struct sched *from);
static void poll_samples(void *to, struct sample *from, bool all);
static struct sample_losses losses(const void *to);
static bool is_read(const struct collector *c);
static void contents(struct collector *c);

static const struct capture_recorder recorder = {is_read, contents};

int flight_open(struct collector *c)
{
	const struct capture_options *o = &c->options->capture;
	struct flight *f;

	if (!o->flight_ns)
		return 0;
	c->flight = f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->ns = o->flight_ns;
	f->memory.bytes = (uint64_t)o->flight_bytes;
	f->whole.mono = c->clocks.map.zero;
	f->whole.limit = LIMIT_START;
	f->done.oom_kills = ended_oom_kills();
	flight_store_open(&f->store, &c->arenas, c->recording.sample, f->ns, f->memory.bytes);
	c->arenas.flight.since = flight_store_since;
	c->arenas.flight.ctx = &f->store;
	if (c->options->program.duration_s)
		f->stop = c->clocks.map.zero + c->options->program.duration_s * SECOND_NS;
	c->model.hooks.ended = flight_process_ended;
	f->sources = (struct event_memory){poll_switches, poll_samples, losses, f};
	c->recording.memory = &f->sources;
	c->capture->recorder = &recorder;
	c->arenas.flight.hold = 1;
	c->arenas.flight.follows_files = true;
	if (!o->triggers)
		return 0;
	if (triggers_read(&f->trigger.list, o->triggers, "profile"))
		return -EINVAL;
	if (c->options->after.ranks && (c->options->trace & SL_TRACE_NVTX))
		triggers_add_steps(&f->trigger.list);
	f->trigger.watch = trigger_watch_new(&f->trigger.list, flight_triggered, c);
	return f->trigger.watch ? 0 : -ENOMEM;
}

bool flight_late_to(struct collector *c, int fd)
{
	if (!c->flight || !c->flight->trigger.watch)
		return false;
	trigger_watch_late_to(c->flight->trigger.watch, fd);
	return true;
}

void flight_release(struct collector *c)
{
	struct flight *f = c->flight;

	if (!f)
		return;
	trigger_watch_free(f->trigger.watch);
	c->arenas.flight.since = NULL;
	c->recording.memory = NULL;
	flight_store_release(&f->store);
	flight_request_clear(&f->request);
	flight_request_clear(&f->dump.request);
	free(f->memory.ages.at);
	free(f);
	c->flight = NULL;
}

/* ---- memory ---- */

static void set_whole(struct flight *f, int64_t mono, enum flight_limit limit)
{
	if (mono <= f->whole.mono)
		return;
	f->whole.mono = mono;
	f->whole.ticks = 0;
	f->whole.limit = limit;
}

/* Chunks that go back to the pool with the next commit. */
static uint64_t spent(const struct arenas *as)
{
	uint64_t bytes = 0;

	for (const struct arena *a = as->first; a; a = a->next)
		bytes += a->spent.cnt * SL_CHUNK_BYTES;
	return bytes;
}

/* Bytes above the limit; 0: none. */
static uint64_t too_much(struct collector *c)
{
	struct flight *f = c->flight;
	uint64_t fixed, used = flight_used(&c->arenas, &fixed) + flight_store_bytes(&f->store);
	uint64_t limit = fixed + ALWAYS > f->memory.bytes ? fixed + ALWAYS : f->memory.bytes;

	used -= spent(&c->arenas) < used ? spent(&c->arenas) : used;
	return used > limit ? used - limit : 0;
}

/* Advances the time before which events are dropped. */
static void let_go(struct collector *c)
{
	struct flight *f = c->flight;
	struct arenas *as = &c->arenas;
	int64_t mono = c->clocks.now + c->clocks.map.zero - f->ns;
	uint64_t ticks = mono > 0 ? clock_map_ticks(&c->clocks.map, mono) : 1, more = too_much(c),
		 full;

	if (ticks > as->flight.hold)
		as->flight.hold = ticks;
	set_whole(f, mono, LIMIT_TIME);
	f->memory.is_full = more || flight_is_short(as);
	if (f->memory.is_full) {
		f->memory.ages.cnt = 0;
		full = flight_look(as, &f->memory.ages);
		flight_store_look(&f->store, &f->memory.ages);
		if (more)
			ticks = flight_ages_pick(&f->memory.ages, 0, more + f->memory.bytes / 16);
		if (full > ticks)
			ticks = full;
		if (ticks > as->flight.hold) {
			as->flight.hold = ticks;
			set_whole(f, clock_map_ns(&c->clocks.map, ticks) + c->clocks.map.zero,
				  LIMIT_MEMORY);
		}
	}
	flight_store_forget(&f->store,
			    clock_map_ns(&c->clocks.map, as->flight.hold) + c->clocks.map.zero);
}

/* Free chunks of one program are of no use to another. */
static void give_back(struct collector *c)
{
	struct flight *f = c->flight;
	uint64_t resident;
	int64_t now = mono_ns();

	if (now - f->memory.resident_at < RESIDENT_NS)
		return;
	f->memory.resident_at = now;
	resident = flight_resident(&c->arenas) + flight_store_bytes(&f->store);
	if (resident > f->memory.bytes + SLACK)
		flight_trim(&c->arenas, resident - f->memory.bytes);
}

/* ---- a report ---- */

static bool has_gpu(const struct arenas *as)
{
	for (const struct arena *a = as->first; a; a = a->next)
		if (a->family.gpu)
			return true;
	return false;
}

static void cannot(struct collector *c, const char *why)
{
	notes_say(c, 2, "flight recorder: no report could be written (%s): %s",
		  c->flight->dump.request.reason, why);
}

/* The window is the past, up to now. */
static void begin_dump(struct collector *c)
{
	struct flight *f = c->flight;
	int64_t now = mono_ns(), from = f->whole.mono;
	uint64_t ticks = f->whole.ticks, first = ticks ? drain_next_calls(&c->arenas).start : 0;
	struct capture_ask ask;
	char why[512] = "";
	int err;

	flight_request_clear(&f->dump.request);
	f->dump.request = f->request;
	memset(&f->request, 0, sizeof(f->request));
	f->dump.limit = now - from < f->ns ? f->whole.limit : LIMIT_TIME;
	/* Calls that had not returned when the previous report ended are in this one. */
	if (first < ticks) {
		ticks = first;
		from = clock_map_ns(&c->clocks.map, ticks) + c->clocks.map.zero;
	}
	if (now - from > f->ns) {
		from = now - f->ns;
		ticks = 0;
	}
	f->dump.whole = now - from;
	/* The event that fired a trigger is in the report even if it is longer; other events of that time may be missing. */
	if (f->dump.request.since && f->dump.request.since - EDGE_NS < from) {
		from = f->dump.request.since - EDGE_NS;
		ticks = 0;
	}
	ask = (struct capture_ask){.source = f->dump.request.source,
				   .report = f->dump.request.report,
				   .overwrite = f->dump.request.overwrite,
				   .from = ticks ? ticks : clock_map_ticks(&c->clocks.map, from),
				   .from_mono = from};
	err = capture_begin(c, &ask, why, sizeof(why));
	if (!err)
		err = capture_end(c, f->dump.request.source);
	if (err) {
		cannot(c, why[0] ? why : strerror(-err));
		flight_request_clear(&f->dump.request);
		return;
	}
	f->state = FLIGHT_DUMPING;
	flight_store_base(&f->store, from);
	f->dump.to = c->report.windows.list[c->report.windows.cnt - 1].to;
	f->dump.to_mono = c->report.windows.list[c->report.windows.cnt - 1].to_mono;
	f->dump.reads_all = false;
	c->arenas.flight.hold = f->dump.to;
}

/*
 * The GPU's work is reported some time after it ended: the rings must be read on for it. Whether there is a GPU may not be
 * known before they have been read up to the end of the window.
 */
static void read_on_for_gpu(struct collector *c)
{
	struct flight *f = c->flight;

	if (f->dump.reads_all || !has_gpu(&c->arenas))
		return;
	f->dump.reads_all = true;
	c->arenas.flight.hold = 0;
}

/* The report is written; the recorder goes on where the window ended. */
static void end_dump(struct collector *c)
{
	struct flight *f = c->flight;

	f->state = c->capture->state == CAPTURE_OVER ? FLIGHT_OVER : FLIGHT_READY;
	f->done.cnt++;
	f->done.at = mono_ns();
	c->arenas.flight.hold = f->dump.reads_all ? c->clocks.map.newest : f->dump.to;
	/* To the tick and the nanosecond: no event is lost between two reports, and none is in both. */
	if (f->dump.reads_all) {
		set_whole(f,
			  clock_map_ns(&c->clocks.map, c->arenas.flight.hold) + c->clocks.map.zero,
			  LIMIT_DUMP);
	} else {
		set_whole(f, f->dump.to_mono, LIMIT_DUMP);
		f->whole.ticks = f->dump.to;
	}
	flight_store_over(&f->store);
	flight_store_forget(&f->store, f->whole.mono);
	if (f->state == FLIGHT_OVER && c->recording.sample)
		sample_stop(c->recording.sample);
	flight_request_clear(&f->dump.request);
}

/* Every process has ended: no more events come. */
static void program_ended(struct flight *f)
{
	f->done.has_ended = true;
	if (triggers_have(&f->trigger.list, TRIGGER_EXIT) && !f->request.is_there)
		flight_request_add(f, CAPTURE_SOURCE_EXIT, "the program has ended (trigger 'exit')",
				   0);
}

void flight_before(struct collector *c)
{
	struct flight *f = c->flight;

	if (!f || f->state == FLIGHT_OVER)
		return;
	flight_store_turn(&f->store, mono_ns());
	if (f->stop && mono_ns() >= f->stop)
		c->end = RUN_CUT;
	if (f->trigger.watch)
		trigger_watch_round(f->trigger.watch, &c->arenas);
	if (!f->done.has_ended && c->root.is_gone && !c->model.counts.alive)
		program_ended(f);
	if (f->state == FLIGHT_DUMPING) {
		read_on_for_gpu(c);
		return;
	}
	if (f->request.is_there && (f->done.has_ended || mono_ns() >= f->request.due))
		begin_dump(c);
	if (f->state == FLIGHT_DUMPING)
		read_on_for_gpu(c);
	if (f->state != FLIGHT_READY)
		return;
	if (f->done.has_ended)
		c->arenas.flight.hold = 0;
	else
		let_go(c);
}

void flight_after(struct collector *c)
{
	struct flight *f = c->flight;

	if (!f || f->state == FLIGHT_OVER)
		return;
	if (f->memory.is_full)
		pump_commit(c);
	if (f->state == FLIGHT_DUMPING && c->capture->state != CAPTURE_ENDING)
		end_dump(c);
	give_back(c);
}

bool flight_can_wait(struct collector *c, int64_t since_tick_ns)
{
	struct flight *f = c->flight;

	if (f->state != FLIGHT_READY || f->request.is_there)
		return false;
	if (since_tick_ns > (f->trigger.watch ? WATCH_NS : REST_NS))
		return false;
	return sources_fill(&c->recording) <= LAZY_FILL && !too_much(c) &&
	       !flight_is_short(&c->arenas);
}

static int poll_switches(void *to, struct sched *from)
{
	struct flight *f = to;

	flight_store_turn(&f->store, mono_ns());
	return sched_poll(from, &flight_store_sched_ops, &f->store);
}

static void poll_samples(void *to, struct sample *from, bool all)
{
	struct flight *f = to;

	(void)from; /* the store has it */
	if (f->state == FLIGHT_OVER)
		return;
	flight_store_turn(&f->store, mono_ns());
	flight_store_poll_samples(&f->store, mono_ns(), all);
}

static struct sample_losses losses(const void *to)
{
	return ((const struct flight *)to)->store.losses;
}

static bool is_read(const struct collector *c)
{
	const struct flight *f = c->flight;

	return !f || !(c->recording.sched || c->recording.sample) ||
	       c->clocks.now + c->clocks.map.zero > c->capture->at.ended + SETTLE_NS;
}

/* ---- contents of the report ---- */

static void lost(struct collector *c, const char *what, uint64_t *cnt)
{
	recording_lost(&c->recording, what, *cnt);
	*cnt = 0;
}

/* Events of the window that are not in the rings. */
static void write_events(struct collector *c, const struct window *w)
{
	struct flight_store *q = &c->flight->store;
	struct sample_report r = sample_report_of(&c->recording);
	const struct sample_sink sink = sample_report_sink(&r);

	flight_store_write(q, w->from_mono, w->to_mono, c->recording.sample ? &sink : NULL);
	if (c->recording.sample)
		sample_report_written(&c->recording, &r);
	lost(c, "CPU samples: no memory", &q->lost.samples);
	lost(c, "context switches: no memory", &q->lost.switches);
}

static void contents(struct collector *c)
{
	struct flight *f = c->flight;
	const struct window *w;
	char whole[32], asked[32];

	if (!f || !f->dump.request.is_there || !c->report.windows.cnt)
		return;
	w = &c->report.windows.list[c->report.windows.cnt - 1];
	write_events(c, w);
	/* Of what still runs: the answer to a program that hangs. */
	open_waits_dump(c);
	db_meta_capture(c->report.db, "SL_CAPTURE_FLIGHT_REASON", f->dump.request.reason);
	recording_number(&c->recording, "SL_CAPTURE_FLIGHT_ASKED_NS", f->ns);
	recording_number(&c->recording, "SL_CAPTURE_FLIGHT_WHOLE_NS", f->dump.whole);
	db_meta_capture(c->report.db, "SL_CAPTURE_FLIGHT_LIMIT", limit_words[f->dump.limit]);
	recording_number(&c->recording, "SL_CAPTURE_FLIGHT_SIZE", (int64_t)f->memory.bytes);
	db_meta_capture(c->report.db, "SL_CAPTURE_FLIGHT_TOTALS",
			"from up to an eighth of the time asked for before the report's beginning; "
			"shortest and longest: since the thread began");
	trigger_time(f->dump.whole, whole, sizeof(whole));
	if (f->dump.limit == LIMIT_MEMORY)
		notes_say(c, 2,
			  "flight recorder: %s; the report has the last %s, not %s, for memory was "
			  "used up (a larger --flight-size keeps more)",
			  f->dump.request.reason, whole, trigger_time(f->ns, asked, sizeof(asked)));
	else
		notes_say(c, 1, "flight recorder: %s; the report has the last %s",
			  f->dump.request.reason, whole);
}

/* ---- the end ---- */

bool flight_is_dumping(const struct collector *c)
{
	return c->flight && c->flight->state == FLIGHT_DUMPING;
}

/* A trigger that waits for ranges of a name or domain that never comes fires never, which is to be seen. */
static void warn_in_vain(const struct flight *f)
{
	const struct trigger *t;

	for (uint32_t i = 0; f->trigger.watch && (t = trigger_watch_in_vain(f->trigger.watch, &i));)
		sl_warn("flight recorder: trigger '%s': no such range has ended in the program: "
			"ranges "
			"are named NAME or NAME@DOMAIN, as sightline stats -r nvtx_sum shows them",
			t->text);
}

void flight_close(struct collector *c)
{
	struct flight *f = c->flight;

	if (!f)
		return;
	if ((c->end == RUN_CUT) && triggers_have(&f->trigger.list, TRIGGER_EXIT) &&
	    !f->request.is_there)
		flight_request_add(f, CAPTURE_SOURCE_EXIT,
				   "the collection has ended (trigger 'exit')", 0);
	if (f->state == FLIGHT_READY && f->request.is_there)
		begin_dump(c);
	c->arenas.flight.hold = 0;
	if (!c->report.is_quiet)
		warn_in_vain(f);
	if (f->done.held_off && !c->report.is_quiet)
		sl_warn("flight recorder: %llu further reason%s came too soon after a report for "
			"one of %s own",
			(unsigned long long)f->done.held_off, f->done.held_off == 1 ? "" : "s",
			f->done.held_off == 1 ? "its" : "their");
	if (!f->done.cnt && f->state == FLIGHT_READY && !c->report.is_quiet)
		sl_warn("flight recorder: no report, for nothing went wrong%s, and none was "
			"asked for (sightline dump; --trigger=exit writes one at the end)",
			f->trigger.list.cnt ? ", no trigger fired" : "");
}
