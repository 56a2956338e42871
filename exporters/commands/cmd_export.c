/*
 * cmd_export.c - sightline export: a report in another format.
 *
 * Everything is checked first, then written (target.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/commands.h"
#include "collector/base/now.h"
#include "exporters/commands/cmd_export.h"
#include "exporters/read/db_read.h"
#include "exporters/read/report_input.h"
#include "exporters/read/sql_rows.h"
#include "exporters/formats/target.h"
#include "exporters/text/cell.h"
#include "exporters/text/output.h"

/* Reports of about 3 million events: 2 s and 180 MiB more, a trace of four times the size where all are of one thread. */
#define WHY_BYTES_MAX ((off_t)128 << 20)

#define EXPORTER(name) extern const struct exporter exporter_##name;
#include "exporters/formats/exporters.def"
#undef EXPORTER

const struct exporter *const exporter_list[] = {
#define EXPORTER(name) &exporter_##name,
#include "exporters/formats/exporters.def"
#undef EXPORTER
	NULL,
};

/* ---- progress ---- */

static double seconds_since(int64_t ns)
{
	return (double)(mono_ns() - ns) / 1e9;
}

static int on_progress(void *self, uint64_t done, uint64_t total)
{
	struct export *x = self;

	if (target_signal())
		return -1;
	if (!x->show || seconds_since(x->told) < 0.2)
		return 0;
	x->told = mono_ns();
	double part = total > 0 && done < total ? 100.0 * (double)done / (double)total : 100;

	putc('\r', stderr);
	text_put_people(stderr, x->target);
	fprintf(stderr, ": %.1f M events, %.0f %%, %.2f M/s \033[K", (double)done / 1e6, part,
		(double)done / 1e6 / (seconds_since(x->began) + 1e-9));
	return 0;
}

static void end_progress(struct export *x, bool good)
{
	double took = seconds_since(x->began);

	if (!x->show)
		return;
	fputs("\r\033[K", stderr);
	if (!good || x->job.events == 0)
		return;
	text_put_people(stderr, x->target);
	fprintf(stderr, ": %llu events in %.1f s (%.2f M/s)\n", (unsigned long long)x->job.events,
		took, (double)x->job.events / 1e6 / (took + 1e-9));
}

/* ---- options ---- */

static void find_type(struct export *x)
{
	x->exporter = exporter_list[0];
	for (const struct exporter *const *e = exporter_list; x->type && *e; e++)
		if (strcmp((*e)->name, x->type) == 0)
			x->exporter = *e;
}

/* Whether the database beside the report is what shall be written. */
static bool find_is_target(const void *ctx, const char *sqlite)
{
	const struct export *x = ctx;

	return strcmp(x->exporter->name, "sqlite") == 0 &&
	       (!x->output || output_same_file(x->output, sqlite));
}

static int find_input(struct export *x)
{
	const struct report_input how = {
		.command = "export", .quiet = x->quiet, .is_target = find_is_target, .ctx = x};

	if (x->input)
		return report_input_find(&how, &x->input);
	sl_warn("export: no report is named: %s", export_usage);
	return SL_EXIT_USAGE;
}

static char *derived(const struct export *x, int len, const char *more)
{
	const char *extension = x->exporter->extension, *dot = *extension == '_' ? "" : ".";
	char *name = NULL;

	return asprintf(&name, "%.*s%s%s%s", len, x->input, more, dot, extension) < 0 ? NULL : name;
}

