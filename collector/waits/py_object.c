/* py_object.c - reads objects of CPython 3.8 and later by process_vm_readv(). */
#include "collector/waits/py_object.h"

#include <stdlib.h>
#include <string.h>

#define ELEMENTS_MOST 1000000u
#define CHUNK_BYTES   65536u
#define NAME_MAX_LEN  48u
#define BASES_MOST    16u
#define DIGIT_BITS    30
/* Of PyTypeObject and PyHeapTypeObject, behind the head of an object. */
enum {
	TYPE_NAME = 8,
	TYPE_BASIC_SIZE = 16,
	TYPE_FLAGS = 152,
	TYPE_BASE = 240,
	TYPE_DICT_OFFSET = 272,
};
#define HAS_INLINE_VALUES (1u << 2)
#define HAS_MANAGED_DICT  (1u << 4)
#define KEYS_HEAD         40u /* bytes, at most */

void py_reader_init(struct py_reader *r, const struct pyfind *of)
{
	*r = (struct py_reader){.of = of, .head = of->from.at.type + 8, .left = PY_ELEMENTS};
}

bool py_read(const struct py_reader *r, uint64_t address, void *to, size_t bytes)
{
	return pycode_read(r->of->from.pid, address, to, bytes);
}

uint64_t py_load(const struct py_reader *r, uint64_t address)
{
	uint64_t value = 0;

	return address && py_read(r, address, &value, sizeof(value)) ? value : 0;
}

static uint64_t type_of(const struct py_reader *r, uint64_t object)
{
	return object ? py_load(r, object + r->of->from.at.type) : 0;
}

/* A text of C, cut. */
static void read_name(const struct py_reader *r, uint64_t at, char name[NAME_MAX_LEN])
{
	memset(name, 0, NAME_MAX_LEN);
	if (!at || py_read(r, at, name, NAME_MAX_LEN - 1))
		return;
	/* At the end of its page. */
	for (size_t i = 0; i < NAME_MAX_LEN - 1 && py_read(r, at + i, name + i, 1) && name[i]; i++)
		;
}

static enum py_kind kind_of_name(const char *name)
{
	static const struct {
		const char *name;
		enum py_kind kind;
	} names[] = {
		{"_asyncio.Task", PY_TASK},
		{"_asyncio.Future", PY_FUTURE},
		{"coroutine", PY_COROUTINE},
		{"generator", PY_COROUTINE},
		{"async_generator", PY_COROUTINE},
		{"async_generator_asend", PY_ASEND},
		{"async_generator_athrow", PY_ASEND},
		{"coroutine_wrapper", PY_WRAPPER},
		{"_asyncio.FutureIter", PY_FUTURE_ITERATOR},
		{"str", PY_TEXT},
		{"int", PY_INT},
		{"list", PY_LIST},
		{"tuple", PY_TUPLE},
		{"set", PY_SET},
		{"dict", PY_DICT},
		{"function", PY_FUNCTION},
		{"method", PY_METHOD},
		{"builtin_function_or_method", PY_BUILTIN},
		{"functools.partial", PY_PARTIAL},
		{"TaskWakeupMethWrapper", PY_WAKEUP},
		{"cell", PY_CELL},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].kind;
	return PY_OTHER;
}

/* The nearest base that is known. */
static enum py_kind kind_of_type(const struct py_reader *r, uint64_t type)
{
	enum py_kind kind = PY_OTHER;
	char name[NAME_MAX_LEN];

	for (unsigned i = 0; i < BASES_MOST && type && kind == PY_OTHER; i++) {
		read_name(r, py_load(r, type + r->head + TYPE_NAME), name);
		kind = kind_of_name(name);
		type = py_load(r, type + r->head + TYPE_BASE);
	}
	return kind;
}

enum py_kind py_kind_of(struct py_reader *r, uint64_t object)
{
	uint64_t type = type_of(r, object);
	size_t at = type / 16 % PY_TYPES;

	if (!type)
		return PY_OTHER;
	if (r->known[at].type != type) {
		r->known[at].type = type;
		r->known[at].kind = kind_of_type(r, type);
	}
	return r->known[at].kind;
}

