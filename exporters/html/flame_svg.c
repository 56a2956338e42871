/*
 * flame_svg.c - the flame graph: inline SVG that needs no script to be read, and a table of functions.
 *
 * Each frame is an SVG of its own, placed by percentages: so it follows the width of the page, and cuts
 * off its text by itself. page.js zooms by changing these percentages.
 */
#include <stdlib.h>
#include <string.h>

#include "exporters/db_read.h"
#include "exporters/html/flame.h"
#include "exporters/html/html_text.h"
#include "exporters/html/tables_html.h"

#define FRAMES_MAX 3000
#define FRAME_NAME 200
#define ROW        18

struct draw {
	struct page *page;
	struct flame *flame;
	uint32_t *order; /* nodes by parent, the largest first */
	uint32_t *
		first; /* by node: its children begin there in order; there is one more at the end */
	uint32_t least; /* smaller ones are left out */
	int depth;      /* of the deepest that is drawn */
	size_t drawn;
	uint32_t *total, *self,
		*open; /* by label: samples with it in the stack, at its end; how often on the path */
	sqlite3_stmt *name;
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
	int64_t key = d->flame->labels.ids[label];
	const char *text = NULL;

	if (FRAME_KIND(key) == FRAME_PROCESS)
		return page_process_name(d->page, FRAME_ID(key), buf, FRAME_NAME);
	sqlite3_bind_int64(d->name, 1, FRAME_ID(key));
	if (sqlite3_step(d->name) == SQLITE_ROW)
		text = (const char *)sqlite3_column_text(d->name, 0);
	if (FRAME_KIND(key) == FRAME_MODULE && text) {
		const char *base = strrchr(text, '/');

		snprintf(buf, FRAME_NAME, "[%s]", base && base[1] ? base + 1 : text);
	} else {
		snprintf(buf, FRAME_NAME, "%s", text && *text ? text : "[unknown]");
	}
	sqlite3_reset(d->name);
	return buf;
}

/* Adds up by function: one that calls itself counts once per stack. */
static void add_up(struct draw *d, uint32_t node, int depth)
{
	const struct flame_node *n = &d->flame->nodes[node];

	if (node != 0) {
		d->self[n->label] += n->self;
		if (d->open[n->label]++ == 0)
			d->total[n->label] += n->cnt;
		if (n->cnt >= d->least) {
			d->drawn++;
			d->depth = depth > d->depth ? depth : d->depth;
		}
	}
	for (uint32_t i = d->first[node]; i < d->first[node + 1]; i++)
		add_up(d, d->order[i], depth + 1);
	if (node != 0)
		d->open[n->label]--;
}

static int prepare(struct draw *d)
{
	struct flame *f = d->flame;
	size_t labels = f->labels.cnt + 1;

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
	/* So small that nobody could see it; and never more than a browser likes to draw. */
	d->least = f->nodes[0].cnt / 1000 + 1;
	for (size_t shown = FRAMES_MAX + 1; shown > FRAMES_MAX;) {
		shown = 0;
		for (size_t i = 1; i < f->node_cnt; i++)
			shown += f->nodes[i].cnt >= d->least;
		if (shown > FRAMES_MAX)
			d->least += d->least / 2 + 1;
	}
	add_up(d, 0, -1);
	return 0;
}

static unsigned colour_of(const char *name)
{
	unsigned h = 5381;

	for (; *name; name++)
		h = h * 33 + (unsigned char)*name;
	return h % 6;
}

static void put_frame(struct draw *d, uint32_t node, int depth, double x)
{
	const struct flame_node *n = &d->flame->nodes[node];
	double all = d->flame->nodes[0].cnt, w = 100 * n->cnt / all;
	char name[FRAME_NAME + 8], count[HUMAN_MAX];
	FILE *out = d->page->out;

	if (n->cnt < d->least)
		return;
	if (node != 0) {
		int64_t key = d->flame->labels.ids[n->label];

		name_of(d, n->label, name);
		fprintf(out, "<svg class=\"");
		if (FRAME_KIND(key) == FRAME_PROCESS)
			fputs("fp", out);
		else if (d->flame->kernel[n->label])
			fputs("fk", out);
		else
			fprintf(out, "f%u", colour_of(name));
		fprintf(out, "\" x=\"%.3f%%\" y=\"%d\" width=\"%.3f%%\" height=\"%d\"><title>", x,
			depth * ROW, w, ROW - 1);
		html_str(out, name);
		fprintf(out,
			"\n%s samples, %.1f %%</title><rect width=\"100%%\" height=\"100%%\"/>",
			human_count(count, n->cnt), w);
		if (w > 1.5) {
			fputs("<text x=\"4\" y=\"13\">", out);
			html_str(out, name);
			fputs("</text>", out);
		}
		fputs("</svg>\n", out);
	}
	for (uint32_t i = d->first[node]; i < d->first[node + 1]; i++) {
		put_frame(d, d->order[i], depth + 1, x);
		x += 100 * d->flame->nodes[d->order[i]].cnt / all;
	}
}

