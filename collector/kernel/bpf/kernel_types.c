/* kernel_types.c - takes types out of BTF, in one pass over all and one over those that are named. */
#ifdef SL_HAVE_BPF

#include "collector/kernel/bpf/kernel_types.h"

#include <endian.h>
#include <errno.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/hash.h"
#include "collector/base/map.h"

#define DEPTH_MOST 32
#define BYTES_MOST (1u << 20)
#define KINDS      32u
#define BEGIN_BITS 16

/* Bytes behind a struct btf_type, by kind: for all, and for each of its elements. From Linux 6.0 on there is KIND_ENUM64. */
#define KIND_ENUM64 19
static const struct {
	uint8_t is_known, all, each;
} kinds[KINDS] = {
	[BTF_KIND_INT] = {1, 4, 0},
	[BTF_KIND_PTR] = {1, 0, 0},
	[BTF_KIND_ARRAY] = {1, sizeof(struct btf_array), 0},
	[BTF_KIND_STRUCT] = {1, 0, sizeof(struct btf_member)},
	[BTF_KIND_UNION] = {1, 0, sizeof(struct btf_member)},
	[BTF_KIND_ENUM] = {1, 0, sizeof(struct btf_enum)},
	[BTF_KIND_FWD] = {1, 0, 0},
	[BTF_KIND_TYPEDEF] = {1, 0, 0},
	[BTF_KIND_VOLATILE] = {1, 0, 0},
	[BTF_KIND_CONST] = {1, 0, 0},
	[BTF_KIND_RESTRICT] = {1, 0, 0},
	[BTF_KIND_FUNC] = {1, 0, 0},
	[BTF_KIND_FUNC_PROTO] = {1, 0, sizeof(struct btf_param)},
	[BTF_KIND_VAR] = {1, sizeof(struct btf_var), 0},
	[BTF_KIND_DATASEC] = {1, 0, sizeof(struct btf_var_secinfo)},
	[BTF_KIND_FLOAT] = {1, 0, 0},
	[BTF_KIND_DECL_TAG] = {1, sizeof(struct btf_decl_tag), 0},
	[BTF_KIND_TYPE_TAG] = {1, 0, 0},
	[KIND_ENUM64] = {1, 0, 12},
};

struct bytes {
	char *at;
	uint32_t cnt, cap;
};

struct making {
	struct {
		const char *types, *text; /* text: names, ended by a 0 */
		uint32_t *at;             /* where each type is, by id */
		uint32_t cnt, text_len;
	} of; /* the kernel's */
	const char *const *names;
	size_t name_cnt;
	uint8_t begins[1 << (BEGIN_BITS - 3)]; /* see begin_of(): most names are none of these */
	uint32_t *found;                       /* ids of types with one of the names, in order */
	size_t found_cnt, found_cap;
	struct bytes out, out_text;
	struct map id; /* of a type that was taken */
	uint32_t *real, cnt, real_cap, pointer;
	int err;
};

static const struct btf_type *type_of(const struct making *m, uint32_t id)
{
	return (const void *)(m->of.types + m->of.at[id]);
}

static unsigned kind_of(const struct btf_type *t)
{
	return BTF_INFO_KIND(t->info);
}

static const char *name_of(const struct making *m, const struct btf_type *t)
{
	return m->of.text + (t->name_off < m->of.text_len ? t->name_off : m->of.text_len - 1);
}

/* ---- names ---- */

/* A bit for the first eight characters of the name at @name, of which @room bytes can be read. */
static unsigned begin_of(const char *name, size_t room)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t word = 0, ends;

	memcpy(&word, name, room < sizeof(word) ? room : sizeof(word));
	word = le64toh(word);
	ends = (word - ones) & ~word & ones << 7;
	/* Nothing behind the first 0. */
	if (ends)
		word &= ((ends & -ends) >> 7) - 1;
	return (unsigned)(hash_u64(word) & ((1u << BEGIN_BITS) - 1));
}

static int by_text(const void *name, const void *one)
{
	return strcmp(name, *(const char *const *)one);
}

/* @name is in the kernel's text. */
static bool is_wanted(const struct making *m, const char *name)
{
	unsigned begin;

	if (!name[0])
		return false;
	begin = begin_of(name, m->of.text_len - (size_t)(name - m->of.text));
	return m->begins[begin / 8] >> begin % 8 & 1 &&
	       bsearch(name, m->names, m->name_cnt, sizeof(*m->names), by_text);
}

/* ---- types of the result ---- */

static void *room_of(struct making *m, struct bytes *b, uint32_t cnt)
{
	void *at;

	while (!m->err && b->cap - b->cnt < cnt)
		if (b->cap > BYTES_MOST || !grow(&b->at, b->cap, &b->cap, 1))
			m->err = -ENOMEM;
	if (m->err)
		return NULL;
	at = b->at + b->cnt;
	b->cnt += cnt;
	return memset(at, 0, cnt);
}

