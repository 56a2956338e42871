/*
 * flame_svg.c - the flame graph: inline SVG that needs no script to be read, and a table of functions.
 *
 * Each frame is an SVG of its own, placed by percentages: so it follows the width of the page, and cuts
 * off its text by itself. page.js zooms by changing these percentages.
 */
#include <stdlib.h>
#include <string.h>

#include "exporters/read/db_read.h"
#include "exporters/html/flame.h"
#include "exporters/html/html_text.h"
#include "exporters/html/tables_html.h"

#define FRAMES_MAX 3000
#define FRAME_NAME 200
#define ROW        18

/* The graphs of the section, in this order, a tab each; their shares are of @all. */
static const struct graph {
	enum stack_cost what;
	const char *id, *tab, *before, *behind; /* the last two: of all of it, in words */
	const char *table, *self;
} graphs[] = {
	{COST_CPU, "", "CPU samples", "Where the processors were, from ", " samples", "samples",
	 "samples in the function itself"},
	{COST_OFF_CPU, "-off-cpu", "Off CPU", "Where threads spent ",
	 " in calls of the C library, or away from a CPU", "time off the CPU",
	 "time in calls it made itself"},
	{COST_GPU, "-gpu", "GPU time", "Where ", " of work on GPUs came from", "GPU time",
	 "time of what it launched itself"},
	{COST_READ, "-read", "Bytes read", "Where ", " were read", "bytes read",
	 "bytes it read itself"},
	{COST_WRITTEN, "-written", "Bytes written", "Where ", " were written", "bytes written",
	 "bytes it wrote itself"},
	{COST_ALLOCATIONS, "-allocations", "GPU memory", "Where ", " of GPU memory were allocated",
	 "GPU memory", "bytes it allocated itself"},
};
#define GRAPHS (sizeof(graphs) / sizeof(graphs[0]))

struct draw {
	struct page *page;
	struct flame *flame;
	const struct graph *graph;
	uint32_t *order; /* nodes by parent, the largest first */
	uint32_t *
		first; /* by node: its children begin there in order; there is one more at the end */
	int64_t least; /* smaller ones are left out */
	int depth;     /* of the deepest that is drawn */
	size_t drawn;
	int64_t *total, *self; /* by label: with it in the stack, at its end */
	uint32_t *open;        /* how often on the path */
	unsigned kinds;        /* 1 << enum stack_frame_kind, of the drawn frames */
};

static const struct flame_node *sorted;

static int by_parent(const void *a, const void *b)
{
	const struct flame_node *x = &sorted[*(const uint32_t *)a],
				*y = &sorted[*(const uint32_t *)b];

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->cnt != y->cnt)
		return x->cnt < y->cnt ? 1 : -1;
	return (x > y) - (x < y);
}

/* The name of a label; the process for one. */
static const char *name_of(struct draw *d, uint32_t label, char buf[FRAME_NAME + 8])
{
	const struct stack_costs *w = d->flame->w;

	if (flame_is_process(d->flame, label)) {
		const struct stack_owner *o = &w->owner[label - w->frame_cnt];

		snprintf(buf, FRAME_NAME, "%.100s (%d)", o->process, (int)TL_PID(o->global));
		return buf;
	}
	snprintf(buf, FRAME_NAME, "%s", w->frame[label].text);
	return buf;
}

static const char *human_weight(const struct draw *d, char buf[HUMAN_MAX], double value)
{
	switch (stack_cost_kinds[d->flame->what].unit[0]) {
	case 'n':
		return human_time(buf, value);
	case 'b':
		return human_bytes(buf, value);
	default:
		return human_count(buf, value);
	}
}

/* Not the calls, kernels and files that stand below the innermost function: they are its own. */
static bool is_function(const struct draw *d, uint32_t label)
{
	return !flame_is_process(d->flame, label) && d->flame->w->frame[label].kind < FRAME_CALL;
}

