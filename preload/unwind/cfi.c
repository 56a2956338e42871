/*
 * cfi.c - rows of call frame information: executes an entry's instructions up to an address, and packs the rules into 16
 * bytes (DWARF 5, section 6.4).
 */
#include "preload/unwind/cfi_internal.h"

enum {
	DW_CFA_nop = 0x00,
	DW_CFA_set_loc = 0x01,
	DW_CFA_advance_loc1 = 0x02,
	DW_CFA_advance_loc2 = 0x03,
	DW_CFA_advance_loc4 = 0x04,
	DW_CFA_offset_extended = 0x05,
	DW_CFA_restore_extended = 0x06,
	DW_CFA_undefined = 0x07,
	DW_CFA_same_value = 0x08,
	DW_CFA_register = 0x09,
	DW_CFA_remember_state = 0x0a,
	DW_CFA_restore_state = 0x0b,
	DW_CFA_def_cfa = 0x0c,
	DW_CFA_def_cfa_register = 0x0d,
	DW_CFA_def_cfa_offset = 0x0e,
	DW_CFA_def_cfa_expression = 0x0f,
	DW_CFA_expression = 0x10,
	DW_CFA_offset_extended_sf = 0x11,
	DW_CFA_def_cfa_sf = 0x12,
	DW_CFA_def_cfa_offset_sf = 0x13,
	DW_CFA_val_offset = 0x14,
	DW_CFA_val_offset_sf = 0x15,
	DW_CFA_val_expression = 0x16,
	DW_CFA_AARCH64_negate_ra_state_with_pc = 0x2c,
	DW_CFA_AARCH64_negate_ra_state = 0x2d, /* window_save on SPARC */
	DW_CFA_GNU_args_size = 0x2e,
	DW_CFA_GNU_negative_offset_extended = 0x2f,
	DW_CFA_advance_loc = 0x40, /* with the operand in the low six bits */
	DW_CFA_offset = 0x80,
	DW_CFA_restore = 0xc0,

	/* Compilers nest these once. Bounded, as the state is on the stack of the program's thread. */
	REMEMBERED_MAX = 4,
};

/* ---- instructions ---- */

struct machine {
	const struct sl_cfi *table;
	const struct cfi_cie *cie;
	struct cfi_in in;
	uint64_t loc;
	struct cfi_rules rules, initial, remembered[REMEMBERED_MAX];
	unsigned remembered_cnt;
};

static int32_t narrow(struct machine *m, int64_t v)
{
	m->in.bad |= v != (int32_t)v;
	return (int32_t)v;
}
static int32_t factored(struct machine *m, int64_t v)
{
	int64_t product;

	if (__builtin_mul_overflow(v, m->cie->data_align, &product))
		m->in.bad = true;
	return narrow(m, product);
}

/* Registers that are not followed (vectors) are ignored. */
static void set(struct machine *m, uint64_t reg, enum cfi_how how, int32_t value)
{
	if (reg < SL_REG_CNT) {
		m->rules.how[reg] = (uint8_t)how;
		m->rules.value[reg] = value;
	}
}

static void restore(struct machine *m, uint64_t reg)
{
	if (reg < SL_REG_CNT)
		set(m, reg, m->initial.how[reg], m->initial.value[reg]);
}

static void set_cfa_register(struct machine *m, uint64_t reg)
{
	m->in.bad |= reg >= SL_REG_CNT;
	m->rules.cfa_how = CFI_CFA_REGISTER;
	m->rules.cfa_register = (uint8_t)reg;
}

/* Position of the expression at the cursor, which is moved past it. */
static int32_t expression(struct machine *m)
{
	uint64_t at = cfi_address(m->table, m->in.p) - m->table->low, len = cfi_uleb(&m->in);

	if (len > (size_t)(m->in.end - m->in.p) || at > INT32_MAX) {
		m->in.bad = true;
		return 0;
	}
	m->in.p += len;
	return (int32_t)at;
}

static void remember(struct machine *m)
{
	if (m->remembered_cnt == REMEMBERED_MAX)
		m->in.bad = true;
	else
		m->remembered[m->remembered_cnt++] = m->rules;
}
static void recall(struct machine *m)
{
	if (!m->remembered_cnt)
		m->in.bad = true;
	else
		m->rules = m->remembered[--m->remembered_cnt];
}

