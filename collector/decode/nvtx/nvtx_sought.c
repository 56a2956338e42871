/* nvtx_sought.c - looks for ranges that nearly match --nvtx-capture: of another domain, unregistered, misspelt. */
#include "collector/base/options.h"
#include "collector/decode/nvtx/nvtx_internal.h"

#include <stdio.h>
#include <string.h>

#include "collector/model/strings.h"

#define COMPARED_MAX 4096u /* a program that opens millions of others is not looked at for ever */

static const char *domain_name(const struct nvtx_arena *n, uint32_t domain)
{
	const struct nvtx_name *name = domain ? n->names : NULL;

	while (name && (name->is_category || name->domain != domain))
		name = name->next;
	return name && name->text ? name->text : "";
}

static void keep(struct sought_range *s, int near, const char *text)
{
	s->near = near;
	snprintf(s->text, sizeof(s->text), "%s", text);
}

void nvtx_sought(struct sought_range *s, const struct arena *a, const struct nvtx_event *e)
{
	const char *text = e->string ? string_find(a, e->string) : e->has_text ? e->text.at : NULL;
	const char *domain;

	if (!text || s->near == SOUGHT_PLAIN)
		return;
	if (strcmp(text, s->range) == 0) {
		domain = domain_name(a->family.nvtx, e->domain);
		if (strcmp(s->domain, "*") != 0 && strcmp(s->domain, domain) != 0)
			keep(s, SOUGHT_DOMAIN, domain);
		else if (!e->string)
			keep(s, SOUGHT_PLAIN, "");
		return;
	}
	if (s->near > SOUGHT_NAME || s->compared == COMPARED_MAX || strlen(text) >= sizeof(s->text))
		return;
	s->compared++;
	if (sl_nearest(s->range, s->near ? s->text : NULL, text) == text)
		keep(s, SOUGHT_NAME, text);
}
