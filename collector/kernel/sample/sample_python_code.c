/* sample_python_code.c - reads code objects from the process's memory and keeps them by address. */
#include "collector/kernel/sample/sample_python_code.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "collector/kernel/bpf/pysample.h"
#include "collector/kernel/sample/sample_sink.h"
#include "collector/report/db_ids.h"
#include "preload/unwind/pytext.h"

#define SLOTS_FIRST 256u
#define OBJECT_MOST 512u
#define TEXT_CHARS  1023
#define CODES_MOST  262144u /* then it begins anew: a program that goes on making code */
#define LINES_MOST  (4u << 20)

bool pycode_read(uint32_t pid, uint64_t address, void *to, size_t bytes)
{
	struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)address, bytes};

	return process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

/* A process's memory: the part copied in time, and the rest as it is now. */
struct memory {
	const struct pycode_from *from;
	struct piece {
		uint64_t address;
		const uint8_t *bytes;
		size_t len;
	} piece[4];
};

static bool read_from(const struct memory *m, uint64_t address, void *to, size_t bytes)
{
	for (unsigned i = 0; i < sizeof(m->piece) / sizeof(m->piece[0]); i++) {
		const struct piece *p = &m->piece[i];
		uint64_t at = address - p->address;

		if (at < p->len && bytes <= p->len - at) {
			memcpy(to, p->bytes + at, bytes);
			return true;
		}
	}
	return pycode_read(m->from->pid, address, to, bytes);
}

static uint64_t word_in(const uint8_t *object, uint32_t offset)
{
	uint64_t word;

	memcpy(&word, object + offset, sizeof(word));
	return word;
}

/* A str; NULL: it cannot be read, or is none. */
static char *read_text(const struct memory *m, uint64_t address)
{
	const struct sl_pylayout *at = &m->from->at;
	uint8_t object[OBJECT_MOST];
	uint32_t state, kind;
	uint64_t data, len;
	char *text, *end;
	uint8_t *chars;

	if (!address || at->text_compact + sizeof(data) > sizeof(object) ||
	    !read_from(m, address, object, at->text_ascii))
		return NULL;
	memcpy(&state, object + at->text_state, sizeof(state));
	state = sl_pytext_state(state);
	kind = state & 7;
	len = word_in(object, at->text_length);
	if (kind != 1 && kind != 2 && kind != 4)
		return NULL;
	data = address + (state & SL_PYTEXT_ASCII ? at->text_ascii : at->text_compact);
	if (!(state & SL_PYTEXT_COMPACT) &&
	    !read_from(m, address + at->text_compact, &data, sizeof(data)))
		return NULL;
	if (len > TEXT_CHARS)
		len = TEXT_CHARS;
	chars = malloc((len + 1) * kind);
	text = end = malloc(len * 4 + 1);
	if (!chars || !text || (len && !read_from(m, data, chars, len * kind))) {
		free(chars);
		free(text);
		return NULL;
	}
	for (uint64_t i = 0; i < len; i++)
		end = sl_pytext_put(end, sl_pytext_at((const char *)chars, kind, i));
	*end = 0;
	free(chars);
	return text;
}

char *pycode_text(const struct pycode_from *from, uint64_t address)
{
	const struct memory m = {.from = from};

	return read_text(&m, address);
}

static void read_lines(const struct memory *m, uint64_t address, struct pycode *c)
{
	const struct sl_pylayout *at = &m->from->at;
	uint64_t len;

	if (!read_from(m, address + at->bytes_size, &len, sizeof(len)) || !len || len > LINES_MOST)
		return;
	c->lines = malloc(len);
	if (c->lines && read_from(m, address + at->bytes, c->lines, len))
		c->lines_len = (uint32_t)len;
}

static bool is_code_type(const struct pycode_from *from, uint64_t type)
{
	/* Behind the head of an object with a size. */
	const uint64_t name_at = from->at.text_length + sizeof(uint64_t);
	char name[] = "....";
	uint64_t text;

	if (from->code_type)
		return type == from->code_type;
	return pycode_read(from->pid, type + name_at, &text, sizeof(text)) &&
	       pycode_read(from->pid, text, name, sizeof(name)) &&
	       memcmp(name, "code", sizeof(name)) == 0;
}

size_t pycode_size(const struct sl_pylayout *at)
{
	size_t most = at->first_line;

	most = at->line_table > most ? at->line_table : most;
	most = at->name > most ? at->name : most;
	most = at->file > most ? at->file : most;
	most = at->qualified_name > most ? at->qualified_name : most;
	return most + sizeof(uint64_t);
}

static uint64_t check_of(const struct sl_pylayout *at, const uint8_t *object)
{
	uint32_t first_line;

	memcpy(&first_line, object + at->first_line, sizeof(first_line));
	return pysample_check(word_in(object, at->name), word_in(object, at->line_table),
			      word_in(object, at->file), first_line);
}

/*
 * The memory may hold another code object by now, or none: then the frame has a line without a name. An address that
 * never held a code object has no number.
 */
