/* convert.c - a report as a database: its parts in the order of the file. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/plain_file.h"
#include "exporters/read/nsysrep/nsysrep.h"
#include "exporters/read/nsysrep/target.h"

_Static_assert(NSYSREP_WHY == NR_WHY, "one length of sentences");

#define OLDEST_SHAPE 202303 /* files of earlier releases take the shape of 2023.3 */

struct convert {
	struct nr_file file;
	struct nr_contents contents;
	struct nr_tables *tables;
	struct nr_events *events;
	struct nr_unknown unknown;
	struct nr_fields text; /* a string is in field 1 */
	unsigned release;      /* whose shape the database has */
	uint64_t event_cnt, string_cnt, thread_cnt;
	const struct nsysrep_progress *progress;
	char *why;
};

bool nsysrep_is(const char *path)
{
	struct stat st;
	int fd = plain_file_open(path, true, &st);
	bool is = fd >= 0 && nr_is_report(fd);

	if (fd >= 0)
		close(fd);
	return is;
}

size_t nsysrep_stem(const char *path)
{
	static const char *const endings[] = {".nsys-rep", ".qdrep"};
	size_t len = strlen(path);

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t end = strlen(endings[i]);

		if (len > end && strcmp(path + len - end, endings[i]) == 0)
			return len - end;
	}
	return 0;
}

void nsysrep_say_foreign(int fd, const char *path, char *why)
{
	const char *kind = nr_kind(fd);

	if (nsysrep_stem(path)) {
		nr_say_foreign(fd, path, why);
		return;
	}
	snprintf(why, NSYSREP_WHY, "%s is not an SQLite database%s%s", path, kind ? ": it is " : "",
		 kind ? kind : "");
}

static int fail(struct convert *c)
{
	snprintf(c->why, NR_WHY, "cannot write the database of %s: %s", c->file.path,
		 nr_tables_why(c->tables));
	return -1;
}

/* ---- records ---- */

static int add_string(struct convert *c, const struct wire_field *f)
{
	c->text.bytes[1].data = f->data;
	c->text.bytes[1].len = f->len;
	return nr_tables_add(c->tables, NR_StringIds,
			     &(struct nr_row){.payload = &c->text,
					      .part = &c->text,
					      .number = (int64_t)c->string_cnt++}) < 0
		       ? fail(c)
		       : 0;
}

static int add_stream(struct convert *c, const struct wire_field *f)
{
	struct nr_fields fields;
	struct nr_row row = {.payload = &fields, .part = &fields};

	if (!nr_fields_read(&fields, wire_in(f)))
		c->unknown.damaged++;
	return nr_tables_add(c->tables, NR_ProcessStreams, &row) < 0 ? fail(c) : 0;
}

/* A record holds an event, as long as the header counts some, or a string; or the output of a process. */
static int add_record(struct convert *c, struct wire w)
{
	struct wire_field f;
	int rc = 0;

	while (rc == 0 && wire_next(&w, &f)) {
		if (!f.is_bytes)
			c->unknown.fields++;
		else if (f.number == 1 && c->event_cnt < c->contents.header.events) {
			c->event_cnt++;
			if (nr_events_add(c->events, f.data, f.len) < 0)
				rc = fail(c);
		} else if (f.number == 1) {
			rc = add_string(c, &f);
		} else if (f.number == 2) {
			rc = add_stream(c, &f);
		} else {
			c->unknown.fields++;
		}
	}
	c->unknown.damaged += w.bad;
	return rc;
}

static int add_block(struct convert *c, size_t len)
{
	struct wire w = wire_of(c->contents.block.data, len);
	int rc = 0;

	while (rc == 0 && w.p < w.end) {
		uint64_t size = wire_varint(&w);

		if (w.bad || size > (uint64_t)(w.end - w.p)) {
			snprintf(c->why, NR_WHY,
				 "%s is damaged: a record in it is longer than its block",
				 c->file.path);
			return -1;
		}
		rc = add_record(c, wire_of(w.p, (size_t)size));
		w.p += size;
	}
	return rc;
}

static bool has_all(const struct convert *c)
{
	return c->event_cnt >= c->contents.header.events &&
	       c->string_cnt >= c->contents.header.strings;
}

