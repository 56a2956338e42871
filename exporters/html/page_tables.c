/*
 * page_tables.c - the reports that stats prints, as tables of the page.
 *
 * The tables take most of the time on a large report, and do not depend on each other: so they are made in threads,
 * each with a connection of its own, while the rest of the page is made.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporters/read/db_read.h"
#include "exporters/html/html_text.h"
#include "exporters/html/tables_html.h"
#include "exporters/text/cell.h"

#define WORKERS_MAX 4

/* Tables with the same id stand in one section. */
static const struct {
	const char *id, *title, *report;
	const char *only, *unless; /* where the report has, or lacks, such a table */
} list[] = {
	{"gpu", "GPU work", "cuda_gpu_kern_sum", NULL, NULL},
	{"gpu", "GPU work", "cuda_gpu_mem_time_sum", NULL, NULL},
	{"gpu", "GPU work", "cuda_gpu_mem_size_sum", NULL, NULL},
	{"gpu", "GPU work", "um_total_sum", NULL, NULL},
	{"api", "CUDA calls", "cuda_api_sum", NULL, NULL},
	{"nvtx", "NVTX ranges", "nvtx_sum", NULL, NULL},
	{"mpi", "MPI", "mpi_event_sum", NULL, NULL},
	{"openmp", "OpenMP", "openmp_sum", NULL, NULL},
	{"openacc", "OpenACC", "openacc_sum", NULL, NULL},
	{"os", "Operating system", "osrt_exact_sum", "SL_OSRT_TOTALS", NULL},
	{"os", "Operating system", "osrt_sum", NULL, "SL_OSRT_TOTALS"},
	{"os", "Operating system", "syscall_exact_sum", "SL_SYSCALL_TOTALS", NULL},
	{"os", "Operating system", "syscall_sum", NULL, "SL_SYSCALL_TOTALS"},
	{"files", "Files", "file_access_sum", NULL, NULL},
	{"threads", "Threads", "thread_cpu_sum", NULL, NULL},
};
#define TABLE_CNT (sizeof(list) / sizeof(list[0]))

struct made {
	struct report report;
	char *text;
	long long rows;
	char why[PAGE_WHY];
};

struct page_tables {
	const struct page *page;
	struct made made[TABLE_CNT];
	atomic_size_t
		next; /* table that no thread makes yet, from the end: there are the slow ones */
	struct worker {
		struct page_tables *all;
		sqlite3 *db;
		pthread_t thread;
		bool runs;
	} worker[WORKERS_MAX];
	int worker_cnt;
};

/* ---- making ---- */

