/*
 * why_test.h - reports written by hand: rows of the tables that sightline why reads, and the answer as text. Include it first.
 *
 * Times are in ms, but for SQL. A thread is written by its number, and belongs to the process of the hundred: 101 is a thread of
 * process 100, whose main thread is 100. A stack is written as its frames, the innermost first: "SYMBOL MODULE[ FILE]:LINE; ...".
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collector/base/embed.h"
#include "exporters/read/db_read.h"
#include "exporters/why/walk/reason.h"
#include "exporters/why/walk/walk_parts.h"
#include "exporters/why/answer/why.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAIN           100
#define OTHER          101
#define CHILD          200
#define MS             1000000
#define HOST           (INT64_C(1) << 48)
#define OBJECT_OF_LOCK 0x1000

/* Ends of a run, and what else its rows say. */
struct run_row {
	int by;         /* the thread that woke it; 0: not known */
	double ready;   /* when it had become runnable; 0: as it began, if @by is known */
	bool preempted; /* it leaves the CPU while it could go on */
	bool on_disk;   /* it leaves the CPU for a wait that no signal ends */
	bool goes_on;   /* it does not leave the CPU */
};

struct call_row {
	const char *path; /* or peer */
	int result, level;
	int file;     /* fileAccessId */
	int64_t lock; /* address; 0: none */
	int owner;    /* the thread that had the lock */
};

struct work_row {
	const char *name; /* of a kernel: "k" */
	int stream, device, pid, kind;
};

static struct {
	sqlite3 *db;
	char path[64];
	struct why y;
	bool is_asked;
	int texts, stacks;
} test;

/* ---- rows ---- */

static inline int64_t ns_of(double ms)
{
	return llround(ms * MS);
}

static inline int64_t pid_of(int tid)
{
	return HOST | (int64_t)(tid - tid % 100) << 24;
}

static inline int64_t tid_of(int tid)
{
	return pid_of(tid) | tid;
}

static inline void sql(const char *text, ...)
{
	va_list args;
	char *made, *error = NULL;

	va_start(args, text);
	made = sqlite3_vmprintf(text, args);
	va_end(args);
	if (sqlite3_exec(test.db, made, NULL, NULL, &error) != SQLITE_OK)
		fail_msg("%s: %s", error, made);
	sqlite3_free(made);
}

static inline int64_t number(const char *text, ...)
{
	sqlite3_stmt *stmt = NULL;
	int64_t n = -1;
	va_list args;
	char *made;

	va_start(args, text);
	made = sqlite3_vmprintf(text, args);
	va_end(args);
	assert_int_equal(sqlite3_prepare_v2(test.db, made, -1, &stmt, NULL), SQLITE_OK);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_free(made);
	return n;
}

/* The id of a text in StringIds. */
static inline int text_id(const char *text)
{
	int64_t id = number("SELECT id FROM StringIds WHERE value = %Q", text);

	if (id < 0) {
		id = ++test.texts;
		sql("INSERT INTO StringIds VALUES (%lld, %Q)", id, text);
	}
	return (int)id;
}

/* A frame: Python's of a file *.py or <...>, the kernel's of [kernel.kallsyms] or a module *.ko, made at run time of [JIT], else native; "?x": a symbol that is an address. */
static inline int frame(const char *text, size_t len)
{
	char spec[2400], *symbol = spec, *module, *file, *line;
	int id = ++test.stacks * 10000, kind;

	snprintf(spec, sizeof(spec), "%.*s", (int)len, text);
	module = strstr(spec, " [JIT]");
	if (!module)
		module = strchr(spec, ' ');
	assert_non_null(module);
	*module++ = '\0';
	line = strrchr(module, ':');
	if (line)
		*line++ = '\0';
	kind = strncmp(module, "[JIT]", 5) == 0                                    ? 3
	       : *module == '<' || strstr(module, ".py")                           ? 1
	       : strcmp(module, "[kernel.kallsyms]") == 0 || strstr(module, ".ko") ? 2
										   : 0;
	file = *module == '<' ? NULL : strchr(module, ' ');
	if (file)
		*file++ = '\0';
	else if (kind == 1 && *module != '<')
		file = module;
	sql("INSERT INTO SL_FRAMES(id, kind, symbol, module, file, line, inlined, kernelMode, "
	    "unresolved, specialEntry) VALUES (%d, %d, %d, %d, nullif(%d, 0), %s, 0, 0, %d, 0)",
	    id, kind, text_id(symbol + (*symbol == '?')), text_id(module), file ? text_id(file) : 0,
	    line ? line : "NULL", *symbol == '?');
	return id;
}

