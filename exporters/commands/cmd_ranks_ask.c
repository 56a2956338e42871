/* cmd_ranks_ask.c - sightline ranks ask, sql: questions over a dataset, by an engine that is there. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/message.h"
#include "collector/base/options.h"
#include "exporters/commands/cmd_ranks.h"
#include "exporters/ranks/run_choice.h"
#include "exporters/read/sql_rows.h"
#include "exporters/sql/report.h"

static const char usage[] = "sightline ranks ask QUESTION -d DATASET [options]";
static const char examples[] =
	"Questions are SQL that DuckDB (one machine) and Spark (a cluster) both run; "
	"--engine=print prints the "
	"definitions\n"
	"of the views and the statement, for a cluster of one's own.\n"
	"\n"
	"Exit status: 0, 3 when a condition of --fail-on holds for a row, 1 when something failed "
	"(also in the "
	"engine), 2 for\n"
	"wrong use.\n"
	"\n"
	"Examples:\n"
	"  sightline ranks ask straggler -d /shared/dataset\n"
	"  sightline ranks ask why -d dataset --run 4711 --top 5\n"
	"  sightline ranks ask changed -d dataset --run after --base before -f csv\n"
	"  sightline ranks ask straggler -d s3a://bucket/dataset --run 4711 --engine print-spark "
	">straggler.sql\n"
	"  sightline ranks ask straggler -d dataset --top 1 --fail-on 'share > 0.3'\n"
	"  sightline ranks ask waits -d dataset --steps 100-120\n"
	"  sightline ranks ask network --explain\n"
	"  sightline ranks ask --list\n";

static const char sql_usage[] = "sightline ranks sql [QUESTION] -d DATASET [options]";
static const char sql_examples[] =
	"Prints the definitions of the views over a dataset, and the statement of a question, for "
	"a "
	"cluster or notebook of\n"
	"one's own. With --run the dataset may be anywhere, as in an object store; where it can be "
	"read here, views leave out\n"
	"rows that newer ones have replaced (a node that was replaced, a rank that was started "
	"again).\n"
	"\n"
	"Examples:\n"
	"  sightline ranks sql -d dataset >views.sql && duckdb -init views.sql\n"
	"  sightline ranks sql straggler -d s3a://bucket/dataset --run 4711 --engine spark "
	">straggler.sql\n";

struct options {
	struct ask ask;
	const char *question;
	bool list, explain;
	const char *steps;
	int64_t step_range[2];
	const char *fail_on;
	struct chosen chosen;
};

static void list_questions(void)
{
	char name[64], title[128];

	for (size_t i = 0; ask_name(i, name); i++)
		if (report_field(ask_question(name), "title", 0, title, sizeof(title)))
			printf("  %-10s %s\n", name, title);
}

static int unknown(const char *command, const char *word)
{
	const char *near = NULL;
	static char names[64][64];
	char name[64];

	for (size_t i = 0; i < 64 && ask_name(i, name); i++) {
		memcpy(names[i], name, sizeof(name));
		near = sl_nearest(word, near, names[i]);
	}
	if (near)
		sl_warn("%s: there is no question '%s'; did you mean '%s'?", command, word, near);
	else
		sl_warn("%s: there is no question '%s' ('ranks ask --list' shows them)", command,
			word);
	return SL_EXIT_USAGE;
}

/* A dataset that is printed for may be anywhere. */
static int print(const char *command, struct options *o)
{
	bool is_here = access(o->ask.folder, F_OK) == 0;
	int status = 0;
	char *script;

	if (is_here || (o->ask.sql && !o->ask.run))
		status = choose_run(command, &o->ask, &o->chosen);
	script = status ? NULL : ask_script(&o->ask);
	if (script)
		fputs(script, stdout);
	else if (!status)
		sl_warn("%s: out of memory", command);
	status = script ? 0 : SL_EXIT_FAIL;
	free(script);
	return status;
}

/* What the answer is about. Numbers out of manifests, and no text of them. */
static void put_coverage(const struct options *o)
{
	char *text = coverage_text(&o->chosen.coverage, o->ask.sql), *rest = text, *line;

	while ((line = strsep(&rest, "\n")))
		fprintf(stderr, "sightline: run %s: %s\n", o->ask.run, line);
	free(text);
}

/* ---- --fail-on ---- */

