/* manifests.h - the manifests of a dataset's nodes, in a database: run, node and each rank by SQL. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "exporters/read/db_read.h"

/*
 * Tables of the database: manifest(run, node, job, start, end, lost, synchronized, maxErrorNs, version, unnamed), rank(run, node, rank,
 * restart, worldSize, host, complete, lost, steps, collectives, gpu, report, version), file(run, node, name, rows, bytes), bad(run,
 * node, why). @run NULL: of all. NULL after one sentence in @why; a folder without any gives empty tables.
 */
sqlite3 *manifests_read(const char *folder, const char *run, char *why, size_t why_len);
/*
 * The same of the node's own manifest, and of one other of the run that can be read: as many files for any number of nodes. A run or node
 * that is not there gives empty tables.
 */
sqlite3 *manifests_near(const char *folder, const char *run, const char *node, char *why,
			size_t why_len);

/*
 * Looks at each file that the manifests name: size, and Parquet's marks at both ends. One that is cut or not there gets a row
 * in bad. Before that it is looked at again under the part's lock, with the manifest of then: a writer may be at work. With @repair it
 * is moved to FOLDER/_bad, as one such file makes each query fail; without, nothing is written. SQLite's result code.
 */
int manifests_check_files(sqlite3 *db, const char *folder, bool repair);
