/* fmt_out.c - the way out of an export: what the buffer passes on and when, packers, failures. */
#include "fmt_test.h"

#include <errno.h>
#include <zlib.h>
#include <zstd.h>

#include "exporters/formats/out.h"

static int fd_of_memory(int *copy)
{
	int fd = memfd_create("out", 0);

	*copy = dup(fd);
	assert_true(fd >= 0 && *copy >= 0);
	return fd;
}

static void what_is_written_comes_out(void **state)
{
	struct out o;
	int copy;

	(void)state;
	assert_int_equal(out_open(&o, fd_of_memory(&copy), OUT_PLAIN), 0);
	out_literal(&o, "one ");
	out_text(&o, "two ");
	out_write(&o, "\0x", 2);
	assert_int_equal(lseek(copy, 0, SEEK_END), 0); /* all of it waits */
	assert_int_equal(o.bytes, 0);
	out_flush(&o);
	assert_int_equal(lseek(copy, 0, SEEK_END), 10);
	assert_int_equal(o.bytes, 10);
	assert_ptr_equal(o.p, o.buf);
	memcpy(out_room(&o, 3), "end", 3);
	o.p += 3;
	assert_int_equal(out_close(&o), 0);
	assert_int_equal(out_close(&o), 0); /* nothing is written again */
	fmt_read_fd(copy);
	close(copy);
	assert_int_equal(fmt_len, 13);
	assert_memory_equal(fmt_text, "one two \0xend", 13);
}

static void room_is_made_when_it_is_short(void **state)
{
	struct out o;
	int copy;

	(void)state;
	assert_int_equal(out_open(&o, fd_of_memory(&copy), OUT_PLAIN), 0);
	o.p += o.size - 10;
	memset(o.buf, 'a', o.size - 10);
	assert_ptr_equal(out_room(&o, 10), o.end - 10); /* just fits */
	assert_ptr_equal(out_room(&o, 11), o.buf);
	assert_int_equal(o.bytes, o.size - 10);
	assert_int_equal(out_close(&o), 0);
	close(copy);
}

/* Pieces around the buffer's size and half of it, in three orders, against one long text. */
static void pieces_of_every_size(void **state)
{
	static const size_t sizes[] = {1,      131071, 131072, 131073, 262143,
				       262144, 262145, 5,      700000};
	const size_t cnt = sizeof(sizes) / sizeof(sizes[0]);
	char *data = malloc(3000000);

	(void)state;
	for (size_t i = 0; i < 3000000; i++)
		data[i] = (char)(i * 7 + i / 251);
	for (size_t step = 1; step <= 4; step += step == 1 ? 1 : 2) {
		size_t at = 0;
		struct out o;
		int copy;

		assert_int_equal(out_open(&o, fd_of_memory(&copy), OUT_PLAIN), 0);
		for (size_t i = 0; i < cnt; i++) {
			out_write(&o, data + at, sizes[i * step % cnt]);
			at += sizes[i * step % cnt];
			assert_int_equal(o.bytes + (size_t)(o.p - o.buf), at);
		}
		assert_int_equal(out_close(&o), 0);
		assert_int_equal(o.bytes, at);
		fmt_read_fd(copy);
		close(copy);
		assert_int_equal(fmt_len, at);
		assert_memory_equal(fmt_text, data, at);
	}
	free(data);
}

static void fill(struct out *o, size_t len)
{
	uint32_t seed = 1;

	for (size_t i = 0; i < len; i++) {
		char c = (char)('a' + (seed >> 24) % 20);

		seed = seed * 1664525 + 1013904223;
		out_write(o, &c, 1);
	}
}

/* 2 MB that hardly pack: more than the packer's own buffer, in many calls of it. */
#define FILLED ((size_t)2000000)

static void is_filled(const char *text, size_t len)
{
	uint32_t seed = 1;

	assert_int_equal(len, FILLED);
	for (size_t i = 0; i < len; i++) {
		assert_int_equal(text[i], 'a' + (seed >> 24) % 20);
		seed = seed * 1664525 + 1013904223;
	}
}

static void gzip_is_unpacked(void **state)
{
	char *back = malloc(FILLED + 10);
	z_stream z = {0};
	struct out o;
	int copy;

	(void)state;
	assert_int_equal(out_open(&o, fd_of_memory(&copy), OUT_GZIP), 0);
	fill(&o, FILLED);
	assert_int_equal(out_close(&o), 0);
	assert_int_equal(o.bytes, FILLED); /* before packing */
	fmt_read_fd(copy);
	close(copy);
	assert_true(fmt_len < FILLED);
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_in = (unsigned char *)fmt_text;
	z.avail_in = (unsigned)fmt_len;
	z.next_out = (unsigned char *)back;
	z.avail_out = (unsigned)FILLED + 10;
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.avail_in, 0);
	is_filled(back, z.total_out);
	inflateEnd(&z);
	free(back);
}

