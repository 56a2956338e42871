/* recover.c - what lies beside a report that is not finished: names of rings, and a rollback journal. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/report/db.h"
#include "collector/session/ring_file.h"
#include "collector/session/saved_rings.h"
#include "collector/session/session.h"

/* A name that is taken for one of a ring or a segment is that which is written for it. */
static void run_saved(const uint8_t *data, size_t len)
{
	char text[256], again[RING_NAME_MAX];
	struct ring_name n;
	uint32_t index;
	int fd;

	if (len >= sizeof(text))
		return;
	memcpy(text, data, len);
	text[len] = 0;
	if (ring_name_parse(text, &n)) {
		ring_name_make(&n, again);
		if (strcmp(text, again) != 0)
			abort();
	}
	if (saved_rings_is_segment(text, &index) && strchr(text, '/'))
		abort();
	fd = session_folder_open(text);
	if (fd >= 0)
		close(fd);
	session_variable_cut(text);
}

static size_t seed_saved(unsigned i, uint8_t to[FUZZ_SEED_MAX])
{
	static const char *const texts[] = {"1-4711-4711.ring",
					    "16.spool",
					    "/tmp/sightline-0-0123abcd",
					    "/tmp/sightline-0-0123abcd:fd01:12f",
					    "../1-2-3.ring",
					    NULL};

	return fuzz_text_seed(texts, i, to);
}

const struct fuzz_target fuzz_saved = {"saved", run_saved, seed_saved, NULL};

/* ---- a journal: whatever it names stays ---- */

static char report[128], journal[160], precious[128];
static uint8_t *begun;
static size_t begun_len;

static void make_report(void)
{
	struct db_open how = {.path = report, .overwrite = true};
	char why[512];
	struct stat st;
	struct db *db;
	FILE *f;

	snprintf(report, sizeof(report), "%s/r.sqlite", fuzz_dir());
	snprintf(journal, sizeof(journal), "%s-journal", report);
	snprintf(precious, sizeof(precious), "%s/precious", fuzz_dir());
	db = db_open(&how, why, sizeof(why));
	if (!db)
		abort();
	db_settle(db);
	db_abandon(db);
	f = fopen(report, "rb");
	if (!f || stat(report, &st) < 0 || !(begun = malloc((size_t)st.st_size)))
		abort();
	begun_len = fread(begun, 1, (size_t)st.st_size, f);
	fclose(f);
	fuzz_file(precious, "precious", 8);
}

static void run_journal(const uint8_t *data, size_t len)
{
	struct db_open how = {.path = report, .resume = true, .is_scratch = true};
	char why[512];
	struct db *db;

	db_unlink(report);
	fuzz_file(report, begun, begun_len);
	fuzz_file(journal, data, len);
	db = db_open(&how, why, sizeof(why));
	db_abandon(db);
	if (access(precious, F_OK) < 0)
		abort();
}

/* Its end as SQLite writes it: number of the lock page, the name, its length and sum, the mark. */
static size_t seed_journal(unsigned i, uint8_t to[FUZZ_SEED_MAX])
{
	static const uint8_t mark[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
	size_t at = 512, len = strlen(precious);
	uint32_t sum = 0;

	if (i > 1)
		return 0;
	memset(to, 0, at);
	memcpy(to, mark, sizeof(mark));
	to[19] = 0x80; /* pages, as the file has */
	to[22] = 2;    /* sectors of 512 bytes */
	to[26] = 0x10; /* pages of 4096 */
	if (i == 1)
		return at;
	to[at] = to[at + 1] = 0;
	to[at + 2] = 4;
	to[at + 3] = 1;
	memcpy(to + at + 4, precious, len);
	for (size_t k = 0; k < len; k++)
		sum += (uint8_t)precious[k];
	at += 4 + len;
	for (int k = 0; k < 4; k++) {
		to[at + (size_t)k] = (uint8_t)(len >> (24 - 8 * k));
		to[at + 4 + (size_t)k] = (uint8_t)(sum >> (24 - 8 * k));
	}
	memcpy(to + at + 8, mark, sizeof(mark));
	return at + 16;
}

const struct fuzz_target fuzz_journal = {"journal", run_journal, seed_journal, make_report};
