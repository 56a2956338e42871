/*
 * model.c - processes, images and files, reported by the shim and by the kernel in any order: one row each.
 */
#include "tests/unit/report/db_test.h"

#include "tests/unit/collect/ring_test.h"
#include "collector/model/execs.h"

#include <malloc.h>

#define MS INT64_C(1000000)

static const char *tree(void)
{
	return ask("SELECT group_concat(t, ', ') FROM (SELECT ((globalPid >> 24) & 0xffffff) || "
		   "':' || "
		   "coalesce((parentGlobalPid >> 24) & 0xffffff, '-') || ' ' || kind || traced || "
		   "' ' || coalesce(exe, '-') || ' ' || "
		   "(start / 1000000) || '-' || coalesce(end / 1000000, '') || ' ' || "
		   "coalesce(exitStatus, '') t FROM SL_PROCESS_TREE ORDER BY "
		   "start, rowid)");
}

/* The shim's records of its image. */
static struct image *image(struct side *s, struct arena *a, uint32_t number, uint32_t pid,
			   uint32_t ppid, int64_t ns, const char *exe)
{
	struct image *im =
		model_image_new(&s->model, a, number, model_at(&s->model, pid, ns), pid, ns);
	char text[64];
	struct meta m = {.pid = pid,
			 .ppid = ppid,
			 .image = number > 1 ? SL_IMAGE_FORK : SL_IMAGE_START,
			 .bytes = text};

	m.len = (uint32_t)snprintf(text, sizeof(text), "%s%c%s%carg", exe, 0, exe, 0) + 1;
	if (number > 1)
		m.len = 0;
	model_on_image(&s->model, im, &m, ns);
	return im;
}

static uint64_t mono(const struct side *s, int64_t ns)
{
	return (uint64_t)(s->clock.zero + ns);
}

static void start(struct side *s, struct arena *a, struct arena *b)
{
	side_open(s, false);
	memset(a, 0, sizeof(*a));
	memset(b, 0, sizeof(*b));
	a->id = 1;
	b->id = 2;
	s->model.root.pid = 100;
	model_admit(&s->model, model_get(&s->model, 100, 1 * MS), true);
}

static void end(struct side *s, struct arena *a, struct arena *b)
{
	struct arena *both[] = {a, b};

	for (int i = 0; i < 2; i++) {
		while (both[i]->images) {
			struct image *im = both[i]->images;

			both[i]->images = im->next;
			model_image_free(&s->model, im);
		}
		file_names_release(&both[i]->names);
	}
	side_die(s);
}

static void fork_and_exec_make_one_row_each(void **state)
{
	const struct sched_ops *k = &model_sched_ops;
	struct arena a, b;
	struct side s;

	(void)state;
	start(&s, &a, &b);
	image(&s, &a, 1, 100, 1, 2 * MS, "/bin/sh");
	/* Kernel first: fork, exec, exit; then the rings. */
	k->on_fork(&s.model, mono(&s, 10 * MS), 100, 100, 101, 101);
	k->on_comm(&s.model, mono(&s, 20 * MS), 101, 101, "prog", &(struct sched_exec){0});
	k->on_exit(&s.model, mono(&s, 30 * MS), 101, 101, 256);
	image(&s, &a, 2, 101, 100, 10 * MS + 5000, "");
	image(&s, &b, 1, 101, 100, 20 * MS + 5000, "/bin/prog");
	model_settle(&s.model, 40 * MS, false);
	model_exit(&s.model, model_find(&s.model, 100), 50 * MS, 0);
	side_commit(&s);
	assert_string_equal(tree(), "100:1 01 /bin/sh 2-50 0, 101:100 11 /bin/sh 10-20 , 101:100 "
				    "21 /bin/prog 20-30 256");
	assert_string_equal(
		ask("SELECT group_concat(name) FROM (SELECT name FROM PROCESSES ORDER BY pid)"),
		"sh,prog");
	end(&s, &a, &b);
}

