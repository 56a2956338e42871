/* over_time.c - the charts along the time axis: GPUs, processors, memory, input and output. */
#include <stdlib.h>
#include <string.h>

#include "exporters/html/html_text.h"
#include "exporters/html/page.h"

#define GPUS_MAX      16 /* a chart each */
#define PROCESSES_MAX 7  /* with a colour of their own */

/* Bins of @c in @unit per ns. */
static void fill(const struct curve *c, double unit, double values[CURVE_BINS])
{
	for (int i = 0; i < CURVE_BINS; i++)
		values[i] = curve_at(c, i) * unit;
}

static const char *gpu_title(const struct gpu *g, char buf[128])
{
	snprintf(buf, 128, "GPU %lld%s%s", (long long)g->id, *g->name ? ", " : "", g->name);
	return buf;
}

static void draw_gpu(struct page *p, const struct gpu *g)
{
	double span = (double)(p->scan.axis.to - p->scan.axis.from);
	double percent = 100 / p->scan.axis.width;
	char id[48], title[128], words[256];
	double values[CURVE_BINS];

	snprintf(id, sizeof(id), "gpu-%lld", (long long)g->id);
	snprintf(words, sizeof(words), "Kernels ran %.1f %% of the time, copies and fills %.1f %%.",
		 100 * (double)g->kernel_ns / span, 100 * (double)g->copy_ns / span);
	chart_begin(p, id, "time", UNIT_PERCENT, 100, gpu_title(g, title), words);
	fill(&g->kernels, percent, values);
	chart_series(p, "kernels", 0, true, values, CURVE_BINS);
	fill(&g->copies, percent, values);
	chart_series(p, "copies and fills", 1, false, values, CURVE_BINS);
	chart_end(p);
}

/* ---- processors ---- */

static const struct scan *sorted_scan;

