/* decode.c - records are decoded as wire.h defines them, and no bytes whatsoever do harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "collector/model/decode.h"

static uint64_t head(unsigned hook, unsigned words, unsigned level, unsigned shape, unsigned flags,
		     uint32_t duration)
{
	return duration | (uint64_t)sl_head(hook, words, level, shape, flags) << 32;
}

static void an_io_record_has_all_its_fields(void **state)
{
	uint64_t w[] = {1000, head(7, 4, 2, SL_SHAPE_IO, 0, 50), 64 | 100ull << 32,
			sl_fd_serial(5, 9)};
	struct call c;

	(void)state;
	assert_int_equal(decode_record(w, 4, &c), 4);
	assert_int_equal(c.start, 1000);
	assert_int_equal(c.end, 1050);
	assert_int_equal(c.hook, 7);
	assert_int_equal(c.level, 2);
	assert_int_equal(c.ret, 64);
	assert_int_equal(c.io.asked, 100);
	assert_int_equal(c.io.fd, 5);
	assert_int_equal(c.io.serial, 9);
	assert_true(c.io.offset == DECODE_NONE);
	assert_false(c.failed);
	w[3] = sl_fd_serial(0, 9);
	assert_int_equal(decode_record(w, 4, &c), 4);
	assert_int_equal(c.io.fd, 0);
}

static void negative_results_keep_their_sign(void **state)
{
	uint64_t w[] = {1, head(1, 5, 0, SL_SHAPE_IO_AT, SL_REC_ERR, 1), (uint32_t)-1 | 8ull << 32,
			sl_fd_serial(-1, 0), (uint64_t)-4096};
	struct call c;

	(void)state;
	assert_int_equal(decode_record(w, 5, &c), 5);
	assert_int_equal(c.ret, -1);
	assert_true(c.failed);
	assert_true(c.io.fd == DECODE_NONE);
	assert_int_equal(c.io.offset, -4096);
}

static void a_lock_has_its_object_and_owner(void **state)
{
	uint64_t w[] = {1, head(1, 4, 0, SL_SHAPE_LOCK, 0, 1), (uint32_t)-1 | 77ull << 32,
			UINT64_C(0x8123456789ab)};
	struct call c;

	(void)state;
	assert_int_equal(decode_record(w, 4, &c), 4);
	assert_int_equal(c.ret, -1);
	assert_int_equal(c.owner, 77);
	assert_int_equal(c.arg, 0x8123456789ab);
	w[1] = head(1, 3, 0, SL_SHAPE_LOCK, 0, 1);
	assert_int_equal(decode_record(w, 4, &c), 0);
}

static void long_and_unfinished_durations(void **state)
{
	uint64_t w[] = {10, head(3, 4, 0, SL_SHAPE_CALL, SL_REC_LONG, 0), 1ull << 40, 77};
	struct call c;

	(void)state;
	assert_int_equal(decode_record(w, 4, &c), 4);
	assert_int_equal(c.end, 10 + (1ull << 40));
	assert_int_equal(c.ret, 77);
	w[2] = SL_NEVER_RETURNED;
	assert_int_equal(decode_record(w, 4, &c), 4);
	assert_false(c.returned);
	assert_int_equal(c.end, 10);
}

static void a_path_cannot_reach_beyond_its_record(void **state)
{
	uint64_t w[8] = {1, head(2, 6, 0, SL_SHAPE_PATH, 0, 1), 3, sl_fd_serial(3, 1), 5};
	struct call c;

	(void)state;
	memcpy(&w[5], "/a/bc", 5);
	assert_int_equal(decode_record(w, 6, &c), 6);
	assert_int_equal(c.data.len, 5);
	assert_memory_equal(c.data.bytes, "/a/bc", 5);
	w[4] = 60000;
	assert_int_equal(decode_record(w, 6, &c), 6);
	assert_int_equal(c.data.len, 8);
}

static void truncated_records_are_none(void **state)
{
	uint64_t w[] = {1, head(2, 6, 0, SL_SHAPE_PATH, 0, 1), 3, sl_fd_serial(3, 1), 5, 0};
	struct call c;

	(void)state;
	for (unsigned n = 0; n < 6; n++)
		assert_int_equal(decode_record(w, n, &c), 0);
	w[1] = head(2, 3, 0, SL_SHAPE_IO, 0, 1);
	assert_int_equal(decode_record(w, 6, &c), 0);
	w[1] = head(2, 1, 0, SL_SHAPE_CALL, 0, 1);
	assert_int_equal(decode_record(w, 6, &c), 0);
	w[1] = head(2, 6, 0, 15, 0, 1);
	assert_int_equal(decode_record(w, 6, &c), 0);
}

static void metas_give_their_texts(void **state)
{
	uint64_t w[8] = {1, head(SL_META_IMAGE, 6, 0, SL_SHAPE_META, 0, 0), 100 | 99ull << 32,
			 SL_IMAGE_START, 4};
	struct call c;
	struct meta m;

	(void)state;
	memcpy(&w[5], "a\0b\0", 4);
	assert_int_equal(decode_record(w, 6, &c), 6);
	assert_true(decode_meta(&c, &m));
	assert_int_equal(m.pid, 100);
	assert_int_equal(m.ppid, 99);
	assert_int_equal(m.len, 4);
	w[1] = head(SL_META_LOST, 5, 0, SL_SHAPE_META, 0, 0);
	w[2] = 500;
	w[3] = 12;
	w[4] = SL_LOSS_FULL;
	decode_record(w, 6, &c);
	assert_true(decode_meta(&c, &m));
	assert_int_equal(m.last, 500);
	assert_int_equal(m.cnt, 12);
	w[1] = head(SL_META_LOST, 4, 0, SL_SHAPE_META, 0, 0);
	decode_record(w, 6, &c);
	assert_false(decode_meta(&c, &m));
	w[1] = head(999, 6, 0, SL_SHAPE_META, 0, 0);
	decode_record(w, 6, &c);
	assert_false(decode_meta(&c, &m));
}

static void addresses_have_a_readable_form(void **state)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(8080)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(80)};
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "/run/x"};
	char text[200];

	(void)state;
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	decode_sockaddr((char *)&in, sizeof(in), text, sizeof(text));
	assert_string_equal(text, "tcp:127.0.0.1:8080");
	in6.sin6_addr = in6addr_loopback;
	decode_sockaddr((char *)&in6, sizeof(in6), text, sizeof(text));
	assert_string_equal(text, "tcp6:[::1]:80");
	decode_sockaddr((char *)&un, sizeof(un), text, sizeof(text));
	assert_string_equal(text, "unix:/run/x");
	memcpy(un.sun_path, "\0abs", 4);
	decode_sockaddr((char *)&un, 2 + 4, text, sizeof(text));
	assert_string_equal(text, "unix:@abs");
	decode_sockaddr((char *)&un, 2, text, sizeof(text));
	assert_string_equal(text, "unix:");
	decode_sockaddr((char *)&un, 1, text, sizeof(text));
	assert_string_equal(text, "socket:");
	assert_int_equal(decode_sockaddr((char *)&in, sizeof(in), text, 6), 5);
}

/* Any bytes: what comes out points into the record or nowhere. Run under ASan to see more. */
static void random_bytes_do_no_harm(void **state)
{
	char text[64];

	(void)state;
	srand(12345);
	for (int round = 0; round < 300000; round++) {
		unsigned words = (unsigned)rand() % 20, got;
		uint64_t *w = malloc(words * 8 + 1);
		struct stack_meta sm;
		struct call c;
		struct meta m;

		for (unsigned i = 0; i < words * 8; i++)
			((unsigned char *)w)[i] = (unsigned char)rand();
		/* Most heads would be too long: let half of them fit. */
		if (words > 2 && rand() % 2)
			w[1] = head((unsigned)rand() % 12, (unsigned)rand() % words, 0,
				    (unsigned)rand() % 12, (unsigned)rand() % 8, (uint32_t)rand());
		got = decode_record(w, words, &c);
		assert_true(got <= words);
		if (got && c.data.bytes) {
			assert_true(c.data.bytes + c.data.len <= (char *)(w + got));
			decode_sockaddr(c.data.bytes, c.data.len, text, sizeof(text));
		}
		if (got && c.shape == SL_SHAPE_META && decode_meta(&c, &m) && m.bytes)
			assert_true(m.bytes + m.len <= (char *)(w + got));
		c.hook = (uint16_t)(SL_META_CHAIN + rand() % 6);
		if (words > 3 && rand() % 2)
			w[2] = (uint64_t)(rand() % 20) << 32 | 1;
		if (got && c.shape == SL_SHAPE_META && decode_stack_meta(&c, &sm)) {
			assert_true(!sm.bytes || sm.bytes + sm.len <= (char *)(w + got));
			assert_true(!sm.frames || sm.frames + sm.cnt <= w + got);
			assert_true(sm.build_id_len <= sm.len);
		}
		free(w);
	}
}

