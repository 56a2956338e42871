/* processes.c - the process tree: parents, lifetimes, costs. */
#include <stdlib.h>
#include <string.h>

#include "exporters/read/db_read.h"
#include "exporters/html/html_text.h"
#include "exporters/html/tables_html.h"

#define SHOWN_MAX 200
#define DEPTH_MAX 40

struct node {
	int64_t gpid, parent; /* globalPid >> 24; parent -1: not known */
	int64_t start, end;   /* end INT64_MAX: not seen; start INT64_MIN: neither */
	double cpu_ns, kernel_ns;
	int64_t status; /* wait status; -1: not known */
	long up;        /* its parent's index; -1: none */
	bool shown, done;
};

struct tree {
	struct page *page;
	struct node *nodes;
	size_t cnt, shown;
	struct id_map ids;
	bool lives, cpu, kernels; /* columns that have something in them */
	sqlite3_stmt *command;
};

const char *page_process_name(struct page *p, int64_t gpid, char *buf, size_t len)
{
	sqlite3_stmt *stmt = NULL;
	const char *name = NULL;

	if (sqlite3_prepare_v2(p->db, "SELECT max(name) FROM PROCESSES WHERE globalPid >> 24 = ?1",
			       -1, &stmt, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(stmt, 1, gpid);
		if (sqlite3_step(stmt) == SQLITE_ROW)
			name = (const char *)sqlite3_column_text(stmt, 0);
	}
	snprintf(buf, len, "%.100s (%lld)", name && *name ? name : "process",
		 (long long)(gpid & 0xFFFFFF));
	sqlite3_finalize(stmt);
	return buf;
}

/* ---- collecting ---- */

static struct node *node_of(struct tree *t, int64_t gpid)
{
	long i = id_map_add(&t->ids, gpid);

	if (i < 0)
		return NULL;
	if ((size_t)i == t->cnt) {
		if ((t->cnt & (t->cnt - 1)) == 0) {
			struct node *more =
				reallocarray(t->nodes, t->cnt ? 2 * t->cnt : 1, sizeof(*more));

			if (!more)
				return NULL;
			t->nodes = more;
		}
		t->nodes[t->cnt++] = (struct node){.gpid = gpid,
						   .parent = -1,
						   .start = INT64_MIN,
						   .end = INT64_MAX,
						   .status = -1,
						   .up = -1};
	}
	return &t->nodes[i];
}

static int read_tree(struct tree *t)
{
	struct scan *s = &t->page->scan;
	/* The last image has how a process ended; a NULL among the ends: it had not. */
	sqlite3_stmt *stmt = scan_prepare(
		s, "SELECT globalPid >> 24, max(parentGlobalPid >> 24), min(start), "
		   "CASE WHEN count(end) = count(*) THEN max(end) END, max(exitStatus) "
		   "FROM SL_PROCESS_TREE GROUP BY globalPid >> 24 ORDER BY min(start), 1");
	int rc;

	if (!stmt)
		return -1;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct node *n = node_of(t, sqlite3_column_int64(stmt, 0));

		if (!n)
			break;
		if (sqlite3_column_type(stmt, 1) != SQLITE_NULL)
			n->parent = sqlite3_column_int64(stmt, 1);
		n->start = scan_time(stmt, 2);
		if (sqlite3_column_type(stmt, 3) != SQLITE_NULL)
			n->end = scan_time(stmt, 3);
		if (sqlite3_column_type(stmt, 4) != SQLITE_NULL)
			n->status = sqlite3_column_int64(stmt, 4);
		t->lives = true;
	}
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE ? 0 : scan_fail(s, rc == SQLITE_ROW ? 0 : rc);
}

