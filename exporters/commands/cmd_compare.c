/*
 * cmd_compare.c - sightline compare: differences between two reports, or sets of reports.
 *
 * Everything is read before anything is written. Memory holds the summaries of all reports and the values of those that are
 * being read.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/commands.h"
#include "collector/base/message.h"
#include "collector/base/options.h"
#include "exporters/compare/compare.h"
#include "exporters/text/bounded.h"
#include "exporters/text/output.h"

struct compare {
	const char *base, *kinds, *format, *output, *top, *min_change, *alpha, *min_runs;
	const char *time, *nvtx, *pid;
	bool force_overwrite;
	char **gate_texts;
	size_t gate_cnt;
	struct comparison c;
	struct compare_view view;
	struct bounds bounds;
};

static const char usage[] = "sightline compare [options] BASE.sqlite[,...] REPORT.sqlite[,...]...";
static const char examples[] =
	"Reports joined by commas are runs of the same thing: figures are medians of the runs, and "
	"from four\n"
	"runs on either side the difference is tested (Mann-Whitney); what may be chance has a ~ "
	"in front.\n"
	"\n"
	"Conditions of --fail-on: KIND[GLOB].METRIC OP LIMIT. KIND is a kind of --list-kinds, "
	"[GLOB] picks names,\n"
	"METRIC is total (when left out), count, mean, median, p99, min or max, OP is >, >=, < or "
	"<=. A LIMIT\n"
	"with a sign is a change (+3%, +2ms), one without is the figure itself (70GB). Without "
	"[GLOB], total and\n"
	"count are of all of the kind together. Changes that the test takes for chance do not "
	"count, nor\n"
	"changes between fewer than four runs a side (--min-runs): a line says so. CPU time and "
	"step.min vary\n"
	"least from run to run.\n"
	"\n"
	"Exit status: 0, 3 when a condition of --fail-on holds, 1 when something failed or a "
	"condition is about\n"
	"what no report has, 2 for wrong use.\n"
	"\n"
	"Examples:\n"
	"  sightline compare before.sqlite after.sqlite\n"
	"  sightline compare a1.sqlite,a2.sqlite,a3.sqlite,a4.sqlite "
	"b1.sqlite,b2.sqlite,b3.sqlite,b4.sqlite\n"
	"  sightline compare --base m1.sqlite,m2.sqlite,m3.sqlite,m4.sqlite "
	"p1.sqlite,p2.sqlite,p3.sqlite,p4.sqlite \\\n"
	"      --fail-on 'cpu > +3%' --fail-on 'step.min > +3%'\n"
	"  sightline compare -k kernel,api -f markdown before.sqlite after.sqlite "
	">>\"$GITHUB_STEP_SUMMARY\"\n"
	"  sightline compare -f json before.sqlite after.sqlite | jq '.kinds[] | select(.name == "
	"\"kernel\")'\n";

static const struct compare_format *const formats[] = {&compare_text, &compare_markdown,
						       &compare_json, NULL};

/* ---- sets ---- */

static int no_memory(void)
{
	sl_warn("compare: out of memory");
	return SL_EXIT_FAIL;
}

/* One word: a file, or several with commas between. A file whose own name has a comma is that file. */
static int add_set(struct comparison *c, const char *word)
{
	struct compare_set *sets = reallocarray(c->sets, c->set_cnt + 1, sizeof(*sets)), *s;

	if (!sets)
		return no_memory();
	c->sets = sets;
	s = &c->sets[c->set_cnt++];
	*s = (struct compare_set){.label = strdup(word)};
	if (!s->label)
		return no_memory();
	for (char *p = s->label, *next; p; p = next) {
		struct compare_run *runs = reallocarray(s->runs, s->cnt + 1, sizeof(*runs));

		if (!runs)
			return no_memory();
		s->runs = runs;
		next = access(p, F_OK) == 0 ? NULL : strchr(p, ',');
		if (next)
			*next++ = 0;
		if (*p)
			s->runs[s->cnt++] = (struct compare_run){.path = p};
	}
	return 0;
}

