/* nsysrep.c - reports of Nsight Systems (exporters/read/nsysrep): the file as it is, and records behind whole blocks. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "exporters/read/nsysrep/nsysrep.h"
#include "tests/unit/read/nsysrep_make.h"

/* What was made is a sound database, whatever the report was. */
static void check_made(const char *path)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &stmt, NULL) != SQLITE_OK ||
	    sqlite3_step(stmt) != SQLITE_ROW ||
	    strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") != 0)
		abort();
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

static void read_file(const void *data, size_t len)
{
	char report[128], made[128], why[NSYSREP_WHY] = "", notes[NSYSREP_WHY] = "";

	snprintf(report, sizeof(report), "%s/x.nsys-rep", fuzz_dir());
	snprintf(made, sizeof(made), "%s/x.sqlite", fuzz_dir());
	fuzz_file(report, data, len);
	unlink(made);
	fuzz_file(made, "", 0);
	if (nsysrep_convert(report, made, NULL, notes, why) == 0)
		check_made(made);
	else if (!*why)
		abort();
}

static void run_file(const uint8_t *data, size_t len)
{
	read_file(data, len);
}

static size_t keep(const struct rep *r, uint8_t to[FUZZ_SEED_MAX])
{
	struct proto file;
	size_t len;

	proto_init(&file);
	rep_make(r, &file);
	len = proto_len(&file) < FUZZ_SEED_MAX ? proto_len(&file) : FUZZ_SEED_MAX;
	memcpy(to, file.buf, len);
	proto_free(&file);
	return len;
}

static void add_all(struct rep *r)
{
	struct proto m;

	proto_init(&m);
	rep_call(r, 0, 1, 100, 200, 9);
	REP_WORK(r, 79, 101, 10, 20, 9, 1, 3, 2, 4, 10, 64, 13, 256);
	REP_WORK(r, 80, 102, 30, 40, 10, 1, 4096, 2, 1);
	REP_WORK(r, 106, 105, 70, 80, 12, 1, 6, 2, 3);
	REP_FIELDS(&m, 1, 10, 2, 15, 6, 27, 7, 2, 13, REP_TID);
	rep_frame(&m, 15, 1, 4, 1);
	rep_event(r, 48, 108, &m);
	REP_FIELDS(&m, 2, REP_PID);
	proto_bytes(&m, 5, "./prog -x", 9);
	rep_event(r, 27, 113, &m);
	rep_stream(r, REP_PID, 1, 4);
	proto_bytes(&r->options, 1, "Local", 5);
	proto_bytes(&r->options, 26, "\x08\x04\x52\x01x", 5);
	proto_free(&m);
}

static size_t seed_file(unsigned i, uint8_t to[FUZZ_SEED_MAX])
{
	struct rep r;
	size_t len;

	if (i > 2)
		return 0;
	rep_init(&r);
	rep_basics(&r);
	if (i > 0)
		add_all(&r);
	if (i > 1)
		r.version = "1.";
	len = keep(&r, to);
	rep_free(&r);
	return len;
}

/* The input as messages of a file that is whole: packing, offsets and counts do not hide them. The first byte chooses the message. */
static void run_records(const uint8_t *data, size_t len)
{
	struct rep r;
	struct proto file, m;

	if (len < 1)
		return;
	rep_init(&r);
	proto_init(&file);
	proto_init(&m);
	if (data[0] % 4 != 1)
		rep_basics(&r);
	if (data[0] & 0x80)
		r.version = "2023@1@1@1-1v0.";
	switch (data[0] % 4) {
	case 0: /* an event */
		rep_record(&r.events, 1, data + 1, len - 1);
		r.event_cnt = 1;
		break;
	case 1: /* the target */
		rep_raw(&r.target, data + 1, len - 1);
		break;
	case 2:
		rep_raw(&r.options, data + 1, len - 1);
		break;
	default:
		rep_raw(&r.gpus, data + 1, len - 1);
		rep_raw(&r.clocks, data + 1, len - 1);
	}
	rep_make(&r, &file);
	read_file(file.buf, proto_len(&file));
	proto_free(&file);
	proto_free(&m);
	rep_free(&r);
}

/* The parts of the seeds of files, each behind its byte. */
static size_t seed_records(unsigned i, uint8_t to[FUZZ_SEED_MAX])
{
	struct rep r;
	struct proto m;
	const struct proto *from[4];
	size_t len;

	if (i > 3)
		return 0;
	rep_init(&r);
	proto_init(&m);
	add_all(&r);
	rep_basics(&r);
	REP_FIELDS(&m, 1, 48);
	from[0] = &m;
	from[1] = &r.target;
	from[2] = &r.options;
	from[3] = &r.names;
	to[0] = (uint8_t)i;
	len = proto_len(from[i]);
	memcpy(to + 1, from[i]->buf, len);
	if (i == 0) { /* an event behind its length and field */
		len = proto_len(&r.events) - 3;
		memcpy(to + 1, r.events.buf + 3, len);
	}
	proto_free(&m);
	rep_free(&r);
	return len + 1;
}

const struct fuzz_target fuzz_nsys_file = {"nsys_file", run_file, seed_file, NULL};
const struct fuzz_target fuzz_nsys_records = {"nsys_records", run_records, seed_records, NULL};
