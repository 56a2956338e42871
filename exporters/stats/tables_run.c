/*
 * tables_run.c - makes the tables that were planned, and reports progress.
 *
 * Sums are made in advance by a few threads, each with a connection of its own, and come out in their order; they are small
 * once made. A table that may be as long as the recording is made in its turn, and each row goes out at once.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporters/stats/tables.h"
#include "exporters/text/terminal.h"

#define ROWS_ON_TERMINAL 20
#define LINES_AROUND     8 /* title, heads, what was left out, the prompt */
#define THREADS_MAX      3 /* each takes up to 100 MB for ten million events */

/*
 * Progress lines. They go to stdout among tables for people, as with nsys, and to
 * stderr where a program may be reading stdout.
 */
/* Progress lines go here; NULL: nowhere. */
static FILE *tables_log(const struct tables *t, const struct table_job *job)
{
	if (t->quiet)
		return NULL;
	return job->kind == OUTPUT_CONSOLE && !job->format->for_people ? stderr : stdout;
}

static void tables_log_start(FILE *log, const struct table_job *job)
{
	if (!log)
		return;
	fputs("Processing [", log);
	text_put_people(log, job->input);
	fprintf(log, "] with [%s]", job->report->name);
	if (job->kind != OUTPUT_CONSOLE) {
		fprintf(log, " to [%s", job->kind == OUTPUT_COMMAND ? "@" : "");
		text_put_people(log, job->target);
		putc(']', log);
	}
	fprintf(log, "...%s", job->kind == OUTPUT_CONSOLE ? "\n" : " ");
	fflush(log);
}

static void tables_log_skipped(FILE *log, const struct table_job *job, const char *what)
{
	if (!log)
		return;
	fprintf(log, "%sSKIPPED: ", job->kind == OUTPUT_CONSOLE ? "" : "\n");
	text_put_people(log, job->input);
	fprintf(log, " does not contain %s data.\n\n", what);
}

static void tables_log_end(FILE *log, const struct table_job *job, long long rows)
{
	if (!log || rows < 0)
		return;
	if (job->kind != OUTPUT_CONSOLE)
		fprintf(log, "PROCESSED%s\n", rows == 0 ? " (EMPTY RESULTS)" : "");
	fflush(log);
}

/* ---- one table ---- */

struct made {
	char *text; /* made in advance; else it goes to its output at once */
	size_t len;
	long long rows; /* -1: it failed, @why has the reason */
	bool has_data;
	bool opened; /* false: it could not be */
	char why[TABLES_WHY];
	enum {
		TODO,
		TAKEN,
		DONE
	} state;
};

/* Of a table that was asked for: as many as fill the screen, and no fewer than of one that was not. */
static long long rows_of_terminal(void)
{
	long long lines = (long long)terminal_lines(stdout);

	if (!lines)
		return 0; /* it does not say */
	lines -= LINES_AROUND;
	return lines > ROWS_ON_TERMINAL ? lines : ROWS_ON_TERMINAL;
}

/* Was JSON of a bounded size asked for? Then a table without data is an answer, too: an abstained one. */
static bool is_bounded(const struct tables *t, const struct table_job *job)
{
	return job->format == &format_json && bounds_are_asked(&t->bounds);
}

/* Tables that share the bytes of an answer on stdout. */
static size_t shares(const struct tables *t)
{
	size_t cnt = 0;

	for (size_t i = 0; i < t->job_cnt; i++)
		cnt += t->jobs[i].format == &format_json && t->jobs[i].kind == OUTPUT_CONSOLE;
	return cnt;
}

static long long write_rows(const struct tables *t, const struct table_job *job, sqlite3 *db,
			    FILE *out, char *why, size_t why_len)
{
	char title[512];
	struct sheet sheet = {
		.out = out,
		.title = title,
		.name = job->report->name,
		.console = job->kind == OUTPUT_CONSOLE,
		.opt = job->opt,
		.report = job->input,
	};
	struct bounds bounds = t->bounds;
	long long rows;

	/* On a terminal a table is read, by its first rows; elsewhere it is whole. */
	if (!t->shows_all && sheet.console && job->format->for_people && isatty(STDOUT_FILENO)) {
		sheet.most = t->all_defaults ? ROWS_ON_TERMINAL : rows_of_terminal();
		sheet.width = terminal_columns(stdout);
	}
	if (job->format == &format_json) {
		if (bounds_of_table(&bounds, sheet.console, shares(t), &sheet.array_if_fits))
			sheet.bounds = &bounds;
	} else if (t->bounds.has_limit) {
		sheet.most = t->bounds.limit;
	}
	query_title(db, job->report, title, sizeof(title));
	rows = query_run(db, job->report, t->unit, job->format, &sheet, why, why_len);
	if (rows >= 0 && sheet.more && !job->format->for_people)
		sl_warn("%s: %s: %lld more rows (--limit=0 shows all)", t->kind->command,
			job->report->name, sheet.more);
	return rows;
}

