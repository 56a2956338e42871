/* identity.c - which process an image is: what is claimed, what the kernel shows, what is in the tree. */
#include "tests/unit/report/db_test.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "collector/model/identity.h"
#include "tests/unit/collect/ring_test.h"

/* Waits for a signal. */
static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		/* It does not outlive a test that fails. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	return pid;
}

static void reap(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static bool is_alive(pid_t pid)
{
	int status;

	return waitpid(pid, &status, WNOHANG) == 0;
}

static struct image *claim(struct side *s, struct arena *a, uint32_t number, uint32_t pid,
			   bool is_namespaced, bool *is_early)
{
	struct claim c = {.number = number,
			  .parent = 1,
			  .pid = pid,
			  .is_namespaced = is_namespaced,
			  .born = sl_mono_ns()};

	return identity_image(&s->arenas, a, &c, is_early);
}

/* A collection whose root is @root, and an arena of this process. */
static struct arena *begin(struct side *s, struct ring *r, pid_t root)
{
	struct arena *a;

	*r = ring_new();
	side_open(s, false);
	a = side_attach(s, r, false);
	identity_root(&s->model, (uint32_t)root, 0);
	return a;
}

static void a_stranger_that_is_named_is_a_guest(void **state)
{
	pid_t root = sleeper(), stranger = sleeper();
	uint32_t named[] = {1, (uint32_t)stranger, (uint32_t)getpid()};
	struct arena *a;
	struct image *im;
	struct side s;
	struct ring r;
	bool is_early;

	(void)state;
	a = begin(&s, &r, root);
	for (uint32_t i = 0; i < 3; i++) {
		im = claim(&s, a, 2 + i, named[i], false, &is_early);
		assert_non_null(im);
		assert_int_equal(im->proc->pid, named[i]);
		assert_false(im->proc->flags.in_tree);
		assert_false(im->proc->flags.is_counted);
		identity_signal(&s.model, im->proc, SIGKILL);
	}
	assert_int_equal(s.model.counts.alive, 1);
	assert_true(is_alive(stranger));
	identity_signal(&s.model, model_find(&s.model, (uint32_t)root), SIGKILL);
	assert_int_equal(waitpid(root, NULL, 0), root);
	reap(stranger);
	side_die(&s);
}

static void a_descendant_is_in_the_tree(void **state)
{
	pid_t child = sleeper();
	struct arena *a;
	struct image *im;
	struct side s;
	struct ring r;
	bool is_early;

	(void)state;
	a = begin(&s, &r, getpid());
	im = claim(&s, a, 2, (uint32_t)child, false, &is_early);
	assert_true(im->proc->flags.in_tree);
	assert_int_equal(s.model.counts.alive, 2);
	assert_ptr_equal(claim(&s, a, 2, 1, false, &is_early), im);
	/* It has ended, though that is not known: its number may be another's by now. */
	reap(child);
	identity_signal(&s.model, im->proc, SIGKILL);
	side_die(&s);
}

/* The event of its fork may come later than its ring is read. */
static void a_guest_joins_the_tree_by_its_fork(void **state)
{
	pid_t root = sleeper(), child = sleeper();
	struct image *im;
	struct arena *a;
	struct side s;
	struct ring r;
	uint64_t forked;
	bool is_early;

	(void)state;
	reap(child);
	a = begin(&s, &r, root);
	forked = sl_mono_ns();
	im = claim(&s, a, 2, (uint32_t)child, false, &is_early);
	assert_false(im->proc->flags.in_tree);
	model_sched_ops.on_fork(&s.model, forked, (uint32_t)root, (uint32_t)root, (uint32_t)child,
				(uint32_t)child);
	assert_true(im->proc->flags.in_tree);
	assert_int_equal(im->proc->parent_pid, root);
	assert_int_equal(s.model.counts.alive, 1);
	reap(root);
	side_die(&s);
}

/* The process ended before its ring was read; the kernel's event of that, 3 ms behind its first record, is read later. */
static void exit_of_a_guest_behind_its_first_record_is_its_own(void **state)
{
	pid_t root = sleeper(), gone = sleeper();
	struct claim c = {.number = 2, .parent = 1, .pid = (uint32_t)gone};
	struct arena *a;
	struct proc *p;
	struct side s;
	struct ring r;
	int64_t end;
	bool is_early;

	(void)state;
	reap(gone);
	a = begin(&s, &r, root);
	c.born = sl_mono_ns();
	end = (int64_t)c.born - s.clock.zero + 3000000;
	while ((int64_t)sl_mono_ns() - s.clock.zero <= end + 1000000)
		;
	p = identity_image(&s.arenas, a, &c, &is_early)->proc;
	assert_true(p->flags.is_gone);
	assert_ptr_equal(model_at(&s.model, (uint32_t)gone, end), p);
	model_exit(&s.model, p, end, 7 << 8);
	assert_int_equal(p->life.status, 7 << 8);
	assert_int_equal(p->life.end_ns, end);
	reap(root);
	side_die(&s);
}