/* Its offset. A name that occurs twice is written twice. */
static uint32_t put_name(struct making *m, const char *name)
{
	uint32_t len = (uint32_t)strlen(name) + 1, at = m->out_text.cnt;
	char *to = *name ? room_of(m, &m->out_text, len) : NULL;

	if (!to)
		return 0;
	memcpy(to, name, len);
	return at;
}

/* Writes a type of @bytes, of which the first are @head; what follows is @more. Its id; 0: an error. */
static uint32_t put(struct making *m, uint32_t real, const struct btf_type *head, const void *more,
		    uint32_t bytes)
{
	struct btf_type *to = room_of(m, &m->out, (uint32_t)sizeof(*head) + bytes);

	if (to && !grow(&m->real, m->cnt, &m->real_cap, sizeof(*m->real)))
		m->err = -ENOMEM;
	if (m->err)
		return 0;
	*to = *head;
	if (bytes)
		memcpy(to + 1, more, bytes);
	m->real[m->cnt++] = real;
	return m->cnt;
}

/* ---- one type ---- */

static uint32_t take(struct making *m, uint32_t id, unsigned depth);

/* Behind names and qualifiers of a type. */
static uint32_t bare(const struct making *m, uint32_t id)
{
	for (unsigned i = 0; id && id < m->of.cnt && i < DEPTH_MOST; i++)
		switch (kind_of(type_of(m, id))) {
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_CONST:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_RESTRICT:
		case BTF_KIND_TYPE_TAG:
			id = type_of(m, id)->type;
			break;
		default:
			return id;
		}
	return 0;
}

static uint32_t take_pointer(struct making *m)
{
	struct btf_type head = {.info = BTF_KIND_PTR << 24};

	if (!m->pointer)
		m->pointer = put(m, 0, &head, NULL, 0);
	return m->pointer;
}

static uint32_t take_array(struct making *m, uint32_t id, unsigned depth)
{
	struct btf_array a = *(const struct btf_array *)(type_of(m, id) + 1);
	struct btf_type head = {.info = BTF_KIND_ARRAY << 24};

	a.type = take(m, a.type, depth);
	a.index_type = take(m, a.index_type, depth);
	return put(m, id, &head, &a, sizeof(a));
}

/* Members of a struct or union, or parameters: by name and type. */
static uint32_t take_members(struct making *m, uint32_t id, unsigned depth)
{
	const struct btf_type *t = type_of(m, id);
	unsigned kind = kind_of(t), cnt = BTF_INFO_VLEN(t->info);
	struct btf_type head = *t;
	uint32_t bytes = cnt * kinds[kind].each, made;
	char *more;

	head.name_off = put_name(m, name_of(m, t));
	if (head.name_off && !is_wanted(m, name_of(m, t))) {
		head.info &= ~0xffffu;
		return put(m, id, &head, NULL, 0);
	}
	more = malloc(bytes + 1);
	if (!more) {
		m->err = -ENOMEM;
		return 0;
	}
	memcpy(more, t + 1, bytes);
	/* Both begin with the name's offset and the type. */
	for (unsigned i = 0; i < cnt && !m->err; i++) {
		struct btf_param *p = (void *)(more + i * kinds[kind].each);

		p->name_off =
			p->name_off < m->of.text_len ? put_name(m, m->of.text + p->name_off) : 0;
		p->type = take(m, p->type, depth);
	}
	if (kind == BTF_KIND_FUNC_PROTO)
		head.type = take(m, head.type, depth);
	made = put(m, id, &head, more, bytes);
	free(more);
	return made;
}

/* A number, or an enumeration without its values. */
static uint32_t take_number(struct making *m, uint32_t id)
{
	struct btf_type head = *type_of(m, id);

	head.name_off = put_name(m, name_of(m, type_of(m, id)));
	if (kind_of(&head) == BTF_KIND_INT)
		return put(m, id, &head, type_of(m, id) + 1, 4);
	head.info &= ~0xffffu;
	return put(m, id, &head, NULL, 0);
}

static uint32_t take_new(struct making *m, uint32_t id, unsigned depth)
{
	switch (kind_of(type_of(m, id))) {
	case BTF_KIND_INT:
	case BTF_KIND_FLOAT:
	case BTF_KIND_FWD:
	case BTF_KIND_ENUM:
	case KIND_ENUM64:
		return take_number(m, id);
	case BTF_KIND_ARRAY:
		return take_array(m, id, depth);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_FUNC_PROTO:
		return take_members(m, id, depth);
	default:
		return 0;
	}
}

/* Its id in the new BTF; 0: void. */
static uint32_t take(struct making *m, uint32_t id, unsigned depth)
{
	uint64_t *known;
	uint32_t made;

	id = bare(m, id);
	if (!id || m->err)
		return 0;
	if (kind_of(type_of(m, id)) == BTF_KIND_PTR)
		return take_pointer(m);
	known = map_at(&m->id, id, false);
	if (known)
		return (uint32_t)*known;
	/* Types that contain themselves: not the kernel's. */
	if (depth == DEPTH_MOST) {
		m->err = -EINVAL;
		return 0;
	}
	made = take_new(m, id, depth + 1);
	known = m->err ? NULL : map_at(&m->id, id, true);
	if (known)
		*known = made;
	else
		m->err = m->err ? m->err : -ENOMEM;
	return made;
}

