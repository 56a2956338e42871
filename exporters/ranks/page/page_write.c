/* page_write.c - the page. Names of hosts and operations come from datasets, and go through html_text.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/html/html_text.h"
#include "exporters/html/page.h"
#include "exporters/ranks/page/ranks_page.h"

#define TALL    400 /* of a picture, at least; points */
#define BIN_CNT 40
#define NAMED   20 /* outliers by name */

static void put_base64(FILE *out, const unsigned char *data, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		unsigned v = (unsigned)data[i] << 16 | (i + 1 < len ? data[i + 1] : 0u) << 8 |
			     (i + 2 < len ? data[i + 2] : 0u);

		putc(digits[v >> 18], out);
		putc(digits[v >> 12 & 63], out);
		putc(i + 1 < len ? digits[v >> 6 & 63] : '=', out);
		putc(i + 2 < len ? digits[v & 63] : '=', out);
	}
}

static void put_colour(FILE *out, size_t i)
{
	if (picture_colour[i][3])
		fprintf(out, "#%02x%02x%02x\" fill-opacity=\"%.2f", picture_colour[i][0],
			picture_colour[i][1], picture_colour[i][2], picture_colour[i][3] / 255.0);
	else
		fputs("none", out);
}

/* Texts of the colours, from the second on; the first and the last are the same in both pictures. */
static void put_legend(FILE *out, const char *const texts[PICTURE_COLOURS])
{
	fputs("<p>", out);
	for (size_t i = 0; i < PICTURE_COLOURS; i++) {
		fputs("<span><svg width=\"14\" height=\"14\" aria-hidden=\"true\"><rect x=\"0.5\" "
		      "y=\"0.5\" width=\"13\" "
		      "height=\"13\" stroke=\"#888\" fill=\"",
		      out);
		put_colour(out, i);
		fprintf(out, "\"/></svg> %s &nbsp;</span>\n", texts[i]);
	}
	fputs("</p>\n", out);
}

/* An SVG scales the PNG without blur, and needs no style for that. */
static int put_image(FILE *out, struct picture *p, const char *label, size_t tall)
{
	size_t len = 0;
	unsigned char *png = picture_png(p, &len);

	if (!png)
		return -1;
	fprintf(out,
		"<svg role=\"img\" aria-label=\"%s\" width=\"100%%\" height=\"%zu\" viewBox=\"0 0 "
		"%zu %zu\" "
		"preserveAspectRatio=\"none\"><rect width=\"100%%\" height=\"100%%\" fill=\"none\" "
		"stroke=\"#888\" "
		"vector-effect=\"non-scaling-stroke\"/><image width=\"%zu\" height=\"%zu\" "
		"preserveAspectRatio=\"none\" image-rendering=\"pixelated\" "
		"href=\"data:image/png;base64,",
		label, tall, p->wide, p->cnt, p->wide, p->cnt);
	put_base64(out, png, len);
	fputs("\"/></svg>\n", out);
	free(png);
	return 0;
}

static size_t tall_of(const struct picture *p)
{
	return p->cnt < 25 ? 16 * p->cnt + 8 : p->cnt < TALL ? TALL : p->cnt;
}

static void put_merged(FILE *out, const struct picture *p, int64_t all, const char *what)
{
	int64_t each = p->wide ? (all + (int64_t)p->wide - 1) / (int64_t)p->wide : 1;

	each *= (int64_t)p->merged;
	if (each > 1)
		fprintf(out, " A column is %lld %s, and has the colour of the worst.",
			(long long)each, what);
}

static void put_ends(FILE *out, const struct picture *p)
{
	fprintf(out, "from top to bottom ranks %lld to %lld", (long long)p->rows[0].rank,
		(long long)p->rows[p->cnt - 1].rank);
}

static int put_picture(FILE *out, struct picture *p, const char *label, int64_t all,
		       const char *what)
{
	int rc = put_image(out, p, label, tall_of(p));

	fputs("<p class=\"note\">", out);
	put_merged(out, p, all, what);
	fputs("</p>\n", out);
	return rc;
}

