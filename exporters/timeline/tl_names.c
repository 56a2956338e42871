/*
 * tl_names.c - texts by id, looked up once.
 *
 * A report may have more texts than fit in memory (paths of a million files): the kept texts are dropped, between two events,
 * when they exceed KEPT_MAX, and collected anew.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/timeline/tl_internal.h"

#define KEPT_MAX (48u << 20)
#define DIRECT   8192

struct kept {
	int64_t id;
	size_t len;
	char text[];
};

struct tl_names {
	sqlite3 *db;
	sqlite3_stmt *lookup;
	struct map plain, api;        /* StringIds.id -> struct kept * */
	struct kept *near[2][DIRECT]; /* the same for small ids: most are; [1]: api */
	struct map made;              /* (maker, key) -> struct kept * */
	size_t bytes;
	int64_t next_id; /* of texts that are not in StringIds */
	bool no_memory;
};

/* ---- names ---- */

struct tl_names *tl_names_new(sqlite3 *db)
{
	struct tl_names *n = calloc(1, sizeof(*n));
	sqlite3_stmt *max = NULL;

	if (!n)
		return NULL;
	n->db = db;
	n->next_id = INT64_MAX / 2;
	if (sqlite3_prepare_v2(db, "SELECT value FROM StringIds WHERE id = ?1", -1, &n->lookup,
			       NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "SELECT max(id) FROM StringIds", -1, &max, NULL) != SQLITE_OK) {
		tl_names_free(n);
		return NULL;
	}
	if (sqlite3_step(max) == SQLITE_ROW && sqlite3_column_int64(max, 0) < INT64_MAX / 4)
		n->next_id = sqlite3_column_int64(max, 0) + 2;
	sqlite3_finalize(max);
	return n;
}

static void forget(struct map *m)
{
	for (size_t i = 0; i < m->size; i++)
		if (m->slot[i].used)
			free((void *)(uintptr_t)m->slot[i].value);
	map_free(m);
}

void tl_names_free(struct tl_names *n)
{
	if (!n)
		return;
	forget(&n->plain);
	forget(&n->api);
	forget(&n->made);
	sqlite3_finalize(n->lookup);
	free(n);
}

bool tl_names_trim(struct tl_names *n)
{
	if (n->bytes <= KEPT_MAX)
		return false;
	forget(&n->plain);
	forget(&n->api);
	memset(n->near, 0, sizeof(n->near));
	n->bytes = 0;
	return true;
}

static struct tl_text as_text(const struct kept *k)
{
	if (!k)
		return (struct tl_text){0, "", 0};
	return (struct tl_text){k->id, k->text, k->len};
}

static struct tl_text keep(struct tl_names *n, uint64_t *slot, int64_t id, const char *text,
			   size_t len)
{
	struct kept *k = slot ? malloc(sizeof(*k) + len + 1) : NULL;

	if (!k) {
		n->no_memory = true;
		return as_text(NULL);
	}
	k->id = id;
	k->len = len;
	if (len > 0)
		memcpy(k->text, text, len);
	k->text[len] = '\0';
	n->bytes += sizeof(*k) + len + 48;
	*slot = (uintptr_t)k;
	return as_text(k);
}

/* CUPTI names calls by the version they came with, as in cudaLaunchKernel_v7000; programs call them without. */
static size_t without_version(const char *text, size_t len)
{
	size_t at = len;

	while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9')
		at--;
	return at >= 3 && len - at >= 4 && text[at - 1] == 'v' && text[at - 2] == '_' ? at - 2
										      : len;
}

static struct tl_text look_up(struct tl_names *n, int64_t string_id, bool api)
{
	uint64_t *slot = map_at(api ? &n->api : &n->plain, (uint64_t)string_id, true);
	const char *text = NULL;
	struct tl_text result;
	char unknown[40];
	int64_t id = string_id >= 0 && string_id < INT64_MAX / 2 ? string_id + 1 : 0;
	size_t len = 0;