static void the_rings_may_be_read_first(void **state)
{
	const struct sched_ops *k = &model_sched_ops;
	struct arena a, b;
	struct side s;

	(void)state;
	start(&s, &a, &b);
	image(&s, &a, 1, 100, 1, 2 * MS, "/bin/sh");
	image(&s, &a, 2, 101, 100, 10 * MS, "");
	image(&s, &b, 1, 101, 100, 20 * MS, "/bin/prog");
	k->on_fork(&s.model, mono(&s, 10 * MS - 5000), 100, 100, 101, 101);
	k->on_comm(&s.model, mono(&s, 20 * MS - 5000), 101, 101, "prog", &(struct sched_exec){0});
	model_settle(&s.model, 5000 * MS, true);
	k->on_exit(&s.model, mono(&s, 30 * MS), 101, 101, 9);
	side_commit(&s);
	assert_string_equal(
		tree(),
		"100:1 01 /bin/sh 2- , 101:100 11 /bin/sh 10-20 , 101:100 21 /bin/prog 20-30 9");
	end(&s, &a, &b);
}

static void a_process_that_the_shim_cannot_enter_is_there(void **state)
{
	const struct sched_ops *k = &model_sched_ops;
	struct arena a, b;
	struct side s;

	(void)state;
	start(&s, &a, &b);
	image(&s, &a, 1, 100, 1, 2 * MS, "/bin/sh");
	k->on_fork(&s.model, mono(&s, 10 * MS), 100, 100, 0x7ffff0, 0x7ffff0);
	model_settle(&s.model, 11 * MS, false);
	k->on_comm(&s.model, mono(&s, 20 * MS), 0x7ffff0, 0x7ffff0, "static",
		   &(struct sched_exec){0});
	model_settle(&s.model, 30 * MS, false);
	side_commit(&s);
	/* Not yet: its image may still say hello. */
	assert_string_equal(ask("SELECT count(*) FROM SL_PROCESS_TREE"), "2");
	assert_true(model_has_guests(&s.model, 1));
	model_settle(&s.model, 520 * MS, false);
	side_commit(&s);
	assert_string_equal(ask("SELECT count(*) FROM SL_PROCESS_TREE"), "2");
	model_settle(&s.model, 600 * MS, false);
	/* Its children have no shim either. */
	k->on_fork(&s.model, mono(&s, 650 * MS), 0x7ffff0, 0x7ffff0, 0x7ffff1, 0x7ffff1);
	model_settle(&s.model, 660 * MS, false);
	k->on_exit(&s.model, mono(&s, 700 * MS), 0x7ffff0, 0x7ffff0, 0);
	side_commit(&s);
	assert_string_equal(tree(),
			    "100:1 01 /bin/sh 2- , 8388592:100 11 /bin/sh 10-20 , "
			    "8388592:100 20 static 20-700 0, 8388593:8388592 10 static 650- ");
	end(&s, &a, &b);
}

/* The kernel reports both execs before the first image's ring is read: the second is not the first's. */
static void a_quick_second_exec_has_its_row(void **state)
{
	const struct sched_ops *k = &model_sched_ops;
	const uint32_t pid = 0x7ffff0; /* no process has it */
	struct arena a, b;
	struct side s;

	(void)state;
	start(&s, &a, &b);
	s.model.wants.has_kernel_events = true;
	s.model.root.pid = pid;
	s.model.root.exe = strdup("/bin/sh");
	s.model.root.command = strdup("sh -c exec");
	k->on_comm(&s.model, mono(&s, 1 * MS), pid, pid, "sh", &(struct sched_exec){0});
	k->on_comm(&s.model, mono(&s, 5 * MS), pid, pid, "static", &(struct sched_exec){0});
	k->on_exit(&s.model, mono(&s, 9 * MS), pid, pid, 768);
	image(&s, &a, 1, pid, 1, 2 * MS, "/bin/sh");
	model_settle(&s.model, 20 * MS, true);
	side_commit(&s);
	assert_string_equal(tree(), "8388592:1 01 /bin/sh 1-5 , 8388592:1 20 static 5-9 768");
	end(&s, &a, &b);
}

