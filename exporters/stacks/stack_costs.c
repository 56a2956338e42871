/* stack_costs.c - events of all kinds, added up by the stack they came from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "exporters/events/gpu_work.h"
#include "exporters/events/launches.h"
#include "exporters/events/thread_states.h"
#include "exporters/read/db_read.h"
#include "exporters/read/io_direction.h"
#include "exporters/read/sql_rows.h"
#include "exporters/stacks/stack_costs.h"

const struct stack_cost_kind stack_cost_kinds[COST_CNT] = {
	[COST_CPU] = {"cpu", "samples", "samples of the CPU", "--sample=process-tree"},
	[COST_OFF_CPU] = {"off-cpu", "nanoseconds", "time in calls of the C library",
			  "--trace=osrt --osrt-backtrace-threshold, or --off-cpu-threshold"},
	[COST_GPU] = {"gpu", "nanoseconds", "time on GPUs of what was launched",
		      "--trace=cuda --cudabacktrace=all"},
	[COST_READ] = {"bytes-read", "bytes", "bytes read",
		       "--trace=osrt --osrt-backtrace-threshold"},
	[COST_WRITTEN] = {"bytes-written", "bytes", "bytes written",
			  "--trace=osrt --osrt-backtrace-threshold"},
	[COST_ALLOCATIONS] = {"allocations", "bytes", "GPU memory allocated",
			      "--trace=cuda --cudabacktrace=all"},
	[COST_CALLS] = {"calls", "calls", "calls of the C library, CUDA and its libraries",
			"--trace=osrt,cuda --cudabacktrace=all"},
};

unsigned stack_costs_parse(const char *list, char *why, size_t why_len)
{
	unsigned bits = 0;

	for (const char *p = list; *p;) {
		size_t len = strcspn(p, ","), at;
		int what = 0;

		while (what < COST_CNT && (strlen(stack_cost_kinds[what].name) != len ||
					   memcmp(stack_cost_kinds[what].name, p, len) != 0))
			what++;
		if (what == COST_CNT && len > 0) {
			snprintf(why, why_len, "--flame takes ");
			for (what = 0; what < COST_CNT; what++) {
				at = strlen(why);
				snprintf(why + at, why_len - at, "%s%s", what ? ", " : "",
					 stack_cost_kinds[what].name);
			}
			at = strlen(why);
			snprintf(why + at, why_len - at, "; not '%.*s'", (int)len, p);
			return 0;
		}
		if (len > 0)
			bits |= COST_BIT(what);
		p += len + (p[len] == ',');
	}
	if (!bits)
		snprintf(why, why_len, "--flame takes what to show, as in --flame=off-cpu");
	return bits;
}

/* ---- costs ---- */

/* The tree's node of a stack; of none, too. */
static uint32_t node_of_stack(struct stack_costs *w, enum stack_cost what, bool has, int64_t stack)
{
	uint64_t *at = has ? map_at(&w->node_of, (uint64_t)stack, false) : NULL;

	w->has |= COST_BIT(what);
	if (!at || !*at)
		return stack_no_stack(w);
	w->has_stack |= COST_BIT(what);
	return (uint32_t)*at;
}

static void add(struct stack_costs *w, enum stack_cost what, int64_t global, int64_t at_ns,
		uint32_t node, int64_t value)
{
	uint32_t owner = stack_owner_at(w, global, at_ns);
	uint64_t *at = map_at(&w->entry_of, (uint64_t)owner << 32 | node, true);

	if (at && !*at)
		grow(&w->entry, w->entry_cnt, &w->entry_max, sizeof(*w->entry));
	if (!at || (!*at && w->entry_cnt == w->entry_max) || w->failed) {
		w->failed = true;
		return;
	}
	if (!*at) {
		w->entry[w->entry_cnt] = (struct stack_entry){.owner = owner, .node = node};
		*at = ++w->entry_cnt;
	}
	w->entry[*at - 1].value[what] = stack_cost_sum(w->entry[*at - 1].value[what], value);
	w->total[what] = stack_cost_sum(w->total[what], value);
}

