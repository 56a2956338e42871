/* charts.c - figures of the page, and their numbers as JSON. page.js draws them. */
#include <math.h>

#include "exporters/html/html_text.h"
#include "exporters/html/page.h"

void chart_begin(struct page *p, const char *id, const char *kind, const char *unit, double max,
		 const char *title, const char *words)
{
	fprintf(p->out, "<figure id=\"%s\" class=\"chart %s\"><figcaption><h3>", id, kind);
	html_str(p->out, title);
	fputs("</h3><p>", p->out);
	html_str(p->out, words);
	fputs("</p></figcaption>", p->out);
	if (p->charts)
		fputs("<div class=\"plot\"></div>", p->out);
	fputs("</figure>\n", p->out);
	fprintf(p->data,
		"%s\n{\"id\":\"%s\",\"kind\":\"%s\",\"unit\":\"%s\",\"max\":%.6g,\"title\":",
		p->chart_cnt++ ? "," : "", id, kind, unit, max);
	html_json_str(p->data, title);
	p->series_cnt = 0;
}

void chart_labels(struct page *p, const char *apart, double (*edge)(int),
		  const char *(*human)(char *, double), int first, int last)
{
	fputs(apart ? ",\"apart\":true,\"labels\":[" : ",\"labels\":[", p->data);
	if (apart) {
		html_json_str(p->data, apart);
		fputc(',', p->data);
	}
	for (int i = first; i <= last + 1; i++) {
		char text[HUMAN_MAX];

		if (i > first)
			fputc(',', p->data);
		html_json_str(p->data, human(text, edge(i)));
	}
	fputc(']', p->data);
}

void chart_series(struct page *p, const char *name, int colour, bool fill, const double *values,
		  int cnt)
{
	fprintf(p->data, "%s{\"name\":", p->series_cnt++ ? "," : ",\"series\":[");
	html_json_str(p->data, name);
	fprintf(p->data, ",\"colour\":%d,\"fill\":%s,\"values\":[", colour,
		fill ? "true" : "false");
	for (int i = 0; i < cnt; i++)
		if (isnan(values[i]))
			fputs(i ? ",null" : "null", p->data);
		else
			fprintf(p->data, "%s%.4g", i ? "," : "", values[i]);
	fputs("]}", p->data);
}

void chart_end(struct page *p)
{
	fputs(p->series_cnt ? "]}" : "}", p->data);
}
