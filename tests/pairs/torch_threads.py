"""Four times as many threads as processors, which wait for each other at each operation. reason: KERNEL"""
import os
import sys

import torch

BAD = sys.argv[1] == "bad"
cpus = len(os.sched_getaffinity(0))
torch.set_num_threads(4 * cpus if BAD else 1)

x = torch.ones(512, 512)
for _ in range(1500):
    x = (x * 1.5).clamp(0, 2)  # CULPRIT
print(x.sum().item())