/* The process has ended: what it was started as comes with the kernel's event. */
static void program_of_an_exec_is_that_of_its_event(void **state)
{
	const struct sched_ops *k = &model_sched_ops;
	const uint32_t pid = 0x7ffff0;
	struct sched_exec e = {
		.path = "/usr/../bin/./true", .args = "true\0one\0two", .args_len = 13};
	struct arena a, b;
	struct side s;
	char *true_path = realpath("/bin/true", NULL);

	(void)state;
	start(&s, &a, &b);
	k->on_fork(&s.model, mono(&s, 1 * MS), 100, 100, pid, pid);
	k->on_comm(&s.model, mono(&s, 2 * MS), pid, pid, "true", &e);
	e = (struct sched_exec){.path = "./gone", .args = "gone", .args_len = 5};
	k->on_comm(&s.model, mono(&s, 3 * MS), pid, pid, "gone", &e);
	model_settle(&s.model, 4 * MS, true);
	side_commit(&s);
	assert_string_equal(
		ask("SELECT exe FROM SL_PROCESS_TREE WHERE commandLine = 'true one two'"),
		true_path);
	assert_string_equal(ask("SELECT exe FROM SL_PROCESS_TREE WHERE commandLine = 'gone'"),
			    "./gone");
	free(true_path);
	end(&s, &a, &b);
}

/* Programs without the shim, between two with it, are images as well, however short they are. */
static void each_exec_of_a_chain_has_its_row(void **state)
{
	const struct sched_ops *k = &model_sched_ops;
	const uint32_t pid = 0x7ffff0;
	struct arena a, b;
	struct side s;

	(void)state;
	start(&s, &a, &b);
	s.model.wants.has_kernel_events = true;
	k->on_fork(&s.model, mono(&s, 1 * MS), 100, 100, pid, pid);
	for (int i = 0; i < 4; i++)
		k->on_comm(
			&s.model, mono(&s, (2 + 2 * i) * MS), pid, pid,
			&"one\0two\0six\0ten" [4 * i], &(struct sched_exec) { 0 });
	k->on_exit(&s.model, mono(&s, 10 * MS), pid, pid, 256);
	image(&s, &a, 1, pid, 100, 3 * MS, "/bin/one");
	image(&s, &b, 1, pid, 100, 9 * MS, "/bin/ten");
	side_commit(&s);
	assert_string_equal(tree(), "8388592:100 11 - 1-2 , 8388592:100 21 /bin/one 2-4 , "
				    "8388592:100 20 two 4-6 , 8388592:100 20 six 6-8 , "
				    "8388592:100 21 /bin/ten 8-10 256");
	end(&s, &a, &b);
}

static void a_silent_child_keeps_the_arena(void **state)
{
	struct arena a, b;
	struct side s;

	(void)state;
	start(&s, &a, &b);
	image(&s, &a, 1, 100, 1, 2 * MS, "/bin/sh");
	model_sched_ops.on_fork(&s.model, mono(&s, 10 * MS), 100, 100, 101, 101);
	model_settle(&s.model, 11 * MS, false);
	model_exit(&s.model, model_find(&s.model, 100), 12 * MS, 0);
	assert_true(model_has_guests(&s.model, 1));
	assert_int_equal(s.model.counts.alive, 1);
	model_exit(&s.model, model_find(&s.model, 101), 13 * MS, 0);
	assert_false(model_has_guests(&s.model, 1));
	assert_int_equal(s.model.counts.alive, 0);
	end(&s, &a, &b);
}

