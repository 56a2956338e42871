/*
 * pylayout.h - offsets in CPython's structures, by version, from its headers, for 64-bit Linux. From 3.13 on the
 * interpreter provides most of them (_Py_DebugOffsets, at the beginning of _PyRuntime). tests/e2e/python/pystack.t
 * compares them with installed headers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Offsets in bytes; 0 also if a version lacks the field. */
struct sl_pylayout {
	uint32_t version; /* 0x030b for 3.11 */
	/* _PyRuntime: the finalizing thread; up to 3.11: the lock of the list of interpreters; the list's head */
	uint32_t finalizing, lock, interpreters;
	/* The global interpreter lock: in _PyRuntime up to 3.11, behind a pointer of each interpreter later; 0: not known where */
	uint32_t gil, gil_holder, gil_locked;
	/* PyInterpreterState, with the dictionary of modules, and PyThreadState */
	uint32_t next_interpreter, threads, modules, next_thread, thread_id;
	uint32_t current; /* PyThreadState: its frame; with has_cframe the _PyCFrame */
	/* PyThreadState: the sentinel frame after all others (3.15) */
	uint32_t base;
	bool has_cframe;
	uint32_t cframe_current; /* _PyCFrame: the frame */
	/* Frame. instruction: up to 3.10 the index of the current one, later its address */
	uint32_t previous, code, instruction;
	uint32_t is_entry; /* 3.11: entered from C code */
	uint32_t owner;    /* from 3.12 on: its owner */
	uint32_t
		copy_number; /* from 3.14 on, without GIL: the copy of the bytecode that its instruction is in */
	/* Frame: the top of its stack (up to 3.9 and from 3.14 on a pointer, else an index), and its local variables */
	uint32_t stack, locals;
	/* PyGenObject, of coroutines, too: its frame (up to 3.10 a pointer); from 3.11 on the state of that */
	uint32_t generator_frame, generator_state;
	/* PyCodeObject */
	uint32_t name, qualified_name, file, first_line, line_table, bytecode;
	uint32_t copies; /* from 3.14 on, without GIL: of the bytecode */
	/* PyObject, PyBytesObject, PyASCIIObject with its size; the end of PyCompactUnicodeObject */
	uint32_t type, bytes_size, bytes, text_length, text_state, text_ascii, text_compact;
};

#define SL_PYLAYOUT_GIL_BYTES \
	208u /* of the lock, 3.8 to 3.13; with the condition that threads wait at for it */
#define SL_PYLAYOUT_OWN_GIL    0x030c /* from this version on, interpreters point to their lock */
#define SL_PYLAYOUT_OWNED_BY_C 3      /* from here on: frames of C code */

#pragma GCC visibility push(hidden)

/*
 * Layout of the version @hex (PY_VERSION_HEX); @runtime: the address of _PyRuntime. False: unknown, or the interpreter's
 * own offsets are invalid.
 */
bool sl_pylayout_get(struct sl_pylayout *l, uint32_t hex, const void *runtime);

#pragma GCC visibility pop
