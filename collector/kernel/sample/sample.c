/* sample.c - turns perf's records into samples, stacks and off-CPU intervals. */
#include "collector/kernel/sample/sample.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "collector/report/db.h"
#include "collector/report/db_map.h"
#include "collector/kernel/sample/sample_events.h"
#include "collector/kernel/sample/sample_files.h"
#include "collector/kernel/sample/sample_offcpu.h"
#include "collector/kernel/sample/sample_python.h"
#include "collector/kernel/sample/sample_python_outside.h"
#include "collector/kernel/sample/sample_spaces.h"
#include "collector/kernel/sample/sample_tree.h"
#include "collector/kernel/sample/sample_unwind.h"
#include "collector/kernel/sched/sched.h"
#include "collector/base/capture_window.h"
#include "collector/base/now.h"
#include "preload/wire/frame.h"

#define SETTLE_NS 1000000u   /* so late a record may come in behind younger ones of other CPUs */
#define DEATHS_NS 300000000u /* after the begin */

struct task_record {
	struct perf_event_header header;
	uint32_t pid, parent_pid, tid, parent_tid;
};
struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
};
struct mmap_record { /* PERF_RECORD_MMAP2 */
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t address, bytes, offset;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t protection, flags;
	char path[];
};

struct sample {
	struct sample_ask ask;
	struct sample_events *events;
	struct sample_files *files;
	struct sample_spaces *spaces;
	struct sample_python *python; /* NULL: not wanted, or unavailable */
	struct pyoutside *outside;    /* instead, without eBPF; NULL: not wanted */
	struct sample_tree *tree;     /* likewise */
	struct {
		uint8_t *pids;        /* a bit for each; NULL: records come of no others */
		uint32_t before_exec; /* a process that is not the program yet */
	} ours;                       /* the processes of the tree */
	struct sample_offcpu *offcpu; /* of waits and deaths; NULL: of none */
	bool no_samples;
	struct {
		struct db_map
			waiting; /* threads whose open wait was written by tell_waiting() -> when they left the CPU */
		struct sched_maps kernel;
		uint64_t deaths_at; /* when deaths are looked for; 0: not any more, or not at all */
	} away;
	struct sample_losses losses;
	uint64_t python_frames[SAMPLE_PYTHON_WORDS];
	uint64_t frames[SL_FRAME_MAX];
	uint8_t since_whole
		[4096]; /* samples of a thread since it had a whole stack, by its number */
};

/* The program that runs at each sample. */
static struct sample_program program_of(struct sample *s)
{
	struct sample_program p = {.fd = -1, .is_tree = sample_is_of_cpus(&s->ask)};

	if (!s->ask.frequency)
		return p;
	if (s->python) {
		p.fd = sample_python_program(s->python);
		p.fault_runs = sample_python_fault_runs(s->python);
	} else if (p.is_tree) {
		s->tree = sample_tree_open(s->ask.kernel, false);
		p.is_tree = s->tree != NULL;
		p.fd = s->tree ? sample_tree_program(s->tree) : -1;
		p.fault_runs = s->tree ? sample_tree_fault_runs(s->tree) : NULL;
	}
	return p;
}

struct sample *sample_open(const struct sample_ask *ask, char *why, char *no_python, size_t why_len)
{
	struct sample *s = calloc(1, sizeof(*s));

