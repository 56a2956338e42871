/*
 * nsysrep_make.c - writes a report in the format of Nsight Systems: nsysrep_make FILE [MB [VERSION]].
 *
 * Events of all kinds as a training loop has them, in blocks of 1 MiB, until the file has about MB megabytes; without MB, of each kind
 * a few. Nothing of it is kept in memory.
 */
#include <err.h>

#include "tests/unit/read/nsysrep_make.h"

#define BLOCK  (1u << 20)
#define NAMES  400u
#define HEADER 64u /* bytes of the header, filled up with a field that readers skip */

static FILE *out;
static struct rep r;
static struct proto m;
static uint64_t clock_ns, random_state = 88172645463325252ull;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

static uint64_t later(uint64_t most)
{
	return clock_ns += 1 + next_random() % most;
}

static void put(const struct proto *p)
{
	if (fwrite(p->buf, 1, proto_len(p), out) != proto_len(p))
		err(1, "write");
}

static void flush_block(struct proto *records)
{
	struct proto packed;

	proto_init(&packed);
	if (proto_len(records))
		rep_block(&packed, records->buf, proto_len(records), 0);
	put(&packed);
	proto_free(&packed);
	proto_reset(records);
}

static void call(uint64_t class, uint64_t thread, uint64_t id, bool has_frames)
{
	uint64_t start = later(3000);

	REP_FIELDS(&m, 1, start, 2, start + 500 + next_random() % 20000, 3, id, 6, class, 7,
		   1 + next_random() % NAMES, 8, 0, 13, REP_TID + thread);
	for (uint64_t i = 0; has_frames && i < 8; i++)
		rep_frame(&m, 15, 1 + next_random() % NAMES, 1 + i, next_random() >> 17);
	if (class == 27)
		REP_FIELDS(&m, 20, 0, 42, 0);
	rep_event(&r, 48, 108, &m);
}

/* A launch, its kernel, every eighth time a copy and a wait; calls of libc, switches, a sample, a range. */
static void step(uint64_t i)
{
	uint64_t start;

	call(0, i % 8, i, false);
	start = clock_ns + 5000;
	REP_WORK(&r, 79, 101, start, start + 2000 + next_random() % 100000, i, 1, 1 + i % NAMES, 2,
		 1 + i % 50, 3, 1 + i % NAMES, 10, 1 + i % 4096, 11, 1, 12, 1, 13, 256, 14, 1, 15,
		 1, 16, 0, 17, 49152, 18, 0, 19, 30146560, 20, i, 21, 64, 22, 65536, 23, 1, 24, 1,
		 28, 0);
	if (i % 8 == 0) {
		call(1, i % 8, i + (1u << 30), false);
		REP_WORK(&r, 80, 102, start, start + next_random() % 90000, i + (1u << 30), 1,
			 next_random() % (1u << 24), 2, 1 + i % 2, 4, 0, 5, 2, 16, 1);
		REP_WORK(&r, 106, 105, start, start + next_random() % 90000, i, 1, 0xffffffff, 2, 3,
			 3, 0xffffffff);
	}
	call(27, i % 8, 0, i % 16 == 0);
	for (uint64_t k = 0; k < 2; k++) {
		REP_FIELDS(&m, 1, later(2000), 3, i % 16, 4, k, 5, 0, 6, REP_TID + i % 8, 7, 1);
		rep_event(&r, 41, 106, &m);
	}
	if (i % 32 == 0) {
		size_t at;

		REP_FIELDS(&m, 1, later(2000), 3, i % 16, 6, 1, 11, REP_TID + i % 8);
		for (uint64_t k = 0; k < 12; k++)
			rep_frame(&m, 4, 1 + next_random() % NAMES, 1 + k, next_random() >> 17);
		at = proto_open(&m, 5);
		REP_FIELDS(&m, 1, 1, 2, 1);
		proto_close(&m, at);
		rep_event(&r, 31, 104, &m);
	}
	if (i % 4 == 0) {
		REP_FIELDS(&m, 1, 59, 2, later(100), 9, REP_TID + i % 8, 10, clock_ns + 100000, 12,
			   1 + i % NAMES, 13, 0, 14, 1);
		rep_event(&r, 59, 102, &m);
	}
	if (i % 4096 == 0) {
		REP_FIELDS(&m, 2, REP_PID + (i << 24));
		proto_bytes(&m, 5, "/usr/bin/python3", 16);
		proto_bytes(&m, 6, "python3", 7);
		rep_event(&r, 27, 113, &m);
	}
}

static void write_header(void)
{
	struct proto h;

	proto_init(&h);
	rep_header(&r, &h);
	proto_bytes(&h, 15, "................................................................",
		    HEADER - proto_len(&h) - 2);
	put(&h);
	proto_free(&h);
}

static void write_message(const struct proto *p)
{
	struct proto length;

	proto_init(&length);
	rep_length(&length, proto_len(p));
	put(&length);
	put(p);
	proto_free(&length);
}

static void write_contents(double megabytes)
{
	struct proto length;
	char name[160];
	long header;
	uint64_t i = 0;

	proto_init(&length);
	fputs("QDTEXT00", out);
	write_message(&r.target);
	rep_length(&length, HEADER);
	put(&length);
	header = ftell(out);
	write_header();
	while (i < 64 || (double)ftell(out) < megabytes * 1e6) {
		step(i++);
		if (proto_len(&r.events) >= BLOCK)
			flush_block(&r.events);
	}
	flush_block(&r.events);
	while (r.string_cnt <= NAMES) {
		snprintf(name, sizeof(name),
			 "void at::native::vectorized_elementwise_kernel<%u, float, "
			 "std::array<char*, "
			 "%uul>>(int, float)",
			 (unsigned)r.string_cnt, (unsigned)r.string_cnt % 7);
		rep_string(&r, name);
	}
	rep_stream(&r, REP_PID, 1, 2);
	flush_block(&r.strings);
	write_message(&r.names);
	write_message(&r.gpus);
	fseek(out, header, SEEK_SET);
	write_header();
	fseek(out, 0, SEEK_END);
	proto_free(&length);
}

static void add_part(struct proto *directory, const char *name, long at, long end)
{
	size_t part = proto_open(directory, 1);

	proto_bytes(directory, 1, name, strlen(name));
	proto_uint(directory, 2, (uint64_t)at);
	proto_uint(directory, 3, (uint64_t)(end - at));
	proto_close(directory, part);
}

int main(int argc, char **argv)
{
	struct proto directory;
	uint64_t at;
	long begin;

	out = argc > 1 ? fopen(argv[1], "w+") : NULL;
	if (!out)
		err(1, "usage: nsysrep_make FILE [MB [VERSION]]");
	rep_init(&r);
	proto_init(&m);
	proto_init(&directory);
	rep_basics(&r);
	fprintf(out, "NVIDIA Tegra Profiler Report %s", argc > 3 ? argv[3] : r.version);
	begin = ftell(out);
	write_contents(argc > 2 ? atof(argv[2]) : 0);
	add_part(&directory, "Raw Sampling Data", begin, ftell(out));
	begin = ftell(out);
	proto_reset(&m);
	proto_bytes(&m, 6, r.product, strlen(r.product));
	put(&m);
	add_part(&directory, "UI Data", begin, ftell(out));
	at = (uint64_t)ftell(out);
	put(&directory);
	fwrite(&at, 8, 1, out);
	fputs("U3w[END]", out);
	printf("%llu events, %llu strings\n", (unsigned long long)r.event_cnt,
	       (unsigned long long)r.string_cnt);
	return fclose(out) == 0 ? 0 : 1;
}
