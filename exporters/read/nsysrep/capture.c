/* capture.c - settings of the recording as rows of META_DATA_CAPTURE. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/read/nsysrep/target.h"

#define OPTIONS_MAX   ((size_t)4 << 20)
#define PROCESSES_MAX 1000u

enum message {
#define MESSAGE(name, parent, field) name,
#define KNOWN(...)
#define OPTION(...)
#define WORD(...)
#include "exporters/read/nsysrep/capture.def"
#undef MESSAGE
#undef KNOWN
#undef OPTION
#undef WORD
	MESSAGE_CNT
};

enum kind {
	ALWAYS,
	TEXT,
	TEXTS,     /* a row each, with its number at the end of the name */
	VARIABLES, /* names and values of the environment */
	NUMBER,
	BOOL,
	EVENT_TYPE, /* words: the first of them */
	START,
	STOP,
	DEVICE,
	ATTACH,
	GRAPH,
	SCOPE,
	TRIGGER,
};

static const struct {
	enum message parent;
	uint32_t field;
} messages[] = {
#define MESSAGE(name, parent, field) {parent, field},
#define KNOWN(...)
#define OPTION(...)
#define WORD(...)
#include "exporters/read/nsysrep/capture.def"
#undef MESSAGE
#undef KNOWN
};

static const struct {
	enum message message;
	uint32_t field;
} known[] = {
#define MESSAGE(...)
#define KNOWN(message, field) {message, field},
#include "exporters/read/nsysrep/capture.def"
#undef KNOWN
#undef OPTION
};

static const struct option_row {
	const char *name;
	enum message message;
	uint32_t field;
	enum kind kind;
	const char *otherwise;
	uint32_t since, until;
} options[] = {
#define KNOWN(...)
#define OPTION(name, message, field, kind, otherwise, since, until) \
	{name, message, field, kind, otherwise, since, until},
#include "exporters/read/nsysrep/capture.def"
#undef OPTION
#undef WORD
};
#define OPTION_CNT (sizeof(options) / sizeof(options[0]))

static const struct {
	enum kind kind;
	uint64_t value;
	const char *text;
} words[] = {
#define OPTION(...)
#define WORD(kind, value, text) {kind, value, text},
#include "exporters/read/nsysrep/capture.def"
#undef WORD
#undef OPTION
#undef KNOWN
#undef MESSAGE
};

struct capture {
	struct nr_tables *tables;
	struct nr_unknown *unknown;
	unsigned release;
	sqlite3_stmt *insert;
	struct wire top;
	/* Of the messages, the first of each kind, and of PROCESS the one whose rows are being written. */
	struct wire_field message[MESSAGE_CNT];
	bool has[MESSAGE_CNT];
	bool is_whole[MESSAGE_CNT]; /* it does not break off */
	bool is_known[MESSAGE_CNT]; /* nor has it a field that is not known */
	unsigned process;           /* its number */
};

static bool is_field_known(enum message message, uint32_t field)
{
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].message == message && known[i].field == field)
			return true;
	for (unsigned i = 0; i < OPTION_CNT; i++)
		if (options[i].message == message && options[i].field == field)
			return true;
	for (unsigned i = 1; i < MESSAGE_CNT; i++)
		if (messages[i].parent == message && messages[i].field == field)
			return true;
	return false;
}

static void enter(struct capture *c, enum message message, const struct wire_field *f)
{
	struct wire in = wire_in(f);
	struct wire_field each;

	c->message[message] = *f;
	c->has[message] = f->is_bytes;
	c->is_known[message] = true;
	while (wire_next(&in, &each))
		if (!is_field_known(message, each.number)) {
			c->is_known[message] = false;
			c->unknown->settings++;
		}
	c->is_whole[message] = !in.bad;
	if (in.bad) {
		c->is_known[message] = false;
		c->unknown->damaged++;
	}
	/* The messages in it that are not repeated. */
	for (unsigned i = 1; i < MESSAGE_CNT; i++) {
		struct wire_field inner;

		if (messages[i].parent != message || i == (unsigned)PROCESS)
			continue;
		c->has[i] = false;
		if (wire_find(wire_in(f), messages[i].field, &inner) && inner.is_bytes)
			enter(c, (enum message)i, &inner);
	}
}

static int add(struct capture *c, const char *name, const char *text, size_t len)
{
	static const char insert[] = "INSERT INTO META_DATA_CAPTURE VALUES (?, ?)";
	const struct nr_value row[] = {{name, strlen(name), 0, true}, {text, len, 0, true}};

	return nr_add_values(c->tables, &c->insert, insert, row, 2);
}

