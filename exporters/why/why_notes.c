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

/* A report holds the reason for missing samples, unless an option turned sampling off. */
static void put_samples(FILE *out, const struct why_model *m)
{
	const char *refused = m->samples.refused, *no_python = m->samples.no_python;

	if (!m->has_samples && !m->samples.taken) {
		fputs("Not recorded: samples; computing has no lines", out);
		fputs(refused ? ": " : " (--sample=process-tree)\n", out);
		if (refused)
			text_put_people(out, refused);
		fputs(refused ? "\n" : "", out);
	} else if (no_python && has_python(m)) {
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

void why_put_notes(FILE *out, const struct why *y)
{
	const struct why_model *m = &y->model;

	if (!m->has_switches)
		fputs("Not recorded: context switches; computing includes waiting for a CPU, and "
		      "no waits are followed to what ended them (--cpuctxsw=process-tree)\n",
		      out);
	put_samples(out, m);
	put_run_times(out, m);
	put_calls(out, m);
	if (m->has_gpu_calls && !m->has_gpu_stacks)
		fputs("Not recorded: stacks of CUDA calls; what a GPU does has no lines "
		      "(--cudabacktrace=all)\n",
		      out);
	if (m->lost)
		fprintf(out, "Lost: %lld events; what is said holds for the rest\n",
			(long long)m->lost);
}