static void process_found_before_the_event_of_its_fork_is_one(void **state)
{
	const struct sched_ops *k = &model_sched_ops;
	uint32_t pid = 0x7ffff0; /* there is none */
	struct arena a, b;
	struct side s;

	(void)state;
	start(&s, &a, &b);
	image(&s, &a, 1, 100, 1, 2 * MS, "/bin/sh");
	/* By ticks of 10 ms. */
	model_found(&s.model, pid, 100, 10 * MS);
	k->on_fork(&s.model, mono(&s, 19 * MS), 100, 100, pid, pid);
	k->on_comm(&s.model, mono(&s, 20 * MS), pid, pid, "prog", &(struct sched_exec){0});
	k->on_exit(&s.model, mono(&s, 30 * MS), pid, pid, 256);
	/* The other way round. */
	k->on_fork(&s.model, mono(&s, 19 * MS), 100, 100, pid + 1, pid + 1);
	model_found(&s.model, pid + 1, 100, 10 * MS);
	k->on_exit(&s.model, mono(&s, 31 * MS), pid + 1, pid + 1, 0);
	/* A process that was there, and another one that has its number later. */
	model_found(&s.model, pid + 2, 100, 10 * MS);
	k->on_fork(&s.model, mono(&s, 40 * MS), 100, 100, pid + 2, pid + 2);
	k->on_exit(&s.model, mono(&s, 50 * MS), pid + 2, pid + 2, 0);
	model_settle(&s.model, 5000 * MS, true);
	side_commit(&s);
	assert_string_equal(tree(), "100:1 01 /bin/sh 2- , 8388594:100 00 - 10-40 , 8388592:100 11 "
				    "/bin/sh 19-20 , 8388593:100 11 /bin/sh 19-31 0, 8388592:100 "
				    "20 prog 20-30 256, 8388594:100 11 /bin/sh 40-50 0");
	assert_int_equal(model_statusless(&s.model), 1);
	end(&s, &a, &b);
}

static void descriptors_have_one_row_per_life(void **state)
{
	struct arena a, b;
	struct image *im, *child;
	struct side s;

	(void)state;
	start(&s, &a, &b);
	im = image(&s, &a, 1, 100, 1, 2 * MS, "/bin/sh");
	file_open(&s.model, im, 1, 3, "/x", 2, 10 * MS);
	file_open(&s.model, im, 2, 4, "/y", 2, 11 * MS);
	file_close(&s.model, im, 1, 20 * MS);
	file_close(&s.model, im, 1, 21 * MS);
	/* Descriptor 4 means something else now: the close went unseen. */
	file_open(&s.model, im, 3, 4, "/z", 2, 30 * MS);
	/* A forked child has what was open, under rows of its own. */
	child = image(&s, &a, 2, 101, 100, 40 * MS, "");
	assert_int_equal(file_get(&s.model, child, 3, 4, 41 * MS)->path_id,
			 db_string(s.db, "/z", 2));
	file_close_all(&s.model, child, 50 * MS);
	side_commit(&s);
	assert_string_equal(ask("SELECT group_concat(fileAccessId || ' ' || processId || ' ' || "
				"filePath || ' ' || (openedAt / 1000000) || "
				"'-' || (closedAt / 1000000), ', ') FROM (SELECT * FROM "
				"OSRT_FILE_ACCESS_DESCRIPTORS ORDER BY 1)"),
			    "1 100 /x 10-20, 2 100 /y 11-30, 3 100 /z 30-0, 4 101 /z 0-50");
	assert_null(file_get(&s.model, im, 0, 3, 1));
	assert_null(file_get(&s.model, im, UINT32_MAX, 3, 1));
	end(&s, &a, &b);
}

static void a_reused_pid_is_another_process(void **state)
{
	struct arena a, b;
	struct side s;
	struct proc *old;

	(void)state;
	start(&s, &a, &b);
	image(&s, &a, 1, 100, 1, 2 * MS, "/bin/sh");
	old = model_find(&s.model, 100);
	model_exit(&s.model, old, 10 * MS, 0);
	assert_null(model_find(&s.model, 100));
	model_admit(&s.model, model_get(&s.model, 100, 20 * MS), true);
	assert_ptr_not_equal(model_find(&s.model, 100), old);
	/* What the first one left is read late and still its own. */
	assert_ptr_equal(model_at(&s.model, 100, 5 * MS), old);
	assert_ptr_not_equal(model_at(&s.model, 100, 25 * MS), old);
	end(&s, &a, &b);
}

static void an_image_that_was_replaced_ends_alone(void **state)
{
	struct image *first, *second;
	struct arena a, b;
	struct side s;

	(void)state;
	start(&s, &a, &b);
	first = image(&s, &a, 1, 100, 1, 2 * MS, "/bin/sh");
	second = image(&s, &b, 1, 100, 1, 5 * MS, "/bin/prog");
	assert_ptr_equal(second->proc->image, second);
	assert_int_equal(first->end_ns, 5 * MS);
	model_image_end(&s.model, first, 6 * MS);
	assert_ptr_equal(second->proc->image, second);
	assert_true(model_image_is_over(first));
	model_image_end(&s.model, second, 7 * MS);
	assert_null(second->proc->image);
	end(&s, &a, &b);
}

