/*
 * kernel_asker.c - asks the kernel for the name of an address: a BPF program formats it by "%ps".
 *
 * /proc/kallsyms has 200,000 lines, whose formatting takes the kernel 40 ms of processor time; an answer takes 2 us. Needs Linux
 * 5.14 (BPF_PROG_TYPE_SYSCALL), CAP_BPF and CAP_PERFMON. The system call itself, as libbpf is not in every build.
 */
#include "collector/symbols/kernel_asker.h"

#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The headers of distributions are older than kernels. */
#define PROG_TYPE_SYSCALL 31
#define SLEEPABLE         (1u << 4)
#define HELPER_SNPRINTF   165

struct kernel_asker {
	int prog;
	char *text; /* mapped: the program writes there */
};

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static int make_map(uint32_t bytes, uint32_t flags)
{
	union bpf_attr make = {.map_type = BPF_MAP_TYPE_ARRAY,
			       .key_size = sizeof(uint32_t),
			       .value_size = bytes,
			       .max_entries = 1,
			       .map_flags = flags};

	return bpf(BPF_MAP_CREATE, &make);
}

/* The verifier takes a format only where nothing can change it. */
static bool set_format(int map)
{
	static const char format[8] = "%ps";
	uint32_t key = 0;
	union bpf_attr fill = {
		.map_fd = (uint32_t)map, .key = (uintptr_t)&key, .value = (uintptr_t)format};
	union bpf_attr freeze = {.map_fd = (uint32_t)map};

	return bpf(BPF_MAP_UPDATE_ELEM, &fill) == 0 && bpf(BPF_MAP_FREEZE, &freeze) == 0;
}

/* snprintf(text, KERNEL_TEXT_BYTES, format, &context->address, 8) */
static int load(int text, int format)
{
	const struct bpf_insn code[] = {
		{.code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_1},
		{.code = BPF_STX | BPF_MEM | BPF_DW,
		 .dst_reg = BPF_REG_10,
		 .src_reg = BPF_REG_2,
		 .off = -8},
		{.code = BPF_LD | BPF_DW | BPF_IMM,
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_PSEUDO_MAP_VALUE,
		 .imm = text},
		{0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K,
		 .dst_reg = BPF_REG_2,
		 .imm = KERNEL_TEXT_BYTES},
		{.code = BPF_LD | BPF_DW | BPF_IMM,
		 .dst_reg = BPF_REG_3,
		 .src_reg = BPF_PSEUDO_MAP_VALUE,
		 .imm = format},
		{0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_4, .src_reg = BPF_REG_10},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_4, .imm = -8},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_5, .imm = 8},
		{.code = BPF_JMP | BPF_CALL, .imm = HELPER_SNPRINTF},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr = {.prog_type = PROG_TYPE_SYSCALL,
			       .insns = (uintptr_t)code,
			       .insn_cnt = sizeof(code) / sizeof(*code),
			       .license = (uintptr_t) "GPL",
			       .prog_flags = SLEEPABLE,
			       .prog_name = "kernel_name"};

	return bpf(BPF_PROG_LOAD, &attr);
}

static bool open_with(struct kernel_asker *a, int text, int format)
{
	void *m;

	if (text < 0 || format < 0 || !set_format(format))
		return false;
	m = mmap(NULL, KERNEL_TEXT_BYTES, PROT_READ, MAP_SHARED, text, 0);
	if (m == MAP_FAILED)
		return false;
	a->text = m;
	a->prog = load(text, format);
	if (a->prog >= 0)
		return true;
	munmap(m, KERNEL_TEXT_BYTES);
	return false;
}

struct kernel_asker *kernel_asker_open(void)
{
	struct kernel_asker *a = malloc(sizeof(*a));
	int text = make_map(KERNEL_TEXT_BYTES, BPF_F_MMAPABLE),
	    format = make_map(8, BPF_F_RDONLY_PROG);
	bool is_open = a && open_with(a, text, format);

	if (text >= 0)
		close(text);
	if (format >= 0)
		close(format);
	if (is_open)
		return a;
	free(a);
	return NULL;
}

void kernel_asker_close(struct kernel_asker *a)
{
	if (!a)
		return;
	munmap(a->text, KERNEL_TEXT_BYTES);
	close(a->prog);
	free(a);
}

bool kernel_asker_ask(const struct kernel_asker *a, uint64_t address, char *text)
{
	union bpf_attr attr = {.test = {.prog_fd = (uint32_t)a->prog,
					.ctx_in = (uintptr_t)&address,
					.ctx_size_in = sizeof(address)}};

	if (bpf(BPF_PROG_TEST_RUN, &attr) < 0)
		return false;
	memcpy(text, a->text, KERNEL_TEXT_BYTES);
	text[KERNEL_TEXT_BYTES - 1] = 0;
	return true;
}

/* ---- answers ---- */

static bool is_all_of(const char *text, size_t len, const char *digits)
{
	return strspn(text, digits) >= len;
}

/*
 * The kernel names code of BPF programs without its "[bpf]". Names of the kernel's own functions begin alike: no such name
 * goes on in 16 hexadecimal digits (a program's tag) or a number (a trampoline's key).
 */
static enum kernel_answer of_bpf(const char *text)
{
	static const char program[] = "bpf_prog_", trampoline[] = "bpf_trampoline_",
			  dispatcher[] = "bpf_dispatcher_", operations[] = "bpf__";

	if (strncmp(text, program, sizeof(program) - 1) == 0 &&
	    is_all_of(text + sizeof(program) - 1, 16, "0123456789abcdef"))
		return KERNEL_NAMED;
	if (strncmp(text, trampoline, sizeof(trampoline) - 1) == 0 &&
	    is_all_of(text + sizeof(trampoline) - 1, 1, "0123456789"))
		return KERNEL_NAMED;
	return strncmp(text, dispatcher, sizeof(dispatcher) - 1) == 0 ||
			       strncmp(text, operations, sizeof(operations) - 1) == 0
		       ? KERNEL_DOUBTFUL
		       : KERNEL_UNKNOWN;
}

enum kernel_answer kernel_answer_parse(char *text, const char **function, const char **module)
{
	size_t len = strlen(text);
	enum kernel_answer bpf;
	char *space;

	/* Cut, or an address: no symbol is there. */
	if (len >= KERNEL_TEXT_BYTES - 1 || !len || strncmp(text, "0x", 2) == 0)
		return KERNEL_UNKNOWN;
	*function = text;
	space = strchr(text, ' ');
	if (space) {
		if (space == text || space[1] != '[' || text[len - 1] != ']')
			return KERNEL_UNKNOWN;
		*space = 0;
		*module = space + 1;
		return KERNEL_NAMED;
	}
	bpf = of_bpf(text);
	if (bpf == KERNEL_DOUBTFUL)
		return bpf;
	*module = bpf == KERNEL_NAMED ? "[bpf]" : NULL;
	return KERNEL_NAMED;
}
