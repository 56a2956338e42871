/*
 * cfi_step.c - the caller's registers by the full rules: DWARF expressions, signal frames, everything that a row cannot
 * express.
 *
 * Slow and rare. An expression is bounded in steps and in depth; it reads memory through the caller's function.
 */
#include "preload/unwind/cfi_internal.h"

enum {
	DW_OP_deref = 0x06,
	DW_OP_const1u = 0x08,
	DW_OP_const1s = 0x09,
	DW_OP_const2u = 0x0a,
	DW_OP_const2s = 0x0b,
	DW_OP_const4u = 0x0c,
	DW_OP_const4s = 0x0d,
	DW_OP_const8u = 0x0e,
	DW_OP_const8s = 0x0f,
	DW_OP_constu = 0x10,
	DW_OP_consts = 0x11,
	DW_OP_dup = 0x12,
	DW_OP_drop = 0x13,
	DW_OP_over = 0x14,
	DW_OP_pick = 0x15,
	DW_OP_swap = 0x16,
	DW_OP_rot = 0x17,
	DW_OP_abs = 0x19,
	DW_OP_and = 0x1a,
	DW_OP_div = 0x1b,
	DW_OP_minus = 0x1c,
	DW_OP_mod = 0x1d,
	DW_OP_mul = 0x1e,
	DW_OP_neg = 0x1f,
	DW_OP_not = 0x20,
	DW_OP_or = 0x21,
	DW_OP_plus = 0x22,
	DW_OP_plus_uconst = 0x23,
	DW_OP_shl = 0x24,
	DW_OP_shr = 0x25,
	DW_OP_shra = 0x26,
	DW_OP_xor = 0x27,
	DW_OP_bra = 0x28,
	DW_OP_eq = 0x29,
	DW_OP_ge = 0x2a,
	DW_OP_gt = 0x2b,
	DW_OP_le = 0x2c,
	DW_OP_lt = 0x2d,
	DW_OP_ne = 0x2e,
	DW_OP_skip = 0x2f,
	DW_OP_lit0 = 0x30,
	DW_OP_lit31 = 0x4f,
	DW_OP_breg0 = 0x70,
	DW_OP_breg31 = 0x8f,
	DW_OP_bregx = 0x92,
	DW_OP_deref_size = 0x94,
	DW_OP_nop = 0x96,

	STACK_MAX = 16,
	STEPS_MAX = 256,
};

/* Callee-saved registers. */
#if defined(__aarch64__)
#define KEPT 0xbff80000u /* 19 to 29, stack pointer */
#else
#define KEPT (1u << 3 | 1u << 6 | 1u << 7 | 1u << 12 | 1u << 13 | 1u << 14 | 1u << 15)
#endif

struct eval {
	const struct sl_regs *regs;
	uint64_t pc;
	sl_cfi_read *read;
	void *ctx;
	struct cfi_in in;
	uint64_t stack[STACK_MAX];
	unsigned cnt;
};

static void push(struct eval *e, uint64_t v)
{
	if (e->cnt == STACK_MAX)
		e->in.bad = true;
	else
		e->stack[e->cnt++] = v;
}
static uint64_t pop(struct eval *e)
{
	if (e->cnt)
		return e->stack[--e->cnt];
	e->in.bad = true;
	return 0;
}
static void push_from_top(struct eval *e, unsigned index)
{
	if (index >= e->cnt)
		e->in.bad = true;
	else
		push(e, e->stack[e->cnt - 1 - index]);
}

static uint64_t get_register(struct eval *e, uint64_t reg)
{
#if defined(__x86_64__)
	if (reg == SL_REG_RA) /* the program counter */
		return e->pc;
#endif
	if (reg >= SL_REG_CNT || !(e->regs->known >> reg & 1)) {
		e->in.bad = true;
		return 0;
	}
	return e->regs->value[reg];
}

static uint64_t read_word(struct eval *e, uint64_t address, unsigned bytes)
{
	uint64_t v = 0;

	if (bytes < 1 || bytes > 8 || !e->read(e->ctx, address, &v))
		e->in.bad = true;
	return bytes == 8 || e->in.bad ? v : v & ((UINT64_C(1) << bytes * 8) - 1);
}

