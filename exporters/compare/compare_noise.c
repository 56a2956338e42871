/* compare_noise.c - how much figures vary over the runs of one program, and how large a change is found in that. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/compare/compare.h"

const size_t compare_plans[COMPARE_PLANS] = {4, 5, 6, 8, 10, 20};

/*
 * The change by the noise: of normal noise, Mann and Whitney's test at COMPARE_ALPHA finds it in four of five comparisons. The unit test
 * makes the comparisons.
 */
static const double found[COMPARE_PLANS] = {2.9, 2.3, 1.9, 1.55, 1.4, 0.94};

double compare_found(double noise, size_t plan)
{
	return found[plan] * noise;
}

const struct compare_row *compare_steps(const struct comparison *c)
{
	const struct compare_row *best = NULL;

	for (size_t i = 0; i < c->row_cnt; i++) {
		const struct compare_row *row = &c->rows[i];

		if (strcmp(row->kind->name, "step") == 0 && row->figure[0].is_there &&
		    (!best ||
		     row->figure[0].value[METRIC_TOTAL] > best->figure[0].value[METRIC_TOTAL]))
			best = row;
	}
	return best;
}

double compare_noise(const struct comparison *c, const struct compare_row *row,
		     enum compare_metric m)
{
	double squares = 0;
	size_t degrees = 0;

	for (size_t s = 0; s < c->set_cnt; s++) {
		double *values = calloc(c->sets[s].cnt + 1, sizeof(*values)), mean = 0;
		size_t cnt = values && row->figure[s].is_there
				     ? compare_values(&row->figure[s], &c->sets[s], m, values)
				     : 0;

		for (size_t i = 0; i < cnt; i++)
			mean += values[i] / (double)cnt;
		for (size_t i = 0; i < cnt && cnt > 1 && mean != 0; i++)
			squares += pow(100 * (values[i] - mean) / mean, 2);
		if (cnt > 1 && mean != 0)
			degrees += cnt - 1;
		free(values);
	}
	return degrees ? sqrt(squares / (double)degrees) : NAN;
}
