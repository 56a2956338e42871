/* range_texts.c - texts of ranges, as numbers. */
#include "exporters/sql/range_texts.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include "exporters/events/spill.h"

size_t texts_bytes_max = 4 << 20;
#define IN_FILE (INT64_C(1) << 62)

int texts_add(struct texts *t, const char *text, size_t len, int64_t *number)
{
	uint32_t size = (uint32_t)len;
	int rc;

	if (t->bytes < texts_bytes_max) {
		uint32_t before = t->pool.cnt;

		rc = hist_pool_add(&t->pool, text, size, number);
		*number += 1;
		t->bytes += t->pool.cnt > before ? len + 64 : 0;
		return rc;
	}
	if (!t->file)
		t->file = spill_file();
	if (!t->file || fwrite(&size, sizeof(size), 1, t->file) != 1 ||
	    fwrite(text, 1, len, t->file) != len)
		return SQLITE_FULL;
	*number = IN_FILE | t->at;
	t->at += (int64_t)(sizeof(size) + len);
	return SQLITE_OK;
}

int texts_get(struct texts *t, int64_t number, const char **text, size_t *len)
{
	int64_t at = number & ~IN_FILE;
	uint32_t size;

	if (!(number & IN_FILE)) {
		*text = t->pool.text[number - 1].data;
		*len = t->pool.text[number - 1].len;
		return SQLITE_OK;
	}
	if (pread(fileno(t->file), &size, sizeof(size), at) != (ssize_t)sizeof(size))
		return SQLITE_IOERR;
	if (size > t->room) {
		free(t->buf);
		t->room = size;
		t->buf = malloc(size);
	}
	if (size > 0 && !t->buf)
		return SQLITE_NOMEM;
	if (pread(fileno(t->file), t->buf, size, at + (int64_t)sizeof(size)) != (ssize_t)size)
		return SQLITE_IOERR;
	*text = size > 0 ? t->buf : "";
	*len = size;
	return SQLITE_OK;
}

void texts_free(struct texts *t)
{
	hist_pool_free(&t->pool);
	free(t->buf);
	if (t->file)
		fclose(t->file);
}