static int add_costs(struct tree *t)
{
	const struct scan *s = &t->page->scan;

	for (size_t i = 0; i < s->process_cnt; i++) {
		const struct process *one = &s->processes[i];
		struct node *n = node_of(t, one->pid);

		if (!n)
			return scan_fail(&t->page->scan, 0);
		n->cpu_ns = one->cpu_ns;
		n->kernel_ns = one->kernel_ns;
		t->cpu |= one->cpu_ns > 0;
		t->kernels |= one->kernel_ns > 0;
	}
	for (size_t i = 0; i < t->cnt; i++)
		if (t->nodes[i].parent >= 0 && t->nodes[i].parent != t->nodes[i].gpid)
			t->nodes[i].up = id_map_find(&t->ids, t->nodes[i].parent);
	return 0;
}

/* ---- choosing ---- */

static double weight(const struct node *n)
{
	return n->cpu_ns + n->kernel_ns;
}

static int heavier(const void *a, const void *b)
{
	const struct node *x = *(struct node *const *)a, *y = *(struct node *const *)b;

	if (weight(x) != weight(y))
		return weight(x) < weight(y) ? 1 : -1;
	return (x > y) - (x < y); /* in the order of their starts */
}

/* The most expensive ones, and those above them. */
static int choose(struct tree *t)
{
	struct node **order = malloc((t->cnt + 1) * sizeof(struct node *));

	if (!order)
		return scan_fail(&t->page->scan, 0);
	for (size_t i = 0; i < t->cnt; i++)
		order[i] = &t->nodes[i];
	qsort(order, t->cnt, sizeof(struct node *), heavier);
	for (size_t i = 0; i < t->cnt && t->shown < SHOWN_MAX; i++) {
		struct node *n = order[i];

		for (int depth = 0; n && !n->shown && depth < DEPTH_MAX; depth++) {
			n->shown = true;
			t->shown++;
			n = n->up >= 0 ? &t->nodes[n->up] : NULL;
		}
	}
	free(order);
	return 0;
}

/* ---- writing ---- */

static double percent_of(const struct axis *a, int64_t at)
{
	double percent = 100 * (double)(at - a->from) / (double)(a->to - a->from);

	return percent < 0 ? 0 : percent > 100 ? 100 : percent;
}

static void put_life(struct tree *t, const struct node *n)
{
	const struct axis *a = &t->page->scan.axis;
	double from, to;

	if (n->start == INT64_MIN) {
		fputs("<td></td>", t->page->out);
		return;
	}
	fprintf(t->page->out, "<td class=\"life\" data-v=\"%lld\"><svg aria-hidden=\"true\">",
		(long long)n->start);
	if (n->start <= a->to && n->end >= a->from) {
		from = percent_of(a, n->start);
		to = percent_of(a, n->end);
		to = to < from + 0.5 ? from + 0.5 : to; /* as wide as can be seen */
		fprintf(t->page->out, "<rect x=\"%.2f%%\" width=\"%.2f%%\" height=\"100%%\"/>",
			from, to - from);
	}
	fputs("</svg></td>", t->page->out);
}

static void put_time(FILE *out, bool known, double ns)
{
	char text[HUMAN_MAX];

	if (known)
		fprintf(out, "<td class=\"n\" data-v=\"%.15g\">%s</td>", ns, human_time(text, ns));
	else
		fputs("<td class=\"n\"></td>", out);
}

static void put_status(FILE *out, int64_t status)
{
	if (status < 0)
		fputs("<td></td>", out);
	else if (status & 0x7F)
		fprintf(out, "<td class=\"alarm\">signal %d</td>", (int)(status & 0x7F));
	else
		fprintf(out, "<td>%d</td>", (int)(status >> 8 & 0xFF));
}

