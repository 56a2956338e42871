-- A report full of what --anonymize has to replace. Goes on top of collector/schema.sql.
-- 281476654432256 = 1 << 48 | 100 << 24: process 100; + 100: its thread. 281478332153856: process 200, which did nothing
INSERT INTO StringIds VALUES (1, 'python3'), (2, 'open'), (3, '/home/alice/secretproject/train.py'), (4, '/usr/lib/libc.so.6'),
    (5, 'secretdata/batch.bin'), (6, '10.11.12.13:5432'), (7, 'step on secrethost by alice, see /home/alice/secretproject'),
    (8, 'forward/layer1'), (9, 'void at::operator/<1, 2>(secrethost_kernel)'), (10, 'nobody refers to this secret'),
    (11, 'socket:[4711]'), (12, 'http://secrethost.corp:80/secretpath'), (13, 'connect'), (14, '[fe80::12:34]:443');
INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:COMMAND', '/home/alice/secretproject/train.py'),
    ('PROCESS_0:ARGUMENT_0', '--key=secretkey'), ('PROCESS_0:ARGUMENT_1', '4242'), ('CAPTURE_EVENT_TYPE', 'osrt'),
    ('PROCESS_0:ENV', 'TOKEN=secrettoken'), ('OSRT_OPTIONS:FILE_ACCESS', 'true');
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.28.1'), ('EXPORT_HOST', 'secrethost'), ('EXPORT_USER', 'alice'),
    ('EXPORT_TIME_LOCAL', '2026-01-01T00:00:00 +0530');
INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (281474976710656, 'Local (CLI)', 'Hostname', 1, 'secrethost'),
    (281474976710656, 'Local (CLI)', 'CpuCores', 2, '8');
INSERT INTO TARGET_INFO_SESSION_START_TIME (utcEpochNs, utcTime, localTime) VALUES (5, '1970-01-01T00:00:00', '1970-01-01T05:30:00');
INSERT INTO TARGET_INFO_GPU (vmId, id, name, uuid) VALUES (281474976710656, 0, 'Toy GPU', '01234567-89ab-cdef-0123-456789abcdef');
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 100, '01234567-89ab-cdef-0123-456789abcdef', 4);
INSERT INTO PROCESSES VALUES (281476654432256, 100, 'python3'), (281478332153856, 200, 'secretdaemon');
INSERT INTO ThreadNames VALUES (1, 20, 281476654432356);
INSERT INTO SL_PROCESS_TREE VALUES (281476654432256, NULL, 0, NULL, 1, 1, '/home/alice/venv/bin/python3', 'python3 train.py --key=secretkey', NULL),
    (281476654432256, NULL, 1, NULL, 2, 1, '/usr/bin/python3', 'python3 train.py --key=secretkey', NULL);
INSERT INTO DIAGNOSTIC_EVENT VALUES (0, 1, 1, 1, 'alice@10.11.12.13 left /tmp/secretdir/log.txt; GPU-01234567-89ab-cdef-0123-456789abcdef, 127.0.0.1',
    281476654432256);
INSERT INTO OSRT_API (start, end, eventClass, globalTid, nameId, returnValue, nestingLevel, callchainId, argumentsId, pathId) VALUES
    (10, 20, 27, 281476654432356, 2, 3, 0, 0, 0, 3), (30, 40, 27, 281476654432356, 2, 4, 0, 0, 0, 4),
    (50, 60, 27, 281476654432356, 2, 5, 0, 0, 0, 5), (70, 80, 27, 281476654432356, 13, 0, 0, 0, 0, 6),
    (90, 91, 27, 281476654432356, 13, 0, 0, 0, 0, 11), (92, 93, 27, 281476654432356, 13, 0, 0, 0, 0, 14);
INSERT INTO OSRT_FILE_ACCESS_DESCRIPTORS VALUES (1, 100, 10, 0, '/home/alice/secretproject/train.py'), (2, 100, 50, 60, '/dev/nvidia0'),
    (3, 100, 50, 60, '/dev/shm/secretjob'), (4, 100, 50, 60, '/proc/100/maps'), (5, 100, 50, 60, '/usr/local/secretsite/x.so');
INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, textId, domainId, jsonText, binaryData, eventId) VALUES
    (10, 90, 59, NULL, 281476654432356, 7, 0, '{"prompt": "secretprompt"}', 'FF', 1),
    (12, 80, 59, NULL, 281476654432356, 8, 0, NULL, NULL, 2), (14, 70, 59, NULL, 281476654432356, 9, 0, NULL, NULL, 3),
    (16, 60, 59, NULL, 281476654432356, 12, 0, NULL, NULL, 4),
    (18, 50, 59, 'load secrethost:/home/alice/secretproject', 281476654432356, NULL, 0, NULL, NULL, 5);
CREATE TABLE ANALYSIS_FILE (id INTEGER NOT NULL PRIMARY KEY, filename TEXT, content TEXT NOT NULL, globalPid INTEGER NOT NULL);
INSERT INTO ANALYSIS_FILE VALUES (1, '/home/alice/secret.log', 'secretcontent', 281476654432256);