/* One line for one trouble: a report that vanished, or a console that is full, fails every table alike. */
static void complain(const struct tables *t, const char *line)
{
	static char last[TABLES_WHY];

	if (strcmp(line, last) == 0)
		return;
	snprintf(last, sizeof(last), "%s", line);
	sl_warn("%s: %s", t->kind->command, line);
}

/* Opens the output, and writes the table that was made in advance, or makes it. */
static int write_table(const struct tables *t, const struct table_job *job, struct made *m,
		       sqlite3 *db)
{
	struct output out = {
		.kind = job->kind,
		.target = job->target,
		.overwrite = t->force_overwrite,
	};
	int rc = m->rows < 0 ? -1 : output_open(&out, m->why, sizeof(m->why));
	char *line;

	if (rc == 0) {
		if (m->text)
			fwrite(m->text, 1, m->len, out.f);
		else
			m->rows = write_rows(t, job, db, out.f, m->why, sizeof(m->why));
		if (m->rows < 0) {
			char ignored[TABLES_WHY];

			output_close(&out, false, ignored, sizeof(ignored));
			rc = -1;
		} else {
			rc = output_close(&out, true, m->why, sizeof(m->why));
		}
	}
	if (rc < 0) {
		if (!t->quiet && job->kind != OUTPUT_CONSOLE) {
			putchar('\n');
			fflush(stdout);
		}
		if (asprintf(&line, "%s: %s", job->input, m->why) < 0)
			line = NULL;
		complain(t, line ? line : m->why);
		free(line);
	}
	return rc;
}

/* A connection in which nothing but query_has_data() was asked: good for the next report on the same file. */
struct unused {
	sqlite3 *db;
	const char *input;
};

static void close_unused(struct unused *u)
{
	sqlite3_close(u->db);
	u->db = NULL;
}

/* A connection for the report, which is the caller's; NULL: there is none, or no data for it. */
static sqlite3 *open_for(const struct tables *t, const struct table_job *job, struct made *m,
			 struct unused *u)
{
	sqlite3 *db;

	if (u->db && strcmp(u->input, job->input) != 0)
		close_unused(u);
	if (!u->db)
		u->db = tables_open_quietly(t, job->input, m->why, sizeof(m->why));
	u->input = job->input;
	m->opened = u->db != NULL;
	m->has_data = u->db && query_has_data(u->db, job->report, m->why, sizeof(m->why));
	if (!m->has_data)
		return NULL;
	db = u->db;
	u->db = NULL;
	return db;
}

/* Makes a table before its turn, in a thread. */
static void make_ahead(const struct tables *t, const struct table_job *job, struct made *m,
		       struct unused *u)
{
	sqlite3 *db = open_for(t, job, m, u);

	if (m->has_data) {
		FILE *out = open_memstream(&m->text, &m->len);

		m->rows = out ? write_rows(t, job, db, out, m->why, sizeof(m->why)) : -1;
		if (!out || fclose(out) != 0) {
			snprintf(m->why, sizeof(m->why), "out of memory");
			m->rows = -1;
		}
	}
	sqlite3_close(db);
}

static void abstain(const struct table_job *job, const char *what)
{
	char reason[TABLES_WHY + 64];

	snprintf(reason, sizeof(reason), "%s: the report does not contain %s data",
		 job->report->name, what);
	bounded_abstain(
		stdout, job->input, reason,
		"'sightline info' shows what the report has; 'sightline profile --help' lists what "
		"can be recorded (--trace, --sample, --gpu-metrics-devices)");
}

/* A table's turn: its lines, and itself. */
static int finish(const struct tables *t, const struct table_job *job, struct made *m, sqlite3 *db)
{
	FILE *log = tables_log(t, job);
	int rc = 0;

	if (!m->opened) {
		complain(t, m->why);
		return -1;
	}
	if (m->has_data) {
		tables_log_start(log, job);
		rc = write_table(t, job, m, db);
		if (rc == 0)
			tables_log_end(log, job, m->rows);
	} else if (!t->all_defaults || !report_quiet(job->report)) {
		tables_log_start(log, job);
		tables_log_skipped(log, job, m->why);
		if (is_bounded(t, job) && job->kind == OUTPUT_CONSOLE && !t->all_defaults)
			abstain(job, m->why);
	}
	free(m->text);
	m->text = NULL;
	return rc;
}