static int read_all(struct comparison *c)
{
	char why[COMPARE_WHY];

	if (compare_read_all(c, why, sizeof(why)) == 0)
		return 0;
	sl_warn("compare: %s", why);
	return SL_EXIT_FAIL;
}

/* ---- options ---- */

/* Conditions with commas between, which patterns may have inside. */
static int add_gates(struct compare *o, const char *list)
{
	while (list && *list) {
		char **more = reallocarray(o->gate_texts, o->gate_cnt + 1, sizeof(*more));
		bool inside = false;
		size_t len = 0;

		for (; list[len] && (inside || list[len] != ','); len++)
			inside = list[len] == '[' || (inside && list[len] != ']');
		if (more)
			o->gate_texts = more;
		if (!more || !(o->gate_texts[o->gate_cnt] = strndup(list, len)))
			return no_memory();
		o->gate_cnt++;
		list += len + (list[len] == ',');
	}
	return 0;
}

static int number_option(const char *option, const char *text, double least, double most,
			 double *value)
{
	char *end;

	if (!text)
		return 0;
	*value = strtod(text, &end);
	if (*text && !*end && *value >= least && *value <= most)
		return 0;
	sl_warn("compare: --%s=%s: a number from %g to %g is expected", option, text, least, most);
	return SL_EXIT_USAGE;
}

static int set_view(struct compare *o)
{
	double top = 10, min_runs = COMPARE_RUNS;
	int rc;

	bounds_default(&o->bounds);
	o->view = (struct compare_view){
		.min_change = 1, .alpha = COMPARE_ALPHA, .bounds = &o->bounds};
	rc = number_option("min-change", o->min_change, 0, 1e9, &o->view.min_change);
	if (rc == 0)
		rc = number_option("alpha", o->alpha, 0, 1, &o->view.alpha);
	if (rc == 0)
		rc = number_option("min-runs", o->min_runs, 1, 1e6, &min_runs);
	o->view.min_runs = (size_t)ceil(min_runs);
	if (rc == 0 && o->top && strcmp(o->top, "all") == 0)
		top = -1;
	else if (rc == 0)
		rc = number_option("top", o->top, 0, 1e9, &top);
	o->view.top = (long)top;
	o->view.colour = (!o->output || strcmp(o->output, "-") == 0) && sl_colour(1);
	return rc;
}

static int set_filter(struct compare *o)
{
	char why[COMPARE_WHY];

	if (db_filter_time(&o->c.filter, o->time, why, sizeof(why)) == 0 &&
	    db_filter_nvtx(&o->c.filter, o->nvtx, why, sizeof(why)) == 0 &&
	    db_filter_pid(&o->c.filter, o->pid, why, sizeof(why)) == 0)
		return 0;
	sl_warn("compare: %s", why);
	return SL_EXIT_USAGE;
}

static int set_gates(struct compare *o)
{
	char why[COMPARE_WHY];

	o->c.gates = calloc(o->gate_cnt + 1, sizeof(*o->c.gates));
	if (!o->c.gates)
		return no_memory();
	for (size_t i = 0; i < o->gate_cnt; i++) {
		if (compare_gate_parse(&o->c, o->gate_texts[i], &o->c.gates[i], why, sizeof(why)) !=
		    0) {
			sl_warn("compare: %s", why);
			compare_gate_free(&o->c.gates[i]);
			return SL_EXIT_USAGE;
		}
		o->c.gate_cnt++;
	}
	return 0;
}

static void list_kinds(const struct comparison *c)
{
	for (size_t i = 0; i < c->kind_cnt; i++)
		printf("  %-12s %s%s\n", c->kinds[i].name, c->kinds[i].title,
		       c->kinds[i].is_single ? " (one figure)" : "");
}

