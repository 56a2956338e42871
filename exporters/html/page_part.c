/* page_part.c - sections, progress, errors and texts of the binary, for all parts of the page. */
#include <string.h>

#include "collector/base/embed.h"
#include "exporters/html/page.h"

const char *page_asset(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; sl_embedded[i].name; i++) {
		const char *full = sl_embedded[i].name;
		size_t full_len = strlen(full);

		/* Names of built files begin with their folder. */
		if (full_len >= len + 5 && strcmp(full + full_len - len, name) == 0 &&
		    memcmp(full + full_len - len - 5, "html/", 5) == 0)
			return sl_embedded[i].size > 0 ? sl_embedded[i].text : NULL;
	}
	return NULL;
}

int page_scan_failed(struct page *p)
{
	snprintf(p->why, sizeof(p->why), "%s", p->scan.why);
	return -1;
}

void page_section(struct page *p, const char *id, const char *title, const char *about)
{
	if (p->section_cnt < (int)(sizeof(p->sections) / sizeof(p->sections[0]))) {
		p->sections[p->section_cnt].id = id;
		p->sections[p->section_cnt++].title = title;
	}
	fprintf(p->out, "<section id=\"%s\">\n<h2>%s</h2>\n", id, title);
	if (about)
		fprintf(p->out, "<p class=\"about\">%s</p>\n", about);
}

void page_section_end(struct page *p)
{
	fputs("</section>\n", p->out);
}

/* By the words of query.c and SQLite: the code of the error is gone when a rule has tidied up. */
bool page_tolerates(const char *why)
{
	static const char *const grave[] = {"damaged", "malformed",     "disk I/O error",
					    "no room", "out of memory", "interrupted"};

	for (size_t i = 0; i < sizeof(grave) / sizeof(grave[0]); i++)
		if (strstr(why, grave[i]))
			return false;
	return true;
}

void page_progress(const struct page *p, const char *what, const char *name)
{
	if (p->progress && what)
		fprintf(stderr, "\r\033[K%s%s", what, name);
	else if (p->progress)
		fputs("\r\033[K", stderr);
}

/* Times since 1970 are of no use on an axis of seconds. */
double page_from(const struct page *p)
{
	return p->scan.axis.from > 1000000000000000 ? 0 : (double)p->scan.axis.from;
}