bool py_is_named(const struct py_reader *r, uint64_t object, const char *type)
{
	uint64_t at = type_of(r, object);
	char name[NAME_MAX_LEN];

	read_name(r, at ? py_load(r, at + r->head + TYPE_NAME) : 0, name);
	return strcmp(name, type) == 0;
}

/* ---- containers ---- */

/* Calls @each for @cnt elements of @size bytes from @address on; the key is the word at @key_at of each, the value the one at @value_at. */
struct table {
	uint64_t address, cnt;
	uint32_t size, key_at, value_at;
	bool has_values; /* else the value is 0 */
	uint64_t apart;  /* where values lie by themselves; 0: they do not */
};

static void for_table(struct py_reader *r, const struct table *t, py_each *each, void *to)
{
	uint64_t most = CHUNK_BYTES / t->size, key, value;
	uint8_t *chunk = malloc(CHUNK_BYTES);
	bool goes_on = chunk != NULL;

	for (uint64_t i = 0; goes_on && i < t->cnt && i < ELEMENTS_MOST && r->left; i += most) {
		uint64_t cnt = t->cnt - i < most ? t->cnt - i : most;

		if (!py_read(r, t->address + i * t->size, chunk, cnt * t->size))
			break;
		for (uint64_t k = 0; goes_on && k < cnt && r->left; k++, r->left--) {
			memcpy(&key, chunk + k * t->size + t->key_at, sizeof(key));
			memcpy(&value, chunk + k * t->size + t->value_at, sizeof(value));
			value = t->apart        ? py_load(r, t->apart + 8 * (i + k))
				: t->has_values ? value
						: 0;
			if (key && (value || !t->has_values))
				goes_on = each(to, key, value);
		}
	}
	free(chunk);
}

/* The table of PyDictKeysObject. False: it cannot be read. */
static bool keys_of(const struct py_reader *r, uint64_t keys, struct table *t)
{
	uint8_t head[KEYS_HEAD];
	uint64_t size, cnt, index;
	bool has_hash = true;

	if (!keys || !py_read(r, keys, head, sizeof(head)))
		return false;
	if (r->of->from.at.version < 0x030b) {
		/* Counter of references, slots, function, free and used entries. */
		memcpy(&size, head + 8, sizeof(size));
		memcpy(&cnt, head + 32, sizeof(cnt));
		index = size <= 0xff ? 1 : size <= 0xffff ? 2 : size <= 0xffffffff ? 4 : 8;
		if (size > ELEMENTS_MOST * 4u)
			return false;
		index *= size;
		t->address = keys + 40 + index;
	} else {
		memcpy(&cnt, head + 24, sizeof(cnt));
		if (head[9] > 26)
			return false;
		has_hash = head[10] == 0;
		t->address = keys + 32 + (UINT64_C(1) << head[9]);
	}
	t->cnt = cnt;
	t->size = has_hash ? 24 : 16;
	t->key_at = has_hash ? 8 : 0;
	t->value_at = t->key_at + 8;
	t->has_values = true;
	return true;
}

/* Where PyDictValues has its first one. */
static uint64_t first_of_values(const struct py_reader *r, uint64_t values)
{
	return r->of->from.at.version >= 0x030d ? values + 8 : values;
}

static void for_dict(struct py_reader *r, uint64_t dict, py_each *each, void *to)
{
	uint64_t apart = py_load(r, dict + r->head + 24);
	struct table t = {0};

	if (!keys_of(r, py_load(r, dict + r->head + 16), &t))
		return;
	t.apart = apart ? first_of_values(r, apart) : 0;
	for_table(r, &t, each, to);
}

struct indexed {
	py_each *each;
	void *to;
	uint64_t at;
};

static bool each_of_row(void *to, uint64_t key, uint64_t value)
{
	struct indexed *x = to;

	(void)value;
	return x->each(x->to, x->at++, key);
}

