/*
 * sample_files.c - unwinding tables and build ids of mapped files, kept by device and inode.
 *
 * Files are mapped, for the tables of large libraries have tens of megabytes of which few pages are needed. Such a file
 * may be truncated meanwhile: then zeros replace its pages (sigbus_guard.h), in which no table makes sense.
 */
#include "collector/kernel/sample/sample_files.h"

#include <elf.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collector/base/plain_file.h"
#include "collector/symbols/sigbus_guard.h"
#include "collector/symbols/elf_image.h"
#include "collector/kernel/sample/sample_libc_start.h"
#include "collector/base/proc.h"

#define BUCKETS      1024u
#define ROWS         16384u /* kept, by address */
#define SEGMENTS_MAX 64u

struct segment {
	uint64_t address, offset, bytes;
	bool is_code;
};

struct sample_file {
	struct sample_file *next;
	char *path;
	uint64_t device, inode;
	struct {
		const uint8_t *at; /* NULL: cannot be read */
		size_t size;
		bool is_mapped;
	} data;
	bool has_table;
	struct sl_cfi table; /* in the file's addresses */
	struct segment segment[SEGMENTS_MAX];
	unsigned segment_cnt;
	struct sample_crt crt;
	struct {
		const uint8_t *bytes;
		size_t len;
	} id;
	struct {
		uint64_t at, bytes; /* where the loader's list is in the file; 0: none */
	} dynamic;
	void *note;
};

struct kept_row {
	const struct sample_file *file;
	uint64_t address;
	struct sl_row row;
};

struct sample_files {
	struct sample_file *bucket[BUCKETS];
	struct kept_row rows[ROWS];
};

/* ---- opening ---- */

static bool is_same(const struct stat *st, const struct sample_mapped *what)
{
	if (!S_ISREG(st->st_mode))
		return false;
	/* Layers of file systems show another device than the kernel has: then the path must do. */
	return !what->inode || st->st_ino == what->inode || st->st_dev != what->device;
}

/* By its path; where the process has another root, or the file is deleted, through the process. */
static int open_mapped(const struct sample_mapped *what, struct stat *st)
{
	char path[4096 + 64];

	for (int way = 0; way < 3; way++) {
		int fd;

		if (way == 1)
			snprintf(path, sizeof(path), "%s/%u/root%s", proc_root(), what->pid,
				 what->path);
		else if (way == 2)
			snprintf(path, sizeof(path), "%s/%u/map_files/%" PRIx64 "-%" PRIx64,
				 proc_root(), what->pid, what->start, what->end);
		fd = plain_file_open(way ? path : what->path, true, st);
		if (fd < 0)
			continue;
		if (is_same(st, what))
			return fd;
		close(fd);
	}
	return -1;
}

static bool is_within(const struct sample_file *f, uint64_t offset, uint64_t bytes)
{
	return offset <= f->data.size && bytes <= f->data.size - offset;
}

static void read_notes(struct sample_file *f, uint64_t offset, uint64_t bytes)
{
	const uint8_t *at = f->data.at + offset, *end = at + bytes;

	while (!f->id.bytes && (size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) n;
		uint64_t name, text;

		memcpy(&n, at, sizeof(n));
		name = ((uint64_t)n.n_namesz + 3) & ~3ull;
		text = ((uint64_t)n.n_descsz + 3) & ~3ull;
		at += sizeof(n);
		if (name + text > (uint64_t)(end - at))
			return;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && memcmp(at, "GNU", 4) == 0) {
			f->id.bytes = at + name;
			f->id.len = n.n_descsz;
		}
		at += name + text;
	}
}

/* Where .eh_frame_hdr is, and how far the segment reaches that it is in. */
static void find_table(struct sample_file *f, uint64_t header)
{
	for (unsigned i = 0; i < f->segment_cnt; i++) {
		const struct segment *s = &f->segment[i];

		if (header < s->address || header - s->address >= s->bytes)
			continue;
		f->table = (struct sl_cfi){
			.header = header,
			.low = s->address,
			.high = s->address + s->bytes,
			.at = (intptr_t)((uintptr_t)f->data.at + s->offset - s->address)};
		f->has_table = true;
		return;
	}
}

static const uint8_t *bytes_at(const void *ctx, uint64_t address, size_t bytes)
{
	const struct sample_file *f = ctx;

	for (unsigned i = 0; i < f->segment_cnt; i++) {
		const struct segment *s = &f->segment[i];

		if (address >= s->address && bytes <= s->bytes &&
		    address - s->address <= s->bytes - bytes)
			return f->data.at + s->offset + (address - s->address);
	}
	return NULL;
}

