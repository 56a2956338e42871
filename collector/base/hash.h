/* hash.h - hashes of numbers and bytes: 64 bits, of which any may choose a place. Not kept in files: only hash_text() stays as it is. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t hash_u64(uint64_t x)
{
	x ^= x >> 32;
	x *= 0x9e3779b97f4a7c15u;
	return x ^ x >> 29;
}

/* Extends hash @h by @value. */
static inline uint64_t hash_join(uint64_t h, uint64_t value)
{
	h = (h ^ value) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

/* The steps of MurmurHash's finisher: every bit gets into every other. */
static inline uint64_t hash_mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdu;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53u;
	return x ^ x >> 33;
}

/* A 64-bit hash: different texts do not share it by chance. @seed: the hash of the preceding bytes. */
static inline uint64_t hash_bytes(uint64_t seed, const void *data, size_t len)
{
	const char *p = data;
	uint64_t h = hash_mix(seed ^ len * 0x9e3779b97f4a7c15u), word;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&word, p, 8);
		h = hash_mix(h ^ word) + 0x9e3779b97f4a7c15u;
	}
	word = 0;
	memcpy(&word, p, len);
	return hash_mix(h ^ word);
}

/* FNV-1a: the same in every version, for names of files. */
static inline uint64_t hash_text(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3u;
	return h;
}

/* The place of a small number in a table of 1 << @bits. */
static inline uint32_t hash_place(uint32_t x, unsigned bits)
{
	return x * 0x9e3779b1u >> (32 - bits);
}
