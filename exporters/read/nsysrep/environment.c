/* environment.c - settings of the traced machine, of which some are messages that become JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/json.h"
#include "exporters/read/nsysrep/target.h"

#define DEPTH_MAX 8
#define TARGET    1u /* field of the message about the target */
#define DEVICE    1u /* its fields */
#define SETTINGS  2u
#define VM        3u
#define NIC_INFO  910u

enum message {
	TEXT,
	LINES,
	EMPTY,
	EVENT_LIB,
	FTRACE,
	FTRACE_EVENT,
	GPU_IDS,
	GPUS,
	GPU,
	NICS,
	NIC,
	PERF,
	PERF_PERIOD,
	PERF_CORE,
	PERF_OS,
	PERF_EVENT,
	PERF_ASO,
	PLUGINS,
	PLUGIN,
};

enum type {
	STRING,
	INTEGER,
	INTEGERS,
	LONG, /* in JSON a text */
	BOOL,
	TRIGGER, /* words */
	COMPONENT,
	MESSAGE,
	MESSAGES,
};

static const struct setting {
	uint32_t number;
	const char *name;
	enum message kind;
	uint32_t since, until;
} settings[] = {
#define SETTING(number, name, kind, since, until) {number, #name, kind, since, until},
#define MEMBER(...)
#include "exporters/read/nsysrep/environment.def"
#undef SETTING
#undef MEMBER
};

static const struct member {
	enum message of;
	uint32_t field;
	const char *name;
	enum type type;
	enum message inner;
} members[] = {
#define SETTING(...)
#define MEMBER(message, field, name, type, inner) {message, field, #name, type, inner},
#include "exporters/read/nsysrep/environment.def"
#undef SETTING
#undef MEMBER
};
#define MEMBER_CNT (sizeof(members) / sizeof(members[0]))

int nr_add_values(struct nr_tables *t, sqlite3_stmt **stmt, const char *insert,
		  const struct nr_value *value, unsigned cnt)
{
	int rc = SQLITE_OK;

	if (!*stmt)
		rc = sqlite3_prepare_v2(nr_tables_db(t), insert, -1, stmt, NULL);
	for (unsigned i = 0; i < cnt && rc == SQLITE_OK; i++)
		rc = value[i].is_text
			     ? sqlite3_bind_text64(*stmt, (int)i + 1, value[i].text, value[i].len,
						   SQLITE_STATIC, SQLITE_UTF8)
			     : sqlite3_bind_int64(*stmt, (int)i + 1, value[i].number);
	if (rc == SQLITE_OK && (rc = sqlite3_step(*stmt)) == SQLITE_DONE)
		rc = sqlite3_reset(*stmt);
	return rc == SQLITE_OK ? 0 : -1;
}

/* ---- JSON ---- */

static const struct member *member_of(enum message of, uint32_t field)
{
	for (unsigned i = 0; i < MEMBER_CNT; i++)
		if (members[i].of == of && members[i].field == field)
			return &members[i];
	return NULL;
}

static bool write_message(struct writer *w, const char *key, enum message of, struct wire in,
			  unsigned depth);

static bool write_word(struct writer *w, const struct member *m, uint64_t value)
{
	const char *word = NULL;

	if (m->type == TRIGGER)
		word = value == 1 ? "Hardware" : value == 2 ? "Software" : NULL;
	else if (value == 2)
		word = "OS";
	if (word)
		json_text(w, m->name, word);
	return word != NULL;
}

static bool write_member(struct writer *w, const struct member *m, const char *key,
			 const struct wire_field *f, unsigned depth)
{
	bool is_bytes = m->type == STRING || m->type == MESSAGE || m->type == MESSAGES;

	if (f->is_bytes != is_bytes)
		return false;
	switch (m->type) {
	case STRING:
		json_bytes(w, key, (const char *)f->data, f->len);
		return true;
	case INTEGER:
	case INTEGERS:
		json_format(w, key, "%" PRIu32, (uint32_t)f->value);
		return true;
	case LONG:
		json_format(w, key, "\"%" PRIu64 "\"", f->value);
		return true;
	case BOOL:
		json_bool(w, key, f->value != 0);
		return true;
	case MESSAGE:
	case MESSAGES:
		return write_message(w, key, m->inner, wire_in(f), depth + 1);
	default:
		return write_word(w, m, f->value);
	}
}

/* The fields of a message stand in the order of their numbers. */
static bool write_message(struct writer *w, const char *key, enum message of, struct wire in,
			  unsigned depth)
{
	struct wire_field f;
	struct wire all = in;
	bool is_known = depth <= DEPTH_MAX;

	while (wire_next(&all, &f))
		is_known &= member_of(of, f.number) != NULL;
	if (all.bad || !is_known)
		return false;
	json_open(w, key, '{');
	for (unsigned i = 0; i < MEMBER_CNT && is_known; i++) {
		const struct member *m = &members[i];
		bool is_list = m->type == MESSAGES || m->type == INTEGERS, is_open = false;

		if (m->of != of || (!is_list && !wire_find(in, m->field, &f)))
			continue;
		if (!is_list) {
			is_known = write_member(w, m, m->name, &f, depth);
			continue;
		}
		for (struct wire each = in; wire_next(&each, &f) && is_known;) {
			if (f.number != m->field)
				continue;
			if (!is_open)
				json_open(w, m->name, '[');
			is_open = true;
			is_known = write_member(w, m, NULL, &f, depth);
		}
		if (is_open)
			json_close(w, ']');
	}
	json_close(w, '}');
	return is_known;
}

