/*
 * cfi_entry.c - finds and parses the .eh_frame entry of an address, by the search table of .eh_frame_hdr.
 *
 * The format is that of the LSB. The table may be damaged or no table, so every read is checked against the segment, and
 * every loop advances in it.
 */
#include "preload/unwind/cfi_internal.h"

enum {
	DW_EH_PE_absptr = 0x00,
	DW_EH_PE_uleb128 = 0x01,
	DW_EH_PE_udata2 = 0x02,
	DW_EH_PE_udata4 = 0x03,
	DW_EH_PE_udata8 = 0x04,
	DW_EH_PE_sleb128 = 0x09,
	DW_EH_PE_sdata2 = 0x0a,
	DW_EH_PE_sdata4 = 0x0b,
	DW_EH_PE_sdata8 = 0x0c,
	DW_EH_PE_pcrel = 0x10,
	DW_EH_PE_datarel = 0x30,
	DW_EH_PE_indirect = 0x80,
	DW_EH_PE_omit = 0xff,
};

/* ---- reading ---- */

uint64_t cfi_uleb(struct cfi_in *in)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint8_t b = cfi_u8(in);

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
}

int64_t cfi_sleb(struct cfi_in *in)
{
	uint64_t v = 0;

	for (unsigned shift = 0;;) {
		uint8_t b = cfi_u8(in);

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
		if (!(b & 0x80)) {
			if (b & 0x40 && shift < 64)
				v |= ~UINT64_C(0) << shift;
			return (int64_t)v;
		}
	}
}

/* The bytes at an address of the table, up to its end; empty if it is outside. */
/* The bytes at an address of the table, up to its end; bad if it is outside. */
static struct cfi_in cfi_at(const struct sl_cfi *t, uint64_t address)
{
	struct cfi_in in = {NULL, NULL, true};

	if (address < t->low || address >= t->high)
		return in;
	in.p = (const uint8_t *)((uintptr_t)address + (uintptr_t)t->at);
	in.end = in.p + (t->high - address);
	in.bad = false;
	return in;
}

struct cfi_in cfi_expression(const struct sl_cfi *t, int32_t at)
{
	struct cfi_in in = cfi_at(t, t->low + (uint32_t)at);
	uint64_t len = cfi_uleb(&in);

	if (in.bad || len > (size_t)(in.end - in.p))
		in.bad = true;
	else
		in.end = in.p + len;
	return in;
}

uint64_t cfi_encoded(const struct sl_cfi *t, struct cfi_in *in, unsigned enc)
{
	uint64_t here = cfi_address(t, in->p), v;

	switch (enc & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		v = cfi_unsigned(in, 8);
		break;
	case DW_EH_PE_uleb128:
		v = cfi_uleb(in);
		break;
	case DW_EH_PE_sleb128:
		v = (uint64_t)cfi_sleb(in);
		break;
	case DW_EH_PE_udata2:
		v = cfi_unsigned(in, 2);
		break;
	case DW_EH_PE_sdata2:
		v = (uint64_t)cfi_signed(in, 2);
		break;
	case DW_EH_PE_udata4:
		v = cfi_unsigned(in, 4);
		break;
	case DW_EH_PE_sdata4:
		v = (uint64_t)cfi_signed(in, 4);
		break;
	default:
		in->bad = true;
		return 0;
	}
	switch (enc & 0x70) {
	case 0:
		break;
	case DW_EH_PE_pcrel:
		v += here;
		break;
	case DW_EH_PE_datarel:
		v += t->header;
		break;
	default:
		in->bad = true;
	}
	if (enc & DW_EH_PE_indirect) {
		struct cfi_in word = cfi_at(t, v);

		v = cfi_unsigned(&word, 8);
		in->bad |= word.bad;
	}
	return v;
}

/* ---- entries ---- */

/* The body of an entry, from its id on. False: end of the table, or no entry. */
static bool open_entry(const struct sl_cfi *t, uint64_t address, struct cfi_in *in)
{
	uint64_t len;

	*in = cfi_at(t, address);
	len = cfi_unsigned(in, 4);
	if (len == 0xffffffff)
		len = cfi_unsigned(in, 8);
	if (in->bad || len < 4 || len > (size_t)(in->end - in->p))
		return false;
	in->end = in->p + len;
	return true;
}