/* The id of a stack; NULL: none. Equal texts are one stack. */
static inline int stack_id(const char *text)
{
	int64_t id;
	int depth = 0;

	if (!text)
		return 0;
	sql("CREATE TEMP TABLE IF NOT EXISTS known(spec TEXT PRIMARY KEY, id)");
	id = number("SELECT id FROM known WHERE spec = %Q", text);
	if (id >= 0)
		return (int)id;
	id = ++test.stacks;
	sql("INSERT INTO known VALUES (%Q, %lld)", text, id);
	for (const char *at = text, *end; at; at = *end ? end + 2 : NULL) {
		end = strstr(at, "; ");
		end = end ? end : at + strlen(at);
		sql("INSERT INTO SL_STACKS VALUES (%lld, %d, %d)", id, depth++,
		    frame(at, (size_t)(end - at)));
	}
	return (int)id;
}

static inline void process(int pid, int parent, double start, double end)
{
	sql("INSERT INTO SL_PROCESS_TREE VALUES (%lld, nullif(%lld, 0), %lld, %lld, %d, 1, "
	    "'/bin/p%d', 'p%d', 0)",
	    pid_of(pid), parent ? pid_of(parent) : 0, ns_of(start), ns_of(end), parent ? 2 : 0, pid,
	    pid);
}

/* Process 100 lives from 0 to @end; all of it is recorded. */
static inline void report(double end)
{
	sql("INSERT INTO ANALYSIS_DETAILS VALUES (%lld, %lld, 0, %lld)", HOST, ns_of(end),
	    ns_of(end));
	process(MAIN, 0, 0, end);
}

static inline void add_run(int tid, double from, double to, struct run_row r)
{
	int64_t ready = ns_of(r.ready != 0 ? r.ready : from);

	sql("INSERT INTO SCHED_EVENTS VALUES (%lld, 0, 1, %lld, 0, NULL)", ns_of(from),
	    tid_of(tid));
	if (!r.goes_on)
		sql("INSERT INTO SCHED_EVENTS VALUES (%lld, 0, 0, %lld, %d, NULL)", ns_of(to),
		    tid_of(tid),
		    r.preempted ? 1
		    : r.on_disk ? 3
				: 2);
	if (r.by || r.ready != 0)
		sql("INSERT INTO SL_SCHED_DETAIL VALUES (%lld, %lld, NULL, %lld, nullif(%lld, 0), "
		    "120)",
		    ns_of(from), tid_of(tid), ready, r.by ? tid_of(r.by) : 0);
}

/* On a CPU from @from to @to. */
#define runs(tid, from, to, ...) add_run(tid, from, to, (struct run_row){__VA_ARGS__})

static inline void add_call(int tid, const char *name, double from, double to, const char *stack,
			    struct call_row c)
{
	sql("INSERT INTO OSRT_API(start, end, eventClass, globalTid, nameId, returnValue, "
	    "nestingLevel, "
	    "callchainId, argumentsId, pathId, fileAccessId) VALUES (%lld, %lld, 27, %lld, %d, %d, "
	    "%d, %d, 0, nullif(%d, 0), nullif(%d, 0))",
	    ns_of(from), ns_of(to), tid_of(tid), text_id(name), c.result, c.level, stack_id(stack),
	    c.path ? text_id(c.path) : 0, c.file);
	if (c.lock)
		sql("INSERT INTO SL_OSRT_LOCKS VALUES (%lld, %lld, %lld, nullif(%lld, 0))",
		    ns_of(from), tid_of(tid), c.lock, c.owner ? tid_of(c.owner) : 0);
}

/* A call of libc. */
#define call(tid, name, from, to, stack, ...) \
	add_call(tid, name, from, to, stack, (struct call_row){__VA_ARGS__})

static inline void system_call(int tid, const char *name, double from, double to, const char *stack)
{
	sql("INSERT INTO SYSCALL VALUES (%lld, %lld, 107, %lld, %d, %d, 0, NULL)", ns_of(from),
	    ns_of(to), tid_of(tid), text_id(name), stack_id(stack));
}

/* A call of CUDA; @id: its correlation id. */
static inline void cuda(int tid, const char *name, double from, double to, const char *stack,
			int id)
{
	sql("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (%lld, %lld, 0, %lld, nullif(%d, 0), "
	    "%d, 0, "
	    "nullif(%d, 0))",
	    ns_of(from), ns_of(to), tid_of(tid), id, text_id(name), stack_id(stack));
}

static inline void library_call(int tid, const char *name, double from, double to,
				const char *stack)
{
	sql("INSERT INTO CUBLAS_EVENTS VALUES (%lld, %lld, 29, %lld, %d, 1, 0, nullif(%d, 0))",
	    ns_of(from), ns_of(to), tid_of(tid), text_id(name), stack_id(stack));
}

