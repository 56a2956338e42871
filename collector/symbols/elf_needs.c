/* elf_needs.c - reads DT_NEEDED. The file may be anything: every offset is checked against its size. */
#include "collector/symbols/elf_needs.h"

#include "collector/base/plain_file.h"
#include "collector/symbols/sigbus_guard.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct file_image {
	const char *at;
	uint64_t size;
};

static const void *part(const struct file_image *f, uint64_t offset, uint64_t len)
{
	if (offset > f->size || len > f->size - offset || offset % 8)
		return NULL;
	return f->at + offset;
}

static const Elf64_Phdr *headers(const struct file_image *f, unsigned *cnt)
{
	const Elf64_Ehdr *e = part(f, 0, sizeof(*e));

	if (!e || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_ident[EI_CLASS] != ELFCLASS64 ||
	    e->e_phentsize != sizeof(Elf64_Phdr))
		return NULL;
	*cnt = e->e_phnum;
	return part(f, e->e_phoff, (uint64_t)e->e_phnum * sizeof(Elf64_Phdr));
}

static uint64_t file_offset(const Elf64_Phdr *p, unsigned cnt, uint64_t address)
{
	for (unsigned i = 0; i < cnt; i++)
		if (p[i].p_type == PT_LOAD && address - p[i].p_vaddr < p[i].p_filesz)
			return p[i].p_offset + (address - p[i].p_vaddr);
	return UINT64_MAX;
}

static bool search(const struct file_image *f, const char *prefix, char *name, size_t size)
{
	unsigned cnt = 0, dyns = 0;
	const Elf64_Phdr *p = headers(f, &cnt);
	const Elf64_Dyn *d = NULL;
	uint64_t strings = UINT64_MAX;

	for (unsigned i = 0; p && i < cnt; i++) {
		if (p[i].p_type != PT_DYNAMIC)
			continue;
		d = part(f, p[i].p_offset, p[i].p_filesz);
		dyns = (unsigned)(p[i].p_filesz / sizeof(*d));
	}
	for (unsigned i = 0; d && i < dyns; i++)
		if (d[i].d_tag == DT_STRTAB)
			strings = file_offset(p, cnt, d[i].d_un.d_ptr);
	for (unsigned i = 0; d && i < dyns && strings < f->size; i++) {
		uint64_t at = strings + d[i].d_un.d_val;
		size_t room;

		if (d[i].d_tag != DT_NEEDED || at >= f->size)
			continue;
		room = f->size - at;
		if (strnlen(f->at + at, room) == room ||
		    strncmp(f->at + at, prefix, strlen(prefix)) != 0)
			continue;
		snprintf(name, size, "%s", f->at + at);
		return true;
	}
	return false;
}

struct question {
	struct file_image f;
	const char *prefix;
	char *name;
	size_t size;
	bool found;
};

static void ask(void *of)
{
	struct question *q = of;

	q->found = search(&q->f, q->prefix, q->name, q->size);
}

bool elf_needs(const char *path, const char *prefix, char *name, size_t size)
{
	struct question q = {.prefix = prefix, .name = name, .size = size};
	struct stat st;
	int fd = plain_file_open(path, true, &st);

	if (fd < 0)
		return false;
	if (st.st_size > 0) {
		q.f.size = (uint64_t)st.st_size;
		q.f.at = mmap(NULL, q.f.size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (q.f.at != MAP_FAILED) {
			bus_error_try(ask, &q); /* it may lose its end meanwhile */
			munmap((void *)(uintptr_t)q.f.at, q.f.size);
		}
	}
	close(fd);
	return q.found;
}
