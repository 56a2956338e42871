/* gpu_records.c - takes records of the rings apart, and queues calls and CUPTI's records by thread and process. */
#include "collector/base/grow.h"
#include "collector/decode/gpu/gpu_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/model/identity.h"
#include "collector/model/stacks.h"
#include "collector/model/strings.h"

#define SOURCE_SHIM  1
#define SEVERITY_INF 1
#define SEVERITY_WRN 2

static const char loss_dropped[] = "GPU records: dropped by CUPTI, its buffers were full";
static const char loss_incomplete[] =
	"GPU records: at least, in buffers that CUPTI did not complete";
static const char loss_backward[] = "GPU work: CUPTI has an end before the start for it";
static const char loss_untimed[] = "GPU work: CUPTI does not know when it was";

static bool keep_hook(struct gpu_process *p, struct gpu_thread *th, const struct gpu_hook *h)
{
	struct gpu_hook *mine = gpu_queue_add(&th->hooks, h->bytes);

	if (!mine)
		return false;
	memcpy(mine, h, h->bytes);
	gpu_waits(p->arena, h->bytes);
	th->is_changed = true;
	if (h->end < th->oldest)
		th->oldest = h->end;
	if (!h->level)
		th->open_at = th->hooks.len;
	return true;
}

static void add_hook(struct arenas *as, struct arena *a, struct gpu_process *p,
		     struct gpu_thread *th, const struct gpu_hook *h)
{
	const struct gpu_look look = {.as = as,
				      .arena = a,
				      .process = p,
				      .now = h->end,
				      .wait = INT64_MAX / 4,
				      .read_to = h->end};

	if (!keep_hook(p, th, h)) {
		db_lost(as->db, h->start, h->end, th->global_tid, "GPU calls: no memory", 1);
		return;
	}
	if (h->level)
		return;
	/* The only one that waits, and CUPTI will not report it: most calls, where there is no CUPTI. */
	if (th->hooks.len == h->bytes && !th->api_cnt &&
	    (p->cupti == GPU_CUPTI_OFF || gpu_function(h->function)->library > SL_GPU_cuda))
		gpu_match(&look, th);
}

void gpu_call(struct arenas *as, struct thread *t, const struct call *c)
{
	struct {
		struct gpu_hook h;
		uint64_t words[SL_GPU_ARGS];
	} copy = {.h = {.function = c->hook, .level = c->level}};
	uint64_t first = c->data.payload[0];
	unsigned words = (unsigned)(first >> 32 & 0xff);
	struct arena *a = t->image->arena;
	struct gpu_process *p;
	struct gpu_thread *th;

	if (c->hook >= SL_GPU_FUNCTION_CNT || words > SL_GPU_ARGS || words + 1 > c->data.words) {
		as->lost.corrupt++;
		return;
	}
	copy.h.start = clock_map_ns(as->clock, c->start);
	copy.h.end = c->end == c->start ? copy.h.start : clock_map_ns(as->clock, c->end);
	copy.h.stack = stacks_take(as, t, c->start);
	copy.h.result = (int32_t)(uint32_t)first;
	copy.h.words = (uint8_t)words;
	copy.h.bytes = (uint32_t)(sizeof(copy.h) + words * 8);
	memcpy(copy.h.word, c->data.payload + 1, words * 8);
	p = gpu_process(a, t->image->number, t->image->proc->pid, copy.h.start);
	th = p ? gpu_thread(p, t->id.ns_tid, t->id.global_tid) : NULL;
	if (!th) {
		db_lost(as->db, copy.h.start, copy.h.end, t->id.global_tid, "GPU calls: no memory",
			1);
		return;
	}
	th->used_at = copy.h.end;
	if (copy.h.end > p->calls.last)
		p->calls.last = copy.h.end;
	add_hook(as, a, p, th, &copy.h);
	gpu_hurry(as, p);
}

static bool keep_api(struct gpu_process *p, struct gpu_thread *th, const struct gpu_api *api)
{
	if (!grow(&th->api, th->api_cnt, &th->api_cap, sizeof(*th->api)))
		return false;
	th->api[th->api_cnt++] = *api;
	th->is_changed = true;
	th->used_at = api->end;
	if (api->end < th->oldest)
		th->oldest = api->end;
	gpu_waits(p->arena, sizeof(*api));
	return true;
}

