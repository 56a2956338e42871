/* picture.c - rows of letters as a PNG. */
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "exporters/ranks/page/ranks_page.h"

/* Red, green, blue, opacity. The first is that of the page: most cells are nothing special. */
const uint8_t picture_colour[PICTURE_COLOURS][4] = {
	{0, 0, 0, 0},        {253, 224, 160, 255}, {250, 190, 110, 255},
	{244, 150, 72, 255}, {228, 100, 52, 255},  {196, 52, 60, 255},
	{140, 22, 80, 255},  {76, 8, 84, 255},     {150, 158, 168, 120},
};

static unsigned index_of(char letter)
{
	return letter >= 'a' && letter <= 'h' ? (unsigned)(letter - 'a') : PICTURE_COLOURS - 1;
}

/* The worst of the columns that are one; nothing recorded where none of them has anything. */
static unsigned worst_of(const char *cells, size_t cnt)
{
	char worst = '.';

	for (size_t i = 0; i < cnt; i++)
		if (cells[i] >= 'a' && cells[i] <= 'h' && (worst == '.' || cells[i] > worst))
			worst = cells[i];
	return index_of(worst);
}

static unsigned char *put_number(unsigned char *to, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		to[i] = (unsigned char)(value >> (24 - 8 * i));
	return to + 4;
}

/* Length, name, data, check sum. */
static unsigned char *put_chunk(unsigned char *to, const char *name, const void *data, size_t len)
{
	unsigned char *begin = put_number(to, (uint32_t)len);

	memcpy(begin, name, 4);
	if (len)
		memmove(begin + 4, data, len);
	return put_number(begin + 4 + len, (uint32_t)crc32(0, begin, (uInt)(len + 4)));
}

/* Four bits per cell, two of them in a byte; each line begins with its filter, which is none. */
static unsigned char *pack_cells(const struct picture *p, size_t wide, size_t *len)
{
	size_t line = 1 + (wide + 1) / 2;
	unsigned char *all = calloc(p->cnt ? p->cnt : 1, line);

	for (size_t y = 0; all && y < p->cnt; y++)
		for (size_t x = 0; x < wide; x++) {
			size_t from = x * p->merged;
			size_t cnt = p->wide - from < p->merged ? p->wide - from : p->merged;
			unsigned colour = worst_of(p->rows[y].cells + from, cnt);

			all[y * line + 1 + x / 2] |= (unsigned char)(colour << (x % 2 ? 0 : 4));
		}
	*len = line * p->cnt;
	return all;
}

static unsigned char *make(const struct picture *p, size_t *len)
{
	static const unsigned char magic[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
	unsigned char head[13] = {0}, colours[PICTURE_COLOURS * 3], clear[PICTURE_COLOURS];
	size_t wide = (p->wide + p->merged - 1) / p->merged, raw_len;
	unsigned char *raw = pack_cells(p, wide, &raw_len), *all = NULL, *at;
	uLongf room = compressBound((uLong)raw_len);

	put_number(put_number(head, (uint32_t)wide), (uint32_t)p->cnt);
	head[8] = 4; /* bits */
	head[9] = 3; /* indexed */
	for (size_t i = 0; i < PICTURE_COLOURS; i++) {
		memcpy(colours + 3 * i, picture_colour[i], 3);
		clear[i] = picture_colour[i][3];
	}
	if (raw)
		all = malloc(room + 256);
	if (all) {
		memcpy(all, magic, sizeof(magic));
		at = put_chunk(all + sizeof(magic), "IHDR", head, sizeof(head));
		at = put_chunk(at, "PLTE", colours, sizeof(colours));
		at = put_chunk(at, "tRNS", clear, sizeof(clear));
		if (compress2(at + 8, &room, raw, (uLong)raw_len, 6) != Z_OK) {
			free(all);
			all = NULL;
		} else {
			at = put_chunk(at, "IDAT", at + 8, room);
			at = put_chunk(at, "IEND", NULL, 0);
			*len = (size_t)(at - all);
		}
	}
	free(raw);
	return all;
}

unsigned char *picture_png(struct picture *p, size_t *len)
{
	unsigned char *png;

	p->merged = 1;
	while ((png = make(p, len)) && *len > PICTURE_BYTES && p->merged < p->wide) {
		free(png);
		p->merged *= 2;
	}
	return png;
}
