/*
 * python_module.c - the built-in module _sightline_trace (python.h).
 *
 * Its functions take 30 ns, those of ctypes 200, and 3 ms for the import. Of Python's types only those with a stable layout
 * are defined here: PyMethodDef and, except for builds without the GIL, PyModuleDef.
 */
#include "preload/python/python.h"

#include <string.h>

#include "preload/nvtx/nvtx.h"
#include "preload/python/python_api.h"

struct method {
	const char *name;
	void *function;
	int flags;
	const char *doc;
};
enum {
	METH_VARARGS = 1,
	METH_NOARGS = 4,
	METH_O = 8,
	METH_FASTCALL = 0x80,
};

struct module {
	intptr_t refs;
	void *type;
	void *init;
	intptr_t index;
	void *copy;
	const char *name, *doc;
	intptr_t size;
	struct method *methods;
	void *slots, *traverse, *clear, *free;
};

/* Functions of Python: result, name, parameters. */
#define FUNCTIONS(X)                                                                \
	X(int, PyImport_AppendInittab, (const char *, void *(*)(void)))             \
	X(void *, PyModule_Create2, (struct module *, int))                         \
	X(int, PyModule_AddIntConstant, (void *, const char *, long))               \
	X(void *, PyCFunction_NewEx, (struct method *, void *, void *))             \
	X(void *, PyLong_FromVoidPtr, (void *))                                     \
	X(void *, PyLong_AsVoidPtr, (void *))                                       \
	X(void *, PyLong_FromUnsignedLongLong, (unsigned long long))                \
	X(unsigned long long, PyLong_AsUnsignedLongLong, (void *))                  \
	X(const char *, PyUnicode_AsUTF8, (void *))                                 \
	X(int, PyArg_ParseTuple, (void *, const char *, ...))                       \
	X(void *, PyDict_GetItemString, (void *, const char *))                     \
	X(long, PyLong_AsLong, (void *))                                            \
	X(void *, PyErr_Occurred, (void))                                           \
	X(void, PyErr_Clear, (void))                                                \
	X(void *, PyObject_CallFunctionObjArgs, (void *, ...))                      \
	X(int, PySys_AddAuditHook, (int (*)(const char *, void *, void *), void *)) \
	X(void, Py_IncRef, (void *))                                                \
	X(void, Py_DecRef, (void *))

#define X(result, name, params) result(*name) params;
static struct {
	FUNCTIONS(X)
	void *none;
	void *(*get_interpreter)(void); /* since 3.9; NULL: none */
} py;
#undef X