	*why = *no_python = 0;
	if (!s)
		return NULL;
	s->ask = *ask;
	s->files = sample_files_new();
	s->spaces = s->files ? sample_spaces_new(s->files, ask->stacks_most) : NULL;
	if (ask->no_off_cpu)
		*ask->no_off_cpu = 0;
	if (s->spaces && ask->python && (ask->frequency || ask->off_cpu_ns >= 0))
		s->python = sample_python_open(ask, s->files, no_python, why_len);
	if (s->spaces && ask->python && ask->frequency && !s->python) {
		s->outside = pyoutside_new(s->files, false);
		s->ask.python = SAMPLE_PYTHON_OUTSIDE;
		snprintf(no_python + strlen(no_python), why_len - strlen(no_python),
			 ": they are read from outside, at once or not at all");
	}
	if (s->spaces && ask->off_cpu_ns >= 0)
		s->offcpu = sample_offcpu_open(ask, s->python, ask->no_off_cpu, why_len);
	if (ask->off_cpu_ns < 0 && ask->kernel) {
		s->away.kernel = *ask->kernel;
		s->away.deaths_at = (uint64_t)mono_ns() + DEATHS_NS;
	}
	/* Where no samples are wanted, these report mappings. */
	if (s->spaces && (ask->frequency || s->offcpu))
		s->events = sample_events_open(&s->ask, program_of(s), why, why_len);
	if (s->events && ask->scope == SCHED_MODE_TREE && sample_events_of_cpus(s->events))
		s->ours.pids = calloc(1, SAMPLE_TID_MOST / 8 + 1);
	if (s->events)
		return s;
	sample_close(s);
	return NULL;
}

/* ---- who belongs to the tree, where records come of all processes ---- */

static bool is_ours(const struct sample *s, uint32_t pid)
{
	return !s->ours.pids || (pid <= SAMPLE_TID_MOST && s->ours.pids[pid / 8] >> (pid % 8) & 1);
}

static void set_ours(struct sample *s, uint32_t pid, bool is)
{
	uint8_t bit = (uint8_t)(1u << pid % 8);

	if (!s->ours.pids || pid > SAMPLE_TID_MOST)
		return;
	if (is)
		s->ours.pids[pid / 8] |= bit;
	else
		s->ours.pids[pid / 8] &= (uint8_t)~bit;
}

int sample_follow(struct sample *s, pid_t pid, bool at_exec)
{
	set_ours(s, (uint32_t)pid, true);
	if (at_exec && sample_events_of_cpus(s->events))
		s->ours.before_exec = (uint32_t)pid;
	if (s->python && !at_exec)
		sample_python_expect(s->python, (uint32_t)pid);
	return sample_events_follow(s->events, pid, at_exec);
}

/* ---- stacks ---- */

/* Marks among the addresses separate user, kernel and hypervisor frames. */
static unsigned kernel_part(const struct sample_record *r, uint64_t *frames, unsigned depth)
{
	bool is_kernel = false, is_exact = true;
	unsigned cnt = 0;

	for (uint64_t i = 0; i < r->cnt && cnt < depth; i++) {
		if (r->chain[i] >= (uint64_t)PERF_CONTEXT_MAX) {
			is_kernel = r->chain[i] == (uint64_t)PERF_CONTEXT_KERNEL;
			continue;
		}
		if (!is_kernel)
			continue;
		frames[cnt++] = (r->chain[i] & ~SL_FRAME_MARKS) | SL_FRAME_KERNEL |
				(is_exact ? SL_FRAME_EXACT : 0);
		is_exact = false;
	}
	return cnt;
}

/* Registers and memory, behind the kernel's part. False: there are none, as of the kernel's own threads. */
static bool user_part(const struct sample_record *r, struct sample_user *user)
{
	const uint64_t *at = r->chain + r->cnt,
		       *end = (const void *)((const char *)r + r->header.size);
	uint64_t bytes;

	if (at >= end || *at != PERF_SAMPLE_REGS_ABI_64)
		return false;
	user->regs = at + 1;
	at += 1 + SAMPLE_REG_CNT;
	if (at >= end)
		return false;
	bytes = *at++;
	user->stack = (const void *)at;
	user->stack_bytes = 0;
	if (bytes && bytes <= (uint64_t)((const char *)end - (const char *)at) - sizeof(*end))
		user->stack_bytes = at[bytes / sizeof(*at)];
	if (user->stack_bytes > bytes)
		user->stack_bytes = bytes;
	return true;
}

static void count_end(struct sample *s, unsigned end)
{
	s->losses.truncated += end == SL_REMARK_MEMORY;
	s->losses.broken += end == SL_REMARK_BROKEN || end == SL_REMARK_NO_TABLE;
}

