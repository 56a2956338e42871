/* run_choice.h - the default run and engine of a question. */
#pragma once

#include <limits.h>

#include "exporters/ranks/ask.h"
#include "exporters/ranks/coverage.h"
#include "exporters/ranks/manifests.h"
#include "exporters/ranks/packs.h"
#include "exporters/ranks/superseded_rows.h"

struct chosen {
	char run[256];
	char folder[PATH_MAX];
	struct older older;
	struct packs packs;
	struct coverage coverage;
};

/*
 * The run that @a names, else the newest of the dataset; @a then refers to @to, as it does for the folder's full path and for rows
 * that are older. 0, or an exit status after one line on stderr.
 */
int choose_run(const char *command, struct ask *a, struct chosen *to);
int choose_engine(const char *command, struct ask *a);
void choose_free(struct chosen *c);