static const uint32_t *sort_self, *sort_total;

static int by_self(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (sort_self[x] != sort_self[y])
		return sort_self[x] < sort_self[y] ? 1 : -1;
	if (sort_total[x] != sort_total[y])
		return sort_total[x] < sort_total[y] ? 1 : -1;
	return (x > y) - (x < y);
}

static void put_share(FILE *out, uint32_t cnt, double all, bool bar)
{
	fprintf(out, "<td class=\"n\" data-v=\"%u\">", cnt);
	if (bar)
		fprintf(out,
			"<svg class=\"bar\" aria-hidden=\"true\"><rect width=\"%.1f%%\" "
			"height=\"100%%\"/></svg>",
			100 * cnt / all);
	fprintf(out, "%.1f %%</td>", 100 * cnt / all);
}

static int put_functions(struct draw *d)
{
	size_t cnt = d->flame->labels.cnt, shown = 0;
	uint32_t *order = malloc((cnt + 1) * sizeof(*order));
	double all = d->flame->nodes[0].cnt;
	FILE *out = d->page->out;
	char name[FRAME_NAME + 8];

	if (!order)
		return scan_fail(&d->page->scan, 0);
	for (uint32_t i = 0; i < cnt; i++)
		order[i] = i;
	sort_self = d->self;
	sort_total = d->total;
	qsort(order, cnt, sizeof(*order), by_self);
	fputs("<h3 id=\"functions\">Functions by samples</h3>\n", out);
	table_begin(out, "Self: samples in the function itself; total: also in what it called.");
	fputs("<thead><tr><th scope=\"col\">Function</th><th scope=\"col\">Self</th>"
	      "<th scope=\"col\">Total</th></tr></thead>\n<tbody>\n",
	      out);
	for (size_t i = 0; i < cnt && shown < (size_t)d->page->rows; i++) {
		if (FRAME_KIND(d->flame->labels.ids[order[i]]) == FRAME_PROCESS)
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

static int put_flame(struct draw *d)
{
	char about[256], count[HUMAN_MAX];
	FILE *out = d->page->out;

	snprintf(about, sizeof(about),
		 "Where the processors were, from %s samples: callers above, what they called "
		 "below, "
		 "as wide as their share of all samples.",
		 human_count(count, d->flame->nodes[0].cnt));
	page_section(d->page, "flame", "Flame graph", about);
	fprintf(out, "<svg id=\"flame-graph\" class=\"flame\" width=\"100%%\" height=\"%d\">\n",
		(d->depth + 1) * ROW);
	put_frame(d, 0, -1, 0);
	fputs("</svg>\n", out);
	if (d->drawn < d->flame->node_cnt - 1)
		fprintf(out,
			"<p class=\"note\">Frames with fewer than %u samples are left out.</p>\n",
			d->least);
	return 0;
}

int page_flame(struct page *p)
{
	struct flame flame = {0};
	struct draw d = {.page = p, .flame = &flame};
	int rc = 0;

	if (!db_read_has(p->db, "COMPOSITE_EVENTS") || !db_read_has(p->db, "SAMPLING_CALLCHAINS"))
		return 0;
	rc = flame_read(&flame, &p->scan);
	if (rc == 0 && flame.nodes[0].cnt > 0) {
		d.name = scan_prepare(&p->scan, "SELECT value FROM StringIds WHERE id = ?1");
		rc = d.name ? prepare(&d) : -1;
		if (rc == 0)
			rc = put_flame(&d);
		if (rc == 0)
			rc = put_functions(&d);
		if (rc == 0)
			page_section_end(p);
	}
	sqlite3_finalize(d.name);
	free(d.order);
	free(d.first);
	free(d.total);
	free(d.self);
	free(d.open);
	flame_free(&flame);
	return rc < 0 ? page_scan_failed(p) : 0;
}