static void jump(struct eval *e, const uint8_t *begin, bool taken)
{
	int64_t by = cfi_signed(&e->in, 2);

	if (!taken || e->in.bad)
		return;
	if (by < begin - e->in.p || by > e->in.end - e->in.p)
		e->in.bad = true;
	else
		e->in.p += by;
}

static uint64_t two_operands(struct eval *e, uint8_t op, uint64_t a, uint64_t b)
{
	int64_t x = (int64_t)a, y = (int64_t)b;

	switch (op) {
	case DW_OP_and:
		return a & b;
	case DW_OP_or:
		return a | b;
	case DW_OP_xor:
		return a ^ b;
	case DW_OP_plus:
		return a + b;
	case DW_OP_minus:
		return a - b;
	case DW_OP_mul:
		return a * b;
	case DW_OP_div:
		if (y && !(x == INT64_MIN && y == -1))
			return (uint64_t)(x / y);
		break;
	case DW_OP_mod:
		if (b)
			return a % b;
		break;
	case DW_OP_shl:
		return b < 64 ? a << b : 0;
	case DW_OP_shr:
		return b < 64 ? a >> b : 0;
	case DW_OP_shra:
		return (uint64_t)(x >> (b < 64 ? b : 63));
	case DW_OP_eq:
		return x == y;
	case DW_OP_ge:
		return x >= y;
	case DW_OP_gt:
		return x > y;
	case DW_OP_le:
		return x <= y;
	case DW_OP_lt:
		return x < y;
	case DW_OP_ne:
		return x != y;
	default:
		break;
	}
	e->in.bad = true;
	return 0;
}

static bool run_const(struct eval *e, uint8_t op)
{
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		push(e, op - DW_OP_lit0);
	else if (op >= DW_OP_const1u && op <= DW_OP_const8s && (op & 1))
		push(e, (uint64_t)cfi_signed(&e->in, 1u << (op - DW_OP_const1u) / 2));
	else if (op >= DW_OP_const1u && op <= DW_OP_const8s)
		push(e, cfi_unsigned(&e->in, 1u << (op - DW_OP_const1u) / 2));
	else if (op == DW_OP_constu)
		push(e, cfi_uleb(&e->in));
	else if (op == DW_OP_consts)
		push(e, (uint64_t)cfi_sleb(&e->in));
	else
		return false;
	return true;
}

static bool run_stack(struct eval *e, uint8_t op)
{
	uint64_t a, b, c;

	switch (op) {
	case DW_OP_dup:
		push_from_top(e, 0);
		return true;
	case DW_OP_over:
		push_from_top(e, 1);
		return true;
	case DW_OP_pick:
		push_from_top(e, cfi_u8(&e->in));
		return true;
	case DW_OP_drop:
		pop(e);
		return true;
	case DW_OP_swap:
		a = pop(e);
		b = pop(e);
		push(e, a);
		push(e, b);
		return true;
	case DW_OP_rot:
		a = pop(e);
		b = pop(e);
		c = pop(e);
		push(e, a);
		push(e, c);
		push(e, b);
		return true;
	default:
		return false;
	}
}

static void run_one(struct eval *e, uint8_t op, const uint8_t *begin)
{
	uint64_t a, b;

	if (run_const(e, op) || run_stack(e, op))
		return;
	if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
		a = get_register(e, op - DW_OP_breg0);
		push(e, a + (uint64_t)cfi_sleb(&e->in));
		return;
	}
	switch (op) {
	case DW_OP_nop:
		break;
	case DW_OP_bregx:
		a = get_register(e, cfi_uleb(&e->in));
		push(e, a + (uint64_t)cfi_sleb(&e->in));
		break;
	case DW_OP_deref:
		push(e, read_word(e, pop(e), 8));
		break;
	case DW_OP_deref_size:
		a = pop(e);
		push(e, read_word(e, a, cfi_u8(&e->in)));
		break;
	case DW_OP_abs:
		a = pop(e);
		push(e, (int64_t)a < 0 ? -a : a);
		break;
	case DW_OP_neg:
		push(e, -pop(e));
		break;
	case DW_OP_not:
		push(e, ~pop(e));
		break;
	case DW_OP_plus_uconst:
		a = pop(e);
		push(e, a + cfi_uleb(&e->in));
		break;
	case DW_OP_skip:
		jump(e, begin, true);
		break;
	case DW_OP_bra:
		jump(e, begin, pop(e) != 0);
		break;
	default:
		b = pop(e);
		a = pop(e);
		push(e, two_operands(e, op, a, b));
	}
}

