/* ncu_json.c - the result as JSON. Times are ns, unknown values are null. */
#include "exporters/ncu/ncu.h"

#include <stdlib.h>

#include "collector/base/json.h"
#include "exporters/text/bounded.h"

static void put_number(struct writer *w, const char *key, int64_t n, bool is_known)
{
	if (is_known)
		json_int(w, key, n);
	else
		json_null(w, key);
}

static void put_rate(struct writer *w, const char *key, double bytes_per_second)
{
	json_format(w, key, "%.0f", bytes_per_second);
}

static void put_words(struct writer *w, const char *key, char *const *words)
{
	if (!words) {
		json_null(w, key);
		return;
	}
	json_open(w, key, '[');
	for (size_t i = 0; words[i]; i++)
		json_text(w, NULL, words[i]);
	json_close(w, ']');
}

static void put_kernel(struct writer *w, const struct ncu_kernel *k)
{
	json_open(w, "kernel", '{');
	json_text(w, "name", k->name);
	json_text(w, "demangled", k->demangled);
	json_text(w, "mangled", k->mangled);
	json_int(w, "launches", k->launches);
	json_int(w, "ns", k->ns);
	json_close(w, '}');
}

static void put_size(struct writer *w, const char *key, const int64_t size[3])
{
	json_open(w, key, '[');
	for (int i = 0; i < 3; i++)
		json_int(w, NULL, size[i]);
	json_close(w, ']');
}

static void put_launch(struct writer *w, const struct ncu_launch *l)
{
	json_open(w, "launch", '{');
	json_int(w, "skip", l->skip);
	json_int(w, "start", l->start);
	json_int(w, "end", l->end);
	put_number(w, "call", l->call, l->call != INT64_MIN);
	json_int(w, "device", l->device);
	json_int(w, "stream", l->stream);
	json_int(w, "correlationId", l->correlation);
	json_int(w, "graphNodeId", l->node);
	put_size(w, "grid", l->grid);
	put_size(w, "block", l->block);
	json_int(w, "registersPerThread", l->registers);
	json_int(w, "staticSharedMemory", l->shared[0]);
	json_int(w, "dynamicSharedMemory", l->shared[1]);
	json_close(w, '}');
}

static void put_target(struct writer *w, const struct ncu *n, const struct ncu_target *t)
{
	char *command = ncu_command(n, t);

	json_line(w, 4);
	json_open(w, NULL, '{');
	put_kernel(w, t->kernel);
	json_int(w, "process", t->pid);
	json_int(w, "processes", t->peers);
	put_number(w, "rank", t->rank, t->rank >= 0);
	json_int(w, "launches", t->launches);
	json_int(w, "ns", t->ns);
	json_int(w, "median", t->median);
	json_line(w, 5);
	put_launch(w, &t->launch);
	json_line(w, 5);
	json_bool(w, "sure", t->is_sure);
	json_text(w, "replay", t->replay);
	json_open(w, "notes", '[');
	for (size_t i = 0; i < t->note_cnt; i++) {
		json_open(w, NULL, '{');
		json_text(w, "kind", t->notes[i].kind);
		json_text(w, "text", t->notes[i].text);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_line(w, 5);
	put_words(w, "ncu", t->argv);
	json_text(w, "command", command);
	json_close(w, '}');
	free(command);
}

static void put_copy(struct writer *w, const struct ncu_copy *c)
{
	json_line(w, 4);
	json_open(w, NULL, '{');
	json_text(w, "name", c->name);
	json_int(w, "process", c->pid);
	json_int(w, "device", c->device);
	json_int(w, "count", c->count);
	json_int(w, "bytes", c->bytes);
	json_int(w, "ns", c->ns);
	put_rate(w, "bytesPerSecond", 1e9 * (double)c->bytes / (double)c->ns);
	if (c->best > 0)
		put_rate(w, "fastest", c->best);
	else
		json_null(w, "fastest");
	put_number(w, "memoryBandwidth", c->memory, c->memory > 0);
	json_close(w, '}');
}

static void put_ncu(struct writer *w, const void *ctx)
{
	const struct ncu *n = ctx;
	size_t cnt;

	json_text(w, "report", n->path);
	json_line(w, 2);
	put_words(w, "program", n->argv);
	json_text(w, "folder", n->folder);
	json_format(w, "matching", "%zu", n->matching);
	json_line(w, 2);
	cnt = bounded_list(w, "commands", n->targets.cnt);
	for (size_t i = 0; i < cnt; i++)
		put_target(w, n, &n->targets.list[i]);
	json_close(w, ']');
	json_line(w, 2);
	cnt = bounded_list(w, "copies", n->copies.cnt);
	for (size_t i = 0; i < cnt; i++)
		put_copy(w, &n->copies.list[i]);
	json_close(w, ']');
}

int ncu_json(FILE *out, const struct ncu *n, const struct bounds *b)
{
	int rc = bounded_print(out, b, put_ncu, n);

	putc('\n', out);
	return rc;
}