static int ended;
static void count_ends(void *ctx, struct proc *p)
{
	(void)ctx;
	ended = ended * 10 + (p->life.status >= 0);
}

static void an_exit_status_may_come_later(void **state)
{
	struct arena a, b;
	struct side s;
	struct proc *p;

	(void)state;
	start(&s, &a, &b);
	ended = 0;
	s.model.hooks.ended = count_ends;
	image(&s, &a, 1, 100, 1, 2 * MS, "/bin/sh");
	p = model_find(&s.model, 100);
	model_exit(&s.model, p, 10 * MS, -1);
	assert_int_equal(ended, 0);
	model_exit(&s.model, p, 12 * MS, 9);
	model_exit(&s.model, p, 13 * MS, 9);
	assert_int_equal(ended, 1);
	side_commit(&s);
	assert_string_equal(tree(), "100:1 01 /bin/sh 2-10 9");
	end(&s, &a, &b);
}

static void a_command_line_is_whole_and_an_image_is_named_once(void **state)
{
	struct meta m = {.pid = 100, .ppid = 1, .image = SL_IMAGE_START, .bytes = "/x", .len = 2};
	struct image *im;
	struct arena a, b;
	struct side s;

	(void)state;
	start(&s, &a, &b);
	im = image(&s, &a, 1, 100, 1, 2 * MS, "/bin/sh");
	model_on_image(&s.model, im, &m, 3 * MS);
	side_commit(&s);
	assert_string_equal(ask("SELECT group_concat('<' || commandLine || '>') FROM "
				"SL_PROCESS_TREE"),
			    "</bin/sh arg>");
	assert_string_equal(ask("SELECT count(*) FROM SL_PROCESS_TREE"), "1");
	end(&s, &a, &b);
}

static void with_events_of_the_kernel_they_decide_about_an_exec(void **state)
{
	struct meta m = {.bytes = "/bin/other", .len = 10};
	struct image *im;
	struct arena a, b;
	struct side s;

	(void)state;
	start(&s, &a, &b);
	im = image(&s, &a, 1, 100, 1, 2 * MS, "/bin/sh");
	model_on_exec(&s.model, im, &m, 3 * MS);
	assert_null(im->proc->execs);
	s.model.wants.has_kernel_events = false;
	model_on_exec(&s.model, im, &m, 4 * MS);
	assert_int_equal(im->proc->execs->ns, 4 * MS);
	model_on_exec_failed(im);
	assert_null(im->proc->execs);
	end(&s, &a, &b);
}

static void an_image_without_a_fork_waits_for_its_event(void **state)
{
	struct arena a, b;
	struct side s;

	(void)state;
	start(&s, &a, &b);
	image(&s, &a, 1, 100, 1, 2 * MS, "/bin/sh");
	image(&s, &b, 1, 101, 100, 10 * MS, "/bin/prog");
	model_settle(&s.model, 50 * MS, false);
	side_commit(&s);
	assert_string_equal(ask("SELECT count(*) FROM SL_PROCESS_TREE"), "1");
	model_settle(&s.model, 500 * MS, false);
	side_commit(&s);
	assert_string_equal(ask("SELECT count(*) FROM SL_PROCESS_TREE"), "2");
	end(&s, &a, &b);
}

/* The name of a process whose program is DIR/real and whose first argument is @first. */
static const char *name_of(const char *first)
{
	struct arena a, b;
	struct side s;
	struct image *im;
	char text[3 * 4096];
	struct meta m = {.pid = 100, .ppid = 1, .image = SL_IMAGE_START, .bytes = text};

	start(&s, &a, &b);
	im = model_image_new(&s.model, &a, 1, model_at(&s.model, 100, 2 * MS), 100, 2 * MS);
	m.len = (uint32_t)snprintf(text, sizeof(text), "%s/real%c%s%carg", test_dir, 0, first, 0) +
		1;
	model_on_image(&s.model, im, &m, 2 * MS);
	side_commit(&s);
	end(&s, &a, &b);
	return ask("SELECT name FROM PROCESSES");
}

