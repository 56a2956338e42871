/* why_notes.c - what the report lacks, and the option that records it. */
#include <string.h>

#include "exporters/read/sql_rows.h"
#include "exporters/text/cell.h"
#include "exporters/why/why_out.h"

static bool has_python(const struct why_model *m)
{
	for (size_t i = 0; i < m->processes_cnt; i++) {
		const char *exe = m->processes[i].exe, *name = exe ? strrchr(exe, '/') : NULL;

		if (exe && strncmp(name ? name + 1 : exe, "python", 6) == 0)
			return true;
	}
	return false;
}

/* Has what computes most no line? Frames that are read from outside are missing where the processors are busy. */
static bool lacks_python(const struct why *y)
{
	size_t i = 0;

	while (i < y->parts_cnt && y->parts[i].cause.reason != WHY_COMPUTE)
		i++;
	return !strstr(y->model.samples.no_python, "read from outside") ||
	       (i < y->parts_cnt && y->parts[i].cause.place == PLACE_NONE);
}

/* A report holds the reason for missing samples, unless an option turned sampling off. */
static void put_samples(FILE *out, const struct why *y)
{
	const struct why_model *m = &y->model;
	const char *refused = m->samples.refused, *no_python = m->samples.no_python;

	if (!m->has_samples && !m->samples.taken) {
		fputs("Not recorded: samples; computing has no lines", out);
		fputs(refused ? ": " : " (--sample=process-tree)\n", out);
		if (refused)
			text_put_people(out, refused);
		fputs(refused ? "\n" : "", out);
	} else if (no_python && has_python(m) && lacks_python(y)) {
		fputs("Not recorded: Python's lines of what computes: ", out);
		text_put_people(out, no_python);
		putc('\n', out);
	}
}

/* Run times that make code as they run, and the options by which they name that code. */
static const struct {
	const char *exe, *what;
} run_times[] = {
	{"java", "Java's compiled methods (java -XX:+PreserveFramePointer "
		 "-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit)"},
	{"node",
	 "JavaScript's functions (node --perf-basic-prof --interpreted-frames-native-stack)"},
	{"nodejs",
	 "JavaScript's functions (node --perf-basic-prof --interpreted-frames-native-stack)"},
	{"dotnet", ".NET's methods (DOTNET_PerfMapEnabled=1)"},
	{"julia", "Julia's functions (ENABLE_JITPROFILING=1, USE_PERF_JITEVENTS=1)"},
};

static bool has_program(const struct why_model *m, const char *name)
{
	for (size_t i = 0; i < m->processes_cnt; i++) {
		const char *exe = m->processes[i].exe, *slash = exe ? strrchr(exe, '/') : NULL;

		if (exe && strcmp(slash ? slash + 1 : exe, name) == 0)
			return true;
	}
	return false;
}

static bool any_row(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = sql_first(db, sql);
	bool any = stmt != NULL;

	sqlite3_finalize(stmt);
	return any;
}

/* Code made at run time has names only where its run time was asked for them. */
static void put_run_times(FILE *out, const struct why_model *m)
{
	if (!m->has_samples || !db_read_has(m->db, "SL_FRAMES") ||
	    any_row(m->db, "SELECT 1 FROM SL_FRAMES WHERE kind = 3"))
		return;
	for (size_t i = 0; i < sizeof(run_times) / sizeof(*run_times); i++)
		if (has_program(m, run_times[i].exe))
			fprintf(out, "Not recorded: names of %s\n", run_times[i].what);
}

/* The program may not call the C library that is hooked. */
static void put_calls(FILE *out, const struct why_model *m)
{
	if (m->has_go)
		fputs("Not recorded: what goroutines wait for, and which thread goes on with them: "
		      "no gain is known (go tool trace; --syscall=process-tree names waits of "
		      "threads)\n",
		      out);
	else if (!m->has_calls && any_row(m->db, "SELECT 1 FROM META_DATA_CAPTURE WHERE name = "
						 "'CAPTURE_EVENT_TYPE' AND value = 'osrt'"))
		fputs("Not recorded: calls of the C library: the program has none that can be "
		      "hooked; waits have no names (--syscall=process-tree)\n",
		      out);
	else if (!m->has_calls)
		fputs("Not recorded: calls; waits have no names (--trace=osrt, "
		      "--syscall=process-tree)\n",
		      out);
}

