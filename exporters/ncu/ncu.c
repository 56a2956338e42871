/* ncu.c - runs the parts, one after the other; reads the program's facts; copies. */
#include "exporters/events/launches.h"
#include "exporters/ncu/ncu.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void *ncu_more(void *list, size_t *cnt, size_t size)
{
	void **at = list;
	char *grown = *cnt & (*cnt - 1) ? *at : reallocarray(*at, *cnt ? *cnt * 2 : 1, size);

	if (!grown)
		return NULL;
	*at = grown;
	return memset(grown + (*cnt)++ * size, 0, size);
}

int ncu_note(struct ncu_target *t, const char *kind, const char *format, ...)
{
	struct ncu_note *note = ncu_more(&t->notes, &t->note_cnt, sizeof(*note));
	va_list ap;
	int len;

	if (!note)
		return -1;
	note->kind = kind;
	va_start(ap, format);
	len = vasprintf(&note->text, format, ap);
	va_end(ap);
	if (len < 0)
		note->text = NULL;
	return len < 0 ? -1 : 0;
}

static void free_words(char **words)
{
	for (char **w = words; w && *w; w++)
		free(*w);
	free(words);
}

/* ---- the program ---- */

static int read_program(struct ncu *n)
{
	static const char sql[] =
		"SELECT name, value FROM META_DATA_CAPTURE WHERE value IS NOT NULL AND (name IN "
		"('PROCESS_0:COMMAND', 'PROCESS_0:WORKING_DIR', 'PROCESS_0:PID') OR name GLOB "
		"'PROCESS_0:ARGUMENT_[0-9]*') ORDER BY name <> 'PROCESS_0:COMMAND', "
		"cast(substr(name, 20) AS INTEGER), rowid";
	sqlite3_stmt *stmt;
	size_t cnt = 0;
	int rc;

	if (sqlite3_prepare_v2(n->db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return -1;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);
		char *value = strdup((const char *)sqlite3_column_text(stmt, 1)), **word = NULL;

		if (value && strcmp(name, "PROCESS_0:WORKING_DIR") == 0) {
			free(n->folder);
			n->folder = value;
			continue;
		}
		if (value && strcmp(name, "PROCESS_0:PID") == 0) {
			n->pid = strtoll(value, NULL, 10);
			free(value);
			continue;
		}
		word = value ? ncu_more(&n->argv, &cnt, sizeof(*word)) : NULL;
		if (!word) {
			free(value);
			break;
		}
		*word = value;
		n->is_masked |= strstr(value, "***") != NULL;
	}
	sqlite3_finalize(stmt);
	if (cnt && !ncu_more(&n->argv, &cnt, sizeof(*n->argv)))
		return -1;
	/* ncu would take it for an option of its own. */
	if (n->argv && n->argv[0][0] == '-') {
		free_words(n->argv);
		n->argv = NULL;
	}
	return rc == SQLITE_DONE ? 0 : -1;
}

/* Does the report begin with the program? A recording by a capture range, a delay, attach or a flight recorder does not. */
static int read_beginning(struct ncu *n)
{
	static const char sql[] =
		"SELECT name, value FROM META_DATA_CAPTURE WHERE name IN ('START_TRIGGER', "
		"'START_DELAY_MS') OR name GLOB 'SL_CAPTURE_FLIGHT*' "
		"UNION ALL SELECT 'SL_CAPTURES', count(*) FROM SL_CAPTURES HAVING count(*) > 0 "
		"UNION ALL SELECT 'attach', '' WHERE EXISTS (SELECT 1 FROM SL_PROCESS_TREE) AND "
		"NOT "
		"EXISTS (SELECT 1 FROM META_DATA_CAPTURE WHERE name = 'PROCESS_0:COMMAND')";
	sqlite3_stmt *stmt;
	int rc;

	if (sqlite3_prepare_v2(n->db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return -1;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);
		const char *value = (const char *)sqlite3_column_text(stmt, 1);

		if (!value)
			value = "";
		if (strcmp(name, "START_TRIGGER") == 0 && strcasestr(value, "cuda"))
			n->by_profiler = true;
		else if (strcmp(name, "START_DELAY_MS") == 0 && strtoll(value, NULL, 10) > 0)
			n->late = "recording began after a delay";
		else if (strcmp(name, "attach") == 0)
			n->late = "recording began while the processes ran";
		else if (strncmp(name, "SL_CAPTURE_FLIGHT", 17) == 0)
			n->late = "it holds the last seconds of a flight recorder";
		else if ((strcmp(name, "START_TRIGGER") == 0 &&
			  strcasecmp(value, "immediate") != 0) ||
			 (strcmp(name, "SL_CAPTURES") == 0 && !n->late))
			n->late = "it holds only what was captured";
	}
	sqlite3_finalize(stmt);
	if (n->by_profiler)
		n->late = NULL;
	return rc == SQLITE_DONE ? 0 : -1;
}