/* A record of @shape with the @cnt words of payload at @w + 2. */
static void stack_record(uint64_t *w, struct call *c, unsigned meta, unsigned cnt)
{
	w[0] = 1;
	w[1] = head(meta, cnt + 2, 0, SL_SHAPE_META, 0, 0);
	assert_int_equal(decode_record(w, cnt + 2, c), cnt + 2);
}

static void stack_records_end_where_their_frames_do(void **state)
{
	uint64_t w[16] = {0};
	struct stack_meta m;
	struct call c;

	(void)state;
	w[2] = 5;
	stack_record(w, &c, SL_META_CHAIN, 1);
	assert_true(decode_stack_meta(&c, &m));
	assert_int_equal(m.id, 5);
	w[2] = 0;
	assert_false(decode_stack_meta(&c, &m));
	w[2] = 5 | 3ull << 32;
	stack_record(w, &c, SL_META_STACK, 4);
	assert_true(decode_stack_meta(&c, &m));
	assert_int_equal(m.cnt, 3);
	assert_ptr_equal(m.frames, w + 3);
	w[2] = 5 | 4ull << 32;
	assert_false(decode_stack_meta(&c, &m));
	w[2] = 5;
	assert_false(decode_stack_meta(&c, &m));
	for (unsigned cnt = SL_FRAME_MAX; cnt <= SL_FRAME_MAX + 1; cnt++) {
		uint64_t *deep = calloc(cnt + 3, sizeof(*deep));

		assert_non_null(deep);
		deep[2] = 5 | (uint64_t)cnt << 32;
		stack_record(deep, &c, SL_META_STACK, cnt + 1);
		assert_int_equal(decode_stack_meta(&c, &m), cnt == SL_FRAME_MAX);
		free(deep);
	}
}