static void a_process_has_the_name_of_the_link_it_was_started_by(void **state)
{
	char path[4200], cmd[400];

	(void)state;
	snprintf(cmd, sizeof(cmd), "cd %s && touch real other && ln -s real link", test_dir);
	assert_int_equal(system(cmd), 0);
	assert_string_equal(name_of("link"), "link");
	assert_int_equal(unlink(test_path), 0);
	assert_string_equal(name_of("other"), "real");
	assert_int_equal(unlink(test_path), 0);
	snprintf(path, sizeof(path), "%s/link", test_dir);
	assert_string_equal(name_of(path), "link");
	assert_int_equal(unlink(test_path), 0);
	memset(path, 'x', 4096);
	path[4096] = 0;
	assert_string_equal(name_of(path), "real");
}

static void pids_of_one_bucket_are_distinct(void **state)
{
	struct arena a, b;
	struct side s;
	struct proc *p;

	(void)state;
	start(&s, &a, &b);
	p = model_at(&s.model, 100 + 1024, 5 * MS);
	assert_int_equal(p->pid, 1124);
	assert_ptr_equal(model_at(&s.model, 100 + 1024, 6 * MS), p);
	assert_int_equal(model_at(&s.model, 100, 5 * MS)->pid, 100);
	end(&s, &a, &b);
}

static void an_image_of_the_moment_of_an_exec_is_the_new_one(void **state)
{
	struct arena a, b;
	struct image *im;
	struct side s;

	(void)state;
	start(&s, &a, &b);
	im = image(&s, &a, 1, 100, 1, 10 * MS, "/bin/sh");
	execs_add(im->proc, im->start_ns, NULL, NULL);
	model_settle(&s.model, 20 * MS, true);
	assert_ptr_equal(im->proc->image, im);
	execs_add(im->proc, im->start_ns + 1, NULL, NULL);
	model_settle(&s.model, 30 * MS, true);
	assert_null(im->proc->image);
	end(&s, &a, &b);
}

static void descriptors_of_processes_are_closed(void **state)
{
	struct arena a, b;
	struct side s;
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	start(&s, &a, &b);
	model_find(&s.model, 100)->life.pidfd = fd[0];
	end(&s, &a, &b);
	assert_int_equal(fcntl(fd[0], F_GETFD), -1);
	close(fd[1]);
}

/* An executable alone, as its record ends behind it. */
/* Processes are forgotten: of 30,000 of them remains what maps of rows have, a few words each. */
static void many_processes_take_little(void **state)
{
	const struct sched_ops *k = &model_sched_ops;
	struct mallinfo2 before = {0}, after;
	struct arena a, b;
	struct side s;
	uint32_t left = 0;

	(void)state;
	start(&s, &a, &b);
	s.model.wants.has_kernel_events = true;
	image(&s, &a, 1, 100, 1, 1 * MS, "/bin/sh");
	for (uint32_t i = 0; i < 60000; i++) {
		uint32_t pid = 1000 + i;
		int64_t ns = 2 * MS + i * 10 * MS;
		struct image *im;

		if (i == 30000) /* SQLite's cache is full */
			before = mallinfo2();
		k->on_fork(&s.model, mono(&s, ns), 100, 100, pid, pid);
		k->on_comm(&s.model, mono(&s, ns + 10), pid, pid, "true", &(struct sched_exec){0});
		im = image(&s, &b, 1, pid, 100, ns + 20, "/bin/true");
		k->on_exit(&s.model, mono(&s, ns + 30), pid, pid, i % 2 ? 256 : 0);
		b.images = NULL;
		model_image_free(&s.model, im);
		if (i % 100)
			continue;
		model_settle(&s.model, ns + 40, false);
		model_forget(&s.model, ns + 40);
		side_commit(&s);
	}
	model_settle(&s.model, 1000000 * MS, true);
	side_commit(&s);
	model_forget(&s.model, 1000000 * MS);
	for (const struct proc *p = s.model.procs; p; p = p->links.next)
		left++;
	assert_int_equal(left, 1);
	after = mallinfo2();
	assert_true(after.uordblks < before.uordblks + 30000 * 200);
	assert_int_equal(model_statusless(&s.model), 0);
	assert_string_equal(
		ask("SELECT count(*) || ' ' || sum(exitStatus IS NOT NULL) FROM SL_PROCESS_TREE"),
		"120001 60000");
	end(&s, &a, &b);
}