/* "share > 0.5": a column of the question, and a number. The text goes into a statement: nothing else passes. */
struct condition {
	char column[64];
	const char *op;
	double limit;
};

static bool has_answer_column(const char *sql, const char *column)
{
	char text[256];

	for (int i = 0; report_field(sql, "column", i, text, sizeof(text)); i++) {
		text[strcspn(text, " =")] = 0;
		if (strcmp(text, column) == 0)
			return true;
	}
	return false;
}

static bool read_condition(const char *text, const char *sql, struct condition *c)
{
	static const char *const ops[] = {">=", "<=", ">", "<", "="};
	size_t len;
	char *end;

	text += strspn(text, " ");
	len = strcspn(text, " <>=");
	if (!len || len >= sizeof(c->column))
		return false;
	snprintf(c->column, sizeof(c->column), "%.*s", (int)len, text);
	text += len + strspn(text + len, " ");
	c->op = NULL;
	for (size_t i = 0; !c->op && i < sizeof(ops) / sizeof(ops[0]); i++)
		if (strncmp(text, ops[i], strlen(ops[i])) == 0)
			c->op = ops[i];
	if (!c->op)
		return false;
	text += strlen(c->op);
	c->limit = strtod(text, &end);
	return end != text && !end[strspn(end, " ")] && isfinite(c->limit) &&
	       has_answer_column(sql, c->column);
}

/* The question as one that counts its rows for which the condition holds. malloc'd, NULL: no memory. */
static char *counting(const char *sql, const struct condition *c)
{
	const char *end = strrchr(sql, ';');
	char *text;

	while (strncmp(sql, "--", 2) == 0)
		sql += strcspn(sql, "\n") + 1;
	if (!end ||
	    asprintf(&text,
		     "SELECT count(*) AS n FROM (\n%.*s\n) AS answer WHERE \"%s\" %s %.17g;\n",
		     (int)(end - sql), sql, c->column, c->op, c->limit) < 0)
		return NULL;
	return text;
}

/* Rows for which it holds; -1: the engine failed. */
static long long count_rows(const struct options *o, const struct condition *c)
{
	char *sql = counting(o->ask.sql, c), *script = NULL, line[256];
	struct ask a = o->ask;
	long long rows = -1;
	int from = -1;
	pid_t pid = -1;
	FILE *f;

	a.sql = sql; /* without a head */
	a.format = "csv";
	a.for_people = false;
	if (sql)
		script = ask_script(&a);
	if (script)
		pid = ask_start("ranks ask", &a, script, &from);
	f = pid > 0 ? fdopen(from, "r") : NULL;
	while (f && fgets(line, sizeof(line), f))
		if (*line && strspn(line, "0123456789") == strcspn(line, "\r\n"))
			rows = atoll(line);
	if (f)
		fclose(f);
	else if (from >= 0)
		close(from);
	if (pid > 0 && ask_wait("ranks ask", pid) != 0)
		rows = -1;
	free(script);
	free(sql);
	return rows;
}

/* An exit status. */
static int judge(const struct options *o)
{
	struct condition c;
	long long rows;

	if (!o->fail_on || !read_condition(o->fail_on, o->ask.sql, &c))
		return 0;
	rows = count_rows(o, &c);
	if (rows < 0) {
		sl_warn("ranks ask: --fail-on=%s: %s gave no number", o->fail_on, o->ask.engine);
		return SL_EXIT_FAIL;
	}
	if (!rows)
		return 0;
	sl_warn("ranks ask: --fail-on=%s: it holds for %lld of the rows", o->fail_on, rows);
	return SL_EXIT_FOUND;
}

/* An engine names a file that it cannot read, and no way out. */
static void put_damage(const struct options *o)
{
	char why[256];
	sqlite3 *db =
		manifests_read(o->ask.folder, o->ask.base ? NULL : o->ask.run, why, sizeof(why));
	sqlite3_stmt *bad = NULL;

	if (db && manifests_check_files(db, o->ask.folder, false) == SQLITE_OK)
		bad = sql_first(db, "SELECT count(*) FROM bad HAVING count(*) > 0");
	if (bad)
		sl_warn("ranks ask: %lld files of the dataset cannot be read: 'sightline ranks "
			"check -d %s' names them (--repair moves parts away)",
			(long long)sqlite3_column_int64(bad, 0), o->ask.folder);
	sqlite3_finalize(bad);
	sqlite3_close(db);
}