/* \u000a as \n, the shorter way to write it. @len bytes at @text, changed in place: their number. */
static size_t shorten(char *text, size_t len)
{
	static const char *const codes[] = {"u000a", "u0009", "u000d"};
	static const char letters[] = "ntr";
	size_t to = 0;

	for (size_t at = 0; at < len; at++) {
		unsigned i;

		text[to++] = text[at];
		if (text[at] != '\\' || at + 1 >= len)
			continue;
		for (i = 0; i < 3; i++)
			if (len - at > 5 && memcmp(text + at + 1, codes[i], 5) == 0)
				break;
		text[to++] = i < 3 ? letters[i] : text[at + 1];
		at += i < 3 ? 5 : 1;
	}
	return to;
}

/* ---- rows ---- */

struct environment {
	struct nr_tables *tables;
	struct nr_unknown *unknown;
	unsigned release;
	struct wire_field device;
	int64_t vm;
	sqlite3_stmt *insert, *insert_nic;
};

static const struct setting *setting_of(uint32_t number, unsigned release)
{
	for (unsigned i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (settings[i].number == number && release >= settings[i].since &&
		    (settings[i].until == 0 || release < settings[i].until))
			return &settings[i];
	return NULL;
}

static int add_nics(struct environment *e, struct wire in)
{
	static const char insert[] =
		"INSERT INTO TARGET_INFO_NIC_INFO VALUES (?, ?, ?, ?, ?, ?, ?)";
	static const char create[] =
		"CREATE TABLE IF NOT EXISTS TARGET_INFO_NIC_INFO (GUID INTEGER NOT NULL, "
		"stateName TEXT NOT NULL, nicId INTEGER NOT NULL, name TEXT NOT NULL, "
		"deviceId INTEGER NOT NULL, vendorId INTEGER NOT NULL, linkLayer INTEGER NOT NULL)";
	struct wire_field nic;
	struct nr_fields f;
	int rc = 0;

	while (rc == 0 && wire_next(&in, &nic)) {
		if (nic.number != 1 || !nic.is_bytes)
			continue;
		nr_fields_read(&f, wire_in(&nic));
		for (unsigned i = 1; i <= 6; i++)
			if (!(f.has >> i & 1))
				f.value[i] = 0;
		struct nr_value row[] = {
			{.number = (int64_t)f.value[6]},
			{(const char *)e->device.data, e->device.len, 0, true},
			{.number = (int64_t)f.value[1]},
			{f.is_bytes & 4 ? (const char *)f.bytes[2].data : "",
			 f.is_bytes & 4 ? f.bytes[2].len : 0, 0, true},
			{.number = (int64_t)f.value[3]},
			{.number = (int64_t)f.value[4]},
			{.number = (int64_t)f.value[5]},
		};
		rc = nr_tables_exec(e->tables, create);
		if (rc == 0)
			rc = nr_add_values(e->tables, &e->insert_nic, insert, row, 7);
	}
	return rc;
}

static int add_row(struct environment *e, const struct setting *s, const char *text, size_t len)
{
	static const char insert[] = "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (?, ?, ?, ?, ?)";
	const struct nr_value row[] = {
		{.number = e->vm},
		{(const char *)e->device.data, e->device.len, 0, true},
		{s->name, strlen(s->name), 0, true},
		{.number = s->number},
		{text, len, 0, true},
	};

	if (!e->insert && nr_tables_copy(e->tables, "TARGET_INFO_SYSTEM_ENV") < 0)
		return -1;
	return nr_add_values(e->tables, &e->insert, insert, row, 5);
}

static int add_setting(struct environment *e, struct wire in)
{
	struct wire_field number, value;
	const struct setting *s;
	struct writer w = {0};
	char *lines;
	int rc = 0;

	if (!wire_find(in, 1, &number) || number.is_bytes)
		return 0;
	s = setting_of((uint32_t)number.value, e->release);
	if (!s || !wire_find(in, 2, &value) || !value.is_bytes) {
		e->unknown->settings += !s;
		return 0;
	}
	if (s->kind == TEXT)
		return add_row(e, s, (const char *)value.data, value.len);
	if (s->kind == LINES) {
		lines = malloc(value.len + 1);
		if (!lines)
			return -1;
		for (size_t i = 0; i < value.len; i++)
			lines[i] = value.data[i] ? (char)value.data[i] : ';';
		rc = add_row(e, s, lines, value.len);
		free(lines);
		return rc;
	}
	if (write_message(&w, NULL, s->kind, wire_in(&value), 0) && !w.failed)
		rc = add_row(e, s, w.data, shorten(w.data, w.len));
	else
		e->unknown->settings++;
	if (rc == 0 && s->number == NIC_INFO)
		rc = add_nics(e, wire_in(&value));
	writer_free(&w);
	return rc;
}

int nr_add_environment(struct nr_tables *t, struct nr_unknown *unknown, unsigned release,
		       const struct nr_bytes *target)
{
	struct environment e = {.tables = t, .unknown = unknown, .release = release};
	struct wire_field device, settings_of, each, f;
	struct wire all = wire_of(target->data, target->len);
	int rc = 0;

	while (rc == 0 && wire_next(&all, &device)) {
		struct wire in = wire_in(&device);

		if (device.number != TARGET || !device.is_bytes)
			continue;
		wire_find(in, DEVICE, &e.device);
		wire_find(in, VM, &f);
		e.vm = (int64_t)f.value;
		while (rc == 0 && wire_next(&in, &settings_of)) {
			struct wire list = wire_in(&settings_of);

			if (settings_of.number != SETTINGS || !settings_of.is_bytes)
				continue;
			while (rc == 0 && wire_next(&list, &each))
				if (each.number == 1 && each.is_bytes)
					rc = add_setting(&e, wire_in(&each));
		}
	}
	sqlite3_finalize(e.insert);
	sqlite3_finalize(e.insert_nic);
	return rc;
}