static inline void add_kernel(double from, double to, int id, struct work_row k)
{
	int name = text_id(k.name ? k.name : "k");

	sql("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, contextId, streamId, "
	    "correlationId, globalPid, demangledName, shortName, registersPerThread, gridX, gridY, "
	    "gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory, "
	    "localMemoryPerThread, localMemoryTotal, gridId, tensorSizeMinusOneElements) VALUES "
	    "(%lld, %lld, %d, 1, %d, nullif(%d, 0), %lld, %d, %d, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, "
	    "1, '[]')",
	    ns_of(from), ns_of(to), k.device, k.stream ? k.stream : 7, id,
	    pid_of(k.pid ? k.pid : MAIN), name, name);
}

static inline void add_copy(double from, double to, int id, struct work_row c)
{
	sql("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, contextId, streamId, "
	    "correlationId, globalPid, bytes, copyKind) VALUES (%lld, %lld, %d, 1, %d, nullif(%d, "
	    "0), "
	    "%lld, 1000, %d)",
	    ns_of(from), ns_of(to), c.device, c.stream ? c.stream : 7, id,
	    pid_of(c.pid ? c.pid : MAIN), c.kind ? c.kind : 1);
}

/* Work of a GPU that the call with correlation id @id started. Copies: .kind 1 to the GPU, 2 from it. */
#define kernel(from, to, id, ...) add_kernel(from, to, id, (struct work_row){__VA_ARGS__})
#define copy(from, to, id, ...)   add_copy(from, to, id, (struct work_row){__VA_ARGS__})
#define TO_HOST                   2

static inline void fill(double from, double to, int id)
{
	sql("INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET(start, end, deviceId, contextId, streamId, "
	    "correlationId, globalPid, value, bytes) VALUES (%lld, %lld, 0, 1, 7, %d, %lld, 0, 8)",
	    ns_of(from), ns_of(to), id, pid_of(MAIN));
}

static inline void graph(double from, double to, int id)
{
	sql("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start, end, deviceId, contextId, "
	    "streamId, "
	    "correlationId, globalPid, graphId, graphExecId) VALUES (%lld, %lld, 0, 1, 7, %d, "
	    "%lld, 1, 1)",
	    ns_of(from), ns_of(to), id, pid_of(MAIN));
}

static inline void sample(int tid, double time, const char *stack)
{
	sql("INSERT INTO COMPOSITE_EVENTS(start, cpu, threadState, globalTid, cpuCycles, stackId) "
	    "VALUES "
	    "(%lld, 0, 1, %lld, 1, nullif(%d, 0))",
	    ns_of(time), tid_of(tid), stack_id(stack));
}

/* Stack of a line of the program, in a function of its own. */
#define L(n) "f" #n " /me/a.py:" #n

/* Samples each ms of (@from, @to]: the thread computes at the line. */
static inline void computes(int tid, double from, double to, const char *line)
{
	for (double t = from + 1; t <= to; t++)
		sample(tid, t, line);
}

/* Where a thread left the CPU at @time. */
static inline void off_sample(int tid, double time, double till, const char *stack)
{
	sql("INSERT INTO COMPOSITE_EVENTS(start, cpu, threadState, globalTid, cpuCycles, stackId, "
	    "end) "
	    "VALUES (%lld, 0, 2, %lld, 0, %d, %lld)",
	    ns_of(time), tid_of(tid), stack_id(stack), ns_of(till));
}

/* A page was there at @time. */
static inline void fault(int tid, double time, const char *stack, const char *path)
{
	sql("INSERT INTO SL_PAGE_FAULTS VALUES (%lld, %lld, 4096, %d, 0, nullif(%d, 0))",
	    ns_of(time), tid_of(tid), text_id(path), stack_id(stack));
}

/* A request to a block device, by a thread; 0: by the kernel's thread @name. */
static inline void request(int tid, double from, double to, const char *disk, const char *name,
			   int operation)
{
	sql("INSERT INTO SL_BLOCK_IO VALUES (%lld, %lld, %lld, nullif(%lld, 0), %d, 1, %d, 0, "
	    "4096, "
	    "%d, 0)",
	    ns_of(from), ns_of(from), ns_of(to), tid ? tid_of(tid) : 0, text_id(name),
	    text_id(disk), operation);
}

/* An NVTX range of a thread. */
static inline void range(int tid, double from, double to, const char *text)
{
	sql("INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid, domainId) VALUES "
	    "(%lld, "
	    "%lld, 59, %Q, %lld, 0)",
	    ns_of(from), ns_of(to), text, tid_of(tid));
}

/* ---- tests ---- */

