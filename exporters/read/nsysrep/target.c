/* target.c - times of the recording; threads, GPUs, contexts and streams. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exporters/read/nsysrep/target.h"

#define SECOND_NS 1000000000
#define MILLI_NS  1000000

/* ---- times ---- */

/* Clocks by the numbers that offsets name. */
enum clock {
	CLOCK_OF_EVENTS = 1,
	CLOCK_MONOTONIC_OF_TARGET = 3,
	CLOCK_SESSION = 7,
	CLOCK_UTC = 9,
	CLOCK_LOCAL = 10,
};

struct times {
	bool has_start, has_utc, has_local;
	int64_t start, stop; /* as ANALYSIS_DETAILS has them */
	int64_t utc, local;  /* at the start, ns */
};

/* A number as text, of up to 20 digits; of one beyond 63 bits the lower 64. */
static int64_t number_of(const struct wire_field *f)
{
	uint64_t value = 0;
	bool negative = f->len > 0 && f->data[0] == '-';

	for (size_t i = negative; i < f->len && f->data[i] >= '0' && f->data[i] <= '9'; i++)
		value = value * 10 + (uint64_t)(f->data[i] - '0');
	return (int64_t)(negative ? 0 - value : value);
}

/* The difference between two clocks, of the list in field 16. */
static bool find_offset(const struct nr_bytes *target, enum clock from, enum clock to, int64_t *ns)
{
	struct wire_field list, each, a, b, text;
	struct wire in;

	if (!wire_find(wire_of(target->data, target->len), 16, &list))
		return false;
	in = wire_in(&list);
	while (wire_next(&in, &each)) {
		struct wire offset = wire_in(&each);

		if (!wire_find(offset, 1, &a) || !wire_find(offset, 2, &b) ||
		    !wire_find(offset, 5, &text) || a.value != (uint64_t)from ||
		    b.value != (uint64_t)to)
			continue;
		*ns = number_of(&text);
		return true;
	}
	return false;
}

static void times_of_offsets(struct times *t, const struct nr_bytes *target)
{
	int64_t session, utc, monotonic, local;

	if (find_offset(target, CLOCK_SESSION, CLOCK_OF_EVENTS, &session)) {
		/* Where the start is cut to ms, the end is, too. */
		if (t->start != -session)
			t->stop -= t->stop % MILLI_NS;
		t->start = -session;
	}
	if (!find_offset(target, CLOCK_MONOTONIC_OF_TARGET, CLOCK_UTC, &utc) ||
	    !find_offset(target, CLOCK_OF_EVENTS, CLOCK_MONOTONIC_OF_TARGET, &monotonic))
		return;
	t->utc = t->start - utc - monotonic;
	t->has_utc = true;
	t->has_local = find_offset(target, CLOCK_UTC, CLOCK_LOCAL, &local);
	if (t->has_local)
		t->local = t->utc - local;
}

/*
 * Since 2025.6: pairs of clocks, each with times of both at one moment. Clocks have random ids and a kind: 15 is the session's, whose
 * zero is the start, 12 the local time, 11 the system's.
 */
enum clock_kind {
	KIND_UTC = 11,
	KIND_LOCAL = 12,
};

struct clock_id {
	uint8_t id[16];
	bool is_known;
};

static struct clock_id clock_of_kind(const struct nr_bytes *clocks, enum clock_kind kind)
{
	struct clock_id found = {0};
	struct wire_field list, each, id, k;
	struct wire in;

	if (!wire_find(wire_of(clocks->data, clocks->len), 1, &list))
		return found;
	in = wire_in(&list);
	while (wire_next(&in, &each))
		if (wire_find(wire_in(&each), 1, &id) && id.len == 16 &&
		    wire_find(wire_in(&each), 2, &k) && k.value == (uint64_t)kind) {
			memcpy(found.id, id.data, 16);
			found.is_known = true;
		}
	return found;
}

/* Times of clock @id and of the clock that it is converted to. */
static bool find_pair(const struct nr_bytes *clocks, const struct clock_id *id, int64_t *mine,
		      int64_t *other)
{
	struct wire_field list, each, from, point, at, value;
	struct wire in;

	if (!id->is_known || !wire_find(wire_of(clocks->data, clocks->len), 2, &list))
		return false;
	in = wire_in(&list);
	while (wire_next(&in, &each)) {
		struct wire pair = wire_in(&each);

		if (!wire_find(pair, 1, &from) || from.len != 16 ||
		    memcmp(from.data, id->id, 16) != 0 || !wire_find(pair, 3, &point) ||
		    !wire_find(wire_in(&point), 1, &at))
			continue;
		*mine = wire_find(wire_in(&at), 1, &value) ? (int64_t)value.value : 0;
		*other = wire_find(wire_in(&at), 2, &value) ? (int64_t)value.value : 0;
		return true;
	}
	return false;
}

static void times_of_clocks(struct times *t, const struct nr_bytes *clocks)
{
	struct clock_id utc = clock_of_kind(clocks, KIND_UTC);
	struct clock_id local = clock_of_kind(clocks, KIND_LOCAL);
	int64_t then, target, here;

	if (!find_pair(clocks, &utc, &then, &target))
		return;
	t->utc = then + t->start - target;
	t->has_utc = true;
	t->has_local = find_pair(clocks, &local, &here, &then);
	if (t->has_local)
		t->local = t->utc + (here - then);
}

