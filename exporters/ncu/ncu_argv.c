/* ncu_argv.c - the command of a launch: words of ncu, and the whole for sh. */
#include "exporters/ncu/ncu.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/text/cell.h"

#define NAME_MAX_LEN 40

/* ---- words ---- */

struct words {
	char **list;
	size_t cnt;
	bool has_failed;
};

static void add(struct words *w, const char *text)
{
	char **word = text ? ncu_more(&w->list, &w->cnt, sizeof(*word)) : NULL;

	if (word)
		*word = strdup(text);
	w->has_failed |= !word || !*word;
}

static void add_two(struct words *w, const char *option, const char *value)
{
	add(w, option);
	add(w, value);
}

/* A name as ncu reads it: its operators / [ ] * + , @ \ lose their meaning behind a backslash. */
static void put_name(FILE *out, const char *name)
{
	for (; *name; name++) {
		if (strchr("/[]*+,@\\", *name))
			putc('\\', out);
		putc(*name, out);
	}
}

/* "DOMAIN@RANGE/"; without the slash a range that any thread may end is meant. NULL without memory. */
static char *range_of(const struct ncu *n)
{
	const struct db_filter_nvtx *r = &n->ask->nvtx;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	if (r->domain) {
		put_name(out, r->domain);
		putc('@', out);
	}
	put_name(out, r->range);
	if (n->is_push_pop)
		putc('/', out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/*
 * The name of ncu's output: the kernel's name without characters that have a meaning in a path or for ncu (%); then the
 * number of the launch.
 */
static char *file_of(const struct ncu *n, const struct ncu_target *t)
{
	char name[NAME_MAX_LEN + 1], rank[32] = "", nr[32] = "", *file;
	size_t len = 0;

	for (const char *p = t->kernel->name; *p && len < NAME_MAX_LEN; p++)
		name[len++] = isascii(*p) && isalnum(*p) ? *p : '_';
	name[len] = 0;
	if (t->rank >= 0)
		snprintf(rank, sizeof(rank), "-rank%lld", (long long)t->rank);
	if (n->kernel_cnt > 1)
		snprintf(nr, sizeof(nr), "%lld-", (long long)(t->kernel - n->kernels) + 1);
	return asprintf(&file, "ncu-%s%s-%lld%s", nr, name, (long long)t->launch.skip, rank) < 0
		       ? NULL
		       : file;
}

static int words_of(const struct ncu *n, struct ncu_target *t)
{
	struct words w = {0};
	char skip[24], *file = file_of(n, t), *range = n->ask->nvtx.range ? range_of(n) : NULL;

	snprintf(skip, sizeof(skip), "%lld", (long long)t->launch.skip);
	add(&w, "ncu");
	add_two(&w, "--target-processes", "all");
	add_two(&w, "--kernel-name-base", t->kernel->mangled ? "mangled" : "demangled");
	add_two(&w, "--kernel-name",
		t->kernel->mangled ? t->kernel->mangled : t->kernel->demangled);
	add_two(&w, "--launch-skip", skip);
	add_two(&w, "--launch-count", "1");
	if (n->ask->nvtx.range) {
		add(&w, "--nvtx");
		add_two(&w, "--nvtx-include", range);
	}
	if (n->by_profiler)
		add_two(&w, "--profile-from-start", "off");
	add_two(&w, "--set", n->ask->set);
	add_two(&w, "--replay-mode", t->replay);
	/* As the program ran when it was recorded, so that times can be compared. */
	add_two(&w, "--clock-control", "none");
	add_two(&w, "-o", file);
	free(file);
	free(range);
	if (!ncu_more(&w.list, &w.cnt, sizeof(*w.list)))
		w.has_failed = true;
	t->argv = w.list;
	return w.has_failed ? -1 : 0;
}

int ncu_argv(struct ncu *n)
{
	for (size_t i = 0; i < n->targets.cnt; i++)
		if (n->targets.list[i].replay && words_of(n, &n->targets.list[i]) < 0)
			return -1;
	return 0;
}

/* ---- for sh ---- */

static void put_words(FILE *out, char *const *words)
{
	for (; *words; words++) {
		putc(' ', out);
		text_put_shell(out, *words);
	}
}

/* The rank of a process, by the variables of torchrun, Open MPI, PMI and Slurm. */
#define RANK "${RANK:-${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$SLURM_PROCID}}}"

/* The script that a launcher starts on every rank: ncu on one of them, the program alone on the others. */
static void put_wrapper(FILE *out, const struct ncu *n, const struct ncu_target *t)
{
	char *inside = NULL;
	size_t len;
	FILE *in = open_memstream(&inside, &len);

	if (!in)
		return;
	fprintf(in, "if [ \"" RANK "\" = %lld ]; then exec", (long long)t->rank);
	put_words(in, t->argv);
	fputs(" \"$@\"; fi; exec \"$@\"", in);
	if (fclose(in) == 0) {
		fputs("sh -c ", out);
		text_put_shell(out, inside);
		fputs(" sh", out);
		if (n->argv && n->pid == t->pid)
			put_words(out, n->argv);
		else
			fputs(" PROGRAM ARGUMENTS...", out);
	}
	free(inside);
}

char *ncu_command(const struct ncu *n, const struct ncu_target *t)
{
	char *text = NULL;
	size_t len;
	FILE *out = t->argv ? open_memstream(&text, &len) : NULL;

	if (!out)
		return NULL;
	if (t->rank >= 0) {
		put_wrapper(out, n, t);
	} else {
		fputs(t->argv[0], out);
		put_words(out, t->argv + 1);
		if (n->argv)
			put_words(out, n->argv);
		else
			fputs(" PROGRAM ARGUMENTS...", out);
	}
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
