/* A GPU that always has work: nothing to win but in its kernels. reason: GPU needed */
#include "gpu_pair.h"

int main(void)
{
	stream_t s;

	gpu_begin();
	s = new_stream();
	for (int i = 0; i < 400; i++)
		LAUNCH(US_2000, s);
	DO(cudaStreamSynchronize(s));
	puts("400");
	return 0;
}
