/*
 * bigreport OUT.sqlite N [PROCESSES [launch]] - a report of N events as a busy training run leaves one.
 *
 * Of the events, 30 % are CUDA calls, 20 % kernels, 4 % copies, 1 % sets, 10 % nested NVTX ranges, 20 % calls of
 * libc and 15 % context switches. Tables and columns are those of nsys, filled so that reports, rules and
 * exporters find what they join: correlation ids (which repeat between processes, as with nsys), names, threads,
 * streams, devices. Each table is in order of start, as nsys writes them, or, with "launch", work on GPUs in the
 * order in which it was asked for, as it is recorded. The same N gives the same file.
 *
 * A thread's calls follow from its own random numbers alone: so every table runs the programs anew and keeps
 * what it is about, and nothing has to be kept in memory.
 */
#include "collector/base/embed.h"
#include "tests/bench/bigreport.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long total;
static int procs = 4;

/* ---- all programs at once, call by call in order of time ---- */

static struct program prog[PROC_MAX];

static void programs_init(void)
{
	for (int i = 0; i < procs; i++) {
		program_init(&prog[i], i);
		call(&prog[i]);
	}
}

/* The next call that is one of @mask; it stays valid until the next time. */
static struct program *programs_next(unsigned mask)
{
	static struct program now;

	do {
		struct program *p = prog;

		for (int i = 1; i < procs; i++)
			if (prog[i].start < p->start)
				p = &prog[i];
		now = *p;
		call(p);
	} while (!(mask >> now.what & 1));
	return &now;
}

/* ---- tables ---- */

static void row_runtime(int64_t *c)
{
	const struct program *p = programs_next(15);

	c[0] = p->start;
	c[1] = p->end;
	c[2] = 0;
	c[3] = global_tid(p->proc, 0);
	c[4] = p->correlation;
	c[5] = ID_API + p->name;
	c[6] = 0;
	c[7] = NONE;
}

static void gpu_columns(int64_t *c, const struct program *p)
{
	static const int stream[] = {7, 20, 24};

	c[0] = p->gpu_start;
	c[1] = p->gpu_end;
	c[2] = p->proc % 8;
	c[3] = 1;
	c[4] = 0;
	c[5] = stream[p->stream];
	c[6] = p->correlation;
	c[7] = global_pid(p->proc);
}

static void row_kernel(int64_t *c)
{
	const struct program *p = programs_next(1 << LAUNCH);
	int k = p->kernel;

	gpu_columns(c, p);
	c[8] = ID_KERNEL + k;
	c[9] = ID_SHORT + k;
	c[10] = ID_MANGLED + k;
	c[11] = 1;
	c[12] = 0;
	c[13] = 32 + k % 8 * 16;
	c[14] = 1 << k % 12;
	c[15] = 1 + k % 3;
	c[16] = 1;
	c[17] = 32 << k % 5;
	c[18] = c[19] = 1;
	c[20] = k % 4 * 1024;
	c[21] = k % 3 * 8192;
	c[22] = 0;
	c[23] = 66846720;
	c[24] = p->n;
	c[25] = 102400;
	for (int i = 26; i < 39; i++)
		c[i] = NONE;
}

static void row_copy(int64_t *c)
{
	const struct program *p = programs_next(1 << COPY);

	gpu_columns(c, p);
	c[8] = p->bytes;
	c[9] = p->kind;
	c[10] = NONE;
	c[11] = p->kind == 1 ? p->n / 8 % 2 : 2;
	c[12] = p->kind == 2 ? p->n / 8 % 2 : 2;
	for (int i = 13; i < 20; i++)
		c[i] = NONE;
	c[20] = 1;
}

static void row_set(int64_t *c)
{
	const struct program *p = programs_next(1 << SET);

	gpu_columns(c, p);
	c[8] = 0;
	c[9] = p->bytes;
	c[10] = NONE;
	c[11] = 2;
}

/* ---- NVTX: a step is run ahead of time, then its ranges are written in order of their start ---- */

struct range {
	int64_t start, end, text; /* text: index into texts, or -id of a registered one */
};

static struct stepper {
	struct program p;
	struct range r[LAYERS + 8];
	int cnt, at;
	int64_t steps;
} stepper[PROC_MAX];

static const char *nvtx_text(int64_t i)
{
	return i < LAYERS ? layer_text[i] : step_text[i - LAYERS];
}