static bool evaluate(struct eval *e, struct cfi_in program, const uint64_t *first, uint64_t *value)
{
	const uint8_t *begin = program.p;

	e->in = program;
	e->cnt = 0;
	if (first)
		push(e, *first);
	for (unsigned steps = 0; !e->in.bad && e->in.p < e->in.end; steps++) {
		if (steps == STEPS_MAX)
			return false;
		run_one(e, cfi_u8(&e->in), begin);
	}
	*value = pop(e);
	return !e->in.bad;
}

/* The caller's value of a register. False: unknown. */
static bool register_of_caller(struct eval *e, const struct sl_cfi *t, const struct cfi_rules *r,
			       unsigned reg, uint64_t cfa, uint64_t *v)
{
	int32_t value = r->value[reg];

	switch (r->how[reg]) {
	case CFI_SAME:
		*v = e->regs->value[reg];
		return e->regs->known >> reg & 1;
	case CFI_AT:
		return e->read(e->ctx, cfa + (uint64_t)(int64_t)value, v);
	case CFI_IS:
		*v = cfa + (uint64_t)(int64_t)value;
		return true;
	case CFI_REGISTER:
		if ((uint32_t)value >= SL_REG_CNT || !(e->regs->known >> value & 1))
			return false;
		*v = e->regs->value[value];
		return true;
	case CFI_AT_EXPR:
		return evaluate(e, cfi_expression(t, value), &cfa, &cfa) && e->read(e->ctx, cfa, v);
	case CFI_IS_EXPR:
		return evaluate(e, cfi_expression(t, value), &cfa, v);
	default:
		return false;
	}
}

static bool find_cfa(struct eval *e, const struct sl_cfi *t, const struct cfi_rules *r,
		     uint64_t *cfa)
{
	if (r->cfa_how == CFI_CFA_EXPR)
		return evaluate(e, cfi_expression(t, r->cfa), NULL, cfa);
	e->in.bad = false;
	*cfa = get_register(e, r->cfa_register) + (uint64_t)(int64_t)r->cfa;
	return !e->in.bad;
}

bool sl_cfi_step(const struct sl_cfi *table, uint64_t pc, struct sl_regs *regs, sl_cfi_read *read,
		 void *ctx, bool *is_signal)
{
	struct cfi_found f;
	struct sl_regs caller = {0};
	struct eval e = {.regs = regs, .pc = pc, .read = read, .ctx = ctx};
	uint64_t cfa;

	if (!cfi_find(table, pc, &f))
		return false;
	*is_signal = f.is_signal;
	if (f.rules.how[f.ra] == CFI_UNDEFINED) {
		regs->pc = 0;
		return true;
	}
	if (!find_cfa(&e, table, &f.rules, &cfa))
		return false;
	for (unsigned i = 0; i < SL_REG_CNT; i++) {
		/* A call clobbers the other registers unless the table has rules for them. */
		if (f.rules.how[i] == CFI_SAME && !(f.is_signal || KEPT >> i & 1) && i != f.ra)
			continue;
		if (register_of_caller(&e, table, &f.rules, i, cfa, &caller.value[i]))
			caller.known |= 1u << i;
	}
	if (f.rules.how[SL_REG_SP] == CFI_SAME) {
		caller.value[SL_REG_SP] = cfa;
		caller.known |= 1u << SL_REG_SP;
	}
	if (!(caller.known >> f.ra & 1))
		return false;
	caller.pc = caller.value[f.ra];
#if defined(__aarch64__)
	caller.pc &= (UINT64_C(1) << 48) - 1; /* without its signature */
#endif
	*regs = caller;
	return true;
}
