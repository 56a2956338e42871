/*
 * symbols_dwarf.c - debug information, read by elfutils' libdw.
 *
 * libdw can look addresses up itself, but walks a whole compilation unit for each. Here a unit's functions are put in
 * order when something in it is asked for the first time, and of units only their ranges are read before: the first
 * question to a large library takes milliseconds, not seconds. Where .debug_aranges lists them, that takes less again;
 * not every compiler writes it, so that each unit is asked when an address is not in that list.
 *
 * A traced program's debug information names other files (.dwo, dwz's alternate file), and libdw would open whatever has that
 * name, FIFOs and devices included. It takes no .dwo file from its caller: units that have their functions there are left to
 * the symbol table. An alternate file is handed to it, when it is a plain file and the right one.
 */
#include "collector/symbols/symbols_scope.h"

#if SL_HAVE_LIBDW

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/search.h"

#define NESTED_MOST 64 /* scopes within each other */
/*
 * Of a file: all of a million functions may name one list of a million ranges, so that its size
 * bounds neither memory nor time. Functions beyond the limit have the names of the symbol table.
 */
#define KEPT_MOST  (2u << 20)   /* functions and ranges: 100 MiB */
#define STEPS_MOST (256u << 20) /* entries and ranges that are looked at: seconds */

struct function {
	uint64_t from, to;
	Dwarf_Die die;
};

struct unit {
	Dwarf_Off offset; /* of its entry, where it is from .debug_aranges */
	Dwarf_Die die;    /* addr NULL: not looked at yet */
	bool is_read;
	struct function *list;
	size_t cnt, cap;
};

struct range {
	uint64_t from, to, until; /* until: the largest end of it and those before */
	uint32_t unit;
};

struct name {
	const void *die; /* NULL: free */
	const char *text;
};

struct symbols_dwarf {
	Elf *elf, *alt_elf;
	Dwarf *dw, *alt; /* alt: common parts of several files, by dwz; NULL: it has none */
	bool has_all;    /* units; else those in .debug_aranges */
	struct {
		uint32_t kept, steps;
	} spent;
	struct unit *unit;
	size_t unit_cnt, unit_cap;
	struct range *range;
	size_t range_cnt, range_cap;
	struct {
		struct name *list; /* open addressing */
		size_t cnt, cap;
	} names;
	struct {
		uint64_t address, until; /* until: the first address that may have another answer */
	} asked;
};

/* Something begins or ends at @at that the answer depends on. */
static void bound(struct symbols_dwarf *d, uint64_t at)
{
	if (at > d->asked.address && at < d->asked.until)
		d->asked.until = at;
}

/* ---- units ---- */

static bool may_step(struct symbols_dwarf *d)
{
	if (d->spent.steps >= STEPS_MOST)
		return false;
	d->spent.steps++;
	return true;
}

/* Where the next call goes on; not above 0: @die has no more. */
static ptrdiff_t next_range(struct symbols_dwarf *d, Dwarf_Die *die, ptrdiff_t at, uint64_t *from,
			    uint64_t *to)
{
	Dwarf_Addr base, first, end;

	if (!may_step(d))
		return 0;
	at = dwarf_ranges(die, at, &base, &first, &end);
	if (at > 0) {
		*from = first;
		*to = end;
	}
	return at;
}

static bool may_keep(struct symbols_dwarf *d)
{
	if (d->spent.kept >= KEPT_MOST)
		return false;
	d->spent.kept++;
	return true;
}

static void add_range(struct symbols_dwarf *d, uint64_t from, uint64_t to, size_t unit)
{
	/* Code that the linker threw away is at 0, or at the end of everything. */
	if (!from || from >= to || to >= UINT64_MAX - 1 || !may_keep(d) ||
	    !grow(&d->range, d->range_cnt, &d->range_cap, sizeof(*d->range)))
		return;
	d->range[d->range_cnt++] = (struct range){from, to, 0, (uint32_t)unit};
}

static void read_unit(struct symbols_dwarf *d, struct unit *u);

