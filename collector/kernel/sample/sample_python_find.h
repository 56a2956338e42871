/* sample_python_find.h - the Python of a process, found from outside: in the files that it has mapped, and in its memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collector/kernel/sample/sample_python_code.h"

struct sample_file;
struct sample_files;

/* Parts of a Python in an ELF file. Addresses in the file; 0: not there. */
struct pyfind_file {
	bool has_python;
	uint64_t runtime, code_type;
	uint64_t version; /* of Py_Version */
	uint32_t hex; /* PY_VERSION_HEX, where the file has no Py_Version; 0: _PyRuntime has it */
};
/* @is_main: it is the executable of a process, whose other symbols are worth a look. NULL: no memory. */
const struct pyfind_file *pyfind_file(struct sample_file *f, bool is_main);

struct pyfind {
	uint64_t runtime;        /* where _PyRuntime is; 0: there is none, or none that is known */
	struct pycode_from from; /* with it */
	uint32_t unknown;        /* 0x030f: there is one, of 3.15; SAMPLE_PYTHON_NAMELESS */
	bool has_file;           /* a mapped file has a Python, which may not be ready yet */
	bool is_there;           /* the process is, and we may look */
	bool is_refused;         /* we may not */
};
void pyfind_process(struct pyfind *found, struct sample_files *files, uint32_t pid);
/* Where the section .AsyncioDebug of the process's Python, or of its module _asyncio, is; 0: there is none. */
uint64_t pyfind_asyncio(struct sample_files *files, uint32_t pid);
