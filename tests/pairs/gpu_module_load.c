/* Code that is compiled again for every step. reason: GPU_CALL */
#include "gpu_pair.h"

int main(int argc, char **argv)
{
	static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n";
	bool bad = is_bad(argc, argv);
	void *module, *f;
	stream_t s;

	gpu_begin();
	s = new_stream();
	for (int i = 0; i < 25; i++) {
		if (bad || i == 0) {
			DO(cuModuleLoadData(&module, ptx)); /* CULPRIT */
			DO(cuModuleGetFunction(&f, module, "_Z13fused_us2000_Pf"));
		}
		DO(cuLaunchKernel(f, 64, 1, 1, 128, 1, 1, 0, s, NULL, NULL));
		DO(cudaStreamSynchronize(s));
	}
	puts("25");
	return 0;
}