static void put_node(struct tree *t, const struct node *n, int depth)
{
	FILE *out = t->page->out;
	char name[160];
	char *paren;

	page_process_name(t->page, n->gpid, name, sizeof(name));
	paren = strrchr(name, ' ');
	if (paren)
		*paren = '\0'; /* the pid has a column of its own */
	fprintf(out, "<tr><th scope=\"row\" class=\"d%d\">", depth > 12 ? 12 : depth);
	html_str(out, name);
	fprintf(out, "</th><td class=\"n\">%lld</td>", (long long)(n->gpid & 0xFFFFFF));
	if (t->lives) {
		int64_t end = n->end == INT64_MAX ? t->page->scan.axis.to : n->end;

		put_life(t, n);
		put_time(out, n->start != INT64_MIN, (double)end - (double)n->start);
	}
	if (t->cpu)
		put_time(out, true, n->cpu_ns);
	if (t->kernels)
		put_time(out, true, n->kernel_ns);
	if (t->lives) {
		put_status(out, n->status);
		fputs("<td><span class=\"name\">", out);
		sqlite3_bind_int64(t->command, 1, n->gpid);
		if (sqlite3_step(t->command) == SQLITE_ROW && sqlite3_column_text(t->command, 0))
			html_text(out, (const char *)sqlite3_column_text(t->command, 0),
				  (size_t)sqlite3_column_bytes(t->command, 0));
		sqlite3_reset(t->command);
		fputs("</span></td>", out);
	}
	fputs("</tr>\n", out);
}

/* Children below their parents, each level in the order of starts; nodes lie in that order. */
static void put_below(struct tree *t, long up, int depth)
{
	for (size_t i = 0; i < t->cnt; i++) {
		struct node *n = &t->nodes[i];

		if (!n->shown || n->done || n->up != up)
			continue;
		n->done = true;
		put_node(t, n, depth);
		if (depth < DEPTH_MAX)
			put_below(t, (long)i, depth + 1);
	}
}

static void put_head(struct tree *t)
{
	FILE *out = t->page->out;

	fputs("<thead><tr><th scope=\"col\">Process</th><th scope=\"col\">Pid</th>", out);
	if (t->lives)
		fputs("<th scope=\"col\">Life</th><th scope=\"col\">Duration</th>", out);
	if (t->cpu)
		fputs("<th scope=\"col\">CPU time</th>", out);
	if (t->kernels)
		fputs("<th scope=\"col\">Kernel time</th>", out);
	if (t->lives)
		fputs("<th scope=\"col\">Exit</th><th scope=\"col\">Command</th>", out);
	fputs("</tr></thead>\n<tbody>\n", out);
}

static void put_tree(struct tree *t)
{
	FILE *out = t->page->out;

	page_section(t->page, "processes", "Processes", NULL);
	table_begin(out,
		    t->lives ? "Every process below the one that started it. The bar is its life "
			       "within the time of the charts."
			     : "Processes that did something while they were recorded.");
	put_head(t);
	put_below(t, -1, 0);
	/* Processes in a cycle (ids get used again) have no parent. */
	for (size_t i = 0; i < t->cnt; i++) {
		if (t->nodes[i].shown && !t->nodes[i].done) {
			t->nodes[i].done = true;
			put_node(t, &t->nodes[i], 0);
		}
	}
	fputs("</tbody>\n", out);
	table_end(out);
	if (t->shown < t->cnt)
		fprintf(out,
			"<p class=\"note\">%zu of %zu processes: those that took the most time of "
			"processors and GPUs, and who started them.</p>\n",
			t->shown, t->cnt);
	page_section_end(t->page);
}

int page_processes(struct page *p)
{
	struct tree t = {.page = p};
	int rc = db_read_has(p->db, "SL_PROCESS_TREE") ? read_tree(&t) : 0;

	if (rc == 0)
		rc = add_costs(&t);
	if (rc == 0)
		rc = choose(&t);
	t.command =
		rc < 0 ? NULL
		       : scan_prepare(&p->scan,
				      "SELECT coalesce(commandLine, exe) FROM SL_PROCESS_TREE "
				      "WHERE globalPid >> 24 = ?1 ORDER BY start DESC, kind DESC");
	if (rc == 0 && !t.command)
		rc = -1;
	if (rc == 0 && t.cnt > 0)
		put_tree(&t);
	sqlite3_finalize(t.command);
	free(t.nodes);
	id_map_free(&t.ids);
	return rc < 0 ? page_scan_failed(p) : 0;
}