static void make(struct page_tables *t, sqlite3 *db, size_t i)
{
	struct made *m = &t->made[i];
	char what[256], title[sizeof(m->report.title)];
	size_t len;
	FILE *f;

	if ((list[i].only && !db_read_has(db, list[i].only)) ||
	    (list[i].unless && db_read_has(db, list[i].unless)))
		return;
	m->rows = -1;
	if (report_load(&report_kind, list[i].report, NULL, &m->report, m->why, sizeof(m->why)) !=
	    0)
		return;
	if (!query_has_data(db, &m->report, what, sizeof(what))) {
		m->rows = 0;
		return;
	}
	query_title(db, &m->report, title, sizeof(title));
	snprintf(m->report.title, sizeof(m->report.title), "%s", title);
	f = open_memstream(&m->text, &len);
	if (f)
		m->rows = table_of(db, &m->report, t->page->rows, f, NULL, NULL, m->why,
				   sizeof(m->why));
	if (!f || fclose(f) != 0) {
		m->rows = -1;
		snprintf(m->why, sizeof(m->why), "out of memory");
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;

	for (;;) {
		size_t taken = atomic_fetch_add(&w->all->next, 1);

		if (taken >= TABLE_CNT)
			return NULL;
		make(w->all, w->db, TABLE_CNT - 1 - taken);
	}
}

/* Connections are opened here, one after the other: that may say something, once. */
static int open_worker(struct page_tables *t, struct worker *w, char *why, size_t why_len)
{
	w->all = t;
	w->db = db_read_open(t->page->input, why, why_len);
	return w->db ? db_filter_apply(w->db, t->page->filter, why, why_len) : -1;
}

struct page_tables *page_tables_start(struct page *p)
{
	struct page_tables *t = calloc(1, sizeof(*t));
	long cpus = sysconf(_SC_NPROCESSORS_ONLN) - p->findings; /* which have a thread, too */

	if (!t) {
		snprintf(p->why, sizeof(p->why), "out of memory");
		return NULL;
	}
	t->page = p;
	t->worker_cnt = cpus < 1 ? 1 : cpus > WORKERS_MAX ? WORKERS_MAX : (int)cpus;
	for (int i = 0; i < t->worker_cnt; i++) {
		if (open_worker(t, &t->worker[i], p->why, sizeof(p->why)) < 0) {
			page_tables_end(t);
			return NULL;
		}
	}
	/* Where no thread can be created, page_tables() makes them all. */
	for (int i = 0; i < t->worker_cnt; i++)
		t->worker[i].runs =
			pthread_create(&t->worker[i].thread, NULL, work, &t->worker[i]) == 0;
	return t;
}

void page_tables_end(struct page_tables *t)
{
	if (!t)
		return;
	for (int i = 0; i < t->worker_cnt; i++) {
		if (t->worker[i].runs) {
			sqlite3_interrupt(t->worker[i].db); /* when the page has failed meanwhile */
			pthread_join(t->worker[i].thread, NULL);
		}
		sqlite3_close(t->worker[i].db);
	}
	for (size_t i = 0; i < TABLE_CNT; i++) {
		report_free(&t->made[i].report);
		free(t->made[i].text);
	}
	free(t);
}

/* ---- writing ---- */

/* In a command that a reader may copy. */
static void put_shell(struct page *p, const char *word)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return;
	text_put_shell(out, word);
	if (fclose(out) == 0)
		html_str(p->out, text);
	free(text);
}

static void put(struct page *p, const struct made *m)
{
	char count[HUMAN_MAX];

	fprintf(p->out, "<h3 id=\"%s\">", m->report.name);
	html_str(p->out, m->report.title);
	fputs("</h3>\n", p->out);
	if (m->rows < 0) {
		fputs("<p class=\"note\">This table cannot be made: ", p->out);
		html_str(p->out, m->why);
		fputs(".</p>\n", p->out);
		return;
	}
	fputs(m->text, p->out);
	if (m->rows <= p->rows)
		return;
	fprintf(p->out,
		"<p class=\"note\">The first %d of %s rows. All of them: "
		"<code>sightline stats -r %s ",
		p->rows, human_count(count, (double)m->rows), m->report.name);
	put_shell(p, p->input);
	fputs("</code></p>\n", p->out);
}

int page_tables(struct page *p, struct page_tables *t)
{
	struct worker own = {.all = t, .db = p->db};
	const char *open = NULL; /* the section that is */

	page_progress(p, "tables", "");
	work(&own); /* the remaining tables */
	for (int i = 0; i < t->worker_cnt; i++) {
		if (t->worker[i].runs)
			pthread_join(t->worker[i].thread, NULL);
		t->worker[i].runs = false;
	}
	for (size_t i = 0; i < TABLE_CNT; i++) {
		const struct made *m = &t->made[i];

		if (m->rows < 0 && !page_tolerates(m->why)) {
			snprintf(p->why, sizeof(p->why), "%s", m->why);
			return -1;
		}
		if (m->rows == 0)
			continue;
		if (!open || strcmp(open, list[i].id) != 0) {
			if (open)
				page_section_end(p);
			page_section(p, list[i].id, list[i].title, NULL);
			open = list[i].id;
		}
		put(p, m);
	}
	if (open)
		page_section_end(p);
	return 0;
}
