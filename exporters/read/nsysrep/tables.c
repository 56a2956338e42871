/* tables.c - the database that is written. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/embed.h"
#include "exporters/read/nsysrep/container.h"
#include "exporters/read/nsysrep/pages.h"
#include "exporters/read/nsysrep/tables.h"

enum from {
	PAYLOAD,
	PART,
	KIND,
	NUMBER,
	CHAIN,
	NOTHING,
	NO_LIST,
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

/* A table that has been made. */
struct made {
	char *sql;            /* its CREATE TABLE; NULL: not made yet */
	sqlite3_stmt *insert; /* once SQLite has the file */
	struct page_tree tree, index;
	uint32_t root, index_root;
	unsigned order;  /* of the first rows, from 1 on */
	bool is_entered; /* in SQLite's list */
	bool has_index;  /* of chains and depths */
	int64_t rows;
	unsigned cnt;
	struct taken {
		uint8_t from, field, other;
		bool is_text, not_null;
		bool is_key; /* the rowid */
	} col[PAGES_COLUMNS];
};

struct nr_tables {
	sqlite3 *db,
		*schema; /* @schema: tables of schema.sql, in memory. @db: NULL while pages are written */
	char *path;
	struct pages pages;
	unsigned release, made_cnt;
	const char *why; /* SQLite's last error in other words; NULL: SQLite's own */
	struct made made[NR_TABLE_CNT];
};

static bool is_of_chains(const char *table)
{
	return strstr(table, "_CALLCHAINS") != NULL;
}

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
	if (t->pages.error)
		return strerror(t->pages.error);
	return t->why ? t->why : t->db ? sqlite3_errmsg(t->db) : "out of memory";
}

/* ---- opening ---- */

struct nr_tables *nr_tables_open(const char *path, unsigned release, char *why)
{
	struct nr_tables *t = calloc(1, sizeof(*t));
	int rc = SQLITE_NOMEM;