static int put_steps(struct ranks_page *p, FILE *out)
{
	static const char *const texts[PICTURE_COLOURS] = {
		"as the median", "2 % more",         "5 % more", "10 % more",       "25 % more",
		"1.5 times",     "twice the median", "4 times",  "nothing recorded"};
	struct picture_row all = {-1, p->all};
	struct picture strip = {.rows = &all, .cnt = 1, .wide = p->all ? strlen(p->all) : 0};
	int rc;

	fputs("<section id=\"steps\">\n<h2>Ranks by step</h2>\n", out);
	if (!p->steps.cnt || !p->steps.wide) {
		fputs("<p class=\"note\">No step was recorded: <code>profile --python-step</code> "
		      "marks those of a "
		      "Python program.</p>\n</section>\n",
		      out);
		return 0;
	}
	fprintf(out,
		"<p class=\"about\">Own time of a rank in a step (without waiting in collectives), "
		"against the median of the ranks in the same step. From left to right steps %lld "
		"to %lld, ",
		(long long)p->first_step, (long long)p->last_step);
	put_ends(out, &p->steps);
	fputs(". Above: all ranks together, their median against that of the whole run.</p>\n",
	      out);
	put_legend(out, texts);
	rc = strip.wide ? put_image(out, &strip, "Steps that are long on all ranks", 14) : 0;
	if (rc == 0)
		rc = put_picture(out, &p->steps,
				 "Own time by rank and step; the table below has the largest",
				 p->last_step - p->first_step + 1, "steps");
	if (p->worst_cnt) {
		fputs("<h3>Largest</h3>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
		      "aria-label=\"Largest own times\"><table><thead><tr><th "
		      "scope=\"col\">rank</th><th scope=\"col\">step</th>"
		      "<th scope=\"col\">own time</th><th "
		      "scope=\"col\">median</th></tr></thead><tbody>\n",
		      out);
		for (size_t i = 0; i < p->worst_cnt; i++) {
			const struct page_worst *w = &p->worst[i];
			char own[HUMAN_MAX], median[HUMAN_MAX];

			fprintf(out, "<tr><td>%lld</td><td>%lld</td><td>%s</td><td>%s</td></tr>\n",
				(long long)w->rank, (long long)w->step,
				human_time(own, (double)w->ns),
				human_time(median, (double)w->median));
		}
		fputs("</tbody></table></div>\n", out);
	}
	fputs("</section>\n", out);
	return rc;
}

static int put_late(struct ranks_page *p, FILE *out)
{
	static const char *const texts[PICTURE_COLOURS] = {"below 0.1 ms", "0.1 ms", "1 ms",
							   "5 ms",         "20 ms",  "100 ms",
							   "500 ms",       "2 s",    "not in any"};
	int rc;

	fputs("<section id=\"collectives\">\n<h2>Ranks by collective</h2>\n", out);
	if (!p->late.cnt || !p->late.wide) {
		fputs("<p class=\"note\">No collective of NCCL is on a communicator that two ranks "
		      "know.</p>\n</section>\n",
		      out);
		return 0;
	}
	fprintf(out,
		"<p class=\"about\">Lateness: how long the first rank has waited in a collective "
		"for this one. From left to right collectives in the order of their communicators "
		"(%lld, of "
		"%lld at most), ",
		(long long)p->comms, (long long)p->longest);
	put_ends(out, &p->late);
	fputs("; of several communicators the latest counts. Rooted collectives are left out: in "
	      "them not all "
	      "ranks are done together.</p>\n",
	      out);
	put_legend(out, texts);
	rc = put_picture(out, &p->late, "Lateness by rank and collective", p->longest,
			 "collectives");
	fputs("</section>\n", out);
	return rc;
}

