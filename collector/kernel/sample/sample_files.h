/*
 * sample_files.h - ELF files that sampled processes have mapped: how a caller is found from an address in them.
 *
 * One for all processes, by inode; read from the disk, not from the processes, which may be gone. A
 * file other than the mapped one (replaced meanwhile) counts as unreadable.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/unwind/cfi.h"

struct elf_image;
struct sample_files;
struct sample_file;

/* A mapping, as the kernel's record has it. */
struct sample_mapped {
	const char *path;
	uint64_t device, inode; /* as st_dev and st_ino; 0: none */
	uint32_t pid;           /* the process that mapped it */
	uint64_t start, end;    /* where */
	uint64_t offset;        /* in the file */
	bool is_data;           /* no code */
};

struct sample_files *sample_files_new(void); /* NULL: no memory */
void sample_files_free(struct sample_files *fs);

/* Valid until sample_files_free(); NULL: no memory. One that cannot be read, or is no ELF file, has no rows. */
struct sample_file *sample_file_get(struct sample_files *fs, const struct sample_mapped *what);

/* Address in a process - address in the file (p_vaddr). */
uint64_t sample_file_bias(const struct sample_file *f, const struct sample_mapped *what);
/* 0: none. */
size_t sample_file_build_id(const struct sample_file *f, const uint8_t **id);

/* The file as it is; false: it cannot be read. Not to be closed. */
bool sample_file_image(const struct sample_file *f, struct elf_image *e);
/* Data that another module attaches to the file; freed with it, by free(). */
void **sample_file_note(struct sample_file *f);

/* Finds the address in the file of its exported symbol @name, by the loader's table. */
bool sample_file_symbol(const struct sample_file *f, const char *name, uint64_t *address);

/* How the caller of the instruction at @address (in the file) is found; false: it has no table. */
bool sample_file_row(struct sample_files *fs, const struct sample_file *f, uint64_t address,
		     struct sl_row *row);
/* For a row of kind SL_ROW_FULL. */
bool sample_file_step(const struct sample_file *f, uint64_t address, struct sl_regs *regs,
		      sl_cfi_read *read, void *ctx, bool *is_signal);