static int by_cpu(const void *a, const void *b)
{
	const struct process *x = &sorted_scan->processes[*(const size_t *)a];
	const struct process *y = &sorted_scan->processes[*(const size_t *)b];

	if (x->cpu_ns != y->cpu_ns)
		return x->cpu_ns < y->cpu_ns ? 1 : -1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static size_t *rank(const struct scan *s)
{
	size_t *order = malloc((s->process_cnt + 1) * sizeof(*order));

	for (size_t i = 0; order && i < s->process_cnt; i++)
		order[i] = i;
	sorted_scan = s;
	if (order)
		qsort(order, s->process_cnt, sizeof(*order), by_cpu);
	return order;
}

static int draw_cpu(struct page *p)
{
	struct scan *s = &p->scan;
	double unit = 1 / s->axis.width,
	       used = (double)s->cpu_ns / (double)(s->axis.to - s->axis.from);
	double values[CURVE_BINS], rest[CURVE_BINS] = {0};
	size_t *order = rank(s), shown = s->process_cnt, more = 0;
	char words[256], name[160];

	if (!order)
		return scan_fail(s, 0);
	if (shown > PROCESSES_MAX + 1)
		shown = PROCESSES_MAX;
	snprintf(words, sizeof(words), "%.2f processors busy on average%s", used, "");
	if (s->cpu_cnt)
		snprintf(words, sizeof(words), "%.2f of %d processors busy on average.", used,
			 s->cpu_cnt);
	chart_begin(p, "cpu", "time stacked", UNIT_COUNT, s->cpu_cnt, "Processors in use", words);
	for (size_t i = 0; i < s->process_cnt; i++) {
		const struct process *one = &s->processes[order[i]];

		if (one->cpu_ns == 0)
			break;
		if (i >= shown) {
			for (int bin = 0; bin < CURVE_BINS; bin++)
				rest[bin] += curve_at(&one->cpu, bin) * unit;
			more++;
			continue;
		}
		fill(&one->cpu, unit, values);
		chart_series(p, page_process_name(p, one->pid, name, sizeof(name)), (int)i, true,
			     values, CURVE_BINS);
	}
	if (more > 0) {
		snprintf(name, sizeof(name), "%zu other processes", more);
		chart_series(p, name, PROCESSES_MAX, true, rest, CURVE_BINS);
	}
	chart_end(p);
	free(order);
	return 0;
}

/* ---- memory, input and output ---- */

static void draw_memory(struct page *p)
{
	const struct scan *s = &p->scan;
	char words[512] = "Allocated by the traced processes; most at once: ", title[128];
	char bytes[HUMAN_MAX];
	int colour = 0;
	double most = 0;

	for (size_t i = 0; i < s->gpu_cnt; i++) {
		const struct gpu *g = &s->gpus[i];
		size_t len = strlen(words);

		if (!g->memory || len > sizeof(words) - 100)
			continue;
		most = g->memory->peak > most ? g->memory->peak : most;
		snprintf(words + len, sizeof(words) - len, "%s%s on GPU %lld", colour++ ? ", " : "",
			 human_bytes(bytes, g->memory->peak), (long long)g->id);
	}
	snprintf(words + strlen(words), sizeof(words) - strlen(words), ".");
	chart_begin(p, "gpu-memory", "time", UNIT_BYTES, most, "GPU memory", words);
	colour = 0;
	for (size_t i = 0; i < s->gpu_cnt && colour < GPUS_MAX; i++) {
		if (!s->gpus[i].memory)
			continue;
		chart_series(p, gpu_title(&s->gpus[i], title), colour % 8, s->gpu_cnt == 1,
			     s->gpus[i].memory->high, CURVE_BINS);
		colour++;
	}
	chart_end(p);
}

static void draw_io(struct page *p)
{
	const struct scan *s = &p->scan;
	double per_second = 1e9 / s->axis.width, span = (double)(s->axis.to - s->axis.from) / 1e9;
	char words[256], in[HUMAN_MAX], out[HUMAN_MAX];
	double values[CURVE_BINS];

	snprintf(words, sizeof(words),
		 "Through the C library, from and to files, pipes and sockets; on average %s/s in, "
		 "%s/s out.",
		 human_bytes(in, s->read_bytes / span), human_bytes(out, s->write_bytes / span));
	chart_begin(p, "io", "time", UNIT_RATE, 0, "Reading and writing", words);
	if (s->read_size.total > 0) {
		fill(&s->read_curve, per_second, values);
		chart_series(p, "read", 2, true, values, CURVE_BINS);
	}
	if (s->write_size.total > 0) {
		fill(&s->write_curve, per_second, values);
		chart_series(p, "written", 3, p->series_cnt == 0, values, CURVE_BINS);
	}
	chart_end(p);
}

int page_over_time(struct page *p)
{
	const struct scan *s = &p->scan;
	bool any =
		s->has_gpu_work || s->has_memory || s->has_cpu || s->has_io || page_has_counters(p);
	int rc = 0;

	if (!any)
		return 0;
	page_section(p, "over-time", "Over time",
		     p->charts ? "Drag over a stretch to look closer, in all charts at once; "
				 "double-click to see the whole again."
			       : NULL);
	if (page_from(p) < (double)s->axis.from)
		fputs("<p class=\"note\">Times count from the first event.</p>\n", p->out);
	if (s->has_gpu_work)
		for (size_t i = 0; i < s->gpu_cnt && i < GPUS_MAX; i++)
			draw_gpu(p, &s->gpus[i]);
	if (s->gpu_cnt > GPUS_MAX)
		fprintf(p->out, "<p class=\"note\">%zu more GPUs are not drawn.</p>\n",
			s->gpu_cnt - GPUS_MAX);
	if (s->has_memory)
		draw_memory(p);
	if (s->has_cpu)
		rc = draw_cpu(p) < 0 ? page_scan_failed(p) : 0;
	if (s->has_io)
		draw_io(p);
	if (rc == 0 && page_counters(p) < 0)
		rc = page_scan_failed(p);
	page_section_end(p);
	return rc;
}

/* ---- how long, how large ---- */

static bool slots_used(const struct histogram *h, int *first, int *last)
{
	for (int i = 0; i < HISTOGRAM_SLOTS; i++) {
		if (h->cnt[i] == 0)
			continue;
		*first = i < *first ? i : *first;
		*last = i > *last ? i : *last;
	}
	return h->all > 0;
}

static void share(const struct histogram *h, bool of_sum, int first, int last,
		  double values[HISTOGRAM_SLOTS])
{
	for (int i = first; i <= last; i++) {
		double part = of_sum ? h->sum[i] : (double)h->cnt[i];
		double whole = of_sum ? h->total : (double)h->all;

		values[i - first] = whole > 0 ? 100 * part / whole : 0;
	}
}

static void draw_kernel_times(struct page *p)
{
	const struct histogram *h = &p->scan.kernel_time;
	char words[256], mean[HUMAN_MAX], n[HUMAN_MAX];
	double values[HISTOGRAM_SLOTS];
	int first = HISTOGRAM_SLOTS, last = 0;

	if (!slots_used(h, &first, &last))
		return;
	snprintf(words, sizeof(words),
		 "%s kernels of %s on average: how many were how long, and how "
		 "much of their time that was.",
		 human_count(n, (double)h->all), human_time(mean, h->total / (double)h->all));
	chart_begin(p, "kernel-times", "histogram", UNIT_PERCENT, 0, "Kernel time", words);
	chart_labels(p, NULL, histogram_edge_125, human_time, first, last);
	share(h, false, first, last, values);
	chart_series(p, "of the kernels", 0, true, values, last - first + 1);
	share(h, true, first, last, values);
	chart_series(p, "of their time", 1, true, values, last - first + 1);
	chart_end(p);
}

/* Calls of which only the number is known, and their bytes in all: those below the threshold, and those whose row was lost. */
static double unrecorded(const struct histogram *h, double calls)
{
	return calls > (double)h->all ? calls - (double)h->all : 0;
}

/* Shares of all calls, also of those that the first slot alone counts. */
static void put_io_sizes(struct page *p, const char *name, int colour, const struct histogram *h,
			 double calls, bool apart, int first, int last)
{
	double values[HISTOGRAM_SLOTS + 1], rest = unrecorded(h, calls);
	int cnt = 0;

	if ((double)h->all + rest <= 0)
		return;
	if (apart)
		values[cnt++] = 100 * rest / ((double)h->all + rest);
	for (int i = first; i <= last; i++)
		values[cnt++] = 100 * (double)h->cnt[i] / ((double)h->all + rest);
	chart_series(p, name, colour, true, values, cnt);
}

static void draw_io_sizes(struct page *p)
{
	const struct scan *s = &p->scan;
	const struct histogram *in = &s->read_size, *out = &s->write_size;
	double rest = unrecorded(in, s->read_calls) + unrecorded(out, s->write_calls);
	char words[320], reads[HUMAN_MAX], writes[HUMAN_MAX], less[HUMAN_MAX];
	int first = HISTOGRAM_SLOTS, last = 0;

	slots_used(in, &first, &last);
	slots_used(out, &first, &last);
	if (first > last)
		return;
	snprintf(words, sizeof(words),
		 "%s calls that read, %s that wrote: how many bytes each moved.",
		 human_count(reads, (double)in->all + unrecorded(in, s->read_calls)),
		 human_count(writes, (double)out->all + unrecorded(out, s->write_calls)));
	if (rest > 0)
		snprintf(words + strlen(words), sizeof(words) - strlen(words),
			 " %s were shorter than the threshold, or their row was lost: their sizes "
			 "were not recorded one by one.",
			 human_count(less, rest));
	chart_begin(p, "io-sizes", "histogram", UNIT_PERCENT, 0, "Size of reads and writes", words);
	chart_labels(p, rest > 0 ? "not recorded" : NULL, histogram_edge_pow4, human_bytes, first,
		     last);
	put_io_sizes(p, "of the reads", 2, in, s->read_calls, rest > 0, first, last);
	put_io_sizes(p, "of the writes", 3, out, s->write_calls, rest > 0, first, last);
	chart_end(p);
}

int page_distributions(struct page *p)
{
	if (p->scan.kernel_time.all == 0 && p->scan.read_size.all + p->scan.write_size.all == 0)
		return 0;
	page_section(p, "how-long", "How long, how large", NULL);
	fputs("<div class=\"pair\">\n", p->out);
	draw_kernel_times(p);
	draw_io_sizes(p);
	fputs("</div>\n", p->out);
	page_section_end(p);
	return 0;
}