	if (slot && *slot)
		return as_text((struct kept *)(uintptr_t)*slot);
	sqlite3_bind_int64(n->lookup, 1, string_id);
	if (sqlite3_step(n->lookup) == SQLITE_ROW) {
		text = (const char *)sqlite3_column_blob(n->lookup, 0);
		len = (size_t)sqlite3_column_bytes(n->lookup, 0);
	}
	if (len == 0 && sqlite3_column_count(n->lookup) > 0 && sqlite3_data_count(n->lookup) == 0) {
		len = (size_t)snprintf(unknown, sizeof(unknown), "string %lld",
				       (long long)string_id);
		text = unknown;
		id = n->next_id++;
	}
	if (api && without_version(text, len) < len) {
		len = without_version(text, len);
		id = n->next_id++;
	}
	if (id <= 0)
		id = n->next_id++;
	result = keep(n, slot, id, text, len);
	sqlite3_reset(n->lookup);
	return result;
}

struct tl_text tl_name(struct tl_names *n, int64_t string_id, bool api)
{
	struct tl_text t;

	if (string_id >= 0 && string_id < DIRECT && n->near[api][string_id])
		return as_text(n->near[api][string_id]);
	t = look_up(n, string_id, api);
	if (string_id >= 0 && string_id < DIRECT && t.id != 0)
		n->near[api][string_id] = (struct kept *)(uintptr_t)*map_at(
			api ? &n->api : &n->plain, (uint64_t)string_id, false);
	return t;
}

struct tl_text tl_name_made(struct tl_names *n, int maker, tl_maker *make, int64_t key)
{
	uint64_t *slot = map_at(&n->made, (uint64_t)maker << 56 ^ (uint64_t)key, true);
	char text[192];

	if (slot && *slot)
		return as_text((struct kept *)(uintptr_t)*slot);
	make(n, key, text, sizeof(text));
	return keep(n, slot, n->next_id++, text, strlen(text));
}

struct tl_text tl_name_enum(struct tl_names *n, int at, const char *table, int64_t value)
{
	/* Makers of names have the numbers below 64. */
	uint64_t *slot = map_at(&n->made, (uint64_t)(64 + at) << 56 ^ (uint64_t)value, true);
	sqlite3_stmt *stmt = NULL;
	char number[32], *sql;
	struct tl_text result;

	if (slot && *slot)
		return as_text((struct kept *)(uintptr_t)*slot);
	snprintf(number, sizeof(number), "%lld", (long long)value);
	sql = sqlite3_mprintf("SELECT label FROM \"%w\" WHERE id = ?1", table);
	if (sql && sqlite3_prepare_v2(n->db, sql, -1, &stmt, NULL) == SQLITE_OK)
		sqlite3_bind_int64(stmt, 1, value);
	sqlite3_free(sql);
	if (stmt && sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_bytes(stmt, 0) > 0)
		result = keep(n, slot, n->next_id++, (const char *)sqlite3_column_blob(stmt, 0),
			      (size_t)sqlite3_column_bytes(stmt, 0));
	else
		result = keep(n, slot, n->next_id++, number, strlen(number));
	sqlite3_finalize(stmt);
	return result;
}

/* ---- names of GPU work that has none: spelled as PyTorch's profiler does, whose readers look for them ---- */

static const char *mem_kind(int64_t kind)
{
	static const char *const name[] = {"Pageable",       "Pinned",  "Device",
					   "Array",          "Managed", "Device Static",
					   "Managed Static", "Unknown"};

	return kind >= 0 && kind < 8 ? name[kind] : "Unknown";
}

void tl_make_memcpy(struct tl_names *n, int64_t key, char *buf, size_t len)
{
	static const char *const copy[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH",
					   "AtoA",    "AtoD", "DtoA", "DtoD", "HtoH",
					   "PtoP",    "HtoD", "DtoH", "DtoD"};
	int64_t kind = key >> 16 & 0xFF;

	(void)n;
	if (kind >= 11 && kind <= 13)
		snprintf(buf, len, "Memcpy %s (Unified memory)", copy[kind]);
	else
		snprintf(buf, len, "Memcpy %s (%s -> %s)", kind < 11 ? copy[kind] : "Unknown",
			 mem_kind(key >> 8 & 0xFF), mem_kind(key & 0xFF));
}

void tl_make_memset(struct tl_names *n, int64_t key, char *buf, size_t len)
{
	(void)n;
	snprintf(buf, len, "Memset (%s)", mem_kind(key & 0xFF));
}

void tl_make_sync(struct tl_names *n, int64_t key, char *buf, size_t len)
{
	static const char *const sync[] = {"Synchronization", "Event Sync", "Stream Wait Event",
					   "Stream Sync", "Context Sync"};
	int64_t kind = key & 0xFF;

	(void)n;
	snprintf(buf, len, "%s", kind < 5 ? sync[kind] : sync[0]);
}
