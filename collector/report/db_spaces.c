/*
 * db_spaces.c - finds the module at an address of an address space, at a time. Modules are in one list, by space and
 * address.
 */
#include "collector/report/db_spaces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/report/db_internal.h"
#include "collector/base/search.h"
#include "collector/symbols/symbols.h"

struct space {
	int64_t id, parent, pid;
	uint32_t first, cnt; /* modules */
};

struct db_spaces {
	struct db *db;
	struct symbols *symbols;
	struct db_module *module;
	uint32_t modules;
	struct space *space;
	uint32_t spaces;
};

/* ---- finding ---- */

static const struct space *find_space(const struct db_spaces *all, int64_t id)
{
	size_t low = search_first(i, 0, all->spaces, all->space[i].id < id);

	return low < all->spaces && all->space[low].id == id ? &all->space[low] : NULL;
}

/* The youngest module at that time; one that was recorded a little later is better than none. */
static const struct db_module *module_in(const struct db_spaces *all, const struct space *s,
					 uint64_t address, int64_t ns)
{
	const struct db_module *list = all->module + s->first, *best = NULL;
	size_t low = search_first(i, 0, s->cnt, list[i].start <= address);

	for (; low && list[low - 1].until > address; low--) {
		const struct db_module *m = &list[low - 1];

		if (address >= m->end)
			continue;
		if (!best || (m->since <= ns) != (best->since <= ns) ? !best || m->since <= ns
		    : m->since <= ns                                 ? m->since > best->since
								     : m->since < best->since)
			best = m;
	}
	return best;
}

const struct db_module *db_spaces_module(const struct db_spaces *all, int64_t space,
					 uint64_t address, int64_t ns)
{
	const struct space *s = find_space(all, space);
	const struct db_module *late = NULL;

	for (int depth = 0; s && depth < 64; depth++) {
		const struct db_module *found = module_in(all, s, address, ns);

		if (found && found->since <= ns)
			return found;
		if (found && (!late || found->since < late->since))
			late = found;
		s = s->parent ? find_space(all, s->parent) : NULL;
	}
	return late;
}

int64_t db_spaces_pid(const struct db_spaces *all, int64_t space)
{
	const struct space *s = find_space(all, space);

	return s ? s->pid : 0;
}

/* ---- reading ---- */

/*
 * Code in memory that is no file, as /proc/PID/maps calls it. Code that compilers at run time put
 * into a memfd has no build id.
 */
static bool has_file(const char *path, bool has_id)
{
	return (path[0] == '/' && (has_id || strncmp(path, "/memfd:", 7) != 0) &&
		strncmp(path, "/dev/", 5) != 0 && strncmp(path, "//anon", 6) != 0) ||
	       strcmp(path, "[vdso]") == 0;
}

static void read_module(struct db_spaces *all, sqlite3_stmt *stmt)
{
	struct db_module *m = &all->module[all->modules];
	uint8_t id[64];
	size_t id_len = db_unhex((const char *)sqlite3_column_text(stmt, 6), id, sizeof(id));
	uint32_t len;

	all->modules++;
	*m = (struct db_module){.number = (uint32_t)sqlite3_column_int64(stmt, 7),
				.space = sqlite3_column_int64(stmt, 0),
				.start = (uint64_t)sqlite3_column_int64(stmt, 1),
				.end = (uint64_t)sqlite3_column_int64(stmt, 2),
				.bias = (uint64_t)sqlite3_column_int64(stmt, 3),
				.since = sqlite3_column_int64(stmt, 4),
				.path_id = sqlite3_column_int64(stmt, 5)};
	m->path = db_string_text(all->db, m->path_id, &len);
	m->until = m->end;
	if (all->modules > 1 && m[-1].space == m->space && m[-1].until > m->until)
		m->until = m[-1].until;
	m->has_file = m->path && has_file(m->path, id_len > 0);
	if (m->has_file && all->symbols)
		m->symbols = symbols_module(all->symbols, m->path, id, id_len);
}

static int count(struct db_spaces *all, const char *table, int64_t *cnt)
{
	sqlite3_stmt *stmt;
	char sql[64];
	int err;

	*cnt = 0;
	if (!db_table_exists(all->db, table))
		return 0;
	snprintf(sql, sizeof(sql), "SELECT count(*) FROM main.%s", table);
	err = db_prepare(all->db, sql, &stmt);
	if (err)
		return err;
	if (sqlite3_step(stmt) == SQLITE_ROW)
		*cnt = sqlite3_column_int64(stmt, 0);
	return db_errno(sqlite3_finalize(stmt));
}

static int read_modules(struct db_spaces *all)
{
	sqlite3_stmt *stmt;
	int64_t cnt;
	int err = count(all, "SL_MODULES", &cnt);

	if (err || !cnt)
		return err;
	all->module = calloc((size_t)cnt, sizeof(*all->module));
	/* By address as the machine sees it: the highest are negative numbers here, but no program is there. */
	err = all->module ? db_prepare(all->db,
				       "SELECT space, start, end, bias, since, path, buildId, rowid"
				       " FROM main.SL_MODULES ORDER BY space, start, since",
				       &stmt)
			  : -ENOMEM;
	if (err)
		return err;
	while (sqlite3_step(stmt) == SQLITE_ROW && all->modules < cnt)
		read_module(all, stmt);
	return db_errno(sqlite3_finalize(stmt));
}

static int read_spaces(struct db_spaces *all)
{
	sqlite3_stmt *stmt;
	uint32_t at = 0;
	int64_t cnt;
	int err = count(all, "SL_SPACES", &cnt);

	if (err || !cnt)
		return err;
	all->space = calloc((size_t)cnt, sizeof(*all->space));
	err = all->space
		      ? db_prepare(all->db,
				   "SELECT id, parent, globalPid FROM main.SL_SPACES ORDER BY id",
				   &stmt)
		      : -ENOMEM;
	if (err)
		return err;
	while (sqlite3_step(stmt) == SQLITE_ROW && all->spaces < cnt) {
		struct space *s = &all->space[all->spaces++];

		*s = (struct space){.id = sqlite3_column_int64(stmt, 0),
				    .parent = sqlite3_column_int64(stmt, 1),
				    .pid = sqlite3_column_int64(stmt, 2) >> 24 & 0xffffff};
		while (at < all->modules && all->module[at].space < s->id)
			at++;
		s->first = at;
		while (at < all->modules && all->module[at].space == s->id)
			at++;
		s->cnt = at - s->first;
	}
	return db_errno(sqlite3_finalize(stmt));
}

int db_spaces_open(struct db *db, struct symbols *symbols, struct db_spaces **out)
{
	struct db_spaces *all = calloc(1, sizeof(*all));
	int err;

	*out = all;
	if (!all)
		return -ENOMEM;
	all->db = db;
	all->symbols = symbols;
	err = read_modules(all);
	return err ? err : read_spaces(all);
}

void db_spaces_close(struct db_spaces *all)
{
	if (!all)
		return;
	free(all->module);
	free(all->space);
	free(all);
}