static void read_code(struct pycode *c, const struct memory *m, uint32_t *serial)
{
	const struct sl_pylayout *at = &m->from->at;
	uint8_t object[OBJECT_MOST];
	size_t size = pycode_size(at);
	uint64_t name, file, table;

	c->number = ++*serial;
	if (size > sizeof(object) || !read_from(m, c->address, object, size))
		return;
	name = word_in(object, at->name);
	file = word_in(object, at->file);
	table = word_in(object, at->line_table);
	if (check_of(at, object) != c->check)
		return;
	if (!is_code_type(m->from, word_in(object, at->type))) {
		c->number = 0;
		return;
	}
	c->is_hidden = at->owner && name == file;
	memcpy(&c->first_line, object + at->first_line, sizeof(c->first_line));
	c->name = read_text(m, at->qualified_name ? word_in(object, at->qualified_name) : name);
	c->file = read_text(m, file);
	read_lines(m, table, c);
}

static struct pycode *slot_of(const struct pycodes *cs, uint64_t address, uint64_t check)
{
	uint64_t hash = (address ^ check << 7) * UINT64_C(0x9e3779b97f4a7c15);
	size_t i = hash >> 32 & (cs->slots - 1);

	while (cs->slot[i].address &&
	       (cs->slot[i].address != address || cs->slot[i].check != check))
		i = (i + 1) & (cs->slots - 1);
	return &cs->slot[i];
}

static bool grow(struct pycodes *cs)
{
	struct pycodes grown = {.slots = cs->slots ? cs->slots * 2 : SLOTS_FIRST, .cnt = cs->cnt};

	grown.slot = calloc(grown.slots, sizeof(*grown.slot));
	if (!grown.slot)
		return false;
	for (size_t i = 0; i < cs->slots; i++)
		if (cs->slot[i].address)
			*slot_of(&grown, cs->slot[i].address, cs->slot[i].check) = cs->slot[i];
	free(cs->slot);
	*cs = grown;
	return true;
}

/* NULL: no memory. */
static struct pycode *room_for(struct pycodes *cs, uint64_t address, uint64_t check)
{
	if (cs->cnt == CODES_MOST)
		pycodes_release(cs);
	if (cs->cnt * 4 >= cs->slots * 3 && !grow(cs))
		return NULL;
	return slot_of(cs, address, check);
}

static const struct pycode *get(struct pycodes *cs, const struct memory *m, uint64_t address,
				uint64_t check, uint32_t *serial)
{
	struct pycode *c = room_for(cs, address, check);

	if (!c || c->address)
		return c;
	cs->cnt++;
	c->address = address;
	c->check = check;
	read_code(c, m, serial);
	return c;
}

/* The code object at that address now, or when it was last read. */
static uint64_t present_check(struct pycodes *cs, const struct memory *m, uint64_t address)
{
	struct pycode *c = room_for(cs, address, 0);
	uint8_t object[OBJECT_MOST];
	size_t size = pycode_size(&m->from->at);

	if (!c)
		return 0;
	if (!c->address) {
		cs->cnt++;
		c->address = address;
	}
	if (size <= sizeof(object) && read_from(m, address, object, size))
		c->present = check_of(&m->from->at, object);
	return c->present;
}

const struct pycode *pycode_get(struct pycodes *cs, const struct pycode_from *from,
				uint64_t address, uint64_t check, uint32_t *serial)
{
	const struct memory m = {.from = from};
	static const struct pycode none;

	if (!address)
		return &none;
	if (!check)
		check = present_check(cs, &m, address);
	/* 1 is no check of any: it never could be read. */
	return get(cs, &m, address, check ? check : 1, serial);
}

void pycode_copied(struct pycodes *cs, const struct pycode_from *from,
		   const struct pysample_code *copy, size_t size, uint32_t *serial)
{
	const struct memory m = {
		.from = from,
		.piece = {{copy->code, copy->object_bytes, copy->object_len},
			  {copy->name, copy->name_bytes, copy->name_len},
			  {copy->file, copy->file_bytes, copy->file_len},
			  {copy->lines, copy->lines_bytes, copy->lines_len}},
	};

	if (size < offsetof(struct pysample_code, lines_bytes) + copy->lines_len)
		return;
	get(cs, &m, copy->code, copy->check, serial);
}

void pycode_tell(const struct pycode *c, uint32_t version, const struct sample_sink *sink)
{
	struct db_code told = {.id = STACK_ID(0, c->number),
			       .file = c->file ? c->file : "[unknown]",
			       .name = c->name ? c->name : "[unknown]",
			       .first_line = (int)c->first_line,
			       .version = (int)version,
			       .lines = c->lines,
			       .lines_len = c->lines_len};

	sink->ops->code(sink->to, &told);
}

void pycodes_release(struct pycodes *cs)
{
	for (size_t i = 0; i < cs->slots; i++) {
		free(cs->slot[i].file);
		free(cs->slot[i].name);
		free(cs->slot[i].lines);
	}
	free(cs->slot);
	memset(cs, 0, sizeof(*cs));
}