/* A record without a row, as its times are unknown or, @is_backward, contradict each other. */
static void lose_times(struct arenas *as, const struct gpu_process *p, int64_t ns, bool is_backward)
{
	db_lost(as->db, ns, ns, p->id.global_pid, is_backward ? loss_backward : loss_untimed, 1);
	if (is_backward)
		as->gpu.lost.backward++;
	else
		as->gpu.lost.untimed++;
}

static void add_api(struct arenas *as, const struct image *im, struct gpu_process *p,
		    const struct sl_gpu_api *r, int64_t ns)
{
	struct gpu_api api = {.start = gpu_session_ns(as, r->start),
			      .end = gpu_session_ns(as, r->end),
			      .correlation = r->correlation,
			      .name = r->name,
			      .result = r->result,
			      .is_driver = r->is_driver != 0};
	struct gpu_thread *th;

	if (!r->start || (r->end && r->end < r->start)) {
		lose_times(as, p, r->start ? api.start : ns, r->start != 0);
		return;
	}
	/* Handed over before the call returned; it leads from the work to the hook's record all the same. */
	if (!r->end)
		api.end = api.start;
	if (!windows_have_ns(as->report.windows, as->clock->zero, api.start))
		return;
	gpu_captured_call(as, p, api.start, r->correlation);
	th = gpu_thread(p, r->thread, 0);
	if (th && !th->global_tid)
		th->global_tid = GLOBAL_TID(p->id.pid, identity_thread(im, r->thread));
	if (th && gpu_is_written(p, th, &api, gpu_canon_string(im->arena, r->name)))
		return;
	if (!th || !keep_api(p, th, &api))
		db_lost(as->db, api.start, api.end, p->id.global_pid, "GPU calls: no memory", 1);
}

static void flushed(struct arenas *as, struct gpu_process *p, const struct sl_gpu_flushed *f,
		    uint64_t tick)
{
	int64_t until = gpu_session_ns(as, f->until), before = p->reached.until;

	if (f->is_last && until > p->lent.reported_all_at)
		p->lent.reported_all_at = until;
	/* Several threads report flushes, so in any order. An exec that fails comes after a last flush, too. */
	if (tick >= p->lent.flushed_tick) {
		p->lent.flushed_tick = tick;
		p->has_reported_all = f->is_last && until >= p->lent.back_at;
	}

	if (f->dropped) {
		db_lost(as->db, before == INT64_MIN ? p->time.first : before, until,
			p->id.global_pid, loss_dropped, (int64_t)f->dropped);
		as->gpu.lost.dropped += f->dropped;
	}
	if (f->incomplete) {
		db_lost(as->db, before == INT64_MIN ? p->time.first : before, until,
			p->id.global_pid, loss_incomplete, (int64_t)f->incomplete);
		as->gpu.lost.incomplete += f->incomplete;
	}
	if (p->reached.next_until == INT64_MIN) {
		p->reached.next_until = until;
		p->reached.next_tick = tick;
	} else {
		if (until > p->reached.last_until)
			p->reached.last_until = until;
		p->reached.last_tick = tick;
	}
}

/* Warns the user, once for many processes without CUPTI. */
static void warn(struct arenas *as, const char *line)
{
	struct gpu_report *r = &as->gpu;
	const uint32_t cnt = sizeof(r->said) / sizeof(r->said[0]);
	uint32_t hash = gpu_canon(line);

	for (uint32_t i = 0; i < r->said_cnt && i < cnt; i++)
		if (r->said[i] == hash)
			return;
	r->said[r->said_cnt++ % cnt] = hash;
	if (r->warn)
		r->warn(r->warn_to, line);
}

/* After it CUPTI delivers no more records. */
static bool ends_records(uint32_t code)
{
	switch (code) {
	case SL_GPU_STATUS_ON:
	case SL_GPU_STATUS_KIND_FAILED:
	case SL_GPU_STATUS_OTHER:
	case SL_GPU_STATUS_AVOIDED:
	case SL_GPU_STATUS_LIMITED:
	case SL_GPU_STATUS_BACK:
		return false;
	default:
		return true;
	}
}