static void add_unit(struct symbols_dwarf *d, const Dwarf_Die *die)
{
	size_t number = d->unit_cnt, before = d->range_cnt;
	uint64_t from, to;
	struct unit *u;

	if (!grow(&d->unit, d->unit_cnt, &d->unit_cap, sizeof(*d->unit)))
		return;
	u = &d->unit[d->unit_cnt++];
	*u = (struct unit){.die = *die};
	for (ptrdiff_t at = 0; (at = next_range(d, &u->die, at, &from, &to)) > 0;)
		add_range(d, from, to, number);
	if (d->range_cnt > before)
		return;
	read_unit(d, u); /* unknown: as its functions do */
	for (size_t i = 0; i < u->cnt; i++)
		add_range(d, u->list[i].from, u->list[i].to, number);
}

static int by_start(const void *a, const void *b)
{
	const struct range *one = a, *other = b;

	return one->from < other->from ? -1 : one->from > other->from;
}

static void arrange(struct symbols_dwarf *d)
{
	uint64_t until = 0;

	if (d->range_cnt)
		qsort(d->range, d->range_cnt, sizeof(*d->range), by_start);
	for (size_t i = 0; i < d->range_cnt; i++) {
		until = d->range[i].to > until ? d->range[i].to : until;
		d->range[i].until = until;
	}
}

static void forget_units(struct symbols_dwarf *d)
{
	for (size_t i = 0; i < d->unit_cnt; i++)
		free(d->unit[i].list);
	d->unit_cnt = d->range_cnt = d->spent.kept = 0;
}

static void read_units(struct symbols_dwarf *d)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die die;

	forget_units(d);
	d->has_all = true;
	while (dwarf_get_units(d->dw, cu, &cu, &version, &type, &die, NULL) == 0)
		if (type == DW_UT_compile)
			add_unit(d, &die);
	arrange(d);
}

static int by_offset(const void *a, const void *b)
{
	const struct unit *one = a, *other = b;

	return one->offset < other->offset ? -1 : one->offset > other->offset;
}

/* Each unit that the list names, once and in order. */
static void list_units(struct symbols_dwarf *d, Dwarf_Aranges *list, size_t cnt)
{
	Dwarf_Addr from;
	Dwarf_Word bytes;
	Dwarf_Off offset;
	size_t last = 0;

	for (size_t i = 0; i < cnt; i++)
		if (!dwarf_getarangeinfo(dwarf_onearange(list, i), &from, &bytes, &offset) &&
		    grow(&d->unit, d->unit_cnt, &d->unit_cap, sizeof(*d->unit)))
			d->unit[d->unit_cnt++] = (struct unit){.offset = offset};
	if (!d->unit_cnt)
		return;
	qsort(d->unit, d->unit_cnt, sizeof(*d->unit), by_offset);
	for (size_t i = 1; i < d->unit_cnt; i++)
		if (d->unit[i].offset != d->unit[last].offset)
			d->unit[++last] = d->unit[i];
	d->unit_cnt = last + 1;
}

static void read_list(struct symbols_dwarf *d)
{
	Dwarf_Aranges *list;
	Dwarf_Addr from;
	Dwarf_Word bytes;
	struct unit key = {0};
	size_t cnt;

	if (dwarf_getaranges(d->dw, &list, &cnt) != 0)
		return;
	list_units(d, list, cnt);
	for (size_t i = 0; i < cnt && d->unit_cnt; i++) {
		const struct unit *u;

		if (dwarf_getarangeinfo(dwarf_onearange(list, i), &from, &bytes, &key.offset))
			continue;
		u = bsearch(&key, d->unit, d->unit_cnt, sizeof(key), by_offset);
		if (u)
			add_range(d, from, from + bytes, (size_t)(u - d->unit));
	}
	arrange(d);
}

/* One of the list, from its offset. False: the offset does not hold a unit. */
static bool open_unit(struct symbols_dwarf *d, struct unit *u)
{
	uint8_t type;

	if (u->die.addr)
		return true;
	if (!dwarf_offdie(d->dw, u->offset, &u->die) ||
	    dwarf_cu_info(u->die.cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) ||
	    type != DW_UT_compile) {
		u->die.addr = NULL;
		return false;
	}
	return true;
}

