/* pack.c - events to bits and back. */
#include <string.h>

#include "exporters/view/pack.h"

enum column {
	GAP,
	DUR,
	NAME,
	ROW,
	SOURCE,
	FLAGS,
	COLUMNS
};

/* In front of the columns, little endian as all of the file. */
struct head {
	uint8_t cnt;
	uint8_t width[COLUMNS];
	uint8_t source; /* the least; of the other columns likewise */
	uint32_t name, unused;
	int64_t start, row;
};

static unsigned width_of(uint64_t most)
{
	return most ? 64 - (unsigned)__builtin_clzll(most) : 0;
}

static size_t bytes_of(const struct head *h)
{
	unsigned bits = 0;

	for (int c = 0; c < COLUMNS; c++)
		bits += h->width[c];
	return (bits * h->cnt + 7) / 8;
}

/* ---- writing ---- */

struct writer {
	uint8_t *p;
	uint64_t bits;
	unsigned cnt; /* bits that are not written: fewer than 64 */
};

static void put(struct writer *w, uint64_t value, unsigned width)
{
	if (width == 0)
		return;
	w->bits |= value << w->cnt;
	if (w->cnt + width < 64) {
		w->cnt += width;
		return;
	}
	memcpy(w->p, &w->bits, 8);
	w->p += 8;
	w->bits = w->cnt ? value >> (64 - w->cnt) : 0;
	w->cnt = w->cnt + width - 64;
	if (w->cnt == 0)
		w->bits = 0;
}

static void columns_of(const struct view_event *e, unsigned cnt, struct head *h,
		       uint64_t col[COLUMNS][VIEW_BLOCK])
{
	*h = (struct head){.cnt = (uint8_t)cnt,
			   .start = e->start,
			   .row = e->row,
			   .name = e->name,
			   .source = e->source};
	for (unsigned i = 1; i < cnt; i++) {
		h->row = e[i].row < h->row ? e[i].row : h->row;
		h->name = e[i].name < h->name ? e[i].name : h->name;
		h->source = e[i].source < h->source ? e[i].source : h->source;
	}
	for (unsigned i = 0; i < cnt; i++) {
		col[GAP][i] = i ? (uint64_t)e[i].start - (uint64_t)e[i - 1].end : 0;
		/* Those that are open end where the time does. */
		col[DUR][i] =
			e[i].flags & VIEW_OPEN ? 0 : (uint64_t)e[i].end - (uint64_t)e[i].start;
		col[NAME][i] = e[i].name - h->name;
		col[ROW][i] = (uint64_t)e[i].row - (uint64_t)h->row;
		col[SOURCE][i] = (uint64_t)(e[i].source - h->source);
		col[FLAGS][i] = e[i].flags;
	}
}

size_t view_pack(const struct view_event *e, unsigned cnt, uint8_t *to)
{
	uint64_t col[COLUMNS][VIEW_BLOCK];
	struct head h;
	struct writer w = {.p = to + sizeof(h)};

	columns_of(e, cnt, &h, col);
	for (int c = 0; c < COLUMNS; c++) {
		uint64_t all = 0;

		for (unsigned i = 0; i < cnt; i++)
			all |= col[c][i];
		h.width[c] = (uint8_t)width_of(all);
		for (unsigned i = 0; i < cnt; i++)
			put(&w, col[c][i], h.width[c]);
	}
	memcpy(w.p, &w.bits, 8);
	memcpy(to, &h, sizeof(h));
	return sizeof(h) + bytes_of(&h);
}

/* ---- reading ---- */

static uint64_t get(const uint8_t *from, size_t bit, unsigned width)
{
	uint64_t value;

	if (width == 0)
		return 0;
	memcpy(&value, from + bit / 8, 8);
	value >>= bit % 8;
	if (bit % 8 + width > 64)
		value |= (uint64_t)from[bit / 8 + 8] << (64 - bit % 8);
	return width == 64 ? value : value & ((UINT64_C(1) << width) - 1);
}

unsigned view_unpack(const uint8_t *from, size_t len, struct view_event *e)
{
	struct head h;
	size_t at[COLUMNS], bit = 0;
	uint64_t end;

	if (len < sizeof(h))
		return 0;
	memcpy(&h, from, sizeof(h));
	if (h.cnt == 0 || h.cnt > VIEW_BLOCK)
		return 0;
	for (int c = 0; c < COLUMNS; c++) {
		if (h.width[c] > 64)
			return 0;
		at[c] = bit;
		bit += (size_t)h.width[c] * h.cnt;
	}
	if (bytes_of(&h) > len - sizeof(h))
		return 0;
	from += sizeof(h);
	end = (uint64_t)h.start;
	for (unsigned i = 0; i < h.cnt; i++) {
		e[i].flags = (uint8_t)get(from, at[FLAGS] + i * h.width[FLAGS], h.width[FLAGS]);
		e[i].start = (int64_t)(end + get(from, at[GAP] + i * h.width[GAP], h.width[GAP]));
		end = (uint64_t)e[i].start + get(from, at[DUR] + i * h.width[DUR], h.width[DUR]);
		if (e[i].flags & VIEW_OPEN)
			end = VIEW_TIME_MAX;
		e[i].end = (int64_t)end;
		e[i].name =
			h.name + (uint32_t)get(from, at[NAME] + i * h.width[NAME], h.width[NAME]);
		e[i].row = (int64_t)((uint64_t)h.row +
				     get(from, at[ROW] + i * h.width[ROW], h.width[ROW]));
		e[i].source = (uint8_t)(h.source + get(from, at[SOURCE] + i * h.width[SOURCE],
						       h.width[SOURCE]));
	}
	return h.cnt;
}
