/* ncu_json.c - the same for programs. Times are ns, what is not known is null. */
#include "exporters/ncu/ncu.h"

#include <stdlib.h>
#include <string.h>

#include "exporters/text/format.h"

static void put_text(FILE *out, const char *name, const char *text)
{
	fprintf(out, "\"%s\": ", name);
	if (text)
		json_string(out, text, strlen(text));
	else
		fputs("null", out);
}

static void put_words(FILE *out, const char *name, char *const *words)
{
	fprintf(out, "\"%s\": ", name);
	if (!words) {
		fputs("null", out);
		return;
	}
	putc('[', out);
	for (size_t i = 0; words[i]; i++) {
		fputs(i ? ", " : "", out);
		json_string(out, words[i], strlen(words[i]));
	}
	putc(']', out);
}

static void put_kernel(FILE *out, const struct ncu_kernel *k)
{
	fputs("\"kernel\": {", out);
	put_text(out, "name", k->name);
	fputs(", ", out);
	put_text(out, "demangled", k->demangled);
	fputs(", ", out);
	put_text(out, "mangled", k->mangled);
	fprintf(out, ", \"launches\": %lld, \"ns\": %lld}", (long long)k->launches,
		(long long)k->ns);
}

static void put_launch(FILE *out, const struct ncu_launch *l)
{
	fprintf(out, "\"launch\": {\"skip\": %lld, \"start\": %lld, \"end\": %lld, \"call\": ",
		(long long)l->skip, (long long)l->start, (long long)l->end);
	if (l->call == INT64_MIN)
		fputs("null", out);
	else
		fprintf(out, "%lld", (long long)l->call);
	fprintf(out,
		", \"device\": %lld, \"stream\": %lld, \"correlationId\": %lld, \"graphNodeId\": "
		"%lld, \"grid\": [%lld, %lld, %lld], \"block\": [%lld, %lld, %lld], "
		"\"registersPerThread\": %lld, \"staticSharedMemory\": %lld, "
		"\"dynamicSharedMemory\": %lld}",
		(long long)l->device, (long long)l->stream, (long long)l->correlation,
		(long long)l->node, (long long)l->grid[0], (long long)l->grid[1],
		(long long)l->grid[2], (long long)l->block[0], (long long)l->block[1],
		(long long)l->block[2], (long long)l->registers, (long long)l->shared[0],
		(long long)l->shared[1]);
}

static void put_target(FILE *out, const struct ncu *n, const struct ncu_target *t)
{
	char *command = ncu_command(n, t);

	fputs("\n    {", out);
	put_kernel(out, t->kernel);
	fprintf(out, ", \"process\": %lld, \"processes\": %lld, \"rank\": ", (long long)t->pid,
		(long long)t->peers);
	if (t->rank < 0)
		fputs("null", out);
	else
		fprintf(out, "%lld", (long long)t->rank);
	fprintf(out, ", \"launches\": %lld, \"ns\": %lld, \"median\": %lld,\n     ",
		(long long)t->launches, (long long)t->ns, (long long)t->median);
	put_launch(out, &t->launch);
	fprintf(out, ",\n     \"sure\": %s, ", t->is_sure ? "true" : "false");
	put_text(out, "replay", t->replay);
	fputs(", \"notes\": [", out);
	for (size_t i = 0; i < t->note_cnt; i++) {
		fputs(i ? ", {" : "{", out);
		put_text(out, "kind", t->notes[i].kind);
		fputs(", ", out);
		put_text(out, "text", t->notes[i].text);
		putc('}', out);
	}
	fputs("],\n     ", out);
	put_words(out, "ncu", t->argv);
	fputs(", ", out);
	put_text(out, "command", command);
	putc('}', out);
	free(command);
}

static void put_copies(FILE *out, const struct ncu *n)
{
	fputs("  \"copies\": [", out);
	for (size_t i = 0; i < n->copies.cnt; i++) {
		const struct ncu_copy *c = &n->copies.list[i];

		fputs(i ? ",\n    {" : "\n    {", out);
		put_text(out, "name", c->name);
		fprintf(out,
			", \"process\": %lld, \"device\": %lld, \"count\": %lld, \"bytes\": %lld, "
			"\"ns\": %lld, \"bytesPerSecond\": %.0f, \"fastest\": ",
			(long long)c->pid, (long long)c->device, (long long)c->count,
			(long long)c->bytes, (long long)c->ns,
			1e9 * (double)c->bytes / (double)c->ns);
		if (c->best > 0)
			fprintf(out, "%.0f", c->best);
		else
			fputs("null", out);
		fputs(", \"memoryBandwidth\": ", out);
		if (c->memory > 0)
			fprintf(out, "%lld", (long long)c->memory);
		else
			fputs("null", out);
		putc('}', out);
	}
	fputs("]}\n", out);
}

void ncu_json(FILE *out, const struct ncu *n)
{
	fputs("{", out);
	put_text(out, "report", n->path);
	fputs(",\n  ", out);
	put_words(out, "program", n->argv);
	fputs(", ", out);
	put_text(out, "folder", n->folder);
	fprintf(out, ", \"matching\": %zu,\n  \"commands\": [", n->matching);
	for (size_t i = 0; i < n->targets.cnt; i++) {
		fputs(i ? "," : "", out);
		put_target(out, n, &n->targets.list[i]);
	}
	fputs("],\n", out);
	put_copies(out, n);
}
