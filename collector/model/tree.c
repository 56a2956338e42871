/*
 * tree.c - events of the kernel: context switches become rows; forks, execs and exits the process tree.
 *
 * The kernel sees every process, also those the shim cannot enter (static, setuid, other loaders).
 */
#include "collector/model/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/model/arena.h"
#include "collector/model/execs.h"
#include "collector/mask/mask.h"
#include "collector/base/proc.h"

static int64_t session_ns(const struct model *m, uint64_t mono)
{
	return (int64_t)mono - m->clock->zero;
}

static void on_switch(void *ctx, const struct sched_switch *sw)
{
	struct model *m = ctx;
	int64_t ns = session_ns(m, sw->time_ns);
	int64_t tid = sw->pid ? GLOBAL_TID(sw->pid, sw->tid) : GLOBAL_TID(0, sw->tid);
	int64_t *row = db_row(m->db, DB_SCHED_EVENTS);

	row[SCHED_START] = ns;
	row[SCHED_CPU] = sw->cpu;
	row[SCHED_IS_SCHED_IN] = sw->is_in;
	row[SCHED_GLOBAL_TID] = tid;
	row[SCHED_THREAD_STATE] = sw->is_in ? SCHED_STATE_RUNNING : sw->state;
	row[SCHED_THREAD_BLOCK] = DB_NULL;
	event_rows_add(&m->kernel_rows[ROWS_SWITCH], ns);
	if (sw->is_in ? !sw->wakeup_ns && !sw->waker_tid : sw->preempted < 0 && sw->priority < 0)
		return;
	row = db_row(m->db, DB_SL_SCHED_DETAIL);
	row[SCHD_START] = ns;
	row[SCHD_GLOBAL_TID] = tid;
	row[SCHD_PREEMPTED] = !sw->is_in && sw->preempted >= 0 ? sw->preempted : DB_NULL;
	row[SCHD_WAKEUP_TIME] = sw->is_in && sw->wakeup_ns ? session_ns(m, sw->wakeup_ns) : DB_NULL;
	row[SCHD_WAKER_TID] =
		sw->is_in && sw->waker_tid ? GLOBAL_TID(sw->waker_pid, sw->waker_tid) : DB_NULL;
	row[SCHD_PRIORITY] = sw->priority >= 0 ? sw->priority : DB_NULL;
}

#define EVENT_CLASS_SYSCALL 107

static int64_t call_name(struct model *m, unsigned number, bool is_compat)
{
	int64_t none = 0, *id = number < 512 ? &m->names.syscall[is_compat][number] : &none;
	char buffer[32];
	const char *name;

	if (!*id) {
		name = sched_call_name(number, is_compat, buffer);
		*id = db_string(m->db, name, strlen(name)) + 1;
	}
	return *id - 1;
}

/* ERESTARTSYS and its like (512 to 516) are the kernel's own: a signal came, and the call may begin anew. */
static int64_t call_errno(int64_t result)
{
	if (result >= 0 || result < -4095)
		return DB_NULL;
	return result <= -512 && result >= -516 ? EINTR : -result;
}

static void on_call(void *ctx, const struct sched_call *call)
{
	struct model *m = ctx;
	int64_t *row = db_row(m->db, DB_SYSCALL);

	row[CALL_START] = session_ns(m, call->start_ns);
	row[CALL_END] = session_ns(m, call->end_ns);
	row[CALL_EVENT_CLASS] = EVENT_CLASS_SYSCALL;
	row[CALL_GLOBAL_TID] = GLOBAL_TID(call->pid, call->tid);
	row[CALL_NAME_ID] = call_name(m, call->number, call->is_compat);
	row[CALL_CALLCHAIN_ID] = 0;
	row[CALL_RETURN_VALUE] = call->result;
	row[CALL_ERRNUM] = call_errno(call->result);
	event_rows_add(&m->kernel_rows[ROWS_CALL], session_ns(m, call->end_ns));
}

static void on_call_sum(void *ctx, const struct sched_call_sum *sum)
{
	struct model *m = ctx;
	struct db_row_SL_SYSCALL_TOTALS total = {
		.globalTid = GLOBAL_TID(sum->pid, sum->tid),
		.nameId = call_name(m, sum->number, sum->is_compat),
		.count = (int64_t)sum->count,
		.totalNs = (int64_t)sum->total_ns,
		.minNs = (int64_t)sum->min_ns,
		.maxNs = (int64_t)sum->max_ns,
		.errorCount = (int64_t)sum->errors,
	};

	db_put_SL_SYSCALL_TOTALS(m->db, &total);
}

/* The process was found in /proc before this event of its fork was read; times there are those of the last tick. */
static bool is_found_anew(const struct proc *p, int64_t ns)
{
	int64_t tick = 1000000000ll / sysconf(_SC_CLK_TCK);

	return p->flags.is_found && ns - p->life.start_ns <= tick + MODEL_SLACK_NS;
}

