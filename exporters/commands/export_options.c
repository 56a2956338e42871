/* export_options.c - the options of sightline export. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/commands/cmd_export.h"

const char export_usage[] = "sightline export [options] REPORT.sqlite";

static char *examples_text(void)
{
	static const char examples[] =
		"Examples:\n"
		"  sightline export run.sqlite -t chrome                      # run.json, for "
		"ui.perfetto.dev\n"
		"  sightline export -t chrome -o run.json.gz run.sqlite       # the same, packed; "
		".zst too\n"
		"  sightline export -t chrome --activities=kernel,nvtx-kernel,cuda-api run.sqlite\n"
		"  sightline export -t jsonlines -o - run.sqlite | jq .       # into a pipe\n"
		"  sightline export -t csv --tables='CUPTI.*' run.sqlite      # a folder with a "
		"file per table\n"
		"  sightline export -t folded --flame=gpu -o - run.sqlite     # the GPU's time by "
		"the code that launched it\n"
		"  sightline export --time=12s-15s -o part.sqlite run.sqlite  # a report of three "
		"seconds\n";
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fputs("Types:\n", f);
	for (const struct exporter *const *e = exporter_list; *e; e++)
		fprintf(f, "  %-12s %s\n", (*e)->name, (*e)->about);
	fputs("\nActivities:\n", f);
	for (const struct tl_activity_name *a = tl_activities; a->name; a++)
		if (a->about)
			fprintf(f, "  %-12s %s\n", a->name, a->about);
	fputs("\nWeights:\n", f);
	for (int i = 0; i < COST_CNT; i++)
		fprintf(f, "  %-14s %s\n", stack_cost_kinds[i].name, stack_cost_kinds[i].about);
	fprintf(f, "\n%s", examples);
	fclose(f);
	return text;
}

/* The values of --type and --activities. */
static const char *type_names(void)
{
	static char names[256];
	bool done = *names;

	for (const struct exporter *const *e = exporter_list; *e && !done; e++) {
		size_t len = strlen(names);

		snprintf(names + len, sizeof(names) - len, "%s%s", len ? "," : "", (*e)->name);
	}
	return names;
}

static const char *activity_names(void)
{
	static char names[512];
	bool done = *names;

	for (const struct tl_activity_name *a = tl_activities; a->name && !done; a++) {
		size_t len = strlen(names);

		snprintf(names + len, sizeof(names) - len, "%s%s", len ? "," : "", a->name);
	}
	return names;
}

static const char *flame_names(void)
{
	static char names[256];
	bool done = *names;

	for (int i = 0; i < COST_CNT && !done; i++) {
		size_t len = strlen(names);

		snprintf(names + len, sizeof(names) - len, "%s%s", len ? "," : "",
			 stack_cost_kinds[i].name);
	}
	return names;
}

static int add_input(struct export *x, char *word)
{
	if (x->input) {
		sl_warn("export: one report at a time: %s and %s are two", x->input, word);
		return SL_EXIT_USAGE;
	}
	x->input = strdup(word);
	return x->input ? 0 : SL_EXIT_FAIL;
}

int export_parse(struct export *x, int argc, char **argv)
{
	char *about = examples_text();
	const struct opt opts[] = {
		{0, NULL, OPT_ABOUT, export_usage, NULL, about ? about : "", NULL, NULL},
		{'t', "type", OPT_ENUM, type_names(), "TYPE",
		 "the format (default: the first below)", &x->type, NULL},
		{'o', "output", OPT_STRING, NULL, "FILE",
		 "name of the result; - is stdout; .gz and .zst at its end pack it", &x->output,
		 NULL},
		{'f', "force-overwrite", OPT_BOOL, NULL, "true|false", "replace what is there",
		 &x->force, NULL},
		{'q', "quiet", OPT_BOOL, NULL, "true|false", "only errors", &x->quiet, NULL},
		{0, NULL, OPT_GROUP, NULL, NULL, "What is exported:", NULL, NULL},
		{'a', "activities", OPT_LIST, activity_names(), "LIST",
		 "of timelines: kinds of events, see below", &x->activities, NULL},
		{0, "why", OPT_ENUM, "true,false", "true|false",
		 "of chrome and perfetto: a track of where the time of the main thread and of each "
		 "GPU went (default true; with --activities and for reports above 128 MiB false)",
		 &x->explain, NULL},
		{0, "flame", OPT_LIST, flame_names(), "WHAT[,...]",
		 "of folded, speedscope, pprof: by which weight stacks are added up, see below",
		 &x->flame, NULL},
		{0, "frames", OPT_ENUM, "function,line,module", "HOW",
		 "of folded, speedscope: frames are called function, function (file:line), "
		 "function (module)",
		 &x->frames, NULL},
		{0, "python-only", OPT_BOOL, NULL, "true|false",
		 "of --flame: leave out native frames; a stack without Python is [no Python]",
		 &x->python_only, NULL},
		{0, "tables", OPT_LIST, NULL, "REGEX[,...]",
		 "of tables: those whose whole name fits one of these regular expressions",
		 &x->tables, NULL},
		{0, "time", OPT_LIST, NULL, "RANGE[,...]", "what happened in a time, as in 12s-15s",
		 &x->time, NULL},
		{0, "times", OPT_LIST, NULL, "START/END[,...]",
		 "the same in ns; a colon in front or behind: began "
		 "or ended in it",
		 &x->times, NULL},
		{0, "nvtx", OPT_STRING, NULL, "RANGE[@DOMAIN][/INDEX]",
		 "what happened in an NVTX range", &x->nvtx, NULL},
		{0, "pid", OPT_LIST, NULL, "PID[,...]", "what these processes did", &x->pid, NULL},
		{'l', "lazy", OPT_BOOL, NULL, "true|false",
		 "of tables: leave out empty ones (default true)", &x->lazy, NULL},
		{0, "include-blobs", OPT_BOOL, NULL, "true|false",
		 "of tables: NVTX payloads as bytes", &x->blobs, NULL},
		{0, "include-json", OPT_BOOL, NULL, "true|false",
		 "of tables: NVTX payloads as JSON", &x->json, NULL},
		{0, "anonymize", OPT_BOOL, NULL, "true|false",
		 "sqlite: without paths, host, user, command lines, environment", &x->anonymize,
		 NULL},
		{0, NULL, OPT_GROUP, NULL, NULL, "Times:", NULL, NULL},
		{0, "ts-normalize", OPT_BOOL, NULL, "true|false", "times as ns since 1970, UTC",
		 &x->normalize, NULL},
		{0, "ts-shift", OPT_STRING, NULL, "NS", "added to all times", &x->shift, NULL},
		{0, NULL, OPT_GROUP, NULL, NULL, "Known from nsys:", NULL, NULL},
		{0, "append", OPT_LATER, "bool", "true|false", "add to an existing file", NULL,
		 NULL},
		{0, "dynamic-tables", OPT_LATER, "none|all|REGEX", "VALUE",
		 "tables of NVTX payloads", NULL, NULL},
		{0, "separate-strings", OPT_BOOL, NULL, "true|false",
		 "accepted; strings are always a table", &x->separate, NULL},
		{0},
	};
	int at = 0, rc = 0;

	while (rc == 0 && at < argc) {
		int n = opt_parse(opts, argc - at, argv + at, "export");

		if (n < 0) {
			free(about);
			return n == OPT_HELP_SHOWN ? n : -n;
		}
		at += n;
		if (at < argc)
			rc = add_input(x, argv[at]);
	}
	free(about);
	return rc;
}
