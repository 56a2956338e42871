/* assets.c - the page's files, which travel inside the binary (Makefile.inc). */
#include <string.h>

#include "collector/base/embed.h"
#include "exporters/view/server/http.h"

static const struct {
	const char *address, *name, *type;
	bool is_gzip;
} assets[] = {
	{"/", "view/index.html", "text/html; charset=utf-8", false},
	{"/index.html", "view/index.html", "text/html; charset=utf-8", false},
	{"/app.js", "view/app.js.gz", "text/javascript; charset=utf-8", true},
	{"/app.css", "view/app.css.gz", "text/css; charset=utf-8", true},
	{"/sql.js", "view/sql.js.gz", "text/javascript; charset=utf-8", true},
	{"/license.txt", "view/license.txt", "text/plain; charset=utf-8", false},
};

const char *view_asset(const char *name, size_t *len, const char **type, bool *is_gzip)
{
	for (size_t i = 0; i < sizeof(assets) / sizeof(assets[0]); i++) {
		if (strcmp(assets[i].address, name) != 0)
			continue;
		*type = assets[i].type;
		*is_gzip = assets[i].is_gzip;
		for (const struct embedded *e = sl_embedded; e->name; e++)
			if (strcmp(e->name, assets[i].name) == 0 && e->size > 0) {
				*len = e->size;
				return e->text;
			}
	}
	return NULL;
}