/* ---- the sources ---- */

typedef void row_fn(struct stack_costs *w, enum stack_cost what, sqlite3_stmt *stmt);

struct rows {
	struct stack_costs *w;
	enum stack_cost what;
	row_fn *row;
};

static int on_row(void *ctx, sqlite3_stmt *stmt)
{
	const struct rows *r = ctx;

	r->row(r->w, r->what, stmt);
	return r->w->failed ? SQLITE_NOMEM : SQLITE_OK;
}

static int each_row(struct stack_costs *w, enum stack_cost what, const char *sql, row_fn *row)
{
	struct rows r = {w, what, row};

	return sql_rows(w->db, sql, on_row, &r) == SQLITE_OK ? 0 : stack_costs_fail(w);
}

static uint32_t node_at(struct stack_costs *w, enum stack_cost what, sqlite3_stmt *stmt, int col)
{
	return node_of_stack(w, what, sqlite3_column_type(stmt, col) != SQLITE_NULL,
			     sqlite3_column_int64(stmt, col));
}

/* Adds @value to the owner of a row that begins with globalTid and the time. */
static void add_row(struct stack_costs *w, enum stack_cost what, sqlite3_stmt *stmt, uint32_t node,
		    int64_t value)
{
	add(w, what, sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1), node, value);
}

/* globalTid, start, stack */
static void on_sample(struct stack_costs *w, enum stack_cost what, sqlite3_stmt *stmt)
{
	add_row(w, what, stmt, node_at(w, what, stmt, 2), 1);
}

/* The name of a call, without the version that CUPTI puts after it. */
static const char *call_name(struct stack_costs *w, int64_t id, char buf[256])
{
	char *version;

	snprintf(buf, 256, "%s", stack_string(w, id));
	version = strrchr(buf, '_');
	if (version && version[1] == 'v' && strlen(version) >= 6 &&
	    strspn(version + 2, "0123456789") == strlen(version + 2))
		*version = '\0';
	return buf;
}

/* The call below the function that made it, unless the stack ends in the call itself. */
static uint32_t call_leaf(struct stack_costs *w, uint32_t node, int64_t name_id)
{
	char name[256];

	if (w->no_leaves || w->failed)
		return node;
	call_name(w, name_id, name);
	if (strcmp(w->frame[w->node[node].frame].function, name) == 0)
		return node;
	return stack_leaf(w, node, FRAME_CALL, name);
}

/* globalTid, start, stack, nameId, value */
static void on_call(struct stack_costs *w, enum stack_cost what, sqlite3_stmt *stmt)
{
	uint32_t node = node_at(w, what, stmt, 2);

	node = call_leaf(w, node, sqlite3_column_int64(stmt, 3));
	add_row(w, what, stmt, node, sqlite3_column_int64(stmt, 4));
}

/* globalTid, start, stack, nameId, bytes, pathId, name, library, io: both ways are read at once */
static void on_bytes(struct stack_costs *w, enum stack_cost what, sqlite3_stmt *stmt)
{
	int64_t name = sqlite3_column_int64(stmt, 3), path = sqlite3_column_int64(stmt, 5);
	enum io_direction way = io_direction_of(stmt, 6, 7);
	uint32_t node;

	what = way == IO_IN ? COST_READ : COST_WRITTEN;
	if (way == IO_NONE || !(w->what & COST_BIT(what)))
		return;
	node = call_leaf(w, node_at(w, what, stmt, 2), name);
	if (path > 0 && !w->no_leaves)
		node = stack_leaf(w, node, FRAME_FILE, stack_string(w, path));
	add_row(w, what, stmt, node, sqlite3_column_int64(stmt, 4));
}

/* globalTid, start, stack, text, value */
static void on_work(struct stack_costs *w, enum stack_cost what, sqlite3_stmt *stmt)
{
	const char *text = (const char *)sqlite3_column_text(stmt, 3);
	uint32_t node = node_at(w, what, stmt, 2);

	if (!w->no_leaves)
		node = stack_leaf(w, node, FRAME_WORK, text ? text : "[unknown]");
	add_row(w, what, stmt, node, sqlite3_column_int64(stmt, 4));
}

