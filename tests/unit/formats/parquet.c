/* parquet.c - how Parquet's levels and differences are encoded, at their edges; where pages and row groups end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "exporters/formats/parquet_encode.h"
#include "exporters/formats/parquet_file.h"

static struct proto buf;

static int set_up(void **state)
{
	(void)state;
	return proto_init(&buf) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	proto_free(&buf);
	return 0;
}

#define is_bytes(...)                                             \
	do {                                                      \
		const unsigned char want[] = {__VA_ARGS__};       \
		assert_int_equal(proto_len(&buf), sizeof(want));  \
		assert_memory_equal(buf.buf, want, sizeof(want)); \
		proto_reset(&buf);                                \
	} while (0)

static void numbers(void **state)
{
	(void)state;
	put_varint(&buf, 0);
	put_varint(&buf, 127);
	put_varint(&buf, 128);
	put_varint(&buf, UINT64_MAX);
	is_bytes(0, 0x7F, 0x80, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1);
	assert_int_equal(zigzag(0), 0);
	assert_int_equal(zigzag(-1), 1);
	assert_int_equal(zigzag(1), 2);
	assert_true(zigzag(INT64_MAX) == UINT64_MAX - 1);
	assert_true(zigzag(INT64_MIN) == UINT64_MAX);
}

static uint64_t varint(const unsigned char **p)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		unsigned char b = *(*p)++;

		v |= (uint64_t)(b & 0x7F) << shift;
		if (b < 0x80)
			return v;
	}
}

static int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ (v & 1 ? UINT64_MAX : 0));
}

/* ---- levels ---- */

static void levels_by_hand(void **state)
{
	static const unsigned char one[40] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

	(void)state;
	pq_encode_levels(&buf, one, 10);
	is_bytes(10 << 1, 1);
	pq_encode_levels(&buf, one, 40); /* 10 times 1, 30 times 0 */
	is_bytes(10 << 1, 1, 30 << 1, 0);
	pq_encode_levels(&buf, one + 2, 12); /* just eight */
	is_bytes(8 << 1, 1, 4 << 1, 0);
	pq_encode_levels(&buf, one + 8, 12); /* 1 1 0 ...: no run of eight begins with a group */
	is_bytes(2 << 1 | 1, 0x03, 0);
	pq_encode_levels(&buf, (const unsigned char[]){1, 0, 1}, 3);
	is_bytes(1 << 1 | 1, 0x05);
	pq_encode_levels(&buf, one, 0);
	assert_int_equal(proto_len(&buf), 0);
}

static void read_levels(const unsigned char *want, size_t cnt)
{
	const unsigned char *p = (const unsigned char *)buf.buf, *end;
	size_t got = 0;

	end = p + proto_len(&buf);
	while (got < cnt) {
		uint64_t head;

		assert_true(p < end);
		head = varint(&p);
		for (uint64_t i = 0; !(head & 1) && i < head >> 1; i++, got++)
			assert_true(got < cnt && want[got] == *p);
		for (uint64_t i = 0; (head & 1) && i < (head >> 1) * 8 && got < cnt; i++, got++)
			assert_int_equal(want[got], p[i / 8] >> i % 8 & 1);
		p += head & 1 ? head >> 1 : 1;
	}
	assert_ptr_equal(p, end);
}

/* Runs of 1 to 20, in every order of two lengths, and random ones. */
static void levels_are_read_again(void **state)
{
	unsigned char level[2000];
	size_t cnt;

	(void)state;
	srand(1);
	for (int a = 1; a <= 20; a++) {
		for (int b = 1; b <= 20; b++) {
			cnt = (size_t)(a + b) * 3 + (size_t)a;
			for (size_t i = 0; i < cnt; i++)
				level[i] = i % (size_t)(a + b) < (size_t)a;
			proto_reset(&buf);
			pq_encode_levels(&buf, level, cnt);
			read_levels(level, cnt);
		}
	}
	for (int round = 0; round < 2000; round++) {
		int often = 1 + rand() % 30;

		cnt = 1 + (size_t)rand() % sizeof(level);
		for (size_t i = 0; i < cnt; i++)
			level[i] = i > 0 && rand() % often ? level[i - 1] : rand() & 1;
		proto_reset(&buf);
		pq_encode_levels(&buf, level, cnt);
		read_levels(level, cnt);
	}
}

/* ---- differences ---- */

static void deltas_by_hand(void **state)
{
	static const int64_t v[] = {7, 5, 3, 1, 2, 3, 4, 5};

	(void)state;
	pq_encode_deltas(&buf, v, 8);
	is_bytes(0x80, 1, 4, 8, 14, 3, 2, 0, 0, 0, 0xC0, 0x3F, 0, 0, 0, 0, 0, 0);
	pq_encode_deltas(&buf, v, 1);
	is_bytes(0x80, 1, 4, 1, 14);
}

