/* why_model_test.h - the model of a report. After why_test.h. */
#pragma once

static struct why_model model;

static inline const struct why_model *read_as(const struct why_scope *scope)
{
	open_report();
	assert_int_equal(why_model_read(&model, test.db, scope), SQLITE_OK);
	return &model;
}

static inline const struct why_model *read_model(void)
{
	return read_as(&(struct why_scope){0});
}

static inline int teardown(void **state)
{
	why_model_free(&model);
	memset(&model, 0, sizeof(model));
	return test_teardown(state);
}

#define MODEL(name) cmocka_unit_test_setup_teardown(name, test_setup, teardown)

static inline const struct why_thread *thread(int tid)
{
	uint32_t number_of = why_model_find(&model, tid_of(tid));

	assert_int_not_equal(number_of, WHY_NONE);
	return &model.threads[number_of];
}
