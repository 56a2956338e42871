/*
 * async_tasks.c - from 3.14 on, interpreters and their threads have lists of tasks, and tasks have those that await them. Before, the module
 * asyncio.tasks has a set of all tasks; the tasks that a task wakes are found by its callbacks: the task itself, or functions
 * with a future in their closures (gather, wait, shield), or methods of a TaskGroup.
 */
#include "collector/waits/async_tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/waits/py_object.h"

#define TASKS_MOST   10000u
#define EDGES_MOST   100000u
#define THREADS_MOST 8192u
#define DEPTH_MOST   8u /* futures between a task and one that waits for it */
#define NAME_BYTES   96u

/* Behind the head of an object. */
enum {
	CALLBACK = 8, /* _asyncio.Future: the first callback, a list of pairs with the others */
	CALLBACKS = 24,
	ITERATED = 0, /* FutureIter, and what wraps one object */
	BUILTIN_SELF = 8,
	METHOD_SELF = 8,
	PARTIAL_ARGUMENTS = 8,
	MODULE_DICT = 0,
};

/* _asyncio.Future and _asyncio.Task: tests/e2e/why/dump_tasks_check.py compares tasks of each version that is installed. */
struct layout {
	uint32_t version, state, loop, waiter, coroutine, name,
		closure; /* closure: of a function */
	uint32_t awaited_by, awaited_by_set;
};
static const struct layout layouts[] = {
	{0x0308, 56, 0, 88, 96, 104, 32, 0, 0},   {0x0309, 64, 0, 128, 136, 144, 32, 0, 0},
	{0x030a, 72, 0, 136, 144, 152, 56, 0, 0}, {0x030b, 72, 0, 112, 120, 128, 56, 0, 0},
	{0x030c, 72, 0, 112, 120, 128, 56, 0, 0}, {0x030d, 80, 0, 96, 104, 112, 56, 0, 0},
	{0x030e, 88, 0, 104, 112, 120, 56, 0, 0}, {0x030f, 88, 0, 104, 112, 120, 56, 0, 0},
};

/* The section .AsyncioDebug (Py_AsyncioModuleDebugOffsets). */
struct described {
	uint64_t size, name, awaited_by, is_task, awaited_by_is_set, coroutine, node;
	uint64_t interpreter_size, interpreter_tasks;
	uint64_t thread_size, running_loop, running_task, thread_tasks;
};

struct reading {
	struct async_tasks *to;
	struct py_reader r;
	struct layout at;
	struct described d; /* size 0: not described, as before 3.14 */
	uint64_t from;      /* the task whose callbacks are followed */
	uint32_t tid, depth;
};

/* ---- coroutines ---- */

static bool is_suspended(const struct reading *g, uint64_t generator, uint64_t frame)
{
	const struct sl_pylayout *at = &g->r.of->from.at;
	int8_t state;

	if (at->version < 0x030a) /* pointers: none while it runs */
		return py_load(&g->r, frame + at->stack) > py_load(&g->r, frame + at->locals);
	if (at->version == 0x030a)
		return py_load(&g->r, frame + at->stack)
		       << 32; /* an index: 0 while it runs or has not begun */
	if (!py_read(&g->r, generator + at->generator_state, &state, 1))
		return false;
	return at->version >= 0x030f ? state == 2 || state == 3 : state == -1;
}

/* The object on top of a frame's stack, which it awaits. */
static uint64_t top_of(const struct reading *g, uint64_t frame)
{
	const struct sl_pylayout *at = &g->r.of->from.at;
	uint64_t locals = frame + at->locals, stack = py_load(&g->r, frame + at->stack);

	if (at->version >= 0x030f) /* an index lies on top of it */
		return stack ? py_load(&g->r, stack - 16) & ~UINT64_C(7) : 0;
	if (at->version < 0x030a || at->version >= 0x030e)
		return stack ? py_load(&g->r, stack - 8) & ~UINT64_C(7) : 0;
	if (at->version == 0x030a)
		locals = py_load(&g->r, locals);
	stack &= UINT32_MAX;
	return stack && stack < UINT16_MAX ? py_load(&g->r, locals + 8 * (stack - 1)) : 0;
}