static struct unit *find_read(struct symbols_dwarf *d, uint64_t address)
{
	size_t low = 0, high = d->range_cnt;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (d->range[mid].from <= address)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < d->range_cnt)
		bound(d, d->range[low].from);
	for (; low && d->range[low - 1].until > address; low--) {
		bound(d, d->range[low - 1].to);
		if (address < d->range[low - 1].to)
			return &d->unit[d->range[low - 1].unit];
	}
	return NULL;
}

static struct unit *find_unit(struct symbols_dwarf *d, uint64_t address)
{
	struct unit *u = find_read(d, address);

	if (d->has_all || (u && open_unit(d, u)))
		return u;
	read_units(d);
	return find_read(d, address);
}

/* ---- functions of a unit ---- */

static void add_function(struct symbols_dwarf *d, struct unit *u, Dwarf_Die *die)
{
	uint64_t from, to;

	for (ptrdiff_t at = 0; (at = next_range(d, die, at, &from, &to)) > 0;) {
		if (!from || from >= to || !may_keep(d) ||
		    !grow(&u->list, u->cnt, &u->cap, sizeof(*u->list)))
			continue;
		u->list[u->cnt++] = (struct function){from, to, *die};
	}
}

/* Functions may be in namespaces, in classes, and in classes within functions. */
static bool may_hold_functions(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type: /* Rust */
	case DW_TAG_interface_type:
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
		return true;
	default:
		return false;
	}
}

static void walk(struct symbols_dwarf *d, struct unit *u, Dwarf_Die *parent,
		 int depth) /* NOLINT(misc-no-recursion) */
{
	Dwarf_Die die;

	if (depth > NESTED_MOST || dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			add_function(d, u, &die);
		if (may_hold_functions(tag) && dwarf_haschildren(&die) > 0)
			walk(d, u, &die, depth + 1);
	} while (may_step(d) && dwarf_siblingof(&die, &die) == 0);
}

static int function_order(const void *a, const void *b)
{
	const struct function *one = a, *other = b;

	if (one->from != other->from)
		return one->from < other->from ? -1 : 1;
	return one->to > other->to ? -1 : one->to < other->to;
}

static void read_unit(struct symbols_dwarf *d, struct unit *u)
{
	u->is_read = true;
	walk(d, u, &u->die, 0);
	if (u->cnt)
		qsort(u->list, u->cnt, sizeof(*u->list), function_order);
}

static struct function *find_function(struct symbols_dwarf *d, struct unit *u, uint64_t address)
{
	size_t low = 0, high;

	if (!u->is_read)
		read_unit(d, u);
	for (high = u->cnt; low < high;) {
		size_t mid = (low + high) / 2;

		if (u->list[mid].from <= address)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < u->cnt)
		bound(d, u->list[low].from);
	/* One within another is rare, and then not far from it. */
	for (int i = 0; low && i < 16; i++, low--) {
		bound(d, u->list[low - 1].to);
		if (address < u->list[low - 1].to)
			return &u->list[low - 1];
	}
	return NULL;
}

/* ---- names ---- */

static bool grow_names(struct symbols_dwarf *d)
{
	size_t cap = d->names.cap ? d->names.cap * 2 : 1024;
	struct name *list = calloc(cap, sizeof(*list));

	if (!list)
		return false;
	for (size_t i = 0; i < d->names.cap; i++) {
		size_t at = (size_t)((uintptr_t)d->names.list[i].die * 0x9e3779b97f4a7c15u >> 20);

		if (!d->names.list[i].die)
			continue;
		while (list[at &= cap - 1].die)
			at++;
		list[at] = d->names.list[i];
	}
	free(d->names.list);
	d->names.list = list;
	d->names.cap = cap;
	return true;
}

