/*
 * py_object.h - objects of a Python in the memory of its process: types, containers, attributes. Another process may change them while they
 * are read: whatever is read may be wrong, and is bounded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/kernel/sample/sample_python_find.h"

/* Kinds of objects that tasks hang together by; subclasses of futures and tasks count as these. */
enum py_kind {
	PY_OTHER,
	PY_TASK,
	PY_FUTURE,
	PY_COROUTINE, /* generators, too */
	PY_ASEND,     /* what anext() of an asynchronous generator gives */
	PY_WRAPPER,   /* of a coroutine, by its __await__() */
	PY_FUTURE_ITERATOR,
	PY_TEXT,
	PY_INT,
	PY_LIST,
	PY_TUPLE,
	PY_SET,
	PY_DICT,
	PY_FUNCTION,
	PY_METHOD,
	PY_BUILTIN,
	PY_PARTIAL,
	PY_WAKEUP, /* of a task, up to 3.9 */
	PY_CELL,
};

#define PY_TYPES    64u
#define PY_ELEMENTS 4000000u /* of all containers together */

struct py_reader {
	const struct pyfind *of;
	uint32_t head; /* bytes of PyObject */
	uint64_t
		left; /* elements of containers that may still be read: a process may have made them without an end */
	struct {
		uint64_t type;
		enum py_kind kind;
	} known[PY_TYPES];
};

void py_reader_init(struct py_reader *r, const struct pyfind *of);
/* 0: it cannot be read. */
uint64_t py_load(const struct py_reader *r, uint64_t address);
bool py_read(const struct py_reader *r, uint64_t address, void *to, size_t bytes);
enum py_kind py_kind_of(struct py_reader *r, uint64_t object);
/* Is that the name of the object's type itself? */
bool py_is_named(const struct py_reader *r, uint64_t object, const char *type);

/* Called for each element, until it returns false. */
typedef bool py_each(void *to, uint64_t key, uint64_t value);
/* Elements of a list, tuple (key: the index) or set (value: 0), pairs of a dict. At most a million, and as many as
 * are left. */
void py_for_each(struct py_reader *r, uint64_t object, py_each *each, void *to);
/* The value of a dict for a str of ASCII; 0: none. */
uint64_t py_get(struct py_reader *r, uint64_t dict, const char *key);
/* An attribute of an object of a class written in Python, up to 3.13; 0: none. */
uint64_t py_attribute(struct py_reader *r, uint64_t object, const char *name);
/* Of an int that is not negative and has up to 64 bits; false: it is none. */
bool py_int(struct py_reader *r, uint64_t object, uint64_t *value);