static void read_augmentation(const struct sl_cfi *t, struct cfi_cie *c, struct cfi_in *in,
			      const char *letter)
{
	struct cfi_in data;
	uint64_t len = cfi_uleb(in);
	unsigned enc;

	c->has_length = true;
	if (len > (size_t)(in->end - in->p)) {
		in->bad = true;
		return;
	}
	data = *in;
	data.end = data.p + len;
	in->p = data.end;
	for (; *letter; letter++)
		switch (*letter) {
		case 'R':
			c->enc = cfi_u8(&data);
			break;
		case 'L':
			cfi_u8(&data);
			break;
		case 'P':
			enc = cfi_u8(&data);
			cfi_encoded(t, &data, enc & 0x0f);
			break;
		case 'S':
			c->is_signal = true;
			break;
		case 'B': /* return addresses are signed with key B */
		case 'G': /* stack memory is tagged */
			break;
		default: /* Unknown: skipped by its length, but its meaning may matter. */
			in->bad = true;
			return;
		}
	in->bad |= data.bad;
}

static bool read_cie(const struct sl_cfi *t, uint64_t address, struct cfi_cie *c)
{
	struct cfi_in in;
	const char *augmentation;
	uint8_t version;

	*c = (struct cfi_cie){.enc = DW_EH_PE_absptr};
	if (!open_entry(t, address, &in) || cfi_unsigned(&in, 4) != 0)
		return false;
	version = cfi_u8(&in);
	if (version != 1 && version != 3 && version != 4)
		return false;
	augmentation = (const char *)in.p;
	while (cfi_u8(&in))
		;
	if (version == 4 && (cfi_u8(&in) != 8 || cfi_u8(&in) != 0))
		return false;
	c->code_align = cfi_uleb(&in);
	c->data_align = cfi_sleb(&in);
	c->ra = version == 1 ? cfi_u8(&in) : (uint32_t)cfi_uleb(&in);
	if (in.bad || c->ra >= SL_REG_CNT)
		return false;
	if (*augmentation == 'z')
		read_augmentation(t, c, &in, augmentation + 1);
	else if (*augmentation)
		return false;
	c->program = in;
	return !in.bad;
}

static bool read_fde(const struct sl_cfi *t, uint64_t address, struct cfi_cie *c, struct cfi_fde *f)
{
	struct cfi_in in;
	uint64_t here, id;

	if (!open_entry(t, address, &in))
		return false;
	here = cfi_address(t, in.p);
	id = cfi_unsigned(&in, 4);
	if (!id || !read_cie(t, here - id, c))
		return false;
	f->begin = cfi_encoded(t, &in, c->enc);
	f->end = f->begin + cfi_encoded(t, &in, c->enc & 0x0f);
	if (c->has_length) {
		uint64_t len = cfi_uleb(&in);

		if (len > (size_t)(in.end - in.p))
			return false;
		in.p += len;
	}
	f->program = in;
	return !in.bad && f->begin < f->end;
}

/* Without a search table: scans all entries. */
static bool walk(const struct sl_cfi *t, uint64_t frames, uint64_t pc, struct cfi_cie *c,
		 struct cfi_fde *f)
{
	struct cfi_in in;

	while (open_entry(t, frames, &in)) {
		if (read_fde(t, frames, c, f) && pc >= f->begin && pc < f->end)
			return true;
		frames = cfi_address(t, in.end);
	}
	return false;
}

bool cfi_entry(const struct sl_cfi *t, uint64_t pc, struct cfi_cie *c, struct cfi_fde *f)
{
	struct cfi_in in = cfi_at(t, t->header);
	uint8_t version = cfi_u8(&in), frames_enc = cfi_u8(&in), cnt_enc = cfi_u8(&in),
		table_enc = cfi_u8(&in);
	uint64_t frames, cnt, low = 0;
	const uint8_t *entries;

	if (in.bad || version != 1 || frames_enc == DW_EH_PE_omit)
		return false;
	frames = cfi_encoded(t, &in, frames_enc);
	if (cnt_enc == DW_EH_PE_omit || table_enc != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
		return !in.bad && walk(t, frames, pc, c, f);
	cnt = cfi_encoded(t, &in, cnt_enc);
	entries = in.p;
	if (in.bad || cnt > (size_t)(in.end - in.p) / 8)
		return false;
	while (cnt) { /* finally low - 1 is the last entry that begins at or before pc */
		uint64_t half = cnt / 2;
		int32_t begin;

		__builtin_memcpy(&begin, entries + (low + half) * 8, 4);
		if (t->header + (uint64_t)begin <= pc) {
			low += half + 1;
			cnt -= half + 1;
		} else {
			cnt = half;
		}
	}
	if (low == 0)
		return false;
	in.p = entries + (low - 1) * 8 + 4;
	return read_fde(t, t->header + (uint64_t)cfi_signed(&in, 4), c, f) && pc >= f->begin &&
	       pc < f->end;
}

bool sl_cfi_range(const struct sl_cfi *table, uint64_t pc, uint64_t *begin, uint64_t *end)
{
	struct cfi_cie cie;
	struct cfi_fde fde;

	if (!cfi_entry(table, pc, &cie, &fde))
		return false;
	*begin = fde.begin;
	*end = fde.end;
	return true;
}