/* Frames of the coroutine and of the coroutines that it awaits; the object that the last one awaits. */
static uint64_t walk_coroutines(struct reading *g, struct async_task *t, uint64_t object)
{
	const struct sl_pylayout *at = &g->r.of->from.at;

	for (unsigned i = 0; object && i < 2 * ASYNC_FRAMES; i++) {
		enum py_kind kind = py_kind_of(&g->r, object);
		uint64_t frame;

		if (kind == PY_ASEND || kind == PY_WRAPPER) {
			object = py_load(&g->r, object + g->r.head);
			continue;
		}
		if (kind != PY_COROUTINE || t->frames == ASYNC_FRAMES)
			break;
		frame = object + at->generator_frame;
		if (at->version < 0x030b)
			frame = py_load(&g->r, frame);
		if (!frame)
			return 0;
		t->frame[t->frames++] = frame;
		if (!is_suspended(g, object, frame))
			return 0;
		object = top_of(g, frame);
	}
	return object;
}

/* ---- a task ---- */

static char *name_of(struct reading *g, uint64_t task)
{
	uint64_t object = py_load(&g->r, task + g->r.head + g->at.name), number;
	char text[NAME_BYTES];

	if (!py_int(&g->r, object, &number))
		return py_kind_of(&g->r, object) == PY_TEXT ? pycode_text(&g->r.of->from, object)
							    : NULL;
	snprintf(text, sizeof(text), "Task-%llu", (unsigned long long)number);
	return strdup(text);
}

static uint32_t state_of(const struct reading *g, uint64_t future)
{
	uint32_t state = UINT32_MAX;

	return py_read(&g->r, future + g->r.head + g->at.state, &state, sizeof(state)) ? state
										       : UINT32_MAX;
}

/* The thread of its loop, where that is one of Python's own. */
static uint32_t thread_of(struct reading *g, uint64_t task)
{
	uint64_t loop = py_load(&g->r, task + g->r.head + g->at.loop), id;

	return g->d.size || !py_int(&g->r, py_attribute(&g->r, loop, "_thread_id"), &id)
		       ? g->tid
		       : pyoutside_tid(g->r.of->from.pid, id);
}

static void add_task(struct reading *g, uint64_t task)
{
	struct async_tasks *a = g->to;
	struct async_task t = {.task = task};

	if (py_kind_of(&g->r, task) != PY_TASK || state_of(g, task) != 0)
		return;
	a->has_more |= a->cnt >= TASKS_MOST;
	if (a->cnt >= TASKS_MOST || !grow(&a->list, a->cnt, &a->room, sizeof(t)))
		return;
	t.name = name_of(g, task);
	t.tid = thread_of(g, task);
	t.future = py_load(&g->r, task + g->r.head + g->at.waiter);
	t.is_gather = t.future && py_is_named(&g->r, t.future, "_GatheringFuture");
	t.is_ready = !t.future || state_of(g, t.future) != 0;
	walk_coroutines(g, &t, py_load(&g->r, task + g->r.head + g->at.coroutine));
	a->list[a->cnt++] = t;
}

static void add_edge(struct reading *g, uint64_t awaiter, uint64_t task)
{
	struct async_tasks *a = g->to;

	if (awaiter == task || a->edges_cnt >= EDGES_MOST)
		return;
	for (size_t i = a->edges_cnt; i-- > 0 && a->edges[i].task == task;)
		if (a->edges[i].awaiter == awaiter)
			return;
	if (grow(&a->edges, a->edges_cnt, &a->edges_room, sizeof(*a->edges)))
		a->edges[a->edges_cnt++] = (struct async_edge){awaiter, task};
}

/* ---- tasks that wait for a task, by its callbacks ---- */

static void follow_future(struct reading *g, uint64_t future);

static bool follow_object(void *to, uint64_t key, uint64_t object)
{
	struct reading *g = to;

	(void)key;
	if (py_kind_of(&g->r, object) == PY_CELL)
		object = py_load(&g->r, object + g->r.head);
	if (py_kind_of(&g->r, object) == PY_FUTURE)
		follow_future(g, object);
	return true;
}

