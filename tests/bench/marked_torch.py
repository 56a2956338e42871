"""marked_torch.py CALLS - what --pytorch=functions-trace costs. Figures: CPU ns of torch.add() of two numbers, of the
forward pass of a small Linear, of a training step of three layers with 256 rows of 256."""
import os
import sys
import time

import torch

torch.set_num_threads(1)
torch.manual_seed(1)


def time_of(function, calls):
    best = None
    for _ in range(5):
        begun = time.process_time_ns()
        for _ in range(calls):
            function()
        took = (time.process_time_ns() - begun) / calls
        best = took if best is None else min(best, took)
    return best


one = torch.ones(())
small, row = torch.nn.Linear(4, 4), torch.ones(1, 4)
layers = [torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)]
net = torch.nn.Sequential(*layers)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
x, y = torch.randn(256, 256), torch.randn(256, 1)


def step():
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(net(x), y).backward()
    optimizer.step()


calls = int(sys.argv[1])
figures = [time_of(lambda: torch.add(one, one), calls), time_of(lambda: small(row), calls), time_of(step, calls // 500)]
with open(os.environ["BENCH_OUT"], "a") as f:
    print(*figures, file=f)