static int find_target(struct export *x)
{
	const char *slash = strrchr(x->input, '/'), *name = slash ? slash + 1 : x->input;
	const char *dot = strrchr(name, '.');
	int len = dot && dot > name ? (int)(dot - x->input) : (int)strlen(x->input);

	if (x->output)
		x->target = strdup(x->output);
	else
		x->target = derived(x, len, "");
	/* "name/" is name: the temporary output lies next to it. */
	if (x->target && x->exporter->shape == EXPORT_FOLDER)
		for (size_t at = strlen(x->target); at > 1 && x->target[at - 1] == '/';)
			x->target[--at] = 0;
	/* A report is never its own export. */
	if (x->target && !x->output && output_same_file(x->target, x->input)) {
		free(x->target);
		x->target = derived(x, len, "_export");
	}
	if (!x->target) {
		sl_warn("export: out of memory");
		return SL_EXIT_FAIL;
	}
	if (output_same_file(x->target, x->input)) {
		sl_warn("export: %s is the report itself; name another -o", x->target);
		return SL_EXIT_USAGE;
	}
	return 0;
}

/* By the name; some types are always packed, which their readers know. */
static bool find_packing(struct export *x, enum out_packing *packing)
{
	if (!out_packing_of(x->target, packing, x->why, EXPORT_WHY))
		return false;
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): cmd_export() frees */
	if (*packing == OUT_PLAIN && x->exporter->packs &&
	    !out_packing_of("x.gz", packing, x->why, EXPORT_WHY))
		*packing = OUT_PLAIN; /* not built in */
	return true;
}

static int check_target(struct export *x)
{
	bool console = strcmp(x->target, "-") == 0;
	enum out_packing packing;
	struct stat st;

	if (console && x->exporter->shape != EXPORT_STREAM) {
		sl_warn("export: %s is %s and cannot go to stdout", x->exporter->name,
			x->exporter->shape == EXPORT_FOLDER ? "a folder" : "a database");
		return SL_EXIT_USAGE;
	}
	if (!find_packing(x, &packing)) {
		sl_warn("export: %s", x->why);
		return SL_EXIT_FAIL;
	}
	x->packing = packing;
	if (x->packing != OUT_PLAIN && x->exporter->shape != EXPORT_STREAM) {
		sl_warn("export: %s cannot be packed: %s", x->exporter->name, x->target);
		return SL_EXIT_USAGE;
	}
	if (console || stat(x->target, &st) < 0)
		return 0;
	if (!x->force) {
		sl_warn("export: %s exists already; --force-overwrite=true replaces it", x->target);
		return SL_EXIT_FAIL;
	}
	if (S_ISDIR(st.st_mode) != (x->exporter->shape == EXPORT_FOLDER)) {
		sl_warn("export: %s is %s folder", x->target, S_ISDIR(st.st_mode) ? "a" : "no");
		return SL_EXIT_FAIL;
	}
	return 0;
}

static int check_shift(struct export *x)
{
	char *end = NULL;

	if (!x->shift)
		return 0;
	errno = 0;
	x->job.opt.shift = strtoll(x->shift, &end, 10);
	if (*x->shift && !*end && errno == 0)
		return 0;
	sl_warn("export: --ts-shift takes a whole number of ns, not '%s'", x->shift);
	return SL_EXIT_USAGE;
}

/* Options that this format would ignore are refused, above all options that leave out private data. */
static int check_use(const struct export *x)
{
	const struct exporter *e = x->exporter;
	const char *option = NULL, *types = "tables";

	if (x->activities && e->activities == 0) {
		option = "--activities";
		types = "timelines";
	} else if (x->tables && (e->activities != 0 || e->flames)) {
		option = "--tables";
	} else if ((x->flame || x->frames) && !e->flames) {
		option = x->flame ? "--flame" : "--frames";
		types = "types folded, speedscope and pprof";
	} else if (x->explain && !e->explains) {
		option = "--why";
		types = "types chrome and perfetto";
	} else if (x->anonymize && strcmp(e->name, "sqlite") != 0) {
		option = "--anonymize";
		types = "type sqlite, whose result can then be exported further";
	}
	if (!option)
		return 0;
	sl_warn("export: %s is for %s, not for type %s", option, types, e->name);
	return SL_EXIT_USAGE;
}

