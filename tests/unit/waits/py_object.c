/* py_object.c - objects made as each version of Python makes them, in the memory of this process. */
#include "collector/waits/py_object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define CELLS 8

/* PyTypeObject, as far as it counts. */
struct type {
	uint64_t head[3];
	const char *name;
	uint64_t basic_size, pad[16], flags, pad2[10];
	const struct type *base;
	uint64_t pad3[3];
	int64_t dict_offset;
	uint64_t pad4[80];
};
_Static_assert(offsetof(struct type, flags) == 168, "tp_flags");
_Static_assert(offsetof(struct type, base) == 256, "tp_base");
_Static_assert(offsetof(struct type, dict_offset) == 288, "tp_dictoffset");

struct object {
	uint64_t references;
	const struct type *type;
	uint64_t word[14];
};

static const struct type text_type = {.name = "str"}, int_type = {.name = "int"},
			 list_type = {.name = "list"}, tuple_type = {.name = "tuple"},
			 set_type = {.name = "set"}, dict_type = {.name = "dict"},
			 task_type = {.name = "_asyncio.Task"},
			 own_task = {.name = "MyTask", .base = &task_type},
			 other_type = {.name = "Task"};
static struct pyfind python = {
	.from.at = {.version = 0x030c, .type = 8, .text_length = 16, .text_ascii = 40}};
static struct py_reader reader;

static uint64_t at(const void *object)
{
	return (uintptr_t)object;
}

static void begin(uint32_t version)
{
	python.from.pid = (uint32_t)getpid();
	python.from.at.version = version;
	python.from.at.text_ascii = version < 0x030c ? 48 : 40;
	py_reader_init(&reader, &python);
}

static void make_text(struct object *o, const char *text)
{
	*o = (struct object){.type = &text_type, .word[0] = strlen(text)};
	strcpy((char *)o + python.from.at.text_ascii, text);
}

static void kinds_are_those_of_the_nearest_known_base(void **state)
{
	struct object task = {.type = &task_type}, own = {.type = &own_task},
		      other = {.type = &other_type};

	(void)state;
	begin(0x030c);
	assert_int_equal(py_kind_of(&reader, at(&task)), PY_TASK);
	assert_int_equal(py_kind_of(&reader, at(&own)), PY_TASK);
	assert_int_equal(py_kind_of(&reader, at(&own)), PY_TASK); /* known by now */
	assert_int_equal(py_kind_of(&reader, at(&other)), PY_OTHER);
	assert_int_equal(py_kind_of(&reader, 0), PY_OTHER);
	assert_int_equal(py_kind_of(&reader, 4096), PY_OTHER);
	assert_true(py_is_named(&reader, at(&own), "MyTask"));
	assert_false(py_is_named(&reader, at(&own), "_asyncio.Task"));
}

static void bases_that_go_around_end(void **state)
{
	struct type round = {.name = "round"};
	struct object object = {.type = &round};

	(void)state;
	round.base = &round;
	begin(0x030c);
	assert_int_equal(py_kind_of(&reader, at(&object)), PY_OTHER);
}

static void numbers_have_digits_of_30_bits(void **state)
{
	struct object o = {.type = &int_type};
	const uint32_t digits[3] = {0x3fffffff, 0x2aaaaaaa, 7};
	uint64_t value;

	(void)state;
	memcpy(&o.word[1], digits, sizeof(digits));
	begin(0x030c);
	o.word[0] = 3u << 3;
	assert_true(py_int(&reader, at(&o), &value));
	assert_int_equal(value, 0x3fffffff + (0x2aaaaaaaULL << 30) + (7ULL << 60));
	o.word[0] = 1u << 3;
	assert_true(py_int(&reader, at(&o), &value));
	assert_int_equal(value, 0x3fffffff);
	o.word[0] = 4u << 3; /* more than 64 bits */
	assert_false(py_int(&reader, at(&o), &value));
	begin(0x030b); /* the number of digits by itself */
	o.word[0] = 1;
	assert_true(py_int(&reader, at(&o), &value));
	assert_int_equal(value, 0x3fffffff);
	o.word[0] = (uint64_t)-1; /* negative */
	assert_false(py_int(&reader, at(&o), &value));
	o.type = &text_type;
	assert_false(py_int(&reader, at(&o), &value));
}

