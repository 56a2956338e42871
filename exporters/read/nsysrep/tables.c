/* tables.c - the database that is written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/embed.h"
#include "exporters/read/nsysrep/container.h"
#include "exporters/read/nsysrep/tables.h"

enum from {
	PAYLOAD,
	PART,
	KIND,
	NUMBER,
	CHAIN,
	NOTHING
};

struct column {
	const char *name;
	const char *declared; /* NULL: as in schema.sql */
	uint32_t since, until;
	uint8_t from, field, other; /* @other: taken where @field is missing; 0: none */
};

#define TABLE(table, since, until)              static const struct column columns_##table[] = {
#define COLUMN(name, from, field, since, until) {#name, NULL, since, until, from, field, 0},
#define OLD(name, declared, from, field, since, until) \
	{#name, declared, since, until, from, field, 0},
#define EITHER(name, from, field, other) {#name, NULL, 0, 0, from, field, other},
#define END \
	{   \
	}   \
	}   \
	;
#include "exporters/read/nsysrep/tables.def"
#undef TABLE
#undef COLUMN
#undef OLD
#undef EITHER
#undef END

static const struct {
	const char *name;
	const struct column *column;
	uint32_t since, until;
} tables[NR_TABLE_CNT] = {
#define TABLE(table, since, until) {#table, columns_##table, since, until},
#define COLUMN(...)
#define OLD(...)
#define EITHER(...)
#define END
#include "exporters/read/nsysrep/tables.def"
#undef TABLE
#undef COLUMN
#undef OLD
#undef EITHER
#undef END
};

#define COLUMNS_MAX 48

/* A table that has been made. */
struct made {
	sqlite3_stmt *insert;
	int64_t rows;
	unsigned cnt;
	struct taken {
		uint8_t from, field, other;
		bool is_text, not_null;
	} col[COLUMNS_MAX];
};

struct nr_tables {
	sqlite3 *db, *schema; /* @schema: schema.sql in memory */
	unsigned release;
	char *why; /* SQLite's last error in other words; NULL: SQLite's own */
	struct made made[NR_TABLE_CNT];
};

static bool is_of(uint32_t since, uint32_t until, unsigned release)
{
	return release >= since && (until == 0 || release < until);
}

bool nr_tables_has(const struct nr_tables *t, enum nr_table_id id)
{
	return id < NR_TABLE_CNT && is_of(tables[id].since, tables[id].until, t->release);
}

int64_t nr_tables_rows(const struct nr_tables *t, enum nr_table_id id)
{
	return t->made[id].rows;
}

sqlite3 *nr_tables_db(struct nr_tables *t)
{
	return t->db;
}

uint64_t nr_tables_known(enum nr_table_id id, bool of_part)
{
	uint64_t known = 0;

	if (id >= NR_TABLE_CNT)
		return 0;
	for (const struct column *c = tables[id].column; c->name; c++)
		if (c->from == (of_part ? PART : PAYLOAD))
			known |= 1ull << c->field | (c->other ? 1ull << c->other : 0);
	return known;
}

