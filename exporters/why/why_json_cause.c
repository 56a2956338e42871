/* why_json_cause.c - a place and a cause, as members of an object. */
#include <stdlib.h>

#include "collector/base/json.h"
#include "exporters/why/why_out.h"

void why_put_json_place(struct writer *w, const struct why *y, uint32_t place)
{
	const struct place *p = &y->walk.places.list[place];

	json_text(w, "place", p->text);
	json_text(w, "file", p->file);
	json_text(w, "function", p->function);
	if (p->line)
		json_int(w, "line", p->line);
	else
		json_null(w, "line");
}

void why_put_json_cause(struct writer *w, const struct why *y, const struct why_cause *c)
{
	char *name = why_string(y, &y->model.names, c->name);
	char *object = why_string(y, &y->model.objects, c->object);

	json_text(w, "reason", why_reason_name(c->reason));
	json_text(w, "call", name);
	json_text(w, "object", object);
	why_put_json_place(w, y, c->place);
	free(name);
	free(object);
}