static int check_flame(struct export *x)
{
	static const char *const words[] = {"function", "line", "module"};
	int rc = 0;

	if (x->python_only && !x->flame) {
		sl_warn("export: --python-only is for stacks: --flame names what is added up by "
			"them");
		return SL_EXIT_USAGE;
	}
	if (x->flame && x->activities) {
		sl_warn("export: --activities is for ranges and calls as they nest, --flame for "
			"stacks: name one of them");
		return SL_EXIT_USAGE;
	}
	if (x->flame) {
		x->job.opt.flame = stack_costs_parse(x->flame, x->why, EXPORT_WHY);
		rc = x->job.opt.flame ? 0 : -1;
	}
	for (int i = 0; x->frames && i < 3; i++)
		if (strcmp(words[i], x->frames) == 0)
			x->job.opt.frames = (enum stack_frames)i;
	if (rc == 0)
		return 0;
	sl_warn("export: %s", x->why);
	return SL_EXIT_USAGE;
}

static int check_filters(struct export *x)
{
	int rc = 0;

	if (x->time)
		rc = db_filter_time(&x->filter, x->time, x->why, EXPORT_WHY);
	if (x->times && rc == 0)
		rc = db_filter_time(&x->filter, x->times, x->why, EXPORT_WHY);
	if (x->nvtx && rc == 0)
		rc = db_filter_nvtx(&x->filter, x->nvtx, x->why, EXPORT_WHY);
	if (x->pid && rc == 0)
		rc = db_filter_pid(&x->filter, x->pid, x->why, EXPORT_WHY);
	x->job.opt.activities = x->exporter->activities;
	if (x->activities && rc == 0) {
		x->job.opt.activities = tl_activities_parse(x->activities, x->why, EXPORT_WHY);
		rc = x->job.opt.activities ? 0 : -1;
	}
	if (rc == 0 && x->explain && (x->nvtx || x->pid)) {
		snprintf(x->why, EXPORT_WHY,
			 "--why explains all of the time: it cannot stand with %s",
			 x->nvtx ? "--nvtx" : "--pid");
		rc = strcmp(x->explain, "true") == 0 ? -1 : 0;
	}
	if (rc == 0)
		return 0;
	sl_warn("export: %s", x->why);
	return SL_EXIT_USAGE;
}

/* ---- the report ---- */

static int on_sqlite(void *unused)
{
	(void)unused;
	return target_signal() != 0 || db_read_is_spent();
}