/* Threads that share a place share the count: each still has its part of the stacks. */
static bool is_whole(struct sample *s, uint32_t tid)
{
	uint8_t *since = &s->since_whole[tid % sizeof(s->since_whole)];

	if (s->ask.per_stack == 1)
		return true;
	if (!s->ask.per_stack || ++*since < s->ask.per_stack)
		return false;
	*since = 0;
	return true;
}

/* Where the thread was, and no more. */
static unsigned make_short(struct sample *s, const struct sample_record *r)
{
	unsigned cnt = kernel_part(r, s->frames, 1);
	struct sample_user user = {0};

	if (!cnt && user_part(r, &user))
		s->frames[cnt++] = (r->ip & ~SL_FRAME_MARKS) | SL_FRAME_EXACT;
	if (cnt)
		s->frames[cnt++] = SL_FRAME_REMARK | SL_REMARK_DEPTH;
	return cnt;
}

/* @python: words of s->python_frames, which come behind all others. */
static unsigned make_stack(struct sample *s, struct sample_space *space,
			   const struct sample_record *r, unsigned python)
{
	unsigned cnt = kernel_part(r, s->frames, (SL_FRAME_MAX - SAMPLE_PYTHON_WORDS) / 2);
	unsigned depth = SL_FRAME_MAX - 1 - cnt - python;
	struct sample_user user = {0};
	struct sample_walk walk;

	if (!user_part(r, &user))
		return cnt;
	if (cnt && !sample_space_has_begun(s->spaces, space, user.regs[SAMPLE_REG_PC], r->ns))
		return cnt;
	walk = sample_unwind(s->spaces, s->files, space, &user, r->ns, s->frames + cnt, depth);
	count_end(s, walk.end);
	cnt += walk.cnt;
	memcpy(s->frames + cnt, s->python_frames, python * sizeof(*s->frames));
	return cnt + python;
}

/* ---- samples ---- */

struct round {
	struct sample *of;
	const struct sample_sink *sink;
	const struct windows *windows;
};

static unsigned python_part(struct sample *s, const struct round *to, const struct sample_record *r)
{
	const struct sample_python_of of = {
		.cpu = r->cpu, .pid = r->pid, .tid = r->tid, .ns = r->ns};

	if (s->outside && pyoutside_is_in_time(s->outside, (int64_t)r->ns))
		return pyoutside_frames(s->outside, to->sink, r->pid, r->tid, s->python_frames);
	return s->python ? sample_python_frames(s->python, to->sink, &of, s->python_frames) : 0;
}

static void take_sample(struct sample *s, struct round *to, const struct sample_record *r)
{
	struct sample_row row = {
		.ns = r->ns, .cpu = r->cpu, .pid = r->pid, .tid = r->tid, .stack = DB_NULL};
	struct sample_space *space;
	unsigned cnt = 0;

	if (s->no_samples)
		return;
	if (r->tid == UINT32_MAX && windows_have_ns(to->windows, 0, (int64_t)r->ns))
		s->losses.ended++;
	/* 0: outside our PID namespace; ~0: a thread that is being reaped */
	if (!r->tid || r->tid > SAMPLE_TID_MOST || !windows_have_ns(to->windows, 0, (int64_t)r->ns))
		return;
	if (sample_events_is_double(s->events, r->tid, r->id) || r->pid == s->ours.before_exec)
		return;
	set_ours(s, r->pid, true); /* also where the record of its birth was lost */
	space = sample_space_get(s->spaces, r->pid, r->ns);
	if (space)
		cnt = is_whole(s, r->tid) ? make_stack(s, space, r, python_part(s, to, r))
					  : make_short(s, r);
	if (cnt)
		row.stack = sample_space_stack(s->spaces, space, to->sink, r->ns, s->frames, cnt);
	to->sink->ops->row(to->sink->to, &row);
	s->losses.samples++;
}