static int show_progress(struct convert *c)
{
	if (c->progress && c->progress->step &&
	    c->progress->step(c->progress->ctx, c->contents.at, c->file.size) != 0) {
		snprintf(c->why, NR_WHY, "%s: stopped", c->file.path);
		return -1;
	}
	return 0;
}

static int read_blocks(struct convert *c)
{
	while (c->contents.at < c->contents.end &&
	       !(has_all(c) && nr_contents_is_tail(&c->contents))) {
		int64_t len = nr_contents_block(&c->contents, c->why);

		if (len < 0 || add_block(c, (size_t)len) < 0 || show_progress(c) < 0)
			return -1;
	}
	if (c->event_cnt == c->contents.header.events &&
	    c->string_cnt == c->contents.header.strings)
		return 0;
	snprintf(c->why, NR_WHY,
		 "%s is damaged: it has %" PRIu64 " events and %" PRIu64
		 " strings, but its header counts %" PRIu64 " and %" PRIu64,
		 c->file.path, c->event_cnt, c->string_cnt, c->contents.header.events,
		 c->contents.header.strings);
	return -1;
}

static int read_tail(struct convert *c)
{
	struct nr_bytes bytes;
	int rc = nr_contents_message(&c->contents, &bytes, c->why);

	if (rc > 0 && nr_add_threads(c->tables, &bytes, &c->thread_cnt) < 0)
		rc = fail(c);
	free(bytes.data);
	if (rc >= 0 && c->thread_cnt != c->contents.header.threads) {
		snprintf(c->why, NR_WHY,
			 "%s is damaged: it has the names of %" PRIu64
			 " threads, but its header counts %" PRIu64,
			 c->file.path, c->thread_cnt, c->contents.header.threads);
		return -1;
	}
	if (rc <= 0)
		return rc;
	rc = nr_contents_message(&c->contents, &bytes, c->why);
	if (rc > 0 && nr_add_gpus(c->tables, &bytes) < 0)
		rc = fail(c);
	free(bytes.data);
	while (rc > 0 && (rc = nr_contents_message(&c->contents, &bytes, c->why)) > 0) {
		c->unknown.messages++;
		free(bytes.data);
	}
	return rc < 0 ? -1 : 0;
}

/* ---- tables that come from no record ---- */

static const struct {
	const char *name;
	unsigned since, until;
} enums[] = {
#define ENUM(name, since, until) {#name, since, until},
#define UNTIL(...)
#define SINCE(...)
#include "exporters/read/nsysrep/enums.def"
#undef ENUM
#undef UNTIL
#undef SINCE
};

static const struct {
	const char *table;
	int number;
	unsigned release;
	const char *name, *label; /* NULL: SINCE */
} variants[] = {
#define ENUM(...)
#define UNTIL(table, number, release, name, label) {#table, number, release, name, label},
#define SINCE(table, number, release)              {#table, number, release, NULL, NULL},
#include "exporters/read/nsysrep/enums.def"
#undef ENUM
#undef UNTIL
#undef SINCE
};

static int add_variant(struct convert *c, size_t i)
{
	char *sql = NULL;
	int rc = 0;

	if (c->release >= variants[i].release)
		return 0;
	sql = variants[i].name
		      ? sqlite3_mprintf("REPLACE INTO %s VALUES (%d, %Q, %Q)", variants[i].table,
					variants[i].number, variants[i].name, variants[i].label)
		      : sqlite3_mprintf("DELETE FROM %s WHERE id = %d", variants[i].table,
					variants[i].number);
	rc = sql ? nr_tables_exec(c->tables, sql) : -1;
	sqlite3_free(sql);
	return rc;
}

static int add_enums(struct convert *c)
{
	int rc = 0;

	for (size_t i = 0; i < sizeof(enums) / sizeof(enums[0]) && rc == 0; i++) {
		if (c->release < enums[i].since || (enums[i].until && c->release >= enums[i].until))
			continue;
		rc = nr_tables_copy(c->tables, enums[i].name);
		for (size_t k = 0; k < sizeof(variants) / sizeof(variants[0]) && rc == 0; k++)
			if (strcmp(variants[k].table, enums[i].name) == 0)
				rc = add_variant(c, k);
	}
	return rc < 0 ? fail(c) : 0;
}