static void iso(char *to, size_t size, int64_t ns)
{
	time_t seconds = (time_t)(ns / SECOND_NS);
	struct tm tm;

	*to = 0;
	if (gmtime_r(&seconds, &tm))
		strftime(to, size, "%Y-%m-%dT%H:%M:%S", &tm);
}

static int add_start(struct nr_tables *t, const struct times *times, unsigned release)
{
	static const char create[] =
		"CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, "
		"localTime TEXT";
	char utc[40], local[40], *sql = NULL;
	int rc;

	iso(utc, sizeof(utc), times->utc);
	iso(local, sizeof(local), times->local);
	sql = sqlite3_mprintf(
		"%s%s); INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (%lld, %Q, %Q", create,
		release >= 202601 ? ", systemClockNs INTEGER" : "", (long long)times->utc, utc,
		times->has_local ? local : NULL);
	if (sql && release >= 202601)
		sql = sqlite3_mprintf("%z, %lld)", sql, (long long)times->start);
	else if (sql)
		sql = sqlite3_mprintf("%z)", sql);
	rc = sql ? nr_tables_exec(t, sql) : -1;
	sqlite3_free(sql);
	return rc;
}

int nr_add_times(struct nr_tables *t, unsigned release, const struct nr_bytes *target,
		 const struct nr_bytes *clocks)
{
	struct wire all = wire_of(target->data, target->len);
	struct wire_field first, last, device, vm;
	struct times times = {0};
	char *sql;
	int rc = 0;

	times.has_start = wire_find(all, 17, &first) && wire_find(all, 18, &last);
	if (!times.has_start)
		return 0;
	times.start = (int64_t)first.value;
	times.stop = (int64_t)last.value;
	times_of_offsets(&times, target);
	if (!times.has_utc && clocks->len)
		times_of_clocks(&times, clocks);
	if (times.has_utc)
		rc = add_start(t, &times, release);
	vm.value = 0;
	if (wire_find(all, 1, &device))
		wire_find(wire_in(&device), 3, &vm);
	sql = rc == 0 ? sqlite3_mprintf(
				"INSERT INTO ANALYSIS_DETAILS VALUES (%lld, %lld, %lld, %lld)",
				(long long)vm.value, (long long)(times.stop - times.start),
				(long long)times.start, (long long)times.stop)
		      : NULL;
	if (rc == 0)
		rc = nr_tables_copy(t, "ANALYSIS_DETAILS");
	if (rc == 0)
		rc = sql ? nr_tables_exec(t, sql) : -1;
	sqlite3_free(sql);
	return rc;
}

/* ---- messages behind the events ---- */

static int add_message(struct nr_tables *t, enum nr_table_id id, const struct wire_field *f,
		       int64_t number)
{
	struct nr_fields fields;
	struct nr_row row = {.payload = &fields, .part = &fields, .number = number};

	nr_fields_read(&fields, wire_in(f));
	return nr_tables_add(t, id, &row);
}

int nr_add_threads(struct nr_tables *t, const struct nr_bytes *names, uint64_t *threads)
{
	struct wire all = wire_of(names->data, names->len);
	struct wire_field f;
	int rc = 0;

	while (rc == 0 && wire_next(&all, &f))
		if (f.number == 1 && f.is_bytes) {
			rc = add_message(t, NR_ThreadNames, &f, 0);
			++*threads;
		}
	return rc;
}

/* A machine: its id, and in a list its GPUs and the devices that CUDA makes of them. */
static int add_machine(struct nr_tables *t, const struct wire_field *machine)
{
	struct wire all = wire_in(machine);
	struct wire_field vm, list, f;
	int rc = 0;

	wire_find(all, 1, &vm);
	while (rc == 0 && wire_next(&all, &list)) {
		struct wire in = wire_in(&list);

		if (list.number != 2 || !list.is_bytes)
			continue;
		while (rc == 0 && wire_next(&in, &f)) {
			if (f.number == 7 && f.is_bytes)
				rc = add_message(t, NR_TARGET_INFO_GPU, &f, (int64_t)vm.value);
			else if (f.number == 9 && f.is_bytes)
				rc = add_message(t, NR_TARGET_INFO_CUDA_DEVICE, &f, 0);
		}
	}
	return rc;
}

int nr_add_gpus(struct nr_tables *t, const struct nr_bytes *gpus)
{
	struct wire all = wire_of(gpus->data, gpus->len);
	struct wire_field f;
	int rc = 0;

	while (rc == 0 && wire_next(&all, &f)) {
		if (!f.is_bytes)
			continue;
		if (f.number == 1)
			rc = add_machine(t, &f);
		else if (f.number == 15)
			rc = add_message(t, NR_TARGET_INFO_CUDA_STREAM, &f, 0);
		else if (f.number == 14 && nr_tables_has(t, NR_TARGET_INFO_CUDA_NULL_STREAM))
			rc = add_message(t, NR_TARGET_INFO_CUDA_NULL_STREAM, &f, 0);
		else if (f.number == 14)
			rc = add_message(t, NR_TARGET_INFO_CUDA_CONTEXT_INFO, &f, 0);
	}
	return rc;
}