/* Adds up by function, of which @own is the innermost so far: one that calls itself counts once per stack. */
static void add_up(struct draw *d, uint32_t node, int depth, uint32_t own)
{
	const struct flame_node *n = &d->flame->nodes[node];

	if (node != 0) {
		if (is_function(d, n->label))
			own = n->label;
		d->self[own] = stack_cost_sum(d->self[own], n->self);
		if (d->open[n->label]++ == 0)
			d->total[n->label] = stack_cost_sum(d->total[n->label], n->cnt);
		if (n->cnt >= d->least) {
			if (!flame_is_process(d->flame, n->label))
				d->kinds |= 1u << d->flame->w->frame[n->label].kind;
			d->drawn++;
			d->depth = depth > d->depth ? depth : d->depth;
		}
	}
	for (uint32_t i = d->first[node]; i < d->first[node + 1]; i++)
		add_up(d, d->order[i], depth + 1, own);
	if (node != 0)
		d->open[n->label]--;
}

static int prepare(struct draw *d)
{
	struct flame *f = d->flame;
	size_t labels = f->label_cnt + 1;

	d->order = malloc(f->node_cnt * sizeof(*d->order));
	d->first = calloc(f->node_cnt + 2, sizeof(*d->first));
	d->total = calloc(labels, sizeof(*d->total));
	d->self = calloc(labels, sizeof(*d->self));
	d->open = calloc(labels, sizeof(*d->open));
	if (!d->order || !d->first || !d->total || !d->self || !d->open)
		return scan_fail(&d->page->scan, 0);
	for (uint32_t i = 1; i < f->node_cnt; i++) {
		d->order[i - 1] = i;
		d->first[f->nodes[i].parent + 1]++;
	}
	for (size_t i = 1; i <= f->node_cnt; i++)
		d->first[i] += d->first[i - 1];
	sorted = f->nodes;
	qsort(d->order, f->node_cnt - 1, sizeof(*d->order), by_parent);
	/* Too small to see; and never more than a browser likes to draw. */
	d->least = f->nodes[0].cnt / 1000 + 1;
	for (size_t shown = FRAMES_MAX + 1; shown > FRAMES_MAX;) {
		shown = 0;
		for (size_t i = 1; i < f->node_cnt; i++)
			shown += f->nodes[i].cnt >= d->least;
		if (shown > FRAMES_MAX)
			d->least += d->least / 2 + 1;
	}
	add_up(d, 0, -1, f->label_cnt);
	return 0;
}

static unsigned colour_of(const char *name)
{
	unsigned h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h % 6;
}

/* Colours stand for kinds of frames; within a kind, shades for functions. */
static void put_class(struct draw *d, uint32_t label, const char *name)
{
	static const char *const kinds[] = {
		[FRAME_NATIVE] = "f", [FRAME_PYTHON] = "y",  [FRAME_KERNEL] = "fk",
		[FRAME_JIT] = "fj",   [FRAME_REMARK] = "fr", [FRAME_CALL] = "fc",
		[FRAME_WORK] = "fg",  [FRAME_FILE] = "fr"};
	enum stack_frame_kind kind = FRAME_REMARK;

	if (!flame_is_process(d->flame, label))
		kind = d->flame->w->frame[label].kind;
	if (flame_is_process(d->flame, label))
		fputs("fp", d->page->out);
	else if (kind == FRAME_NATIVE || kind == FRAME_PYTHON)
		fprintf(d->page->out, "%s%u", kinds[kind], colour_of(name));
	else
		fputs(kind <= FRAME_FILE ? kinds[kind] : "fr", d->page->out);
}

static void put_frame(struct draw *d, uint32_t node, int depth, double x)
{
	const struct flame_node *n = &d->flame->nodes[node];
	double all = (double)d->flame->nodes[0].cnt, w = 100 * (double)n->cnt / all;
	char name[FRAME_NAME + 8], count[HUMAN_MAX];
	FILE *out = d->page->out;

	if (n->cnt < d->least)
		return;
	if (node != 0) {
		name_of(d, n->label, name);
		fprintf(out, "<svg class=\"");
		put_class(d, n->label, name);
		fprintf(out, "\" x=\"%.3f%%\" y=\"%d\" width=\"%.3f%%\" height=\"%d\"><title>", x,
			depth * ROW, w, ROW - 1);
		html_str(out, name);
		fprintf(out, "\n%s%s, %.1f %%</title><rect width=\"100%%\" height=\"100%%\"/>",
			human_weight(d, count, (double)n->cnt),
			d->flame->what == COST_CPU ? " samples" : "", w);
		if (w > 1.5) {
			fputs("<text x=\"4\" y=\"13\">", out);
			html_str(out, name);
			fputs("</text>", out);
		}
		fputs("</svg>\n", out);
	}
	for (uint32_t i = d->first[node]; i < d->first[node + 1]; i++) {
		put_frame(d, d->order[i], depth + 1, x);
		x += 100 * (double)d->flame->nodes[d->order[i]].cnt / all;
	}
}

