/* cmd_ranks_report.c - sightline ranks report: a run of many ranks as one page of HTML. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/message.h"
#include "collector/base/options.h"
#include "exporters/commands/cmd_ranks.h"
#include "exporters/html/html_text.h"
#include "exporters/ranks/page/ranks_page.h"
#include "exporters/ranks/run_choice.h"
#include "exporters/ranks/spans/report_place.h"
#include "exporters/text/output.h"

static const char usage[] = "sightline ranks report -d DATASET [options] [FETCHED.sqlite...]";
static const char examples[] =
	"One page that needs nothing else: own time by rank and step, "
	"lateness by rank and collective,\n"
	"the distribution of the ranks with outliers by name, bandwidth by "
	"message size; the slowest step over ten ranks, from their reports where these are "
	"here, or from spans that 'ranks fetch' took out of them. By DuckDB.\n"
	"\n"
	"Examples:\n"
	"  sightline ranks report -d /shared/dataset\n"
	"  sightline ranks report -d dataset --run 4711 -o 4711.html\n";

struct options {
	struct ask ask;
	const char *output;
	bool overwrite, quiet;
	char **reports; /* fetched from elsewhere */
	int reports_cnt;
};

static int write_page(const struct options *o, const char *target, struct ranks_page *p,
		      const char *about)
{
	struct output out = {
		.kind = strcmp(target, "-") == 0 ? OUTPUT_CONSOLE : OUTPUT_FILE,
		.target = target,
		.overwrite = o->overwrite,
	};
	char why[1024], size[HUMAN_MAX];
	struct stat st;
	bool ok;

	if (output_open(&out, why, sizeof(why)) < 0) {
		sl_warn("ranks report: %s", why);
		return SL_EXIT_FAIL;
	}
	ok = ranks_page_write(p, o->ask.run, about, out.f) == 0;
	if (output_close(&out, ok, why, sizeof(why)) < 0 || !ok) {
		sl_warn("ranks report: %s", ok ? why : "out of memory");
		return SL_EXIT_FAIL;
	}
	if (!o->quiet && out.kind == OUTPUT_FILE && stat(target, &st) == 0)
		printf("%s: %s\n", target, human_bytes(size, (double)st.st_size));
	return 0;
}

static int read_figures(const struct options *o, struct ranks_page *p)
{
	char *script = ranks_page_sql(&o->ask);
	int from = -1, status = 1;
	pid_t pid = script ? ask_start("ranks report", &o->ask, script, &from) : -1;
	FILE *f = pid > 0 ? fdopen(from, "r") : NULL;

	if (!script)
		sl_warn("ranks report: out of memory");
	if (f) {
		status = ranks_page_read(p, f);
		fclose(f);
	} else if (from >= 0) {
		close(from);
	}
	if (pid > 0 && ask_wait("ranks report", pid) != 0)
		status = 1;
	else if (pid > 0 && status)
		sl_warn("ranks report: %s wrote something else than the figures of the page",
			o->ask.engine);
	free(script);
	return status ? SL_EXIT_FAIL : 0;
}

/* The rank's own report where it is here, else the reports that the user named. */
static void read_bars(const struct options *o, sqlite3 *db, struct page_slow *s)
{
	char why[1024],
		*own = report_place(db, o->ask.folder, o->ask.run, s->rank, why, sizeof(why));

	if (own)
		s->is_there =
			bars_read(&s->bars, own, s->rank, s->start, s->end, why, sizeof(why)) == 0;
	for (int i = 0; !s->is_there && i < o->reports_cnt; i++) {
		bars_free(&s->bars);
		s->is_there = bars_read(&s->bars, o->reports[i], s->rank, s->start, s->end, why,
					sizeof(why)) == 0;
	}
	free(own);
}

static void read_slowest(const struct options *o, struct ranks_page *p)
{
	char why[1024];
	sqlite3 *db = manifests_read(o->ask.folder, o->ask.run, why, sizeof(why));

	for (size_t i = 0; db && i < p->slowest_cnt; i++)
		read_bars(o, db, &p->slowest[i]);
	sqlite3_close(db);
}

static int report(struct options *o)
{
	struct chosen chosen;
	struct ranks_page page = {0};
	char *about = NULL, *target = NULL;
	int status = choose_run("ranks report", &o->ask, &chosen);

	if (status == 0)
		about = coverage_text(&chosen.coverage, "SL_STEPS SL_COLLECTIVES");
	if (status == 0 && asprintf(&target, "%s", o->output ? o->output : "") < 0)
		target = NULL;
	if (status == 0 && !o->output) {
		free(target);
		if (asprintf(&target, "%s.html", o->ask.run) < 0)
			target = NULL;
	}
	if (status == 0 && target && strcmp(target, "-") != 0 && !o->overwrite &&
	    access(target, F_OK) == 0) {
		sl_warn("ranks report: %s exists already; --force-overwrite=true replaces it",
			target);
		status = SL_EXIT_FAIL;
	}
	if (status == 0)
		status = read_figures(o, &page);
	if (status == 0)
		read_slowest(o, &page);
	if (status == 0)
		status = target ? write_page(o, target, &page, about) : SL_EXIT_FAIL;
	ranks_page_free(&page);
	choose_free(&chosen);
	free(about);
	free(target);
	return status;
}

int cmd_ranks_report(int argc, char **argv)
{
	struct options o = {.ask = {.engine = "duckdb", .format = "csv", .top = 20}};
	const struct opt opts[] = {
		{'d', "dataset", OPT_STRING, NULL, "FOLDER", "the dataset", &o.ask.folder, NULL},
		{0, "run", OPT_STRING, NULL, "NAME", "of this run (default: the newest)",
		 &o.ask.run, NULL},
		{'o', "output", OPT_STRING, NULL, "FILE",
		 "where the page goes; - is stdout (default: the run's name with .html)", &o.output,
		 NULL},
		{'f', "force-overwrite", OPT_BOOL, NULL, "true|false", "replace an existing file",
		 &o.overwrite, NULL},
		{'q', "quiet", OPT_FLAG, NULL, NULL, "print only errors", &o.quiet, NULL},
		{0, NULL, OPT_ABOUT, usage, NULL, examples, NULL, NULL},
		{0},
	};
	int first = opt_parse(opts, argc, argv, "ranks report");

	if (first == OPT_HELP_SHOWN)
		return 0;
	if (first < 0)
		return -first;
	if (!o.ask.folder) {
		sl_warn("ranks report: -d DATASET is missing (see 'sightline ranks report "
			"--help')");
		return SL_EXIT_USAGE;
	}
	o.reports = argv + first;
	o.reports_cnt = argc - first;
	for (int i = 0; i < o.reports_cnt; i++) {
		char why[1024];
		sqlite3 *db = db_read_open(o.reports[i], why, sizeof(why));

		if (!db) {
			sl_warn("ranks report: %s", why);
			return SL_EXIT_FAIL;
		}
		sqlite3_close(db);
	}
	return report(&o);
}
