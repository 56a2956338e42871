/* cmd_ranks_add.c - sightline ranks add: puts the reports of a node into a dataset. */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/message.h"
#include "collector/base/now.h"
#include "collector/base/options.h"
#include "exporters/events/big_array.h"
#include "exporters/read/sql_rows.h"
#include "exporters/commands/cmd_ranks.h"
#include "exporters/ranks/autopsy/autopsy.h"
#include "exporters/ranks/manifests.h"
#include "exporters/ranks/rank_of_file.h"
#include "exporters/ranks/rollup.h"

#define WHY_TEXT      2048
#define EVENTS_MEMORY (40u << 20) /* of resident pages of files, the program among them */

static const char usage[] = "sightline ranks add -d DATASET [options] REPORT.sqlite[=RANK]...";
static const char examples[] =
	"All reports of a node are given at once: they are one part of the dataset, which a later "
	"call for the "
	"same node\n"
	"and run replaces. Files appear when they are whole.\n"
	"\n"
	"Examples:\n"
	"  sightline ranks add -d /shared/dataset /scratch/$SLURM_JOB_ID-*.sqlite\n"
	"  sightline ranks add -d dataset --run before --rank-from 'rank%r' exports/*.sqlite   # "
	"of nsys\n"
	"  sightline ranks add -d dataset --run before first.sqlite=0 second.sqlite=1\n";

struct add {
	const char *folder, *run, *node, *rank_from, *range;
	int64_t rank, every;
	bool force, quiet;
	struct autopsy_node *ends;
	char run_text[384], node_text[256], host[256];
};

static int look_at_ends(void *ctx, struct dataset *d, sqlite3 *report, int64_t epoch)
{
	return autopsy_node_add(ctx, d, report, epoch);
}

static int read_reports(struct add *o, struct dataset *d, int cnt, char **paths, char *job,
			size_t job_len)
{
	size_t unnamed = 0, unmatched = 0, ranks = 0, steps = 0, collectives = 0;
	char why[WHY_TEXT];

	for (int i = 0; i < cnt; i++) {
		struct rollup_ask ask = {.rank = o->rank,
					 .from = "option",
					 .range = o->range,
					 .look = look_at_ends,
					 .look_ctx = o->ends};
		struct rollup_found found;
		struct ranked r;

		if (ranked_report(o->rank_from, paths[i], &r, why, sizeof(why)) < 0) {
			sl_warn("ranks add: %s", why);
			return SL_EXIT_USAGE;
		}
		if (r.rank >= 0) {
			ask.rank = r.rank;
			ask.from = r.from;
		}
		autopsy_node_report(o->ends, r.path);
		if (rollup_add(d, r.path, &ask, &found, why, sizeof(why)) < 0) {
			sl_warn("ranks add: %s: %s", r.path, why);
			return SL_EXIT_FAIL;
		}
		if (!*job)
			snprintf(job, job_len, "%s", found.job);
		if (!*o->host)
			snprintf(o->host, sizeof(o->host), "%s", found.host);
		unnamed += found.unnamed;
		unmatched += found.unmatched;
		ranks += found.ranks;
		steps += found.steps;
		collectives += found.collectives;
	}
	if (o->quiet)
		return 0;
	fprintf(stderr, "sightline: ranks: %zu, steps: %zu, collectives: %zu\n", ranks, steps,
		collectives);
	if (!steps)
		sl_warn("ranks add: no step was found (an NVTX range that repeats; --step=RANGE "
			"names one): "
			"questions about steps have no answer");
	if (unnamed)
		sl_warn("ranks add: %zu collectives are on communicators that were made before the "
			"recording began: "
			"other ranks do not know them",
			unnamed);
	if (unmatched)
		sl_warn("ranks add: %zu collectives have no kernel (CUDA graphs, or work of the "
			"GPU was not recorded)",
			unmatched);
	return 0;
}

/* Where the dataset has something else under this run. True: go on. */
static bool may_write(const struct add *o, const struct dataset *d, const char *job)
{
	static const char sql[] = "SELECT CASE WHEN job <> ?1 THEN 'job ' || job WHEN node = ?2 "
				  "AND start > ?3 THEN 'newer' END "
				  "AS other FROM manifest WHERE other IS NOT NULL";
	char why[WHY_TEXT];
	sqlite3_stmt *first = NULL, *stmt = NULL;
	sqlite3 *db = access(o->folder, F_OK) == 0
			      ? manifests_near(o->folder, o->run, o->node, why, sizeof(why))
			      : NULL;
	bool may = true;

	if (!db)
		return true;
	sqlite3_prepare_v2(d->db, "SELECT min(start) FROM SL_RANKS", -1, &first, NULL);
	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK && first &&
	    sqlite3_step(first) == SQLITE_ROW) {
		if (*job)
			sqlite3_bind_text(stmt, 1, job, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 2, o->node, -1, SQLITE_STATIC);
		sqlite3_bind_int64(stmt, 3, sqlite3_column_int64(first, 0));
		if (sqlite3_step(stmt) == SQLITE_ROW) {
			const char *other = (const char *)sqlite3_column_text(stmt, 0);

			may = false;
			if (strcmp(other, "newer") == 0)
				sl_warn("ranks add: node %s has newer reports under run %s; "
					"--force replaces them",
					o->node, o->run);
			else
				sl_warn("ranks add: run %s is that of another %s: give it another "
					"name (--run), or "
					"--force",
					o->run, other);
		}
	}
	sqlite3_finalize(first);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return may;
}

