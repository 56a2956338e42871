/*
 * notes.c - /v1/notes and /v1/note: what people write on a report, in a file beside it, REPORT.notes: {"report": the recording, "notes":
 * an object of the page}. It is for its owner alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/new_file.h"
#include "collector/base/plain_file.h"
#include "exporters/read/sql_rows.h"
#include "exporters/view/answers/answer.h"

#define NOTES_MAX (1 << 20)
#define ENDING    ".notes"

enum state {
	NOTES_NONE,
	NOTES_OURS,
	NOTES_OTHER,
	NOTES_DAMAGED
};

static const char *const state_names[] = {"none", "ours", "other", "damaged"};

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* Which recording it is: its begin, which stays while a report grows; else the file. */
static void recording_of(sqlite3 *db, const char *path, char *buf, size_t len)
{
	int64_t begin =
		sql_number(db, "SELECT utcEpochNs FROM main.TARGET_INFO_SESSION_START_TIME", 0);
	struct view_identity id = {0};

	if (begin) {
		snprintf(buf, len, "begin %lld", (long long)begin);
		return;
	}
	view_identity_of(path, &id);
	snprintf(buf, len, "file %llu %08x", (unsigned long long)id.size, id.head_crc);
}

/* The text of a file of the user's own; malloc'd, NULL: there is none. *is_odd: there is one that cannot be it. */
static char *read_file(const char *path, bool *is_odd)
{
	struct stat st;
	int fd = plain_file_open(path, false, &st);
	char *text = NULL;
	size_t done = 0;
	ssize_t got = 0;

	/* A link, a folder: it is not followed. */
	*is_odd = fd < 0 && lstat(path, &st) == 0;
	if (fd < 0)
		return NULL;
	*is_odd = st.st_uid != geteuid() || st.st_size > 2 * NOTES_MAX;
	text = *is_odd ? NULL : malloc((size_t)st.st_size + 1);
	while (text && done < (size_t)st.st_size &&
	       (got = read(fd, text + done, (size_t)st.st_size - done)) > 0)
		done += (size_t)got;
	close(fd);
	if (text)
		text[done] = '\0';
	return text;
}