/* A name for another type, or a function: what programs are attached to. */
static void take_named(struct making *m, uint32_t id)
{
	struct btf_type head = *type_of(m, id);

	head.type = take(m, head.type, 0);
	head.name_off = put_name(m, name_of(m, type_of(m, id)));
	put(m, id, &head, NULL, 0);
}

/* ---- all types ---- */

/* The type at @at, of @end - @at bytes; NULL: it has no such form. */
static const char *behind(const char *at, const char *end)
{
	const struct btf_type *t = (const void *)at;
	size_t need = sizeof(*t);
	unsigned kind;

	if ((size_t)(end - at) < need)
		return NULL;
	kind = kind_of(t);
	if (!kinds[kind].is_known)
		return NULL;
	need += kinds[kind].all + (size_t)BTF_INFO_VLEN(t->info) * kinds[kind].each;
	return (size_t)(end - at) < need ? NULL : at + need;
}

static bool is_named(unsigned kind)
{
	return kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION || kind == BTF_KIND_ENUM ||
	       kind == KIND_ENUM64 || kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_FUNC;
}

/* Finds where each type is, and those that are named. */
static int read_types(struct making *m, const char *at, uint32_t len)
{
	const char *end = at + len;

	m->of.types = at;
	m->of.cnt = 1;
	m->of.at = malloc((len / sizeof(struct btf_type) + 2) * sizeof(*m->of.at));
	while (m->of.at && at < end) {
		const struct btf_type *t = (const void *)at;
		const char *next = behind(at, end);

		if (!next)
			return -EINVAL;
		if (is_named(kind_of(t)) && is_wanted(m, name_of(m, t))) {
			if (!grow(&m->found, m->found_cnt, &m->found_cap, sizeof(*m->found)))
				return -ENOMEM;
			m->found[m->found_cnt++] = m->of.cnt;
		}
		m->of.at[m->of.cnt++] = (uint32_t)(at - m->of.types);
		at = next;
	}
	return m->of.at ? 0 : -ENOMEM;
}

static void mark_names(struct making *m)
{
	for (size_t i = 0; i < m->name_cnt; i++) {
		unsigned begin = begin_of(m->names[i], strlen(m->names[i]) + 1);

		m->begins[begin / 8] |= (uint8_t)(1u << begin % 8);
	}
}

static int take_all(struct making *m)
{
	for (size_t i = 0; i < m->found_cnt && !m->err; i++) {
		unsigned kind = kind_of(type_of(m, m->found[i]));

		if (kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_FUNC)
			take_named(m, m->found[i]);
		else
			take(m, m->found[i], 0);
	}
	return m->err;
}

static int write_all(struct making *m, struct kernel_types *t)
{
	struct btf_header head = {.magic = BTF_MAGIC,
				  .version = BTF_VERSION,
				  .hdr_len = sizeof(head),
				  .type_len = m->out.cnt,
				  .str_off = m->out.cnt,
				  .str_len = m->out_text.cnt};
	char *to;

	t->bytes = (uint32_t)sizeof(head) + head.type_len + head.str_len;
	t->btf = to = malloc(t->bytes);
	if (!to)
		return -ENOMEM;
	memcpy(to, &head, sizeof(head));
	memcpy(to + sizeof(head), m->out.at, m->out.cnt);
	memcpy(to + sizeof(head) + m->out.cnt, m->out_text.at, m->out_text.cnt);
	t->real = m->real;
	t->cnt = m->cnt;
	m->real = NULL;
	return 0;
}

int kernel_types_make(struct kernel_types *t, const void *btf, size_t bytes,
		      const char *const *names, size_t name_cnt)
{
	struct making m = {.names = names, .name_cnt = name_cnt};
	const struct btf_header *head = btf;
	const char *at = btf;
	uint64_t types, text;
	int err = 0;

	if (bytes < sizeof(*head) || head->magic != BTF_MAGIC || head->version != BTF_VERSION)
		return -EINVAL;
	types = (uint64_t)head->hdr_len + head->type_off;
	text = (uint64_t)head->hdr_len + head->str_off;
	if (types + head->type_len > bytes || text + head->str_len > bytes || types % 4 ||
	    !head->str_len || at[text + head->str_len - 1])
		return -EINVAL;
	m.of.text = at + text;
	m.of.text_len = head->str_len;
	mark_names(&m);
	err = read_types(&m, at + types, head->type_len);
	if (!err && !room_of(&m, &m.out_text, 1))
		err = m.err;
	if (!err)
		err = take_all(&m);
	if (!err)
		err = write_all(&m, t);
	free(m.of.at);
	free(m.found);
	free(m.out.at);
	free(m.out_text.at);
	free(m.real);
	map_free(&m.id);
	return err;
}

void kernel_types_free(struct kernel_types *t)
{
	free(t->btf);
	free(t->real);
	memset(t, 0, sizeof(*t));
}

#endif