struct seen {
	uint64_t keys[CELLS], values[CELLS];
	unsigned cnt, most;
};

static bool note(void *to, uint64_t key, uint64_t value)
{
	struct seen *s = to;

	s->keys[s->cnt] = key;
	s->values[s->cnt++] = value;
	return s->cnt < s->most;
}

static void lists_and_tuples_have_their_elements_in_order(void **state)
{
	uint64_t items[3] = {11, 22, 33};
	struct object list = {.type = &list_type, .word = {3, at(items)}},
		      tuple = {.type = &tuple_type, .word = {3, 44, 55, 66}};
	struct seen s = {.most = CELLS};

	(void)state;
	begin(0x030c);
	py_for_each(&reader, at(&list), note, &s);
	assert_int_equal(s.cnt, 3);
	assert_int_equal(s.keys[2], 2);
	assert_int_equal(s.values[0], 11);
	assert_int_equal(s.values[2], 33);
	s = (struct seen){.most = 2}; /* until it is enough */
	py_for_each(&reader, at(&tuple), note, &s);
	assert_int_equal(s.cnt, 2);
	assert_int_equal(s.values[0], 44);
	begin(0x030e); /* with a hash before them */
	s = (struct seen){.most = 2};
	py_for_each(&reader, at(&tuple), note, &s);
	assert_int_equal(s.values[0], 55);
}

static void lists_that_are_longer_than_memory_end(void **state)
{
	struct object list = {.type = &list_type, .word = {UINT64_MAX, 4096}};
	struct seen s = {.most = CELLS};

	(void)state;
	begin(0x030c);
	py_for_each(&reader, at(&list), note, &s);
	assert_int_equal(s.cnt, 0);
}

static void elements_of_all_containers_are_bounded(void **state)
{
	uint64_t items[3] = {11, 22, 33};
	struct object list = {.type = &list_type, .word = {3, at(items)}};
	struct seen s = {.most = CELLS};

	(void)state;
	begin(0x030c);
	reader.left = 4;
	py_for_each(&reader, at(&list), note, &s);
	py_for_each(&reader, at(&list), note, &s);
	assert_int_equal(s.cnt, 4);
	assert_int_equal(reader.left, 0);
}

static void sets_have_their_used_places(void **state)
{
	uint64_t table[8] = {0, 0, 77, 1, 0, 0, 88, 2};
	struct object set = {.type = &set_type, .word = {2, 2, 3, at(table)}};
	struct seen s = {.most = CELLS};

	(void)state;
	begin(0x030c);
	py_for_each(&reader, at(&set), note, &s);
	assert_int_equal(s.cnt, 2);
	assert_int_equal(s.keys[0], 77);
	assert_int_equal(s.keys[1], 88);
	assert_int_equal(s.values[1], 0);
}

/* ---- dictionaries ---- */

struct keys_3_8 {
	uint64_t references, size, lookup, usable, cnt;
	int8_t index[8];
	struct {
		uint64_t hash, key, value;
	} entry[2];
};

struct keys_3_11 {
	uint64_t references;
	uint8_t log_size, log_bytes, kind, pad;
	uint32_t version;
	uint64_t usable, cnt;
	int8_t index[8];
	struct {
		uint64_t key, value;
	} entry[2];
};

static struct object names[2];
static struct keys_3_8 old_keys;
static struct keys_3_11 keys;

static void make_keys(uint32_t version)
{
	begin(version);
	make_text(&names[0], "first");
	make_text(&names[1], "second");
	old_keys = (struct keys_3_8){
		.size = 8, .cnt = 2, .entry = {{1, at(&names[0]), 100}, {2, at(&names[1]), 200}}};
	keys = (struct keys_3_11){.log_size = 3,
				  .log_bytes = 3,
				  .kind = 1,
				  .cnt = 2,
				  .entry = {{at(&names[0]), 100}, {at(&names[1]), 200}}};
}

static struct object make_dict(uint32_t version, uint64_t values)
{
	make_keys(version);
	return (struct object){
		.type = &dict_type,
		.word = {2, 0, version < 0x030b ? at(&old_keys) : at(&keys), values}};
}

