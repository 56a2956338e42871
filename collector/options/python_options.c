/* python_options.c - checks --python-step, --pytorch and --python-functions-trace. */
#include "collector/options/python_options.h"

#include <ctype.h>
#include <string.h>

#include "collector/base/message.h"

/* Functions of the options that were checked last. */
static struct python_functions functions;

bool python_is_dotted(const char *text, size_t len)
{
	bool expect = true;

	for (size_t i = 0; i < len; i++) {
		unsigned char ch = (unsigned char)text[i];
		bool letter = ch == '_' || ch >= 0x80 || isalpha(ch);

		if (ch == '.' ? expect : !(letter || (!expect && isdigit(ch))))
			return false;
		expect = ch == '.';
	}
	return !expect;
}

static bool is_step(const char *text, size_t len)
{
	const char *equals = memchr(text, '=', len), *end = text + len;
	const char *module = equals ? equals + 1 : text;
	const char *colon = memchr(module, ':', (size_t)(end - module));

	return equals != text && colon && python_is_dotted(module, (size_t)(colon - module)) &&
	       python_is_dotted(colon + 1, (size_t)(end - colon - 1));
}

int python_options_check(struct profile_options *o, const char *cmd)
{
	unsigned cnt = 0;

	for (const char *p = o->python.steps; p && *p;) {
		size_t len = strcspn(p, ",");

		if (!is_step(p, len)) {
			sl_warn("%s: option '--python-step' takes [NAME=]MODULE:FUNCTION, not "
				"'%.*s' (for example train:train_step, __main__:Trainer.step)",
				cmd, (int)len, p);
			return -SL_EXIT_USAGE;
		}
		if (++cnt > PYTHON_STEPS_MAX) {
			sl_warn("%s: option '--python-step' takes at most %d functions", cmd,
				PYTHON_STEPS_MAX);
			return -SL_EXIT_USAGE;
		}
		p += len + (p[len] == ',');
	}
	if (o->python.pytorch && strcmp(o->python.pytorch, "none") == 0)
		o->python.pytorch = NULL;
	python_functions_free(&functions);
	return o->python.functions ? python_functions_read(&functions, o->python.functions, cmd)
				   : 0;
}

const struct python_functions *python_options_functions(void)
{
	return &functions;
}
