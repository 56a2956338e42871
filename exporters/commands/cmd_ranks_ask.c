/* cmd_ranks_ask.c - sightline ranks ask, sql: questions over a dataset, by an engine that is there. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/message.h"
#include "collector/base/options.h"
#include "exporters/commands/cmd_ranks.h"
#include "exporters/ranks/ask.h"
#include "exporters/ranks/dataset.h"
#include "exporters/ranks/manifests.h"
#include "exporters/sql/report.h"

#define WHY_TEXT 2048

static const char usage[] = "sightline ranks ask QUESTION -d DATASET [options]";
static const char examples[] =
	"Questions are SQL that DuckDB (one machine) and Spark (a cluster) both run; "
	"--engine=print prints the "
	"definitions\n"
	"of the views and the statement, for a cluster of one's own.\n"
	"\n"
	"Exit status: 0, 1 when something failed (also in the engine), 2 for wrong use.\n"
	"\n"
	"Examples:\n"
	"  sightline ranks ask straggler -d /shared/dataset\n"
	"  sightline ranks ask why -d dataset --run 4711 --top 5\n"
	"  sightline ranks ask changed -d dataset --run after --base before -f csv\n"
	"  sightline ranks ask straggler -d s3a://bucket/dataset --run 4711 --engine print-spark "
	">straggler.sql\n"
	"  sightline ranks ask --list\n";

struct options {
	struct ask ask;
	bool list;
	char run[256];
	char folder[PATH_MAX];
};

static void list_questions(void)
{
	char name[64], title[128];

	for (size_t i = 0; ask_name(i, name); i++)
		if (report_field(ask_question(name), "title", 0, title, sizeof(title)))
			printf("  %-10s %s\n", name, title);
}

static int unknown(const char *word)
{
	const char *near = NULL;
	static char names[64][64];
	char name[64];

	for (size_t i = 0; i < 64 && ask_name(i, name); i++) {
		memcpy(names[i], name, sizeof(name));
		near = sl_nearest(word, near, names[i]);
	}
	if (near)
		sl_warn("ranks ask: there is no question '%s'; did you mean '%s'?", word, near);
	else
		sl_warn("ranks ask: there is no question '%s' (--list shows them)", word);
	return SL_EXIT_USAGE;
}

/* The newest run of the dataset, where none is named. */
static int choose_run(struct options *o)
{
	static const char sql[] =
		"SELECT run FROM manifest WHERE ?1 IS NULL OR run = ?1 ORDER BY start DESC";
	char why[WHY_TEXT];
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = manifests_read(o->ask.folder, NULL, why, sizeof(why));
	int status = 0;

	if (!db) {
		sl_warn("ranks ask: %s", why);
		return SL_EXIT_FAIL;
	}
	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK) {
		sqlite3_bind_text(stmt, 1, o->ask.run, -1, SQLITE_STATIC);
		if (sqlite3_step(stmt) == SQLITE_ROW)
			snprintf(o->run, sizeof(o->run), "%s",
				 (const char *)sqlite3_column_text(stmt, 0));
	}
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	if (!*o->run) {
		if (o->ask.run)
			sl_warn("ranks ask: %s has no run %s ('sightline ranks check' shows them)",
				o->ask.folder, o->ask.run);
		else
			sl_warn("ranks ask: %s has no run: 'sightline ranks add' puts reports into "
				"it",
				o->ask.folder);
		status = SL_EXIT_FAIL;
	}
	o->ask.run = o->run;
	return status;
}

static int answer(struct options *o, const char *engine)
{
	bool prints = engine && strncmp(engine, "print", 5) == 0;
	char title[128];
	char *script;
	int status = 0;

	/* A dataset that is printed for may be anywhere. */
	if (!prints || !o->ask.run)
		status = choose_run(o);
	if (status)
		return status;
	if (!prints && realpath(o->ask.folder, o->folder))
		o->ask.folder = o->folder;
	o->ask.engine = !engine  ? ask_engine()
			: prints ? (strcmp(engine, "print-spark") == 0 ? "spark" : "duckdb")
				 : engine;
	if (!o->ask.engine) {
		sl_warn("ranks ask: no engine is in PATH: 'pip install duckdb-cli' installs one; "
			"--engine=print prints "
			"what it would run");
		return SL_EXIT_FAIL;
	}
	script = ask_script(&o->ask);
	if (!script) {
		sl_warn("ranks ask: out of memory");
		return SL_EXIT_FAIL;
	}
	if (prints) {
		fputs(script, stdout);
	} else {
		report_field(ask_question(o->ask.question), "title", 0, title, sizeof(title));
		fprintf(stderr, "sightline: run %s: %s\n", o->ask.run, title);
		status = ask_run(&o->ask, script) == 0 ? 0 : SL_EXIT_FAIL;
	}
	free(script);
	return status;
}

int cmd_ranks_ask(int argc, char **argv)
{
	struct options o = {.ask = {.top = 20, .format = "text"}};
	const char *engine = NULL;
	int64_t top = 20;
	const struct opt opts[] = {
		{'d', "dataset", OPT_STRING, NULL, "FOLDER", "the dataset", &o.ask.folder, NULL},
		{0, "run", OPT_STRING, NULL, "NAME", "of this run (default: the newest)",
		 &o.ask.run, NULL},
		{0, "base", OPT_STRING, NULL, "NAME", "the run that 'changed' compares with",
		 &o.ask.base, NULL},
		{0, "top", OPT_INT, "1:1000000", "N", "so many rows at most (default: 20)", &top,
		 NULL},
		{0, "engine", OPT_ENUM, "duckdb,spark,print,print-spark", "ENGINE",
		 "duckdb or spark (default: the first that is in PATH); print: prints\n"
		 "the text for DuckDB, print-spark that for Spark",
		 &engine, NULL},
		{'f', "format", OPT_ENUM, "text,csv,json", "FORMAT",
		 "of DuckDB's output (default: text)", &o.ask.format, NULL},
		{0, "list", OPT_FLAG, NULL, NULL, "shows the questions", &o.list, NULL},
		{0, NULL, OPT_ABOUT, usage, NULL, examples, NULL, NULL},
		{0},
	};
	bool has_question = argc > 1 && argv[1][0] != '-';
	int first = opt_parse(opts, argc - has_question, argv + has_question, "ranks ask");
	char need[16];

	if (first == OPT_HELP_SHOWN)
		return 0;
	if (first < 0)
		return -first;
	if (o.list) {
		list_questions();
		return 0;
	}
	if (!has_question || !o.ask.folder || first + has_question < argc) {
		sl_warn("ranks ask: %s (see 'sightline ranks ask --help')",
			!has_question   ? "a question is missing"
			: !o.ask.folder ? "-d DATASET is missing"
					: "it takes one question");
		return SL_EXIT_USAGE;
	}
	o.ask.question = argv[1];
	o.ask.top = top;
	if (!ask_question(o.ask.question))
		return unknown(o.ask.question);
	if (!o.ask.base &&
	    report_field(ask_question(o.ask.question), "needs", 0, need, sizeof(need))) {
		sl_warn("ranks ask: %s needs --base=RUN", o.ask.question);
		return SL_EXIT_USAGE;
	}
	return answer(&o, engine);
}
