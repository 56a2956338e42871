/*
 * proto_reader.h - protobuf messages as text, read without the product's writer.
 *
 * A message is its fields in their order: "1:5 2:"text" 3{1:7}". What only a schema can know is in @spec, which lists
 * the fields of which more is known: N{...} a message, N# packed numbers ("N[1,2]"), N- is left out.
 */
#pragma once

#include "fmt_test.h"

#include <inttypes.h>

struct pb {
	const unsigned char *p, *end;
};

static inline uint64_t pb_varint(struct pb *m)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		assert_true(m->p < m->end);
		v |= (uint64_t)(*m->p & 0x7F) << (shift < 64 ? shift : 63);
		if (!(*m->p++ & 0x80))
			return v;
	}
	fail_msg("a number of more than ten bytes");
	return 0;
}

/* The part of @spec behind the number of the field; NULL: the field is not in it. */
static inline const char *pb_spec_of(const char *spec, uint64_t field)
{
	while (*spec && *spec != '}') {
		uint64_t n = strtoull(spec, (char **)&spec, 10);
		int depth = 0;

		if (n == field)
			return spec;
		for (; *spec && (depth > 0 || (*spec != ' ' && *spec != '}')); spec++)
			depth += (*spec == '{') - (*spec == '}');
		spec += *spec == ' ';
	}
	return NULL;
}

static inline void pb_put(FILE *f, struct pb m, const char *spec);

static inline void pb_put_bytes(FILE *f, uint64_t field, struct pb data, const char *how)
{
	fprintf(f, "%" PRIu64, field);
	if (how && *how == '{') {
		fputc('{', f);
		pb_put(f, data, how + 1);
		fputc('}', f);
	} else if (how && *how == '#') {
		fputc('[', f);
		for (const char *comma = ""; data.p < data.end; comma = ",")
			fprintf(f, "%s%" PRIu64, comma, pb_varint(&data));
		fputc(']', f);
	} else {
		fprintf(f, ":\"%.*s\"", (int)(data.end - data.p), (const char *)data.p);
	}
}

static inline void pb_put(FILE *f, struct pb m, const char *spec)
{
	const char *space = "";

	while (m.p < m.end) {
		uint64_t tag = pb_varint(&m), field = tag >> 3, v = 0;
		const char *how = pb_spec_of(spec, field);
		struct pb data = m;

		switch (tag & 7) {
		case 0:
			v = pb_varint(&m);
			break;
		case 1:
			assert_true(m.end - m.p >= 8);
			for (int i = 8; i-- > 0;)
				v = v << 8 | m.p[i];
			m.p += 8;
			break;
		case 2:
			v = pb_varint(&m);
			assert_true((uint64_t)(m.end - m.p) >= v);
			data = (struct pb){m.p, m.p + v};
			m.p += v;
			break;
		default:
			fail_msg("wire type %d", (int)(tag & 7));
		}
		if (how && *how == '-')
			continue;
		fputs(space, f);
		space = " ";
		if ((tag & 7) == 2)
			pb_put_bytes(f, field, data, how);
		else if ((tag & 7) == 1)
			fprintf(f, "%" PRIu64 ":0x%" PRIx64, field, v);
		else
			fprintf(f, "%" PRIu64 ":%" PRId64, field, (int64_t)v);
	}
}

/* The bytes as text, in a buffer that the next call uses again. */
static inline const char *pb_text(const void *data, size_t len, const char *spec)
{
	static char *text;
	size_t text_len;
	FILE *f;

	free(text);
	f = open_memstream(&text, &text_len);
	assert_non_null(f);
	pb_put(f, (struct pb){data, (const unsigned char *)data + len}, spec);
	fclose(f);
	return text;
}

/* Each field of the outermost message on a line of its own. */
static inline const char *pb_lines(const void *data, size_t len, const char *spec)
{
	char *text = (char *)(uintptr_t)pb_text(data, len, spec);
	int depth = 0;
	bool quoted = false;

	for (char *p = text; *p; p++) {
		quoted ^= *p == '"';
		if (!quoted)
			depth += (*p == '{') - (*p == '}');
		if (!quoted && depth == 0 && *p == ' ')
			*p = '\n';
	}
	return text;
}
