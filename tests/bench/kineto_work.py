"""kineto_work.py N: N kernels of PyTorch below torch.profiler, of CUDA alone; callgrind counts from its start to its end."""
import os
import subprocess
import sys

import torch
from torch.profiler import ProfilerActivity, profile


def counting(how):
    """It finds valgrind's pipe below TMPDIR; the stand-ins' folders are not for its perl."""
    env = {name: value for name, value in os.environ.items() if name in ("PATH", "TMPDIR")}
    subprocess.run(["callgrind_control", "-i", how, str(os.getpid())], check=True, stdout=sys.stderr, env=env)


def kernels(n):
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        for _ in range(n):
            x.add_(1)
        torch.cuda.synchronize()
    return p


n = int(sys.argv[1])
x = torch.zeros(8, device="cuda")
kernels(10)
counting("on")
done = kernels(n)
counting("off")
launches = sum(e.name() == "cudaLaunchKernel" for e in done.profiler.kineto_results.events())
sys.exit("%d launches instead of %d" % (launches, n) if launches != n else 0)