static void read_deltas(const int64_t *want, size_t cnt)
{
	const unsigned char *p = (const unsigned char *)buf.buf, *end, *width;
	uint64_t v, min;
	size_t got = 1;

	end = p + proto_len(&buf);
	assert_int_equal(varint(&p), 128);
	assert_int_equal(varint(&p), 4);
	assert_int_equal(varint(&p), cnt);
	v = (uint64_t)unzigzag(varint(&p));
	assert_true(v == (uint64_t)want[0]);
	while (got < cnt) {
		min = (uint64_t)unzigzag(varint(&p));
		width = p;
		p += 4;
		for (int m = 0; m < 4; m++) {
			for (unsigned i = 0; i < 32 && got < cnt; i++, got++) {
				uint64_t rest = 0;

				for (unsigned b = 0; b < width[m]; b++) {
					unsigned bit = i * width[m] + b;

					rest |= (uint64_t)(p[bit / 8] >> bit % 8 & 1) << b;
				}
				v += min + rest;
				assert_true(v == (uint64_t)want[got]);
			}
			p += 4 * width[m];
		}
	}
	assert_ptr_equal(p, end);
}

static void deltas_are_read_again(void **state)
{
	static const int64_t edge[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT64_MAX - 1, 1LL << 62};
	static const size_t cnts[] = {1, 2, 32, 33, 34, 128, 129, 130, 257, 1000};
	int64_t v[1000];

	(void)state;
	srand(2);
	for (size_t c = 0; c < sizeof(cnts) / sizeof(cnts[0]); c++) {
		for (unsigned bits = 0; bits <= 64; bits++) {
			for (size_t i = 0; i < cnts[c]; i++) {
				uint64_t r = (uint64_t)rand() << 40 ^ (uint64_t)rand() << 20 ^
					     (uint64_t)rand();

				v[i] = bits == 64 ? edge[r % 7]
						  : (int64_t)(r & ((1ULL << bits) - 1)) - 1000;
			}
			proto_reset(&buf);
			pq_encode_deltas(&buf, v, cnts[c]);
			read_deltas(v, cnts[c]);
		}
	}
}

/* ---- files ---- */

static void write_rows(uint64_t rows, uint32_t groups)
{
	struct pq_column cols[] = {{.name = "a", .kind = PQ_INT},
				   {.name = "b", .kind = PQ_TEXT, .optional = true}};
	struct out out;
	struct pq_file f;
	unsigned char end[8] = {0};
	int fd = memfd_create("parquet", 0), copy = dup(fd);
	off_t size;

	assert_true(fd >= 0 && copy >= 0);
	assert_int_equal(out_open(&out, fd, OUT_PLAIN), 0);
	assert_true(pq_begin(&f, &out, cols, 2));
	for (uint64_t i = 0; i < rows; i++) {
		pq_int(&cols[0], (int64_t)i);
		if (i % 3)
			pq_bytes(&cols[1], "text", 4);
		else
			pq_null(&cols[1]);
		pq_row(&f);
		assert_true(cols[0].rows < PQ_PAGE_ROWS && f.group_rows < PQ_GROUP_ROWS);
		assert_int_equal(cols[0].rows + cols[0].chunk_rows, f.group_rows);
		assert_int_equal(cols[1].rows + cols[1].chunk_rows, f.group_rows);
	}
	assert_true(pq_finish(&f, NULL));
	assert_int_equal(f.rows, rows);
	assert_int_equal(f.group_cnt, groups);
	pq_end(&f);
	assert_int_equal(out_close(&out), 0);
	size = lseek(copy, 0, SEEK_END);
	assert_int_equal(pread(copy, end, 4, 0), 4);
	assert_memory_equal(end, "PAR1", 4);
	assert_int_equal(pread(copy, end, 8, size - 8), 8);
	assert_memory_equal(end + 4, "PAR1", 4);
	assert_true((end[0] | end[1] << 8 | end[2] << 16) < size - 11 && end[3] == 0);
	close(copy);
}

static void pages_and_groups(void **state)
{
	(void)state;
	write_rows(0, 0);
	write_rows(1, 1);
	write_rows(PQ_PAGE_ROWS - 1, 1);
	write_rows(PQ_PAGE_ROWS, 1);
	write_rows(PQ_PAGE_ROWS + 1, 1);
	write_rows(PQ_GROUP_ROWS - 1, 1);
	write_rows(PQ_GROUP_ROWS, 1);
	write_rows(PQ_GROUP_ROWS + 1, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(numbers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(levels_by_hand, set_up, tear_down),
		cmocka_unit_test_setup_teardown(levels_are_read_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(deltas_by_hand, set_up, tear_down),
		cmocka_unit_test_setup_teardown(deltas_are_read_again, set_up, tear_down),
		cmocka_unit_test(pages_and_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
