/* live_flush.c - running sums of threads; once a second, rows of all that has changed. */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/figure.h"
#include "collector/model/ring_reader.h"
#include "collector/model/live.h"
#include "collector/model/live_internal.h"
#include "collector/kernel/sched/sched.h"

/* ---- threads ---- */

static uint32_t slot_of(const struct live_threads *t, int64_t global_tid)
{
	uint32_t at = (uint32_t)((uint64_t)global_tid * 0x9e3779b97f4a7c15u >> 32) & (t->slots - 1);

	while (t->slot[at] && t->slot[at]->global_tid != global_tid)
		at = (at + 1) & (t->slots - 1);
	return at;
}

static bool threads_grow(struct live_threads *t)
{
	struct live_threads more = {.slots = t->slots ? t->slots * 2 : 64};

	if (t->cnt * 2 < t->slots)
		return true;
	more.slot = calloc(more.slots, sizeof(struct live_thread *));
	if (!more.slot)
		return false;
	for (uint32_t i = 0; i < t->slots; i++)
		if (t->slot[i])
			more.slot[slot_of(&more, t->slot[i]->global_tid)] = t->slot[i];
	free(t->slot);
	t->slot = more.slot;
	t->slots = more.slots;
	return true;
}

/* The thread, which has news; NULL: no memory. */
static struct live_thread *thread_of(struct live *l, int64_t global_tid)
{
	struct live_threads *all = &l->threads;
	struct live_thread *t;
	uint32_t at;

	if (!threads_grow(all))
		return NULL;
	at = slot_of(all, global_tid);
	t = all->slot[at];
	if (!t) {
		t = all->slot[at] = calloc(1, sizeof(*t));
		if (!t)
			return NULL;
		all->cnt++;
		t->id = ++l->last_id;
		t->global_tid = global_tid;
		t->is_on = -1;
		t->since = DB_NULL;
	}
	t->is_over = false;
	if (!t->is_changed) {
		t->is_changed = true;
		t->next_changed = all->changed;
		all->changed = t;
	}
	return t;
}

void live_thread(struct arenas *as, struct thread *t, bool over)
{
	struct live_thread *to;

	if (!t->live.calls && !over)
		return;
	to = thread_of(&as->model->live, t->id.global_tid);
	if (!to)
		return;
	figure_count(&to->calls, t->live.calls);
	figure_add(&to->call_ns, t->live.ns);
	to->is_over = over;
	t->live.calls = 0;
	t->live.ns = 0;
}

/* A thread's context switches since the last call. */
static void take_switches(void *ctx, const struct sched_sum *sum)
{
	struct arenas *as = ctx;
	struct live *l = &as->model->live;
	struct live_thread *t;

	l->switches += sum->switches;
	/* The idle task is no thread of a program. */
	if (!sum->pid)
		return;
	t = thread_of(l, GLOBAL_TID(sum->pid, sum->tid));
	if (!t)
		return;
	t->cpu_ns += (int64_t)sum->cpu_ns;
	t->off_ns += (int64_t)sum->off_ns;
	t->switches += sum->switches;
	t->since = (int64_t)sum->since_ns - as->clock->zero;
	t->is_on = sum->is_on;
	t->is_over = sum->is_over;
}

/* ---- short calls ---- */

static struct live_short *seen_of(struct live_thread_calls *c, uint64_t hook)
{
	uint32_t at = c->seen_cnt;

	/* Short calls come in the order of hooks, once a second. */
	while (at > 0 && c->seen[at - 1].hook > hook)
		at--;
	if (at > 0 && c->seen[at - 1].hook == hook)
		return &c->seen[at - 1];
	if (!grow(&c->seen, c->seen_cnt, &c->seen_cap, sizeof(*c->seen)))
		return NULL;
	memmove(&c->seen[at + 1], &c->seen[at], (c->seen_cnt++ - at) * sizeof(*c->seen));
	c->seen[at] = (struct live_short){.hook = hook};
	return &c->seen[at];
}

static void short_file(struct live *l, struct live_calls *c, uint8_t io, uint64_t calls,
		       const struct live_short *add)
{
	struct live_file *f;

	if (io != SL_IO_READ && io != SL_IO_WRITE)
		return;
	if (!c->short_file)
		c->short_file = live_file_of(l, c->global_pid, DB_NULL);
	if (!c->short_file)
		return;
	f = &l->files.list[c->short_file - 1];
	figure_count(&f->operations, calls);
	figure_count(&f->ns, add->ns);
	figure_count(io == SL_IO_READ ? &f->read : &f->written, add->bytes);
}

