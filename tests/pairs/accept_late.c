/* A client waits for a server that is late to accept and answer. reason: SLEEP */
#include "pair.h"

#include <netinet/in.h>
#include <sys/socket.h>

int main(int argc, char **argv)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	bool bad = is_bad(argc, argv);
	socklen_t len = sizeof(at);
	int server = socket(AF_INET, SOCK_STREAM, 0), client, n = 0;
	char c;

	bind(server, (struct sockaddr *)&at, sizeof(at));
	listen(server, 5);
	getsockname(server, (struct sockaddr *)&at, &len);
	if (fork() == 0) {
		for (int i = 0; i < 8; i++) {
			int peer = accept(server, NULL, NULL);

			if (bad)
				wait_ms(40); /* CULPRIT */
			if (write(peer, "x", 1) != 1)
				_exit(1);
			close(peer);
		}
		_exit(0);
	}
	for (int i = 0; i < 8; i++) {
		client = socket(AF_INET, SOCK_STREAM, 0);
		connect(client, (struct sockaddr *)&at, sizeof(at));
		while (read(client, &c, 1) == 1)
			n++;
		close(client);
	}
	wait(NULL);
	printf("%d\n", n);
	return 0;
}