int nr_tables_exec(struct nr_tables *t, const char *sql)
{
	return sqlite3_exec(t->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : -1;
}

const char *nr_tables_why(struct nr_tables *t)
{
	return t->why ? t->why : sqlite3_errmsg(t->db);
}

/* ---- opening ---- */

static const char *schema_text(void)
{
	for (const struct embedded *e = sl_embedded; e->name; e++)
		if (strcmp(e->name, "schema.sql") == 0)
			return e->text;
	return "";
}

struct nr_tables *nr_tables_open(const char *path, unsigned release, char *why)
{
	static const char settings[] =
		"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-16384;"
		"PRAGMA temp_store=FILE; PRAGMA locking_mode=EXCLUSIVE; BEGIN";
	struct nr_tables *t = calloc(1, sizeof(*t));
	int rc = t ? sqlite3_open_v2(
			     path, &t->db,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL)
		   : SQLITE_NOMEM;

	if (rc == SQLITE_OK)
		rc = sqlite3_open_v2(":memory:", &t->schema,
				     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(t->schema, schema_text(), NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(t->db, settings, NULL, NULL, NULL);
	if (rc == SQLITE_OK) {
		t->release = release;
		return t;
	}
	snprintf(why, NR_WHY, "%s: %s", path,
		 t && t->db ? sqlite3_errmsg(t->db) : sqlite3_errstr(rc));
	nr_tables_drop(t);
	return NULL;
}

void nr_tables_drop(struct nr_tables *t)
{
	if (!t)
		return;
	for (unsigned i = 0; i < NR_TABLE_CNT; i++)
		sqlite3_finalize(t->made[i].insert);
	sqlite3_close(t->db);
	sqlite3_close(t->schema);
	free(t->why);
	free(t);
}

int nr_tables_close(struct nr_tables *t, char *why)
{
	int rc = sqlite3_exec(t->db, "COMMIT", NULL, NULL, NULL);

	if (rc != SQLITE_OK)
		snprintf(why, NR_WHY, "%s", sqlite3_errmsg(t->db));
	nr_tables_drop(t);
	return rc == SQLITE_OK ? 0 : -1;
}

/* ---- making a table ---- */

static bool is_of_chains(const char *table)
{
	return strstr(table, "_CALLCHAINS") != NULL;
}

/* "INTEGER NOT NULL PRIMARY KEY" of a column of schema.sql; NULL: it is not there. */
static const char *declaration(struct nr_tables *t, const char *table, const struct column *c)
{
	const char *type = NULL;
	int not_null = 0, key = 0;
	static const char *const words[2][2] = {{"", " PRIMARY KEY"},
						{" NOT NULL", " NOT NULL PRIMARY KEY"}};
	static const char *const types[] = {"INTEGER", "TEXT", "REAL"};
	static char text[3][2][2][48];

	if (c->declared)
		return c->declared;
	/* All have the same columns; in schema.sql one is a view. */
	if (is_of_chains(table))
		table = "OSRT_CALLCHAINS";
	if (sqlite3_table_column_metadata(t->schema, "main", table, c->name, &type, NULL, &not_null,
					  &key, NULL) != SQLITE_OK)
		return NULL;
	for (unsigned i = 0; i < 3; i++)
		if (type && strcmp(type, types[i]) == 0) {
			char *to = text[i][not_null != 0][key != 0];

			snprintf(to, 48, "%s%s", types[i], words[not_null != 0][key != 0]);
			return to;
		}
	return NULL;
}

static bool add_columns(struct nr_tables *t, enum nr_table_id id, sqlite3_str *create,
			sqlite3_str *insert)
{
	struct made *m = &t->made[id];
	const char *comma = "";

	for (const struct column *c = tables[id].column; c->name; c++) {
		const char *declared;

		if (!is_of(c->since, c->until, t->release))
			continue;
		declared = declaration(t, tables[id].name, c);
		if (!declared || m->cnt == COLUMNS_MAX)
			return false;
		sqlite3_str_appendf(create, "%s\"%s\" %s", comma, c->name, declared);
		sqlite3_str_appendf(insert, "%s?", comma);
		comma = ", ";
		m->col[m->cnt++] = (struct taken){
			.from = c->from,
			.field = c->field,
			.other = c->other,
			.is_text = strncmp(declared, "TEXT", 4) == 0,
			.not_null = strstr(declared, "NOT NULL") != NULL,
		};
	}
	return true;
}

int nr_tables_make(struct nr_tables *t, enum nr_table_id id)
{
	sqlite3_str *create, *insert;
	bool is_chain = is_of_chains(tables[id].name), has_all;
	char *make_sql, *insert_sql;
	int rc = SQLITE_NOMEM;

	if (t->made[id].insert)
		return 0;
	create = sqlite3_str_new(t->db);
	insert = sqlite3_str_new(t->db);
	sqlite3_str_appendf(create, "CREATE TABLE \"%s\" (", tables[id].name);
	sqlite3_str_appendf(insert, "INSERT INTO \"%s\" VALUES (", tables[id].name);
	has_all = add_columns(t, id, create, insert);
	sqlite3_str_appendall(create, is_chain ? ", PRIMARY KEY (id, stackDepth))" : ")");
	sqlite3_str_appendall(insert, ")");
	make_sql = sqlite3_str_finish(create);
	insert_sql = sqlite3_str_finish(insert);
	if (make_sql && insert_sql && has_all)
		rc = sqlite3_exec(t->db, make_sql, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v3(t->db, insert_sql, -1, SQLITE_PREPARE_PERSISTENT,
					&t->made[id].insert, NULL);
	if (!has_all && !t->why)
		t->why = strdup("schema.sql lacks a column of tables.def");
	sqlite3_free(make_sql);
	sqlite3_free(insert_sql);
	return rc == SQLITE_OK ? 0 : -1;
}

int nr_tables_copy(struct nr_tables *t, const char *name)
{
	char head[96];
	const char *at, *end;
	char *sql;
	int rc;

	snprintf(head, sizeof(head), "\n-- @table %s ", name);
	at = strstr(schema_text(), head);
	if (!at)
		return -1;
	end = strstr(at + 1, "\n-- @table ");
	sql = end ? strndup(at, (size_t)(end - at)) : strdup(at);
	rc = sql ? nr_tables_exec(t, sql) : -1;
	free(sql);
	return rc;
}

/* ---- rows ---- */

static int bind_field(struct made *m, int i, const struct taken *c, const struct nr_fields *f)
{
	unsigned n = c->field;

	if (!(f->has >> n & 1) && c->other)
		n = c->other;
	if (!(f->has >> n & 1) || (f->is_bytes >> n & 1) != c->is_text)
		return c->not_null ? c->is_text
					     ? sqlite3_bind_text(m->insert, i, "", 0, SQLITE_STATIC)
					     : sqlite3_bind_int64(m->insert, i, 0)
				   : sqlite3_bind_null(m->insert, i);
	if (c->is_text)
		return sqlite3_bind_text64(m->insert, i, (const char *)f->bytes[n].data,
					   f->bytes[n].len, SQLITE_STATIC, SQLITE_UTF8);
	return sqlite3_bind_int64(m->insert, i, (int64_t)f->value[n]);
}

static int bind(struct made *m, int i, const struct taken *c, const struct nr_row *row)
{
	switch (c->from) {
	case PAYLOAD:
		return bind_field(m, i, c, row->payload);
	case PART:
		return bind_field(m, i, c, row->part);
	case KIND:
		return sqlite3_bind_int64(m->insert, i, row->kind);
	case NUMBER:
		return sqlite3_bind_int64(m->insert, i, row->number);
	case CHAIN:
		return row->chain || c->not_null ? sqlite3_bind_int64(m->insert, i, row->chain)
						 : sqlite3_bind_null(m->insert, i);
	default:
		return SQLITE_OK; /* NULL, as it is from the beginning */
	}
}

int nr_tables_add(struct nr_tables *t, enum nr_table_id id, const struct nr_row *row)
{
	struct made *m = &t->made[id];
	int rc = SQLITE_OK;

	if (!nr_tables_has(t, id))
		return 0;
	if (!m->insert && nr_tables_make(t, id) < 0)
		return -1;
	for (unsigned i = 0; i < m->cnt && rc == SQLITE_OK; i++)
		rc = bind(m, (int)i + 1, &m->col[i], row);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(m->insert);
	if (rc == SQLITE_DONE)
		rc = sqlite3_reset(m->insert);
	m->rows++;
	return rc == SQLITE_OK ? 0 : -1;
}