void live_short(struct arenas *as, struct thread *t, const struct live_short *all, int64_t name_id)
{
	struct live *l = &as->model->live;
	struct image *im = t->image;
	struct live_short *seen = seen_of(&t->live, all->hook), add = *all;
	struct live_sum *sum;

	if (!seen)
		return;
	/* Fewer than before: they began anew, with a new report. */
	if (all->calls < seen->calls)
		memset(seen, 0, sizeof(*seen));
	add.calls -= seen->calls;
	add.ns -= seen->ns;
	add.bytes -= seen->bytes;
	add.errors -= seen->errors;
	*seen = *all;
	if (!add.calls)
		return;
	sum = live_sum_of(l, &im->live, GLOBAL_PID(im->proc->pid), (unsigned)all->hook, name_id);
	if (!sum)
		return;
	figure_count(&sum->calls, add.calls);
	figure_count(&sum->ns, add.ns);
	figure_count(&sum->bytes, add.bytes);
	figure_count(&sum->errors, add.errors);
	figure_count(&t->live.calls, add.calls);
	figure_add(&t->live.ns, figure(add.ns));
	short_file(l, im->live, sl_hook_info[all->hook].io, add.calls, &add);
}

void live_thread_free(struct thread *t)
{
	free(t->live.seen);
	t->live.seen = NULL;
	t->live.seen_cnt = t->live.seen_cap = 0;
}

/* ---- rows ---- */

bool live_write_calls(struct live *l, struct live_calls *c)
{
	bool any = false;

	for (uint32_t i = 0; i < c->cnt; i++) {
		struct live_sum *s = &c->sum[i];

		if (s->calls == s->told)
			continue;
		s->told = s->calls;
		db_put_SL_LIVE_CALLS(
			l->db, &(struct db_row_SL_LIVE_CALLS){.id = s->id,
							      .changed = l->round,
							      .globalPid = c->global_pid,
							      .kind = s->kind,
							      .nameId = s->name_id,
							      .calls = (int64_t)s->calls,
							      .totalNs = (int64_t)s->ns,
							      .bytes = (int64_t)s->bytes,
							      .errorCount = (int64_t)s->errors});
		any = true;
	}
	return any;
}

static bool write_files(struct live *l)
{
	bool any = false;

	for (uint32_t i = 0; i < l->files.cnt; i++) {
		struct live_file *f = &l->files.list[i];

		if (f->operations == f->told)
			continue;
		f->told = f->operations;
		db_put_SL_LIVE_FILES(
			l->db, &(struct db_row_SL_LIVE_FILES){.id = f->id,
							      .changed = l->round,
							      .globalPid = f->global_pid,
							      .isFolder = f->is_folder,
							      .operations = (int64_t)f->operations,
							      .bytesRead = (int64_t)f->read,
							      .bytesWritten = (int64_t)f->written,
							      .totalNs = (int64_t)f->ns,
							      .path = {f->path, f->len}});
		any = true;
	}
	return any;
}

static bool write_threads(struct live *l)
{
	struct live_thread *t = l->threads.changed;
	bool any = t != NULL;

	for (; t; t = t->next_changed) {
		t->is_changed = false;
		db_put_SL_LIVE_THREADS(l->db, &(struct db_row_SL_LIVE_THREADS){
						      .id = t->id,
						      .changed = l->round,
						      .globalTid = t->global_tid,
						      .cpuNs = t->cpu_ns,
						      .offCpuNs = t->off_ns,
						      .switches = (int64_t)t->switches,
						      .isOnCpu = t->is_on < 0 ? DB_NULL : t->is_on,
						      .switched = t->since,
						      .isOver = t->is_over,
						      .calls = (int64_t)t->calls,
						      .callNs = t->call_ns});
	}
	l->threads.changed = NULL;
	return any;
}

