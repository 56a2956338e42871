-- Stacks by hand, innermost frame first. 1: fsync of libc, os.py of Python's library, numpy, save of train.py:41, main of
-- train.py:88. 2: libc, os.py:5, the interpreter. 3: libc, work of app.c:7, main of app. 4: libc, an unknown address of app.
-- 5: as 1, inside of the DataLoader; 6: as 5, in a forked worker, with train.py:9 in __getitem__.
CREATE TABLE IF NOT EXISTS SL_STACKS(id INTEGER, depth INTEGER, frameId INTEGER, PRIMARY KEY (id, depth)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS SL_FRAMES(id INTEGER PRIMARY KEY, kind, symbol, module, file, line, inlined, kernelMode, unresolved,
	specialEntry, originalIP, unwindMethod);
INSERT INTO StringIds VALUES(901,'fsync'),(902,'/usr/lib/x86_64-linux-gnu/libc.so.6'),(903,'fsync'),(904,'/usr/lib/python3.11/os.py'),
	(905,'savez'),(906,'/opt/lib/site-packages/numpy/io.py'),(907,'save'),(908,'/home/eva/train.py'),(909,'main'),
	(910,'_PyEval_EvalFrameDefault'),(911,'/usr/bin/python3.11'),(912,'work'),(913,'/home/eva/app'),(914,'/home/eva/src/app.c'),
	(915,'0x1234'),(916,'DataLoader.__next__'),(917,'/opt/lib/site-packages/torch/utils/data/dataloader.py'),
	(918,'_worker_loop'),(919,'/opt/lib/site-packages/torch/utils/data/_utils/worker.py'),(920,'Files.__getitem__');
INSERT INTO SL_FRAMES(id, kind, symbol, module, file, line, inlined, unresolved) VALUES
	(1,0,901,902,NULL,NULL,0,0),(2,1,903,904,904,5,0,0),(3,1,905,906,906,6,0,0),(4,1,907,908,908,41,0,0),(5,1,909,908,908,88,0,0),
	(6,0,910,911,NULL,NULL,0,0),(7,0,912,913,914,7,0,0),(8,0,909,913,NULL,NULL,0,0),(9,0,915,913,NULL,NULL,0,1),
	(10,1,916,917,917,435,0,0),(11,1,918,919,919,300,0,0),(12,1,920,908,908,9,0,0);
INSERT INTO SL_STACKS(id, depth, frameId) VALUES (1,0,1),(1,1,2),(1,2,3),(1,3,4),(1,4,5), (2,0,1),(2,1,2),(2,2,6), (3,0,1),(3,1,7),(3,2,8),
	(4,0,1),(4,1,9), (5,0,1),(5,1,10),(5,2,5), (6,0,1),(6,1,12),(6,2,11),(6,3,10),(6,4,5);
