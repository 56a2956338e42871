/* event_loop.c - functions are called for readable descriptors only, until they are removed, whatever is closed meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/event_loop.h"

struct seen {
	struct loop *loop;
	int calls, last, remove; /* remove: a descriptor, -1 none */
};

static void note(void *ctx, int fd)
{
	struct seen *s = ctx;

	s->calls++;
	s->last = fd;
	if (s->remove >= 0)
		loop_remove(s->loop, s->remove);
}

static int run(struct loop *l)
{
	loop_wait(l, 0);
	return loop_dispatch(l);
}

static void readable_descriptors_are_called(void **state)
{
	struct loop l;
	struct seen s = {.loop = &l, .remove = -1};
	int a[2], b[2];

	(void)state;
	assert_int_equal(loop_open(&l), 0);
	assert_int_equal(pipe(a) | pipe(b), 0);
	loop_add(&l, a[0], note, &s);
	loop_add(&l, b[0], note, &s);
	assert_int_equal(run(&l), 0);
	assert_int_equal(write(b[1], "x", 1), 1);
	assert_int_equal(run(&l), 1);
	assert_int_equal(run(&l), 1); /* it was not read */
	assert_int_equal(s.calls, 2);
	assert_int_equal(s.last, b[0]);
	loop_remove(&l, b[0]);
	assert_int_equal(run(&l), 0);
	loop_close(&l);
	for (int i = 0; i < 2; i++)
		assert_int_equal(close(a[i]) | close(b[i]), 0);
}

static void an_edge_is_called_once_and_a_timer_not_counted(void **state)
{
	struct loop l;
	struct seen edge = {.loop = &l, .remove = -1}, timer = edge;
	int a[2], b[2];

	(void)state;
	assert_int_equal(loop_open(&l), 0);
	assert_int_equal(pipe(a) | pipe(b), 0);
	loop_add_edge(&l, a[0], note, &edge);
	loop_add_timer(&l, b[0], note, &timer);
	assert_int_equal(write(a[1], "x", 1), 1);
	assert_int_equal(write(b[1], "x", 1), 1);
	assert_int_equal(run(&l), 1);
	assert_int_equal(run(&l), 0);
	assert_int_equal(edge.calls, 1);
	assert_int_equal(timer.calls, 2);
	loop_close(&l);
	for (int i = 0; i < 2; i++)
		assert_int_equal(close(a[i]) | close(b[i]), 0);
}

/* Both are ready; the one that is called first removes the other. */
static void a_removed_descriptor_is_not_called(void **state)
{
	struct loop l;
	struct seen first, second;
	int a[2], b[2];

	(void)state;
	assert_int_equal(loop_open(&l), 0);
	assert_int_equal(pipe(a) | pipe(b), 0);
	first = (struct seen){.loop = &l, .remove = b[0]};
	second = (struct seen){.loop = &l, .remove = a[0]};
	loop_add(&l, a[0], note, &first);
	loop_add(&l, b[0], note, &second);
	assert_int_equal(write(a[1], "x", 1), 1);
	assert_int_equal(write(b[1], "x", 1), 1);
	assert_int_equal(run(&l), 1);
	assert_int_equal(first.calls + second.calls, 1);
	loop_close(&l);
	for (int i = 0; i < 2; i++)
		assert_int_equal(close(a[i]) | close(b[i]), 0);
}

/* A number that was closed without loop_remove() comes again with another function. */
static void a_number_of_a_descriptor_may_come_again(void **state)
{
	struct loop l;
	struct seen before = {.loop = &l, .remove = -1}, after = before;
	int a[2], b[2];

	(void)state;
	assert_int_equal(loop_open(&l), 0);
	assert_int_equal(pipe(a), 0);
	loop_add(&l, a[0], note, &before);
	assert_int_equal(close(a[0]) | close(a[1]), 0);
	assert_int_equal(pipe(b), 0);
	assert_int_equal(b[0], a[0]);
	loop_add(&l, b[0], note, &after);
	assert_int_equal(write(b[1], "x", 1), 1);
	assert_int_equal(run(&l), 1);
	assert_int_equal(before.calls, 0);
	assert_int_equal(after.calls, 1);
	loop_add(&l, -1, note, &after);
	loop_remove(&l, -1);
	loop_remove(&l, 10000);
	loop_close(&l);
	loop_close(&l);
	assert_int_equal(close(b[0]) | close(b[1]), 0);
}

/* Closes both descriptors of the other watch, whose numbers a new pipe gets, and watches the new pipe, to which nothing is written. */
struct replacer {
	struct loop *loop;
	int *other;
	struct seen *fresh;
};

static void replace_other(void *ctx, int fd)
{
	struct replacer *r = ctx;
	int before = r->other[0];

	(void)fd;
	if (r->fresh->last >= 0)
		return;
	r->fresh->last = 0;
	assert_int_equal(close(r->other[0]) | close(r->other[1]), 0);
	assert_int_equal(pipe(r->other), 0);
	assert_int_equal(r->other[0], before);
	loop_add(r->loop, r->other[0], note, r->fresh);
}

/* Both are ready in one wait: the event of the descriptor that was closed meanwhile is not that of the new one. */
static void an_event_of_a_closed_descriptor_is_not_for_its_successor(void **state)
{
	struct loop l;
	struct seen fresh = {.loop = &l, .remove = -1, .last = -1};
	int a[2], b[2];
	struct replacer first = {&l, b, &fresh}, second = {&l, a, &fresh};

	(void)state;
	assert_int_equal(loop_open(&l), 0);
	assert_int_equal(pipe(a) | pipe(b), 0);
	loop_add(&l, a[0], replace_other, &first);
	loop_add(&l, b[0], replace_other, &second);
	assert_int_equal(write(a[1], "x", 1), 1);
	assert_int_equal(write(b[1], "x", 1), 1);
	assert_int_equal(run(&l), 1);
	assert_int_equal(fresh.calls, 0);
	loop_close(&l);
	for (int i = 0; i < 2; i++)
		assert_int_equal(close(a[i]) | close(b[i]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readable_descriptors_are_called),
		cmocka_unit_test(an_edge_is_called_once_and_a_timer_not_counted),
		cmocka_unit_test(a_removed_descriptor_is_not_called),
		cmocka_unit_test(a_number_of_a_descriptor_may_come_again),
		cmocka_unit_test(an_event_of_a_closed_descriptor_is_not_for_its_successor),
	};

	return cmocka_run_group_tests_name("event_loop", tests, NULL, NULL);
}