static void take_fault(struct sample *s, struct round *to, const struct sample_record *r)
{
	struct sample_fault f = {
		.ns = r->ns, .address = r->address, .pid = r->pid, .tid = r->tid, .stack = DB_NULL};
	struct sample_space *space = sample_space_get(s->spaces, r->pid, r->ns);
	unsigned cnt = space ? make_stack(s, space, r, python_part(s, to, r)) : 0;
	struct sample_page page;

	if (s->no_samples || !to->sink->ops->fault || !r->tid || r->tid > SAMPLE_TID_MOST ||
	    r->pid == s->ours.before_exec || !windows_have_ns(to->windows, 0, (int64_t)r->ns))
		return;
	if (cnt)
		f.stack = sample_space_stack(s->spaces, space, to->sink, r->ns, s->frames, cnt);
	if (space && sample_space_page(s->spaces, space, r->address, r->ns, &page)) {
		f.path = page.path;
		f.offset = page.offset;
	}
	to->sink->ops->fault(to->sink->to, &f);
}

/* ---- threads without a CPU ---- */

static unsigned make_away(struct sample *s, struct sample_space *space, const struct round *to,
			  const struct offcpu_record *r)
{
	uint64_t regs[SAMPLE_REG_CNT];
	unsigned cnt = 0, python = 0;
	struct sample_user user = {0};
	struct sample_walk walk;
	const void *at;
	size_t bytes;

	while (cnt < r->kernel_cnt && cnt < OFFCPU_KERNEL) {
		s->frames[cnt] = (r->kernel[cnt] & ~SL_FRAME_MARKS) | SL_FRAME_KERNEL;
		cnt++;
	}
	/* The image of a process that is about to exec may be unknown. */
	if (!sample_offcpu_user(r, regs, &user) ||
	    (cnt && !sample_space_find(s->spaces, space, regs[SAMPLE_REG_PC], r->out_ns)) ||
	    !sample_space_has_begun(s->spaces, space, regs[SAMPLE_REG_PC], r->out_ns))
		return cnt;
	bytes = s->python ? sample_offcpu_python(r, &at) : 0;
	if (bytes)
		python = sample_python_away(s->python, to->sink, at, bytes, s->python_frames);
	walk = sample_unwind(s->spaces, s->files, space, &user, r->out_ns, s->frames + cnt,
			     SL_FRAME_MAX - 1 - cnt - python);
	s->losses.away_truncated += walk.end == SL_REMARK_MEMORY;
	s->losses.away_broken += walk.end == SL_REMARK_BROKEN || walk.end == SL_REMARK_NO_TABLE;
	cnt += walk.cnt;
	memcpy(s->frames + cnt, s->python_frames, python * sizeof(*s->frames));
	return cnt + python;
}

/* Writes the row of a wait that began in a window; it ends with the window at the latest. */
static void take_away(struct sample *s, const struct round *to, const struct offcpu_record *r,
		      bool still)
{
	int64_t end = (int64_t)r->in_ns;
	struct sample_row row = {.ns = r->out_ns,
				 .cpu = r->cpu,
				 .pid = r->pid,
				 .tid = r->tid,
				 .stack = DB_NULL,
				 .state = sched_state(r->state),
				 .still = still};
	struct sample_space *space;
	unsigned cnt;

	if (!r->tid || r->tid > SAMPLE_TID_MOST ||
	    !windows_have_ns(to->windows, 0, (int64_t)r->out_ns))
		return;
	windows_cut_end(to->windows, (int64_t)r->out_ns, &end);
	row.end_ns = (uint64_t)end;
	space = sample_space_get(s->spaces, r->pid, r->out_ns);
	cnt = space ? make_away(s, space, to, r) : 0;
	if (cnt)
		row.stack =
			sample_space_stack(s->spaces, space, to->sink, r->out_ns, s->frames, cnt);
	to->sink->ops->row(to->sink->to, &row);
	s->losses.away++;
}

static void take_away_until(struct sample *s, const struct round *to, uint64_t until)
{
	const struct offcpu_record *r;

	while (s->offcpu && (r = sample_offcpu_next(s->offcpu, until)))
		take_away(s, to, r, false);
}

/*
 * Their records may arrive later, too, but then in another report, to which the wait does not belong. Each thread
 * once: the kernel restarts its list when the entry that is being read disappears.
 */
static void take_waiting(void *arg, const struct offcpu_record *r)
{
	const struct round *to = arg;
	int64_t *left = db_map_get(&to->of->away.waiting, r->tid);

	if (left && *left == (int64_t)r->out_ns)
		return;
	if (left)
		*left = (int64_t)r->out_ns;
	take_away(to->of, to, r, true);
}

