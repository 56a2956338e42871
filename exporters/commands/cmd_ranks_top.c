/* cmd_ranks_top.c - sightline ranks top: follows a running job. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/message.h"
#include "collector/base/options.h"
#include "exporters/commands/cmd_ranks.h"
#include "exporters/ranks/top/ranks_top.h"
#include "exporters/text/terminal.h"

static const char usage[] = "sightline ranks top -d DATASET [--run NAME] [options]";
static const char examples[] =
	"Sessions of 'sightline profile --ranks' write what their ranks do into the folder, every\n"
	"two seconds. Own: the time of a step less that of NCCL's kernels, which wait for others.\n"
	"\n"
	"Exit status: 0, also when the job has ended while it was followed; 3 when something of\n"
	"--fail-on was seen in the last look; 1 when the job has no sessions, 2 for wrong use.\n"
	"\n"
	"Examples:\n"
	"  sightline ranks top -d /shared/dataset                # Ctrl-C ends it\n"
	"  sightline ranks top -d /shared/dataset --once --rows 5\n"
	"  sightline ranks top -d /shared/dataset -f json | jq .slowest\n"
	"  sightline ranks top -d /shared/dataset --once --fail-on late,silent,missing\n";

struct asked {
	const char *folder, *run, *format, *fail_on;
	int64_t count, rows, interval;
	bool once, has_rows;
};

static bool is_json(const struct asked *a)
{
	return strcmp(a->format, "json") == 0;
}

static void pause_for(int64_t seconds)
{
	struct timespec left = {seconds, 0};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

/* As many ranks as the screen has lines. */
static size_t rows_of(const struct asked *a, bool on_screen)
{
	size_t lines = on_screen && !a->has_rows ? terminal_lines(stdout) : 0;

	return lines > 8 ? lines - 6 : (size_t)a->rows;
}

static void show(const struct ranks_top *t, const struct asked *a, bool on_screen)
{
	char *text = NULL;
	size_t size;
	FILE *f;

	if (is_json(a)) {
		ranks_top_json(stdout, t, (size_t)a->rows);
		fflush(stdout);
		return;
	}
	if (!on_screen) {
		ranks_top_print(stdout, t, (size_t)a->rows, 0);
		fflush(stdout);
		return;
	}
	f = open_memstream(&text, &size);
	if (!f)
		return;
	ranks_top_print(f, t, rows_of(a, true), terminal_columns(stdout));
	/* To the upper left corner; what is there goes away by line, so that nothing flickers. */
	if (fclose(f) == 0) {
		fputs("\x1b[H", stdout);
		for (char *at = text, *end; (end = strchr(at, '\n')); at = end + 1)
			printf("%.*s\x1b[K\n", (int)(end - at), at);
		fputs("\x1b[J", stdout);
		fflush(stdout);
	}
	free(text);
}

/* The exit status of what was seen. */
static int judge(const struct ranks_top *t, const struct asked *a)
{
	const struct {
		const char *kind;
		bool is_there;
	} kinds[] = {{"late", ranks_top_is_late(t)},
		     {"silent", t->silent > 0},
		     {"missing", t->size > 0 && (int64_t)t->live < t->size}};

	for (size_t i = 0; a->fail_on && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].is_there &&
		    (strstr(a->fail_on, kinds[i].kind) || strstr(a->fail_on, "any")))
			return SL_EXIT_FOUND;
	return 0;
}

static int follow(const struct asked *a, const char *run)
{
	bool on_screen = !a->once && !is_json(a);
	int64_t left = a->count ? a->count : on_screen ? INT64_MAX : 1;
	struct ranks_top t = {.run = run};
	int status = 0, err = 0;

	for (int64_t looks = 0; looks < left; looks++) {
		if (looks)
			pause_for(a->interval);
		err = ranks_top_read(&t, a->folder, (int64_t)time(NULL));
		if (err) {
			if (looks && err == -ENOENT) {
				sl_warn("run %s has no sessions any more", run);
				err = 0;
			} else {
				sl_warn("ranks top: run %s of %s: %s", run, a->folder,
					err == -ENOENT ? "no sessions now" : strerror(-err));
			}
			break;
		}
		ranks_top_judge(&t);
		if (on_screen && !looks)
			fputs("\x1b[2J", stdout);
		show(&t, a, on_screen);
		status = judge(&t, a);
		if (ferror(stdout))
			break;
	}
	ranks_top_free(&t);
	return err ? SL_EXIT_FAIL : status;
}

int cmd_ranks_top(int argc, char **argv)
{
	struct asked a = {.format = "text", .rows = 20, .interval = 2};
	const struct opt opts[] = {
		{'d', "dataset", OPT_STRING, NULL, "FOLDER", "the dataset of --ranks", &a.folder,
		 NULL},
		{0, "run", OPT_STRING, NULL, "NAME", "of this run (default: the only one)", &a.run,
		 NULL},
		{0, "once", OPT_FLAG, NULL, NULL, "print one look as text, and end", &a.once, NULL},
		{'f', "format", OPT_ENUM, "text,json", "FORMAT",
		 "json: one object per look and line; one look unless --count is given", &a.format,
		 NULL},
		{'n', "count", OPT_INT, "1:1000000000", "N", "so many looks; then end", &a.count,
		 NULL},
		{'i', "interval", OPT_INT, "1:3600", "SECONDS", "between two looks (2)",
		 &a.interval, NULL},
		{0, "rows", OPT_INT, "1:1000000", "N",
		 "so many ranks, the latest first (20; as many as the terminal has lines)", &a.rows,
		 &a.has_rows},
		{0, "fail-on", OPT_LIST, "any,late,silent,missing", "KIND,...",
		 "exit status 3 where a rank is late, a session is silent, ranks are missing",
		 &a.fail_on, NULL},
		{0, NULL, OPT_ABOUT, usage, NULL, examples, NULL, NULL},
		{0},
	};
	int first = opt_parse(opts, argc, argv, "ranks top"), status = SL_EXIT_FAIL;
	char *run;

	if (first == OPT_HELP_SHOWN)
		return 0;
	if (first < 0)
		return -first;
	if (!a.folder || first < argc) {
		sl_warn("ranks top: %s (see 'sightline ranks top --help')",
			a.folder ? "it takes no more words" : "-d DATASET is missing");
		return SL_EXIT_USAGE;
	}
	if (!a.once && !is_json(&a) && !isatty(STDOUT_FILENO)) {
		sl_warn("ranks top: no terminal: use --once, or --format=json");
		return SL_EXIT_USAGE;
	}
	run = a.run ? strdup(a.run) : job_choose(a.folder, "ranks top", &status);
	if (run)
		status = follow(&a, run);
	free(run);
	return status;
}
