/* why_actions_test.h - the gains of an answer as text. After why_test.h. */
#pragma once

/* In ms, to 1 us: shares of spans are cut to whole ns. */
static inline double us_of(int64_t ns)
{
	return round((double)ns / 1000) / 1000;
}

/* "LINE ACTION LOWER..UPPER SEVERITY" of each gain, in their order; severity "up to": a bound alone. */
static inline const char *gains(void)
{
	static char text[4096];
	size_t len = 0;

	*text = '\0';
	for (size_t i = 0; i < test.y.gains_cnt; i++) {
		const struct why_gain *g = &test.y.gains[i];

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%d %s %g..%g %s\n",
					test.y.walk.places.list[g->place].line,
					gain_action_name(g->action), us_of(g->lower),
					us_of(g->upper),
					g->is_up_to ? "up to" : gain_severity_names[g->severity]);
	}
	return text;
}
