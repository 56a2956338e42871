/* capture.c - the states of a session: begins and ends captures, opens and closes the gate. */
#include "collector/capture/capture.h"
#include "collector/model/ring_reader.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/base/message.h"
#include "collector/base/now.h"
#include "collector/collect/event_sources.h"
#include "collector/collect/pump.h"
#include "collector/decode/gpu/gpu.h"
#include "collector/base/proc.h"

#define SECOND_NS      INT64_C(1000000000)
#define READ_WAIT_NS   (5 * SECOND_NS)  /* for rings to be read up to the end of a capture */
#define FLIGHT_WAIT_NS (60 * SECOND_NS) /* the same, where they hold all there is */
#define GPU_WAIT_NS    (10 * SECOND_NS) /* for CUPTI's last records, when all else has been read */

bool capture_is_on(const struct collector *c)
{
	return c->capture->state == CAPTURE_ON;
}

/* ---- the gate ---- */

/* A moment, in both clocks. */
static struct clock_snapshot moment(const struct collector *c)
{
	return clock_snapshot_take(c->clocks.map.mode, false);
}

/* Returns the moment: of opening, just after it; of closing, just before. */
static struct clock_snapshot set_gate(struct collector *c, bool open)
{
	struct sl_session *s = c->session.control;
	uint32_t gate = __atomic_load_n(&s->gate, __ATOMIC_RELAXED);
	struct clock_snapshot now = moment(c);

	/* The flight recorder never stops. */
	if ((gate & 1) == open || c->options->capture.flight_ns)
		return now;
	__atomic_store_n(&s->gate, gate + 1, __ATOMIC_SEQ_CST);
	if (open)
		now = moment(c);
	syscall(SYS_futex, &s->gate, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	return now;
}

/* Calls that begin after this are recorded: the gate is open by then. Earlier ones are dropped. */
static struct clock_snapshot open_gate(struct collector *c, bool new_report)
{
	struct clock_snapshot now;

	if (new_report && c->capture->count.begun && !c->options->capture.flight_ns)
		__atomic_add_fetch(&c->session.control->epoch, 1, __ATOMIC_RELEASE);
	sources_before_begin(&c->recording);
	now = set_gate(c, true);
	sources_begin(&c->recording, now.mono);
	return now;
}

/* Here, too: a call that began before that moment has seen the gate open. */
static struct clock_snapshot close_gate(struct collector *c)
{
	struct clock_snapshot now;

	sources_before_end(&c->recording);
	now = set_gate(c, false);
	sources_end(&c->recording, now.mono);
	return now;
}

/* By the program's doing, and so subject to --capture-range-end. */
static bool is_range(enum capture_source source)
{
	return source == CAPTURE_SOURCE_CUDA || source == CAPTURE_SOURCE_NVTX ||
	       source == CAPTURE_SOURCE_HOTKEY;
}

/* The state after the report is complete. */
static enum capture_state state_after(const struct capture *p)
{
	const struct capture_options *o = p->options;

