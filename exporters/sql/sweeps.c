/* sweeps.c - the tables of passes over events, and the rows that a connection keeps of them. */
#include "exporters/sql/sweeps.h"

#include <stdlib.h>

#include "exporters/events/gpu_work.h"
#include "exporters/events/launches.h"
#include "exporters/sql/steps.h"

void sweep_span_add(struct sweep_span *s, struct sweep_id start, struct sweep_id end)
{
	if (start.known && (s->first == ROWS_NULL || start.value < s->first))
		s->first = start.value;
	/* ROWS_NULL is below all */
	if (start.known && start.value > s->last_start)
		s->last_start = start.value;
	if (end.known && end.value > s->last_end)
		s->last_end = end.value;
}

int sweep_show(struct sweeps *s, enum swept_table table, int64_t number, struct rows *rows, int rc)
{
	if (rc == SQLITE_OK)
		rc = rows_end(rows);
	if (rc == SQLITE_OK)
		rc = rows_shown_add(&s->shown[table],
				    &(struct rows_stretch){number, rows, 0, rows_cnt(rows)});
	if (rc != SQLITE_OK)
		rows_free(rows);
	return rc;
}

int sweep_show_span(struct sweeps *s, unsigned events, const struct sweep_span *span, bool of_calls)
{
	struct rows *rows = rows_new(2);
	int64_t last = span->last_end;
	int rc;

	if (of_calls && last != ROWS_NULL && span->last_start > last)
		last = span->last_start;
	rc = rows ? rows_add(rows, (const int64_t[]){span->first, last}) : SQLITE_NOMEM;
	return sweep_show(s, SWEPT_SPANS, events, rows, rc);
}

/* ---- passes ---- */

#define BIT(pass) (1u << (pass))
#define CALLS     (BIT(SWEEP_CUDA) | BIT(SWEEP_OS))

static const struct {
	int (*run)(struct sweeps *s);
	unsigned needs; /* passes, as bits */
} passes[SWEEP_PASSES] = {
	[SWEEP_CUDA] = {cuda_sweep, 0},
	[SWEEP_OS] = {os_sweep, 0},
	[SWEEP_GPU] = {gpu_sweep, BIT(SWEEP_CUDA)},
	[SWEEP_COPIES] = {copies_sweep, BIT(SWEEP_CUDA)},
	[SWEEP_FILLS] = {fills_sweep, BIT(SWEEP_CUDA)},
	[SWEEP_SCHED] = {sched_sweep, 0},
};

/* By table: the passes that make its rows. */
static const unsigned of_passes[SWEPT_TABLES] = {
	[SWEPT_SPANS] = CALLS | BIT(SWEEP_GPU), [SWEPT_THREADS] = CALLS,
	[SWEPT_CUDA_CALLS] = BIT(SWEEP_CUDA),   [SWEPT_CUDA_LAUNCH] = BIT(SWEEP_CUDA),
	[SWEPT_OS_CALLS] = BIT(SWEEP_OS),       [SWEPT_COPIES] = BIT(SWEEP_COPIES),
	[SWEPT_FILLS] = BIT(SWEEP_FILLS),       [SWEPT_GPU_BUSY] = BIT(SWEEP_GPU),
	[SWEPT_GPU_LIFE] = BIT(SWEEP_GPU),      [SWEPT_GPU_COVER] = BIT(SWEEP_GPU),
	[SWEPT_GPU_SUMS] = BIT(SWEEP_GPU),      [SWEPT_SCHED_THREADS] = BIT(SWEEP_SCHED),
	[SWEPT_SCHED_LEVEL] = BIT(SWEEP_SCHED), [SWEPT_SCHED_DISK] = BIT(SWEEP_SCHED),
	[SWEPT_SCHED_CPUS] = BIT(SWEEP_SCHED),
};

/* Forgets all rows of tables that the passes have made; SQLITE_LOCKED: one of them is being read. */
static int forget(struct sweeps *s, unsigned made)
{
	for (size_t i = 0; i < SWEPT_TABLES; i++)
		if ((of_passes[i] & made) && s->shown[i].readers)
			return SQLITE_LOCKED;
	for (size_t i = 0; i < SWEPT_TABLES; i++)
		if (of_passes[i] & made) {
			s->done &= ~of_passes[i];
			rows_shown_clear(&s->shown[i]);
		}
	return SQLITE_OK;
}