static void find_crt(struct sample_file *f, uint64_t offset, uint64_t bytes)
{
	struct sample_crt_ask ask = {.at = bytes_at, .ctx = f};

	for (uint64_t at = 0; bytes - at >= sizeof(ElfW(Dyn)); at += sizeof(ElfW(Dyn))) {
		ElfW(Dyn) d;

		memcpy(&d, f->data.at + offset + at, sizeof(d));
		if (d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_INIT)
			ask.init = d.d_un.d_ptr;
		else if (d.d_tag == DT_FINI)
			ask.fini = d.d_un.d_ptr;
		else if (d.d_tag == DT_INIT_ARRAY)
			ask.init_array = d.d_un.d_ptr;
		else if (d.d_tag == DT_FINI_ARRAY)
			ask.fini_array = d.d_un.d_ptr;
	}
	sample_crt_find(&f->crt, &ask);
}

static void parse(struct sample_file *f)
{
	const ElfW(Ehdr) *e = (const void *)f->data.at;
	uint64_t header = 0;

	if (f->data.size < sizeof(*e) || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 ||
	    e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_phentsize != sizeof(ElfW(Phdr)) ||
	    !is_within(f, e->e_phoff, (uint64_t)e->e_phnum * sizeof(ElfW(Phdr))))
		return;
	for (unsigned i = 0; i < e->e_phnum; i++) {
		ElfW(Phdr) p;

		memcpy(&p, f->data.at + e->e_phoff + i * sizeof(p), sizeof(p));
		if (!is_within(f, p.p_offset, p.p_filesz))
			continue;
		if (p.p_type == PT_LOAD && f->segment_cnt < SEGMENTS_MAX)
			f->segment[f->segment_cnt++] = (struct segment){
				p.p_vaddr, p.p_offset, p.p_filesz, p.p_flags & PF_X};
		else if (p.p_type == PT_GNU_EH_FRAME)
			header = p.p_vaddr;
		else if (p.p_type == PT_NOTE)
			read_notes(f, p.p_offset, p.p_filesz);
		else if (p.p_type == PT_DYNAMIC) {
			f->dynamic.at = p.p_offset;
			f->dynamic.bytes = p.p_filesz;
		}
	}
	find_crt(f, f->dynamic.at, f->dynamic.bytes);
	if (header)
		find_table(f, header);
}

static void read_file(struct sample_file *f, const struct sample_mapped *what)
{
	struct stat st;
	void *data;
	int fd = open_mapped(what, &st);

	if (fd < 0)
		return;
	data = st.st_size > 0 ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
			      : MAP_FAILED;
	close(fd);
	if (data == MAP_FAILED)
		return;
	if (!bus_error_cover(data, (size_t)st.st_size)) {
		munmap(data, (size_t)st.st_size);
		return;
	}
	f->data.at = data;
	f->data.size = (size_t)st.st_size;
	f->data.is_mapped = true;
	parse(f);
}

/* The kernel's library is the same in all processes: ours is as good as theirs. */
static void read_vdso(struct sample_file *f, const struct sample_mapped *what)
{
	f->data.at = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	f->data.size = f->data.at ? what->end - what->start : 0;
	parse(f);
}

struct sample_files *sample_files_new(void)
{
	return calloc(1, sizeof(struct sample_files));
}

void sample_files_free(struct sample_files *fs)
{
	if (!fs)
		return;
	bus_error_uncover_all();
	for (unsigned i = 0; i < BUCKETS; i++)
		for (struct sample_file *f = fs->bucket[i], *next; f; f = next) {
			next = f->next;
			if (f->data.is_mapped)
				munmap((void *)(uintptr_t)f->data.at, f->data.size);
			free(f->path);
			free(f->note);
			free(f);
		}
	free(fs);
}

static unsigned bucket_of(const struct sample_mapped *what)
{
	uint64_t h = what->inode * 31 + what->device;

	for (const char *p = what->path; *p; p++)
		h = h * 131 + (unsigned char)*p;
	return (unsigned)(h % BUCKETS);
}

struct sample_file *sample_file_get(struct sample_files *fs, const struct sample_mapped *what)
{
	struct sample_file **first = &fs->bucket[bucket_of(what)], *f = *first;

	while (f && (f->inode != what->inode || f->device != what->device ||
		     strcmp(f->path, what->path) != 0))
		f = f->next;
	if (f)
		return f;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->path = strdup(what->path);
	if (!f->path) {
		free(f);
		return NULL;
	}
	f->device = what->device;
	f->inode = what->inode;
	if (what->path[0] == '/')
		read_file(f, what);
	else if (strcmp(what->path, "[vdso]") == 0)
		read_vdso(f, what);
	f->next = *first;
	*first = f;
	return f;
}

