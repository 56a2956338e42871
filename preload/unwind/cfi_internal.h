/* cfi_internal.h - shared by cfi_entry.c (finds entries), cfi.c (executes them) and cfi_step.c (follows all registers). */
#pragma once

#include "preload/unwind/cfi.h"

#pragma GCC visibility push(hidden)

/* A cursor over bytes. Reads past the end give 0 and set an error. */
struct cfi_in {
	const uint8_t *p, *end;
	bool bad;
};

static inline uint8_t cfi_u8(struct cfi_in *in)
{
	if (in->p < in->end)
		return *in->p++;
	in->bad = true;
	return 0;
}
/* Little-endian, @bytes of 1, 2, 4, 8. */
static inline uint64_t cfi_unsigned(struct cfi_in *in, unsigned bytes)
{
	uint64_t v = 0;

	if ((size_t)(in->end - in->p) < bytes) {
		in->bad = true;
		in->p = in->end;
		return 0;
	}
	__builtin_memcpy(&v, in->p, bytes);
	in->p += bytes;
	return v;
}
static inline int64_t cfi_signed(struct cfi_in *in, unsigned bytes)
{
	unsigned unused = 64 - bytes * 8;

	return (int64_t)(cfi_unsigned(in, bytes) << unused) >> unused;
}
uint64_t cfi_uleb(struct cfi_in *in);
int64_t cfi_sleb(struct cfi_in *in);

static inline uint64_t cfi_address(const struct sl_cfi *table, const uint8_t *p)
{
	return (uintptr_t)p - (uintptr_t)table->at;
}
uint64_t cfi_encoded(const struct sl_cfi *table, struct cfi_in *in, unsigned enc);
/* The expression at position @at (struct cfi_rules). */
struct cfi_in cfi_expression(const struct sl_cfi *table, int32_t at);

struct cfi_cie {
	struct cfi_in program;
	uint64_t code_align;
	int64_t data_align;
	uint32_t ra;
	uint8_t enc;
	bool has_length; /* its FDEs have augmentation data */
	bool is_signal;
};

struct cfi_fde {
	struct cfi_in program;
	uint64_t begin, end;
};

/* The entry that covers @pc. */
bool cfi_entry(const struct sl_cfi *table, uint64_t pc, struct cfi_cie *cie, struct cfi_fde *fde);

/* Rule for a register of the caller. */
enum cfi_how {
	CFI_SAME = 0,  /* unchanged; also without a rule */
	CFI_UNDEFINED, /* unknown */
	CFI_AT,        /* at CFA + value */
	CFI_IS,        /* is CFA + value */
	CFI_REGISTER,  /* in register value */
	CFI_AT_EXPR,   /* at the value of the expression */
	CFI_IS_EXPR,   /* the value of the expression */
};
enum cfi_cfa {
	CFI_CFA_NONE = 0,
	CFI_CFA_REGISTER,
	CFI_CFA_EXPR,
};

/* The rules for one address. An expression is given by the offset of its length from the table's low end. */
struct cfi_rules {
	uint8_t how[SL_REG_CNT];
	uint8_t cfa_how, cfa_register;
	int32_t cfa; /* offset or expression */
	int32_t value[SL_REG_CNT];
};

struct cfi_found {
	struct cfi_rules rules;
	uint64_t next; /* first address after pc that may have other rules */
	uint32_t ra;   /* column of the return address */
	bool is_signal;
};

/* The rules for @pc. False: none, or they are invalid. */
bool cfi_find(const struct sl_cfi *table, uint64_t pc, struct cfi_found *found);

#pragma GCC visibility pop