static int by_ns(const void *a, const void *b)
{
	const struct page_mean *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns);
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The least mean of an outlier: six deviations and 1 % above the median. @means: in order. The median of deviations is robust. */
static double outlier_from(const struct page_mean *means, size_t cnt, double *median)
{
	int64_t *off = malloc((cnt + 1) * sizeof(*off));
	double bound;

	*median = (double)means[cnt / 2].ns;
	for (size_t i = 0; off && i < cnt; i++)
		off[i] = llabs(means[i].ns - means[cnt / 2].ns);
	if (off)
		qsort(off, cnt, sizeof(*off), by_size);
	bound = *median + (off ? 6 * 1.4826 * (double)off[cnt / 2] : 0);
	free(off);
	return bound > 1.01 * *median ? bound : 1.01 * *median;
}

static void put_bars(FILE *out, const struct page_mean *means, size_t cnt, double bound)
{
	double low = (double)means[0].ns, high = (double)means[cnt - 1].ns,
	       width = (high - low) / BIN_CNT;
	size_t bins[BIN_CNT] = {0}, most = 1;

	for (size_t i = 0; i < cnt; i++) {
		size_t bin = width > 0 ? (size_t)(((double)means[i].ns - low) / width) : 0;

		bin = bin < BIN_CNT ? bin : BIN_CNT - 1;
		if (++bins[bin] > most)
			most = bins[bin];
	}
	fprintf(out,
		"<svg role=\"img\" aria-label=\"Histogram of the means of %zu ranks\" "
		"width=\"100%%\" height=\"160\" viewBox=\"0 0 %d 100\" "
		"preserveAspectRatio=\"none\">\n",
		cnt, BIN_CNT);
	for (size_t i = 0; i < BIN_CNT; i++) {
		double tall = 98.0 * (double)bins[i] / (double)most;

		if (bins[i])
			fprintf(out,
				"<rect x=\"%zu.05\" y=\"%.2f\" width=\"0.9\" height=\"%.2f\" "
				"fill=\"%s\"/>\n",
				i, 100 - (tall < 1.5 ? 1.5 : tall), tall < 1.5 ? 1.5 : tall,
				low + ((double)i + 1) * width > bound ? "#c4343c" : "#2f6fd0");
	}
	fputs("</svg>\n", out);
}

static void put_means(const struct ranks_page *p, FILE *out)
{
	size_t cnt = p->means_cnt, named = 0;
	char low[HUMAN_MAX], high[HUMAN_MAX], mid[HUMAN_MAX];
	double median, bound;

	if (!cnt)
		return;
	qsort(p->means, cnt, sizeof(*p->means), by_ns);
	bound = outlier_from(p->means, cnt, &median);
	fprintf(out,
		"<section id=\"means\">\n<h2>Mean own time per step</h2>\n<p class=\"about\">Of "
		"%zu ranks, from %s to %s; the median is %s. "
		"Outliers are red: six deviations and 1 %% above the median.</p>\n",
		cnt, human_time(low, (double)p->means[0].ns),
		human_time(high, (double)p->means[cnt - 1].ns), human_time(mid, median));
	put_bars(out, p->means, cnt, bound);
	for (size_t i = cnt; i-- > 0 && (double)p->means[i].ns > bound && named < NAMED; named++) {
		if (!named)
			fputs("<h3>Outliers</h3>\n<ul id=\"outliers\">\n", out);
		fprintf(out, "<li>rank %lld on ", (long long)p->means[i].rank);
		html_str(out, p->means[i].host);
		fprintf(out, ": %s</li>\n", human_time(mid, (double)p->means[i].ns));
	}
	fputs(named ? "</ul>\n</section>\n"
		    : "<p class=\"note\">No rank is an outlier.</p>\n</section>\n",
	      out);
}