/* Ranges of the next step: {step {forward {layers}} {backward {layers} {nccl}} {optimizer}}. */
static void plan_step(struct stepper *s)
{
	static int64_t t[STEP][2];
	int n = 0, half = STEP / 2 - 10;

	for (int i = 0; i < STEP; i++) {
		call(&s->p);
		t[i][0] = s->p.start - 300;
		t[i][1] = s->p.end + 300;
	}
	s->r[n++] = (struct range){t[0][0] - 900, t[STEP - 1][1] + 900, LAYERS + 3 + s->steps % 5};
	for (int phase = 0; phase < 2; phase++) {
		int from = phase * half, per = half * 2 / LAYERS;

		s->r[n++] = (struct range){t[from][0] - 400, t[from + half - 1][1] + 300,
					   LAYERS + phase};
		for (int i = 0; i < LAYERS / 2; i++) {
			int a = from + i * per;

			s->r[n++] = (struct range){t[a][0], t[a + per - 1][1],
						   phase * (LAYERS / 2) + i};
			if (phase == 1 && i % (LAYERS / 4) == 0)
				s->r[n++] =
					(struct range){t[a + 1][0], t[a + 1][1], -(ID_NVTX + 1)};
		}
	}
	s->r[n++] = (struct range){t[2 * half][0] - 200, t[STEP - 1][1] + 200, LAYERS + 2};
	s->cnt = n;
	s->at = 0;
	s->steps++;
}

static void steppers_init(void)
{
	for (int i = 0; i < procs; i++) {
		memset(&stepper[i], 0, sizeof(stepper[i]));
		program_init(&stepper[i].p, i);
		plan_step(&stepper[i]);
	}
}

static int64_t nvtx_id;

static void row_nvtx(int64_t *c)
{
	struct stepper *s = stepper;

	for (int i = 1; i < procs; i++)
		if (stepper[i].r[stepper[i].at].start < s->r[s->at].start)
			s = &stepper[i];
	const struct range *r = &s->r[s->at++];

	for (int i = 0; i < 21; i++)
		c[i] = NONE;
	c[0] = r->start;
	c[1] = r->end;
	c[2] = 59;
	c[6] = r->text < 0 ? NONE : r->text;
	c[7] = global_tid(s->p.proc, 0);
	c[9] = r->text < 0 ? -r->text : NONE;
	c[10] = r->text < 0;
	c[20] = ++nvtx_id;
	if (s->at == s->cnt)
		plan_step(s);
}

/* ---- threads that wait, read and get a CPU ---- */

static struct thread {
	uint64_t x;
	int64_t now, until;
	int in, cpu;
} thread[PROC_MAX * CPU_THREADS];

static int64_t pace; /* ns from one event of a thread to its next, on average */

static void threads_init(void)
{
	int n = procs * CPU_THREADS;

	for (int i = 0; i < n; i++) {
		thread[i] = (struct thread){.x = 0x9E3779B97F4A7C15u * (uint64_t)(i + 1),
					    .cpu = i % 16};
		thread[i].now = 40000000 + i * pace / n;
	}
}

static struct thread *threads_next(int *proc, int *tid)
{
	int best = 0, n = procs * CPU_THREADS;

	for (int i = 1; i < n; i++)
		if (thread[i].now < thread[best].now)
			best = i;
	*proc = best / CPU_THREADS;
	*tid = 1 + best % CPU_THREADS;
	return &thread[best];
}

static void row_osrt(int64_t *c)
{
	int proc, tid;
	struct thread *t = threads_next(&proc, &tid);
	int name = (int)((mix(&t->x) >> 20) % (tid == 1 ? 3 : OSRT_CNT));
	int64_t dur = 1000 + around(&t->x, pace * (1 + name % 7) / 10);

	c[0] = t->now;
	c[1] = t->now + dur;
	c[2] = 27;
	c[3] = global_tid(proc, tid);
	c[4] = ID_OSRT + name;
	c[5] = c[6] = c[7] = c[8] = 0;
	t->now += dur + around(&t->x, pace * 55 / 100);
}

static void row_sched(int64_t *c)
{
	int proc, tid;
	struct thread *t = threads_next(&proc, &tid);

	if (!t->in)
		t->cpu = (int)(mix(&t->x) >> 30) % 16 & 15;
	c[0] = t->now;
	c[1] = t->cpu;
	c[2] = t->in = !t->in;
	c[3] = global_tid(proc, tid);
	c[4] = t->in ? 0 : 2;
	c[5] = NONE;
	t->now += around(&t->x, pace);
}

/* ---- into the database: INSERT ... SELECT from a virtual table, the fastest way in ---- */