static int read_samples(struct stack_costs *w)
{
	return each_row(w, COST_CPU,
			"SELECT coalesce(globalTid, 0), start, stack FROM SL_CHAIN_SAMPLES WHERE "
			"periodic",
			on_sample);
}

/* Calls of the C library; where there are none, system calls. A call within a call is part of it. */
#define OUTER                                                                               \
	"FROM SL_CHAIN_CALLS WHERE level = 0 AND (source = 1 OR source = 3 AND NOT EXISTS " \
	"(SELECT 1 FROM OSRT_API))"

static int read_blocked(struct stack_costs *w)
{
	return each_row(
		w, COST_OFF_CPU,
		"SELECT coalesce(globalTid, 0), start, stack, nameId, max(end - start, 0) " OUTER,
		on_call);
}

static int read_calls(struct stack_costs *w)
{
	return each_row(w, COST_CALLS,
			"SELECT coalesce(globalTid, 0), start, stack, nameId, 1 " OUTER
			" OR level = 0 AND source IN (2, 4)",
			on_call);
}

static int read_bytes(struct stack_costs *w)
{
	return each_row(
		w, COST_READ,
		"SELECT coalesce(globalTid, 0), start, stack, c.nameId, bytes, pathId, value, "
		"library, "
		"io FROM SL_CHAIN_CALLS c LEFT JOIN StringIds ON id = c.nameId "
		"LEFT JOIN SL_FUNCTIONS f ON f.nameId = c.nameId WHERE source = 1 AND bytes > 0",
		on_bytes);
}

/* ---- time without a CPU, where stacks were taken when threads left one, or came back to one ---- */

/* State of one thread; rows come by thread and time. */
struct off_cpu {
	int64_t thread;
	int64_t call_end;  /* until then the time is that of a call, and counted there */
	int64_t call_name; /* of one without a stack, -1: it has one */
	int64_t out, len;  /* when it left; how long it was off the CPU, -1: not known yet */
	uint32_t node;     /* STACK_NO_NODE: none yet */
	bool gone, covered;
};

/* Off-CPU time of a call without a stack counts at the thread's stack of that time. */
static void move_from_call(struct stack_costs *w, const struct off_cpu *a)
{
	int64_t left = a->call_end - a->out, len = a->len < left ? a->len : left;

	add(w, COST_OFF_CPU, a->thread, a->out, call_leaf(w, stack_no_stack(w), a->call_name),
	    -len);
	add(w, COST_OFF_CPU, a->thread, a->out, a->node, len);
}

static void settle(struct stack_costs *w, struct off_cpu *a)
{
	if (a->node == STACK_NO_NODE || a->len < 0)
		return;
	if (!a->covered)
		add(w, COST_OFF_CPU, a->thread, a->out, a->node, a->len);
	else if (a->call_name >= 0)
		move_from_call(w, a);
	a->node = STACK_NO_NODE;
	a->len = -1;
}

/* A call, from when it began. */
static void on_call_begin(struct off_cpu *a, int64_t end, int64_t name)
{
	if (end <= a->call_end)
		return;
	a->call_end = end;
	a->call_name = name;
}

static void on_switch(struct off_cpu *a, const struct thread_switch *s)
{
	if (!s->is_in) {
		a->out = s->time;
		a->gone = true;
		a->covered = s->time < a->call_end;
		a->len = -1;
		a->node = STACK_NO_NODE;
		return;
	}
	if (!a->gone || __builtin_sub_overflow(s->time, a->out, &a->len))
		a->len = -1;
	a->gone = false;
}

/* A stack that was taken when the thread left its CPU; with the duration, when it came back. */
static void on_stack(struct off_cpu *a, int64_t at, uint32_t node, bool has_end, int64_t end)
{
	a->node = node;
	if (!has_end)
		return;
	a->out = at;
	a->len = end > at ? end - at : 0;
	a->covered = at < a->call_end;
}

