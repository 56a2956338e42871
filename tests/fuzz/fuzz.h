/*
 * fuzz.h - what reads input of strangers, each as a target of a fuzzer (main.c: libFuzzer) and of a short run in every
 * `make check` (smoke.c).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define FUZZ_SEED_MAX 65536u

struct fuzz_target {
	const char *name;
	void (*run)(const uint8_t *data, size_t len);
	/* Input number @i to begin with: its length; 0: there are no more. */
	size_t (*seed)(unsigned i, uint8_t to[FUZZ_SEED_MAX]);
	void (*init)(void); /* before the first run; NULL: nothing to do */
};

extern const struct fuzz_target *const fuzz_targets[]; /* ends with NULL */

extern const struct fuzz_target fuzz_decode, fuzz_rings, fuzz_control, fuzz_jit, fuzz_elf, fuzz_cfi,
	fuzz_dwarf, fuzz_demangle, fuzz_options, fuzz_json, fuzz_view_message, fuzz_view_sql,
	fuzz_view_tiles, fuzz_view_guard, fuzz_view_http, fuzz_view_side, fuzz_view_extent,
	fuzz_view_file, fuzz_job, fuzz_manifest, fuzz_parquet, fuzz_names, fuzz_saved, fuzz_journal,
	fuzz_notes, fuzz_nsys_file, fuzz_nsys_records, fuzz_mcp;

/* A scratch folder of this process, gone when it ends well. */
const char *fuzz_dir(void);
/* Writes @len bytes to @path, which it replaces. */
void fuzz_file(const char *path, const void *data, size_t len);
/* A list of texts as seeds; NULL ends it. */
size_t fuzz_text_seed(const char *const *texts, unsigned i, uint8_t *to);
