/* closed.c OUT - closes standard input, output and error: the next files get the numbers 0, 1 and 2. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char buf[10];
	int a, b, c, d;

	if (argc < 2)
		return 2;
	close(0);
	close(1);
	close(2);
	a = open("/etc/passwd", O_RDONLY);
	b = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
	c = open("/etc/group", O_RDONLY);
	d = open("/etc/hostname", O_RDONLY);
	if (read(a, buf, 10) != 10 || read(c, buf, 10) != 10)
		return 1;
	dprintf(b, "%d %d %d %d\n", a, b, c, d);
	return 0;
}
