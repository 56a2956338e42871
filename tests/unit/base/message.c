/* message.c - messages and answers of collectors keep their words, and lose what would steer a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collector/base/message.h"
#include "collector/session/command.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define EVIL  "say \033]0;pwned\007 \302\2331m \177 \233 \303\244\342\202\254\n\302"
#define CLEAN "say ?]0;pwned? ??1m ? ? \303\244\342\202\254??"

static void cleaning_keeps_characters(void **state)
{
	char text[] = EVIL;

	(void)state;
	sl_clean(text, strlen(text));
	assert_string_equal(text, CLEAN);
}

/* What goes to @fd meanwhile. */
static void written(int fd, void (*work)(void), char *to, size_t room)
{
	int file = memfd_create("written", 0), saved = dup(fd);
	ssize_t n;

	fflush(stdout);
	dup2(file, fd);
	work();
	fflush(stdout);
	dup2(saved, fd);
	n = pread(file, to, room - 1, 0);
	to[n > 0 ? n : 0] = 0;
	close(file);
	close(saved);
}

static void warn(void)
{
	sl_warn("%s", EVIL);
}

static void a_message_is_one_clean_line(void **state)
{
	char text[256];

	(void)state;
	written(STDERR_FILENO, warn, text, sizeof(text));
	assert_string_equal(text, "sightline: " CLEAN "\n");
}

static void *answer(void *listening)
{
	int sock = accept(*(int *)listening, NULL, NULL);
	struct command p;

	if (sock < 0 || command_receive(sock, &p, 10000))
		return NULL;
	command_begin(&p);
	command_add(&p, "0");
	command_add(&p, "report=" EVIL "\nstate=Active\n");
	command_send(sock, &p);
	close(sock);
	return NULL;
}

/* The session of another user: its collector may answer anything. */
static void an_answer_is_clean(void **state)
{
	char dir[] = "/tmp/sightline-test.XXXXXX", value[128];
	static struct command p;
	struct sockaddr_un addr;
	pthread_t thread;
	int listening;

	(void)state;
	assert_non_null(mkdtemp(dir));
	close(command_socket(dir, &addr));
	listening = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_int_equal(bind(listening, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(listening, 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, answer, &listening), 0);
	command_begin(&p);
	command_add(&p, "status");
	assert_int_equal(command_ask(dir, geteuid(), &p, 10000), 0);
	pthread_join(thread, NULL);
	assert_string_equal(command_value(p.word[1], "report", value, sizeof(value)),
			    "say ?]0;pwned? ??1m ? ? \303\244\342\202\254");
	assert_string_equal(command_value(p.word[1], "state", value, sizeof(value)), "Active");
	close(listening);
	unlink(addr.sun_path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cleaning_keeps_characters),
		cmocka_unit_test(a_message_is_one_clean_line),
		cmocka_unit_test(an_answer_is_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