static void follow_callback(struct reading *g, uint64_t callback)
{
	uint64_t body = callback + g->r.head, self = 0;

	switch (py_kind_of(&g->r, callback)) {
	case PY_WAKEUP:
		self = py_load(&g->r, body);
		break;
	case PY_BUILTIN:
		self = py_load(&g->r, body + BUILTIN_SELF);
		break;
	case PY_METHOD: {
		uint64_t group = py_load(&g->r, body + METHOD_SELF);

		self = py_is_named(&g->r, group, "TaskGroup")
			       ? py_attribute(&g->r, group, "_parent_task")
			       : 0;
		break;
	}
	case PY_FUNCTION:
		py_for_each(&g->r, py_load(&g->r, body + g->at.closure), follow_object, g);
		break;
	case PY_PARTIAL:
		py_for_each(&g->r, py_load(&g->r, body + PARTIAL_ARGUMENTS), follow_object, g);
		break;
	default:
		break;
	}
	if (self && py_kind_of(&g->r, self) == PY_TASK)
		add_edge(g, self, g->from);
}

static bool follow_pair(void *to, uint64_t key, uint64_t pair)
{
	struct reading *g = to;

	(void)key;
	/* The callback and its context. */
	follow_callback(g, py_load(&g->r, pair + g->r.head + 8));
	return true;
}

static void follow_future(struct reading *g, uint64_t future)
{
	uint64_t callback = py_load(&g->r, future + g->r.head + CALLBACK),
		 others = py_load(&g->r, future + g->r.head + CALLBACKS);

	if (g->depth == DEPTH_MOST)
		return;
	g->depth++;
	follow_callback(g, callback);
	if (py_kind_of(&g->r, others) == PY_LIST)
		py_for_each(&g->r, others, follow_pair, g);
	g->depth--;
}

/* ---- up to 3.13: by the module asyncio.tasks ---- */

static bool each_reference(void *to, uint64_t key, uint64_t reference)
{
	struct reading *g = to;

	(void)reference;
	add_task(g, py_load(&g->r, key + g->r.head));
	return true;
}

static bool each_task(void *to, uint64_t task, uint64_t none)
{
	(void)none;
	add_task(to, task);
	return true;
}

static bool each_running(void *to, uint64_t loop, uint64_t task)
{
	struct reading *g = to;

	(void)loop;
	for (size_t i = 0; i < g->to->cnt; i++)
		g->to->list[i].is_running |= g->to->list[i].task == task;
	return true;
}

static void read_module(struct reading *g, uint64_t interpreter)
{
	static const char *const sets[] = {"_all_tasks", "_scheduled_tasks"};
	uint64_t modules = py_load(&g->r, interpreter + g->r.of->from.at.modules);
	uint64_t module = py_get(&g->r, modules, "asyncio.tasks");
	uint64_t names = module ? py_load(&g->r, module + g->r.head + MODULE_DICT) : 0;

	if (!names)
		return;
	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
		uint64_t weak = py_get(&g->r, names, sets[i]);
		uint64_t set = weak ? py_attribute(&g->r, weak, "data") : 0;

		if (set)
			py_for_each(&g->r, set, each_reference, g);
	}
	py_for_each(&g->r, py_get(&g->r, names, "_eager_tasks"), each_task, g);
	py_for_each(&g->r, py_get(&g->r, names, "_current_tasks"), each_running, g);
}

static void follow_all(struct reading *g)
{
	for (size_t i = 0; i < g->to->cnt; i++) {
		g->from = g->to->list[i].task;
		follow_future(g, g->from);
	}
}

/* ---- from 3.14 on: by the lists of threads and interpreters ---- */

static void read_list(struct reading *g, uint64_t head)
{
	uint64_t node = py_load(&g->r, head);

	for (unsigned i = 0; node && node != head && i <= TASKS_MOST; i++) {
		add_task(g, node - g->d.node);
		node = py_load(&g->r, node);
	}
}