/* ---- questions ---- */

uint64_t sample_file_bias(const struct sample_file *f, const struct sample_mapped *what)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (unsigned i = 0; i < f->segment_cnt; i++) {
		const struct segment *s = &f->segment[i];

		if (s->is_code && what->offset >= (s->offset & ~(page - 1)) &&
		    what->offset < s->offset + s->bytes)
			return what->start - what->offset + s->offset - s->address;
	}
	return what->start - what->offset;
}

size_t sample_file_build_id(const struct sample_file *f, const uint8_t **id)
{
	*id = f->id.bytes;
	return f->id.len;
}

bool sample_file_row(struct sample_files *fs, const struct sample_file *f, uint64_t address,
		     struct sl_row *row)
{
	struct kept_row *kept = &fs->rows[(address ^ address >> 14 ^ (uintptr_t)f >> 6) % ROWS];

	if (kept->file != f || kept->address != address) {
		kept->file = f;
		kept->address = address;
		if ((!f->has_table || !sl_cfi_row(&f->table, address, &kept->row)) &&
		    !sample_crt_row(&f->crt, address, &kept->row))
			kept->row = (struct sl_row){.kind = SL_ROW_NONE};
	}
	*row = kept->row;
	return row->kind != SL_ROW_NONE;
}

bool sample_file_step(const struct sample_file *f, uint64_t address, struct sl_regs *regs,
		      sl_cfi_read *read, void *ctx, bool *is_signal)
{
	return f->has_table && sl_cfi_step(&f->table, address, regs, read, ctx, is_signal);
}

bool sample_file_image(const struct sample_file *f, struct elf_image *e)
{
	return elf_image_memory(e, (void *)(uintptr_t)f->data.at, f->data.size);
}

void **sample_file_note(struct sample_file *f)
{
	return &f->note;
}

/* ---- a file's exported symbols ---- */

static uint32_t word_at(const struct sample_file *f, uint64_t address)
{
	const uint8_t *at = bytes_at(f, address, sizeof(uint32_t));
	uint32_t word = 0;

	if (at)
		memcpy(&word, at, sizeof(word));
	return word;
}

static bool is_named(const struct sample_file *f, uint64_t address, const char *name)
{
	const uint8_t *at = bytes_at(f, address, strlen(name) + 1);

	return at && memcmp(at, name, strlen(name) + 1) == 0;
}

struct exports {
	uint64_t hash, symbols, texts;
};

static bool find_exports(const struct sample_file *f, struct exports *e)
{
	const uint8_t *at = f->dynamic.at ? f->data.at + f->dynamic.at : NULL;

	*e = (struct exports){0};
	for (uint64_t i = 0; at && i < f->dynamic.bytes / sizeof(ElfW(Dyn)); i++) {
		ElfW(Dyn) d;

		memcpy(&d, at + i * sizeof(d), sizeof(d));
		if (d.d_tag == DT_GNU_HASH)
			e->hash = d.d_un.d_ptr;
		else if (d.d_tag == DT_SYMTAB)
			e->symbols = d.d_un.d_ptr;
		else if (d.d_tag == DT_STRTAB)
			e->texts = d.d_un.d_ptr;
	}
	return e->hash && e->symbols && e->texts;
}

bool sample_file_symbol(const struct sample_file *f, const char *name, uint64_t *address)
{
	uint64_t buckets, chains, cnt, first, bloom;
	struct exports e;
	uint32_t h = 5381, i;

	for (const char *p = name; *p; p++)
		h = h * 33 + (unsigned char)*p;
	if (!find_exports(f, &e))
		return false;
	cnt = word_at(f, e.hash);
	first = word_at(f, e.hash + 4);
	bloom = word_at(f, e.hash + 8);
	buckets = e.hash + 16 + bloom * 8;
	chains = buckets + cnt * 4;
	i = cnt ? word_at(f, buckets + h % cnt * 4) : 0;
	if (!i || i < first)
		return false;
	for (uint32_t hash = 0; !(hash & 1) && bytes_at(f, chains + (uint64_t)(i - first) * 4, 4);
	     i++) {
		const uint8_t *at =
			bytes_at(f, e.symbols + i * sizeof(ElfW(Sym)), sizeof(ElfW(Sym)));
		ElfW(Sym) s;

		hash = word_at(f, chains + (uint64_t)(i - first) * 4);
		if ((hash | 1) != (h | 1) || !at)
			continue;
		memcpy(&s, at, sizeof(s));
		if (s.st_shndx != SHN_UNDEF && is_named(f, e.texts + s.st_name, name)) {
			*address = s.st_value;
			return true;
		}
	}
	return false;
}
