/*
 * packs.h - runs whose parts are packed: one file per table in "_packed/run=RUN/GENERATION", and one manifest for all of their nodes,
 * "_nodes/run=RUN/all.json", which names the generation and holds the manifests of the parts.
 *
 * A packed file has the columns of its table and node. A node that has a manifest of its own was added again: its rows in the
 * pack do not count, unless both manifests are equal: then its files are a remainder.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "exporters/read/db_read.h"

#define PACKS_MANIFEST "all.json"

struct pack {
	char *run;
	char *folder;   /* "_packed/run=RUN/GENERATION", below the dataset */
	char *tables;   /* " SL_RANKS SL_STEPS ": those with a file */
	char *nodes;    /* "'a', 'b'": whose rows count */
	char *replaced; /* likewise: whose rows do not; NULL: none */
	bool is_whole;  /* all of the run counts from the pack */
};

struct packs {
	struct pack *list;
	size_t cnt;
};

/* Tables pack, packed and pack_file of a database of manifests; empty. */
extern const char packs_tables[];
/* Reads the manifest of the run's pack, if there is one: its parts become rows of text. SQLite's result code. */
int packs_read(sqlite3 *manifests, const char *folder, const char *run);
/* Is the manifest that of a part of the pack? Else that part does not count from now on. Before the manifest is put into text. */
bool packs_has(sqlite3 *manifests, const char *run, const char *node, const char *json);

/* The packs of manifests_read(). SQLite's result code. */
int packs_find(sqlite3 *manifests, struct packs *p);
void packs_free(struct packs *p);
/* Has it a file of the table? */
bool pack_has_table(const struct pack *p, const char *table);