/* Since 2025.5, each call of open() is a file, of no name where nsys did not trace files; where it did, arguments are known. */
static int add_files(struct convert *c)
{
	static const char files[] = "CREATE TEMP TABLE opened AS SELECT globalTid, start, end, "
				    "nameId FROM OSRT_API WHERE "
				    "nameId = (SELECT id FROM StringIds WHERE value = 'open') AND "
				    "eventClass = 27 ORDER BY "
				    "rowid;"
				    "INSERT INTO OSRT_FILE_ACCESS_EVENTS SELECT rowid - 1, "
				    "globalTid & 0xffffff, start, end, "
				    "1, nameId, 0%s FROM opened;"
				    "INSERT INTO OSRT_FILE_ACCESS_DESCRIPTORS SELECT rowid - 1, "
				    "globalTid >> 24 & 0xffffff, "
				    "start, 0, 'Unknown file #' || (rowid - 1) FROM opened";
	sqlite3_stmt *stmt = NULL;
	bool any;
	char *sql;
	int rc = 0;

	if (c->release < 202505 || !nr_tables_rows(c->tables, NR_OSRT_API))
		return 0;
	rc = sqlite3_prepare_v2(nr_tables_db(c->tables),
				"SELECT 1 FROM OSRT_API WHERE nameId = (SELECT id FROM StringIds "
				"WHERE value = 'open') "
				"AND eventClass = 27 AND NOT EXISTS (SELECT 1 FROM OSRT_API WHERE "
				"argumentsId <> 0)",
				-1, &stmt, NULL);
	any = rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW;
	sqlite3_finalize(stmt);
	if (rc != SQLITE_OK)
		return fail(c);
	if (!any)
		return 0;
	sql = sqlite3_mprintf(files, c->release >= 202601 ? ", ''" : "");
	rc = nr_tables_copy(c->tables, "OSRT_FILE_ACCESS_EVENTS");
	if (rc == 0 && c->release < 202601)
		rc = nr_tables_exec(c->tables,
				    "ALTER TABLE OSRT_FILE_ACCESS_EVENTS DROP COLUMN context");
	if (rc == 0)
		rc = nr_tables_copy(c->tables, "OSRT_FILE_ACCESS_DESCRIPTORS");
	if (rc == 0)
		rc = sql ? nr_tables_exec(c->tables, sql) : -1;
	sqlite3_free(sql);
	return rc < 0 ? fail(c) : 0;
}

/*
 * SQLite takes over. Its list begins with strings and outputs of processes, which stand in two tables; events come behind the machine
 * and the session.
 */
static int enter_tables(struct convert *c)
{
	static const char before[] = "CREATE TABLE ANALYSIS_FILE (id INTEGER NOT NULL PRIMARY KEY, "
				     "filename TEXT NOT NULL, content TEXT NOT NULL, globalPid "
				     "INTEGER NOT NULL)";
	static const char since[] = "CREATE TABLE ANALYSIS_FILE (id INTEGER NOT NULL PRIMARY KEY, "
				    "filename TEXT, contentId INTEGER, globalPid INTEGER NOT NULL)";
	bool has_files = c->release >= 202405 && nr_tables_rows(c->tables, NR_ProcessStreams);
	int rc = nr_tables_make(c->tables, NR_StringIds);

	if (rc == 0)
		rc = nr_tables_end_pages(c->tables);
	if (rc == 0)
		rc = nr_tables_enter(c->tables, NR_StringIds);
	if (rc == 0 && has_files)
		rc = nr_tables_exec(c->tables, c->release < 202406 ? before : since);
	if (rc == 0)
		rc = nr_tables_enter(c->tables, NR_ProcessStreams);
	return rc < 0 ? fail(c) : 0;
}

static int enter_events(struct convert *c)
{
	static const char before[] =
		"INSERT INTO ANALYSIS_FILE SELECT p.rowid - 1, ifnull(f.value, ''), "
		"ifnull(t.value, ''), "
		"globalPid FROM ProcessStreams AS p LEFT JOIN StringIds AS f ON f.id = filenameId "
		"LEFT JOIN StringIds AS t ON t.id = contentId";
	static const char since[] =
		"INSERT INTO ANALYSIS_FILE SELECT p.rowid - 1, f.value, contentId, globalPid "
		"FROM ProcessStreams AS p LEFT JOIN StringIds AS f ON f.id = filenameId";
	int rc = nr_tables_enter_all(c->tables);

	if (rc == 0 && c->release >= 202405 && nr_tables_rows(c->tables, NR_ProcessStreams))
		rc = nr_tables_exec(c->tables, c->release < 202406 ? before : since);
	return rc < 0 ? fail(c) : 0;
}

