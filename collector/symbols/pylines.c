/*
 * pylines.c - instruction offset to source line, from a code object's table. Three formats, all of them runs of instructions with the step to their line:
 *
 *   up to 3.9  pairs of bytes: how far on (unsigned), then lines (signed). Instructions behind the last pair belong to it
 *   3.10       pairs of bytes: how many bytes of code, lines (signed) to theirs; -128: they have none
 *   from 3.11  a byte 1cccclll: kind c, l + 1 units of two bytes; behind it by kind lines and columns
 *
 * All in 64 bits: a program's table may contain any bytes.
 */
#include "collector/symbols/pylines.h"

#include <limits.h>
#include <stdbool.h>

static int as_line(int64_t line)
{
	return line > 0 && line <= INT_MAX ? (int)line : 0;
}

static int in_lnotab(const uint8_t *table, size_t len, int64_t line, uint32_t offset)
{
	uint64_t at = 0;

	for (size_t i = 0; i + 1 < len; i += 2) {
		at += table[i];
		if (at > offset)
			break;
		line += (int8_t)table[i + 1];
	}
	return as_line(line);
}

static int in_linetable(const uint8_t *table, size_t len, int64_t line, uint32_t offset)
{
	uint64_t end = 0;

	for (size_t i = 0; i + 1 < len; i += 2) {
		int8_t step = (int8_t)table[i + 1];

		end += table[i];
		if (step != -128)
			line += step;
		if (offset < end)
			return step == -128 ? 0 : as_line(line);
	}
	return 0;
}

/* Six bits a byte, the lowest first; 0x40: more follow. */
static bool read_number(const uint8_t *table, size_t len, size_t *at, uint32_t *value)
{
	unsigned shift = 0;
	uint8_t byte;

	*value = 0;
	do {
		if (*at >= len)
			return false;
		byte = table[(*at)++];
		if (shift < 32)
			*value |= (uint32_t)(byte & 0x3f) << shift;
		shift += 6;
	} while (byte & 0x40);
	return true;
}

enum {
	KIND_ONE_LINE = 10, /* and 11, 12: as many lines on; below: none */
	KIND_NO_COLUMNS = 13,
	KIND_LONG = 14,
	KIND_NONE = 15,
};

static int in_locations(const uint8_t *table, size_t len, int64_t line, uint32_t offset)
{
	uint64_t end = 0;
	size_t at = 0;

	while (at < len) {
		uint8_t head = table[at++];
		unsigned kind = head >> 3 & 15;
		uint32_t step;

		if (!(head & 0x80))
			return 0;
		end += ((head & 7u) + 1) * 2;
		if (kind == KIND_LONG || kind == KIND_NO_COLUMNS) {
			if (!read_number(table, len, &at, &step))
				return 0;
			line += step & 1 ? -(int64_t)(step >> 1) : (int64_t)(step >> 1);
		} else if (kind >= KIND_ONE_LINE && kind != KIND_NONE) {
			line += kind - KIND_ONE_LINE;
		}
		if (offset < end)
			return kind == KIND_NONE ? 0 : as_line(line);
		/* The rest of the entry are columns: only heads have the highest bit. */
		while (at < len && !(table[at] & 0x80))
			at++;
	}
	return 0;
}

int pylines_at(int version, const uint8_t *table, size_t len, int first_line, uint32_t offset)
{
	if (offset == SL_PYLINES_NOT_BEGUN)
		return as_line(first_line);
	if (version < 0x030a)
		return in_lnotab(table, len, first_line, offset);
	if (version == 0x030a)
		return in_linetable(table, len, first_line, offset);
	return in_locations(table, len, first_line, offset);
}