static int answer(struct options *o)
{
	char title[128];
	char *script = NULL;
	int status = choose_run("ranks ask", &o->ask, &o->chosen);
	pid_t pid;

	if (status == 0)
		status = choose_engine("ranks ask", &o->ask);
	if (status)
		return status;
	o->ask.for_people =
		strcmp(o->ask.engine, "duckdb") == 0 && strcmp(o->ask.format, "text") == 0;
	script = ask_script(&o->ask);
	if (!script) {
		sl_warn("ranks ask: out of memory");
		return SL_EXIT_FAIL;
	}
	report_field(o->ask.sql, "title", 0, title, sizeof(title));
	fprintf(stderr, "sightline: run %s: %s\n", o->ask.run, title);
	put_coverage(o);
	pid = ask_start("ranks ask", &o->ask, script, NULL);
	status = pid > 0 && ask_wait("ranks ask", pid) == 0 ? 0 : SL_EXIT_FAIL;
	free(script);
	if (pid > 0 && status)
		put_damage(o);
	return status ? status : judge(o);
}

/* Title, explanation and columns. */
static void explain(const char *sql)
{
	static const char *const keys[] = {"title", "about", "column"};
	char text[512];

	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
		for (unsigned i = 0; report_field(sql, keys[k], i, text, sizeof(text)); i++)
			printf("%s%s\n", k == 2 ? "  " : "", text);
}

/* "3-7", or "3" alone. */
static bool read_steps(const char *text, int64_t steps[2])
{
	char *end;

	errno = 0;
	steps[0] = steps[1] = strtoll(text, &end, 10);
	if (end == text || *text == '-')
		return false;
	if (*end == '-' && end[1] >= '0' && end[1] <= '9')
		steps[1] = strtoll(end + 1, &end, 10);
	return !*end && !errno && steps[0] <= steps[1];
}

/* --steps; 0, or an exit status after one line on stderr. */
static int settle_steps(struct options *o)
{
	if (!o->steps)
		return 0;
	if (!read_steps(o->steps, o->step_range)) {
		sl_warn("ranks ask: --steps: '%s' is no FIRST-LAST", o->steps);
		return SL_EXIT_USAGE;
	}
	if (!strstr(o->ask.sql, "SL_STEPS") && !strstr(o->ask.sql, "SL_COLLECTIVES")) {
		sl_warn("ranks ask: --steps: %s does not ask about steps: it has sums per minute",
			o->question);
		return SL_EXIT_USAGE;
	}
	o->ask.steps = o->step_range;
	return 0;
}

/* The question's text. 0, or an exit status after one line on stderr. */
static int find_question(const char *command, struct options *o)
{
	char need[16];

	o->ask.sql = ask_question(o->question);
	if (!o->ask.sql)
		return unknown(command, o->question);
	if (o->ask.base || !report_field(o->ask.sql, "needs", 0, need, sizeof(need)))
		return 0;
	sl_warn("%s: %s needs --base=RUN", command, o->question);
	return SL_EXIT_USAGE;
}

#define COMMON_OPTIONS(o, top)                                                                  \
	{'d', "dataset", OPT_STRING, NULL, "FOLDER", "the dataset", &(o).ask.folder, NULL},     \
		{0,                                                                             \
		 "run",                                                                         \
		 OPT_STRING,                                                                    \
		 NULL,                                                                          \
		 "NAME",                                                                        \
		 "of this run (default: the newest)",                                           \
		 &(o).ask.run,                                                                  \
		 NULL},                                                                         \
		{0,                                                                             \
		 "base",                                                                        \
		 OPT_STRING,                                                                    \
		 NULL,                                                                          \
		 "NAME",                                                                        \
		 "the run that 'changed' compares with",                                        \
		 &(o).ask.base,                                                                 \
		 NULL},                                                                         \
	{                                                                                       \
		0, "top", OPT_INT, "1:1000000", "N", "so many rows at most (default: 20)", top, \
			NULL                                                                    \
	}

