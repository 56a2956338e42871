-- files.sql - is read after ours.sql: the same calls as file accesses, every one of them recorded.
INSERT INTO OSRT_FILE_ACCESS_DESCRIPTORS VALUES (1, 100, 1000, 0, '/tmp/plain.txt'), (2, 100, 2000, 30000, '/tmp/plain.txt'),
	(3, 200, 0, 0, 'socket 10.0.0.1:80'), (4, 200, 5000, 6000, '');
INSERT INTO OSRT_FILE_ACCESS_EVENTS VALUES (1, 100, 1000, 2500, 1, 3, 0, ''), (1, 100, 3000, 5000, 3, 1, 4096, ''),
	(1, 100, 6000, 6300, 3, 1, 100, ''), (2, 100, 2000, 3200, 1, 3, 0, ''), (2, 101, 4000, 13000, 4, 2, 50, ''),
	(2, 101, 29000, 30000, 2, 3, 0, ''), (3, 200, 40000, 41000, 3, 1, 7, ''), (3, 200, 42000, 42500, 4, 2, 9, ''),
	(4, 200, 5000, 5100, 1, 3, 0, '');
INSERT INTO SL_FILE_TOTALS VALUES ((1<<48)+(100<<24)+100, 1, 3, 70, 4000, 700), ((1<<48)+(100<<24)+101, 2, 3, 5, 20, 50),
	((1<<48)+(100<<24)+100, 2, 4, 1, 6, 10);