static const char *schema_version(unsigned release)
{
	static const struct {
		unsigned release;
		const char *version;
	} known[] = {
		{202602, "3.25.0"}, {202601, "3.24.14"}, {202505, "3.24.0"}, {202503, "3.20.3"},
		{202501, "3.17.2"}, {202406, "3.16.1"},  {202405, "3.13.2"}, {0, "3.4.0"},
	};

	for (unsigned i = 0;; i++)
		if (release >= known[i].release)
			return known[i].version;
}

static int add_export(struct convert *c)
{
	const char *version = schema_version(c->release);
	char *full = realpath(c->file.path, NULL);
	unsigned long long left_out = c->unknown.events + c->unknown.damaged;
	int parts[3] = {0}, rc = 0;
	char *sql;

	sscanf(version, "%d.%d.%d", &parts[0], &parts[1], &parts[2]);
	sql = sqlite3_mprintf(
		"INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_NAME', 'Sightline'), "
		"('EXPORT_PRODUCT_VERSION', %Q), ('EXPORT_SCHEMA_VERSION', %Q), "
		"('EXPORT_SCHEMA_VERSION_MAJOR', '%d'), ('EXPORT_SCHEMA_VERSION_MINOR', '%d'), "
		"('EXPORT_SCHEMA_VERSION_MICRO', '%d'), ('EXPORT_PARAM_EXPORT_TYPE', 'SQLite'), "
		"('EXPORT_PARAM_INPUT_PATH_ABS', %Q), ('EXPORT_PARAM_LAZY', 'true'), "
		"('SL_NSYS_VERSION', %Q), ('SL_LEFT_OUT', '%llu')",
		SL_VERSION, version, parts[0], parts[1], parts[2], full ? full : c->file.path,
		*c->file.product ? c->file.product : c->file.container, left_out);
	rc = nr_tables_copy(c->tables, "META_DATA_EXPORT");
	if (rc == 0)
		rc = sql ? nr_tables_exec(c->tables, sql) : -1;
	sqlite3_free(sql);
	free(full);
	return rc < 0 ? fail(c) : 0;
}

/* Which kinds and fields were left out, for those who want to know more of them. */
static int add_unknown(struct convert *c)
{
	const struct nr_unknown *u = &c->unknown;
	sqlite3_str *sql = sqlite3_str_new(nr_tables_db(c->tables));
	char *text;
	int rc;

	for (unsigned i = 0; i < u->kind_cnt; i++)
		sqlite3_str_appendf(sql,
				    "INSERT INTO META_DATA_EXPORT VALUES ('SL_UNKNOWN_EVENT', "
				    "'type %u, payload %u, class or part %d: %llu');",
				    u->kind[i].type, u->kind[i].payload, u->kind[i].class,
				    (unsigned long long)u->kind[i].events);
	for (unsigned i = 0; i < u->field_cnt; i++)
		sqlite3_str_appendf(sql,
				    "INSERT INTO META_DATA_EXPORT VALUES ('SL_UNKNOWN_FIELD', "
				    "'payload %u, part %u, field %u: %llu');",
				    u->field[i].payload, u->field[i].part, u->field[i].field,
				    (unsigned long long)u->field[i].cnt);
	text = sqlite3_str_finish(sql);
	rc = text ? nr_tables_exec(c->tables, text) : 0; /* no text: nothing is unknown */
	sqlite3_free(text);
	return rc < 0 ? fail(c) : 0;
}

/* ---- all of it ---- */

static int read_part(struct convert *c, const char *name, struct nr_bytes *to)
{
	const struct nr_part *part = nr_find_part(&c->file, name);

	*to = (struct nr_bytes){0};
	return part ? nr_read(&c->file, part->at, part->size, to, c->why) : 0;
}

static int read_target(struct convert *c)
{
	const struct nr_bytes *target = &c->contents.target;
	struct nr_bytes clocks;
	int rc = read_part(c, "Time Conversion Data", &clocks);

	if (rc == 0 && (nr_add_environment(c->tables, &c->unknown, c->release, target) < 0 ||
			nr_add_times(c->tables, c->release, target, &clocks) < 0))
		rc = fail(c);
	free(clocks.data);
	return rc;
}