/* Options and files in any order. The index of an error is an exit status, below zero help was shown. */
static int parse(struct compare *o, int argc, char **argv, bool *list)
{
	const char *gates;
	const struct opt opts[] = {
		{0, NULL, OPT_ABOUT, usage, NULL, examples, NULL, NULL},
		{'b', "base", OPT_LIST, NULL, "FILE[,...]",
		 "what to compare with, instead of the first file named", &o->base, NULL},
		{'k', "kinds", OPT_LIST, compare_kind_names(), "KIND[,...]",
		 "only these (see --list-kinds)", &o->kinds, NULL},
		{'f', "format", OPT_ENUM, "text,markdown,json", "FORMAT", "text, markdown or json",
		 &o->format, NULL},
		{'o', "output", OPT_STRING, NULL, "FILE", "write there instead of to the console",
		 &o->output, NULL},
		{0, "force-overwrite", OPT_BOOL, NULL, "true|false", "replace an existing file",
		 &o->force_overwrite, NULL},
		{0, "fail-on", OPT_LIST, NULL, "CONDITION[,...]",
		 "exit with 3 when one of them holds", &gates, NULL},
		{0, "min-runs", OPT_STRING, NULL, "N",
		 "runs on both sides, below which a change is a warning and no reason\n"
		 "to fail (4; 1: fail in any case)",
		 &o->min_runs, NULL},
		{'n', "top", OPT_STRING, NULL, "N", "rows per kind (10), or all", &o->top, NULL},
		{0, "min-change", OPT_STRING, NULL, "PERCENT", "leave out what changed by less (1)",
		 &o->min_change, NULL},
		{0, "alpha", OPT_STRING, NULL, "P",
		 "differences with a greater probability count as chance (0.05)", &o->alpha, NULL},
		BOUNDED_OPTS(&o->bounds),
		DB_FILTER_OPTS(&o->time, &o->nvtx, &o->pid),
		{0, "list-kinds", OPT_FLAG, NULL, NULL, "what is compared", list, NULL},
		{0},
	};

	for (int at = 0, rc = 0; at < argc;) {
		int n;

		gates = NULL;
		n = opt_parse(opts, argc - at, argv + at, "compare");
		if (n == OPT_HELP_SHOWN)
			return n;
		if (n < 0)
			return -n;
		at += n;
		rc = add_gates(o, gates);
		if (rc == 0 && at < argc)
			rc = add_set(&o->c, argv[at]);
		if (rc)
			return rc;
	}
	return 0;
}

/* --base is put in front of the sets that were named. */
static int base_first(struct compare *o)
{
	struct compare_set base;
	int rc;

	if (!o->base)
		return 0;
	rc = add_set(&o->c, o->base);
	if (rc)
		return rc;
	base = o->c.sets[o->c.set_cnt - 1];
	memmove(o->c.sets + 1, o->c.sets, (o->c.set_cnt - 1) * sizeof(base));
	o->c.sets[0] = base;
	return 0;
}

/* ---- doing it ---- */

static int write_out(struct compare *o)
{
	const struct compare_format *format = &compare_text;
	bool to_file = o->output && strcmp(o->output, "-") != 0;
	struct output out = {.kind = to_file ? OUTPUT_FILE : OUTPUT_CONSOLE,
			     .target = o->output,
			     .overwrite = o->force_overwrite};
	char why[COMPARE_WHY];
	int rc;

	for (const struct compare_format *const *f = formats; o->format && *f; f++)
		if (strcmp((*f)->name, o->format) == 0)
			format = *f;
	rc = output_open(&out, why, sizeof(why));
	if (rc == 0) {
		rc = format->write(&o->c, &o->view, out.f);
		if (rc)
			snprintf(why, sizeof(why), "out of memory");
		if (output_close(&out, rc == 0, why, sizeof(why)) != 0)
			rc = -1;
	}
	if (rc)
		sl_warn("compare: %s", why);
	return rc ? SL_EXIT_FAIL : 0;
}