static void status(struct arenas *as, struct arena *a, struct gpu_process *p,
		   const struct sl_gpu_status *s, int64_t ns)
{
	const char *text = string_find(a, s->text);
	bool is_news = s->code == SL_GPU_STATUS_ON || s->code == SL_GPU_STATUS_AVOIDED ||
		       s->code == SL_GPU_STATUS_BACK;
	char line[1100];

	if (s->code == SL_GPU_STATUS_LOST_SLOT)
		gpu_lent_begin(p, s->since ? gpu_session_ns(as, s->since) : ns);
	else if (s->code == SL_GPU_STATUS_BACK)
		gpu_lent_end(p, ns, s->detail);
	/* The end may be read before the begin, which another thread recorded. */
	if (s->code == SL_GPU_STATUS_LOST_SLOT || s->code == SL_GPU_STATUS_BACK)
		p->cupti = gpu_is_lent(p) ? GPU_CUPTI_OFF : GPU_CUPTI_ON;
	else if (s->code == SL_GPU_STATUS_ON)
		p->cupti = GPU_CUPTI_ON;
	else if (ends_records(s->code))
		p->cupti = GPU_CUPTI_OFF;
	if (!text)
		text = s->code == SL_GPU_STATUS_ON ? "CUPTI is on"
		       : ends_records(s->code)     ? "CUPTI: no record of the GPU's work"
						   : "CUPTI: a limitation";
	snprintf(line, sizeof(line),
		 s->detail && s->code != SL_GPU_STATUS_BACK ? "%s (CUPTI's error %u)" : "%s", text,
		 s->detail);
	db_diagnostic(as->db, ns, SOURCE_SHIM, is_news ? SEVERITY_INF : SEVERITY_WRN, line,
		      p->id.global_pid);
	if (!is_news)
		warn(as, line);
}

/*
 * The GPU's work outlasts the calls that launched it: all work that ended after recording began is
 * kept, since CUPTI reports only work launched while it was on. The flight recorder has it on
 * always: there, work that began after the report's end is not kept. Devices, contexts, graphs are
 * no events.
 */
static bool is_wanted(const struct arenas *as, unsigned kind, const void *payload, int64_t end)
{
	const struct windows *w = as->report.windows;

	if (kind == SL_GPU_REC_UM)
		end = gpu_session_ns(as, ((const struct sl_gpu_um *)payload)->start);
	if (!w || end == INT64_MIN)
		return true;
	/* The first member of each is its time or its start. */
	if (as->flight.follows_files && w->cnt &&
	    *(const int64_t *)payload >= w->list[w->cnt - 1].to_mono)
		return false;
	return w->cnt && end + as->clock->zero >= w->list[0].from_mono;
}

/*
 * Work that still runs when a process ends, or when another tool takes CUPTI over, is handed over once, without its end;
 * and the GPU may have had no room for a time. As a row it would last from before the beginning, or until then. Where
 * CUPTI's device buffers are exhausted, work can end before it starts.
 */
static bool has_times(unsigned kind, const void *payload, bool *is_backward)
{
	const uint64_t *times = payload; /* start and end, or the time, come first */

	*is_backward = false;
	switch (kind) {
	case SL_GPU_REC_KERNEL:
	case SL_GPU_REC_MEMCPY:
	case SL_GPU_REC_MEMSET:
	case SL_GPU_REC_GRAPH:
	case SL_GPU_REC_SYNC:
	case SL_GPU_REC_OVERHEAD:
	case SL_GPU_REC_JIT:
		*is_backward = times[0] && times[1] && times[1] < times[0];
		return times[0] && times[1] && !*is_backward;
	case SL_GPU_REC_UM: /* some counters have no end */
		*is_backward = times[0] && times[1] && times[1] < times[0];
		return times[0] && !*is_backward;
	case SL_GPU_REC_MEMORY:
	case SL_GPU_REC_POOL:
		return times[0];
	default:
		return true;
	}
}

static void add_work(struct arenas *as, struct arena *a, struct gpu_process *p, unsigned kind,
		     const void *payload, size_t size, int64_t ns)
{
	struct gpu_work *w;
	int64_t end = gpu_work_end(as, kind, payload);
	bool is_backward;

	if (!has_times(kind, payload, &is_backward)) {
		uint64_t start = *(const uint64_t *)payload;

		lose_times(as, p, start ? gpu_session_ns(as, start) : ns, is_backward);
		return;
	}
	/* Older versions have no time for it: its call is searched for as if it had just happened. */
	if (kind == SL_GPU_REC_EVENT && !*(const uint64_t *)payload)
		end = ns;
	if (!is_wanted(as, kind, payload, end))
		return;

	if (end == INT64_MIN && gpu_work_is_named(a, kind, payload)) {
		gpu_work_write(as, a, p, kind, payload);
		return;
	}
	w = gpu_queue_add(&p->work, sizeof(*w) + size);
	if (!w) {
		gpu_work_write(as, a, p, kind, payload);
		return;
	}
	*w = (struct gpu_work){.bytes = (uint32_t)(sizeof(*w) + size),
			       .kind = (uint16_t)kind,
			       .end = end,
			       .arrived = ns};
	memcpy(w + 1, payload, size);
	gpu_waits(p->arena, w->bytes);
}

