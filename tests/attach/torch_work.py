"""torch_work.py - trains a small network by PyTorch on the CPU, with a loader, and makes the calls it is asked for on another thread.
Ends with status 7 where each round of training came to the same loss."""
import os, sys, threading
import torch

torch.manual_seed(1)
data = [(torch.randn(64), torch.randn(8)) for i in range(256)]
start = [torch.randn(64, 128) * 0.1, torch.randn(128, 8) * 0.1]
torch.set_num_threads(2)


def train():
    w = [x.clone().requires_grad_() for x in start]
    optimizer = torch.optim.SGD(w, lr=0.01)
    for x, y in torch.utils.data.DataLoader(data, batch_size=32):
        loss = ((torch.relu(x @ w[0]) @ w[1] - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


first, wrong, ends = train(), [], threading.Event()


def loop():
    while not ends.is_set():
        loss = train()
        if abs(loss - first) > 1e-4:
            wrong.append(loss)


trainer = threading.Thread(target=loop)
trainer.start()
zero = os.open("/dev/zero", os.O_RDONLY)
print("ready", flush=True)
for line in sys.stdin:
    for i in range(int(line.split()[1])):
        os.pread(zero, 1, 0)
    print("called", flush=True)
ends.set()
trainer.join()
sys.stderr.write("".join("%s\n" % w for w in wrong))
os._exit(1 if wrong else 7)
