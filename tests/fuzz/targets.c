/* targets.c - the list of targets, and files for them. */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64];
static pid_t owner;

static int forget(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st, (void)kind, (void)at;
	return remove(path);
}

static void leave(void)
{
	if (getpid() == owner)
		nftw(dir, forget, 8, FTW_DEPTH | FTW_PHYS);
}

const char *fuzz_dir(void)
{
	if (owner == getpid())
		return dir;
	owner = getpid();
	snprintf(dir, sizeof(dir), "%s/sightline-fuzz-%d",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", (int)owner);
	mkdir(dir, 0700);
	atexit(leave);
	return dir;
}

void fuzz_file(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		abort();
	close(fd);
}

size_t fuzz_text_seed(const char *const *texts, unsigned i, uint8_t *to)
{
	for (unsigned k = 0; texts[k]; k++)
		if (k == i) {
			memcpy(to, texts[k], strlen(texts[k]));
			return strlen(texts[k]);
		}
	return 0;
}

const struct fuzz_target *const fuzz_targets[] = {
	&fuzz_decode,
	&fuzz_rings,
	&fuzz_control,
	&fuzz_jit,
	&fuzz_elf,
	&fuzz_cfi,
	&fuzz_dwarf,
	&fuzz_demangle,
	&fuzz_options,
	&fuzz_json,
	&fuzz_view_message,
	&fuzz_view_sql,
	&fuzz_view_tiles,
	&fuzz_view_guard,
	&fuzz_view_http,
	&fuzz_view_side,
	&fuzz_view_extent,
	&fuzz_view_file,
	&fuzz_job,
	&fuzz_manifest,
	&fuzz_parquet,
	&fuzz_names,
	&fuzz_saved,
	&fuzz_journal,
	&fuzz_notes,
	&fuzz_nsys_file,
	&fuzz_nsys_records,
	&fuzz_mcp,
	NULL,
};
