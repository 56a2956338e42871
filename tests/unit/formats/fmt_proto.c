/* fmt_proto.c - protobuf messages field by field, decoded again: sizes around the length bytes, texts that are no UTF-8. */
#include "proto_reader.h"

#include "exporters/formats/proto.h"

static struct proto m;

static int set_up(void **state)
{
	(void)state;
	return proto_init(&m) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	proto_free(&m);
	return 0;
}

static void is(const char *want, const char *spec)
{
	assert_false(m.failed);
	fmt_same(pb_text(m.buf, proto_len(&m), spec), want);
	proto_reset(&m);
}

static void fields_of_every_kind(void **state)
{
	(void)state;
	proto_uint(&m, 1, 0);
	proto_uint(&m, 15, 127);
	proto_uint(&m, 16, 128); /* the tag takes two bytes */
	proto_uint(&m, 2047, UINT64_MAX);
	proto_fixed64(&m, 2, 0x0123456789ABCDEF);
	proto_double(&m, 3, -0.5);
	proto_bytes(&m, 4, "ab", 2);
	proto_bytes(&m, 5, "", 0);
	proto_uint(&m, 6, (uint64_t)INT64_MIN);
	is("1:0 15:127 16:128 2047:-1 2:0x123456789abcdef 3:0xbfe0000000000000 4:\"ab\" 5:\"\" "
	   "6:-9223372036854775808",
	   "");
}

static void bytes_of_a_field(void **state)
{
	(void)state;
	proto_uint(&m, 1, 300);
	proto_fixed64(&m, 2, 1);
	proto_bytes(&m, 3, "x", 1);
	assert_int_equal(proto_len(&m), 15);
	assert_memory_equal(m.buf, "\x08\xAC\x02\x11\1\0\0\0\0\0\0\0\x1A\1x", 15);
}

/* What has its length in front. */
static struct pb pb_inner(struct pb *outer)
{
	size_t len = (size_t)pb_varint(outer);

	return (struct pb){outer->p, outer->p + len};
}

/* 127 bytes need one byte for their length, 128 two, 16384 three; what stands before and behind does not move. */
static void nested_messages_of_every_length(void **state)
{
	static const size_t lens[] = {0, 1, 125, 126, 127, 128, 129, 16380, 16383, 16384, 300000};
	char *body = malloc(300001);

	(void)state;
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		size_t outer, inner;
		struct pb all, one, two;

		memset(body, 'a' + (int)i, 300000);
		proto_uint(&m, 7, 70);
		outer = proto_open(&m, 1);
		proto_uint(&m, 8, 80);
		inner = proto_open(&m, 2);
		proto_room(&m, lens[i]);
		memcpy(m.p, body, lens[i]);
		m.p += lens[i];
		proto_close(&m, inner);
		proto_uint(&m, 9, 90);
		proto_close(&m, outer);
		proto_uint(&m, 10, 100);
		all = (struct pb){(unsigned char *)m.buf, (unsigned char *)m.p};
		assert_int_equal(pb_varint(&all), 7 << 3);
		assert_int_equal(pb_varint(&all), 70);
		assert_int_equal(pb_varint(&all), 1 << 3 | 2);
		one = pb_inner(&all);
		assert_int_equal(pb_varint(&one), 8 << 3);
		assert_int_equal(pb_varint(&one), 80);
		assert_int_equal(pb_varint(&one), 2 << 3 | 2);
		two = pb_inner(&one);
		assert_int_equal(two.end - two.p, lens[i]);
		assert_memory_equal(two.p, body, lens[i]);
		one.p = two.end;
		assert_int_equal(pb_varint(&one), 9 << 3);
		assert_int_equal(pb_varint(&one), 90);
		assert_ptr_equal(one.p, one.end);
		all.p = one.end;
		assert_int_equal(pb_varint(&all), 10 << 3);
		assert_int_equal(pb_varint(&all), 100);
		assert_ptr_equal(all.p, all.end);
		proto_reset(&m);
	}
	free(body);
}

/* The buffer begins with 4096 bytes; each field finds room, wherever the end lies. */
static void the_buffer_grows_between_any_two_fields(void **state)
{
	(void)state;
	for (size_t gap = 4096 - 40; gap <= 4096; gap++) {
		struct proto n;
		char fill[4096];

		memset(fill, 'f', sizeof(fill));
		assert_true(proto_init(&n));
		proto_bytes(&n, 1, fill, gap - 3);
		proto_uint(&n, 2, UINT64_MAX);
		proto_fixed64(&n, 3, 9);
		proto_close(&n, proto_open(&n, 4));
		proto_bytes(&n, 5, "tail", 4);
		fmt_same(pb_text(n.buf, proto_len(&n), "1-"), "2:-1 3:0x9 4:\"\" 5:\"tail\"");
		proto_free(&n);
		assert_null(n.buf);
	}
}

static void texts_are_utf8(void **state)
{
	static const char good[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
	char want[64];

	(void)state;
	proto_text(&m, 1, good, sizeof(good) - 1);
	proto_text(&m, 2, "", 0);
	snprintf(want, sizeof(want), "1:\"%s\" 2:\"\"", good);
	is(want, "");
	proto_text(&m, 1, "\xFF", 1);
	proto_text(&m, 2, "a\x80z", 3);
	proto_text(&m, 3, "\xe2\x82", 2);             /* cut off */
	proto_text(&m, 4, "\xc3\xa9\xed\xa0\x80", 5); /* a surrogate behind what is good */
	is("1:\"\\xFF\" 2:\"a\\x80z\" 3:\"\\xE2\\x82\" 4:\"\xc3\xa9\\xED\\xA0\\x80\"", "");
}

static void a_long_text_that_is_no_utf8(void **state)
{
	char text[5000], *want = malloc(20010), *p = want;

	(void)state;
	memset(text, 0x90, sizeof(text));
	proto_text(&m, 1, text, sizeof(text));
	p += sprintf(p, "1:\"");
	for (size_t i = 0; i < sizeof(text); i++)
		p = stpcpy(p, "\\x90");
	memcpy(p, "\"", 2);
	/* "%.*s" of so long a text is whole, too */
	is(want, "");
	free(want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(fields_of_every_kind, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bytes_of_a_field, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nested_messages_of_every_length, set_up, tear_down),
		cmocka_unit_test(the_buffer_grows_between_any_two_fields),
		cmocka_unit_test_setup_teardown(texts_are_utf8, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_long_text_that_is_no_utf8, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
