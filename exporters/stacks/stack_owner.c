/* stack_owner.c - whose a stack is: of which thread, and of which program that its process ran at the time. */
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "exporters/stacks/stack_costs.h"

#define LAST_IMAGE UINT32_MAX

/* The lines of some outputs end with a line feed. */
static char *copy_name(const char *text)
{
	char *copy = strdup(text);

	for (char *p = copy; p && *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
	return copy;
}

/* ---- programs ---- */

/* globalPid, start, exe */
static bool take_image(struct stack_costs *w, sqlite3_stmt *stmt)
{
	const char *exe = (const char *)sqlite3_column_text(stmt, 2), *slash;
	struct stack_image im = {.process = sqlite3_column_int64(stmt, 0),
				 .start = sqlite3_column_int64(stmt, 1)};

	if (!exe || !grow(&w->image, w->image_cnt, &w->image_max, sizeof(*w->image)))
		return false;
	slash = strrchr(exe, '/');
	im.name = copy_name(slash && slash[1] ? slash + 1 : exe);
	if (!im.name)
		return false;
	w->image[w->image_cnt++] = im;
	return true;
}

int stack_images_read(struct stack_costs *w)
{
	static const char sql[] =
		"SELECT globalPid, start, exe FROM (SELECT globalPid, start, kind, exe, lag(exe) "
		"OVER (PARTITION BY globalPid ORDER BY start, kind) AS had, count(*) OVER "
		"(PARTITION BY globalPid) AS cnt FROM SL_PROCESS_TREE WHERE exe <> '') WHERE cnt > "
		"1 AND exe IS NOT had ORDER BY globalPid, start, kind";
	sqlite3_stmt *stmt = NULL;
	int rc;

	if (!db_read_has(w->db, "SL_PROCESS_TREE"))
		return 0;
	rc = sqlite3_prepare_v2(w->db, sql, -1, &stmt, NULL);
	while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		w->failed = !take_image(w, stmt);
		rc = w->failed ? SQLITE_NOMEM : SQLITE_OK;
	}
	rc = rc == SQLITE_DONE ? 0 : stack_costs_fail(w);
	sqlite3_finalize(stmt);
	return rc;
}

static bool is_of(const struct stack_costs *w, uint32_t image, int64_t process)
{
	return image < w->image_cnt && w->image[image].process == process;
}

/* The image that had begun; before any, the first. LAST_IMAGE: the process has the name of its last one. */
static uint32_t image_at(const struct stack_costs *w, int64_t process, int64_t at_ns)
{
	uint32_t from = 0, to = w->image_cnt;

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;
		const struct stack_image *im = &w->image[mid];

		if (im->process < process || (im->process == process && im->start <= at_ns))
			from = mid + 1;
		else
			to = mid;
	}
	if (from > 0 && is_of(w, from - 1, process))
		from--;
	return is_of(w, from, process) && is_of(w, from + 1, process) ? from : LAST_IMAGE;
}

/* ---- names ---- */

static char *ask_name(struct stack_costs *w, const char *sql, int64_t global, const char *otherwise)
{
	sqlite3_stmt *stmt = NULL;
	const char *text = NULL;
	char *copy;

	if (sqlite3_prepare_v2(w->db, sql, -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_bind_int64(stmt, 1, global) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
		text = (const char *)sqlite3_column_text(stmt, 0);
	copy = copy_name(text && *text ? text : otherwise);
	sqlite3_finalize(stmt);
	return copy;
}

static char *process_name(struct stack_costs *w, int64_t global, uint32_t image)
{
	if (image != LAST_IMAGE)
		return strdup(w->image[image].name);
	return ask_name(w, "SELECT name FROM PROCESSES WHERE globalPid = ?1 & ~0xFFFFFF", global,
			"process");
}

/* An exec leaves the main thread, and gives it the new program's name. */
static char *thread_name(struct stack_costs *w, int64_t global, uint32_t image)
{
	if (image != LAST_IMAGE && TL_TID(global) == TL_PID(global))
		return strdup(w->image[image].name);
	return ask_name(w,
			"SELECT value FROM ThreadNames JOIN StringIds ON id = nameId "
			"WHERE globalTid = ?1 ORDER BY ThreadNames.rowid DESC",
			global, "thread");
}

/* The first owner of the same names, plus one; 0: there is none yet, and @index plus one is noted for the names. */
static uint32_t same_named(struct stack_costs *w, const struct stack_owner *o, uint32_t index)
{
	uint64_t hash = hash_bytes(hash_bytes(0, o->process, strlen(o->process)), o->thread,
				   strlen(o->thread));
	uint64_t *named = map_at(&w->owner_named, hash, true);

	if (named && *named)
		return (uint32_t)*named;
	if (named)
		*named = (uint64_t)index + 1;
	w->failed |= !named;
	return 0;
}

static uint32_t make_owner(struct stack_costs *w, int64_t global, uint32_t image)
{
	struct stack_owner o = {.global = global, .process = process_name(w, global, image)};
	uint32_t same = 0;

	if (w->by != OWNER_BY_PROCESS)
		o.thread = thread_name(w, global, image);
	grow(&w->owner, w->owner_cnt, &w->owner_max, sizeof(*w->owner));
	if (!o.process || (!o.thread && w->by != OWNER_BY_PROCESS) || w->owner_cnt == w->owner_max)
		w->failed = true;
	else if (w->by == OWNER_BY_NAME)
		same = same_named(w, &o, w->owner_cnt);
	if (w->failed || same) {
		free(o.process);
		free(o.thread);
		return same ? same - 1 : 0;
	}
	w->owner[w->owner_cnt] = o;
	return w->owner_cnt++;
}

uint32_t stack_owner_at(struct stack_costs *w, int64_t global, int64_t at_ns)
{
	int64_t key = w->by == OWNER_BY_PROCESS ? TL_PROCESS_OF(global) : global;
	uint32_t image = image_at(w, TL_PROCESS_OF(global), at_ns), owner;
	uint64_t hash = hash_bytes(hash_bytes(0, &key, sizeof(key)), &image, sizeof(image));
	uint64_t *at = map_at(&w->owner_of, image == LAST_IMAGE ? (uint64_t)key : hash, true);

	if (at && *at)
		return (uint32_t)*at - 1;
	owner = make_owner(w, key, image);
	if (!at)
		w->failed = true;
	else
		*at = (uint64_t)owner + 1;
	return owner;
}