/* A condition about nothing must not look like one that holds good. */
static int judge(struct compare *o)
{
	bool few = false;
	int rc = 0;

	for (size_t i = 0; i < o->c.gate_cnt; i++) {
		const struct compare_gate *g = &o->c.gates[i];

		if (!g->was_checked) {
			sl_warn("compare: --fail-on '%s' cannot be checked: the reports have no "
				"such %s in common",
				g->text, g->kind);
			return SL_EXIT_FAIL;
		}
		if (g->fired || g->was_held)
			compare_gate_print(&o->c, g, stderr);
		if (g->fired)
			rc = SL_EXIT_FOUND;
		for (size_t s = 1; s < o->c.set_cnt; s++)
			few |= compare_gate_is_held(&o->c, &o->view, g, s);
	}
	if (few)
		sl_warn("compare: --fail-on passes over changes between fewer than %zu runs a "
			"side, for "
			"they may be chance: give more runs, joined by commas, or --min-runs=1",
			o->view.min_runs);
	return rc;
}

/* May the result be written where it shall? */
static int check_output(const struct compare *o)
{
	if (!o->output || strcmp(o->output, "-") == 0)
		return 0;
	for (size_t s = 0; s < o->c.set_cnt; s++)
		for (size_t i = 0; i < o->c.sets[s].cnt; i++)
			if (output_same_file(o->output, o->c.sets[s].runs[i].path)) {
				sl_warn("compare: %s is one of the reports; name another -o",
					o->output);
				return SL_EXIT_USAGE;
			}
	if (!o->force_overwrite && access(o->output, F_OK) == 0) {
		sl_warn("compare: %s exists already; --force-overwrite=true replaces it",
			o->output);
		return SL_EXIT_FAIL;
	}
	return 0;
}

static int run(struct compare *o)
{
	char why[COMPARE_WHY];
	bool empty = false;
	int rc = compare_kinds(&o->c, o->kinds, why, sizeof(why));

	if (rc) {
		sl_warn("compare: %s", why);
		return rc;
	}
	rc = set_view(o);
	if (rc == 0)
		rc = set_filter(o);
	if (rc == 0)
		rc = set_gates(o);
	if (rc == 0)
		rc = base_first(o);
	if (rc)
		return rc;
	for (size_t s = 0; s < o->c.set_cnt; s++)
		empty |= o->c.sets[s].cnt == 0;
	if (empty || o->c.set_cnt < 2) {
		sl_warn("compare: two reports or more are needed: %s", usage);
		return SL_EXIT_USAGE;
	}
	rc = check_output(o);
	if (rc == 0)
		rc = read_all(&o->c);
	if (rc)
		return rc;
	if (compare_match(&o->c) != 0)
		return no_memory();
	if (compare_find_worst(&o->c, &o->view) != 0)
		return no_memory();
	for (size_t i = 0; i < o->c.gate_cnt; i++)
		compare_gate_check(&o->c, &o->view, &o->c.gates[i]);
	rc = write_out(o);
	return rc ? rc : judge(o);
}

int cmd_compare(int argc, char **argv)
{
	struct compare o = {0};
	bool list = false;
	char why[COMPARE_WHY];
	int rc;

	bounds_open(&o.bounds, argc, argv);
	rc = parse(&o, argc, argv, &list);

	if (rc == 0 && list) {
		rc = compare_kinds(&o.c, NULL, why, sizeof(why));
		if (rc == 0)
			list_kinds(&o.c);
	} else if (rc == 0) {
		rc = run(&o);
	}
	for (size_t i = 0; i < o.c.gate_cnt; i++)
		compare_gate_free(&o.c.gates[i]);
	free(o.c.gates);
	for (size_t i = 0; i < o.gate_cnt; i++)
		free(o.gate_texts[i]);
	free(o.gate_texts);
	compare_free(&o.c);
	bounds_free(&o.bounds);
	return rc == OPT_HELP_SHOWN ? 0 : rc;
}