	if (t) {
		t->release = release;
		t->path = strdup(path);
		t->pages.fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		rc = t->pages.fd < 0
			     ? SQLITE_CANTOPEN
			     : sqlite3_open_v2(":memory:", &t->schema,
					       SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	}
	if (rc == SQLITE_OK && t->path)
		return t;
	snprintf(why, NR_WHY, "%s: %s", path, sqlite3_errstr(rc));
	nr_tables_drop(t);
	return NULL;
}

/* ---- from pages to SQLite ---- */

int nr_tables_enter(struct nr_tables *t, enum nr_table_id id)
{
	struct made *m = &t->made[id];
	char *sql;
	int rc;

	if (!m->sql || m->is_entered)
		return 0;
	m->is_entered = true;
	sql = sqlite3_mprintf("INSERT INTO sqlite_master VALUES ('table', %Q, %Q, %u, %Q)",
			      tables[id].name, tables[id].name, m->root, m->sql);
	rc = sql ? nr_tables_exec(t, sql) : -1;
	sqlite3_free(sql);
	if (rc < 0 || !m->has_index)
		return rc;
	sql = sqlite3_mprintf(
		"INSERT INTO sqlite_master VALUES ('index', 'sqlite_autoindex_%s_1', %Q, %u, NULL)",
		tables[id].name, tables[id].name, m->index_root);
	rc = sql ? nr_tables_exec(t, sql) : -1;
	sqlite3_free(sql);
	return rc;
}

int nr_tables_enter_all(struct nr_tables *t)
{
	int rc = 0;

	for (unsigned order = 1; order <= t->made_cnt && rc == 0; order++)
		for (unsigned i = 0; i < NR_TABLE_CNT && rc == 0; i++)
			if (t->made[i].order == order && !t->made[i].is_entered)
				rc = nr_tables_enter(t, (enum nr_table_id)i);
	if (rc == 0)
		rc = nr_tables_exec(t, "COMMIT; PRAGMA writable_schema=RESET; BEGIN");
	return rc;
}

int nr_tables_end_pages(struct nr_tables *t)
{
	static const char settings[] =
		"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-16384;"
		"PRAGMA temp_store=FILE; PRAGMA locking_mode=EXCLUSIVE; "
		"PRAGMA writable_schema=ON; BEGIN";

	for (unsigned i = 0; i < NR_TABLE_CNT; i++) {
		struct made *m = &t->made[i];

		if (!m->sql)
			continue;
		m->root = page_tree_end(&t->pages, &m->tree, false);
		if (m->has_index)
			m->index_root = page_tree_end(&t->pages, &m->index, true);
	}
	if (pages_end(&t->pages) < 0)
		return -1;
	close(t->pages.fd);
	t->pages.fd = -1;
	if (sqlite3_open_v2(t->path, &t->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK)
		return -1;
	return nr_tables_exec(t, settings);
}

void nr_tables_drop(struct nr_tables *t)
{
	if (!t)
		return;
	for (unsigned i = 0; i < NR_TABLE_CNT; i++) {
		sqlite3_finalize(t->made[i].insert);
		sqlite3_free(t->made[i].sql);
		page_tree_drop(&t->made[i].tree);
		page_tree_drop(&t->made[i].index);
	}
	if (t->pages.fd >= 0)
		close(t->pages.fd);
	free(t->pages.buffer);
	sqlite3_close(t->db);
	sqlite3_close(t->schema);
	free(t->path);
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

char *nr_section_of(const char *name)
{
	const char *at = NULL, *end;
	char head[96];

	snprintf(head, sizeof(head), "\n-- @table %s ", name);
	for (const struct embedded *e = sl_embedded; e->name && !at; e++)
		if (strcmp(e->name, "schema.sql") == 0 ||
		    strcmp(e->name, "read/nsysrep/enums.sql") == 0)
			at = strstr(e->text, head);
	end = at ? strstr(at + 1, "\n-- @table ") : NULL;
	return !at ? NULL : end ? strndup(at, (size_t)(end - at)) : strdup(at);
}

/* Brings what schema.sql has of a table into memory. A table that nsys alone has is not there. */
static void load_section(struct nr_tables *t, const char *name)
{
	char *sql = nr_section_of(is_of_chains(name) ? "OSRT_CALLCHAINS" : name);

	if (sql)
		sqlite3_exec(t->schema, sql, NULL, NULL, NULL);
	free(sql);
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

static bool add_columns(struct nr_tables *t, enum nr_table_id id, sqlite3_str *create)
{
	struct made *m = &t->made[id];
	const char *comma = "";

	for (const struct column *c = tables[id].column; c->name; c++) {
		const char *declared;

		if (!is_of(c->since, c->until, t->release))
			continue;
		declared = declaration(t, tables[id].name, c);
		if (!declared || m->cnt == PAGES_COLUMNS)
			return false;
		sqlite3_str_appendf(create, "%s\"%s\" %s", comma, c->name, declared);
		comma = ", ";
		m->col[m->cnt++] = (struct taken){
			.from = c->from,
			.field = c->field,
			.other = c->other,
			.is_text = strncmp(declared, "TEXT", 4) == 0,
			.not_null = strstr(declared, "NOT NULL") != NULL,
			.is_key = strstr(declared, "PRIMARY KEY") != NULL,
		};
	}
	return true;
}

/* The text of its CREATE TABLE, and where its columns come from. */
int nr_tables_make(struct nr_tables *t, enum nr_table_id id)
{
	struct made *m = &t->made[id];
	sqlite3_str *create;
	bool has_all;

	if (m->sql)
		return 0;
	load_section(t, tables[id].name);
	create = sqlite3_str_new(t->schema);
	sqlite3_str_appendf(create, "CREATE TABLE \"%s\" (", tables[id].name);
	has_all = add_columns(t, id, create);
	m->has_index = is_of_chains(tables[id].name);
	sqlite3_str_appendall(create, m->has_index ? ", PRIMARY KEY (id, stackDepth))" : ")");
	m->sql = sqlite3_str_finish(create);
	m->order = ++t->made_cnt;
	if (!has_all)
		t->why = "schema.sql lacks a column of tables.def";
	return m->sql && has_all ? 0 : -1;
}

/* Once SQLite has the file: the table, if no page made it, and a statement for its rows. */
static int prepare(struct nr_tables *t, enum nr_table_id id)
{
	struct made *m = &t->made[id];
	sqlite3_str *insert = sqlite3_str_new(t->db);
	char *sql;
	int rc = SQLITE_NOMEM;

	sqlite3_str_appendf(insert, "INSERT INTO \"%s\" VALUES (?", tables[id].name);
	for (unsigned i = 1; i < m->cnt; i++)
		sqlite3_str_appendall(insert, ", ?");
	sqlite3_str_appendall(insert, ")");
	sql = sqlite3_str_finish(insert);
	if (sql)
		rc = m->is_entered ? SQLITE_OK : sqlite3_exec(t->db, m->sql, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v3(t->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &m->insert,
					NULL);
	sqlite3_free(sql);
	return rc == SQLITE_OK ? 0 : -1;
}

int nr_tables_copy(struct nr_tables *t, const char *name)
{
	char *sql = nr_section_of(name);
	int rc = sql ? nr_tables_exec(t, sql) : -1;

	free(sql);
	return rc;
}

/* ---- rows ---- */

static void take_field(struct page_value *v, const struct taken *c, const struct nr_fields *f)
{
	unsigned n = !(f->has >> c->field & 1) && c->other ? c->other : c->field;

	if (!(f->has >> n & 1) || (f->is_bytes >> n & 1) != c->is_text) {
		v->type = !c->not_null ? PAGE_NULL : c->is_text ? PAGE_TEXT : PAGE_INTEGER;
		v->number = 0;
		v->text = "";
		v->len = 0;
	} else if (c->is_text) {
		v->type = PAGE_TEXT;
		v->text = f->bytes[n].data;
		v->len = f->bytes[n].len;
	} else {
		v->type = PAGE_INTEGER;
		v->number = (int64_t)f->value[n];
	}
}

static void take_value(struct page_value *v, const struct taken *c, const struct nr_row *row)
{
	v->type = PAGE_INTEGER;
	v->number = 0;
	switch (c->from) {
	case PAYLOAD:
		take_field(v, c, row->payload);
		break;
	case PART:
		take_field(v, c, row->part);
		break;
	case KIND:
		v->number = row->kind;
		break;
	case NUMBER:
		v->number = row->number;
		break;
	case CHAIN:
		v->number = row->chain;
		v->type = row->chain || c->not_null ? PAGE_INTEGER : PAGE_NULL;
		break;
	case NO_LIST:
		v->type = PAGE_TEXT;
		v->text = "[]";
		v->len = 2;
		break;
	default:
		v->type = PAGE_NULL;
	}
}

static int insert_row(struct nr_tables *t, enum nr_table_id id, const struct page_value *values,
		      unsigned cnt)
{
	struct made *m = &t->made[id];
	int rc = SQLITE_OK;

	if (!m->insert && prepare(t, id) < 0)
		return -1;
	for (unsigned i = 0; i < cnt && rc == SQLITE_OK; i++) {
		const struct page_value *v = &values[i];

		rc = v->type == PAGE_INTEGER ? sqlite3_bind_int64(m->insert, (int)i + 1, v->number)
		     : v->type == PAGE_TEXT
			     ? sqlite3_bind_text64(m->insert, (int)i + 1, v->text, v->len,
						   SQLITE_STATIC, SQLITE_UTF8)
			     : sqlite3_bind_null(m->insert, (int)i + 1);
	}
	if (rc == SQLITE_OK)
		rc = sqlite3_step(m->insert);
	if (rc == SQLITE_DONE)
		rc = sqlite3_reset(m->insert);
	return rc == SQLITE_OK ? 0 : -1;
}

int nr_tables_add(struct nr_tables *t, enum nr_table_id id, const struct nr_row *row)
{
	struct page_value values[PAGES_COLUMNS];
	struct made *m = &t->made[id];
	int64_t rowid = m->rows + 1;
	unsigned cnt;

	if (!nr_tables_has(t, id))
		return 0;
	if (!m->sql && nr_tables_make(t, id) < 0)
		return -1;
	m->rows++;
	cnt = m->cnt;
	for (unsigned i = 0; i < cnt; i++) {
		take_value(&values[i], &m->col[i], row);
		if (m->col[i].is_key && !t->db) {
			rowid = values[i].number;
			values[i].type = PAGE_NULL;
		}
	}
	if (t->db)
		return insert_row(t, id, values, cnt);
	page_row(&t->pages, &m->tree, rowid, values, cnt);
	if (m->has_index)
		page_entry(&t->pages, &m->index, row->chain, row->number, rowid);
	return t->pages.error ? -1 : 0;
}