static void zstd_is_unpacked(void **state)
{
	char *back = malloc(FILLED + 10);
	struct out o;
	size_t got;
	int copy;

	(void)state;
	assert_int_equal(out_open(&o, fd_of_memory(&copy), OUT_ZSTD), 0);
	fill(&o, FILLED);
	assert_int_equal(out_close(&o), 0);
	fmt_read_fd(copy);
	close(copy);
	assert_true(fmt_len < FILLED);
	got = ZSTD_decompress(back, FILLED + 10, fmt_text, fmt_len);
	assert_false(ZSTD_isError(got));
	is_filled(back, got);
	/* A checksum guards it: bit 2 of the frame's descriptor. */
	assert_int_equal(fmt_text[4] & 4, 4);
	free(back);
}

static void nothing_packed_is_a_whole_file(void **state)
{
	char back[8];
	z_stream z = {0};
	struct out o;
	int copy;

	(void)state;
	assert_int_equal(out_open(&o, fd_of_memory(&copy), OUT_ZSTD), 0);
	assert_int_equal(out_close(&o), 0);
	fmt_read_fd(copy);
	close(copy);
	assert_int_equal(ZSTD_decompress(back, sizeof(back), fmt_text, fmt_len), 0);
	assert_int_equal(out_open(&o, fd_of_memory(&copy), OUT_GZIP), 0);
	assert_int_equal(out_close(&o), 0);
	fmt_read_fd(copy);
	close(copy);
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_in = (unsigned char *)fmt_text;
	z.avail_in = (unsigned)fmt_len;
	z.next_out = (unsigned char *)back;
	z.avail_out = sizeof(back);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	assert_int_equal(z.total_out, 0);
	inflateEnd(&z);
}

/* The first failure is what closing returns; what comes after it is dropped, and counted. */
static void a_full_disk_is_the_result_of_closing(void **state)
{
	static const enum out_packing all[] = {OUT_PLAIN, OUT_GZIP, OUT_ZSTD};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct out o;

		assert_int_equal(out_open(&o, open("/dev/full", O_WRONLY), all[i]), 0);
		fill(&o, FILLED);
		assert_int_equal(o.err, ENOSPC);
		assert_int_equal(out_close(&o), -ENOSPC);
		assert_int_equal(out_close(&o), -ENOSPC);
		assert_int_equal(o.bytes, FILLED);
	}
}

static void the_first_failure_is_kept(void **state)
{
	int fd = open("/dev/full", O_WRONLY);
	struct out o;

	(void)state;
	assert_int_equal(out_open(&o, fd, OUT_PLAIN), 0);
	out_literal(&o, "x");
	out_flush(&o);
	assert_int_equal(o.err, ENOSPC);
	close(fd); /* now it would be EBADF */
	out_literal(&o, "y");
	out_flush(&o);
	assert_int_equal(out_close(&o), -ENOSPC);
	/* Closing fails where writing did not. */
	fd = memfd_create("out", 0);
	assert_int_equal(out_open(&o, fd, OUT_PLAIN), 0);
	close(fd);
	assert_int_equal(out_close(&o), -EBADF);
}

static void packing_goes_by_the_end_of_the_name(void **state)
{
	static const struct {
		const char *name;
		enum out_packing packing;
	} names[] = {
		{"a.json", OUT_PLAIN}, {"a.json.gz", OUT_GZIP}, {"a.json.zst", OUT_ZSTD},
		{".gz", OUT_PLAIN},    {"x.gz", OUT_GZIP},      {"gz", OUT_PLAIN},
		{"a.gz.b", OUT_PLAIN}, {"a.GZ", OUT_PLAIN},     {".zst", OUT_PLAIN},
		{"", OUT_PLAIN},       {"a.zst", OUT_ZSTD},     {"a.zstd", OUT_PLAIN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		enum out_packing packing = (enum out_packing)77;

		assert_true(out_packing_of(names[i].name, &packing, fmt_why, sizeof(fmt_why)));
		assert_int_equal(packing, names[i].packing);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_comes_out),
		cmocka_unit_test(room_is_made_when_it_is_short),
		cmocka_unit_test(pieces_of_every_size),
		cmocka_unit_test(gzip_is_unpacked),
		cmocka_unit_test(zstd_is_unpacked),
		cmocka_unit_test(nothing_packed_is_a_whole_file),
		cmocka_unit_test(a_full_disk_is_the_result_of_closing),
		cmocka_unit_test(the_first_failure_is_kept),
		cmocka_unit_test(packing_goes_by_the_end_of_the_name),
	};

	return cmocka_run_group_tests(tests, fmt_set_up, fmt_tear_down);
}