/* NULL: not known yet. */
static bool may_name(const char *word)
{
	if (!word || dataset_word(word))
		return true;
	sl_warn("ranks add: '%s' cannot be the name of a folder: letters, digits and -_.+ only",
		word);
	return false;
}

/* The answer of a query that has one row, as text; "" none. */
static void answer(struct dataset *d, const char *sql, char *to, size_t len)
{
	sqlite3_stmt *stmt = NULL;
	const char *text = NULL;

	stmt = sql_first(d->db, sql);
	if (stmt)
		text = (const char *)sqlite3_column_text(stmt, 0);
	snprintf(to, len, "%s", text ? text : "");
	sqlite3_finalize(stmt);
}

/*
 * Where no launcher gave the run a name, and it has no more ranks than these: host, time and process; the same whenever these
 * reports are added.
 */
static void make_up_run(const struct add *o, struct dataset *d, char *to, size_t len)
{
	static const char sql[] =
		"SELECT strftime('-%Y%m%d-%H%M%S-', min(start) / 1000000000, 'unixepoch') || "
		"min(pid) FROM SL_RANKS HAVING count(DISTINCT rank) = max(worldSize)";
	char rest[64];

	answer(d, sql, rest, sizeof(rest));
	snprintf(to, len, "%s%s", *rest ? o->host : "", rest);
}

/* Names of jobs may have characters that no folder of a dataset has: those of Open MPI 5 have an @. */
static void make_word(char *text)
{
	for (; *text; text++)
		if (!strchr("-_.+", *text) && !isalnum((unsigned char)*text))
			*text = '-';
}

/* Puts %j (job), %h (host) and %r (first rank) into a name. False: one is not known. */
static bool put_in(const struct add *o, struct dataset *d, const char *job, const char *pattern,
		   char *to, size_t room)
{
	size_t len = 0;

	to[0] = 0;
	for (const char *p = pattern; *p && len < room - 1; p++) {
		char word[384] = {*p}, *rest = to + len;

		if (*p == '%' && p[1] && strchr("jhr", p[1])) {
			switch (*++p) {
			case 'j':
				if (*job)
					snprintf(word, sizeof(word), "%s", job);
				else
					make_up_run(o, d, word, sizeof(word));
				break;
			case 'h':
				snprintf(word, sizeof(word), "%s", o->host);
				break;
			case 'r':
				answer(d, "SELECT min(rank) FROM SL_RANKS", word, sizeof(word));
				break;
			}
			if (!*word)
				return false;
			make_word(word);
		}
		len += (size_t)snprintf(rest, room - len, "%s", word);
	}
	return true;
}

static int write_part(struct add *o, struct dataset *d, const char *job)
{
	struct dataset_part part = {.folder = o->folder, .job = *job ? job : NULL};
	char why[WHY_TEXT];

	o->run = put_in(o, d, job, o->run ? o->run : "%j", o->run_text, sizeof(o->run_text))
			 ? o->run_text
			 : NULL;
	o->node = put_in(o, d, job, o->node ? o->node : "%h", o->node_text, sizeof(o->node_text))
			  ? o->node_text
			  : NULL;
	if (!o->run) {
		sl_warn("ranks add: no launcher gave this run a name: --run=NAME");
		return SL_EXIT_USAGE;
	}
	if (!o->node) {
		sl_warn("ranks add: the reports do not have the name of their node: --node=NAME");
		return SL_EXIT_USAGE;
	}
	if (!may_name(o->run) || !may_name(o->node))
		return SL_EXIT_USAGE;
	if (!o->force && !may_write(o, d, job))
		return SL_EXIT_FAIL;
	part.run = o->run;
	part.node = o->node;
	if (dataset_write(d, &part, why, sizeof(why)) < 0) {
		sl_warn("ranks add: %s", why);
		return SL_EXIT_FAIL;
	}
	if (autopsy_node_write(o->ends, o->folder, o->run, o->node, why, sizeof(why)) < 0)
		sl_warn("ranks add: nothing for 'ranks autopsy': %s", why);
	fprintf(stderr, "sightline: run %s, node %s: in %s\n", o->run, o->node, o->folder);
	return 0;
}

