/* filter.c - evaluates seccomp filters: classic BPF over struct seccomp_data. Freestanding: it runs inside programs, too. */
#include "preload/wire/filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

struct machine {
	uint32_t a, x, memory[BPF_MEMWORDS];
};

static bool is_undefined(uint32_t b, unsigned how)
{
	return how == BPF_DIV ? !b : (how == BPF_LSH || how == BPF_RSH) && b >= 32;
}

static uint32_t computed(uint32_t a, uint32_t b, unsigned how)
{
	switch (how) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return a / b;
	case BPF_OR:
		return a | b;
	case BPF_AND:
		return a & b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return a << b;
	case BPF_RSH:
		return a >> b;
	default:
		return -a; /* BPF_NEG */
	}
}

static bool compared(uint32_t a, uint32_t b, unsigned how)
{
	switch (how) {
	case BPF_JEQ:
		return a == b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	default:
		return a & b; /* BPF_JSET */
	}
}

/* A half of an argument. */
static bool load_argument(const struct sl_filter_call *call, uint32_t offset, uint32_t *value)
{
	uint32_t at = offset - (uint32_t)offsetof(struct seccomp_data, args);

	if (offset < offsetof(struct seccomp_data, args) || offset >= sizeof(struct seccomp_data) ||
	    at % 4 || !(call->known >> at / 8 & 1))
		return false;
	*value = (uint32_t)(call->args[at / 8] >> (at % 8 ? 32 : 0));
	return true;
}

/* False: the loaded value is not known before the call. */
static bool load(struct machine *m, const struct sock_filter *f, const struct sl_filter_call *call)
{
	uint32_t value;

	switch (BPF_MODE(f->code)) {
	case BPF_IMM:
		value = f->k;
		break;
	case BPF_MEM:
		value = m->memory[f->k % BPF_MEMWORDS];
		break;
	case BPF_LEN:
		value = sizeof(struct seccomp_data);
		break;
	case BPF_ABS:
		if (f->k == offsetof(struct seccomp_data, nr))
			value = (uint32_t)call->nr;
		else if (f->k == offsetof(struct seccomp_data, arch))
			value = ARCH;
		else if (!load_argument(call, f->k, &value))
			return false;
		break;
	default:
		return false;
	}
	*(BPF_CLASS(f->code) == BPF_LD ? &m->a : &m->x) = value;
	return true;
}

uint32_t sl_filter_verdict(const struct sock_filter *filter, unsigned cnt,
			   const struct sl_filter_call *call)
{
	struct machine m = {0};

	/* Jumps are forward only. */
	for (unsigned at = 0; at < cnt; at++) {
		const struct sock_filter *f = &filter[at];
		uint32_t b = BPF_SRC(f->code) == BPF_X ? m.x : f->k;

		switch (BPF_CLASS(f->code)) {
		case BPF_LD:
		case BPF_LDX:
			if (!load(&m, f, call))
				return SL_FILTER_UNKNOWN;
			break;
		case BPF_ST:
		case BPF_STX:
			m.memory[f->k % BPF_MEMWORDS] = BPF_CLASS(f->code) == BPF_ST ? m.a : m.x;
			break;
		case BPF_ALU:
			if (is_undefined(b, BPF_OP(f->code)))
				return SL_FILTER_UNKNOWN;
			m.a = computed(m.a, b, BPF_OP(f->code));
			break;
		case BPF_JMP:
			if (BPF_OP(f->code) == BPF_JA && f->k >= cnt)
				return SL_FILTER_UNKNOWN;
			if (BPF_OP(f->code) == BPF_JA)
				at += f->k;
			else
				at += compared(m.a, b, BPF_OP(f->code)) ? f->jt : f->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(f->code) == BPF_A ? m.a : f->k;
		default: /* BPF_MISC */
			if (BPF_MISCOP(f->code) == BPF_TAX)
				m.x = m.a;
			else
				m.a = m.x;
		}
	}
	return SL_FILTER_UNKNOWN;
}