/* ---- losses ---- */

/* A smaller part of the events, or of the time, changes no line of the answer. */
#define LOST_LEAST 0.01

struct lost_line {
	const struct why *y;
	FILE *out;
	bool has_begun;
};

/* Events of a kind that the model has; -1: they are not counted there. */
static int64_t had_of(const struct why_model *m, const char *kind)
{
	bool is_switch = strcmp(kind, "context switches") == 0;
	int64_t sum = 0;

	if (!is_switch && strcmp(kind, "CPU samples") != 0)
		return -1;
	for (size_t i = 0; i < m->threads_cnt; i++)
		sum += (int64_t)(is_switch ? m->threads[i].switches_cnt
					   : m->threads[i].samples_cnt);
	return sum;
}

/* Share of the explained time in which context switches were lost. */
static double lost_time(const struct why *y)
{
	double sum = 0;

	for (size_t i = 0; i < y->model.losses_cnt; i++) {
		const struct why_loss *l = &y->model.losses[i];
		int64_t from = l->start > y->from ? l->start : y->from;
		int64_t to = l->end < y->to ? l->end : y->to;

		sum += to > from ? (double)to - (double)from : 0;
	}
	return y->to > y->from ? sum / ((double)y->to - (double)y->from) : 0;
}

/* kind, count */
static int lost_row(void *ctx, sqlite3_stmt *stmt)
{
	struct lost_line *l = ctx;
	const char *kind = (const char *)sqlite3_column_text(stmt, 0);
	int64_t n = sqlite3_column_int64(stmt, 1), had = kind ? had_of(&l->y->model, kind) : -1;
	double part = had < 0 ? 1 : (double)n / ((double)n + (double)had), time = 0;

	if (!kind || n <= 0)
		return SQLITE_OK;
	if (strcmp(kind, "context switches") == 0)
		time = lost_time(l->y);
	if (part < LOST_LEAST && time < LOST_LEAST)
		return SQLITE_OK;
	fputs(l->has_begun ? ", " : "Lost: ", l->out);
	l->has_begun = true;
	text_put_people(l->out, kind);
	if (had < 0)
		fprintf(l->out, " (%lld)", (long long)n);
	else
		fprintf(l->out, " (%.0f %%)", 100 * part);
	if (time >= LOST_LEAST)
		fprintf(l->out, " in %.0f %% of the time", 100 * time);
	return SQLITE_OK;
}

static void put_lost(FILE *out, const struct why *y)
{
	struct lost_line l = {y, out, false};

	sql_rows(y->model.db,
		 "SELECT substr(what, 1, instr(what || ':', ':') - 1), sum(count) FROM "
		 "SL_LOST_EVENTS "
		 "WHERE what NOT LIKE 'callers in stacks%' GROUP BY 1 ORDER BY 1",
		 lost_row, &l);
	if (l.has_begun)
		fputs("; what is said holds for the rest\n", out);
}

/* Is a part of the answer a wait that others end, or behind one? */
static bool has_waits(const struct why *y)
{
	double sum = 0;

	for (uint32_t r = 0; r < WHY_REASON_CNT; r++)
		sum += walk_waits_for_others(r) ? (double)y->of_reason[r] : 0;
	return y->walk.hops_cnt > 1 || sum >= LOST_LEAST * (double)y->ns;
}

void why_put_notes(FILE *out, const struct why *y)
{
	const struct why_model *m = &y->model;

	if (!m->has_switches)
		fprintf(out,
			"Not recorded: context switches; computing includes waiting for a CPU, and "
			"%s (--cpuctxsw=process-tree)\n",
			m->follows_calls && has_waits(y)
				? "waits are followed only as far as calls say"
				: "no waits are followed to what ended them");
	else if (m->follows_calls && has_waits(y))
		fputs("Not recorded: wakers, which need eBPF (root, or CAP_BPF and CAP_PERFMON); "
		      "waits are followed as far as calls say: likely at most, but for threads "
		      "that are joined and children\n",
		      out);
	put_samples(out, y);
	put_run_times(out, m);
	put_calls(out, m);
	if (m->has_gpu_calls && !m->has_gpu_stacks)
		fputs("Not recorded: stacks of CUDA calls; what a GPU does has no lines "
		      "(--cudabacktrace=all)\n",
		      out);
	if (m->lost)
		put_lost(out, y);
}