/* Executes an instruction for one register. */
static void run_register(struct machine *m, uint8_t op)
{
	uint64_t reg = cfi_uleb(&m->in);

	switch (op) {
	case DW_CFA_offset_extended:
		set(m, reg, CFI_AT, factored(m, (int64_t)cfi_uleb(&m->in)));
		break;
	case DW_CFA_offset_extended_sf:
		set(m, reg, CFI_AT, factored(m, cfi_sleb(&m->in)));
		break;
	case DW_CFA_GNU_negative_offset_extended:
		set(m, reg, CFI_AT, factored(m, (int64_t)(0 - cfi_uleb(&m->in))));
		break;
	case DW_CFA_val_offset:
		set(m, reg, CFI_IS, factored(m, (int64_t)cfi_uleb(&m->in)));
		break;
	case DW_CFA_val_offset_sf:
		set(m, reg, CFI_IS, factored(m, cfi_sleb(&m->in)));
		break;
	case DW_CFA_restore_extended:
		restore(m, reg);
		break;
	case DW_CFA_undefined:
		set(m, reg, CFI_UNDEFINED, 0);
		break;
	case DW_CFA_same_value:
		set(m, reg, CFI_SAME, 0);
		break;
	case DW_CFA_register:
		set(m, reg, CFI_REGISTER, narrow(m, (int64_t)cfi_uleb(&m->in)));
		break;
	case DW_CFA_expression:
		set(m, reg, CFI_AT_EXPR, expression(m));
		break;
	case DW_CFA_val_expression:
		set(m, reg, CFI_IS_EXPR, expression(m));
		break;
	default:
		m->in.bad = true;
	}
}

static void run_cfa(struct machine *m, uint8_t op)
{
	switch (op) {
	case DW_CFA_def_cfa:
		set_cfa_register(m, cfi_uleb(&m->in));
		m->rules.cfa = narrow(m, (int64_t)cfi_uleb(&m->in));
		break;
	case DW_CFA_def_cfa_sf:
		set_cfa_register(m, cfi_uleb(&m->in));
		m->rules.cfa = factored(m, cfi_sleb(&m->in));
		break;
	case DW_CFA_def_cfa_register:
		set_cfa_register(m, cfi_uleb(&m->in));
		break;
	case DW_CFA_def_cfa_offset:
		m->rules.cfa = narrow(m, (int64_t)cfi_uleb(&m->in));
		break;
	case DW_CFA_def_cfa_offset_sf:
		m->rules.cfa = factored(m, cfi_sleb(&m->in));
		break;
	default:
		m->rules.cfa_how = CFI_CFA_EXPR;
		m->rules.cfa = expression(m);
	}
}

/* Executes one instruction, except those that move the location. */
static void run_one(struct machine *m, uint8_t op)
{
	switch (op & 0xc0) {
	case DW_CFA_offset:
		set(m, op & 0x3f, CFI_AT, factored(m, (int64_t)cfi_uleb(&m->in)));
		return;
	case DW_CFA_restore:
		restore(m, op & 0x3f);
		return;
	default:
		break;
	}
	switch (op) {
	case DW_CFA_nop:
	case DW_CFA_AARCH64_negate_ra_state: /* Signatures are always stripped. */
	case DW_CFA_AARCH64_negate_ra_state_with_pc:
		break;
	case DW_CFA_GNU_args_size:
		cfi_uleb(&m->in);
		break;
	case DW_CFA_remember_state:
		remember(m);
		break;
	case DW_CFA_restore_state:
		recall(m);
		break;
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_def_cfa_expression:
		run_cfa(m, op);
		break;
	default:
		run_register(m, op);
	}
}

/* The location of the next rules, if @op moves it. */
static bool moves(struct machine *m, uint8_t op, uint64_t *to)
{
	uint64_t align = m->cie->code_align;

	if ((op & 0xc0) == DW_CFA_advance_loc)
		*to = m->loc + (op & 0x3f) * align;
	else if (op == DW_CFA_advance_loc1)
		*to = m->loc + cfi_unsigned(&m->in, 1) * align;
	else if (op == DW_CFA_advance_loc2)
		*to = m->loc + cfi_unsigned(&m->in, 2) * align;
	else if (op == DW_CFA_advance_loc4)
		*to = m->loc + cfi_unsigned(&m->in, 4) * align;
	else if (op == DW_CFA_set_loc)
		*to = cfi_encoded(m->table, &m->in, m->cie->enc);
	else
		return false;
	return true;
}

/* Executes instructions up to the rules for @pc. Returns the end of their range, @end at most. */
static uint64_t run(struct machine *m, struct cfi_in program, uint64_t pc, uint64_t end)
{
	m->in = program;
	while (!m->in.bad && m->in.p < m->in.end) {
		uint8_t op = cfi_u8(&m->in);
		uint64_t to;

		if (!moves(m, op, &to)) {
			run_one(m, op);
			continue;
		}
		if (to > pc)
			return to < end ? to : end;
		m->loc = to;
	}
	return end;
}

bool cfi_find(const struct sl_cfi *t, uint64_t pc, struct cfi_found *found)
{
	struct machine m;
	struct cfi_cie c;
	struct cfi_fde f;

	if (!cfi_entry(t, pc, &c, &f))
		return false;
	m.table = t;
	m.cie = &c;
	m.loc = f.begin;
	m.remembered_cnt = 0;
	__builtin_memset(&m.rules, 0, sizeof(m.rules));
	m.initial = m.rules;
	run(&m, c.program, UINT64_MAX, 0);
	if (m.in.bad)
		return false;
	m.initial = m.rules;
	m.loc = f.begin;
	found->next = run(&m, f.program, pc, f.end);
	found->rules = m.rules;
	found->ra = c.ra;
	found->is_signal = c.is_signal;
	return !m.in.bad && m.rules.cfa_how != CFI_CFA_NONE;
}