/* Its fork is known by then: an image made before that would belong to an unknown process. */
static void an_image_waits_for_the_kernels_events(void **state)
{
	pid_t root = sleeper(), gone = sleeper();
	struct claim c = {.number = 2, .parent = 1, .pid = (uint32_t)gone};
	struct arena *a;
	struct image *im;
	struct side s;
	struct ring r;
	uint64_t forked;
	bool is_early;

	(void)state;
	reap(gone);
	a = begin(&s, &r, root);
	forked = sl_mono_ns();
	c.born = sl_mono_ns();
	s.model.told_mono = forked - 1;
	assert_null(identity_image(&s.arenas, a, &c, &is_early));
	assert_true(is_early);
	model_sched_ops.on_fork(&s.model, forked, (uint32_t)root, (uint32_t)root, (uint32_t)gone,
				(uint32_t)gone);
	model_sched_ops.on_exit(&s.model, c.born + 10, (uint32_t)gone, (uint32_t)gone, 256);
	s.model.told_mono = c.born;
	im = identity_image(&s.arenas, a, &c, &is_early);
	assert_false(is_early);
	assert_int_equal(im->proc->life.status, 256);
	assert_int_equal(s.model.counts.guests, 0);
	/* A time that is still to come is a lie, or another clock's. */
	c.number = 3;
	c.born = sl_mono_ns() + 1000000000;
	assert_non_null(identity_image(&s.arenas, a, &c, &is_early));
	reap(root);
	side_die(&s);
}

static void a_hello_names_a_process_of_another_namespace(void **state)
{
	struct forked f = {.number = 2, .ns_pid = 7, .pid_ns = 99};
	pid_t child = sleeper();
	struct image *im;
	struct arena *a;
	struct side s;
	struct ring r;
	bool is_early;

	(void)state;
	f.pid = (uint32_t)child;
	a = begin(&s, &r, getpid());
	/* It may be in a connection that was not read yet. */
	assert_null(claim(&s, a, 2, 7, true, &is_early));
	assert_true(is_early);
	identity_note(&s.arenas, a, &f);
	im = claim(&s, a, 2, 7, true, &is_early);
	assert_int_equal(im->proc->pid, child);
	assert_true(im->proc->flags.in_tree);
	assert_int_equal(identity_thread(im, 7), child);
	assert_int_equal(identity_thread(im, UINT32_MAX), 0xffffff);
	/* Its child knows it by that pid. */
	f = (struct forked){.number = 3, .ns_pid = 8, .pid_ns = 99, .pid = (uint32_t)getpid()};
	identity_note(&s.arenas, a, &f);
	im = claim(&s, a, 3, 8, true, &is_early);
	assert_int_equal(identity_parent(&s.arenas, im, 7), child);
	reap(child);
	side_die(&s);
}

static void a_process_that_cannot_be_found_holds_nothing(void **state)
{
	struct image *im;
	struct arena *a;
	struct side s;
	struct ring r;
	bool is_early;

	(void)state;
	a = begin(&s, &r, getpid());
	assert_null(claim(&s, a, 2, 3999999, true, &is_early));
	assert_true(is_early);
	s.arenas.ever.accepts++;
	im = claim(&s, a, 2, 3999999, true, &is_early);
	assert_false(is_early);
	assert_true(im->proc->pid >= IDENTITY_UNKNOWN);
	assert_true(im->proc->flags.is_gone);
	assert_int_equal(s.model.counts.alive, 1);
	/* What makes no sense. */
	assert_null(claim(&s, a, 0, 5, false, &is_early));
	assert_null(claim(&s, a, 9, 0, false, &is_early));
	assert_null(claim(&s, a, 9, UINT32_MAX, false, &is_early));
	assert_null(claim(&s, a, UINT32_MAX, 5, false, &is_early));
	side_die(&s);
}

/* Also where the numbers of several share a place in the table. */
static void each_gets_its_turn(void **state)
{
	unsigned found = 0;
	struct arena *a;
	struct side s;
	struct ring r;
	bool is_early;

	(void)state;
	a = begin(&s, &r, getpid());
	for (int round = 0; round < 10; round++, s.arenas.ever.accepts++) {
		found = 0;
		for (uint32_t n = 0; n < 4; n++)
			found += claim(&s, a, 2 + n * EARLY_CNT, 3999990 + n, true, &is_early) !=
				 NULL;
	}
	assert_int_equal(found, 4);
	side_die(&s);
}

static void any_number_of_hellos_takes_little(void **state)
{
	struct arena *a;
	struct side s;
	struct ring r;

	(void)state;
	a = begin(&s, &r, getpid());
	for (uint32_t i = 2; i < 10000; i++) {
		struct forked f = {.number = i, .ns_pid = i, .pid = (uint32_t)getpid()};

		identity_note(&s.arenas, a, &f);
	}
	assert_true(a->peer.forked_cnt <= SL_SLOT_CNT);
	assert_int_equal(a->peer.forked[a->peer.forked_cnt - 1].number, 9999);
	side_die(&s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_stranger_that_is_named_is_a_guest),
		TEST(a_descendant_is_in_the_tree),
		TEST(a_guest_joins_the_tree_by_its_fork),
		TEST(exit_of_a_guest_behind_its_first_record_is_its_own),
		TEST(an_image_waits_for_the_kernels_events),
		TEST(a_hello_names_a_process_of_another_namespace),
		TEST(a_process_that_cannot_be_found_holds_nothing),
		TEST(each_gets_its_turn),
		TEST(any_number_of_hellos_takes_little),
	};

	return cmocka_run_group_tests_name("identity", tests, NULL, NULL);
}
