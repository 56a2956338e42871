/* late_calls.c - a library that is opened while the program is recorded (entered.c): 100 calls of pread(). */
#include <fcntl.h>
#include <unistd.h>

int calls(void);
int calls(void)
{
	int fd = open("/dev/zero", O_RDONLY), made = 0;
	char byte;

	for (int i = 0; i < 100; i++)
		made += pread(fd, &byte, 1, 0) == 1;
	close(fd);
	return made;
}
