/*
 * pylayout.h - where things lie in the memory of a CPython, by version: facts of its headers, for 64-bit Linux. From 3.13
 * on the interpreter says most of it itself (_Py_DebugOffsets, the first thing in _PyRuntime). tests/e2e/python/pystack.t
 * compares all of it with the headers of what is installed.
 */
#ifndef SL_PYLAYOUT_H
#define SL_PYLAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* Offsets in bytes; 0 is also that of what a version does not have. */
struct sl_pylayout {
	uint32_t version; /* 0x030b for 3.11 */
	/* _PyRuntime: who ends it; up to 3.11: the lock of the list of interpreters; its head */
	uint32_t finalizing, lock, interpreters;
	/* PyInterpreterState and PyThreadState */
	uint32_t next_interpreter, threads, next_thread, thread_id;
	uint32_t current; /* PyThreadState: its frame; with has_cframe what points at it */
	/* PyThreadState: a frame that is none, behind all others (3.15) */
	uint32_t base;
	bool has_cframe;
	uint32_t cframe_current; /* _PyCFrame: the frame */
	/* Frame. instruction: up to 3.10 the number of the last one that began, then its address */
	uint32_t previous, code, instruction;
	uint32_t is_entry; /* 3.11: C code called the interpreter for it */
	uint32_t owner;    /* from 3.12 on: who has it */
	uint32_t
		copy_number; /* from 3.14 on, without GIL: in which copy of the bytecode its instruction is */
	/* PyCodeObject */
	uint32_t name, qualified_name, file, first_line, line_table, bytecode;
	uint32_t copies; /* from 3.14 on, without GIL: of the bytecode */
	/* PyObject, PyBytesObject, PyASCIIObject with its size; the end of PyCompactUnicodeObject */
	uint32_t type, bytes_size, bytes, text_length, text_state, text_ascii, text_compact;
};

#define SL_PYLAYOUT_OWNED_BY_C 3 /* from here on, owners of frames that are none of Python's */

#pragma GCC visibility push(hidden)

/*
 * Of the version @hex (PY_VERSION_HEX), @runtime being the address of _PyRuntime. False: not known, or what the
 * interpreter says of itself makes no sense.
 */
bool sl_pylayout_get(struct sl_pylayout *l, uint32_t hex, const void *runtime);

#pragma GCC visibility pop
#endif