static int run(struct sweeps *s, unsigned want)
{
	int rc = SQLITE_OK;

	for (unsigned i = 0; i < SWEEP_PASSES && rc == SQLITE_OK; i++) {
		if (!(want & ~s->done & BIT(i)))
			continue;
		rc = run(s, passes[i].needs);
		if (rc == SQLITE_OK)
			rc = passes[i].run(s);
		if (rc == SQLITE_OK)
			s->done |= BIT(i);
	}
	return rc;
}

/* Rows of other data are of no use, but for the statements that read them. */
static void see_version(struct sweeps *s)
{
	unsigned version = 0;

	sqlite3_file_control(s->db, "main", SQLITE_FCNTL_DATA_VERSION, &version);
	if (version != s->version && forget(s, -1u) == SQLITE_OK)
		s->version = version;
}

static int fill(const struct rows_table *t, sqlite3_value *arg)
{
	struct sweeps *s = t->sweeps;
	unsigned want = of_passes[t->shown - s->shown];
	int64_t until = arg ? sweep_word(sweep_value(arg)) : ROWS_NULL;
	int rc = SQLITE_OK;

	see_version(s);
	if (s->failed && forget(s, -1u) != SQLITE_OK)
		return s->failed;
	s->failed = SQLITE_OK;
	if (t->arg >= 0 && until != s->until) {
		rc = forget(s, BIT(SWEEP_SCHED));
		s->until = rc == SQLITE_OK ? until : s->until;
	}
	if (rc == SQLITE_OK)
		rc = run(s, want);
	/* A pass that failed may have left some of its rows. */
	s->failed = rc == SQLITE_LOCKED ? SQLITE_OK : rc;
	return rc;
}

/* ---- tables ---- */

static const char *const events[] = {
	[SWEPT_RUNTIME] = "CUPTI_ACTIVITY_KIND_RUNTIME",
	[SWEPT_OSRT] = "OSRT_API",
#define GPU_WORK(kind, name, table, columns) [SWEPT_WORK + GPU_WORK_##kind] = #table,
#include "exporters/events/gpu_work.def"
#undef GPU_WORK
	NULL,
};

#define NONE          .number = -1, .first = -1, .other = -1, .at = -1, .arg = -1
#define NUMBERED(all) .number = 0, .first = -1, .other = -1, .at = -1, .arg = -1, .names = all
#define UNTIL(column) .number = -1, .first = -1, .other = -1, .at = -1, .arg = column

