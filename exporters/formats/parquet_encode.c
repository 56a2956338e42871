/* parquet_encode.c - levels (definition levels: is there a value?) and differences of numbers. */
#include "exporters/formats/parquet_encode.h"

/* Equal levels from @levels on, up to @max. */
static size_t run_of(const unsigned char *levels, size_t cnt, size_t max)
{
	size_t n = 1;

	while (n < cnt && n < max && levels[n] == levels[0])
		n++;
	return n;
}

/* Groups of eight levels, one bit each. Only the last run may end within a group. */
static size_t put_packed_levels(struct proto *to, const unsigned char *levels, size_t cnt)
{
	size_t len = 0;

	do {
		len += 8;
	} while (len < cnt && run_of(levels + len, cnt - len, 8) < 8);
	put_varint(to, len / 8 << 1 | 1);
	for (size_t i = 0; i < len; i += 8) {
		unsigned bits = 0;

		for (size_t k = 0; k < 8 && i + k < cnt; k++)
			bits |= (unsigned)levels[i + k] << k;
		put_byte(to, bits);
	}
	return len < cnt ? len : cnt;
}

void pq_encode_levels(struct proto *to, const unsigned char *levels, size_t cnt)
{
	for (size_t i = 0, run; i < cnt; i += run) {
		run = run_of(levels + i, cnt - i, cnt);
		if (run < 8 && run < cnt - i) {
			run = put_packed_levels(to, levels + i, cnt - i);
			continue;
		}
		put_varint(to, run << 1);
		put_byte(to, levels[i]);
	}
}

#define BLOCK     128
#define MINIBLOCK 32

/* 32 numbers of @width bits, lowest bit first: 4 * @width bytes. */
static void put_bits(struct proto *to, const uint64_t *v, unsigned width)
{
	uint64_t word = 0;
	unsigned used = 0;

	for (int i = 0; i < MINIBLOCK; i++) {
		word |= v[i] << used;
		if (used + width < 64) {
			used += width;
			continue;
		}
		put_fixed(to, word, 8);
		word = used > 0 ? v[i] >> (64 - used) : 0;
		used = used + width - 64;
	}
	put_fixed(to, word, used / 8);
}

/* @cnt differences, at most BLOCK. */
static void put_block(struct proto *to, const int64_t *delta, size_t cnt)
{
	uint64_t rest[BLOCK] = {0};
	unsigned char width[BLOCK / MINIBLOCK] = {0};
	int64_t min = delta[0];

	for (size_t i = 1; i < cnt; i++)
		min = delta[i] < min ? delta[i] : min;
	for (size_t i = 0; i < cnt; i++) {
		rest[i] = (uint64_t)delta[i] - (uint64_t)min;
		unsigned bits = rest[i] ? 64 - (unsigned)__builtin_clzll(rest[i]) : 0;

		if (bits > width[i / MINIBLOCK])
			width[i / MINIBLOCK] = (unsigned char)bits;
	}
	put_varint(to, zigzag(min));
	put_raw(to, width, sizeof(width));
	for (size_t i = 0; i < BLOCK / MINIBLOCK; i++)
		if (width[i] > 0)
			put_bits(to, rest + i * MINIBLOCK, width[i]);
}

void pq_encode_deltas(struct proto *to, const int64_t *v, size_t cnt)
{
	int64_t delta[BLOCK];
	size_t n = 0;

	put_varint(to, BLOCK);
	put_varint(to, BLOCK / MINIBLOCK);
	put_varint(to, cnt);
	put_varint(to, zigzag(v[0]));
	for (size_t i = 1; i < cnt; i++) {
		delta[n++] = (int64_t)((uint64_t)v[i] - (uint64_t)v[i - 1]); /* may wrap */
		if (n == BLOCK || i + 1 == cnt) {
			put_block(to, delta, n);
			n = 0;
		}
	}
}
