/*
 * main.c - entry points of libFuzzer. FUZZ_TARGET names the target; with FUZZ_SEEDS its first inputs are written to that folder
 * instead.
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct fuzz_target *target;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void write_seeds(const char *dir)
{
	static uint8_t seed[FUZZ_SEED_MAX];
	char path[4096];
	size_t len;

	for (unsigned i = 0; (len = target->seed(i, seed)); i++) {
		snprintf(path, sizeof(path), "%s/seed-%u", dir, i);
		fuzz_file(path, seed, len);
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *name = getenv("FUZZ_TARGET"), *seeds = getenv("FUZZ_SEEDS");

	(void)argc, (void)argv;
	for (unsigned i = 0; fuzz_targets[i] && name; i++)
		if (strcmp(fuzz_targets[i]->name, name) == 0)
			target = fuzz_targets[i];
	if (!target) {
		for (unsigned i = 0; fuzz_targets[i]; i++)
			puts(fuzz_targets[i]->name);
		exit(name ? 1 : 0);
	}
	if (seeds) {
		write_seeds(seeds);
		exit(0);
	}
	if (target->init)
		target->init();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	target->run(data, len);
	return 0;
}