/* ---- copies ---- */

/* ncu profiles kernels alone: of copies there is how fast they were, and how fast the memory of the GPU is. */
static int read_copies(struct ncu *n, char *why, size_t why_len)
{
	static const char sql[] =
		"SELECT '[CUDA memcpy ' || coalesce(label, copyKind) || ']' AS operation, "
		"globalPid >> "
		"24 & "
		"16777215, sl_gpu(globalPid, deviceId), count(*), sum(bytes), sum(end - start), "
		"max(CASE WHEN bytes "
		">= "
		"1000000 THEN 1e9 * bytes / nullif(end - start, 0) END), (SELECT memoryBandwidth "
		"FROM "
		"TARGET_INFO_GPU AS g WHERE g.id = sl_gpu(globalPid, deviceId)), "
		"copyKind = 8 FROM CUPTI_ACTIVITY_KIND_MEMCPY LEFT JOIN ENUM_CUDA_MEMCPY_OPER AS e "
		"ON "
		"e.id = copyKind WHERE end > start AND (?2 = 0 OR globalPid >> 24 & 16777215 = ?2) "
		"GROUP BY globalPid, deviceId, copyKind HAVING instr(operation, rtrim(?1, ']')) = "
		"1 "
		"ORDER BY "
		"sum(end - start) DESC";
	sqlite3_stmt *stmt;
	int rc;

	if (sqlite3_prepare_v2(n->db, sql, -1, &stmt, NULL) != SQLITE_OK) {
		snprintf(why, why_len, "%s", sqlite3_errmsg(n->db));
		return -1;
	}
	sqlite3_bind_text(stmt, 1, n->ask->kernel, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 2, n->ask->pid);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct ncu_copy *c = ncu_more(&n->copies.list, &n->copies.cnt, sizeof(*c));

		if (!c)
			break;
		c->name = strdup((const char *)sqlite3_column_text(stmt, 0));
		c->pid = sqlite3_column_int64(stmt, 1);
		c->device = sqlite3_column_int64(stmt, 2);
		c->count = sqlite3_column_int64(stmt, 3);
		c->bytes = sqlite3_column_int64(stmt, 4);
		c->ns = sqlite3_column_int64(stmt, 5);
		c->best = sqlite3_column_double(stmt, 6);
		c->memory = sqlite3_column_int64(stmt, 7);
		c->is_inside = sqlite3_column_int(stmt, 8);
	}
	if (rc != SQLITE_DONE)
		snprintf(why, why_len, "%s", sqlite3_errmsg(n->db));
	else if (!n->copies.cnt)
		snprintf(why, why_len, "the report has no copies called '%s'", n->ask->kernel);
	sqlite3_finalize(stmt);
	return rc == SQLITE_DONE && n->copies.cnt ? 0 : -1;
}

/* ---- all of it ---- */

int ncu_run(struct ncu *n, sqlite3 *db, const char *path, const struct ncu_ask *ask, char *why,
	    size_t why_len)
{
	*n = (struct ncu){.path = path, .db = db, .ask = ask};
	if (ask->kernel && strncmp(ask->kernel, "[CUDA ", 6) == 0)
		return read_copies(n, why, why_len);
	if (launches_register(db) != SQLITE_OK) {
		snprintf(why, why_len, "%s", sqlite3_errmsg(db));
		return -1;
	}
	if (ncu_find(n, why, why_len) < 0)
		return -1;
	if (read_program(n) < 0 || read_beginning(n) < 0 || ncu_notes(n) < 0 || ncu_argv(n) < 0) {
		snprintf(why, why_len, "%s", sqlite3_errmsg(db));
		return -1;
	}
	return 0;
}

void ncu_free(struct ncu *n)
{
	for (size_t i = 0; i < n->kernel_cnt; i++) {
		free(n->kernels[i].mangled);
		free(n->kernels[i].demangled);
		free(n->kernels[i].name);
	}
	for (size_t i = 0; i < n->targets.cnt; i++) {
		struct ncu_target *t = &n->targets.list[i];

		for (size_t k = 0; k < t->note_cnt; k++)
			free(t->notes[k].text);
		free(t->notes);
		free_words(t->argv);
	}
	for (size_t i = 0; i < n->copies.cnt; i++)
		free(n->copies.list[i].name);
	free(n->copies.list);
	free(n->kernels);
	free(n->targets.list);
	free_words(n->argv);
	free(n->folder);
}