	if (p->is_shutting_down)
		return CAPTURE_OVER;
	if (!is_range(p->ended) &&
	    (p->ended != CAPTURE_SOURCE_DURATION || p->begun == CAPTURE_SOURCE_COMMAND))
		return CAPTURE_IDLE;
	switch (o->end) {
	case CAPTURE_END_REPEAT:
	case CAPTURE_END_REPEAT_SHUTDOWN:
		return o->repeat && p->count.ended >= o->repeat && !p->next.is_there ? CAPTURE_OVER
										     : CAPTURE_IDLE;
	default:
		return CAPTURE_OVER;
	}
}

/* ---- begin ---- */

static void note_begin(struct collector *c, const struct capture_ask *ask, int64_t mono)
{
	struct capture *p = c->capture;

	p->state = CAPTURE_ON;
	p->begun = ask->source;
	p->at.began = mono;
	p->at.stop = ask->duration_ns ? mono + ask->duration_ns : 0;
}

static int resume_paused(struct collector *c, const struct capture_ask *ask)
{
	struct clock_snapshot now = open_gate(c, false);

	if (windows_add(&c->report.windows, now.ticks, now.mono)) {
		close_gate(c);
		return -ENOMEM;
	}
	note_begin(c, ask, now.mono);
	return 0;
}

/*
 * Totals up to the end of the capture: threads reset them with the first call of the next report. A thread is known only when
 * the kernel's fork of its process is, which comes later than its calls.
 */
static void read_totals(struct collector *c)
{
	do {
		pump_poll(c);
		pump_drain(c);
	} while (!pump_knows_processes(c, c->capture->at.ended));
	drain_totals(&c->arenas, true);
}

/* The previous report is being completed: new records wait in the rings. */
static int begin_behind(struct collector *c, const struct capture_ask *ask)
{
	struct capture *p = c->capture;
	struct clock_snapshot now;

	if (p->is_shutting_down || state_after(p) == CAPTURE_OVER ||
	    (p->options->repeat && p->count.begun - p->count.before >= p->options->repeat))
		return -ESHUTDOWN;
	if (p->next.is_there)
		return -EBUSY;
	read_totals(c);
	/* pump_drain() accepts connections: another client may have begun it. */
	if (p->next.is_there)
		return p->next.to ? -EBUSY : -EALREADY;
	if (p->is_shutting_down)
		return -ESHUTDOWN;
	p->next.report = ask->report ? strdup(ask->report) : NULL;
	p->next.ask = *ask;
	p->next.ask.report = p->next.report;
	now = open_gate(c, true);
	p->next.from = c->report.windows.hold = now.ticks;
	p->next.from_mono = c->report.next_from_mono = now.mono;
	p->next.to = 0;
	p->next.is_there = true;
	p->count.begun++;
	return 0;
}

static int begin_report(struct collector *c, const struct capture_ask *ask, uint64_t from,
			int64_t from_mono, char *why, size_t why_len)
{
	struct capture *p = c->capture;
	int err;

	c->report.windows.cnt = 0;
	c->report.windows.hold = UINT64_MAX;
	p->at.began = from_mono;
	err = windows_add(&c->report.windows, from, from_mono);
	if (!err)
		err = capture_report_begin(c, ask, why, why_len);
	if (err) {
		c->report.windows.cnt = 0;
		close_gate(c);
		p->state = CAPTURE_IDLE;
		return err;
	}
	note_begin(c, ask, from_mono);
	return 0;
}

int capture_begin(struct collector *c, const struct capture_ask *ask, char *why, size_t why_len)
{
	struct capture *p = c->capture;
	struct clock_snapshot now;

	why[0] = 0;
	switch (p->state) {
	case CAPTURE_ON:
		return -EALREADY;
	case CAPTURE_OVER:
		return -ESHUTDOWN;
	case CAPTURE_ENDING:
		return begin_behind(c, ask);
	case CAPTURE_PAUSED:
		return resume_paused(c, ask);
	case CAPTURE_IDLE:
		break;
	}
	now = open_gate(c, true);
	p->count.begun++;
	if (ask->from)
		return begin_report(c, ask, ask->from, ask->from_mono, why, why_len);
	return begin_report(c, ask, now.ticks, now.mono, why, why_len);
}

/* ---- end ---- */

/* Applies --capture-range-end to the end of a capture by @source. */
static void settle_end(struct capture *p, enum capture_source source)
{
	const struct capture_options *o = p->options;
	bool is_last = o->repeat && p->count.ended >= o->repeat;

	if (source == CAPTURE_SOURCE_DURATION && !o->by && !o->by_hotkey) {
		/* --duration alone ends the session, as ever; a capture begun by command just ends. */
		p->is_shutting_down = p->begun != CAPTURE_SOURCE_COMMAND;
		return;
	}
	if (!is_range(source) && source != CAPTURE_SOURCE_DURATION)
		return;
	p->is_shutting_down = o->end == CAPTURE_END_STOP_SHUTDOWN ||
			      (o->end == CAPTURE_END_REPEAT_SHUTDOWN && is_last);
}

/* The capture that waits for the report before ends before it has come to its own. */
static int end_behind(struct collector *c, enum capture_source source)
{
	struct capture *p = c->capture;
	struct clock_snapshot now = close_gate(c);

	p->next.to = now.ticks;
	p->next.to_mono = now.mono;
	p->next.ended = source;
	p->clients.openers = 0;
	return 0;
}

/* The window ends there. */
static void note_end(struct collector *c, enum capture_source source, uint64_t to, int64_t to_mono)
{
	struct capture *p = c->capture;
	struct window *last = &c->report.windows.list[c->report.windows.cnt - 1];

	last->to = to;
	last->to_mono = to_mono;
	p->ended = source;
	p->at.ended = to_mono;
	p->at.read = 0;
	p->at.stop = 0;
	p->count.ended++;
	settle_end(p, source);
	p->state = is_range(source) && p->options->end == CAPTURE_END_PAUSE ? CAPTURE_PAUSED
									    : CAPTURE_ENDING;
}

int capture_end(struct collector *c, enum capture_source source)
{
	struct capture *p = c->capture;
	struct clock_snapshot now;

	if (p->state == CAPTURE_PAUSED && source == CAPTURE_SOURCE_COMMAND) {
		p->ended = source;
		p->state = CAPTURE_ENDING;
		return 0;
	}
	if (p->state == CAPTURE_ENDING && p->next.is_there && !p->next.to)
		return end_behind(c, source);
	if (p->state != CAPTURE_ON)
		return -EALREADY;
	now = close_gate(c);
	p->clients.openers = 0;
	note_end(c, source, now.ticks, now.mono);
	return 0;
}

int capture_cancel(struct collector *c)
{
	int err = capture_end(c, CAPTURE_SOURCE_COMMAND);

	if (!err)
		c->capture->is_cancelled = true;
	return err;
}

/* Has CUPTI of every process delivered all records from before the end of the capture? */
bool capture_gpu_is_read(const struct collector *c)
{
	const struct sl_session *s = c->session.control;
	const struct capture *p = c->capture;

	if (!(s->trace & SL_TRACE_CUDA) || s->cuda_flags & SL_CUDA_NO_CUPTI)
		return true;
	for (const struct arena *a = c->arenas.first; a; a = a->next)
		/* Whether there is a CUPTI stands in the rings, too. */
		if (ring_read_to(a) < c->report.windows.list[c->report.windows.cnt - 1].to ||
		    !gpu_has_reported(a, p->at.ended - c->clocks.map.zero))
			return false;
	return true;
}

/* Everything from before the end of the capture has come in; or has not, for longer than can be waited. */
static bool is_read(struct collector *c)
{
	struct capture *p = c->capture;
	uint64_t to =
		c->report.windows.cnt ? c->report.windows.list[c->report.windows.cnt - 1].to : 0;
	int64_t waited = mono_ns() - p->at.ended;

	if (p->recorder && !p->recorder->is_read(c))
		return false;
	if (c->clocks.map.newest < to || waited > (p->recorder ? FLIGHT_WAIT_NS : READ_WAIT_NS))
		return c->clocks.map.newest >= to;
	for (const struct arena *a = c->arenas.first; a; a = a->next)
		if (ring_read_to(a) < to)
			return false;
	if (!sources_have_come(&c->recording, p->at.ended))
		return false;
	/* The wait for CUPTI begins when all else is read: on a busy machine that alone may take long. */
	if (!p->at.read)
		p->at.read = mono_ns();
	return mono_ns() - p->at.read >= GPU_WAIT_NS || capture_gpu_is_read(c);
}

static void answer(struct collector *c)
{
	struct capture *p = c->capture;

	while (p->clients.waiting_cnt)
		close(p->clients.waiting[--p->clients.waiting_cnt]);
}

/* The report is being completed; begins the capture that was queued. */
static void after_report(struct collector *c)
{
	struct capture *p = c->capture;
	char why[512];

	p->state = p->is_stuck ? CAPTURE_OVER : state_after(p);
	if (!p->next.is_there)
		return;
	p->next.is_there = false;
	c->report.next_from_mono = INT64_MAX;
	if (p->state == CAPTURE_OVER) {
		close_gate(c);
		c->report.windows.hold = UINT64_MAX;
	} else if (begin_report(c, &p->next.ask, p->next.from, p->next.from_mono, why,
				sizeof(why))) {
		sl_warn("nothing is recorded: %s", why);
	} else if (p->next.to) {
		note_end(c, p->next.ended, p->next.to, p->next.to_mono);
	}
	free(p->next.report);
	p->next.report = NULL;
}

/* ---- with the session ---- */

static void set_program_side(struct collector *c)
{
	const struct capture_options *o = c->capture->options;
	struct sl_session *s = c->session.control;

	/* Programs read the names only while capture_by is set. */
	__atomic_store_n(&s->capture_by, 0, __ATOMIC_RELEASE);
	memcpy(s->nvtx_range, o->nvtx_range, sizeof(s->nvtx_range));
	memcpy(s->nvtx_domain, o->nvtx_domain, sizeof(s->nvtx_domain));
	__atomic_store_n(&s->capture_by, o->by, __ATOMIC_RELEASE);
	c->capture->sought =
		(struct sought_range){.range = o->nvtx_range, .domain = o->nvtx_domain};
	c->arenas.sought = o->by & SL_CAPTURE_BY_NVTX ? &c->capture->sought : NULL;
}

int capture_new(struct collector *c)
{
	c->capture = calloc(1, sizeof(*c->capture));
	return c->capture ? 0 : -ENOMEM;
}

void capture_resume(struct collector *c)
{
	struct windows *w = &c->report.windows;
	struct capture *p = c->capture;
	void *list;
	size_t bytes;

	w->hold = UINT64_MAX;
	p->state = CAPTURE_OVER;
	p->has_begun = true;
	p->ended = CAPTURE_SOURCE_EXIT;
	if (db_state_get(c->report.db, "windows", &list, &bytes) != 0)
		return;
	w->list = list;
	w->cnt = w->cap = bytes / sizeof(struct window);
	c->arenas.report.windows = w;
	p->has_begun = w->cnt > 0;
}

int capture_open(struct collector *c)
{
	struct capture *p = c->capture;
	const struct capture_options *o = &c->options->capture;
	struct capture_ask ask = {.source = CAPTURE_SOURCE_START,
				  .duration_ns = c->options->program.duration_s * SECOND_NS};
	char why[512];

	p->options = o;
	c->report.windows.hold = UINT64_MAX;
	c->arenas.report.windows = &c->report.windows;
	c->intake.on_capture = capture_asked;
	set_program_side(c);
	if (!c->report.is_session)
		p->reports.first = strdup(c->report.path);
	if (o->delay_s)
		p->at.delay = mono_ns() + o->delay_s * SECOND_NS;
	if (!capture_waits(o) && !o->flight_ns) {
		/* All there is: nothing was before. */
		p->count.begun++;
		if (windows_add(&c->report.windows, 0, 0))
			return -ENOMEM;
		c->arenas.report.epoch = c->session.control->epoch;
		note_begin(c, &ask, c->clocks.map.zero);
		if (capture_report_begin(c, &ask, why, sizeof(why)))
			return -EIO;
		return 0;
	}
	p->state = CAPTURE_IDLE;
	if (!o->flight_ns)
		sources_end(&c->recording, c->clocks.map.zero);
	return 0;
}

int capture_arm(struct collector *c, bool new_output)
{
	struct capture *p = c->capture;
	bool is_over = p->is_shutting_down || c->end != RUN_GOES_ON;

	if (is_over || p->state == CAPTURE_ON || p->state == CAPTURE_PAUSED)
		return is_over ? -ESHUTDOWN : -EALREADY;
	if (p->state == CAPTURE_OVER)
		p->state = CAPTURE_IDLE;
	/* Another name to number, and another count of repetitions. */
	if (new_output) {
		free(p->reports.first);
		p->reports.first = NULL;
	}
	p->count.before = p->count.begun;
	p->count.ended = 0;
	p->clients.openers = 0;
	p->at.delay = p->options->delay_s ? mono_ns() + p->options->delay_s * SECOND_NS : 0;
	set_program_side(c);
	return 0;
}

void capture_disarm(struct collector *c)
{
	c->capture->at.delay = 0;
	__atomic_store_n(&c->session.control->capture_by, 0, __ATOMIC_RELEASE);
}

void capture_close(struct collector *c)
{
	struct capture *p = c->capture;
	struct window *last;

	/* Whatever began while a report was being completed becomes one, too. */
	if (p->next.is_there && p->state == CAPTURE_ENDING) {
		pump_drain(c);
		capture_report_end(c);
		after_report(c);
	}
	if (p->state == CAPTURE_ON || p->state == CAPTURE_PAUSED) {
		p->ended = (c->end == RUN_CUT) ? CAPTURE_SOURCE_COMMAND : CAPTURE_SOURCE_EXIT;
		last = &c->report.windows.list[c->report.windows.cnt - 1];
		if (p->state == CAPTURE_ON && (c->end == RUN_CUT)) {
			struct clock_snapshot now = close_gate(c);

			last->to = now.ticks;
			last->to_mono = now.mono;
		}
	}
	p->state = CAPTURE_OVER;
}

void capture_release(struct collector *c)
{
	struct capture *p = c->capture;

	answer(c);
	while (p->clients.held_cnt)
		close(p->clients.held[--p->clients.held_cnt].sock);
	free(p->clients.held);
	windows_release(&c->report.windows);
	free(p->clients.opener);
	free(p->clients.waiting);
	free(p->next.report);
	free(p->reports.first);
	free(c->report.path_own);
	c->report.path_own = NULL;
	for (size_t i = 0; i < p->reports.cnt; i++)
		free(p->reports.list[i]);
	free(p->reports.list);
	c->arenas.sought = NULL;
	free(p);
	c->capture = NULL;
}

static void delay_is_over(struct collector *c)
{
	struct capture *p = c->capture;
	struct capture_ask ask = {.source = CAPTURE_SOURCE_DELAY,
				  .duration_ns = c->options->program.duration_s * SECOND_NS};
	char why[512];

	p->at.delay = 0;
	if (p->options->by || p->options->by_hotkey || p->options->start_later)
		return;
	if (capture_begin(c, &ask, why, sizeof(why)) && why[0])
		sl_warn("nothing is recorded: %s", why);
}

bool capture_is_urgent(struct collector *c)
{
	const struct capture *p = c->capture;
	int64_t now;

	if (p->state == CAPTURE_ENDING)
		return true;
	for (size_t i = 0; i < p->clients.openers; i++)
		if (!model_find(&c->model, p->clients.opener[i].pid))
			return true;
	if (!p->at.delay && !p->at.stop)
		return false;
	now = mono_ns();
	return (p->at.delay && now >= p->at.delay) || (p->at.stop && now >= p->at.stop);
}

void capture_tick(struct collector *c)
{
	struct capture *p = c->capture;
	int64_t now;

	/* Without options it is recover, which only reads on. */
	if (!p->options || !c->session.control)
		return;
	if (p->at.delay || p->at.stop) {
		now = mono_ns();
		if (p->at.delay && now >= p->at.delay)
			delay_is_over(c);
		if (p->at.stop && now >= p->at.stop)
			capture_end(c, CAPTURE_SOURCE_DURATION);
	}
	if (p->clients.openers)
		capture_drop_gone(c);
	if (p->state == CAPTURE_ENDING && p->is_shutting_down) {
		/* CUPTI delivers its last records while the process still lives. */
		if (mono_ns() - p->at.ended < GPU_WAIT_NS && !capture_gpu_is_read(c))
			return;
		/* The last report: it is completed with the session. */
		p->state = CAPTURE_OVER;
		c->end = RUN_CUT;
		capture_say_shutdown(c);
	} else if (p->state == CAPTURE_ENDING && is_read(c)) {
		capture_report_end(c);
		answer(c);
		after_report(c);
		capture_ask_again(c);
	}
	capture_report_done(c, false);
}