static int open_report(struct export *x)
{
	sqlite3 *db = x->exporter->repairs ? db_read_open_damaged(x->input, x->why, EXPORT_WHY)
					   : db_read_open(x->input, x->why, EXPORT_WHY);
	sqlite3_stmt *stmt = NULL;
	int64_t utc = 0;

	if (!db) {
		sl_warn("export: %s", x->why);
		return SL_EXIT_FAIL;
	}
	x->job.db = db;
	/* A signal shall also stop it in the middle of a long sort. */
	target_catch_signals();
	sqlite3_progress_handler(db, 1000000, on_sqlite, NULL);
	if (db_filter_any(&x->filter) && db_filter_apply(db, &x->filter, x->why, EXPORT_WHY) < 0) {
		sl_warn("export: %s: %s", x->input, x->why);
		return SL_EXIT_FAIL;
	}
	if (!x->normalize)
		return 0;
	if ((stmt = sql_first(db, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME")) != NULL)
		utc = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	if (utc == 0) {
		sl_warn("export: %s does not hold the time it began: --ts-normalize is not "
			"possible",
			x->input);
		return SL_EXIT_FAIL;
	}
	x->job.opt.shift += utc;
	return 0;
}

/* A database of all of a report of nsys is made of it at once, as nsys makes it: without another one in between. */
static bool is_conversion(const struct export *x)
{
	return strcmp(x->exporter->name, "sqlite") == 0 && db_read_is_of_nsys(x->input) &&
	       !db_filter_any(&x->filter) && !x->shift && !x->normalize && !x->anonymize &&
	       !x->tables && x->lazy;
}

/* ---- tracks of sightline why ---- */

/* Unless asked for, only where it costs little beside the rest: the walk holds its part of the report in memory. */
static bool explains(const struct export *x)
{
	struct stat st;

	if (!x->exporter->explains)
		return false;
	if (x->explain)
		return strcmp(x->explain, "true") == 0;
	/* Why does not explain the time of ranges or of some processes. */
	return !x->activities && !x->nvtx && !x->pid && stat(x->input, &st) == 0 &&
	       st.st_size <= WHY_BYTES_MAX;
}

/* The walk looks at hidden events, too: a cause may lie outside of the time that is exported. */
static int add_tracks(struct export *x)
{
	int rc = -1;

	if (!explains(x))
		return 0;
	x->all = db_read_open(x->input, x->why, EXPORT_WHY);
	if (x->all) {
		sqlite3_progress_handler(x->all, 1000000, on_sqlite, NULL);
		rc = why_tracks_make(&x->tracks, x->all, &x->filter, x->why, EXPORT_WHY);
	}
	if (rc == 0)
		return 0;
	why_tracks_free(&x->tracks);
	memset(&x->tracks, 0, sizeof(x->tracks));
	if (!x->explain)
		return 0;
	if (!target_signal())
		sl_warn("export: %s: %s", x->input, x->why);
	return SL_EXIT_FAIL;
}

static void fill_job(struct export *x)
{
	struct export_options *o = &x->job.opt;

	x->job.input = x->input;
	x->job.output = x->target;
	o->tables = x->tables;
	o->lazy = x->lazy;
	o->include_blobs = x->blobs;
	o->include_json = x->json;
	o->anonymize = x->anonymize;
	o->normalize = x->normalize;
	o->quiet = x->quiet;
	o->python_only = x->python_only;
	o->time = x->time;
	o->times = x->times;
	o->nvtx = x->nvtx;
	o->pid = x->pid;
	o->given_shift = x->shift;
	x->job.timeline = (struct tl_options){
		.activities = o->activities,
		.shift = o->shift,
		.filtered = db_filter_any(&x->filter),
		.made = x->tracks.made.tracks_cnt ? &x->tracks.made : NULL,
		.progress = on_progress,
		.of_progress = x,
	};
	x->show = !x->quiet && isatty(STDERR_FILENO);
	x->began = mono_ns();
	x->told = x->began;
}

static int write_result(struct export *x)
{
	const struct target target = {
		.name = x->target, .overwrite = x->force, .packing = x->packing};
	int rc;

	fill_job(x);
	db_read_copies(x->input);
	rc = target_write(&target, x->exporter, &x->job, x->why, EXPORT_WHY);
	end_progress(x, rc == 0);
	if (rc == 0)
		return 0;
	if (!target_signal())
		sl_warn("export: %s: %s", x->input, *x->why ? x->why : "failed");
	return SL_EXIT_FAIL;
}

int cmd_export(int argc, char **argv)
{
	struct export x = {.lazy = true};
	int rc = export_parse(&x, argc, argv);

	if (rc == 0) {
		find_type(&x);
		rc = find_input(&x);
	}
	if (rc == 0)
		rc = find_target(&x);
	if (rc == 0)
		rc = check_target(&x);
	if (rc == 0)
		rc = check_shift(&x);
	if (rc == 0)
		rc = check_use(&x);
	if (rc == 0)
		rc = check_flame(&x);
	if (rc == 0)
		rc = check_filters(&x);
	if (rc == 0 && is_conversion(&x))
		target_catch_signals();
	else if (rc == 0)
		rc = open_report(&x);
	if (rc == 0)
		rc = add_tracks(&x);
	if (rc == 0)
		rc = write_result(&x);
	why_tracks_free(&x.tracks);
	sqlite3_close(x.all);
	sqlite3_close(x.job.db);
	db_filter_free(&x.filter);
	free(x.input);
	free(x.target);
	target_end_by_signal();
	return rc == OPT_HELP_SHOWN ? 0 : rc;
}
