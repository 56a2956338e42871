/* json_out.h - JSON into an export's buffer: made for millions of events, exact to the nanosecond. */
#pragma once

#include "exporters/formats/out.h"

/* "text": quoted, escaped; bytes that are no UTF-8 become U+FFFD. */
void json_out_text(struct out *o, const char *text, size_t len);
/* The text as JSON, without the quotation marks. */
void json_out_inside(struct out *o, const char *text, size_t len);
/* @begin, the text as json_out_text() writes it, @end; malloc'd, NULL without memory. */
char *json_quoted(const char *begin, const char *text, size_t len, const char *end);
/* A number, or "NaN", "Infinity", "-Infinity" as text: JSON has none. */
void json_out_real(struct out *o, double value);

/* The decimal digits of @value; returns after the last. Room for 20 is needed. */
char *digits_of(char *p, uint64_t value);

static inline char *int_at(char *p, int64_t value)
{
	if (value >= 0)
		return digits_of(p, (uint64_t)value);
	*p++ = '-';
	return digits_of(p, -(uint64_t)value);
}

/* ns as us with three decimals. Room for 24 is needed. */
char *us_at(char *p, int64_t ns);

static inline void json_out_int(struct out *o, int64_t value)
{
	o->p = int_at(out_room(o, 24), value);
}

/* A constant text, whose length the compiler knows, at a place with room. */
#define literal_at(p, text) ((char *)memcpy(p, text, sizeof(text) - 1) + sizeof(text) - 1)