/* A part of a JSON text; malloc'd, NULL: the text is no JSON, or has no such part. */
static char *part_of(sqlite3 *db, const char *text, const char *path)
{
	static const char sql[] = "SELECT CASE WHEN json_valid(?1) THEN json_extract(?1, ?2) END";
	sqlite3_stmt *stmt = NULL;
	char *part = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return NULL;
	sqlite3_bind_text(stmt, 1, text, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, path, -1, SQLITE_STATIC);
	if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0))
		part = strdup((const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	return part;
}

/* The notes of a report; *notes, *path: malloc'd, where there are some. */
static enum state look(sqlite3 *db, const char *report, char **notes, char **path)
{
	char recording[64], *of, *text = NULL;
	enum state state;
	bool is_odd = false;

	*notes = *path = NULL;
	for (int place = 0; place < 2 && !text && !is_odd; place++) {
		free(*path);
		*path = view_beside(report, ENDING, place);
		text = *path ? read_file(*path, &is_odd) : NULL;
	}
	if (is_odd)
		return NOTES_DAMAGED;
	if (!text) {
		free(*path);
		*path = NULL;
		return NOTES_NONE;
	}
	recording_of(db, report, recording, sizeof(recording));
	of = part_of(db, text, "$.report");
	*notes = part_of(db, text, "$.notes");
	state = !of || !*notes || **notes != '{' ? NOTES_DAMAGED
		: strcmp(of, recording) == 0     ? NOTES_OURS
						 : NOTES_OTHER;
	if (state == NOTES_DAMAGED) {
		free(*notes);
		*notes = NULL;
	}
	free(of);
	free(text);
	return state;
}

void view_answer_notes(struct view_request *q, struct view_reply *a)
{
	struct writer *b = &a->body;
	char *notes = NULL, *path = NULL;
	sqlite3 *db = view_db_take(q, a);
	enum state state;

	if (!db)
		return;
	pthread_mutex_lock(&one_at_a_time);
	state = look(db, q->store->path, &notes, &path);
	pthread_mutex_unlock(&one_at_a_time);
	json_open(b, NULL, '{');
	js_text(b, "state", state_names[state]);
	js_text(b, "path", path);
	if (notes)
		json_raw(b, "notes", notes, strlen(notes));
	json_close(b, '}');
	free(notes);
	free(path);
	view_db_put(q, db);
}

/* ---- writing ---- */

/* 0, or -errno. */
static int write_at(char *path, int place, const char *text, size_t len)
{
	char *temp = NULL;
	int fd, err = 0;

	if (place == 1)
		view_beside_folders(path);
	fd = new_file_open(path, &temp);
	if (fd < 0)
		return fd;
	if (fchmod(fd, 0600) < 0)
		err = -errno;
	for (size_t done = 0; !err && done < len;) {
		ssize_t put = write(fd, text + done, len - done);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			err = put < 0 ? -errno : -ENOSPC;
		else
			done += (size_t)put;
	}
	if (close(fd) < 0 && !err)
		err = -errno;
	if (!err)
		err = new_file_place(temp, path, true);
	if (err)
		unlink(temp);
	free(temp);
	return err;
}

static int write_file(const char *report, const char *text, size_t len)
{
	int err = -ENOENT;

	for (int place = 0; place < 2; place++) {
		char *path = view_beside(report, ENDING, place);

		if (path)
			err = write_at(path, place, text, len);
		free(path);
		if (!err)
			return 0;
	}
	return err;
}

/* Notes that are not of this report get another name. 0, or -errno. */
static int set_aside(const char *path)
{
	char *old;
	int err = 0;

	if (asprintf(&old, "%s.old", path) < 0)
		return -ENOMEM;
	if (rename(path, old) < 0)
		err = -errno;
	free(old);
	return err;
}

static void save(struct view_request *q, struct view_reply *a, sqlite3 *db, const char *notes)
{
	char recording[64], *text = NULL, *was = NULL, *path = NULL, why[256];
	int64_t replace = 0;
	enum state state;
	int err = 0, len;

	view_param_int(q, "replace", &replace);
	recording_of(db, q->store->path, recording, sizeof(recording));
	state = look(db, q->store->path, &was, &path);
	len = asprintf(&text, "{\"report\": \"%s\", \"notes\": %s}\n", recording, notes);
	if (state > NOTES_OURS && !replace) {
		view_refuse(a, 409,
			    state == NOTES_OTHER
				    ? "the notes beside the report are of another recording"
				    : "the notes beside the report cannot be read");
	} else if (len < 0) {
		text = NULL;
		a->body.failed = true;
	} else {
		if (state > NOTES_OURS && path)
			err = set_aside(path);
		if (!err)
			err = write_file(q->store->path, text, (size_t)len);
		snprintf(why, sizeof(why), "the notes cannot be saved: %s", new_file_error(err));
		if (err)
			view_refuse(a, 503, why);
		else
			writer_add(&a->body, "{}", 2);
	}
	free(text);
	free(was);
	free(path);
}

void view_answer_note(struct view_request *q, struct view_reply *a)
{
	sqlite3 *db = q->len <= NOTES_MAX ? view_db_take(q, a) : NULL;
	char *notes = NULL, *text;

	if (q->len > NOTES_MAX)
		view_refuse(a, 400, "notes may take a megabyte at most");
	if (!db)
		return;
	/* As SQLite writes it: one object, and nothing else. */
	text = strndup((const char *)q->body, q->len);
	notes = text ? part_of(db, text, "$") : NULL;
	if (!notes || *notes != '{') {
		view_refuse(a, 400, "the notes must be one object of JSON");
	} else {
		pthread_mutex_lock(&one_at_a_time);
		save(q, a, db, notes);
		pthread_mutex_unlock(&one_at_a_time);
	}
	free(notes);
	free(text);
	view_db_put(q, db);
}