static bool find_functions(void)
{
#define X(result, name, params)                               \
	py.name = (__typeof__(py.name))sl_python_find(#name); \
	if (!py.name)                                         \
		return false;
	FUNCTIONS(X)
#undef X
	py.none = sl_python_find("_Py_NoneStruct");
	py.get_interpreter = (void *(*)(void))sl_python_find("PyInterpreterState_Get");
	return py.none;
}

static void *none(void)
{
	py.Py_IncRef(py.none);
	return py.none;
}

/* ---- functions of a range, which is their self ---- */

static void *range_push(void *self, void *unused)
{
	(void)unused;
	sightline_range_push(py.PyLong_AsVoidPtr(self));
	return none();
}

static void *range_pop(void *self, void *const *args, intptr_t cnt)
{
	(void)args;
	(void)cnt;
	sightline_range_pop(py.PyLong_AsVoidPtr(self));
	return none();
}

static void *range_push_text(void *self, void *text)
{
	const char *s = py.PyUnicode_AsUTF8(text);

	if (!s)
		return NULL;
	sightline_range_push_text(py.PyLong_AsVoidPtr(self), s);
	return none();
}

static void *range_start(void *self, void *unused)
{
	(void)unused;
	return py.PyLong_FromUnsignedLongLong(sightline_range_start(py.PyLong_AsVoidPtr(self)));
}

static void *range_end(void *self, void *id)
{
	unsigned long long value = py.PyLong_AsUnsignedLongLong(id);

	if (value == UINT64_MAX && py.PyErr_Occurred())
		return NULL;
	sightline_range_end(py.PyLong_AsVoidPtr(self), value);
	return none();
}

static struct method range_methods[] = {
	[SIGHTLINE_PUSH] = {"push", (void *)range_push, METH_NOARGS, NULL},
	[SIGHTLINE_POP] = {"pop", (void *)range_pop, METH_FASTCALL, NULL},
	[SIGHTLINE_PUSH_TEXT] = {"push_text", (void *)range_push_text, METH_O, NULL},
	[SIGHTLINE_START] = {"start", (void *)range_start, METH_NOARGS, NULL},
	[SIGHTLINE_END] = {"end", (void *)range_end, METH_O, NULL},
};

/* ---- the main program ---- */

static struct {
	void *callable, *interpreter;
} watch;

/* Errors are cleared: a failing audit hook would terminate the program. */
static int audited(const char *event, void *args, void *unused)
{
	void *result;

	(void)unused;
	if (sl_likely(event[0] != 'e' || strcmp(event, "exec") != 0))
		return 0;
	if (py.get_interpreter && py.get_interpreter() != watch.interpreter)
		return 0;
	result = py.PyObject_CallFunctionObjArgs(watch.callable, args, NULL);
	if (result)
		py.Py_DecRef(result);
	else
		py.PyErr_Clear();
	return 0;
}

/* ---- functions of the module ---- */

static void *module_watch(void *self, void *callable)
{
	(void)self;
	watch.interpreter = py.get_interpreter ? py.get_interpreter() : NULL;
	py.Py_IncRef(callable);
	watch.callable = callable;
	if (py.PySys_AddAuditHook(audited, NULL) < 0)
		return NULL;
	return none();
}

static void *module_note(void *self, void *text)
{
	const char *s = py.PyUnicode_AsUTF8(text);

	(void)self;
	if (!s)
		return NULL;
	sightline_python_note(s);
	return none();
}

static void *module_range(void *self, void *args)
{
	const char *domain, *name;
	unsigned color = 0;

	(void)self;
	if (!py.PyArg_ParseTuple(args, "ss|I", &domain, &name, &color))
		return NULL;
	return py.PyLong_FromVoidPtr(sightline_range_colored(domain, name, color));
}

static void *module_function(void *self, void *args)
{
	void *range;
	int which;

	(void)self;
	if (!py.PyArg_ParseTuple(args, "Oi", &range, &which))
		return NULL;
	if (which < 0 || which > SIGHTLINE_END || !py.PyLong_AsVoidPtr(range)) {
		if (py.PyErr_Occurred())
			return NULL;
		return none();
	}
	return py.PyCFunction_NewEx(&range_methods[which], range, NULL);
}

static void *module_replace(void *self, void *args)
{
	void *tuple, *old, *new, **slot;
	long size, index;

	(void)self;
	if (!py.PyArg_ParseTuple(args, "OllOO", &tuple, &size, &index, &old, &new))
		return NULL;
	slot = (void **)((char *)tuple + size) + index;
	if (*slot != old)
		return none();
	py.Py_IncRef(new);
	*slot = new;
	/* @old keeps the reference that the tuple had: code that is never freed, once per process. */
	py.Py_IncRef(new);
	return new;
}

/* A number in the info of a collection; -1: none. */
static long count_of(void *info, const char *what)
{
	void *value = py.PyDict_GetItemString(info, what);
	long number = value ? py.PyLong_AsLong(value) : -1;

	if (number < 0)
		py.PyErr_Clear();
	return number;
}

/* A function for gc.callbacks: (phase, info). */
static void *module_collects(void *self, void *const *args, intptr_t cnt)
{
	const char *phase = cnt == 2 ? py.PyUnicode_AsUTF8(args[0]) : NULL;

	(void)self;
	if (!phase)
		py.PyErr_Clear();
	else if (strcmp(phase, "start") == 0)
		sl_python_collect(count_of(args[1], "generation"));
	else
		sl_python_collected(count_of(args[1], "collected"));
	return none();
}

static void *make_module(void)
{
	static struct method methods[] = {
		{"range", (void *)module_range, METH_VARARGS, NULL},
		{"function", (void *)module_function, METH_VARARGS, NULL},
		{"note", (void *)module_note, METH_O, NULL},
		{"watch", (void *)module_watch, METH_O, NULL},
		{"replace", (void *)module_replace, METH_VARARGS, NULL},
		{"collects", (void *)module_collects, METH_FASTCALL, NULL},
		{NULL, NULL, 0, NULL},
	};
	static struct module module = {
		.refs = 1, .name = "_sightline_trace", .size = -1, .methods = methods};
	void *m = py.PyModule_Create2(&module, 3 /* the stable interface */);

	if (m)
		py.PyModule_AddIntConstant(m, "abi", SIGHTLINE_PYTHON_ABI);
	return m;
}

static bool has_module;

void sl_python_add_module(void)
{
	/* Without the GIL, objects are laid out differently. */
	if (!has_module && !sl_python_find("_Py_DecRefShared") && find_functions())
		has_module = py.PyImport_AppendInittab("_sightline_trace", make_module) == 0;
}

bool sl_python_has_module(void)
{
	return has_module;
}
