/* pack.c - events to bits and back. */
#include <string.h>

#include "exporters/view/index/pack.h"

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

static void put_column(struct writer *w, const uint64_t *values, unsigned n, unsigned width)
{
	struct writer at = *w;

	for (unsigned i = 0; i < n; i++) {
		at.bits |= values[i] << at.cnt;
		at.cnt += width;
		if (at.cnt < 64)
			continue;
		memcpy(at.p, &at.bits, 8);
		at.p += 8;
		at.cnt -= 64;
		at.bits = at.cnt ? values[i] >> (width - at.cnt) : 0;
	}
	*w = at;
}

/* The head but for the widths of gaps and durations; of the others the width is that of the largest above the least. */
static void head_of(const struct view_event *e, unsigned cnt, struct head *h)
{
	uint32_t least_name = e->name, most_name = e->name;
	int64_t least_row = e->row, most_row = e->row;
	unsigned least_source = e->source, most_source = e->source, flags = e->flags;

	for (unsigned i = 1; i < cnt; i++) {
		least_row = e[i].row < least_row ? e[i].row : least_row;
		most_row = e[i].row > most_row ? e[i].row : most_row;
		least_name = e[i].name < least_name ? e[i].name : least_name;
		most_name = e[i].name > most_name ? e[i].name : most_name;
		least_source = e[i].source < least_source ? e[i].source : least_source;
		most_source = e[i].source > most_source ? e[i].source : most_source;
		flags |= e[i].flags;
	}
	*h = (struct head){.cnt = (uint8_t)cnt,
			   .start = e->start,
			   .row = least_row,
			   .name = least_name,
			   .source = (uint8_t)least_source};
	h->width[NAME] = (uint8_t)width_of(most_name - least_name);
	h->width[ROW] = (uint8_t)width_of((uint64_t)most_row - (uint64_t)least_row);
	h->width[SOURCE] = (uint8_t)width_of(most_source - least_source);
	h->width[FLAGS] = (uint8_t)width_of(flags);
}

static uint64_t value_of(const struct view_event *e, unsigned i, const struct head *h, int column)
{
	switch (column) {
	case GAP:
		return i ? (uint64_t)e[i].start - (uint64_t)e[i - 1].end : 0;
	case DUR: /* An open event ends with the time: no duration is kept. */
		return e[i].flags & VIEW_OPEN ? 0 : (uint64_t)e[i].end - (uint64_t)e[i].start;
	case NAME:
		return e[i].name - h->name;
	case ROW:
		return (uint64_t)e[i].row - (uint64_t)h->row;
	case SOURCE:
		return (uint64_t)(e[i].source - h->source);
	default:
		return e[i].flags;
	}
}

/* Inlined for each column, so that the loop has no switch. */
__attribute__((always_inline)) static inline void pack_column(struct writer *w,
							      const struct view_event *e,
							      struct head *h, const int column)
{
	uint64_t values[VIEW_BLOCK], all = 0;

	if (column > DUR && h->width[column] == 0)
		return;
	for (unsigned i = 0; i < h->cnt; i++) {
		values[i] = value_of(e, i, h, column);
		all |= values[i];
	}
	h->width[column] = (uint8_t)width_of(all);
	if (all)
		put_column(w, values, h->cnt, h->width[column]);
}

size_t view_pack(const struct view_event *e, unsigned cnt, uint8_t *to)
{
	struct head h;
	struct writer w = {.p = to + sizeof(h)};

	head_of(e, cnt, &h);
	pack_column(&w, e, &h, GAP);
	pack_column(&w, e, &h, DUR);
	pack_column(&w, e, &h, NAME);
	pack_column(&w, e, &h, ROW);
	pack_column(&w, e, &h, SOURCE);
	pack_column(&w, e, &h, FLAGS);
	memcpy(w.p, &w.bits, 8);
	memcpy(to, &h, sizeof(h));
	return sizeof(h) + bytes_of(&h);
}

/* ---- reading ---- */

/* A column: the same few steps for each value, which the compiler can do side by side. */
static void get_column(const uint8_t *from, size_t bit, unsigned width, unsigned cnt,
		       uint64_t values[VIEW_BLOCK])
{
	uint64_t mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1, value;

	if (width == 0) {
		memset(values, 0, cnt * sizeof(*values));
		return;
	}
	for (unsigned i = 0; width <= 57 && i < cnt; i++, bit += width) {
		memcpy(&value, from + bit / 8, 8);
		values[i] = value >> bit % 8 & mask;
	}
	for (unsigned i = 0; width > 57 && i < cnt; i++, bit += width) {
		memcpy(&value, from + bit / 8, 8);
		value >>= bit % 8;
		if (bit % 8 + width > 64)
			value |= (uint64_t)from[bit / 8 + 8] << (64 - bit % 8);
		values[i] = value & mask;
	}
}

static void get_times(const struct head *h, const uint64_t *gap, const uint64_t *dur,
		      struct view_event *e)
{
	uint64_t end = (uint64_t)h->start;

	for (unsigned i = 0; i < h->cnt; i++) {
		e[i].start = (int64_t)(end + gap[i]);
		end = e[i].flags & VIEW_OPEN ? VIEW_TIME_MAX : (uint64_t)e[i].start + dur[i];
		e[i].end = (int64_t)end;
	}
}

static bool get_head(const uint8_t *from, size_t len, struct head *h)
{
	if (len < sizeof(*h))
		return false;
	memcpy(h, from, sizeof(*h));
	if (h->cnt == 0 || h->cnt > VIEW_BLOCK)
		return false;
	for (int c = 0; c < COLUMNS; c++)
		if (h->width[c] > 64)
			return false;
	return bytes_of(h) <= len - sizeof(*h);
}

unsigned view_unpack_durations(const uint8_t *from, size_t len, uint64_t dur[VIEW_BLOCK],
			       uint32_t name[VIEW_BLOCK])
{
	uint64_t names[VIEW_BLOCK];
	struct head h;
	size_t bit;

	if (!get_head(from, len, &h))
		return 0;
	from += sizeof(h);
	bit = (size_t)h.width[GAP] * h.cnt;
	get_column(from, bit, h.width[DUR], h.cnt, dur);
	bit += (size_t)h.width[DUR] * h.cnt;
	get_column(from, bit, h.width[NAME], h.cnt, names);
	for (unsigned i = 0; i < h.cnt; i++)
		name[i] = h.name + (uint32_t)names[i];
	return h.cnt;
}

unsigned view_unpack(const uint8_t *from, size_t len, struct view_event *e, bool whole)
{
	uint64_t col[COLUMNS][VIEW_BLOCK];
	struct head h;
	size_t bit = 0;

	if (!get_head(from, len, &h))
		return 0;
	from += sizeof(h);
	for (int c = 0; c < COLUMNS; c++) {
		if (whole || c == GAP || c == DUR || c == NAME || c == FLAGS)
			get_column(from, bit, h.width[c], h.cnt, col[c]);
		bit += (size_t)h.width[c] * h.cnt;
	}
	for (unsigned i = 0; i < h.cnt; i++) {
		e[i].flags = (uint8_t)col[FLAGS][i];
		e[i].name = h.name + (uint32_t)col[NAME][i];
	}
	get_times(&h, col[GAP], col[DUR], e);
	for (unsigned i = 0; whole && i < h.cnt; i++) {
		e[i].row = (int64_t)((uint64_t)h.row + col[ROW][i]);
		e[i].source = (uint8_t)(h.source + col[SOURCE][i]);
	}
	return h.cnt;
}