static inline int test_setup(void **state)
{
	const struct embedded *schema = sl_embedded;

	(void)state;
	memset(&test, 0, sizeof(test));
	while (strcmp(schema->name, "schema.sql") != 0)
		schema++;
	snprintf(test.path, sizeof(test.path), "/tmp/sightline-why-%d.sqlite", (int)getpid());
	unlink(test.path);
	if (sqlite3_open(test.path, &test.db) != SQLITE_OK)
		return -1;
	return sqlite3_exec(test.db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", NULL,
			    NULL, NULL) != SQLITE_OK ||
	       sqlite3_exec(test.db, schema->text, NULL, NULL, NULL) != SQLITE_OK ||
	       sqlite3_exec(test.db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK;
}

/* From now on the report is read. */
static inline void open_report(void)
{
	char text[512] = "";

	sqlite3_exec(test.db, "COMMIT", NULL, NULL, NULL);
	sqlite3_close(test.db);
	test.db = db_read_open(test.path, text, sizeof(text));
	if (!test.db)
		fail_msg("%s", text);
}

static inline int test_teardown(void **state)
{
	(void)state;
	if (test.is_asked)
		why_free(&test.y);
	sqlite3_close(test.db);
	unlink(test.path);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, test_setup, test_teardown)

/* ---- the answer ---- */

/* The sentence of an answer that is refused; NULL: there is an answer, in test.y. */
static inline const char *refusal(const struct why_ask *how)
{
	static char text[512];

	if (test.is_asked)
		why_free(&test.y);
	else
		open_report();
	test.is_asked = true;
	return why_run(&test.y, test.db, NULL, how, text, sizeof(text)) < 0 ? text : NULL;
}

static inline const struct why *ask_how(const struct why_ask *how)
{
	const char *text = refusal(how);

	if (text)
		fail_msg("%s", text);
	/* Of any report: no more can be won than there is. */
	for (size_t i = 0; i < test.y.gains_cnt; i++) {
		const struct why_gain *g = &test.y.gains[i];

		assert_true(0 <= g->lower && g->lower <= g->upper && g->upper <= test.y.ns);
	}
	return &test.y;
}

/* Of the main thread of the root process. */
static inline const struct why *ask(void)
{
	return ask_how(&(struct why_ask){0});
}

static inline int by_line(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorted, one text, each line followed by a line feed; in a static buffer. Frees the lines. */
static inline const char *join_lines(char **lines, size_t cnt)
{
	static char all[65536];
	size_t len = 0;

	qsort(lines, cnt, sizeof(*lines), by_line);
	*all = '\0';
	for (size_t i = 0; i < cnt; i++) {
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s\n", lines[i]);
		free(lines[i]);
	}
	return all;
}

/* The name of the call that a cause has, or of its object; "" if it has none. */
static inline const char *string_of_map(const struct why *y, const struct id_map *map,
					uint32_t number_of, const char *before)
{
	static char texts[8][256];
	static unsigned next;
	char *text = why_string(y, map, number_of), *to = texts[next++ % 8];

	snprintf(to, sizeof(texts[0]), "%s%s", text ? before : "", text ? text : "");
	free(text);
	return to;
}

/* A line for each part, by reason: "REASON[ of OBJECT][ at PLACE][ @THREAD] MS". */
static inline const char *parts(void)
{
	const struct why *y = &test.y;
	char **lines = calloc(y->parts_cnt + 1, sizeof(*lines));
	int64_t sum = 0;
	const char *all;

	for (size_t i = 0; i < y->parts_cnt; i++) {
		const struct why_part *p = &y->parts[i];
		const char *place = y->walk.places.list[p->cause.place].text;
		char thread[32] = "";

		if (p->thread != y->focus)
			snprintf(thread, sizeof(thread), " @%lld",
				 (long long)(y->model.threads[p->thread].tid & 0xffffff));
		assert_true(asprintf(&lines[i], "%s%s%s%s%s %g", why_reason_name(p->cause.reason),
				     string_of_map(y, &y->model.objects, p->cause.object, " of "),
				     place ? " at " : "", place ? place : "", thread,
				     (double)p->ns / MS) > 0);
		sum += p->ns;
	}
	all = join_lines(lines, y->parts_cnt);
	free(lines);
	assert_int_equal(sum, y->ns);
	return all;
}

/* The time of a reason, in ms. */
static inline double of_reason(uint32_t reason)
{
	return (double)test.y.of_reason[reason] / MS;
}

/* The part of a reason with most time; the test fails if there is none. */
static inline const struct why_part *part_of(uint32_t reason)
{
	for (size_t i = 0; i < test.y.parts_cnt; i++)
		if (test.y.parts[i].cause.reason == reason)
			return &test.y.parts[i];
	fail_msg("no part has the reason %s:\n%s", why_reason_name(reason), parts());
	return NULL;
}

/* The place of that part; "": none. */
static inline const char *place_of_part(uint32_t reason)
{
	const char *text = test.y.walk.places.list[part_of(reason)->cause.place].text;

	return text ? text : "";
}

#define assert_near(a, b) assert_true(fabs((double)(a) - (double)(b)) < 1e-6)
