/* dataset.c - a folder that ranks share (exporters/ranks): names in it, manifests, ends of Parquet files. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporters/ranks/dataset.h"
#include "exporters/ranks/manifests.h"
#include "exporters/ranks/packs.h"

static char folder[128], node[192], part[192], all[192];

static void make_folders(void)
{
	char path[160];

	snprintf(folder, sizeof(folder), "%s/dataset", fuzz_dir());
	snprintf(node, sizeof(node), "%s/_nodes/run=R/node=N.json", folder);
	snprintf(all, sizeof(all), "%s/_nodes/run=R/" PACKS_MANIFEST, folder);
	snprintf(part, sizeof(part), "%s/SL_STEPS/run=R/node=N/part-0.parquet", folder);
	for (int i = 0; i < 2; i++) {
		const char *file = i ? part : node;

		for (const char *slash = strchr(file + 1, '/'); slash;
		     slash = strchr(slash + 1, '/')) {
			snprintf(path, sizeof(path), "%.*s", (int)(slash - file), file);
			mkdir(path, 0700);
		}
	}
}

/* All that readers ask a manifest; what goes into names and statements are words. */
static void read_all(void)
{
	static const char *const queries[] = {
		"SELECT run, node, * FROM manifest", "SELECT run, node, * FROM rank",
		"SELECT run, node, * FROM file WHERE node <> '(packed)'", "SELECT * FROM bad"};
	struct packs packs;
	char why[512];
	sqlite3 *db = manifests_read(folder, NULL, why, sizeof(why));

	if (!db)
		return;
	for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++) {
		sqlite3_stmt *stmt = NULL;

		sqlite3_prepare_v2(db, queries[i], -1, &stmt, NULL);
		while (stmt && sqlite3_step(stmt) == SQLITE_ROW)
			for (int c = 0; c < 2 && i < 3; c++)
				if (!dataset_word((const char *)sqlite3_column_text(stmt, c)))
					abort();
		sqlite3_finalize(stmt);
	}
	if (packs_find(db, &packs) == SQLITE_OK)
		for (size_t i = 0; i < packs.cnt; i++)
			if (strpbrk(packs.list[i].folder, "'\\ ") ||
			    strspn(packs.list[i].nodes, "'\\") > 1)
				abort();
	packs_free(&packs);
	manifests_check_files(db, folder, true);
	sqlite3_close(db);
}

static void run_manifest(const uint8_t *data, size_t len)
{
	fuzz_file(part, "PAR1PAR1", 8);
	fuzz_file(node, data, len);
	read_all();
	/* As the manifest of a pack. */
	fuzz_file(all, data, len);
	read_all();
	unlink(all);
}

static size_t seed_manifest(unsigned i, uint8_t to[FUZZ_SEED_MAX])
{
	static const char *const texts[] = {
		"{\"version\": 1, \"job\": \"4711\", \"start\": 17, \"end\": 99, \"lost\": 0, "
		"\"synchronized\": 1, "
		"\"maxErrorNs\": 1000, \"ranks\": [{\"rank\": 0, \"restart\": 0, \"worldSize\": 2, "
		"\"host\": \"g017\", "
		"\"complete\": 1, \"lost\": 0, \"steps\": 3, \"gpu\": \"H100\", \"report\": "
		"\"r.sqlite\"}], "
		"\"files\": [{\"table\": \"SL_STEPS\", \"rows\": 3, \"bytes\": 8}]}",
		"{\"ranks\": [], \"files\": [{\"table\": \"../../x\", \"bytes\": 8}, 7, null]}",
		"{\"generation\": \"g-1\", \"parts\": [{\"node\": \"M\", \"ranks\": [{\"rank\": "
		"1}]}], "
		"\"files\": [{\"table\": \"SL_STEPS\", \"bytes\": 8}]}",
		"[]", NULL};

	return fuzz_text_seed(texts, i, to);
}

const struct fuzz_target fuzz_manifest = {"manifest", run_manifest, seed_manifest, make_folders};

/* A file with the length that is in its manifest. */
static void run_parquet(const uint8_t *data, size_t len)
{
	char text[128];

	snprintf(text, sizeof(text),
		 "{\"files\": [{\"table\": \"SL_STEPS\", \"rows\": 1, \"bytes\": %zu}]}", len);
	fuzz_file(part, data, len);
	fuzz_file(node, text, strlen(text));
	read_all();
}

static size_t seed_parquet(unsigned i, uint8_t to[FUZZ_SEED_MAX])
{
	static const char *const texts[] = {"PAR1PAR1", "PAR1.......\x07___PAR1", "PAR", NULL};

	return fuzz_text_seed(texts, i, to);
}

const struct fuzz_target fuzz_parquet = {"parquet", run_parquet, seed_parquet, make_folders};

/* A folder of a run and a manifest of this name. */
static void run_names(const uint8_t *data, size_t len)
{
	char name[200], dir[400], file[640];

	if (!len || len >= sizeof(name) || memchr(data, 0, len) || memchr(data, '/', len))
		return;
	memcpy(name, data, len);
	name[len] = 0;
	snprintf(dir, sizeof(dir), "%s/_nodes/run=%s", folder, name);
	snprintf(file, sizeof(file), "%s/node=%s.json", dir, name);
	mkdir(dir, 0700);
	if (strlen(name) < 200)
		fuzz_file(file, "{}", 2);
	read_all();
	unlink(file);
	rmdir(dir);
}

static size_t seed_names(unsigned i, uint8_t to[FUZZ_SEED_MAX])
{
	static const char *const texts[] = {
		"4711", "x' ); --", "\\'\n!touch x;", "..", "run-1.2_3+4", "\x1b]0;x\x07", NULL};

	return fuzz_text_seed(texts, i, to);
}

const struct fuzz_target fuzz_names = {"names", run_names, seed_names, make_folders};