static void image_without_arguments_has_no_command_line(void **state)
{
	static const char text[] = "/bin/one";
	struct meta m = {.pid = 100, .image = SL_IMAGE_START, .bytes = text, .len = sizeof(text)};
	struct arena a, b;
	struct side s;

	(void)state;
	start(&s, &a, &b);
	model_on_image(
		&s.model,
		model_image_new(&s.model, &a, 1, model_at(&s.model, 100, 1 * MS), 100, 1 * MS), &m,
		1 * MS);
	side_commit(&s);
	assert_string_equal(
		ask("SELECT exe || ' ' || coalesce(commandLine, 'none') FROM SL_PROCESS_TREE"),
		"/bin/one none");
	end(&s, &a, &b);
}

/* What is no NAME=VALUE is left out; the last one has no value, whatever stands behind the text. */
static void variables_of_ranks_are_names_and_values(void **state)
{
	static const char text[] = "RANK=3\0lower=1\0=x\0NONE\0\0WORLD_SIZE=\0A B=2\0LAST=9";
	char entry[600];
	struct arena a, b;
	struct image *im;
	struct side s;

	(void)state;
	start(&s, &a, &b);
	im = model_image_new(&s.model, &a, 1, model_at(&s.model, 100, 1 * MS), 100, 1 * MS);
	model_on_rank(&s.model, im, text, sizeof(text) - 1 - strlen("=9"));
	model_on_rank(&s.model, im, text, 0);
	/* Names of 63 bytes and values of 255 are the longest. */
	memset(entry, 'N', 63);
	strcpy(entry + 63, "=63");
	model_on_rank(&s.model, im, entry, strlen(entry));
	memset(entry, 'N', 64);
	strcpy(entry + 64, "=64");
	model_on_rank(&s.model, im, entry, strlen(entry));
	for (int len = 255; len <= 256; len++) {
		snprintf(entry, sizeof(entry), "V%d=%0*d", len, len, 7);
		model_on_rank(&s.model, im, entry, strlen(entry));
	}
	side_commit(&s);
	assert_string_equal(
		ask("SELECT group_concat(substr(name, 1, 10) || '=' || CASE WHEN "
		    "length(value) > 9 THEN length(value) ELSE value END, ' ') FROM (SELECT "
		    "* FROM SL_RANK_VARIABLES ORDER BY name)"),
		"NNNNNNNNNN=63 RANK=3 V255=255 WORLD_SIZE=");
	end(&s, &a, &b);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(fork_and_exec_make_one_row_each),
		TEST(the_rings_may_be_read_first),
		TEST(a_process_that_the_shim_cannot_enter_is_there),
		TEST(a_quick_second_exec_has_its_row),
		TEST(program_of_an_exec_is_that_of_its_event),
		TEST(each_exec_of_a_chain_has_its_row),
		TEST(a_silent_child_keeps_the_arena),
		TEST(process_found_before_the_event_of_its_fork_is_one),
		TEST(descriptors_have_one_row_per_life),
		TEST(a_reused_pid_is_another_process),
		TEST(an_image_that_was_replaced_ends_alone),
		TEST(an_exit_status_may_come_later),
		TEST(a_command_line_is_whole_and_an_image_is_named_once),
		TEST(with_events_of_the_kernel_they_decide_about_an_exec),
		TEST(an_image_without_a_fork_waits_for_its_event),
		TEST(a_process_has_the_name_of_the_link_it_was_started_by),
		TEST(pids_of_one_bucket_are_distinct),
		TEST(an_image_of_the_moment_of_an_exec_is_the_new_one),
		TEST(descriptors_of_processes_are_closed),
		TEST(many_processes_take_little),
		TEST(image_without_arguments_has_no_command_line),
		TEST(variables_of_ranks_are_names_and_values),
	};

	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
