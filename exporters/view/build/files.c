/*
 * files.c - rows of files. The files with most bytes are known only after the last call: until then events are sorted by file,
 * and become lanes at the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "exporters/events/sorter.h"
#include "exporters/view/build/files.h"

#define NAME_MAX_BYTES 1000

/* Words of a record in the sorter; the first three give the order. */
enum word {
	W_FILE,
	W_START,
	W_LONGER, /* the longer one is in front */
	W_ROW,
	W_NAME,
	W_KIND, /* source, << 8 | flags */
	WORDS
};
#define KEYS 3

struct file {
	int64_t path, bytes;
	uint64_t calls;
	uint32_t rank; /* from 1 on; 0: it has no row */
};

struct view_files {
	struct map of_path; /* number of the file, + 1 */
	struct file *files;
	size_t cnt, room;
	struct sorter *sorter;
};

struct view_files *view_files_new(void)
{
	struct view_files *f = calloc(1, sizeof(*f));

	if (f && (f->sorter = sorter_new(WORDS, KEYS)) != NULL)
		return f;
	free(f);
	return NULL;
}

void view_files_free(struct view_files *f)
{
	if (!f)
		return;
	sorter_free(f->sorter);
	map_free(&f->of_path);
	free(f->files);
	free(f);
}

static struct file *file_of(struct view_files *f, int64_t path)
{
	uint64_t *at = map_at(&f->of_path, (uint64_t)path, true);

	if (!at)
		return NULL;
	if (*at == 0) {
		if (!grow(&f->files, f->cnt, &f->room, sizeof(*f->files)))
			return NULL;
		f->files[f->cnt] = (struct file){.path = path};
		*at = ++f->cnt;
	}
	return &f->files[*at - 1];
}

int view_files_add(struct view_files *f, const struct tl_event *e, const struct view_event *of)
{
	struct file *file;

	if (e->path < 0)
		return 0;
	file = file_of(f, e->path);
	if (!file)
		return -1;
	file->calls++;
	if (e->bytes > 0 && __builtin_add_overflow(file->bytes, e->bytes, &file->bytes))
		file->bytes = INT64_MAX;
	return sorter_add(f->sorter,
			  (const int64_t[WORDS]){
				  [W_FILE] = file - f->files,
				  [W_START] = of->start,
				  [W_LONGER] = -of->end,
				  [W_ROW] = of->row,
				  [W_NAME] = of->name,
				  [W_KIND] = of->source << 8 | of->flags,
			  }) == SQLITE_OK
		       ? 0
		       : -1;
}

/* ---- rows ---- */

static struct view_row *group_of(struct view_store *v)
{
	struct view_row *r = view_row_find(v, "f");

	return r ? r : view_row_add(v, VIEW_FILES, 0, "f", "files", 5);
}

struct view_row *view_file_row(struct view_store *v, sqlite3 *db, int64_t path)
{
	const struct view_row *group = group_of(v);
	struct view_row *r;
	sqlite3_stmt *stmt = NULL;
	const char *text = "";
	char key[40];
	int len = 0;

	snprintf(key, sizeof(key), "f:%lld", (long long)path);
	r = view_row_find(v, key);
	if (r || !group || v->file_cnt == VIEW_FILES_MAX)
		return r;
	if (sqlite3_prepare_v2(db, "SELECT value FROM StringIds WHERE id = ?1", -1, &stmt, NULL) ==
		    SQLITE_OK &&
	    sqlite3_bind_int64(stmt, 1, path) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) {
		text = (const char *)sqlite3_column_text(stmt, 0);
		len = sqlite3_column_bytes(stmt, 0);
	}
	/* The end of a long path counts. */
	if (text && len > NAME_MAX_BYTES) {
		text += len - NAME_MAX_BYTES;
		len = NAME_MAX_BYTES;
	}
	r = view_row_add(v, VIEW_FILE, group->id, key, text ? text : "", (size_t)len);
	sqlite3_finalize(stmt);
	v->file_cnt += r != NULL;
	return r;
}

static int by_bytes(const void *a, const void *b)
{
	const struct file *x = *(struct file *const *)a, *y = *(struct file *const *)b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->calls != y->calls)
		return x->calls > y->calls ? -1 : 1;
	return x->path < y->path ? -1 : x->path > y->path;
}

static int rank(struct view_files *f)
{
	struct file **order = calloc(f->cnt + 1, sizeof(struct file *));

	for (size_t i = 0; order && i < f->cnt; i++)
		order[i] = &f->files[i];
	if (order)
		qsort(order, f->cnt, sizeof(struct file *), by_bytes);
	for (size_t i = 0; order && i < f->cnt && i < VIEW_FILES_MAX; i++)
		order[i]->rank = (uint32_t)i + 1;
	free(order);
	return order ? 0 : -1;
}

/* Calls overlap where threads share a file: each goes to the first lane that is free. */
static int put(struct view_store *v, struct view_nest *n, struct view_event *e)
{
	uint32_t at = 0;

	while (at < n->open && n->at[at].end > e->start)
		at++;
	if (at == VIEW_DEPTH_MAX)
		return 0;
	if (at == n->open) {
		n->at[at].lane = view_lane_add(v, n->row);
		if (!n->at[n->open++].lane)
			return -1;
	}
	n->at[at].end = e->end;
	return view_lane_put(v, n->at[at].lane, e);
}

int view_files_end(struct view_files *f, struct view_builder *b)
{
	struct view_nest *n = calloc(1, sizeof(*n));
	const int64_t *w;
	int64_t now = -1;
	int rc;

	if (!n || rank(f) < 0) {
		free(n);
		return -1;
	}
	rc = sorter_rewind(f->sorter);
	while (rc == SQLITE_OK && (rc = sorter_next(f->sorter, &w)) == SQLITE_ROW) {
		const struct file *file = &f->files[w[W_FILE]];
		struct view_event e = {.start = w[W_START],
				       .end = -w[W_LONGER],
				       .row = w[W_ROW],
				       .name = (uint32_t)w[W_NAME],
				       .source = (uint8_t)(w[W_KIND] >> 8),
				       .flags = (uint8_t)w[W_KIND]};

		rc = SQLITE_OK;
		if (file->rank == 0)
			continue;
		if (now != w[W_FILE]) {
			now = w[W_FILE];
			n->open = 0;
			n->row = view_file_row(b->v, b->db, file->path);
			pthread_rwlock_wrlock(&b->v->lock);
			if (n->row)
				n->row->sort = file->rank;
			pthread_rwlock_unlock(&b->v->lock);
		}
		if (!n->row || put(b->v, n, &e) < 0)
			rc = SQLITE_NOMEM;
	}
	free(n);
	return rc == SQLITE_DONE ? 0 : -1;
}