static void modules_and_lines_have_limits(void **state)
{
	uint64_t w[16] = {0};
	struct stack_meta m;
	struct call c;

	(void)state;
	w[2] = 4096;
	w[3] = 8192;
	w[5] = 4; /* of the build id, in the text of 8 */
	w[6] = 8;
	stack_record(w, &c, SL_META_MODULE, 6);
	assert_true(decode_stack_meta(&c, &m));
	w[5] = 8;
	assert_true(decode_stack_meta(&c, &m));
	w[5] = 9;
	assert_false(decode_stack_meta(&c, &m));
	w[5] = 4;
	w[3] = 4096;
	assert_false(decode_stack_meta(&c, &m));
	memset(w, 0, sizeof(w));
	w[2] = 7;
	w[4] = DECODE_LINES_MAX;
	stack_record(w, &c, SL_META_CODE, 4);
	assert_true(decode_stack_meta(&c, &m));
	w[4] = DECODE_LINES_MAX + 1;
	assert_false(decode_stack_meta(&c, &m));
	w[3] = DECODE_LINES_MAX;
	w[4] = 0;
	stack_record(w, &c, SL_META_CODE_LINES, 3);
	assert_true(decode_stack_meta(&c, &m));
	w[3]++;
	assert_false(decode_stack_meta(&c, &m));
}

static void records_of_other_families_have_no_result(void **state)
{
	uint64_t w[] = {1, head(3, 4, 0, SL_SHAPE_API, 0, 1), 77, 78};
	struct call c = {.ret = 5};

	(void)state;
	assert_int_equal(decode_record(w, 4, &c), 4);
	assert_int_equal(c.ret, 0);
	assert_int_equal(c.data.words, 2);
	assert_ptr_equal(c.data.payload, w + 2);
}

static void addresses_are_cut_to_the_room(void **state)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(80)};
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "/run/x"};
	char text[32];

	(void)state;
	/* "unix:/run/x" has 11 characters, "tcp:0.0.0.0:80" has 14. */
	assert_int_equal(decode_sockaddr((char *)&un, sizeof(un), text, 12), 11);
	assert_int_equal(decode_sockaddr((char *)&un, sizeof(un), text, 11), 10);
	assert_int_equal(decode_sockaddr((char *)&un, sizeof(un), text, 5), 4);
	assert_int_equal(decode_sockaddr((char *)&in, sizeof(in), text, 15), 14);
	assert_int_equal(decode_sockaddr((char *)&in, sizeof(in), text, 14), 13);
	decode_sockaddr((char *)&in, 4, text, sizeof(text));
	assert_string_equal(text, "socket:family 2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_io_record_has_all_its_fields),
		cmocka_unit_test(negative_results_keep_their_sign),
		cmocka_unit_test(a_lock_has_its_object_and_owner),
		cmocka_unit_test(long_and_unfinished_durations),
		cmocka_unit_test(a_path_cannot_reach_beyond_its_record),
		cmocka_unit_test(truncated_records_are_none),
		cmocka_unit_test(metas_give_their_texts),
		cmocka_unit_test(addresses_have_a_readable_form),
		cmocka_unit_test(random_bytes_do_no_harm),
		cmocka_unit_test(stack_records_end_where_their_frames_do),
		cmocka_unit_test(modules_and_lines_have_limits),
		cmocka_unit_test(records_of_other_families_have_no_result),
		cmocka_unit_test(addresses_are_cut_to_the_room),
	};

	return cmocka_run_group_tests_name("decode", tests, NULL, NULL);
}
