"""torch_once.py - a script's life: PyTorch is imported, and one training step made. Figures: wall s, CPU s, the
monotonic clock at the end."""
import os
import time

begun = time.perf_counter()
import torch  # noqa: E402

torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
torch.nn.functional.mse_loss(net(torch.randn(256, 256)), torch.randn(256, 1)).backward()
optimizer.step()
with open(os.environ["BENCH_OUT"], "a") as f:
    print("%.9f %.9f %.9f" % (time.perf_counter() - begun, time.process_time(), time.monotonic()), file=f)
