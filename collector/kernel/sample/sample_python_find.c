/*
 * sample_python_find.c - searches mapped files and memory for _PyRuntime.
 *
 * Executables and libraries of Python export the symbols that extension modules need. A program
 * with a Python linked into it need not: there the table of all symbols is searched, and without
 * one, from 3.10 on, a section that is _PyRuntime; from 3.13 on that suffices, for the version is
 * in it.
 */
#include "collector/kernel/sample/sample_python_find.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/symbols/elf_image.h"
#include "collector/kernel/sample/sample.h"
#include "collector/kernel/sample/sample_files.h"
#include "collector/kernel/sample/sample_mapped.h"
#include "collector/base/proc.h"

#define HEAD_WORDS 128u /* of _PyRuntime, which describes its own layout */

/* ---- in a file ---- */

enum {
	RUNTIME,
	CODE_TYPE,
	VERSION, /* from 3.11 on */
	/* Earlier versions are recognized by functions that came with them. */
	SINCE_3_10,
	SINCE_3_9,
	SINCE_3_8,
	UNTIL_3_6,
	UNTIL_2_7,
	NAME_CNT
};
static const char *const names[NAME_CNT] = {
	[RUNTIME] = "_PyRuntime",
	[CODE_TYPE] = "PyCode_Type",
	[VERSION] = "Py_Version",
	[SINCE_3_10] = "PyModule_AddObjectRef",
	[SINCE_3_9] = "PyFrame_GetCode",
	[SINCE_3_8] = "PyCode_NewWithPosOnlyArgs",
	[UNTIL_3_6] = "_PyThreadState_Current",
	[UNTIL_2_7] = "PyString_Type",
};

static void judge(struct pyfind_file *p, const uint64_t at[NAME_CNT])
{
	if (!at[CODE_TYPE] || (!at[RUNTIME] && !at[UNTIL_3_6]))
		return;
	*p = (struct pyfind_file){.has_python = true,
				  .runtime = at[RUNTIME],
				  .code_type = at[CODE_TYPE],
				  .version = at[VERSION]};
	p->hex = at[VERSION]      ? 0
		 : at[SINCE_3_10] ? 0x030a00f0
		 : at[SINCE_3_9]  ? 0x030900f0
		 : at[SINCE_3_8]  ? 0x030800f0
		 : at[RUNTIME]    ? 0x030700f0
		 : at[UNTIL_2_7]  ? 0x020700f0
				  : 0x030600f0;
}

static void by_exports(struct pyfind_file *p, const struct sample_file *f)
{
	uint64_t at[NAME_CNT] = {0};

	/* Most files are none: one look suffices. */
	if (!sample_file_symbol(f, names[CODE_TYPE], &at[CODE_TYPE]))
		return;
	for (unsigned i = 0; i < NAME_CNT; i++)
		sample_file_symbol(f, names[i], &at[i]);
	judge(p, at);
}

static void by_symbols(struct pyfind_file *p, const struct elf_image *e)
{
	uint64_t at[NAME_CNT] = {0};

	elf_image_find(e, names, NAME_CNT, at);
	judge(p, at);
}

const struct pyfind_file *pyfind_file(struct sample_file *f, bool is_main)
{
	void **note = sample_file_note(f);
	struct pyfind_file *p = *note;
	struct elf_image e;
	uint64_t section;
	bool has_section;

	if (p)
		return p;
	*note = p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	by_exports(p, f);
	if (p->has_python || !sample_file_image(f, &e))
		return p;
	has_section = elf_image_section_address(&e, ".PyRuntime", &section);
	if (has_section || is_main)
		by_symbols(p, &e);
	if (!p->has_python && has_section)
		*p = (struct pyfind_file){.has_python = true, .runtime = section};
	return p;
}

/* ---- in a process ---- */

static bool read_memory(struct pyfind *found, uint64_t address, void *to, size_t bytes)
{
	if (pycode_read(found->from.pid, address, to, bytes))
		return true;
	found->is_refused |= errno == EPERM || errno == EACCES;
	return false;
}

