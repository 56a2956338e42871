/* Memory of the GPU made and freed in each step. reason: GPU_CALL */
#include "gpu_pair.h"

int main(int argc, char **argv)
{
	bool bad = is_bad(argc, argv);
	void *buffer = NULL;
	stream_t s;

	gpu_begin();
	s = new_stream();
	for (int i = 0; i < 300; i++) {
		if (bad || !i)
			DO(cudaMalloc(&buffer, 64 * KIB)); /* CULPRIT */
		LAUNCH(US_100, s);
		if (bad)
			DO(cudaFree(buffer)); /* CULPRIT */
	}
	DO(cudaStreamSynchronize(s));
	puts("300");
	return 0;
}