static void dictionaries_are_asked_by_name(void **state)
{
	static const uint32_t versions[] = {0x0308, 0x030a, 0x030b, 0x030c, 0x030d, 0x030f};

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		struct object dict = make_dict(versions[i], 0);

		assert_int_equal(py_get(&reader, at(&dict), "first"), 100);
		assert_int_equal(py_get(&reader, at(&dict), "second"), 200);
		assert_int_equal(py_get(&reader, at(&dict), "secon"), 0);
		assert_int_equal(py_get(&reader, at(&dict), "third"), 0);
	}
}

static void dictionaries_may_have_their_values_apart(void **state)
{
	uint64_t values[3] = {7, 300, 400};
	struct object dict;

	(void)state;
	dict = make_dict(0x0308, at(values + 1));
	assert_int_equal(py_get(&reader, at(&dict), "second"), 400);
	dict = make_dict(0x030d, at(values)); /* with a head */
	assert_int_equal(py_get(&reader, at(&dict), "second"), 400);
}

static void keys_of_any_size_are_bounded(void **state)
{
	struct object dict = make_dict(0x030c, 0);

	(void)state;
	keys.log_bytes = 63;
	assert_int_equal(py_get(&reader, at(&dict), "first"), 0);
	keys.log_bytes = 3;
	keys.cnt = UINT64_MAX;
	py_get(&reader, at(&dict), "third");
	dict = make_dict(0x0308, 0);
	old_keys.size = UINT64_MAX / 2;
	assert_int_equal(py_get(&reader, at(&dict), "first"), 0);
}

/* ---- attributes ---- */

/* An object with the words that stand before it, and values behind it. */
struct instance {
	uint64_t before[4];
	uint64_t references;
	const struct type *type;
	uint64_t dict;
	uint8_t head[8];
	uint64_t values[2];
};

static uint64_t attribute(uint32_t version, struct instance *o, struct type *type, const char *name)
{
	const uint32_t keys_at = version == 0x030b ? 872 : 880;
	const uint64_t cached = at(&keys);

	make_keys(version);
	o->type = type;
	memcpy((char *)type + keys_at, &cached, sizeof(cached));
	return py_attribute(&reader, at(&o->references), name);
}

static void attributes_lie_where_the_version_has_them(void **state)
{
	struct type type = {.name = "Class", .basic_size = 24, .flags = 1u << 4};
	struct instance o = {.values = {300, 400}};
	struct object dict;

	(void)state;
	o.before[0] = at(o.values);
	assert_int_equal(attribute(0x030b, &o, &type, "second"), 400);
	o.before[1] = at(o.values) - 1; /* marked */
	assert_int_equal(attribute(0x030c, &o, &type, "second"), 400);
	type.flags |= 1u << 2;
	o.head[3] = 1; /* valid */
	assert_int_equal(attribute(0x030d, &o, &type, "second"), 400);
	assert_int_equal(attribute(0x030e, &o, &type, "second"), 0);
	/* In a dictionary. */
	dict = make_dict(0x030d, 0);
	o.head[3] = 0;
	o.before[1] = at(&dict);
	assert_int_equal(attribute(0x030d, &o, &type, "second"), 200);
	assert_int_equal(attribute(0x030c, &o, &type, "second"), 200);
	o.before[0] = 0;
	assert_int_equal(attribute(0x030b, &o, &type, "second"), 200);
	type.flags = 0;
	assert_int_equal(attribute(0x030b, &o, &type, "second"), 0);
	dict = make_dict(0x0309, 0);
	type.dict_offset = 16;
	o.dict = at(&dict);
	assert_int_equal(attribute(0x0309, &o, &type, "first"), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_are_those_of_the_nearest_known_base),
		cmocka_unit_test(bases_that_go_around_end),
		cmocka_unit_test(numbers_have_digits_of_30_bits),
		cmocka_unit_test(lists_and_tuples_have_their_elements_in_order),
		cmocka_unit_test(lists_that_are_longer_than_memory_end),
		cmocka_unit_test(elements_of_all_containers_are_bounded),
		cmocka_unit_test(sets_have_their_used_places),
		cmocka_unit_test(dictionaries_are_asked_by_name),
		cmocka_unit_test(dictionaries_may_have_their_values_apart),
		cmocka_unit_test(keys_of_any_size_are_bounded),
		cmocka_unit_test(attributes_lie_where_the_version_has_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