static const int64_t *sort_self, *sort_total;

static int by_self(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (sort_self[x] != sort_self[y])
		return sort_self[x] < sort_self[y] ? 1 : -1;
	if (sort_total[x] != sort_total[y])
		return sort_total[x] < sort_total[y] ? 1 : -1;
	return (x > y) - (x < y);
}

static void put_share(FILE *out, int64_t cnt, double all, bool bar)
{
	fprintf(out, "<td class=\"n\" data-v=\"%lld\">", (long long)cnt);
	if (bar)
		fprintf(out,
			"<svg class=\"bar\" aria-hidden=\"true\"><rect width=\"%.1f%%\" "
			"height=\"100%%\"/></svg>",
			100 * (double)cnt / all);
	fprintf(out, "%.1f %%</td>", 100 * (double)cnt / all);
}

static int put_functions(struct draw *d)
{
	size_t cnt = d->flame->label_cnt, shown = 0;
	uint32_t *order = malloc((cnt + 1) * sizeof(*order));
	double all = (double)d->flame->nodes[0].cnt;
	FILE *out = d->page->out;
	char name[FRAME_NAME + 8], about[160];

	if (!order)
		return scan_fail(&d->page->scan, 0);
	for (uint32_t i = 0; i < cnt; i++)
		order[i] = i;
	sort_self = d->self;
	sort_total = d->total;
	qsort(order, cnt, sizeof(*order), by_self);
	fprintf(out, "<h3 id=\"functions%s\">Functions by %s</h3>\n", d->graph->id,
		d->graph->table);
	snprintf(about, sizeof(about), "Self: %s; total: also in what it called.", d->graph->self);
	table_begin(out, about);
	fputs("<thead><tr><th scope=\"col\">Function</th><th scope=\"col\">Self</th>"
	      "<th scope=\"col\">Total</th></tr></thead>\n<tbody>\n",
	      out);
	for (size_t i = 0; i < cnt && shown < (size_t)d->page->rows; i++) {
		if (!is_function(d, order[i]) || d->total[order[i]] == 0)
			continue;
		fputs("<tr><th scope=\"row\"><span class=\"name\">", out);
		html_str(out, name_of(d, order[i], name));
		fputs("</span></th>", out);
		put_share(out, d->self[order[i]], all, true);
		put_share(out, d->total[order[i]], all, false);
		fputs("</tr>\n", out);
		shown++;
	}
	fputs("</tbody>\n", out);
	table_end(out);
	free(order);
	return 0;
}

static void put_legend(const struct draw *d)
{
	static const struct {
		enum stack_frame_kind kind;
		const char *look, *name;
	} all[] = {{FRAME_PYTHON, "y1", "Python"},
		   {FRAME_NATIVE, "f1", "native"},
		   {FRAME_JIT, "fj", "made at run time"},
		   {FRAME_KERNEL, "fk", "kernel"},
		   {FRAME_CALL, "fc", "call"},
		   {FRAME_WORK, "fg", "GPU work"}};

	fputs("<p class=\"flame-legend\">", d->page->out);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (d->kinds & 1u << all[i].kind)
			fprintf(d->page->out,
				"<span><svg class=\"swatch %s\" aria-hidden=\"true\"><rect "
				"width=\"100%%\" height=\"100%%\"/></svg> %s</span>\n",
				all[i].look, all[i].name);
	fputs("</p>\n", d->page->out);
}

