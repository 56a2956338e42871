/*
 * open_tasks.c - rows of tasks of asyncio at a look. They are read while their program may go on: tasks that await each other count as such if a
 * second look finds them in the same place.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/base/now.h"
#include "collector/collect/notes.h"
#include "collector/kernel/sample/sample_source.h"
#include "collector/model/model.h"
#include "collector/report/db_ids.h"
#include "collector/waits/async_tasks.h"
#include "collector/waits/open_waits_internal.h"

/* The task that @t awaits itself; NULL: none. */
static const struct async_task *awaited(const struct async_tasks *a, const struct async_task *t)
{
	return t->future && !t->is_ready ? async_task_at(a, t->future) : NULL;
}

/* Numbers the cycles of tasks in @cycle, one element for each task; their number. */
static uint32_t find_cycles(const struct async_tasks *a, uint32_t *cycle)
{
	uint32_t *walk = calloc(a->cnt + 1, sizeof(*walk)), cnt = 0;

	/* Each task awaits one at most: a walk that meets itself goes around. */
	for (size_t i = 0; walk && i < a->cnt; i++) {
		const struct async_task *t = &a->list[i];

		while (t && !walk[t - a->list]) {
			walk[t - a->list] = (uint32_t)i + 1;
			t = awaited(a, t);
		}
		if (!t || walk[t - a->list] != i + 1 || cycle[t - a->list])
			continue;
		cnt++;
		for (; t && !cycle[t - a->list]; t = awaited(a, t))
			cycle[t - a->list] = cnt;
	}
	free(walk);
	return cnt;
}

static bool is_same(const struct async_task *a, const struct async_task *b)
{
	return b && a->future == b->future && a->frames == b->frames && !b->is_ready &&
	       memcmp(a->frame, b->frame, a->frames * sizeof(*a->frame)) == 0;
}

/* Takes back the numbers of cycles of which a second look finds a task elsewhere. */
static void check_cycles(const struct async_tasks *a, uint32_t *cycle, struct pyoutside *python,
			 uint32_t pid)
{
	struct async_tasks again;

	async_tasks_read(&again, python, pid);
	for (size_t i = 0; i < a->cnt; i++) {
		uint32_t wrong = cycle[i];

		if (!wrong || is_same(&a->list[i], async_task_at(&again, a->list[i].task)))
			continue;
		for (size_t k = 0; k < a->cnt; k++)
			if (cycle[k] == wrong)
				cycle[k] = 0;
	}
	async_tasks_release(&again);
}

static int64_t stack_of(struct collector *c, uint32_t pid, const struct async_task *t)
{
	static uint64_t words[PYOUTSIDE_WORDS];
	struct sample_waiting *stacks = open_waits_stacks(c);
	const struct pyfind *of = pyoutside_python(sample_waiting_python(stacks), pid);
	struct sample_report to = sample_report_of(&c->recording);
	struct sample_second second = {sample_report_sink(&to)};
	bool is_second = c->recording.memory != NULL;
	const struct sample_sink sink = is_second ? sample_second_sink(&second) : second.first;
	int64_t stack;

	memset(words, 0, PYSAMPLE_HEAD_WORDS * sizeof(*words));
	for (uint32_t i = t->frames; of && i-- > 0;)
		if (!pyoutside_put(of, t->frame[i], words))
			break;
	stack = sample_waiting_coroutine(stacks, &sink, pid, words, (uint64_t)mono_ns());
	if (stack == DB_NULL)
		return DB_NULL;
	return sample_report_stack(&to, is_second ? stack | SAMPLE_SECOND : stack);
}

static void write_task(struct collector *c, uint32_t pid, const struct async_tasks *a,
		       const struct async_task *t, uint32_t cycle)
{
	struct db_row_SL_ASYNC_TASKS row = db_none_SL_ASYNC_TASKS();
	const struct async_task *other = awaited(a, t);

	row.timestamp = c->clocks.now;
	row.globalPid = GLOBAL_PID(pid);
	row.task = (int64_t)t->task;
	row.state = t->is_running ? "running" : t->is_ready ? "ready" : "waiting";
	row.stackId = stack_of(c, pid, t);
	if (t->tid)
		row.globalTid = GLOBAL_TID(pid, t->tid);
	if (t->name)
		row.nameId = db_string(c->report.db, t->name, strlen(t->name));
	if (!t->is_running && !t->is_ready)
		row.waitsFor = other ? "task" : t->is_gather ? "gather" : "future";
	if (other && !t->is_running)
		row.awaits = (int64_t)other->task;
	if (cycle)
		row.deadlock = cycle;
	db_put_SL_ASYNC_TASKS(c->report.db, &row);
}

static void write_process(struct collector *c, struct pyoutside *python, uint32_t pid)
{
	struct async_tasks a;
	uint32_t *cycle;

	async_tasks_read(&a, python, pid);
	cycle = calloc(a.cnt + 1, sizeof(*cycle));
	if (cycle && find_cycles(&a, cycle))
		check_cycles(&a, cycle, python, pid);
	for (size_t i = 0; cycle && i < a.cnt; i++)
		write_task(c, pid, &a, &a.list[i], cycle[i]);
	for (size_t i = 0; i < a.edges_cnt; i++) {
		struct db_row_SL_ASYNC_AWAITERS row = {.timestamp = c->clocks.now,
						       .globalPid = GLOBAL_PID(pid),
						       .task = (int64_t)a.edges[i].task,
						       .awaiter = (int64_t)a.edges[i].awaiter};

		if (async_task_at(&a, a.edges[i].awaiter))
			db_put_SL_ASYNC_AWAITERS(c->report.db, &row);
	}
	if (a.has_more)
		notes_say(c, 2,
			  "process %u has more than ten thousand tasks of asyncio: the rest was "
			  "not read",
			  pid);
	free(cycle);
	async_tasks_release(&a);
}

void open_tasks_write(struct collector *c)
{
	struct sample_waiting *stacks = open_waits_stacks(c);
	struct pyoutside *python = stacks ? sample_waiting_python(stacks) : NULL;

	for (struct proc *p = c->model.procs; python && p; p = p->links.next)
		if (!p->flags.is_gone && (p->flags.is_traced || p->flags.in_tree))
			write_process(c, python, p->pid);
}