static int add_word(struct capture *c, const struct option_row *o, const char *name, uint64_t value)
{
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].kind == o->kind && words[i].value == value)
			return add(c, name, words[i].text, strlen(words[i].text));
	c->unknown->settings++;
	return 0;
}

static int add_variable(struct capture *c, const char *name, const struct wire_field *f)
{
	struct wire_field key, value;
	char *text = NULL;
	int len, rc;

	wire_find(wire_in(f), 1, &key);
	wire_find(wire_in(f), 2, &value);
	len = asprintf(&text, "%.*s=\"%.*s\"", (int)key.len, (const char *)key.data, (int)value.len,
		       (const char *)value.data);
	rc = len < 0 ? -1 : add(c, name, text, (size_t)len);
	free(len < 0 ? NULL : text);
	return rc;
}

static int add_each(struct capture *c, const struct option_row *o, const char *name)
{
	struct wire in = wire_in(&c->message[o->message]);
	struct wire_field f;
	char numbered[96];
	unsigned number = 0;
	int rc = 0;

	while (rc == 0 && wire_next(&in, &f)) {
		if (f.number != o->field)
			continue;
		if (o->kind == VARIABLES && f.is_bytes) {
			rc = add_variable(c, name, &f);
		} else if (o->kind == TEXTS && f.is_bytes) {
			snprintf(numbered, sizeof(numbered), "%s_%u", name, number++);
			rc = add(c, numbered, (const char *)f.data, f.len);
		} else if (o->kind == EVENT_TYPE && !f.is_bytes) {
			rc = add_word(c, o, name, f.value);
		}
	}
	return rc;
}

static int add_option(struct capture *c, const struct option_row *o)
{
	struct wire_field f;
	char name[96], number[24];
	bool has;

	if (!c->has[o->message] || c->release < o->since || (o->until && c->release >= o->until))
		return 0;
	if (o->message == PROCESS || o->message == PROCESS_GRAPH)
		snprintf(name, sizeof(name), "PROCESS_%u:%s", c->process, o->name);
	else
		snprintf(name, sizeof(name), "%s", o->name);
	if (o->kind == ALWAYS)
		return c->is_known[o->message] ? add(c, name, o->otherwise, strlen(o->otherwise))
					       : 0;
	if (o->kind == TEXTS || o->kind == VARIABLES || o->kind == EVENT_TYPE)
		return add_each(c, o, name);
	has = wire_find(wire_in(&c->message[o->message]), o->field, &f);
	if (has && f.is_bytes != (o->kind == TEXT))
		return 0;
	if (!has)
		return o->kind >= START || !c->is_whole[o->message]
			       ? 0
			       : add(c, name, o->otherwise, strlen(o->otherwise));
	if (o->kind == TEXT)
		return add(c, name, (const char *)f.data, f.len);
	if (o->kind == BOOL)
		return add(c, name, f.value ? "true" : "false", f.value ? 4 : 5);
	if (o->kind != NUMBER)
		return add_word(c, o, name, f.value);
	snprintf(number, sizeof(number), "%" PRIu64, f.value);
	return add(c, name, number, strlen(number));
}

static bool is_of_process(const struct option_row *o)
{
	return o->message == PROCESS || o->message == PROCESS_GRAPH;
}

/* The rows from @o on that are of a process, for each of them. */
static int add_processes(struct capture *c, const struct option_row *o)
{
	struct wire in = c->top;
	struct wire_field f;
	int rc = 0;

	while (rc == 0 && c->process < PROCESSES_MAX && wire_next(&in, &f)) {
		if (f.number != messages[PROCESS].field || !f.is_bytes)
			continue;
		enter(c, PROCESS, &f);
		for (const struct option_row *each = o;
		     rc == 0 && each < options + OPTION_CNT && is_of_process(each); each++)
			rc = add_option(c, each);
		c->process++;
	}
	return rc;
}

int nr_add_options(struct nr_tables *t, struct nr_unknown *unknown, unsigned release,
		   const struct nr_bytes *bytes)
{
	struct capture c = {.tables = t, .unknown = unknown, .release = release};
	struct wire_field top = {.is_bytes = true, .data = bytes->data, .len = bytes->len};
	int rc = nr_tables_copy(t, "META_DATA_CAPTURE");

	if (bytes->len == 0)
		return rc;
	if (bytes->len > OPTIONS_MAX) {
		unknown->settings++;
		return rc;
	}
	c.top = wire_in(&top);
	enter(&c, TOP, &top);
	for (const struct option_row *o = options; rc == 0 && o < options + OPTION_CNT; o++) {
		if (!is_of_process(o))
			rc = add_option(&c, o);
		else if (!is_of_process(o - 1)) /* the first one is not */
			rc = add_processes(&c, o);
	}
	sqlite3_finalize(c.insert);
	return rc;
}