void py_for_each(struct py_reader *r, uint64_t object, py_each *each, void *to)
{
	struct indexed x = {each, to, 0};
	struct table t = {.size = 8};

	switch (py_kind_of(r, object)) {
	case PY_DICT:
		for_dict(r, object, each, to);
		return;
	case PY_SET:
		t.size = 16;
		t.cnt = py_load(r, object + r->head + 16) + 1;
		t.address = py_load(r, object + r->head + 24);
		for_table(r, &t, each, to);
		return;
	case PY_LIST:
		t.address = py_load(r, object + r->head + 8);
		break;
	case PY_TUPLE: {
		/* Since 3.14 with a hash before the elements. */
		bool has_hash = r->of->from.at.version >= 0x030e;

		t.address = object + r->head + (has_hash ? 16 : 8);
		break;
	}
	default:
		return;
	}
	t.cnt = py_load(r, object + r->head);
	for_table(r, &t, each_of_row, &x);
}

/* ---- by name ---- */

struct wanted {
	struct py_reader *r;
	const char *name;
	uint64_t found;
};

/* A compact str of ASCII, as all names of programs are. */
static bool is_text(const struct py_reader *r, uint64_t object, const char *text)
{
	const struct sl_pylayout *at = &r->of->from.at;
	size_t len = strlen(text);
	char chars[NAME_MAX_LEN];

	return len < sizeof(chars) && py_load(r, object + at->text_length) == len &&
	       py_read(r, object + at->text_ascii, chars, len) && memcmp(chars, text, len) == 0;
}

static bool find_name(void *to, uint64_t key, uint64_t value)
{
	struct wanted *w = to;

	if (!is_text(w->r, key, w->name))
		return true;
	w->found = value;
	return false;
}

uint64_t py_get(struct py_reader *r, uint64_t dict, const char *key)
{
	struct wanted w = {r, key, 0};

	if (py_kind_of(r, dict) == PY_DICT)
		for_dict(r, dict, find_name, &w);
	return w.found;
}

static uint32_t cached_keys_at(uint32_t version)
{
	return version == 0x030b ? 872 : 880;
}

/* Values that lie apart from their names, which the type has; 0: a dict has them, *@dict. */
static uint64_t values_of(const struct py_reader *r, uint64_t object, uint64_t type, uint64_t *dict)
{
	uint64_t flags = py_load(r, type + r->head + TYPE_FLAGS), word;
	uint32_t version = r->of->from.at.version;
	uint8_t inline_head[4];

	*dict = 0;
	if (version < 0x030b) {
		int64_t offset = (int64_t)py_load(r, type + r->head + TYPE_DICT_OFFSET);

		*dict = offset > 0 ? py_load(r, object + (uint64_t)offset) : 0;
		return 0;
	}
	if (!(flags & HAS_MANAGED_DICT))
		return 0;
	*dict = py_load(r, object - 24);
	if (version == 0x030b)
		return py_load(r, object - 32);
	if (version == 0x030c) {
		word = *dict;
		return word & 1 ? word + 1 : 0;
	}
	word = object + py_load(r, type + r->head + TYPE_BASIC_SIZE);
	return flags & HAS_INLINE_VALUES && py_read(r, word, inline_head, sizeof(inline_head)) &&
			       inline_head[3]
		       ? word
		       : 0;
}

uint64_t py_attribute(struct py_reader *r, uint64_t object, const char *name)
{
	uint64_t type = type_of(r, object), dict, values;
	struct wanted w = {r, name, 0};
	struct table t = {0};

	if (!type || r->head != 16 || r->of->from.at.version > 0x030d)
		return 0;
	values = values_of(r, object, type, &dict);
	if (!values)
		return dict ? py_get(r, dict, name) : 0;
	if (!keys_of(r, py_load(r, type + cached_keys_at(r->of->from.at.version)), &t))
		return 0;
	t.apart = first_of_values(r, values);
	for_table(r, &t, find_name, &w);
	return w.found;
}

/* ---- numbers ---- */

bool py_int(struct py_reader *r, uint64_t object, uint64_t *value)
{
	uint64_t tag = py_load(r, object + r->head), cnt;
	uint32_t digits[3] = {0};

	*value = 0;
	if (py_kind_of(r, object) != PY_INT)
		return false;
	cnt = r->of->from.at.version >= 0x030c ? tag >> 3 : tag;
	if (cnt > 3 || (cnt && !py_read(r, object + r->head + 8, digits, cnt * 4)))
		return false;
	for (uint64_t i = 0; i < cnt; i++)
		*value |= (uint64_t)digits[i] << (DIGIT_BITS * i);
	return true;
}