void gpu_record(struct arenas *as, struct thread *t, const struct call *c)
{
	union {
		uint64_t words[40];
		struct sl_gpu_api api;
		struct sl_gpu_flushed flushed;
		struct sl_gpu_status status;
		struct sl_gpu_comm comm;
	} r; /* a copy: the program could still change the record */
	struct arena *a = t->image->arena;
	size_t size = gpu_work_size(c->hook);
	int64_t ns = clock_map_ns(as->clock, c->start);
	struct gpu_process *p = gpu_process(a, t->image->number, t->image->proc->pid, ns);

	if (!size || size > sizeof(r) || c->data.words * 8 < size) {
		as->lost.corrupt++;
		return;
	}
	memcpy(&r, c->data.payload, size);
	if (!p) {
		db_lost(as->db, ns, ns, t->id.global_tid, "GPU records: no memory", 1);
		return;
	}
	/* Records delivered late, while CUPTI is lent, announce no more records; communicators are the shim's own. */
	if (c->hook != SL_GPU_REC_STATUS && c->hook != SL_GPU_REC_COMM && !gpu_is_lent(p))
		p->cupti = GPU_CUPTI_ON;
	switch (c->hook) {
	case SL_GPU_REC_API:
		add_api(as, t->image, p, &r.api, ns);
		break;
	case SL_GPU_REC_FLUSHED:
		flushed(as, p, &r.flushed, c->start);
		break;
	case SL_GPU_REC_STATUS:
		status(as, a, p, &r.status, ns);
		break;
	case SL_GPU_REC_COMM:
		if (r.comm.flags & SL_GPU_COMM_IS_MPI)
			gpu_mpi_comm(as, p, &r.comm);
		else
			gpu_nccl_comm(as, p, &r.comm);
		break;
	default:
		add_work(as, a, p, c->hook, &r, size, ns);
	}
	gpu_hurry(as, p);
}

/* ---- after a crash ---- */

/* A bool of a record in a file, which may have any bits there. */
static bool bool_at(const void *record, size_t offset)
{
	return ((const uint8_t *)record)[offset] != 0;
}

void gpu_restore_hook(struct arenas *as, struct gpu_process *p, uint32_t ns_tid, int64_t global_tid,
		      const void *record, size_t bytes)
{
	struct {
		struct gpu_hook h;
		uint64_t words[SL_GPU_ARGS];
	} copy;
	struct gpu_thread *th = gpu_thread(p, ns_tid, global_tid);

	if (bytes > sizeof(copy))
		return;
	memcpy(&copy, record, bytes);
	if (!th || copy.h.bytes != bytes || copy.h.function >= SL_GPU_FUNCTION_CNT ||
	    bytes != sizeof(copy.h) + copy.h.words * 8u) {
		as->lost.corrupt++;
		return;
	}
	copy.h.logged = 0;
	copy.h.is_done = bool_at(record, offsetof(struct gpu_hook, is_done));
	keep_hook(p, th, &copy.h);
}

void gpu_restore_api(struct gpu_process *p, uint32_t ns_tid, int64_t global_tid, const void *record)
{
	struct gpu_thread *th = gpu_thread(p, ns_tid, global_tid);
	struct gpu_api api;

	memcpy(&api, record, sizeof(api));
	api.logged = 0;
	api.is_driver = bool_at(record, offsetof(struct gpu_api, is_driver));
	api.is_done = bool_at(record, offsetof(struct gpu_api, is_done));
	if (th)
		keep_api(p, th, &api);
}

void gpu_restore_work(struct gpu_process *p, const void *record, size_t bytes)
{
	struct gpu_work *w, head;

	memcpy(&head, record, sizeof(head));
	if (head.bytes != bytes || bytes - sizeof(head) != gpu_work_size(head.kind))
		return;
	w = gpu_queue_add(&p->work, bytes);
	if (!w)
		return;
	memcpy(w, record, bytes);
	w->logged = 0;
	gpu_waits(p->arena, bytes);
}