/* Name of a function, or of an inlined one: their common origin is named once. */
static const char *name_of(struct symbols *s, struct symbols_dwarf *d, struct unit *u,
			   Dwarf_Die *die)
{
	Dwarf_Die origin = *die;
	Dwarf_Attribute a;
	size_t at;

	if (dwarf_attr(die, DW_AT_abstract_origin, &a) && !symbols_linkage_name(die) &&
	    !dwarf_formref_die(&a, &origin))
		origin = *die;
	if (d->names.cnt * 2 >= d->names.cap && !grow_names(d))
		return symbols_function_name(s, &u->die, die);
	at = (size_t)((uintptr_t)origin.addr * 0x9e3779b97f4a7c15u >> 20);
	while (d->names.list[at &= d->names.cap - 1].die) {
		if (d->names.list[at].die == origin.addr)
			return d->names.list[at].text;
		at++;
	}
	d->names.list[at] = (struct name){origin.addr, symbols_function_name(s, &u->die, die)};
	d->names.cnt++;
	return d->names.list[at].text;
}

/* ---- places ---- */

static bool has_address(struct symbols_dwarf *d, Dwarf_Die *die, uint64_t address)
{
	uint64_t from, to;

	for (ptrdiff_t at = 0; (at = next_range(d, die, at, &from, &to)) > 0;) {
		bound(d, from);
		bound(d, to);
		if (address >= from && address < to)
			return true;
	}
	return false;
}

/* Finds functions inlined at @address, the outermost first. */
static size_t find_inlined(struct symbols_dwarf *d, Dwarf_Die *function, uint64_t address,
			   Dwarf_Die *list, size_t most)
{
	Dwarf_Die parent = *function, die;
	size_t cnt = 0;
	bool found = true;

	for (int depth = 0; found && depth < NESTED_MOST && cnt < most; depth++) {
		found = false;
		if (dwarf_child(&parent, &die) != 0)
			break;
		do {
			int tag = dwarf_tag(&die);

			if ((tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block) ||
			    !has_address(d, &die, address))
				continue;
			if (tag == DW_TAG_inlined_subroutine)
				list[cnt++] = die;
			parent = die;
			found = true;
			break;
		} while (may_step(d) && dwarf_siblingof(&die, &die) == 0);
	}
	return cnt;
}

static uint64_t line_begin(Dwarf_Lines *lines, size_t i)
{
	Dwarf_Addr at;

	return dwarf_lineaddr(dwarf_onesrcline(lines, i), &at) == 0 ? at : 0;
}

static void find_line(struct symbols_dwarf *d, Dwarf_Die *unit, uint64_t address,
		      struct symbols_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	Dwarf_Lines *lines;
	size_t cnt, next;

	if (dwarf_getsrclines(unit, &lines, &cnt) == 0) {
		next = search_first(i, 0, cnt, line_begin(lines, i) <= address);
		if (next < cnt)
			bound(d, line_begin(lines, next));
	}
	if (!line)
		return;
	frame->file = dwarf_linesrc(line, NULL, NULL);
	if (dwarf_lineno(line, &frame->line) != 0)
		frame->line = 0;
}

size_t symbols_dwarf_at(struct symbols *s, struct symbols_dwarf *d, uint64_t address,
			struct symbols_frame *frame, size_t room_cnt, uint64_t *entry,
			uint64_t *until)
{
	Dwarf_Die inlined[SYMBOLS_FRAMES_MAX];
	size_t cnt, used = 0;
	struct function *f;
	struct unit *u;
	Dwarf_Addr begin;

	d->asked.address = address;
	d->asked.until = UINT64_MAX;
	u = find_unit(d, address);
	f = u ? find_function(d, u, address) : NULL;
	*entry = 0;
	*until = d->asked.until;
	if (!u || !room_cnt)
		return 0;
	frame[0] = (struct symbols_frame){0};
	find_line(d, &u->die, address, &frame[0]);
	frame[0].file = symbols_source_path(s, &u->die, frame[0].file);
	*until = d->asked.until;
	if (!f)
		return frame[0].file ? 1 : 0;
	cnt = find_inlined(d, &f->die, address, inlined, SYMBOLS_FRAMES_MAX);
	*until = d->asked.until;
	/* No room for all: the innermost are left out. */
	if (cnt >= room_cnt) {
		frame[0].file = symbols_source_path(
			s, &u->die, symbols_call_file(&u->die, &inlined[room_cnt - 1]));
		frame[0].line = symbols_call_line(&inlined[room_cnt - 1]);
		cnt = room_cnt - 1;
	}
	for (size_t i = cnt; i--; used++) {
		frame[used].function = name_of(s, d, u, &inlined[i]);
		frame[used].is_inlined = true;
		frame[used + 1] = (struct symbols_frame){
			.file = symbols_source_path(s, &u->die,
						    symbols_call_file(&u->die, &inlined[i])),
			.line = symbols_call_line(&inlined[i]),
		};
	}
	frame[used].function = name_of(s, d, u, &f->die);
	*entry = dwarf_entrypc(&f->die, &begin) == 0 ? begin : f->from;
	return used + 1;
}