/* ---- records ---- */

static uint64_t time_of(const struct perf_event_header *record)
{
	if (record->type == PERF_RECORD_SAMPLE)
		return ((const struct sample_record *)record)->ns;
	return ((const struct sample_id *)((const char *)record + record->size -
					   sizeof(struct sample_id)))
		->ns;
}

static void take_mmap(struct sample *s, const struct mmap_record *m)
{
	struct sample_mapped what = {.path = m->path,
				     .device = makedev(m->major, m->minor),
				     .inode = m->inode,
				     .pid = m->pid,
				     .start = m->address,
				     .end = m->address + m->bytes,
				     .offset = m->offset,
				     .is_data = m->header.misc & PERF_RECORD_MISC_MMAP_DATA};

	sample_spaces_mapped(s->spaces, &what, time_of(&m->header));
	if (s->python && !what.is_data)
		sample_python_mapped(s->python, &what);
}

static void take_exit(struct sample *s, const struct task_record *t)
{
	sample_events_ended(s->events, t->tid);
	if (t->pid == t->tid)
		sample_spaces_ended(s->spaces, t->pid);
	if (s->python && t->pid == t->tid)
		sample_python_ended(s->python, t->pid);
	if (s->outside && t->pid == t->tid)
		pyoutside_ended(s->outside, t->pid);
}

static void take_fork(struct sample *s, const struct task_record *t)
{
	if (t->pid == t->parent_pid)
		return;
	set_ours(s, t->pid, is_ours(s, t->parent_pid));
	if (is_ours(s, t->pid))
		sample_spaces_forked(s->spaces, t->pid, t->parent_pid);
}

static void take_comm(struct sample *s, const struct comm_record *c)
{
	if (!(c->header.misc & PERF_RECORD_MISC_COMM_EXEC))
		return;
	if (c->pid == s->ours.before_exec)
		s->ours.before_exec = 0;
	sample_spaces_execed(s->spaces, c->pid);
	if (s->outside)
		pyoutside_ended(s->outside, c->pid);
}

static void take(struct sample *s, struct round *to, const struct perf_event_header *record)
{
	const struct task_record *task = (const void *)record; /* all but samples begin so */

	if (record->type == PERF_RECORD_SAMPLE &&
	    sample_events_is_fault(s->events, ((const struct sample_record *)record)->id))
		take_fault(s, to, (const void *)record);
	else if (record->type == PERF_RECORD_SAMPLE)
		take_sample(s, to, (const void *)record);
	else if (record->type == PERF_RECORD_FORK)
		take_fork(s, task);
	else if (record->type == PERF_RECORD_MMAP2 && is_ours(s, task->pid))
		take_mmap(s, (const void *)record);
	else if (record->type == PERF_RECORD_EXIT && is_ours(s, task->pid))
		take_exit(s, task);
	else if (record->type == PERF_RECORD_COMM && is_ours(s, task->pid))
		take_comm(s, (const void *)record);
}

/* A report ends, and the recording may continue: open off-CPU intervals are written as if they ended now. */
static void tell_waiting(struct sample *s, struct round *to, uint64_t now)
{
	const struct offcpu_record *r;

	sample_offcpu_waiting(s->offcpu, now, take_waiting, to);
	/* A thread that ran again meanwhile has a record by now, or has been written. */
	sample_offcpu_look(s->offcpu);
	while ((r = sample_offcpu_next(s->offcpu, UINT64_MAX))) {
		const int64_t *left =
			s->away.waiting.cnt ? db_map_peek(&s->away.waiting, r->tid) : NULL;

		if (!left || *left != (int64_t)r->out_ns)
			take_away(s, to, r, false);
	}
	sample_offcpu_done(s->offcpu);
	db_map_free(&s->away.waiting);
	s->away.waiting = (struct db_map){0};
}