/* ---- rows ---- */

#if defined(__x86_64__)
enum {
	DW_OP_deref = 0x06,
	DW_OP_lit0 = 0x30,
	DW_OP_breg0 = 0x70,
};

/*
 * The expression that linkers write for the PLT: rsp + 8, and 8 more from the Nth byte of each 16 on, after the push. For a
 * given address it is a simple row.
 */
static bool plt_row(struct cfi_in e, uint64_t pc, struct sl_row *row)
{
	static const uint8_t before[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a},
			     after[] = {0x2a, 0x33, 0x24, 0x22};
	unsigned byte = pc & 15, pushed;

	if (e.bad || e.end - e.p != 11 || __builtin_memcmp(e.p, before, sizeof(before)) != 0 ||
	    __builtin_memcmp(e.p + 7, after, sizeof(after)) != 0)
		return false;
	pushed = (unsigned)e.p[6] - DW_OP_lit0;
	if (pushed > 15)
		return false;
	row->kind = SL_ROW_SP;
	row->cfa = byte >= pushed ? 16 : 8;
	byte = (byte >= pushed ? 16 : pushed) - byte;
	if (row->size > byte)
		row->size = byte;
	return true;
}

/* *(rbp + N), and rbp at *(rbp + M). */
static bool realigned_row(const struct sl_cfi *t, const struct cfi_rules *r, struct sl_row *row)
{
	struct cfi_in cfa = cfi_expression(t, r->cfa), fp;
	int64_t at, saved;

	if (r->how[SL_REG_FP] != CFI_AT_EXPR)
		return false;
	fp = cfi_expression(t, r->value[SL_REG_FP]);
	if (cfi_u8(&cfa) != DW_OP_breg0 + SL_REG_FP || cfi_u8(&fp) != DW_OP_breg0 + SL_REG_FP)
		return false;
	at = cfi_sleb(&cfa);
	saved = cfi_sleb(&fp);
	if (cfi_u8(&cfa) != DW_OP_deref || cfa.bad || fp.bad || cfa.p != cfa.end ||
	    fp.p != fp.end || at != (int16_t)at || saved != (int16_t)saved)
		return false;
	row->kind = SL_ROW_FP_AT;
	row->cfa = (int32_t)at;
	row->fp = (int16_t)saved;
	return true;
}
#endif

static bool set_saved(struct sl_row *row, const struct cfi_rules *r)
{
	int32_t ra = r->how[SL_REG_RA] == CFI_AT ? r->value[SL_REG_RA] : 0;
	int32_t fp = r->how[SL_REG_FP] == CFI_AT ? r->value[SL_REG_FP] : 0;

	row->ra = (int16_t)ra;
	row->fp = (int16_t)fp;
	if (row->ra != ra || row->fp != fp || r->how[SL_REG_SP] != CFI_SAME)
		return false;
#if defined(__x86_64__)
	if (r->how[SL_REG_RA] != CFI_AT)
		return false;
#else
	if (r->how[SL_REG_RA] != CFI_AT && r->how[SL_REG_RA] != CFI_SAME)
		return false;
#endif
	return true;
}

static uint8_t row_kind(const struct sl_cfi *t, const struct cfi_found *f, uint64_t pc,
			struct sl_row *row)
{
	const struct cfi_rules *r = &f->rules;
	bool has_fp = r->how[SL_REG_FP] == CFI_AT || r->how[SL_REG_FP] == CFI_SAME;

	if (r->how[f->ra] == CFI_UNDEFINED)
		return SL_ROW_END;
	if (f->is_signal || f->ra != SL_REG_RA || !set_saved(row, r))
		return SL_ROW_FULL;
	if (r->cfa_how == CFI_CFA_REGISTER && has_fp) {
		row->cfa = r->cfa;
		if (r->cfa_register == SL_REG_SP)
			return SL_ROW_SP;
		return r->cfa_register == SL_REG_FP ? SL_ROW_FP : SL_ROW_FULL;
	}
#if defined(__x86_64__)
	if (r->cfa_how == CFI_CFA_EXPR &&
	    ((has_fp && plt_row(cfi_expression(t, r->cfa), pc, row)) || realigned_row(t, r, row)))
		return row->kind;
#else
	(void)t;
	(void)pc;
#endif
	return SL_ROW_FULL;
}

bool sl_cfi_row(const struct sl_cfi *table, uint64_t pc, struct sl_row *row)
{
	struct cfi_found f;
	uint64_t size;

	*row = (struct sl_row){0};
	if (!cfi_find(table, pc, &f))
		return false;
	size = f.next - pc;
	row->size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
	row->is_signal = f.is_signal;
	row->kind = row_kind(table, &f, pc, row);
	return true;
}
