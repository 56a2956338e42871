/*
 * file_threads COUNT [FILES] - makes COUNT threads, one after another. Each opens FILES files (default: 1), file0, file1, ...,
 * and reads 20 bytes of each, one by one and in turn.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	READS = 20,
	FILES_MAX = 64
};
static int file_cnt = 1;

static void *read_files(void *arg)
{
	int fd[FILES_MAX];
	char name[16], c;

	for (int i = 0; i < file_cnt; i++) {
		snprintf(name, sizeof(name), "file%d", i);
		fd[i] = open(name, O_RDONLY);
	}
	for (int n = 0; n < READS; n++)
		for (int i = 0; i < file_cnt; i++)
			if (pread(fd[i], &c, 1, n) != 1)
				abort();
	for (int i = 0; i < file_cnt; i++)
		close(fd[i]);
	return arg;
}

int main(int argc, char **argv)
{
	int cnt = argc > 1 ? atoi(argv[1]) : 1;

	if (argc > 2)
		file_cnt = atoi(argv[2]) < FILES_MAX ? atoi(argv[2]) : FILES_MAX;
	for (int i = 0; i < cnt; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, read_files, NULL) || pthread_join(thread, NULL))
			return 1;
	}
	return 0;
}