static int read_options(struct convert *c)
{
	struct nr_bytes options;
	int rc = read_part(c, "Analysis Options Data", &options);

	if (rc == 0 && nr_add_options(c->tables, &c->unknown, c->release, &options) < 0)
		rc = fail(c);
	free(options.data);
	return rc;
}

static int begin(struct convert *c, const char *path, const char *target)
{
	if (nr_open(&c->file, path, c->why) < 0)
		return -1;
	if (nr_contents_begin(&c->contents, &c->file, c->why) < 0)
		return -1;
	c->release = c->file.release < OLDEST_SHAPE ? OLDEST_SHAPE : c->file.release;
	c->tables = nr_tables_open(target, c->release, c->why);
	c->events = c->tables ? nr_events_new(c->tables, &c->unknown) : NULL;
	if (!c->tables)
		return -1;
	c->text.has = c->text.is_bytes = 1u << 1;
	return c->events ? 0 : fail(c);
}

static void write_notes(const struct convert *c, char *notes)
{
	const struct nr_unknown *u = &c->unknown;
	const char *comma = "";
	size_t at = 0;

#define S(n) ((n) == 1 ? "" : "s")
#define NOTE(...)                                                                               \
	do {                                                                                    \
		at += (size_t)snprintf(notes + at, at < NR_WHY ? NR_WHY - at : 0, __VA_ARGS__); \
		at = at < NR_WHY ? at : NR_WHY - 1;                                             \
		comma = ", ";                                                                   \
	} while (0)
	*notes = 0;
	if (u->events)
		NOTE("%s%" PRIu64 " event%s of %u%s unknown kind%s", comma, u->events, S(u->events),
		     u->kind_cnt, u->kind_cnt == NR_UNKNOWN_MAX ? " or more" : "", S(u->kind_cnt));
	if (u->fields)
		NOTE("%s%" PRIu64 " unknown field%s of %u%s kind%s", comma, u->fields, S(u->fields),
		     u->field_cnt, u->field_cnt == NR_UNKNOWN_MAX ? " or more" : "",
		     S(u->field_cnt));
	if (u->settings)
		NOTE("%s%" PRIu64 " unknown setting%s", comma, u->settings, S(u->settings));
	if (u->messages)
		NOTE("%s%" PRIu64 " unknown message%s", comma, u->messages, S(u->messages));
	if (u->damaged)
		NOTE("%sthe rest of %" PRIu64 " damaged record%s", comma, u->damaged,
		     S(u->damaged));
	if (at)
		NOTE(" %s left out",
		     u->events + u->fields + u->settings + u->messages + u->damaged == 1 ? "was"
											 : "were");
#undef NOTE
#undef S
}

/* nsys itself may read more of a file in which bytes are wrong; of one without its end nothing. */
static void say_way_out(char *why)
{
	size_t len = strlen(why);

	if (strstr(why, " is damaged: ") && !strstr(why, "nsys export"))
		snprintf(why + len, NR_WHY - len,
			 "; whether nsys reads more of it: 'nsys export --type sqlite'");
}

int nsysrep_convert(const char *path, const char *target, const struct nsysrep_progress *progress,
		    char *notes, char *why)
{
	struct convert c = {.progress = progress, .why = why, .file.fd = -1};
	int rc = begin(&c, path, target);

	if (rc == 0)
		rc = read_blocks(&c);
	if (rc == 0)
		rc = enter_tables(&c);
	if (rc == 0)
		rc = read_target(&c);
	if (rc == 0)
		rc = enter_events(&c);
	if (rc == 0)
		rc = read_tail(&c);
	if (rc == 0)
		rc = add_enums(&c);
	if (rc == 0)
		rc = read_options(&c);
	if (rc == 0)
		rc = add_export(&c);
	if (rc == 0)
		rc = add_unknown(&c);
	if (rc == 0)
		rc = add_files(&c);
	if (rc < 0)
		say_way_out(why);
	nr_events_free(c.events);
	if (rc == 0)
		rc = nr_tables_close(c.tables, why);
	else
		nr_tables_drop(c.tables);
	if (rc == 0)
		write_notes(&c, notes);
	nr_contents_end(&c.contents);
	nr_close(&c.file);
	return rc;
}