/* From 3.13 on, the version is the second word. */
static uint32_t version_in(const uint64_t *runtime)
{
	return memcmp(runtime, "xdebugpy", 8) == 0 ? (uint32_t)runtime[1] : 0;
}

/* Layout of the Python in @file, which is loaded @bias above the file's addresses. */
static void read_python(struct pyfind *found, const struct pyfind_file *file, uint64_t bias)
{
	uint64_t head[HEAD_WORDS] = {0};
	unsigned long version = file->hex;

	if (file->version && !read_memory(found, bias + file->version, &version, sizeof(version)))
		return;
	if (file->runtime && !read_memory(found, bias + file->runtime, head, sizeof(head)))
		return;
	if (!version)
		version = version_in(head);
	if (!sl_pylayout_get(&found->from.at, (uint32_t)version, head)) {
		found->unknown = version ? (uint32_t)(version >> 16) : SAMPLE_PYTHON_NAMELESS;
		return;
	}
	found->runtime = bias + file->runtime;
	found->from.code_type = file->code_type ? bias + file->code_type : 0;
}

static bool is_main(const struct sample_mapped *what)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%" PRIu32 "/exe", proc_root(), what->pid);
	return stat(path, &st) == 0 && st.st_ino == what->inode;
}

/* A file that was searched before costs no look at the process's executable. */
static const struct pyfind_file *file_of(struct sample_file *f, const struct sample_mapped *what)
{
	const struct pyfind_file *known = *sample_file_note(f);

	return known ? known : pyfind_file(f, is_main(what));
}

/* Calls @each for each mapping of code of the process until it returns false. -errno: they cannot be read. */
static int for_mapped(uint32_t pid, bool (*each)(void *to, const struct sample_mapped *what),
		      void *to)
{
	char path[64], *line = NULL;
	bool goes_on = true;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%" PRIu32 "/maps", proc_root(), pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (goes_on && getline(&line, &size, f) > 0) {
		struct sample_mapped what = {.pid = pid};

		goes_on = !sample_mapped_parse(line, &what) || each(to, &what);
	}
	free(line);
	fclose(f);
	return 0;
}

struct search {
	struct pyfind *found;
	struct sample_files *files;
	uint64_t section; /* of asyncio */
};

static bool is_python(void *to, const struct sample_mapped *what)
{
	struct search *s = to;
	const struct pyfind_file *in;
	struct sample_file *file;

	s->found->is_there = true;
	if (what->is_data || what->path[0] != '/')
		return true;
	file = sample_file_get(s->files, what);
	in = file ? file_of(file, what) : NULL;
	if (!in || !in->has_python)
		return true;
	s->found->has_file = true;
	read_python(s->found, in, sample_file_bias(file, what));
	return !s->found->runtime;
}

void pyfind_process(struct pyfind *found, struct sample_files *files, uint32_t pid)
{
	struct search s = {.found = found, .files = files};
	int err;

	*found = (struct pyfind){.from.pid = pid};
	err = for_mapped(pid, is_python, &s);
	found->is_refused |= err == -EACCES || err == -EPERM;
}

static bool is_asyncio(void *to, const struct sample_mapped *what)
{
	const char *name = strrchr(what->path, '/');
	struct search *s = to;
	const struct pyfind_file *in;
	struct sample_file *file;
	struct elf_image e;

	if (what->is_data || what->path[0] != '/')
		return true;
	file = sample_file_get(s->files, what);
	in = file ? file_of(file, what) : NULL;
	if (!in || (!in->has_python && strncmp(name, "/_asyncio", 9) != 0) ||
	    !sample_file_image(file, &e) ||
	    !elf_image_section_address(&e, ".AsyncioDebug", &s->section))
		return true;
	s->section += sample_file_bias(file, what);
	return false;
}

uint64_t pyfind_asyncio(struct sample_files *files, uint32_t pid)
{
	struct search s = {.files = files};

	for_mapped(pid, is_asyncio, &s);
	return s.section;
}