static void on_fork(void *ctx, uint64_t mono, uint32_t parent_pid, uint32_t parent_tid,
		    uint32_t pid, uint32_t tid)
{
	struct model *m = ctx;
	int64_t ns = session_ns(m, mono);
	struct proc *parent, *p;

	(void)parent_tid;
	if (pid != tid || !pid)
		return; /* a thread: it is known by its first record, or by its name */
	parent = model_find(m, parent_pid);
	if (m->wants.keep_all_switches && (!parent || !parent->flags.in_tree))
		return;
	p = model_at(m, pid, ns);
	if (is_found_anew(p, ns)) {
		p->flags.is_found = false;
		if (p->flags.is_known)
			return;
		/* Its execs are events, too. */
		execs_forget(p);
	} else if (p->flags.has_fork) {
		/* The exit of the process that had the pid before was not reported. */
		model_exit(m, p, ns, -1);
		p = model_get(m, pid, ns);
	}
	model_admit(m, p, true);
	p->flags.has_fork = true;
	p->life.start_ns = ns;
	p->parent_pid = parent_pid;
	if (p->flags.is_known)
		return;
	/* The parent's executable is known once its rings have been read as well: the row can wait. */
	p->flags.is_forked = true;
	m->counts.forks++;
}

void model_found(struct model *m, uint32_t pid, uint32_t parent_pid, int64_t start_ns)
{
	struct proc *p = model_get(m, pid, start_ns);

	model_admit(m, p, true);
	if (p->flags.is_known || p->flags.has_fork || p->execs)
		return;
	p->life.start_ns = start_ns;
	p->parent_pid = parent_pid;
	p->flags.has_fork = p->flags.is_found = true;
	execs_add(p, start_ns, proc_exe(pid), proc_command_line(pid));
}

/* Path of the program, where the process has gone on since: the name may be a link, and of another root. */
static char *resolved(const char *path)
{
	char *exe;

	if (!path || !*path)
		return NULL;
	exe = *path == '/' ? realpath(path, NULL) : NULL;
	return exe ? exe : strdup(path);
}

/* As the kernel's event has it, else /proc, which may be that of the next program by now. */
static void find_program(uint32_t pid, const struct sched_exec *e, char **exe, char **command)
{
	char *now = proc_command_line(pid);
	bool is_cut = e->args_len >= SCHED_ARGS_MOST, is_it;

	*command = e->args_len ? mask_line(e->args, e->args_len) : NULL;
	/* In words: a cut command line may end within one. */
	is_it = now && (!*command || strcmp(now, *command) == 0 ||
			(is_cut && strncmp(now, *command, strlen(*command)) == 0));
	*exe = is_it ? proc_exe(pid) : NULL;
	if (!*exe)
		*exe = resolved(e->path);
	if (!*exe && !e->path)
		*exe = proc_exe(pid);
	if (!*command || (is_it && is_cut)) {
		free(*command);
		*command = now;
	} else {
		free(now);
	}
}

static void on_exec(struct model *m, int64_t ns, uint32_t pid, const char *comm,
		    const struct sched_exec *e)
{
	char *exe, *command;
	struct proc *p;
	bool is_start;

	if (m->wants.keep_all_switches && !model_find_newest(m, pid))
		return;
	p = model_at(m, pid, ns);
	if (!m->wants.keep_all_switches)
		model_admit(m, p, true);
	is_start = pid == m->root.pid && !p->flags.is_known && !p->execs;
	/* The new image's record may have been read already. */
	if (p->image_ns >= ns)
		return;
	exe = command = NULL;
	if (!e->is_hidden)
		find_program(pid, e, &exe, &command);
	/* The process has exited: of the first program the command line is known, of others the name. */
	if (!command && is_start && m->root.command)
		command = strdup(m->root.command);
	if (!exe)
		exe = strdup(is_start && m->root.exe ? m->root.exe : comm);
	execs_add(p, ns, exe, command);
}

static void on_comm(void *ctx, uint64_t mono, uint32_t pid, uint32_t tid, const char *comm,
		    const struct sched_exec *exec)
{
	struct model *m = ctx;

	if (!pid)
		return;
	db_thread_name(m->db, GLOBAL_TID(pid, tid), comm, model_priority(tid));
	if (exec)
		on_exec(m, session_ns(m, mono), pid, comm, exec);
}

static void on_exit_event(void *ctx, uint64_t mono, uint32_t pid, uint32_t tid, int exit_code)
{
	struct model *m = ctx;
	int64_t ns = session_ns(m, mono);
	struct proc *p;

	(void)tid;
	if (exit_code < 0 || !pid)
		return;
	if (m->wants.keep_all_switches && !model_find_newest(m, pid))
		return;
	p = model_at(m, pid, ns);
	/* A pidfd reports the exit a little late. */
	if (p->flags.is_gone)
		p->life.end_ns = ns;
	model_exit(m, p, ns, exit_code);
}

const struct sched_ops model_sched_ops = {
	.on_call = on_call,
	.on_call_sum = on_call_sum,
	.on_switch = on_switch,
	.on_fork = on_fork,
	.on_comm = on_comm,
	.on_exit = on_exit_event,
};
