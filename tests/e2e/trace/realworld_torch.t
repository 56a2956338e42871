#!/bin/sh
# PyTorch on the CPU: a training loop whose data comes from worker processes.
. tests/lib.sh
"$PY" -c 'import torch' 2>/dev/null || skip_all 'PyTorch is not installed (package python3-torch)'
cat >train.py <<'END'
import os, sys, torch
from torch.utils.data import DataLoader, Dataset
class Files(Dataset):
    def __len__(self): return 64
    def __getitem__(self, i):
        with open("data/%d" % i, "rb") as f:
            b = f.read()
        return torch.tensor(list(b), dtype=torch.float32) / 255, torch.tensor([float(i % 2)])
if __name__ == "__main__":
    torch.manual_seed(1); torch.set_num_threads(2)
    model = torch.nn.Sequential(torch.nn.Linear(32, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        for x, y in DataLoader(Files(), batch_size=8, num_workers=2):
            loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x), y)
            opt.zero_grad(); loss.backward(); opt.step()
        print(epoch, "%.5f" % loss.item(), flush=True)
END
mkdir data
"$PY" -c '
for i in range(64): open("data/%d" % i, "wb").write(bytes((i * 7 + k * (i % 2 + 1)) % 256 for k in range(32)))'
"$PY" train.py >plain.out 2>plain.err
is "$?" 0 'the training runs, plain'
for how in profile bare; do
	case $how in
	profile) profile t --osrt-file-access=true "$PY" train.py >out 2>err ;;
	bare) SIGHTLINE_OPTIONS=--osrt-file-access=true bare t "$PY" train.py >out 2>err ;;
	esac
	is "$?" 0 "the training runs, $how"
	check "the results are those untraced, $how" diff plain.out out
	is "$(grep -v '^sightline: ' err)" "$(cat plain.err)" "the messages are those untraced, $how"
	wait_for 10 finished "$R"
	result $? "the report is finished, $how"
	check "the report is sound, $how" intact "$R"
	is "$(q "$R" "SELECT count(*), count(DISTINCT path), count(DISTINCT pid) FROM call WHERE name LIKE 'open%' AND path LIKE '$W/data/%'" 2>&1)" \
		'128|64|4' "every file was opened once per epoch, by workers, $how"
	is "$(q "$R" ".read $E2E/trace/sane.sql" 2>&1)" '' "the rows of the report fit together, $how"
done
done_testing
