/*
 * strings.c - the string functions of this library, under their usual names but hidden: calls of them, also those that the
 * compiler makes, stay inside the library.
 *
 * Sanitizers define these functions, too, and may not be ready when the shim is called, or report what the shim passes.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#pragma GCC visibility push(hidden)

/* Two words, at any address. */
typedef uint64_t pair __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t word __attribute__((aligned(1), may_alias));
typedef uint32_t half __attribute__((aligned(1), may_alias));

#define OWN __attribute__((visibility("hidden")))

/* Below 16 bytes: two pieces that may overlap, both read before the first is written. */
static inline void move_short(char *to, const char *from, size_t n)
{
	if (n >= 8) {
		word a = *(const word *)from, b = *(const word *)(from + n - 8);

		*(word *)to = a;
		*(word *)(to + n - 8) = b;
	} else if (n >= 4) {
		half a = *(const half *)from, b = *(const half *)(from + n - 4);

		*(half *)to = a;
		*(half *)(to + n - 4) = b;
	} else if (n) {
		char a = from[0], b = from[n / 2], c = from[n - 1];

		to[0] = a;
		to[n / 2] = b;
		to[n - 1] = c;
	}
}

OWN void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	char *t = to;
	const char *f = from;
	pair last;

	if (n < 16) {
		move_short(t, f, n);
		return to;
	}
	last = *(const pair *)(f + n - 16);
	for (size_t i = 0; i + 16 < n; i += 16)
		*(pair *)(t + i) = *(const pair *)(f + i);
	*(pair *)(t + n - 16) = last;
	return to;
}

OWN void *memmove(void *to, const void *from, size_t n)
{
	char *t = to;
	const char *f = from;

	if (n < 16) {
		move_short(t, f, n);
	} else if ((uintptr_t)t - (uintptr_t)f >= n) {
		/* Forwards. The last piece is read first, as it may be overwritten. */
		pair last = *(const pair *)(f + n - 16);

		for (size_t i = 0; i + 16 < n; i += 16)
			*(pair *)(t + i) = *(const pair *)(f + i);
		*(pair *)(t + n - 16) = last;
	} else {
		pair first = *(const pair *)f;

		for (size_t i = n; i > 16; i -= 16)
			*(pair *)(t + i - 16) = *(const pair *)(f + i - 16);
		*(pair *)t = first;
	}
	return to;
}

OWN void *memset(void *to, int c, size_t n)
{
	uint64_t w = (unsigned char)c * UINT64_C(0x0101010101010101);
	pair p = {w, w};
	char *t = to;

	if (n < 16) {
		for (size_t i = 0; i < n; i++)
			t[i] = (char)c;
		return to;
	}
	for (size_t i = 0; i + 16 < n; i += 16)
		*(pair *)(t + i) = p;
	*(pair *)(t + n - 16) = p;
	return to;
}

OWN int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *p = a, *q = b;

	for (size_t i = 0; i < n; i++)
		if (p[i] != q[i])
			return p[i] - q[i];
	return 0;
}

/* Reads aligned pieces, which end in the string's last page. */
OWN size_t strlen(const char *s)
{
	const char *at = s;
#if defined(__SSE2__)
	typedef char block __attribute__((vector_size(16), may_alias));
	unsigned skip = (uintptr_t)s & 15, zeros;
	const block *b = (const block *)(s - skip), none = {0};

	zeros = (unsigned)__builtin_ia32_pmovmskb128(*b == none) >> skip;
	if (zeros)
		return (size_t)__builtin_ctz(zeros);
	do
		zeros = (unsigned)__builtin_ia32_pmovmskb128(*++b == none);
	while (!zeros);
	at = (const char *)b + __builtin_ctz(zeros);
#else
	while (*at)
		at++;
#endif
	return (size_t)(at - s);
}

OWN size_t strnlen(const char *s, size_t most)
{
	size_t n = 0;

	while (n < most && s[n])
		n++;
	return n;
}

OWN int strncmp(const char *a, const char *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i] != b[i] || !a[i])
			return (unsigned char)a[i] - (unsigned char)b[i];
	return 0;
}

OWN int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, SIZE_MAX);
}

OWN char *stpcpy(char *restrict to, const char *restrict from)
{
	while ((*to = *from)) {
		to++;
		from++;
	}
	return to;
}

OWN char *strcpy(char *restrict to, const char *restrict from)
{
	stpcpy(to, from);
	return to;
}

OWN char *strncpy(char *restrict to, const char *restrict from, size_t n)
{
	size_t len = strnlen(from, n);

	memcpy(to, from, len);
	memset(to + len, 0, n - len);
	return to;
}

OWN char *strchr(const char *s, int c)
{
	for (; *s != (char)c; s++)
		if (!*s)
			return NULL;
	return (char *)(uintptr_t)s;
}

OWN char *strrchr(const char *s, int c)
{
	const char *last = NULL;

	do
		if (*s == (char)c)
			last = s;
	while (*s++);
	return (char *)(uintptr_t)last;
}

OWN size_t strspn(const char *s, const char *set)
{
	size_t n = 0;

	while (s[n] && strchr(set, s[n]))
		n++;
	return n;
}

OWN size_t strcspn(const char *s, const char *set)
{
	size_t n = 0;

	while (s[n] && !strchr(set, s[n]))
		n++;
	return n;
}

OWN char *strstr(const char *s, const char *part)
{
	size_t len = strlen(part);

	for (;; s++) {
		if (strncmp(s, part, len) == 0)
			return (char *)(uintptr_t)s;
		if (!*s)
			return NULL;
	}
}

#pragma GCC visibility pop