static int add_once(struct add o, int cnt, char **paths)
{
	char job[160] = "";
	struct dataset d;
	int status;

	o.ends = autopsy_node_new();
	if (dataset_begin(&d) != SQLITE_OK || !o.ends) {
		sl_warn("ranks add: %s", sqlite3_errmsg(d.db));
		status = SL_EXIT_FAIL;
	} else {
		/* Where there is no file for them, events of reports are memory. */
		big_arrays_begin(EVENTS_MEMORY);
		status = read_reports(&o, &d, cnt, paths, job, sizeof(job));
		big_arrays_end();
	}
	if (status == 0)
		status = write_part(&o, &d, job);
	dataset_end(&d);
	autopsy_node_free(o.ends);
	return status;
}

/* ---- reports that are being recorded ---- */

#define WRITER_MS \
	1500 /* a collector that sees a reader makes rows of its records within this time */
#define REST_TIMES 20 /* at most a twentieth of one CPU */

/* False: standard input has ended. */
static bool rest(int64_t ms)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	int64_t end = mono_ns() / 1000000 + ms, left = ms;
	char text[64];
	ssize_t n;

	for (; left > 0; left = end - mono_ns() / 1000000) {
		if (poll(&in, 1, (int)(left < 1000000 ? left : 1000000)) <= 0)
			continue;
		n = read(STDIN_FILENO, text, sizeof(text));
		if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
			return false;
	}
	return true;
}

/* Collectors let records wait while no other process reads the report. False: standard input has ended. */
static bool wake_writers(int cnt, char **paths)
{
	sqlite3 **open = calloc((size_t)cnt, sizeof(sqlite3 *));
	char why[WHY_TEXT];
	bool goes_on;

	for (int i = 0; open && i < cnt; i++)
		open[i] = db_read_has_writer(paths[i]) ? db_read_open(paths[i], why, sizeof(why))
						       : NULL;
	goes_on = rest(WRITER_MS);
	for (int i = 0; open && i < cnt; i++)
		sqlite3_close(open[i]);
	free(open);
	return goes_on;
}

/* The parts replace one another. Where standard input ends, that of then is the last. */
static int add_repeatedly(const struct add *o, int cnt, char **paths)
{
	(void)!nice(19);
	for (bool goes_on = true;;) {
		clock_t begin = clock();
		int64_t ms;
		int status;

		goes_on = goes_on && wake_writers(cnt, paths);
		status = add_once(*o, cnt, paths);
		if (!goes_on)
			return status;
		ms = (int64_t)(clock() - begin) * 1000 / CLOCKS_PER_SEC * REST_TIMES;
		goes_on = rest(ms > o->every * 1000 ? ms : o->every * 1000);
	}
}

int cmd_ranks_add(int argc, char **argv)
{
	struct add o = {.rank = -1};
	const struct opt opts[] = {
		{'d', "dataset", OPT_STRING, NULL, "FOLDER",
		 "the dataset; it is made where it is not there", &o.folder, NULL},
		{0, "run", OPT_STRING, NULL, "NAME",
		 "name of the run, the same on all nodes; %j: the launcher's number of the\n"
		 "job, or host and time where all ranks are here (default: %j)",
		 &o.run, NULL},
		{0, "node", OPT_STRING, NULL, "NAME",
		 "name of the node; %h: the reports' host, %r: its first rank (default: %h)",
		 &o.node, NULL},
		{0, "rank", OPT_INT, "0:10000000", "N",
		 "rank of all processes of the reports, where they do not show it", &o.rank, NULL},
		{0, "rank-from", OPT_STRING, NULL, "PATTERN",
		 "the rank is the number where the pattern has %r, in the file's name: rank%r",
		 &o.rank_from, NULL},
		{0, "step", OPT_STRING, NULL, "RANGE",
		 "NVTX ranges that are the steps: text or domain:text, % stands for\n"
		 "anything (default: what looks like steps)",
		 &o.range, NULL},
		{'f', "force", OPT_FLAG, NULL, NULL, "replaces what is of another job, or newer",
		 &o.force, NULL},
		{0, "every", OPT_INT, "1:86400", "SECONDS",
		 "adds again so often, until standard input ends: for a report that is being\n"
		 "recorded; a twentieth of one CPU at most",
		 &o.every, NULL},
		{'q', "quiet", OPT_FLAG, NULL, NULL, "prints neither counts nor remarks", &o.quiet,
		 NULL},
		{0, NULL, OPT_ABOUT, usage, NULL, examples, NULL, NULL},
		{0},
	};
	int first = opt_parse(opts, argc, argv, "ranks add");

	if (first == OPT_HELP_SHOWN)
		return 0;
	if (first < 0)
		return -first;
	if (!o.folder || first == argc) {
		sl_warn("ranks add: %s (see 'sightline ranks add --help')",
			o.folder ? "no report was given" : "-d DATASET is missing");
		return SL_EXIT_USAGE;
	}
	if ((o.run && !strchr(o.run, '%') && !may_name(o.run)) ||
	    (o.node && !strchr(o.node, '%') && !may_name(o.node)))
		return SL_EXIT_USAGE;
	return o.every ? add_repeatedly(&o, argc - first, argv + first)
		       : add_once(o, argc - first, argv + first);
}