/* Stacks of threads that end badly: by then the program has started, which loading would delay. */
static void look_for_deaths(struct sample *s, uint64_t now)
{
	struct sample_ask ask = s->ask;
	char why[256];

	if (!s->away.deaths_at || now < s->away.deaths_at)
		return;
	s->away.deaths_at = 0;
	ask.kernel = &s->away.kernel;
	s->offcpu = sample_offcpu_open(
		&ask, s->python && sample_python_has_walker(s->python) ? s->python : NULL, why,
		sizeof(why));
}

void sample_poll(struct sample *s, const struct sample_sink *sink, const struct windows *windows,
		 bool all)
{
	struct round to = {.of = s, .sink = sink, .windows = windows};
	/* Read from outside, Python's frames cannot wait. */
	uint64_t now = (uint64_t)mono_ns(),
		 until = all ? UINT64_MAX : now - (s->outside ? 0 : SETTLE_NS);
	const struct perf_event_header *record;

	if (s->outside)
		pyoutside_look(s->outside);
	if (!all)
		look_for_deaths(s, now);
	sample_events_look(s->events);
	if (s->offcpu)
		sample_offcpu_look(s->offcpu);
	/* After both: code objects of these records have been delivered. */
	if (s->python)
		sample_python_look(s->python);
	while ((record = sample_events_next(s->events, until))) {
		take_away_until(s, &to, time_of(record));
		take(s, &to, record);
	}
	take_away_until(s, &to, until);
	sample_events_done(s->events);
	if (s->python)
		sample_python_done(s->python);
	if (s->offcpu)
		sample_offcpu_done(s->offcpu);
	if (s->offcpu && all)
		tell_waiting(s, &to, now);
}

unsigned sample_fill(const struct sample *s)
{
	unsigned fill = sample_events_fill(s->events),
		 away = s->offcpu ? sample_offcpu_fill(s->offcpu) : 0;

	return fill > away ? fill : away;
}

void sample_leave_out(struct sample *s, bool samples)
{
	s->no_samples = samples;
}

void sample_record(struct sample *s, bool on)
{
	if (s->offcpu)
		sample_offcpu_record(s->offcpu, on);
}

struct sample_losses sample_losses(const struct sample *s)
{
	const struct sample_events_losses of_events = sample_events_losses(s->events);
	struct sample_losses l = s->losses;

	l.lost = of_events.samples;
	l.throttled = of_events.throttled;
	l.faults_full = of_events.faults;
	l.faults_missed = of_events.missed;
	l.python = s->python ? sample_python_lost(s->python) : 0;
	l.nameless = s->python ? sample_python_nameless(s->python) : 0;
	if (s->offcpu)
		sample_offcpu_losses(s->offcpu, &l.away_full, &l.away_crowd);
	return l;
}

uint32_t sample_unknown_python(struct sample *s)
{
	return s->python ? sample_python_unknown(s->python) : 0;
}

bool sample_refused_python(struct sample *s)
{
	return s->python && sample_python_refused(s->python);
}

bool sample_is_outside(const struct sample *s)
{
	return s->outside != NULL;
}

bool sample_failed_python(struct sample *s, char *why, size_t why_len)
{
	return s->python && sample_python_failed(s->python, why, why_len);
}

void sample_renew(struct sample *s)
{
	sample_spaces_renew(s->spaces);
}

size_t sample_bytes(const struct sample *s)
{
	return sample_spaces_bytes(s->spaces);
}

void sample_pause(struct sample *s, bool pause)
{
	sample_events_pause(s->events, pause);
}

void sample_stop(struct sample *s)
{
	sample_events_stop(s->events);
	if (s->offcpu)
		sample_offcpu_stop(s->offcpu);
}

void sample_lend(struct sample *s, struct sample_files **files, struct sample_spaces **spaces,
		 struct pyoutside **python)
{
	*python = s->outside;
	*files = s->files;
	*spaces = s->spaces;
}

void sample_close(struct sample *s)
{
	if (!s)
		return;
	sample_events_close(s->events);
	sample_python_close(s->python);
	pyoutside_free(s->outside);
	sample_tree_close(s->tree);
	sample_offcpu_close(s->offcpu);
	sample_spaces_free(s->spaces);
	sample_files_free(s->files);
	free(s->ours.pids);
	free(s);
}
