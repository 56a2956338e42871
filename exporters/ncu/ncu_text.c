/* ncu_text.c - for people and for sh: lines other than commands begin with #, so that the whole can be run as a script. */
#include "exporters/ncu/ncu.h"

#include <stdlib.h>
#include <string.h>

#include "exporters/text/cell.h"

static const char *time_text(int64_t ns, char buf[32])
{
	static const struct {
		double unit;
		const char *name;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
	size_t i = 0;

	while (i < 3 && (double)ns < units[i].unit)
		i++;
	snprintf(buf, 32, i == 3 ? "%.0f %s" : "%.2f %s", (double)ns / units[i].unit,
		 units[i].name);
	return buf;
}

static void put_kernel(FILE *out, const struct ncu *n, const struct ncu_target *t)
{
	char a[32], b[32];

	fputs("# ", out);
	text_put_people(out, t->kernel->demangled);
	fprintf(out, "\n# process %lld: %lld launches", (long long)t->pid, (long long)t->launches);
	if (n->ask->nvtx.range) {
		fputs(" in ", out);
		text_put_people(out, n->ask->nvtx.range);
	}
	fprintf(out, ", %s in all, median %s\n", time_text(t->ns, a), time_text(t->median, b));
}

static void put_launch(FILE *out, const struct ncu_target *t)
{
	const struct ncu_launch *l = &t->launch;
	char a[32];

	fprintf(out, "# this one: %s%lld before it, ran %s from %.9f s on, GPU %lld, stream %lld\n",
		t->is_sure ? "" : "about ", (long long)l->skip, time_text(l->end - l->start, a),
		(double)l->start / 1e9, (long long)l->device, (long long)l->stream);
	fprintf(out,
		"# grid %lld x %lld x %lld, block %lld x %lld x %lld, %lld registers per thread, "
		"%lld + "
		"%lld bytes of shared memory\n",
		(long long)l->grid[0], (long long)l->grid[1], (long long)l->grid[2],
		(long long)l->block[0], (long long)l->block[1], (long long)l->block[2],
		(long long)l->registers, (long long)l->shared[0], (long long)l->shared[1]);
}

static void put_target(FILE *out, const struct ncu *n, const struct ncu_target *t)
{
	char *command = ncu_command(n, t);

	put_kernel(out, n, t);
	put_launch(out, t);
	for (size_t i = 0; i < t->note_cnt; i++) {
		fputs("# note: ", out);
		text_put_people(out, t->notes[i].text);
		putc('\n', out);
	}
	if (t->rank >= 0 && command)
		fprintf(out,
			"# for the launcher to start on every rank (torchrun --no-python); ncu "
			"runs on rank %lld\n",
			(long long)t->rank);
	if (n->folder) {
		fputs("# in ", out);
		text_put_people(out, n->folder);
		putc('\n', out);
	}
	if (command)
		fprintf(out, "%s\n", command);
	free(command);
}

static void put_copy(FILE *out, const struct ncu_copy *c)
{
	char a[32];

	fputs("# ", out);
	text_put_people(out, c->name);
	fprintf(out, "\n# process %lld, GPU %lld: %lld copies, %lld bytes in %s: %.2f GB/s",
		(long long)c->pid, (long long)c->device, (long long)c->count, (long long)c->bytes,
		time_text(c->ns, a), (double)c->bytes / (double)c->ns);
	if (c->best > 0)
		fprintf(out, "; the fastest of at least 1 MB %.2f GB/s", c->best / 1e9);
	putc('\n', out);
	if (c->is_inside && c->memory > 0)
		fprintf(out,
			"# each byte is read and written: %.2f of the %.2f GB/s of the GPU's "
			"memory\n",
			2 * (double)c->bytes / (double)c->ns, (double)c->memory / 1e9);
}

void ncu_text(FILE *out, const struct ncu *n)
{
	if (n->copies.cnt)
		fputs("# ncu profiles kernels, not copies; this is how fast they were:\n", out);
	for (size_t i = 0; i < n->copies.cnt; i++)
		put_copy(out, &n->copies.list[i]);
	if (n->ask->kernel && n->matching > 1)
		fprintf(out, "# %zu kernels have such a name; this one took most time\n",
			n->matching);
	for (size_t i = 0; i < n->targets.cnt; i++) {
		if (i)
			putc('\n', out);
		put_target(out, n, &n->targets.list[i]);
	}
}