static bool each_awaiter(void *to, uint64_t awaiter, uint64_t none)
{
	struct reading *g = to;

	(void)none;
	if (py_kind_of(&g->r, awaiter) == PY_TASK)
		add_edge(g, awaiter, g->from);
	return true;
}

static void read_awaiters(struct reading *g)
{
	for (size_t i = 0; i < g->to->cnt; i++) {
		uint64_t awaiter;
		uint8_t is_set = 0;

		g->from = g->to->list[i].task;
		awaiter = py_load(&g->r, g->from + g->d.awaited_by);
		py_read(&g->r, g->from + g->d.awaited_by_is_set, &is_set, 1);
		if (awaiter && is_set)
			py_for_each(&g->r, awaiter, each_awaiter, g);
		else if (awaiter)
			each_awaiter(g, awaiter, 0);
	}
}

static void read_lists(struct reading *g, uint64_t interpreter)
{
	const struct sl_pylayout *at = &g->r.of->from.at;
	uint64_t state = py_load(&g->r, interpreter + at->threads);

	for (unsigned i = 0; state && i < THREADS_MOST; i++) {
		g->tid = pyoutside_tid(g->r.of->from.pid, py_load(&g->r, state + at->thread_id));
		read_list(g, state + g->d.thread_tasks);
		each_running(g, 0, py_load(&g->r, state + g->d.running_task));
		state = py_load(&g->r, state + at->next_thread);
	}
	/* Those of threads that have ended. */
	g->tid = 0;
	read_list(g, interpreter + g->d.interpreter_tasks);
}

/* ---- all ---- */

static bool find_layout(struct reading *g, struct pyoutside *python)
{
	uint32_t version = g->r.of->from.at.version;
	uint64_t section;

	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].version == version)
			g->at = layouts[i];
	if (!g->at.version || !g->r.of->from.at.generator_frame)
		return false;
	if (version < 0x030e)
		return g->r.head == 16;
	section = pyoutside_asyncio(python, g->r.of->from.pid);
	if (!section || !py_read(&g->r, section, &g->d, sizeof(g->d)) || g->d.size > 4096 ||
	    g->d.coroutine != g->r.head + g->at.coroutine || g->d.name != g->r.head + g->at.name)
		return false;
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct async_task *x = a, *y = b;

	return (x->task > y->task) - (x->task < y->task);
}

/* A list that changed while it was read may have had a task twice. */
static void sort_tasks(struct async_tasks *a)
{
	size_t kept = 0;

	if (a->cnt)
		qsort(a->list, a->cnt, sizeof(*a->list), by_address);
	for (size_t i = 0; i < a->cnt; i++) {
		if (kept && a->list[kept - 1].task == a->list[i].task)
			free(a->list[i].name);
		else
			a->list[kept++] = a->list[i];
	}
	a->cnt = kept;
}

void async_tasks_read(struct async_tasks *a, struct pyoutside *python, uint32_t pid)
{
	const struct pyfind *of = pyoutside_python(python, pid);
	struct reading g = {.to = a};
	uint64_t interpreter;

	*a = (struct async_tasks){.cnt = 0};
	if (!of)
		return;
	py_reader_init(&g.r, of);
	if (!find_layout(&g, python))
		return;
	interpreter = py_load(&g.r, of->runtime + of->from.at.interpreters);
	for (unsigned i = 0; interpreter && i < THREADS_MOST; i++) {
		if (g.d.size)
			read_lists(&g, interpreter);
		else
			read_module(&g, interpreter);
		interpreter = py_load(&g.r, interpreter + of->from.at.next_interpreter);
	}
	sort_tasks(a);
	if (g.d.size)
		read_awaiters(&g);
	else
		follow_all(&g);
}

void async_tasks_release(struct async_tasks *a)
{
	for (size_t i = 0; i < a->cnt; i++)
		free(a->list[i].name);
	free(a->list);
	free(a->edges);
	*a = (struct async_tasks){.cnt = 0};
}

const struct async_task *async_task_at(const struct async_tasks *a, uint64_t task)
{
	const struct async_task key = {.task = task};

	return a->cnt ? bsearch(&key, a->list, a->cnt, sizeof(key), by_address) : NULL;
}