static void put_flame(struct draw *d)
{
	char count[HUMAN_MAX];
	FILE *out = d->page->out;

	human_weight(d, count, (double)d->flame->nodes[0].cnt);
	fprintf(out,
		"<p class=\"about\">%s%s%s: callers above, what they called below, as wide as "
		"their share of all.</p>\n",
		d->graph->before, count, d->graph->behind);
	put_legend(d);
	fprintf(out,
		"<div class=\"flame-box\" tabindex=\"0\"><svg id=\"flame-graph%s\" class=\"flame\" "
		"width=\"100%%\" height=\"%d\">\n",
		d->graph->id, (d->depth + 1) * ROW);
	put_frame(d, 0, -1, 0);
	fputs("</svg></div>\n", out);
	if (d->drawn < d->flame->node_cnt - 1)
		fprintf(out, "<p class=\"note\">Frames with fewer than %s%s are left out.</p>\n",
			human_weight(d, count, (double)d->least),
			d->flame->what == COST_CPU ? " samples" : "");
}

static int draw_graph(struct page *p, const struct stack_costs *w, const struct graph *graph)
{
	struct flame flame = {0};
	struct draw d = {.page = p, .flame = &flame, .graph = graph};
	int rc = flame_build(&flame, w, graph->what) ? 0 : scan_fail(&p->scan, 0);

	if (rc == 0)
		rc = prepare(&d);
	if (rc == 0) {
		put_flame(&d);
		rc = put_functions(&d);
	}
	free(d.order);
	free(d.first);
	free(d.total);
	free(d.self);
	free(d.open);
	flame_free(&flame);
	return rc;
}

/* Tabs are radio buttons: they need no script, and on paper all of them are there. */
static int put_graphs(struct page *p, const struct stack_costs *w, unsigned shown)
{
	bool tabs = (shown & (shown - 1)) != 0, first = true;
	int rc = 0;

	page_section(p, "flame", "Flame graph", NULL);
	if (tabs)
		fputs("<div class=\"tabs\">\n", p->out);
	for (size_t i = 0; i < GRAPHS && tabs; i++) {
		if (!(shown & COST_BIT(graphs[i].what)))
			continue;
		fprintf(p->out,
			"<input type=\"radio\" name=\"flame-tab\" id=\"flame-tab%s\"%s><label "
			"for=\"flame-tab%s\">%s</label>\n",
			graphs[i].id, first ? " checked" : "", graphs[i].id, graphs[i].tab);
		first = false;
	}
	for (size_t i = 0; i < GRAPHS && rc == 0; i++) {
		if (!(shown & COST_BIT(graphs[i].what)))
			continue;
		if (tabs)
			fprintf(p->out, "<div class=\"tab\"><h3 class=\"tab-title\">%s</h3>\n",
				graphs[i].tab);
		rc = draw_graph(p, w, &graphs[i]);
		if (tabs)
			fputs("</div>\n", p->out);
	}
	if (tabs)
		fputs("</div>\n", p->out);
	page_section_end(p);
	return rc;
}

int page_flame(struct page *p)
{
	static const char *const tables[] = {"SL_STACKS", "SAMPLING_CALLCHAINS", "OSRT_CALLCHAINS",
					     "CUDA_CALLCHAINS", "SYSCALL_CALLCHAINS"};
	struct stack_costs w = {.db = p->db, .by = OWNER_BY_PROCESS};
	unsigned shown;
	bool any = false;
	int rc = 0;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		any |= db_read_has(p->db, tables[i]);
	if (!any)
		return 0;
	for (size_t i = 0; i < GRAPHS; i++)
		w.what |= COST_BIT(graphs[i].what);
	rc = stack_costs_run(&w, p->scan.why, sizeof(p->scan.why));
	shown = w.has_stack;
	for (int i = 0; i < COST_CNT; i++)
		shown &= w.total[i] > 0 ? ~0u : ~COST_BIT(i);
	if (rc == 0 && shown)
		rc = put_graphs(p, &w, shown);
	stack_costs_free(&w);
	return rc < 0 ? page_scan_failed(p) : 0;
}
