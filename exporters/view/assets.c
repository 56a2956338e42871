/* assets.c - the page's files, which travel inside the binary (Makefile.inc). */
#include <string.h>

#include "collector/base/embed.h"
#include "exporters/view/http.h"

static const struct {
	const char *address, *name, *type;
} assets[] = {
	{"/", "view/index.html", "text/html; charset=utf-8"},
	{"/index.html", "view/index.html", "text/html; charset=utf-8"},
	{"/app.js", "view/app.js", "text/javascript; charset=utf-8"},
	{"/app.css", "view/app.css", "text/css; charset=utf-8"},
	{"/sql.js", "view/sql.js", "text/javascript; charset=utf-8"},
	{"/license.txt", "view/license.txt", "text/plain; charset=utf-8"},
};

const char *view_asset(const char *name, size_t *len, const char **type)
{
	for (size_t i = 0; i < sizeof(assets) / sizeof(assets[0]); i++) {
		if (strcmp(assets[i].address, name) != 0)
			continue;
		*type = assets[i].type;
		for (const struct embedded *e = sl_embedded; e->name; e++)
			if (strcmp(e->name, assets[i].name) == 0 && e->size > 0) {
				*len = e->size;
				return e->text;
			}
	}
	return NULL;
}