/* ---- all of them ---- */

struct crew {
	const struct tables *t;
	struct made *made;
	pthread_mutex_t lock;
	pthread_cond_t done;
};

/* An embedded report of sums is short for any file. */
static bool is_sum(const struct table_job *job)
{
	size_t len = strlen(job->report->name);

	return !job->report->from_file && len > 4 &&
	       strcmp(job->report->name + len - 4, "_sum") == 0;
}

/* The next free job; the first thread begins at the end, where the slow embedded reports are. */
static bool take(struct crew *c, bool backwards, size_t *which)
{
	size_t cnt = c->t->job_cnt;

	for (size_t k = 0; k < cnt; k++) {
		size_t i = backwards ? cnt - 1 - k : k;

		if (c->made[i].state == TODO && is_sum(&c->t->jobs[i])) {
			c->made[i].state = TAKEN;
			*which = i;
			return true;
		}
	}
	return false;
}

static void work(struct crew *c, bool backwards)
{
	struct unused unused = {0};
	size_t i;

	pthread_mutex_lock(&c->lock);
	while (take(c, backwards, &i)) {
		pthread_mutex_unlock(&c->lock);
		make_ahead(c->t, &c->t->jobs[i], &c->made[i], &unused);
		pthread_mutex_lock(&c->lock);
		c->made[i].state = DONE;
		pthread_cond_broadcast(&c->done);
	}
	pthread_mutex_unlock(&c->lock);
	close_unused(&unused);
}

static void *work_backwards(void *c)
{
	work(c, true);
	return NULL;
}
static void *work_forwards(void *c)
{
	work(c, false);
	return NULL;
}

/* As many as there are processors for, if there is something to share. */
static size_t start_crew(struct crew *c, pthread_t *thread)
{
	cpu_set_t cpus;
	size_t want = 0, cnt = 0;

	for (size_t i = 0; i < c->t->job_cnt; i++)
		want += is_sum(&c->t->jobs[i]);
	if (want < 2 || sched_getaffinity(0, sizeof(cpus), &cpus) < 0 || CPU_COUNT(&cpus) < 2)
		return 0;
	if (want > THREADS_MAX)
		want = THREADS_MAX;
	if (want > (size_t)CPU_COUNT(&cpus))
		want = (size_t)CPU_COUNT(&cpus);
	while (cnt < want && pthread_create(&thread[cnt], NULL,
					    cnt == 0 ? work_backwards : work_forwards, c) == 0)
		cnt++;
	return cnt;
}

/* Waits for it to be made in advance; false: no thread makes it. */
static bool await(struct crew *c, size_t i)
{
	bool ahead;

	pthread_mutex_lock(&c->lock);
	ahead = c->made[i].state != TODO;
	if (!ahead)
		c->made[i].state = TAKEN;
	while (ahead && c->made[i].state != DONE)
		pthread_cond_wait(&c->done, &c->lock);
	pthread_mutex_unlock(&c->lock);
	return ahead;
}

int tables_run(struct tables *t)
{
	struct crew crew = {
		.t = t, .lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};
	pthread_t thread[THREADS_MAX];
	struct unused unused = {0};
	size_t threads, answered = 0;
	int rc = 0;

	crew.made = calloc(t->job_cnt ? t->job_cnt : 1, sizeof(*crew.made));
	if (!crew.made) {
		sl_warn("%s: out of memory", t->kind->command);
		return SL_EXIT_FAIL;
	}
	threads = start_crew(&crew, thread);
	for (size_t i = 0; i < t->job_cnt; i++) {
		bool ahead = await(&crew, i);
		sqlite3 *db = ahead ? NULL : open_for(t, &t->jobs[i], &crew.made[i], &unused);

		if (finish(t, &t->jobs[i], &crew.made[i], db) < 0)
			rc = SL_EXIT_FAIL;
		sqlite3_close(db);
		answered += crew.made[i].has_data || !is_bounded(t, &t->jobs[i]);
	}
	if (rc == 0 && t->job_cnt && !answered)
		rc = SL_EXIT_ABSTAINED;
	for (size_t i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	close_unused(&unused);
	free(crew.made);
	return rc;
}