static bool write_gpus(struct live *l)
{
	bool any = false;

	for (uint32_t i = 0; i < l->gpus.cnt; i++) {
		struct live_gpu *g = &l->gpus.list[i];

		if (!g->is_changed)
			continue;
		g->is_changed = false;
		db_put_SL_LIVE_GPUS(l->db,
				    &(struct db_row_SL_LIVE_GPUS){.id = g->id,
								  .changed = l->round,
								  .gpu = g->number,
								  .isKnown = g->is_known,
								  .busyNs = g->busy_ns,
								  .until = g->until,
								  .kernels = (int64_t)g->kernels,
								  .kernelNs = g->kernel_ns,
								  .copies = (int64_t)g->copies,
								  .bytes = (int64_t)g->bytes});
		any = true;
	}
	return any;
}

static uint64_t untold_of(const struct sched *sched)
{
	return sched ? sched_lost(sched) : 0;
}

/* Including losses without a record so far. */
static uint64_t losses(const struct arenas *as, const struct sched *sched)
{
	uint64_t sum = as->lost.full + as->lost.other + as->lost.disk + as->gpu.lost.dropped +
		       as->gpu.lost.untimed + as->gpu.lost.backward + as->gpu.lost.incomplete;

	for (const struct arena *a = as->first; a; a = a->next)
		sum += ring_open_losses(a);
	return sum + untold_of(sched);
}

bool live_flush(struct arenas *as, struct sched *sched, const struct live_now *now)
{
	struct live *l = &as->model->live;
	bool any = false;
	uint64_t events, lost;

	l->round++;
	if (sched)
		sched_sums(sched, take_switches, as);
	for (struct live_calls *c = l->calls; c; c = c->next)
		any |= live_write_calls(l, c);
	any |= write_files(l);
	any |= write_threads(l);
	any |= write_gpus(l);
	events = as->ever.rows + l->switches;
	lost = losses(as, sched);
	/* Between the slot of a thread and its ring a loss is nowhere for a moment. */
	if (lost < l->written.lost)
		lost = l->written.lost;
	any |= lost != l->written.lost || l->written.processes != as->model->counts.alive ||
	       l->written.state != now->is_recording || l->written.behind != now->behind;
	if (!any)
		return false;
	l->written.lost = lost;
	l->written.processes = as->model->counts.alive;
	l->written.behind = now->behind;
	if (now->is_recording && l->written.state == 0)
		l->resumed = now->ns;
	l->written.state = now->is_recording;
	db_put_SL_LIVE_SESSION(l->db,
			       &(struct db_row_SL_LIVE_SESSION){
				       .id = 1,
				       .changed = l->round,
				       .since = l->since,
				       .resumed = l->resumed,
				       .time = now->ns,
				       .recording = now->is_recording,
				       .events = (int64_t)(events - l->before.events),
				       .lost = (int64_t)(lost - l->before.lost),
				       .processes = as->model->counts.alive,
				       .untold = (int64_t)(untold_of(sched) - l->before.untold),
				       .behind = now->behind});
	return true;
}

static void forget(struct live *l)
{
	while (l->calls) {
		struct live_calls *c = l->calls;

		l->calls = c->next;
		*c->owner = NULL;
		free(c->sum);
		free(c);
	}
	for (uint32_t i = 0; i < l->threads.slots; i++)
		free(l->threads.slot[i]);
	free(l->threads.slot);
	free(l->files.list);
	free(l->files.slot);
	free(l->gpus.list);
}

static void begin_thread(struct live_thread_calls *c)
{
	c->calls = 0;
	c->ns = 0;
	c->seen_cnt = 0;
}

void live_begin(struct arenas *as, struct sched *sched, int64_t ns)
{
	struct live *l = &as->model->live;
	struct live new = {.db = as->db,
			   .report = l->report + 1,
			   .since = ns,
			   .resumed = ns,
			   .written.state = -1};

	if (sched)
		sched_sums(sched, NULL, NULL);
	new.before.events = as->ever.rows;
	new.written.lost = new.before.lost = losses(as, sched);
	new.before.untold = untold_of(sched);
	forget(l);
	*l = new;
	for (struct arena *a = as->first; a; a = a->next)
		for (uint32_t i = 0; i < a->threads.cnt; i++)
			if (a->threads.at[i])
				begin_thread(&a->threads.at[i]->live);
}

void live_release(struct live *l)
{
	forget(l);
	memset(l, 0, sizeof(*l));
}