/* clang-format off */
static const struct rows_table tables[SWEPT_TABLES] = {
	[SWEPT_SPANS] = {.name = "sl_event_spans", NUMBERED(events), .rows = 6,
		.columns = "name TEXT, first INTEGER, last INTEGER", .column = sweep_call_column},
	[SWEPT_THREADS] = {.name = "sl_thread_calls", NUMBERED(events), .rows = 100,
		.columns = "name TEXT, globalTid INTEGER, n INTEGER", .column = sweep_call_column},
	[SWEPT_CUDA_CALLS] = {.name = "sl_cuda_calls", NUMBERED(sweep_cuda_kinds), .rows = 1000000,
		.columns = "what TEXT, nameId INTEGER, start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER",
		.column = sweep_call_column},
	[SWEPT_CUDA_LAUNCH] = {.name = "sl_cuda_launch", NONE, .rows = 10,
		.columns = "pid INTEGER, ns REAL", .column = sweep_launch_column},
	[SWEPT_OS_CALLS] = {.name = "sl_os_calls", NUMBERED(sweep_os_kinds), .rows = 1000000,
		.columns = "what TEXT, nameId INTEGER, start INTEGER, end INTEGER, globalTid INTEGER, returnValue INTEGER, "
			   "pathId INTEGER",
		.column = sweep_call_column},
	[SWEPT_COPIES] = {.name = "sl_copies", .number = -1, .first = -1, .at = -1, .arg = -1, .other = 7, .other_word = 7,
		.rows = 1000000,
		.columns = "globalPid INTEGER, deviceId INTEGER, contextId INTEGER, greenContextId INTEGER, streamId INTEGER, "
			   "start INTEGER, end INTEGER, bytes INTEGER, kind INTEGER, srcKind INTEGER, dstKind INTEGER, "
			   "srcDeviceId INTEGER, dstDeviceId INTEGER, callStart INTEGER, callEnd INTEGER, globalTid INTEGER, "
			   "nameId INTEGER, blocking INTEGER",
		.column = rows_give_words},
	[SWEPT_FILLS] = {.name = "sl_fills", NONE, .rows = 100000,
		.columns = "globalPid INTEGER, deviceId INTEGER, contextId INTEGER, greenContextId INTEGER, streamId INTEGER, "
			   "start INTEGER, end INTEGER, bytes INTEGER, kind INTEGER, callStart INTEGER, callEnd INTEGER, "
			   "globalTid INTEGER, nameId INTEGER, blocking INTEGER",
		.column = sweep_fill_column},
	[SWEPT_GPU_BUSY] = {.name = "sl_gpu_busy", .number = 0, .first = 5, .at = 9, .arg = -1, .other = 7,
		.other_word = BUSY_IDLE, .rows = 1000000,
		.columns = "gpu INTEGER, globalPid INTEGER, deviceId INTEGER, contextId INTEGER, start INTEGER, end INTEGER, "
			   "next INTEGER, idle INTEGER, busy INTEGER, at INTEGER HIDDEN",
		.column = sweep_busy_column},
	[SWEPT_GPU_LIFE] = {.name = "sl_gpu_life", NONE, .rows = 10,
		.columns = "gpu INTEGER, globalPid INTEGER, deviceId INTEGER, contextId INTEGER, start INTEGER, end INTEGER",
		.column = rows_give_words},
	[SWEPT_GPU_COVER] = {.name = "sl_gpu_cover", NONE, .rows = 50,
		.columns = "what TEXT, globalPid INTEGER, deviceId INTEGER, n INTEGER, ns INTEGER, total INTEGER, start INTEGER, "
			   "end INTEGER",
		.column = sweep_cover_column},
	[SWEPT_GPU_SUMS] = {.name = "sl_gpu_sums", NONE, .rows = 1000,
		.columns = "globalPid INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, what TEXT, detail INTEGER, "
			   "n INTEGER, ns INTEGER, bytes INTEGER, first INTEGER, last INTEGER, small INTEGER",
		.column = sweep_sum_column},
	[SWEPT_SCHED_THREADS] = {.name = "sl_sched_threads", UNTIL(7), .rows = 100,
		.columns = "globalTid INTEGER, runs INTEGER, ran INTEGER, waited INTEGER, preempted INTEGER, first INTEGER, "
			   "last INTEGER, until HIDDEN",
		.column = rows_give_words},
	[SWEPT_SCHED_LEVEL] = {.name = "sl_sched_level", UNTIL(3), .rows = 100,
		.columns = "threads INTEGER, running INTEGER, ns INTEGER, until HIDDEN", .column = rows_give_words},
	[SWEPT_SCHED_DISK] = {.name = "sl_sched_disk", UNTIL(3), .rows = 100000,
		.columns = "globalTid INTEGER, start INTEGER, end INTEGER, until HIDDEN", .column = rows_give_words},
	[SWEPT_SCHED_CPUS] = {.name = "sl_sched_cpus", UNTIL(1), .rows = 100,
		.columns = "cpu INTEGER, until HIDDEN", .column = rows_give_words},
};
/* clang-format on */

/* When the connection is closed: no table is open any more. */
static void sweeps_free(void *of)
{
	struct sweeps *s = ((const struct rows_table *)of)->sweeps;

	for (size_t i = 0; i < SWEPT_TABLES; i++)
		rows_shown_clear(&s->shown[i]);
	free(s->gpu);
	free(s);
}

/* Registered anew, tables would lose the rows that statements read. */
static bool is_registered(sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(db, "SELECT 1 FROM sl_event_spans", -1, &stmt, NULL);

	sqlite3_finalize(stmt);
	return rc == SQLITE_OK;
}

int sweeps_register(sqlite3 *db)
{
	struct sweeps *s = is_registered(db) ? NULL : calloc(1, sizeof(*s));
	int rc = SQLITE_OK;

	if (!s)
		return is_registered(db) ? SQLITE_OK : SQLITE_NOMEM;
	s->db = db;
	s->until = ROWS_NULL;
	/* A module owns all: it is closed after its tables. */
	for (size_t i = 0; rc == SQLITE_OK && i < SWEPT_TABLES; i++) {
		s->table[i] = tables[i];
		s->table[i].sweeps = s;
		s->table[i].shown = &s->shown[i];
		s->table[i].fill = fill;
		rc = rows_table_register(db, &s->table[i], i == 0 ? sweeps_free : NULL);
	}
	if (rc == SQLITE_OK)
		rc = launches_register(db);
	if (rc == SQLITE_OK)
		rc = thread_states_register(db);
	return rc == SQLITE_OK ? steps_register(db) : rc;
}
