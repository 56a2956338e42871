/* dataset.c - the scratch database: rows with the types of tables.def. */
#include "exporters/ranks/dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define TABLE(name, order) }; static const struct dataset_column columns_##name[] = {
#define COLUMN(name, kind) {#name, DATASET_##kind},
static const struct dataset_column columns_none[] = {{"", DATASET_INT},
#include "exporters/ranks/tables.def"
};
/* clang-format on */

const struct dataset_table dataset_tables[DATASET_TABLES] = {
#define TABLE(name, order) \
	{#name, order, columns_##name, sizeof(columns_##name) / sizeof(columns_##name[0])},
#include "exporters/ranks/tables.def"
};

static int make_table(struct dataset *d, unsigned n)
{
	const struct dataset_table *t = &dataset_tables[n];
	sqlite3_str *make = sqlite3_str_new(d->db), *insert = sqlite3_str_new(d->db);
	char *sql;
	int rc;

	(void)columns_none;
	sqlite3_str_appendf(make, "CREATE TABLE \"%w\"(", t->name);
	sqlite3_str_appendf(insert, "INSERT INTO \"%w\" VALUES(", t->name);
	for (size_t i = 0; i < t->cnt; i++) {
		sqlite3_str_appendf(make, "%s\"%w\"", i ? ", " : "", t->columns[i].name);
		sqlite3_str_appendf(insert, "%s?", i ? ", " : "");
	}
	sqlite3_str_appendall(make, ")");
	sqlite3_str_appendall(insert, ")");
	sql = sqlite3_str_finish(make);
	rc = sql ? sqlite3_exec(d->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	sql = sqlite3_str_finish(insert);
	if (rc == SQLITE_OK)
		rc = sql ? sqlite3_prepare_v2(d->db, sql, -1, &d->insert[n], NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	return rc;
}

int dataset_begin(struct dataset *d)
{
	int rc;

	memset(d, 0, sizeof(*d));
	rc = sqlite3_open("", &d->db); /* in a file of its own, which has no name */
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(d->db,
				  "PRAGMA journal_mode = OFF; PRAGMA cache_size = -8000; BEGIN",
				  NULL, NULL, NULL);
	for (unsigned n = 0; rc == SQLITE_OK && n < DATASET_TABLES; n++)
		rc = make_table(d, n);
	return rc;
}

void dataset_end(struct dataset *d)
{
	for (unsigned n = 0; n < DATASET_TABLES; n++)
		sqlite3_finalize(d->insert[n]);
	sqlite3_close(d->db);
	memset(d, 0, sizeof(*d));
}

static int put(sqlite3_stmt *insert)
{
	int rc = sqlite3_step(insert);

	sqlite3_reset(insert);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int dataset_row(struct dataset *d, enum dataset_number table, sqlite3_stmt *from)
{
	static const int fits[] = {[DATASET_INT] = SQLITE_INTEGER, [DATASET_TEXT] = SQLITE_TEXT};
	const struct dataset_table *t = &dataset_tables[table];
	sqlite3_stmt *to = d->insert[table];

	for (int i = 0; i < (int)t->cnt; i++) {
		int type = sqlite3_column_type(from, i);

		if (type == fits[t->columns[i].kind]) {
			sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
			continue;
		}
		d->misfits += type != SQLITE_NULL;
		sqlite3_bind_null(to, i + 1);
	}
	return put(to);
}

int dataset_values(struct dataset *d, enum dataset_number table, const union dataset_value *values)
{
	const struct dataset_table *t = &dataset_tables[table];
	sqlite3_stmt *to = d->insert[table];

	for (int i = 0; i < (int)t->cnt; i++)
		if (t->columns[i].kind == DATASET_TEXT)
			sqlite3_bind_text(to, i + 1, values[i].text, -1, SQLITE_TRANSIENT);
		else if (values[i].number == DATASET_NULL)
			sqlite3_bind_null(to, i + 1);
		else
			sqlite3_bind_int64(to, i + 1, values[i].number);
	return put(to);
}

bool dataset_word(const char *word)
{
	return *word && *word != '.' && *word != '_' && strlen(word) < 128 &&
	       strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.+") ==
		       strlen(word);
}

char *dataset_file(const char *folder, const char *table, const char *run, const char *node)
{
	char *path;

	return asprintf(&path, "%s/%s/run=%s/node=%s/part-0.parquet", folder, table, run, node) < 0
		       ? NULL
		       : path;
}

char *dataset_manifest(const char *folder, const char *run, const char *node)
{
	char *path;

	return asprintf(&path, "%s/_nodes/run=%s/node=%s.json", folder, run, node) < 0 ? NULL
										       : path;
}

char *dataset_clocks(const char *folder, const char *run)
{
	char *path;

	return asprintf(&path, "%s/_clock/run=%s.json", folder, run) < 0 ? NULL : path;
}

char *dataset_ends(const char *folder, const char *run, const char *node)
{
	char *path;

	return asprintf(&path, "%s/_ends/run=%s/node=%s.json", folder, run, node) < 0 ? NULL : path;
}