int cmd_ranks_ask(int argc, char **argv)
{
	struct options o = {.ask = {.top = 20, .format = "text"}};
	const char *engine = NULL;
	int64_t top = 20;
	const struct opt opts[] = {
		COMMON_OPTIONS(o, &top),
		{0, "engine", OPT_ENUM, "duckdb,spark,print,print-spark", "ENGINE",
		 "duckdb or spark (default: the first that is in PATH); print: prints\n"
		 "the text for DuckDB, print-spark that for Spark",
		 &engine, NULL},
		{'f', "format", OPT_ENUM, "text,csv,json", "FORMAT",
		 "of DuckDB's output (default: text)", &o.ask.format, NULL},
		{0, "limit", OPT_INT, "1:1000000", "N", "the same as --top", &top, NULL},
		{0, "fail-on", OPT_STRING, NULL, "CONDITION",
		 "exit status 3 where a row of the answer has it: COLUMN > NUMBER (also <, >=,\n"
		 "<=, =)",
		 &o.fail_on, NULL},
		{0, "steps", OPT_STRING, NULL, "FIRST-LAST",
		 "these steps alone, where the question is about steps or collectives", &o.steps,
		 NULL},
		{0, "explain", OPT_FLAG, NULL, NULL,
		 "shows the explanation of the question and of its columns, and asks nothing",
		 &o.explain, NULL},
		{0, "list", OPT_FLAG, NULL, NULL, "shows the questions", &o.list, NULL},
		{0, NULL, OPT_ABOUT, usage, NULL, examples, NULL, NULL},
		{0},
	};
	bool has_question = argc > 1 && argv[1][0] != '-';
	int first = opt_parse(opts, argc - has_question, argv + has_question, "ranks ask"), status;

	if (first == OPT_HELP_SHOWN)
		return 0;
	if (first < 0)
		return -first;
	if (o.list) {
		list_questions();
		return 0;
	}
	if (has_question && o.explain && ask_question(argv[1])) {
		explain(ask_question(argv[1]));
		return 0;
	}
	if (!has_question || !o.ask.folder || first + has_question < argc) {
		sl_warn("ranks ask: %s (see 'sightline ranks ask --help')",
			!has_question   ? "a question is missing"
			: !o.ask.folder ? "-d DATASET is missing"
					: "it takes one question");
		return SL_EXIT_USAGE;
	}
	o.question = argv[1];
	o.ask.top = top;
	status = find_question("ranks ask", &o);
	if (status == 0)
		status = settle_steps(&o);
	if (status == 0 && o.fail_on &&
	    !read_condition(o.fail_on, o.ask.sql, &(struct condition){0})) {
		sl_warn("ranks ask: --fail-on: '%s' is no COLUMN > NUMBER with a column of %s",
			o.fail_on, o.question);
		status = SL_EXIT_USAGE;
	}
	if (status == 0 && engine && strncmp(engine, "print", 5) == 0) {
		o.ask.engine = strcmp(engine, "print-spark") == 0 ? "spark" : "duckdb";
		status = print("ranks ask", &o);
	} else if (status == 0) {
		o.ask.engine = engine;
		status = answer(&o);
	}
	choose_free(&o.chosen);
	return status;
}

int cmd_ranks_sql(int argc, char **argv)
{
	struct options o = {.ask = {.top = 20, .engine = "duckdb", .all_views = true}};
	int64_t top = 20;
	const struct opt opts[] = {
		COMMON_OPTIONS(o, &top),
		{0, "engine", OPT_ENUM, "duckdb,spark", "ENGINE",
		 "duckdb or spark (default: duckdb)", &o.ask.engine, NULL},
		{0, NULL, OPT_ABOUT, sql_usage, NULL, sql_examples, NULL, NULL},
		{0},
	};
	bool has_question = argc > 1 && argv[1][0] != '-';
	int first = opt_parse(opts, argc - has_question, argv + has_question, "ranks sql");
	int status = 0;

	if (first == OPT_HELP_SHOWN)
		return 0;
	if (first < 0)
		return -first;
	if (!o.ask.folder || first + has_question < argc) {
		sl_warn("ranks sql: %s (see 'sightline ranks sql --help')",
			o.ask.folder ? "it takes one question" : "-d DATASET is missing");
		return SL_EXIT_USAGE;
	}
	o.ask.top = top;
	if (has_question) {
		o.question = argv[1];
		status = find_question("ranks sql", &o);
	}
	if (status == 0)
		status = print("ranks sql", &o);
	choose_free(&o.chosen);
	return status;
}
