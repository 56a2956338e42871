/* wait_peer.c - the other ends of pipes and sockets, in tables as /proc/net/tcp has them and of real processes. */
#include "collector/waits/wait_peer.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define ROW(number, local, remote, state, inode)                        \
	"   " number ": " local " " remote " " state                    \
	" 00000000:00000000 00:00000000 00000000     0        0 " inode \
	" 1 0000000000000000 20 4 0 10 -1\n"

static const char table[] =
	"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "
	"timeout inode\n" ROW("0", "0100007F:1F90", "00000000:0000", "0A", "100")
		ROW("1", "0100007F:1F90", "0100007F:D431", "01", "101")
			ROW("2", "0100007F:D431", "0100007F:1F90", "01", "102")
				ROW("3", "0100007F:D432", "08080808:0035", "01", "103")
					ROW("4", "00000000000000000000000001000000:1F91",
					    "00000000000000000000000000000000:0000", "0A", "104");

static void two_sockets_with_the_same_addresses_are_peers(void **state)
{
	uint64_t other;
	char text[96];

	(void)state;
	assert_true(wait_peer_in_table(table, 101, &other, text, sizeof(text)));
	assert_int_equal(other, 102);
	assert_string_equal(text, "127.0.0.1:8080 to 127.0.0.1:54321");
	assert_true(wait_peer_in_table(table, 102, &other, text, sizeof(text)));
	assert_int_equal(other, 101);
}

static void peer_of_another_machine_has_an_address_only(void **state)
{
	uint64_t other = 7;
	char text[96];

	(void)state;
	assert_true(wait_peer_in_table(table, 103, &other, text, sizeof(text)));
	assert_int_equal(other, 0);
	assert_string_equal(text, "127.0.0.1:54322 to 8.8.8.8:53");
}

static void listening_sockets_have_no_peer(void **state)
{
	uint64_t other;
	char text[96];

	(void)state;
	assert_true(wait_peer_in_table(table, 100, &other, text, sizeof(text)));
	assert_int_equal(other, 0);
	assert_string_equal(text, "listens at 127.0.0.1:8080");
	assert_true(wait_peer_in_table(table, 104, &other, text, sizeof(text)));
	assert_string_equal(text, "listens at [::1]:8081");
	assert_false(wait_peer_in_table(table, 105, &other, text, sizeof(text)));
}

static struct wait_peer peer_of(int fd, bool reads)
{
	struct wait_peer peer;
	char path[64], target[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_true(readlink(path, target, sizeof(target) - 1) > 0);
	wait_peer_find(&peer, (uint32_t)getpid(), fd, target, reads);
	return peer;
}

/* A process with the open files of this one but @closes, which it has closed when the function returns. */
static pid_t child_with(int closes)
{
	int closed[2];
	char byte;
	pid_t child;

	assert_int_equal(pipe2(closed, O_CLOEXEC), 0);
	child = fork();
	if (child) {
		close(closed[1]);
		assert_int_equal(read(closed[0], &byte, 1), 1);
		close(closed[0]);
		return child;
	}
	close(closes);
	if (write(closed[1], "c", 1) != 1)
		_exit(1);
	close(closed[0]);
	close(closed[1]);
	for (;;)
		pause();
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* wait_peer_find() leaves this process out as one that looks: a child asks about its parent. */
static void child_at_the_other_end_of_a_pipe_is_found(void **state)
{
	struct wait_peer peer;
	char want[96];
	int fd[2];
	pid_t child;

	(void)state;
	assert_int_equal(pipe(fd), 0);
	child = child_with(fd[0]);
	close(fd[1]);
	peer = peer_of(fd[0], true);
	snprintf(want, sizeof(want), "process %d (wait_peer) has the other end", child);
	assert_string_equal(peer.text, want);
	assert_int_equal(peer.pid, child);
	assert_false(peer.has_self);
	assert_false(peer.is_alone);
	end(child);
	peer = peer_of(fd[0], true);
	assert_string_equal(peer.text, "no process that this user may see has the other end");
	assert_int_equal(peer.pid, 0);
	close(fd[0]);
}

static void two_holders_are_no_single_one(void **state)
{
	struct wait_peer peer;
	int fd[2];
	pid_t child, another;

	(void)state;
	assert_int_equal(pipe(fd), 0);
	child = child_with(fd[0]);
	another = child_with(fd[0]);
	close(fd[1]);
	peer = peer_of(fd[0], true);
	assert_int_equal(strncmp(peer.text, "2 processes have the other end, such as ", 40), 0);
	assert_int_equal(peer.pid, 0);
	end(child);
	end(another);
	close(fd[0]);
}

static void own_ends_of_the_same_kind_do_not_count(void **state)
{
	struct wait_peer peer;
	int fd[2];
	pid_t child;

	(void)state;
	assert_int_equal(pipe(fd), 0);
	/* The child has the reading end, as this process. */
	child = child_with(fd[1]);
	close(fd[1]);
	peer = peer_of(fd[0], true);
	assert_int_equal(peer.pid, 0);
	assert_string_equal(peer.text, "no process that this user may see has the other end");
	end(child);
	close(fd[0]);
}

static void peer_of_a_unix_socket_is_found(void **state)
{
	struct wait_peer peer;
	int fd[2];
	pid_t child;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	child = child_with(fd[0]);
	close(fd[1]);
	peer = peer_of(fd[0], true);
	assert_int_equal(peer.pid, child);
	end(child);
	close(fd[0]);
}

static void plain_files_have_no_peer(void **state)
{
	struct wait_peer peer;

	(void)state;
	wait_peer_find(&peer, (uint32_t)getpid(), 0, "/etc/passwd", true);
	assert_string_equal(peer.text, "");
	assert_int_equal(peer.pid, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_sockets_with_the_same_addresses_are_peers),
		cmocka_unit_test(peer_of_another_machine_has_an_address_only),
		cmocka_unit_test(listening_sockets_have_no_peer),
		cmocka_unit_test(child_at_the_other_end_of_a_pipe_is_found),
		cmocka_unit_test(two_holders_are_no_single_one),
		cmocka_unit_test(own_ends_of_the_same_kind_do_not_count),
		cmocka_unit_test(peer_of_a_unix_socket_is_found),
		cmocka_unit_test(plain_files_have_no_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