static void put_rates(const struct ranks_page *p, FILE *out)
{
	int64_t most = 1;

	fputs("<section id=\"bandwidth\">\n<h2>Bandwidth by message size</h2>\n", out);
	if (!p->rates_cnt) {
		fputs("<p class=\"note\">No collective has a kernel of its own.</p>\n</section>\n",
		      out);
		return;
	}
	for (size_t i = 0; i < p->rates_cnt; i++)
		most = p->rates[i].bus > most ? p->rates[i].bus : most;
	fputs("<p class=\"about\">Medians of the collectives whose size is from this power of two "
	      "on; the rank that came last has not waited, so its kernel has "
	      "the time. Algorithm and bus bandwidth are those of nccl-tests.</p>\n"
	      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Bandwidth by "
	      "message size\"><table><thead><tr><th scope=\"col\">operation</th><th "
	      "scope=\"col\">size</th><th scope=\"col\">collectives</th>"
	      "<th scope=\"col\">algorithm</th><th scope=\"col\">bus</th><th scope=\"col\">against "
	      "the best</th></tr></thead><tbody>\n",
	      out);
	for (size_t i = 0; i < p->rates_cnt; i++) {
		const struct page_rate *r = &p->rates[i];
		char size[HUMAN_MAX], n[HUMAN_MAX], alg[HUMAN_MAX], bus[HUMAN_MAX];

		fputs("<tr><td>", out);
		html_str(out, r->op);
		fprintf(out,
			"</td><td>%s</td><td>%s</td><td>%s/s</td><td>%s/s</td><td><svg "
			"width=\"160\" height=\"12\" aria-hidden=\"true\"><rect "
			"width=\"%.1f\" height=\"12\" fill=\"#2f6fd0\"/></svg></td></tr>\n",
			human_bytes(size, (double)r->size), human_count(n, (double)r->n),
			human_bytes(alg, (double)r->alg), human_bytes(bus, (double)r->bus),
			160.0 * (double)r->bus / (double)most);
	}
	fputs("</tbody></table></div>\n</section>\n", out);
}

void ranks_page_head(FILE *out, const char *title, const char *run)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n", out);
	/* Nothing is loaded from anywhere; pictures are in the page. */
	fprintf(out,
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"img-src data:; %s"
		"base-uri 'none'; form-action 'none'\">\n",
		page_asset("csp.txt"));
	fputs("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<meta name=\"referrer\" content=\"no-referrer\">\n"
	      "<meta name=\"generator\" content=\"Sightline " SL_VERSION "\">\n",
	      out);
	fprintf(out, "<title>%s ", title);
	html_str(out, run);
	fprintf(out, "</title>\n<style>%s</style>\n</head>\n<body>\n<header><h1>%s ",
		page_asset("page.css"), title);
	html_str(out, run);
	fputs("</h1></header>\n<div class=\"page\">\n<nav aria-label=\"Contents\"><ul>\n", out);
}

void ranks_page_end(FILE *out)
{
	fputs("</main>\n</div>\n<footer><p>Made by Sightline " SL_VERSION
	      ".</p></footer>\n</body>\n</html>\n",
	      out);
}

int ranks_page_write(struct ranks_page *p, const char *run, const char *about, FILE *out)
{
	int rc;

	ranks_page_head(out, "Run", run);
	fprintf(out,
		"<li><a href=\"#steps\">Ranks by step</a></li>\n<li><a href=\"#collectives\">Ranks "
		"by collective</a></li>\n%s%s<li><a "
		"href=\"#bandwidth\">Bandwidth</a></li>\n</ul></nav>\n<main>\n",
		p->slowest_cnt ? "<li><a href=\"#slowest\">The slowest step</a></li>\n" : "",
		p->means_cnt ? "<li><a href=\"#means\">Mean own time</a></li>\n" : "");
	if (about && *about) {
		fputs("<p class=\"note banner\" id=\"coverage\">", out);
		for (const char *at = about; *at; at += strcspn(at, "\n"), at += *at == '\n') {
			fputs(at == about ? "" : "<br>\n", out);
			html_text(out, at, strcspn(at, "\n"));
		}
		fputs("</p>\n", out);
	}
	rc = put_steps(p, out);
	if (rc == 0)
		rc = put_late(p, out);
	ranks_page_timeline(p, out);
	put_means(p, out);
	put_rates(p, out);
	ranks_page_end(out);
	return rc;
}
