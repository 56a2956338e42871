/* The shim's own string functions, against libc's, at every alignment and near the end of readable memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void *(*const libc_memcpy)(void *, const void *, size_t) = memcpy;
static void *(*const libc_memmove)(void *, const void *, size_t) = memmove;
static void *(*const libc_memset)(void *, int, size_t) = memset;
static int (*const libc_memcmp)(const void *, const void *, size_t) = memcmp;
static size_t (*const libc_strlen)(const char *) = strlen;
static size_t (*const libc_strnlen)(const char *, size_t) = strnlen;
static int (*const libc_strcmp)(const char *, const char *) = strcmp;
static int (*const libc_strncmp)(const char *, const char *, size_t) = strncmp;
static char *(*const libc_strchr)(const char *, int) = strchr;
static char *(*const libc_strrchr)(const char *, int) = strrchr;
static char *(*const libc_strstr)(const char *, const char *) = strstr;
static size_t (*const libc_strspn)(const char *, const char *) = strspn;
static size_t (*const libc_strcspn)(const char *, const char *) = strcspn;
static char *(*const libc_strncpy)(char *, const char *, size_t) = strncpy;

#define memcpy  own_memcpy
#define memmove own_memmove
#define memset  own_memset
#define memcmp  own_memcmp
#define strlen  own_strlen
#define strnlen own_strnlen
#define strcmp  own_strcmp
#define strncmp own_strncmp
#define stpcpy  own_stpcpy
#define strcpy  own_strcpy
#define strncpy own_strncpy
#define strchr  own_strchr
#define strrchr own_strrchr
#define strspn  own_strspn
#define strcspn own_strcspn
#define strstr  own_strstr
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wstringop-overflow" /* lengths below 16 take another branch */
#endif
#pragma GCC diagnostic ignored "-Wimplicit-function-declaration"
void *own_memcpy(void *restrict to, const void *restrict from, size_t n);
void *own_memset(void *to, int c, size_t n);
size_t own_strlen(const char *s);
size_t own_strnlen(const char *s, size_t most);
int own_strncmp(const char *a, const char *b, size_t n);
char *own_stpcpy(char *restrict to, const char *restrict from);
char *own_strchr(const char *s, int c);
#include "preload/base/strings.c" /* NOLINT(bugprone-suspicious-include) */

#define PAGE 4096

static int sign(int v)
{
	return (v > 0) - (v < 0);
}

/* A page, behind which nothing is readable. */
static char *last_page(void)
{
	char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	assert_int_equal(mprotect(p + PAGE, PAGE, PROT_NONE), 0);
	return p;
}

static void blocks_are_copied_set_and_compared(void **state)
{
	char a[400], b[400], from[400];

	(void)state;
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (char)(i * 7 + i / 256);
	for (size_t n = 0; n < 130; n++)
		for (size_t at = 0; at < 17; at++)
			for (size_t to = 0; to < 260; to += 13) {
				libc_memcpy(a, from, sizeof(a));
				libc_memcpy(b, from, sizeof(b));
				assert_ptr_equal(own_memcpy(a + at, from + to, n), a + at);
				libc_memcpy(b + at, from + to, n);
				assert_int_equal(libc_memcmp(a, b, sizeof(a)), 0);
				own_memmove(a + at, a + to, n);
				libc_memmove(b + at, b + to, n);
				own_memmove(a + to, a + at, n);
				libc_memmove(b + to, b + at, n);
				assert_int_equal(libc_memcmp(a, b, sizeof(a)), 0);
				own_memset(a + to, (int)n, n);
				libc_memset(b + to, (int)n, n);
				assert_int_equal(libc_memcmp(a, b, sizeof(a)), 0);
				assert_int_equal(sign(own_memcmp(a, from + at, n)),
						 sign(libc_memcmp(a, from + at, n)));
			}
}

static void lengths_are_found_at_the_end_of_a_page(void **state)
{
	char *page = last_page();

	(void)state;
	for (size_t len = 0; len < 100; len++) {
		char *s = page + PAGE - len - 1;

		libc_memset(page, 'x', PAGE);
		page[PAGE - 1] = 0;
		assert_int_equal(own_strlen(s), len);
		for (size_t most = 0; most < 110; most++)
			assert_int_equal(own_strnlen(s, most), libc_strnlen(s, most));
		/* Earlier ends, at every alignment. */
		for (size_t end = 0; end < len; end++) {
			s[end] = 0;
			assert_int_equal(own_strlen(s), libc_strlen(s));
			s[end] = 'x';
		}
	}
	/* No end within what may be read. */
	page[PAGE - 1] = 'x';
	assert_int_equal(own_strnlen(page + PAGE - 5, 5), 5);
}

static void texts_are_compared_and_searched(void **state)
{
	static const char *const words[] = {
		"",   "a",           "ab",         "aab",         "abab",
		"b",  "LD_PRELOAD=", "LD_PRELOAD", "libtrace.so", "/x/libtrace.so:b",
		"::", " : ",         "\377x",      "x\377"};
	const size_t cnt = sizeof(words) / sizeof(words[0]);
	char a[40], b[40];

	(void)state;
	for (size_t i = 0; i < cnt; i++)
		for (size_t k = 0; k < cnt; k++) {
			const char *s = words[i], *t = words[k];

			assert_int_equal(sign(own_strcmp(s, t)), sign(libc_strcmp(s, t)));
			for (size_t n = 0; n < 12; n++)
				assert_int_equal(sign(own_strncmp(s, t, n)),
						 sign(libc_strncmp(s, t, n)));
			assert_ptr_equal(own_strstr(s, t), libc_strstr(s, t));
			assert_int_equal(own_strspn(s, t), libc_strspn(s, t));
			assert_int_equal(own_strcspn(s, t), libc_strcspn(s, t));
			assert_ptr_equal(own_strchr(s, t[0]), libc_strchr(s, t[0]));
			assert_ptr_equal(own_strrchr(s, t[0]), libc_strrchr(s, t[0]));
			libc_memset(a, '-', sizeof(a));
			libc_memset(b, '-', sizeof(b));
			own_strncpy(a, s, k);
			libc_strncpy(b, s, k);
			assert_int_equal(libc_memcmp(a, b, sizeof(a)), 0);
			assert_ptr_equal(own_stpcpy(a, s), a + libc_strlen(s));
			assert_string_equal(own_strcpy(b, s), s);
			assert_string_equal(a, s);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_copied_set_and_compared),
		cmocka_unit_test(lengths_are_found_at_the_end_of_a_page),
		cmocka_unit_test(texts_are_compared_and_searched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