/* What happened to threads: calls and stacks in @rows, and switches beside them, in the order of threads and time. */
struct away {
	sqlite3_stmt *rows; /* globalTid, start, is a stack, end, stack, nameId */
	struct thread_states *switches;
	struct thread_switch next;
	bool has_row, has_switch;
};

/* Is the switch in front of the row? Of one time: a call, switches, a stack. */
static bool switch_is_next(const struct away *y)
{
	int64_t thread, at;

	if (!y->has_row || !y->has_switch)
		return y->has_switch;
	thread = sqlite3_column_int64(y->rows, 0);
	at = sqlite3_column_int64(y->rows, 1);
	if (y->next.tid != thread)
		return y->next.tid < thread;
	return y->next.time != at ? y->next.time < at : sqlite3_column_int(y->rows, 2);
}

static int next_row(struct away *y)
{
	int rc = sqlite3_step(y->rows);

	y->has_row = rc == SQLITE_ROW;
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int next_switch(struct away *y)
{
	int rc = thread_switches_next(y->switches, &y->next);

	y->has_switch = rc == SQLITE_ROW;
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static void begin_thread(struct off_cpu *a, int64_t thread)
{
	if (thread != a->thread)
		*a = (struct off_cpu){
			.thread = thread, .call_end = INT64_MIN, .len = -1, .node = STACK_NO_NODE};
}

static void on_away_row(struct stack_costs *w, struct off_cpu *a, sqlite3_stmt *stmt)
{
	int64_t end = sqlite3_column_int64(stmt, 3);

	begin_thread(a, sqlite3_column_int64(stmt, 0));
	if (sqlite3_column_int(stmt, 2))
		on_stack(a, sqlite3_column_int64(stmt, 1), node_at(w, COST_OFF_CPU, stmt, 4),
			 sqlite3_column_type(stmt, 3) != SQLITE_NULL, end);
	else
		on_call_begin(a, end,
			      sqlite3_column_type(stmt, 4) == SQLITE_NULL
				      ? sqlite3_column_int64(stmt, 5)
				      : -1);
}

static int go_through_away(struct stack_costs *w, struct away *y)
{
	struct off_cpu a = {.thread = INT64_MIN, .len = -1, .node = STACK_NO_NODE};
	int rc = next_row(y);

	if (rc == SQLITE_OK && y->switches)
		rc = next_switch(y);
	while (rc == SQLITE_OK && (y->has_row || y->has_switch)) {
		if (switch_is_next(y)) {
			begin_thread(&a, y->next.tid);
			on_switch(&a, &y->next);
			settle(w, &a);
			rc = next_switch(y);
		} else {
			on_away_row(w, &a, y->rows);
			settle(w, &a);
			rc = next_row(y);
		}
		if (w->failed)
			rc = SQLITE_NOMEM;
	}
	return rc;
}

static int read_away(struct stack_costs *w)
{
	static const char has_stacks[] =
		"SELECT 1 FROM COMPOSITE_EVENTS WHERE cpuCycles = 0 LIMIT 1";
	static const char sql[] =
		"SELECT globalTid, start, 0 AS what, end, stack, nameId " OUTER
		" AND EXISTS (SELECT 1 FROM COMPOSITE_EVENTS WHERE cpuCycles = 0) UNION ALL SELECT "
		"globalTid, start, 1, till, stack, NULL FROM SL_CHAIN_SAMPLES WHERE NOT periodic "
		"ORDER BY 1, 2, 3";
	const struct thread_states_options opt = {.until = THREAD_NONE};
	struct away y = {0};
	int rc = sqlite3_prepare_v2(w->db, sql, -1, &y.rows, NULL);

	/* Switches say how long a thread was away whose stack was taken when it left its CPU. */
	if (rc == SQLITE_OK && sql_number(w->db, has_stacks, 0))
		rc = thread_states_open(w->db, &opt, &y.switches);
	if (rc == SQLITE_OK)
		rc = go_through_away(w, &y);
	rc = rc == SQLITE_OK ? 0 : stack_costs_fail(w);
	thread_states_free(y.switches);
	sqlite3_finalize(y.rows);
	return rc;
}

/* ---- launches ---- */

/* SL_LAUNCH_STACKS, for a search by process and id. */
static const char launches[] =
	"CREATE TEMP TABLE SL_COST_LAUNCH (process INTEGER, correlationId INTEGER, globalTid "
	"INTEGER, stack INTEGER, PRIMARY KEY (process, correlationId)) WITHOUT ROWID;"
	"INSERT OR IGNORE INTO SL_COST_LAUNCH SELECT process, correlationId, globalTid, stack FROM "
	"SL_LAUNCH_STACKS ORDER BY process, correlationId, start";

/* %s: the name, the work. */
static const char work[] =
	"SELECT coalesce(l.globalTid, w.globalPid, 0), start, stack, %s, max(end - start, 0) "
	"FROM %s AS w LEFT JOIN SL_COST_LAUNCH AS l ON l.process = w.process AND "
	"l.correlationId = w.correlationId";

static int read_gpu(struct stack_costs *w)
{
	static const char *const names[GPU_WORK_KINDS] = {
		[GPU_WORK_KERNEL] = "(SELECT value FROM StringIds WHERE id = coalesce(shortName, "
				    "demangledName))",
		[GPU_WORK_GRAPH] = "'CUDA graph'",
		[GPU_WORK_MEMCPY] = "'[CUDA memcpy ' || coalesce((SELECT label FROM "
				    "ENUM_CUDA_MEMCPY_OPER WHERE id = copyKind), copyKind, '') || "
				    "']'",
		[GPU_WORK_MEMSET] = "'[CUDA memset]'",
	};
	int rc = 0;

	for (unsigned kind = 0; kind < GPU_WORK_KINDS && rc == 0; kind++) {
		char *part = gpu_work_of(w->db, kind);
		char *sql = part ? sqlite3_mprintf(work, names[kind], part) : NULL;

		rc = sql ? each_row(w, COST_GPU, sql, on_work) : stack_costs_fail(w);
		sqlite3_free(part);
		sqlite3_free(sql);
	}
	return rc;
}

/*
 * Memory that was asked for, by the calls' arguments (0 bytes, 21 width, 22 height). Where allocations themselves
 * were recorded, those of calls with the same correlation id are taken instead.
 */
static int read_allocations(struct stack_costs *w)
{
	static const char told[] =
		"SELECT coalesce(l.globalTid, w.globalPid, 0), start, stack, '[GPU memory]', bytes "
		"FROM "
		"CUDA_GPU_MEMORY_USAGE_EVENTS AS w LEFT JOIN SL_COST_LAUNCH AS l ON l.process = "
		"w.globalPid >> 24 AND l.correlationId = w.correlationId WHERE memoryOperationType "
		"= 0";
	static const char asked[] =
		"SELECT coalesce(globalTid, 0), start, stack, nameId, coalesce(sum(a.value) FILTER "
		"(WHERE "
		"role = 0), max(a.value) FILTER (WHERE role = 21) * max(1, coalesce(max(a.value) "
		"FILTER (WHERE role = 22), 1)), 0) FROM SL_CHAIN_CALLS AS c JOIN SL_GPU_ARGUMENTS "
		"AS a ON a.callId = c.correlationId WHERE source = 2 AND result = 0 AND nameId IN "
		"(SELECT id FROM StringIds WHERE value GLOB 'cudaMalloc*' OR value GLOB "
		"'cudaHostAlloc*' OR value GLOB 'cuMemAlloc*' OR value GLOB 'cuMemHostAlloc*') AND "
		"(globalTid >> 24, correlationId) NOT IN (SELECT globalPid >> 24, correlationId "
		"FROM CUDA_GPU_MEMORY_USAGE_EVENTS WHERE memoryOperationType = 0 AND correlationId "
		"IS NOT NULL) GROUP BY c.correlationId, globalTid";

	if (each_row(w, COST_ALLOCATIONS, asked, on_call) < 0)
		return -1;
	return each_row(w, COST_ALLOCATIONS, told, on_work);
}

/* ---- all of it ---- */

static int exec(struct stack_costs *w, const char *sql)
{
	return sqlite3_exec(w->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : stack_costs_fail(w);
}

static int load(struct stack_costs *w, char *why, size_t why_len)
{
	w->why = why;
	w->why_len = why_len;
	if (sqlite3_prepare_v2(w->db, "SELECT value FROM StringIds WHERE id = ?1", -1, &w->string,
			       NULL) != SQLITE_OK)
		return stack_costs_fail(w);
	return stack_costs_read(w);
}

int stack_costs_load(struct stack_costs *w, uint32_t activities, char *why, size_t why_len)
{
	bool any = db_read_has(w->db, "SL_STACKS") &&
		   (activities & (TL_ACT_OSRT | TL_ACT_CUDA_API | TL_ACT_LIBRARY | TL_ACT_SYSCALL));

	any |= (activities & TL_ACT_OSRT) && db_read_has(w->db, "OSRT_CALLCHAINS");
	any |= (activities & (TL_ACT_CUDA_API | TL_ACT_LIBRARY)) &&
	       db_read_has(w->db, "CUDA_CALLCHAINS");
	any |= (activities & TL_ACT_SYSCALL) && db_read_has(w->db, "SYSCALL_CALLCHAINS");
	return any ? load(w, why, why_len) : 0;
}

int stack_costs_run(struct stack_costs *w, char *why, size_t why_len)
{
	static const char drop[] = "DROP TABLE IF EXISTS temp.SL_COST_LAUNCH";
	const unsigned launched = COST_BIT(COST_GPU) | COST_BIT(COST_ALLOCATIONS);
	int rc = load(w, why, why_len);

	if (rc == 0)
		rc = stack_images_read(w);
	if (rc == 0 && (w->what & launched))
		rc = launches_register(w->db) != SQLITE_OK ? stack_costs_fail(w)
		     : exec(w, drop) < 0                   ? -1
							   : exec(w, launches);
	if (rc == 0 && (w->what & COST_BIT(COST_CPU)))
		rc = read_samples(w);
	if (rc == 0 && (w->what & COST_BIT(COST_OFF_CPU)))
		rc = read_blocked(w) < 0 ? -1 : read_away(w);
	if (rc == 0 && (w->what & COST_BIT(COST_GPU)))
		rc = read_gpu(w);
	if (rc == 0 && (w->what & (COST_BIT(COST_READ) | COST_BIT(COST_WRITTEN))))
		rc = read_bytes(w);
	if (rc == 0 && (w->what & COST_BIT(COST_ALLOCATIONS)))
		rc = read_allocations(w);
	if (rc == 0 && (w->what & COST_BIT(COST_CALLS)))
		rc = read_calls(w);
	if (w->what & launched)
		sqlite3_exec(w->db, drop, NULL, NULL, NULL);
	if (rc == 0 && w->failed)
		rc = stack_costs_fail(w);
	return rc;
}

void stack_costs_free(struct stack_costs *w)
{
	for (uint32_t i = 0; i < w->frame_cnt; i++)
		free(w->frame[i].text);
	for (uint32_t i = 0; i < w->owner_cnt; i++) {
		free(w->owner[i].process);
		free(w->owner[i].thread);
	}
	for (size_t i = 0; i < w->strings.size; i++)
		if (w->strings.slot[i].used)
			free((char *)(uintptr_t)w->strings.slot[i].value);
	free(w->frame);
	free(w->node);
	for (uint32_t i = 0; i < w->image_cnt; i++)
		free(w->image[i].name);
	free(w->owner);
	free(w->image);
	free(w->entry);
	map_free(&w->frame_of);
	map_free(&w->child_of);
	map_free(&w->node_of);
	map_free(&w->owner_of);
	map_free(&w->owner_named);
	map_free(&w->entry_of);
	map_free(&w->strings);
	map_free(&w->leaf_of);
	sqlite3_finalize(w->string);
}