static const struct source {
	const char *table;
	int permille, cols, text_col;
	void (*init)(void);
	void (*row)(int64_t *c);
	const char *select;
} sources[] = {
	{"CUPTI_ACTIVITY_KIND_RUNTIME", 300, 8, -1, programs_init, row_runtime, "*"},
	{"CUPTI_ACTIVITY_KIND_KERNEL", 200, 39, -1, programs_init, row_kernel, "*, '[]'"},
	{"CUPTI_ACTIVITY_KIND_MEMCPY", 40, 21, -1, programs_init, row_copy, "*"},
	{"CUPTI_ACTIVITY_KIND_MEMSET", 10, 12, -1, programs_init, row_set, "*"},
	{"NVTX_EVENTS", 100, 21, 6, steppers_init, row_nvtx, "*"},
	{"OSRT_API", 200, 9, -1, threads_init, row_osrt, "*"},
	{"SCHED_EVENTS", 150, 6, -1, threads_init, row_sched, "*"},
};

static const struct source *src;
static long rows_wanted;
static int64_t last_end;

struct cursor {
	sqlite3_vtab_cursor base;
	long i;
	int64_t c[COLS_MAX];
};

static int v_connect(sqlite3 *db, void *a, int argc, const char *const *argv, sqlite3_vtab **out,
		     char **e)
{
	char sql[512] = "CREATE TABLE x(";
	int at = (int)strlen(sql);

	(void)a, (void)argc, (void)argv, (void)e;
	for (int i = 0; i < src->cols; i++)
		at += snprintf(sql + at, sizeof(sql) - (size_t)at, "%sc%d", i ? "," : "", i);
	snprintf(sql + at, sizeof(sql) - (size_t)at, ")");
	*out = sqlite3_malloc(sizeof(**out));
	memset(*out, 0, sizeof(**out));
	return sqlite3_declare_vtab(db, sql);
}
static int v_disconnect(sqlite3_vtab *t)
{
	sqlite3_free(t);
	return SQLITE_OK;
}
static int v_best(sqlite3_vtab *t, sqlite3_index_info *info)
{
	(void)t;
	info->estimatedRows = rows_wanted;
	return SQLITE_OK;
}
static int v_open(sqlite3_vtab *t, sqlite3_vtab_cursor **out)
{
	(void)t;
	*out = sqlite3_malloc(sizeof(struct cursor));
	memset(*out, 0, sizeof(struct cursor));
	return SQLITE_OK;
}
static int v_close(sqlite3_vtab_cursor *c)
{
	sqlite3_free(c);
	return SQLITE_OK;
}
static int v_filter(sqlite3_vtab_cursor *base, int n, const char *s, int argc, sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)base;

	(void)n, (void)s, (void)argc, (void)argv;
	c->i = 0;
	src->init();
	src->row(c->c);
	return SQLITE_OK;
}
static int v_next(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;

	if (c->c[0] > last_end)
		last_end = c->c[0];
	c->i++;
	src->row(c->c);
	return SQLITE_OK;
}
static int v_eof(sqlite3_vtab_cursor *c)
{
	return ((struct cursor *)c)->i >= rows_wanted;
}
static int v_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int k)
{
	int64_t v = ((struct cursor *)base)->c[k];

	if (v == NONE)
		return SQLITE_OK;
	if (k == src->text_col)
		sqlite3_result_text(out, nvtx_text(v), -1, SQLITE_STATIC);
	else
		sqlite3_result_int64(out, v);
	return SQLITE_OK;
}
static int v_rowid(sqlite3_vtab_cursor *c, sqlite3_int64 *out)
{
	*out = ((struct cursor *)c)->i;
	return SQLITE_OK;
}
static sqlite3_module module = {
	.xCreate = v_connect,
	.xConnect = v_connect,
	.xBestIndex = v_best,
	.xDisconnect = v_disconnect,
	.xDestroy = v_disconnect,
	.xOpen = v_open,
	.xClose = v_close,
	.xFilter = v_filter,
	.xNext = v_next,
	.xEof = v_eof,
	.xColumn = v_column,
	.xRowid = v_rowid,
};

static void die(sqlite3 *db, const char *what)
{
	fprintf(stderr, "bigreport: %s: %s\n", what, sqlite3_errmsg(db));
	exit(1);
}