/* ---- session ---- */

static bool has_build_id(const char *path, const void *id, size_t len)
{
	struct elf_image e;
	struct elf_part has;
	bool same;

	if (!elf_image_open(&e, path))
		return false;
	has = elf_image_build_id(&e);
	same = has.at && has.size == len && memcmp(has.at, id, len) == 0;
	elf_image_close(&e);
	return same;
}

/* Hands over dwz's file, or finds that there is none. False: it is not there, and libdw would look for it by itself. */
static bool open_alternate(struct symbols_dwarf *d, const char *path)
{
	const char *name, *slash = strrchr(path, '/');
	const void *id;
	ssize_t len = dwelf_dwarf_gnu_debugaltlink(d->dw, &name, &id);
	char beside[4096];

	if (len <= 0)
		return !len;
	snprintf(beside, sizeof(beside), "%.*s%s",
		 *name == '/' || !slash ? 0 : (int)(slash + 1 - path), path, name);
	d->alt = has_build_id(beside, id, (size_t)len) ? symbols_dwarf_file(beside, &d->alt_elf)
						       : NULL;
	if (d->alt)
		dwarf_setalt(d->dw, d->alt);
	return d->alt;
}

struct symbols_dwarf *symbols_dwarf_open(const char *path)
{
	struct symbols_dwarf *d = calloc(1, sizeof(*d));

	if (d)
		d->dw = symbols_dwarf_file(path, &d->elf);
	if (d && d->dw && !open_alternate(d, path)) {
		symbols_dwarf_close(d);
		return NULL;
	}
	if (d && d->dw)
		read_list(d);
	if (d && d->dw && !d->range_cnt)
		read_units(d);
	if (d && d->range_cnt)
		return d;
	symbols_dwarf_close(d);
	return NULL;
}

void symbols_dwarf_close(struct symbols_dwarf *d)
{
	if (!d)
		return;
	forget_units(d);
	free(d->unit);
	free(d->range);
	free(d->names.list);
	if (d->dw)
		dwarf_end(d->dw);
	if (d->elf)
		elf_end(d->elf);
	if (d->alt)
		dwarf_end(d->alt);
	if (d->alt_elf)
		elf_end(d->alt_elf);
	free(d);
}

bool symbols_dwarf_is_alone(const struct symbols_dwarf *d)
{
	return !d->alt;
}

#else /* without libdw: names by symbol tables alone */

struct symbols_dwarf *symbols_dwarf_open(const char *path)
{
	(void)path;
	return NULL;
}

void symbols_dwarf_close(struct symbols_dwarf *d)
{
	(void)d;
}

bool symbols_dwarf_is_alone(const struct symbols_dwarf *d)
{
	(void)d;
	return true;
}

size_t symbols_dwarf_at(struct symbols *s, struct symbols_dwarf *d, uint64_t address,
			struct symbols_frame *frame, size_t room, uint64_t *entry, uint64_t *until)
{
	(void)s;
	(void)d;
	(void)frame;
	(void)room;
	*entry = 0;
	*until = address + 1;
	return 0;
}

#endif