static void run(sqlite3 *db, char *sql)
{
	if (!sql || sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		die(db, sql ? sql : "memory");
	sqlite3_free(sql);
}

/* Enumerations and the tables named in @want, from our schema; OSRT_API as nsys has it. */
static void make_tables(sqlite3 *db)
{
	static const char want[] =
		" PROCESSES ThreadNames TARGET_INFO_GPU TARGET_INFO_CUDA_DEVICE "
		"TARGET_INFO_CUDA_STREAM "
		"TARGET_INFO_CUDA_CONTEXT_INFO CUPTI_ACTIVITY_KIND_RUNTIME "
		"CUPTI_ACTIVITY_KIND_KERNEL "
		"CUPTI_ACTIVITY_KIND_MEMCPY CUPTI_ACTIVITY_KIND_MEMSET NVTX_EVENTS SCHED_EVENTS "
		"TARGET_INFO_SYSTEM_ENV ";
	const struct embedded *e = sl_embedded;

	while (e->name && strcmp(e->name, "schema.sql") != 0)
		e++;
	for (const char *at = strstr(e->text, "-- @table "), *next; at; at = next) {
		char name[72], when[16];

		next = strstr(at + 1, "-- @table ");
		if (sscanf(at, "-- @table %63s %15s", name + 1, when) != 2)
			continue;
		name[0] = ' ';
		strcat(name, " ");
		if (strcmp(when, "always") == 0 || strstr(want, name))
			run(db,
			    sqlite3_mprintf("%.*s", (int)(next ? (size_t)(next - at) : strlen(at)),
					    at));
	}
	run(db, sqlite3_mprintf("CREATE TABLE OSRT_API (start INTEGER NOT NULL, end INTEGER NOT "
				"NULL, eventClass INTEGER NOT NULL, "
				"globalTid INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER "
				"NOT NULL, nestingLevel INTEGER, "
				"callchainId INTEGER NOT NULL, argumentsId INTEGER NOT NULL)"));
}

static void add_string(sqlite3 *db, int id, const char *text)
{
	run(db, sqlite3_mprintf("INSERT INTO StringIds VALUES(%d,%Q)", id, text));
}

static void add_strings(sqlite3 *db)
{
	char name[512];

	add_string(db, 0, "");
	for (int i = 0; i < API_CNT; i++)
		add_string(db, ID_API + i, api[i]);
	for (int i = 0; i < OSRT_CNT; i++)
		add_string(db, ID_OSRT + i, osrt[i]);
	for (int i = 0; i < 3 * KERNELS; i++) {
		kernel_name(i % KERNELS, i / KERNELS, name, sizeof(name));
		add_string(db, ID_KERNEL + i, name);
	}
	for (int i = 0; i < 5; i++)
		add_string(db, ID_THREAD + i, thread_names[i]);
	for (int i = 0; i < 3; i++)
		add_string(db, ID_NVTX + i, nvtx_ids[i]);
}

static void add_processes(sqlite3 *db)
{
	for (int p = 0; p < procs; p++) {
		long long pid = 41000 + p * 100;

		run(db,
		    sqlite3_mprintf("INSERT INTO PROCESSES VALUES(%lld,%lld,'/usr/bin/python3')",
				    (long long)global_pid(p), pid));
		for (int t = 0; t <= CPU_THREADS; t++)
			run(db, sqlite3_mprintf("INSERT INTO ThreadNames VALUES(%d,20,%lld)",
						ID_THREAD + (t < 5 ? t : 2),
						(long long)global_tid(p, t)));
		if (p < 8)
			run(db, sqlite3_mprintf("INSERT INTO "
						"TARGET_INFO_GPU(vmId,id,name,busLocation,"
						"isDiscrete,totalMemory,memoryBandwidth,"
						"smCount,cuDevice,computeMajor,computeMinor) "
						"VALUES(1<<48,%d,'NVIDIA H100 80GB "
						"HBM3','0000:%02x:00.0',1,85899345920,"
						"3352320000000,132,%d,9,0)",
						p, 0x19 + p, p));
		run(db, sqlite3_mprintf(
				"INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES(%d,%d,%lld,NULL,132)",
				p % 8, p % 8, pid));
		run(db, sqlite3_mprintf("INSERT INTO "
					"TARGET_INFO_CUDA_CONTEXT_INFO(nullStreamId,hwId,vmId,"
					"processId,deviceId,contextId) "
					"VALUES(7,0,1,%lld,%d,1)",
					pid, p % 8));
		for (int s = 0; s < 3; s++)
			run(db, sqlite3_mprintf("INSERT INTO TARGET_INFO_CUDA_STREAM "
						"VALUES(%d,0,1,%lld,1,%d,%d)",
						s == 0 ? 7 : 16 + 4 * s, pid, 0, s == 0 ? 3 : 2));
		run(db,
		    sqlite3_mprintf("INSERT INTO "
				    "NVTX_EVENTS(start,eventType,text,globalTid,domainId,eventId) "
				    "VALUES(45000000,75,'NCCL',%lld,1,%lld)",
				    (long long)global_tid(p, 0), ++nvtx_id));
	}
}

static void add_rest(sqlite3 *db)
{
	run(db, sqlite3_mprintf(
			"INSERT INTO ANALYSIS_DETAILS VALUES(1<<48,%lld,350000000,%lld);"
			"INSERT INTO TARGET_INFO_SESSION_START_TIME "
			"VALUES(1767225600000000000,'2026-01-01T00:00:00',"
			"'2026-01-01T00:00:00',350000000,NULL);"
			"INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES(1<<48,'Local "
			"(CLI)','Hostname',100,'node0'),"
			"(1<<48,'Local (CLI)','CpuCores',101,'16');"
			"INSERT INTO META_DATA_CAPTURE "
			"VALUES('PROCESS_0:COMMAND','python3'),('PROCESS_0:ARGUMENT_0','train.py');"
			"INSERT INTO META_DATA_EXPORT "
			"VALUES('EXPORT_PRODUCT_NAME','bigreport'),('EXPORT_PRODUCT_VERSION','1'),"
			"('EXPORT_SCHEMA_VERSION','3.28.1'),('EXPORT_SCHEMA_VERSION_MAJOR','3'),('"
			"EXPORT_SCHEMA_VERSION_MINOR','28'),"
			"('EXPORT_SCHEMA_VERSION_MICRO','1');",
			(long long)last_end, (long long)last_end + 350000000));
}

static bool is_gpu_work(const struct source *s)
{
	return s->row == row_kernel || s->row == row_copy || s->row == row_set;
}

int main(int argc, char **argv)
{
	sqlite3 *db = NULL;
	bool by_launch;

	total = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	procs = argc > 3 ? atoi(argv[3]) : procs;
	by_launch = argc > 4 && strcmp(argv[4], "launch") == 0;
	if (argc < 3 || total < 1 || procs < 1 || procs > PROC_MAX) {
		fprintf(stderr,
			"usage: bigreport OUT.sqlite EVENTS [PROCESSES (1 to %d) [launch]]\n",
			PROC_MAX);
		return 2;
	}
	for (int i = 0; i < LAYERS; i++)
		snprintf(layer_text[i], sizeof(layer_text[i]), "%s_%d",
			 i < LAYERS / 2 ? "layer" : "grad", i % (LAYERS / 2));
	for (int i = 0; i < 8; i++)
		snprintf(step_text[i], sizeof(step_text[i]), "%s",
			 i == 0   ? "forward"
			 : i == 1 ? "backward"
			 : i == 2 ? "optimizer"
			 : i == 3 ? "eval_step"
				  : "train_step");
	unlink(argv[1]);
	sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	if (sqlite3_open(argv[1], &db) != SQLITE_OK)
		die(db, argv[1]);
	run(db, sqlite3_mprintf("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA "
				"locking_mode=EXCLUSIVE;"
				"PRAGMA cache_size=-65536; BEGIN"));
	make_tables(db);
	add_strings(db);
	add_processes(db);
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		src = &sources[i];
		rows_wanted = total * src->permille / 1000;
		/* Threads fill the time that the CUDA calls took, each table at a pace of its own. */
		if (rows_wanted > 0)
			pace = last_end * procs * CPU_THREADS / rows_wanted;
		pace = pace > 4000 ? pace : 4000;
		if (src->row == row_sched)
			pace = pace * 88 / 100;
		sqlite3_create_module(db, "source", &module, NULL);
		run(db, sqlite3_mprintf("CREATE VIRTUAL TABLE temp.source USING source"));
		run(db, sqlite3_mprintf(
				"INSERT INTO %s SELECT %s FROM source%s", src->table, src->select,
				is_gpu_work(src) && !by_launch ? " ORDER BY 1, 2 DESC" : ""));
		run(db, sqlite3_mprintf("DROP TABLE temp.source"));
	}
	add_rest(db);
	run(db, sqlite3_mprintf("COMMIT; PRAGMA journal_mode=DELETE"));
	if (sqlite3_close(db) != SQLITE_OK)
		die(db, argv[1]);
	return 0;
}
