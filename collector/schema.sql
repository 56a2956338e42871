-- schema.sql - every table that a report can hold; part of the binary, read by db_schema.c.
--
-- Names, order, types and NOT NULL of columns follow the export schema 3.28.1 of Nsight Systems, so
-- that tools made for it read the reports; other data are in tables named SL_*.
-- The file runs as it is in the sqlite3 shell. Rules when changing it:
--   * "-- @table NAME WHEN [batch PREFIX [text=TEXT] | row[:...]]" starts the section of one table. WHEN: always = in every report,
--     lazy = made with its first row, live = the same, and dropped when a report is finished,
--     raw = made with its first row, dropped when a report is finished, read by recover,
--     private = the collector's own, dropped likewise.
--   * Comments stand inside the parentheses of CREATE TABLE: only there do they reach `.schema`.
--   * Tables with "row" take rows by db_put_NAME(), those with "batch" by db_row(); scripts/schema-columns makes the C
--     declarations of both. Those with "batch" have
--     INTEGER columns, save REAL ones at the end, or one TEXT that is the same in all rows (text=), no PRIMARY KEY, no
--     index and no DEFAULT (reason: row_batch.c).
--
-- Units: all times are ns since the start of the session unless the comment names another unit.
-- "->" means "refers to". globalTid packs, from high to low: 8 bits hardware id, 8 bits VM id, 24 bits
-- pid, 24 bits tid. globalPid has the tid bits 0, globalVid the pid bits too. Here the hardware id is 0
-- and the VM id 1, so globalVid is 1 << 48 = 281474976710656.

-- @table StringIds always
CREATE TABLE StringIds (
    -- Every text that occurs more than once: function names, paths, thread names.
    id    INTEGER NOT NULL PRIMARY KEY, -- number in other tables; 0 is the empty text
    value TEXT    NOT NULL              -- the text, UTF-8; bytes that were none stand as \xNN
);

-- @table META_DATA_CAPTURE always row
CREATE TABLE META_DATA_CAPTURE (
    -- Settings of the recording, as requested. A name may occur several times.
    name  TEXT NOT NULL, -- setting
    value TEXT           -- its value
);

-- @table META_DATA_EXPORT always row
CREATE TABLE META_DATA_EXPORT (
    -- The program that wrote this file, and its schema. SL_COMPLETE is 0 while the collector is still writing.
    name  TEXT NOT NULL, -- key
    value TEXT           -- its value
);

-- @table TARGET_INFO_SESSION_START_TIME always
CREATE TABLE TARGET_INFO_SESSION_START_TIME (
    -- One row: readings of the clocks at session time 0.
    utcEpochNs           INTEGER, -- Unix time, ns
    utcTime              TEXT,    -- the same as text, UTC, without zone
    localTime            TEXT,    -- the same as text, local time of the traced machine
    systemClockNs        INTEGER, -- CLOCK_MONOTONIC, ns
    sessionStartCntVctNs INTEGER  -- virtual counter of Arm machines, ns; NULL elsewhere
);

-- @table ANALYSIS_DETAILS always
CREATE TABLE ANALYSIS_DETAILS (
    -- One row: the span of time that the report covers so far.
    globalVid INTEGER NOT NULL, -- packed id of the machine
    duration  INTEGER NOT NULL, -- stopTime - startTime, ns
    startTime INTEGER NOT NULL, -- CLOCK_MONOTONIC at session time 0, ns
    stopTime  INTEGER NOT NULL  -- CLOCK_MONOTONIC at the end of the recording, ns
);

-- @table TARGET_INFO_SYSTEM_ENV lazy row
CREATE TABLE TARGET_INFO_SYSTEM_ENV (
    -- Properties of the traced machine.
    globalVid    INTEGER,          -- packed id of the machine
    devStateName TEXT    NOT NULL, -- how it was reached: 'Local (CLI)'
    name         TEXT    NOT NULL, -- property, such as 'CpuCores'
    nameEnum     INTEGER NOT NULL, -- its number
    value        TEXT    NOT NULL  -- its value
);

-- @table DIAGNOSTIC_EVENT lazy row
CREATE TABLE DIAGNOSTIC_EVENT (
    -- Messages of the tracer about this recording.
    timestamp     INTEGER NOT NULL, -- ns, may be negative (before the session)
    timestampType INTEGER NOT NULL, -- -> ENUM_DIAGNOSTIC_TIMESTAMP_SOURCE.id
    source        INTEGER NOT NULL, -- -> ENUM_DIAGNOSTIC_SOURCE_TYPE.id
    severity      INTEGER NOT NULL, -- -> ENUM_DIAGNOSTIC_SEVERITY_LEVEL.id
    text          TEXT    NOT NULL, -- the message
    globalPid     INTEGER           -- process it is about; NULL: the whole session
);

-- @table PROCESSES lazy row:replace:rowid
CREATE TABLE PROCESSES (
    -- One row per process that was seen. Parents, command lines and ends: SL_PROCESS_TREE.
    globalPid INTEGER, -- packed id
    pid       INTEGER, -- plain pid, in the collector's PID namespace; from 8388608 on: none, the process was in another one
                       -- and had ended before its pid was found
    name      TEXT     -- the link to its file by which it was last started; else the file's name
);

-- @table ThreadNames lazy row:replace:rowid
CREATE TABLE ThreadNames (
    -- One row per thread that was seen.
    nameId    INTEGER NOT NULL, -- -> StringIds.id, the last name it had
    priority  INTEGER,          -- 20 + nice value
    globalTid INTEGER           -- packed id
);

-- @table OSRT_API lazy batch OSRT
CREATE TABLE OSRT_API (
    -- Calls of libc and pthread functions that lasted at least the threshold, in no special order.
    -- Shorter ones are summed up in SL_OSRT_TOTALS, by file in SL_FILE_TOTALS. The first nine columns are those of Nsight Systems.
    start        INTEGER NOT NULL, -- entry, ns
    end          INTEGER NOT NULL, -- return, ns; of a call that never returned: equal to start
    eventClass   INTEGER NOT NULL, -- -> ENUM_NSYS_EVENT_CLASS.id, always 27
    globalTid    INTEGER,          -- packed id of the calling thread
    nameId       INTEGER NOT NULL, -- -> StringIds.id, name of the function
    returnValue  INTEGER NOT NULL, -- value that the function returned
    nestingLevel INTEGER,          -- 0 = called by the program, 1 = by a traced function of level 0, ...
    callchainId  INTEGER NOT NULL, -- 0: none
    argumentsId  INTEGER NOT NULL, -- 0: none
    fd           INTEGER,          -- file descriptor the call works on; NULL: none
    fileAccessId INTEGER,          -- -> OSRT_FILE_ACCESS_DESCRIPTORS.fileAccessId: the open file behind fd
    pathId       INTEGER,          -- -> StringIds.id: path the call names, or path or peer behind fd
    bytesAsked   INTEGER,          -- bytes the caller asked to move; NULL: the call moves none; of setvbuf and the like the size
                                   -- of the buffer, 0: none
    bytesDone    INTEGER,          -- bytes that were moved (also where returnValue is a pointer or counts items)
    fileOffset   INTEGER,          -- position in the file the call named, bytes; NULL: the current one
    errnum       INTEGER           -- errno of a failed call; NULL: it succeeded
);

-- @table OSRT_FILE_ACCESS_EVENTS lazy batch FACC text=
CREATE TABLE OSRT_FILE_ACCESS_EVENTS (
    -- Calls that open, close, read, write or inspect files.
    fileAccessId   INTEGER NOT NULL, -- -> OSRT_FILE_ACCESS_DESCRIPTORS.fileAccessId
    threadId       INTEGER NOT NULL, -- plain tid
    startedAt      INTEGER NOT NULL, -- entry, ns
    endedAt        INTEGER NOT NULL, -- return, ns
    eventType      INTEGER NOT NULL, -- -> ENUM_OSRT_FILE_ACCESS_EVENT_TYPE.id
    apiCallId      INTEGER NOT NULL, -- -> StringIds.id, name of the function
    bytesProcessed INTEGER NOT NULL, -- bytes really moved
    context        TEXT    NOT NULL  -- empty
);

-- @table OSRT_FILE_ACCESS_DESCRIPTORS lazy row:replace:rowid:length
CREATE TABLE OSRT_FILE_ACCESS_DESCRIPTORS (
    -- One row per opened file (each open counts, also of the same path).
    fileAccessId INTEGER NOT NULL, -- unique in the report
    processId    INTEGER NOT NULL, -- plain pid of the process that opened it
    openedAt     INTEGER NOT NULL, -- ns; 0: inherited, received, or open before the session
    closedAt     INTEGER NOT NULL, -- ns; 0: still open at the end of the recording
    filePath     TEXT    NOT NULL  -- path, peer address of a socket, or the link in /proc/PID/fd
);

-- @table SL_SOCKETS lazy row:replace:rowid
CREATE TABLE SL_SOCKETS (
    -- Own addresses of connected sockets; filePath of OSRT_FILE_ACCESS_DESCRIPTORS is the peer's. Two sockets, each of which
    -- has the other one's address as its peer's, are the ends of one connection.
    fileAccessId INTEGER NOT NULL, -- -> OSRT_FILE_ACCESS_DESCRIPTORS.fileAccessId
    localAddress TEXT    NOT NULL  -- as filePath has the peer's: "tcp:127.0.0.1:80"
);

-- @table SCHED_EVENTS lazy batch SCHED
CREATE TABLE SCHED_EVENTS (
    -- Context switches: a row where a thread gets a CPU and a row where it leaves it, in turn per thread.
    start       INTEGER NOT NULL, -- ns
    cpu         INTEGER NOT NULL, -- number of the CPU
    isSchedIn   INTEGER NOT NULL, -- 1: the thread starts to run, 0: it stops
    globalTid   INTEGER,          -- packed id of the thread
    threadState INTEGER,          -- -> ENUM_SAMPLING_THREAD_STATE.id, in rows with isSchedIn = 0
    threadBlock INTEGER           -- -> ENUM_SCHEDULING_THREAD_BLOCK.id; NULL on Linux
);

-- @table PROFILER_OVERHEAD lazy row
CREATE TABLE PROFILER_OVERHEAD (
    -- Time that the tracer itself took inside traced threads.
    start        INTEGER NOT NULL, -- ns
    end          INTEGER NOT NULL, -- ns
    globalTid    INTEGER,          -- packed id of the thread
    nameId       INTEGER NOT NULL, -- -> StringIds.id, its activity
    overheadType INTEGER NOT NULL  -- -> ENUM_CUPTI_OVERHEAD_TYPE.id
);

-- @table SL_SCHED_DETAIL lazy batch SCHD
CREATE TABLE SL_SCHED_DETAIL (
    -- Data that SCHED_EVENTS has no column for; joins its rows by (start, globalTid).
    start      INTEGER NOT NULL, -- ns
    globalTid  INTEGER,          -- packed id of the thread
    preempted  INTEGER,          -- where it stops: 1 still runnable, 0 it blocked; NULL unknown
    wakeupTime INTEGER,          -- where it starts: when it had become runnable, ns
    wakerTid   INTEGER,          -- where it starts: globalTid of the waker; NULL unknown or an interrupt
    priority   INTEGER           -- the kernel's priority: 120 is nice 0, below 100 real-time
);

-- @table SL_OSRT_LOCKS lazy batch LOCK
CREATE TABLE SL_OSRT_LOCKS (
    -- Data that OSRT_API has no column for, of calls on locks that had to wait, on semaphores, condition variables and barriers,
    -- and of joins; joins its rows by (start, globalTid). Semaphores serve as locks where the thread that waits on one also posts it.
    start     INTEGER NOT NULL, -- entry, ns
    globalTid INTEGER,          -- packed id of the calling thread
    object    INTEGER NOT NULL, -- address of the mutex, rwlock, spin lock, semaphore, condition variable, barrier, stream, thread
    ownerTid  INTEGER           -- globalTid of the thread that had the mutex, or the rwlock for writing, when the call
                                -- began, or that is joined; NULL: not known, or another kind of object
);

-- @table SL_OSRT_TOTALS lazy row:replace
CREATE TABLE SL_OSRT_TOTALS (
    -- Exact totals of the calls that have no row in OSRT_API because they were shorter than the
    -- threshold (or were locks without contention). Totals of all calls = these + the rows.
    globalTid   INTEGER NOT NULL, -- packed id of the thread
    instance    INTEGER NOT NULL, -- distinguishes threads with the same globalTid (the kernel reuses ids)
    nameId      INTEGER NOT NULL, -- -> StringIds.id, name of the function
    count       INTEGER NOT NULL, -- how many calls
    totalNs     INTEGER NOT NULL, -- their time, ns; calls counted without a clock reading add 0
    minNs       INTEGER NOT NULL, -- shortest that was timed, of these and the lost ones, ns
    maxNs       INTEGER NOT NULL, -- longest, of these and the lost ones, ns
    bytes       INTEGER NOT NULL, -- bytes that they and the lost ones moved
    errorCount  INTEGER NOT NULL, -- how many of them failed
    lostCount   INTEGER NOT NULL, -- calls above the threshold whose row was lost: not part of count
    lostTotalNs INTEGER NOT NULL, -- time of the lost ones, ns
    isUntimed   INTEGER NOT NULL, -- 1: some of count were counted without a clock reading (all of them, if totalNs is 0):
                                  -- locks that were free, characters of a stream's buffer; 0: all were timed
    PRIMARY KEY (globalTid, instance, nameId)
) WITHOUT ROWID;

-- @table SL_FILE_TOTALS lazy row
CREATE TABLE SL_FILE_TOTALS (
    -- Exact totals, by thread and open file, of the calls that open, read or write and have no row in OSRT_API because they were
    -- shorter than the threshold or their row was lost. Totals of all calls on a file = these + the rows of OSRT_API with its
    -- fileAccessId and a function that opens, reads, or writes (SL_FUNCTIONS.io). Written when a thread or the report ends; the
    -- flight recorder has none. Calls whose descriptor is not known (it failed, or a sandbox forbids to look), and those of
    -- some threads where there are thousands (DIAGNOSTIC_EVENT then has a line), are in SL_OSRT_TOTALS alone. A call that copies
    -- between two files (copy_file_range, sendfile, splice, tee) is here as written, without time, for the file that it wrote to:
    -- its row, and SL_OSRT_TOTALS, are of the file that it read.
    globalTid    INTEGER NOT NULL, -- packed id of the thread (of all threads that had it, one after the other)
    fileAccessId INTEGER NOT NULL, -- -> OSRT_FILE_ACCESS_DESCRIPTORS.fileAccessId
    eventType    INTEGER NOT NULL, -- -> ENUM_OSRT_FILE_ACCESS_EVENT_TYPE.id: 1 opened, 3 read, 4 written
    isStdio      INTEGER NOT NULL, -- 1: by functions that work on a stream's buffer (SL_FUNCTIONS.isStdio), 0: by others
    count        INTEGER NOT NULL, -- how many calls, failed ones included
    bytes        INTEGER NOT NULL, -- bytes they moved
    totalNs      INTEGER NOT NULL, -- their time, ns; calls counted without a clock reading add 0
    PRIMARY KEY (globalTid, fileAccessId, eventType, isStdio)
) WITHOUT ROWID;

-- @table SYSCALL lazy batch CALL
CREATE TABLE SYSCALL (
    -- System calls as the kernel saw them (--syscall) that took at least --syscall-threshold and returned while it
    -- was recorded. Shorter ones are summed up in SL_SYSCALL_TOTALS. The first six columns are those of Nsight Systems.
    start       INTEGER NOT NULL, -- entry, ns
    end         INTEGER NOT NULL, -- return, ns
    eventClass  INTEGER NOT NULL, -- -> ENUM_NSYS_EVENT_CLASS.id, always 107
    globalTid   INTEGER,          -- packed id of the calling thread
    nameId      INTEGER NOT NULL, -- -> StringIds.id, name of the system call
    callchainId INTEGER NOT NULL, -- 0: none
    returnValue INTEGER,          -- value that the kernel returned; -errno of a failed call
    errnum      INTEGER           -- errno of a failed call; NULL: it succeeded
);

-- @table SL_SYSCALL_TOTALS lazy row
CREATE TABLE SL_SYSCALL_TOTALS (
    -- Exact totals of the system calls that have no row in SYSCALL because they were shorter than the threshold.
    -- Totals of all calls = these + the rows.
    globalTid  INTEGER NOT NULL, -- packed id of the thread (of all threads that had it, one after the other)
    nameId     INTEGER NOT NULL, -- -> StringIds.id, name of the system call
    count      INTEGER NOT NULL, -- how many calls
    totalNs    INTEGER NOT NULL, -- their time, ns
    minNs      INTEGER NOT NULL, -- shortest, ns
    maxNs      INTEGER NOT NULL, -- longest, ns
    errorCount INTEGER NOT NULL, -- how many of them failed
    PRIMARY KEY (globalTid, nameId)
) WITHOUT ROWID;

-- @table COMPOSITE_EVENTS lazy batch SAMPLE
CREATE TABLE COMPOSITE_EVENTS (
    -- CPU samples (--sample): the activity of a thread at one moment of its CPU time. And with --off-cpu-threshold: where
    -- it was when it went off-CPU by itself, if that lasted so long. The stack is in SL_STACKS, and in SAMPLING_CALLCHAINS.
    id          INTEGER NOT NULL PRIMARY KEY, -- number of the sample
    start       INTEGER NOT NULL,             -- ns; where cpuCycles is 0, when it went off-CPU, as in SCHED_EVENTS
    cpu         INTEGER,                      -- number of the CPU
    threadState INTEGER,                      -- -> ENUM_SAMPLING_THREAD_STATE.id; of samples always 1
    globalTid   INTEGER,                      -- packed id of the thread
    cpuCycles   INTEGER NOT NULL,             -- 1: a periodic sample; 0: an off-CPU thread
    stackId     INTEGER,                      -- -> SL_STACKS.id; NULL: none
    end         INTEGER,                      -- when it was on-CPU again, or the recording ended, ns; NULL: a sample
    hasGil      INTEGER                       -- 1: the thread had Python's global interpreter lock, 0: not; NULL: not known
                                              -- (known with dump --every)
);

-- @table SL_PAGE_FAULTS lazy batch FAULT
CREATE TABLE SL_PAGE_FAULTS (
    -- Major page faults: memory that a thread touched and that had to be read first. Taken with CPU samples where eBPF is
    -- permitted (--sample). How long the thread waited for it is the time without a CPU before that, in SCHED_EVENTS.
    start     INTEGER NOT NULL, -- ns, when the page was there
    globalTid INTEGER,          -- packed id of the thread
    address   INTEGER NOT NULL, -- that it touched
    pathId    INTEGER,          -- -> StringIds.id, file that is mapped there, '' where none is; NULL: not known
    offset    INTEGER,          -- of the page in the file, bytes
    stackId   INTEGER           -- -> SL_STACKS.id, where it touched it; NULL: none
);

-- @table SL_DEATHS lazy batch DEATH
CREATE TABLE SL_DEATHS (
    -- Threads of processes that a signal has ended, or that have exited with a status other than 0 (from Linux 6.16 on), with the
    -- stack at that moment; the first row of a process is the thread of which it died, unless another process has killed it. Taken with
    -- CPU samples where eBPF is permitted (--sample), 0.3 s after the recording began, or later.
    timestamp INTEGER NOT NULL, -- ns
    globalTid INTEGER NOT NULL, -- packed id of the thread
    stackId   INTEGER           -- -> SL_STACKS.id; NULL: none
);

-- @table SL_BLOCK_IO lazy batch BLOCK
CREATE TABLE SL_BLOCK_IO (
    -- Requests to block devices that threads of the process tree made, and the kernel's own (which write back data of programs,
    -- and keep journals); with --cpuctxsw=system-wide, of all. Those that began and were done while it was recorded, in
    -- the order in which they were done. Devices that are made of others (device mapper, md) are seen in those.
    start     INTEGER NOT NULL, -- ns, it was made
    issued    INTEGER,          -- ns, the device's driver got it; NULL: never, as a write that only waits for a flush
    end       INTEGER NOT NULL, -- ns, it was done
    globalTid INTEGER,          -- packed id of the thread that made it; NULL: one of the kernel
    nameId    INTEGER,          -- -> StringIds.id, that thread's name then
    device    INTEGER NOT NULL, -- number of the disk: major << 20 | minor
    diskId    INTEGER,          -- -> StringIds.id, its name: 'vda'
    sector    INTEGER,          -- the first one, of 512 bytes, on the disk; NULL: of a flush
    bytes     INTEGER NOT NULL, -- how much
    operation INTEGER NOT NULL, -- the kernel's REQ_OP: 0 read, 1 write, 2 flush of the disk's cache, 3 discard, ...
    failed    INTEGER NOT NULL  -- 1: it ended with an error
);

-- @table PMU_EVENTS lazy batch PMU
CREATE TABLE PMU_EVENTS (
    -- Event counters (--cpu-core-events, --os-events): a CPU between two readings. There is no row where all of them were 0.
    -- The counts are in PMU_EVENT_COUNTERS, the events in PMU_EVENT_REQUESTS.
    start      INTEGER NOT NULL, -- ns, the reading before
    end        INTEGER NOT NULL, -- ns, this one
    globalVm   INTEGER NOT NULL, -- 1 << 48: this machine
    cpu        INTEGER NOT NULL, -- number of the CPU
    counter_id INTEGER           -- -> PMU_EVENT_COUNTERS.id
);

-- @table PMU_EVENT_COUNTERS lazy batch PMUC
CREATE TABLE PMU_EVENT_COUNTERS (
    -- How often events happened in an interval of PMU_EVENTS. An event that was not counted there has no row.
    id      INTEGER NOT NULL, -- the interval: PMU_EVENTS.counter_id
    idx     INTEGER NOT NULL, -- -> PMU_EVENT_REQUESTS.id
    value   INTEGER NOT NULL, -- events
    counted INTEGER           -- per cent of the time in which it was counted; below 100 the value is scaled up
);

-- @table PMU_EVENT_REQUESTS lazy row:replace
CREATE TABLE PMU_EVENT_REQUESTS (
    -- Events that were counted.
    id          INTEGER NOT NULL PRIMARY KEY, -- number in PMU_EVENT_COUNTERS.idx
    eventid     INTEGER,                      -- number of the event in --cpu-core-events=help, --os-events=help
    source      INTEGER NOT NULL,             -- -> ENUM_PMU_EVENT_SOURCE.id
    unit_type   INTEGER NOT NULL,             -- -> ENUM_PMU_UNIT_TYPE.id, always 1: counted per CPU
    event_name  TEXT,                         -- name of the event
    description TEXT,                         -- description of the event
    systemWide  INTEGER,                      -- 1: all threads; 0: threads of the process tree alone
    userOnly    INTEGER                       -- 1: without events in the kernel
);

-- @table OSRT_CALLCHAINS lazy batch CHAIN
CREATE TABLE OSRT_CALLCHAINS (
    -- Stacks of calls in OSRT_API. Complete when the report is finished. One row per frame.
    id           INTEGER NOT NULL, -- a stack, as callchainId has it: SL_STACKS.id
    symbol       INTEGER NOT NULL, -- -> StringIds.id, function; where unresolved = 1 the address as text
    module       INTEGER NOT NULL, -- -> StringIds.id, mapped file; of Python the source file; [vdso], [anonymous], ...
    kernelMode   INTEGER,          -- 1: in the kernel
    thumbCode    INTEGER,          -- always 0
    unresolved   INTEGER,          -- 1: the symbol is an address
    specialEntry INTEGER,          -- 1: no function, but a remark such as [Max depth]
    originalIP   INTEGER,          -- address; NULL: Python
    unwindMethod INTEGER,          -- -> ENUM_STACK_UNWIND_METHOD.id
    stackDepth   INTEGER NOT NULL, -- 0: where the thread was, 1: its caller, ...
    file         INTEGER,          -- -> StringIds.id, source file; NULL: not known
    line         INTEGER           -- line in it; NULL: not known
);

-- @table CUDA_CALLCHAINS lazy batch CHAIN
CREATE TABLE CUDA_CALLCHAINS (
    -- Stacks of calls in CUPTI_ACTIVITY_KIND_RUNTIME, CUBLAS_EVENTS, CUDNN_EVENTS and SL_LIBRARY_API. Complete when
    -- the report is finished. One row per frame.
    id           INTEGER NOT NULL, -- a stack, as callchainId has it: SL_STACKS.id
    symbol       INTEGER NOT NULL, -- -> StringIds.id, function; where unresolved = 1 the address as text
    module       INTEGER NOT NULL, -- -> StringIds.id, mapped file; of Python the source file; [vdso], [anonymous], ...
    kernelMode   INTEGER,          -- 1: in the kernel
    thumbCode    INTEGER,          -- always 0
    unresolved   INTEGER,          -- 1: the symbol is an address
    specialEntry INTEGER,          -- 1: no function, but a remark such as [Max depth]
    originalIP   INTEGER,          -- address; NULL: Python
    unwindMethod INTEGER,          -- -> ENUM_STACK_UNWIND_METHOD.id
    stackDepth   INTEGER NOT NULL, -- 0: where the thread was, 1: its caller, ...
    file         INTEGER,          -- -> StringIds.id, source file; NULL: not known
    line         INTEGER           -- line in it; NULL: not known
);

-- @table SYSCALL_CALLCHAINS lazy batch CHAIN
CREATE TABLE SYSCALL_CALLCHAINS (
    -- Stacks of system calls in SYSCALL. Complete when the report is finished. One row per frame.
    id           INTEGER NOT NULL, -- a stack, as callchainId has it: SL_STACKS.id
    symbol       INTEGER NOT NULL, -- -> StringIds.id, function; where unresolved = 1 the address as text
    module       INTEGER NOT NULL, -- -> StringIds.id, mapped file; of Python the source file; [vdso], [anonymous], ...
    kernelMode   INTEGER,          -- 1: in the kernel
    thumbCode    INTEGER,          -- always 0
    unresolved   INTEGER,          -- 1: the symbol is an address
    specialEntry INTEGER,          -- 1: no function, but a remark such as [Max depth]
    originalIP   INTEGER,          -- address; NULL: Python
    unwindMethod INTEGER,          -- -> ENUM_STACK_UNWIND_METHOD.id
    stackDepth   INTEGER NOT NULL, -- 0: where the thread was, 1: its caller, ...
    file         INTEGER,          -- -> StringIds.id, source file; NULL: not known
    line         INTEGER           -- line in it; NULL: not known
);

-- @table SAMPLING_CALLCHAINS lazy
CREATE VIEW SAMPLING_CALLCHAINS AS
    -- Stacks of CPU samples, one row per frame: columns as in OSRT_CALLCHAINS, but id -> COMPOSITE_EVENTS.id. A view, as
    -- many samples share a stack.
    SELECT c.id AS id, f.symbol AS symbol, f.module AS module, f.kernelMode AS kernelMode, 0 AS thumbCode,
           f.unresolved AS unresolved, f.specialEntry AS specialEntry, f.originalIP AS originalIP,
           f.unwindMethod AS unwindMethod, s.depth AS stackDepth, f.file AS file, f.line AS line
    FROM COMPOSITE_EVENTS c JOIN SL_STACKS s ON s.id = c.stackId JOIN SL_FRAMES f ON f.id = s.frameId;

-- @table SL_STACKS lazy batch STACKS
CREATE TABLE SL_STACKS (
    -- Every distinct stack of calls and samples, once, one row per frame. Complete when the report is finished.
    id      INTEGER NOT NULL, -- number in callchainId of calls and in COMPOSITE_EVENTS.stackId
    depth   INTEGER NOT NULL, -- 0: where the thread was, 1: its caller, ...
    frameId INTEGER NOT NULL, -- -> SL_FRAMES.id
    PRIMARY KEY (id, depth)
) WITHOUT ROWID;

-- @table SL_FRAMES lazy batch FRAME
CREATE TABLE SL_FRAMES (
    -- Every distinct frame of them.
    id           INTEGER NOT NULL PRIMARY KEY,
    kind         INTEGER NOT NULL, -- 0 native, 1 Python, 2 kernel, 3 made at run time (JIT), 4 a remark
    symbol       INTEGER NOT NULL, -- -> StringIds.id, function; where unresolved = 1 the address as text
    module       INTEGER NOT NULL, -- -> StringIds.id, mapped file; of Python the source file; [vdso], [anonymous], ...
    file         INTEGER,          -- -> StringIds.id, source file; NULL: not known
    line         INTEGER,          -- line in it; NULL: not known
    inlined      INTEGER NOT NULL, -- 1: has no frame of its own, but is part of the one that follows in a stack
    kernelMode   INTEGER,          -- 1: in the kernel
    unresolved   INTEGER,          -- 1: the symbol is an address
    specialEntry INTEGER,          -- 1: no function, but a remark such as [Max depth]
    originalIP   INTEGER,          -- address; NULL: Python
    unwindMethod INTEGER           -- -> ENUM_STACK_UNWIND_METHOD.id
);

-- @table SL_MODULES lazy row
CREATE TABLE SL_MODULES (
    -- Files whose code is in stacks, and where they were mapped.
    space   INTEGER NOT NULL, -- -> SL_SPACES.id
    start   INTEGER NOT NULL, -- address
    end     INTEGER NOT NULL, -- first address after it
    bias    INTEGER NOT NULL, -- address - address in the file
    since   INTEGER NOT NULL, -- when it was first seen there, ns
    path    INTEGER NOT NULL, -- -> StringIds.id
    buildId TEXT              -- hexadecimal; NULL: none
);

-- @table SL_SPACES lazy row:replace
CREATE TABLE SL_SPACES (
    -- Address spaces that stacks are from: memory of process images.
    id        INTEGER NOT NULL PRIMARY KEY,
    parent    INTEGER, -- -> SL_SPACES.id, of which it was a copy (fork); NULL: none
    globalPid INTEGER  -- packed id of the process
);

-- @table SL_RAW_STACKS raw row:ignore
CREATE TABLE SL_RAW_STACKS (
    -- Stacks as they were taken; a finished report has SL_STACKS in place of it.
    id     INTEGER NOT NULL PRIMARY KEY, -- SL_STACKS.id
    space  INTEGER NOT NULL,             -- -> SL_SPACES.id
    since  INTEGER NOT NULL,             -- ns
    source INTEGER NOT NULL,             -- which counts its stacks by itself << 32 | its number there
    frames BLOB    NOT NULL              -- 64-bit words of the machine's byte order, innermost first
);

-- @table SL_CODES raw row:replace
CREATE TABLE SL_CODES (
    -- Code objects of Python that raw stacks name.
    id        INTEGER NOT NULL PRIMARY KEY,
    file      TEXT    NOT NULL, -- source file
    name      TEXT    NOT NULL, -- function, qualified
    firstLine INTEGER NOT NULL, -- of the function
    version   INTEGER NOT NULL, -- of the line table: 0x030b is that of Python 3.11
    lines     BLOB              -- line table
);

-- @table SL_LOST_EVENTS lazy row
CREATE TABLE SL_LOST_EVENTS (
    -- Spans in which events were lost. No row: nothing was. Not counted: a call during which its thread is cancelled or its
    -- process is killed.
    start     INTEGER NOT NULL, -- first loss, ns
    end       INTEGER NOT NULL, -- last loss, ns
    globalTid INTEGER,          -- thread that lost them; NULL: not known
    what      TEXT    NOT NULL, -- kind of the lost events, and the reason
    count     INTEGER NOT NULL  -- how many events
);

-- @table SL_OPEN_WAITS lazy row
CREATE TABLE SL_OPEN_WAITS (
    -- System calls that threads were in when the recording ended before them: what a program that hangs waits for. Also of
    -- threads that had been in a call for a second, in case that they were killed there: the last row of a thread counts, if no
    -- later event is of it.
    timestamp INTEGER NOT NULL, -- of the look, ns
    globalTid INTEGER NOT NULL, -- packed id of the thread
    nameId    INTEGER NOT NULL, -- -> StringIds.id, the system call, or "stopped by a signal"
    object    INTEGER,          -- address of the lock that it waits for, or inode of the locked file; NULL: it waits for something
                                -- else, or that is not known
    pathId    INTEGER,          -- -> StringIds.id, the file that it reads, writes or locks; "[GIL]" for Python's lock; NULL: none
    ownerTid  INTEGER,          -- globalTid of the thread that has the lock or is to end, or of the child, or of the main thread
                                -- of the process that has locked the file; NULL: not known. It may have ended
    stackId   INTEGER,          -- -> SL_STACKS.id, of the call; NULL: none
    -- Of a look at all threads at one moment (sightline dump -p, a trigger); else NULL.
    state     TEXT,             -- letter of the kernel: R running (nameId: running), S waiting, D waiting for a device, T stopped
    peer      TEXT,             -- the other end of the pipe or the socket, with its process
    hasGil    INTEGER           -- 1: the thread had Python's global interpreter lock
);

-- @table SL_ASYNC_TASKS lazy row
CREATE TABLE SL_ASYNC_TASKS (
    -- Tasks of asyncio that were not done at a look (SL_OPEN_WAITS).
    timestamp INTEGER NOT NULL, -- of the look, ns
    globalPid INTEGER NOT NULL, -- packed id of the process
    globalTid INTEGER,          -- of the thread that runs its loop; NULL: not known
    task      INTEGER NOT NULL, -- address of the task
    nameId    INTEGER,          -- -> StringIds.id; NULL: it could not be read
    state     TEXT NOT NULL,    -- running; ready: it waits for its turn alone; waiting
    waitsFor  TEXT,             -- task, gather (asyncio.gather()), future (any other); NULL: it does not wait
    awaits    INTEGER,          -- address of the task that it awaits; NULL: none
    stackId   INTEGER,          -- -> SL_STACKS.id, its coroutines; of a running task the outermost one
    deadlock  INTEGER           -- tasks of a process with the same number await each other; NULL: none
);

-- @table SL_ASYNC_AWAITERS lazy row
CREATE TABLE SL_ASYNC_AWAITERS (
    -- Which tasks of SL_ASYNC_TASKS go on when others are done: by awaiting them, or as gather(), wait(), shield() and TaskGroup do.
    timestamp INTEGER NOT NULL, -- of the look, ns
    globalPid INTEGER NOT NULL, -- packed id of the process
    task      INTEGER NOT NULL, -- address of the task
    awaiter   INTEGER NOT NULL  -- address of the task that goes on when it is done
);

-- @table SL_CLOCK_SNAPSHOTS lazy row
CREATE TABLE SL_CLOCK_SNAPSHOTS (
    -- All clocks read at the same moment, every few seconds: ties session times to the outside world.
    ticks     INTEGER NOT NULL, -- clock of the traced program: CPU's time-stamp counter, or CLOCK_MONOTONIC
    monotonic INTEGER NOT NULL, -- CLOCK_MONOTONIC, ns
    realtime  INTEGER NOT NULL, -- CLOCK_REALTIME, ns since 1970
    boottime  INTEGER NOT NULL, -- CLOCK_BOOTTIME, ns: counts on while the machine sleeps
    -- The kernel's state of realtime (adjtimex); NULL: it did not answer.
    isSynchronized INTEGER,     -- 1: NTP or PTP keeps it
    errorNs        INTEGER,     -- estimated error, ns
    maxErrorNs     INTEGER      -- bound of the error, ns
);

-- @table SL_PROCESS_TREE lazy row:replace:rowid
CREATE TABLE SL_PROCESS_TREE (
    -- One row per process image: a process has one from its start, and another from each exec.
    globalPid       INTEGER NOT NULL, -- packed id
    parentGlobalPid INTEGER,          -- packed id of the parent; NULL unknown
    start           INTEGER NOT NULL, -- ns
    end             INTEGER,          -- exec of the next image or end of the process, ns; NULL: not seen
    kind            INTEGER NOT NULL, -- 0 was there when first seen, 1 forked, 2 exec
    traced          INTEGER NOT NULL, -- 1: its library calls are traced, 0: only the kernel's view of it
    exe             TEXT,             -- path of the executable; NULL unknown
    commandLine     TEXT,             -- arguments, separated by spaces; NULL unknown
    exitStatus      INTEGER           -- wait status: exit code << 8, or signal; NULL: not ended or not known
);

-- @table CUPTI_ACTIVITY_KIND_RUNTIME lazy batch RT
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (
    -- Calls into the CUDA runtime and the driver, one row for each that the program (or a library of it) made:
    -- calls made by such a call have no row. Arguments: SL_GPU_ARGUMENTS, by correlationId.
    start         INTEGER NOT NULL, -- entry, ns
    end           INTEGER NOT NULL, -- return, ns; of a call that never returned: equal to start
    eventClass    INTEGER NOT NULL, -- -> ENUM_NSYS_EVENT_CLASS.id: 0 runtime, 1 driver
    globalTid     INTEGER,          -- packed id of the calling thread
    correlationId INTEGER,          -- work that it started on the GPU has the same; unique in the report
    nameId        INTEGER NOT NULL, -- -> StringIds.id, name of the function; with _v7000 appended where CUPTI reported it
    returnValue   INTEGER NOT NULL, -- cudaError_t or CUresult; 0: success
    callchainId   INTEGER           -- NULL: none
);

-- @table CUPTI_ACTIVITY_KIND_KERNEL lazy batch KRN text=[]
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
    -- Kernels that ran on a GPU.
    start                           INTEGER NOT NULL, -- on the GPU, ns
    end                             INTEGER NOT NULL, -- on the GPU, ns
    deviceId                        INTEGER NOT NULL, -- CUDA ordinal in its process: TARGET_INFO_CUDA_DEVICE.cudaId
    contextId                       INTEGER NOT NULL, -- TARGET_INFO_CUDA_CONTEXT_INFO.contextId
    greenContextId                  INTEGER,          -- NULL: none
    streamId                        INTEGER NOT NULL, -- TARGET_INFO_CUDA_STREAM.streamId
    correlationId                   INTEGER,          -- -> CUPTI_ACTIVITY_KIND_RUNTIME.correlationId: the launch
    globalPid                       INTEGER,          -- packed id of the process
    demangledName                   INTEGER NOT NULL, -- -> StringIds.id, whole signature
    shortName                       INTEGER NOT NULL, -- -> StringIds.id, name without scope, template and parameters
    mangledName                     INTEGER,          -- -> StringIds.id, symbol
    launchType                      INTEGER,          -- -> ENUM_CUDA_KERNEL_LAUNCH_TYPE.id
    cacheConfig                     INTEGER,          -- -> ENUM_CUDA_FUNC_CACHE_CONFIG.id
    registersPerThread              INTEGER NOT NULL, -- how many
    gridX                           INTEGER NOT NULL, -- blocks
    gridY                           INTEGER NOT NULL, -- blocks
    gridZ                           INTEGER NOT NULL, -- blocks
    blockX                          INTEGER NOT NULL, -- threads
    blockY                          INTEGER NOT NULL, -- threads
    blockZ                          INTEGER NOT NULL, -- threads
    staticSharedMemory              INTEGER NOT NULL, -- bytes per block
    dynamicSharedMemory             INTEGER NOT NULL, -- bytes per block
    localMemoryPerThread            INTEGER NOT NULL, -- bytes
    localMemoryTotal                INTEGER NOT NULL, -- bytes
    gridId                          INTEGER NOT NULL, -- number of the launch in its process
    sharedMemoryExecuted            INTEGER,          -- bytes per block that the driver set up
    graphNodeId                     INTEGER,          -- -> CUDA_GRAPH_NODE_EVENTS.graphNodeId; NULL: not in a graph
    sharedMemoryLimitConfig         INTEGER,          -- -> ENUM_CUDA_SHARED_MEM_LIMIT_CONFIG.id
    qmdBulkReleaseDone              INTEGER,          -- NULL
    qmdPreexitDone                  INTEGER,          -- NULL
    qmdLastCtaDone                  INTEGER,          -- NULL
    graphId                         INTEGER,          -- graph it ran in; NULL: none
    clusterX                        INTEGER,          -- blocks of a cluster; NULL: none
    clusterY                        INTEGER,          -- blocks of a cluster
    clusterZ                        INTEGER,          -- blocks of a cluster
    clusterSchedulingPolicy         INTEGER,          -- CUclusterSchedulingPolicy
    maxPotentialClusterSize         INTEGER,          -- blocks
    maxActiveClusters               INTEGER,          -- how many
    sharedMemoryRequestedPercentage INTEGER,          -- NULL
    tensorSizeMinusOneElements      TEXT    NOT NULL  -- '[]': none
);

-- @table CUPTI_ACTIVITY_KIND_MEMCPY lazy batch CPY
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (
    -- Copies that a GPU made, and unified memory that moved.
    start           INTEGER NOT NULL, -- on the GPU, ns
    end             INTEGER NOT NULL, -- on the GPU, ns
    deviceId        INTEGER NOT NULL, -- CUDA ordinal in its process
    contextId       INTEGER NOT NULL, -- 0: unknown (unified memory)
    greenContextId  INTEGER,          -- NULL: none
    streamId        INTEGER NOT NULL, -- 0: unknown (unified memory)
    correlationId   INTEGER,          -- -> CUPTI_ACTIVITY_KIND_RUNTIME.correlationId; NULL: no call asked for it
    globalPid       INTEGER,          -- packed id of the process
    bytes           INTEGER NOT NULL, -- bytes copied
    copyKind        INTEGER NOT NULL, -- -> ENUM_CUDA_MEMCPY_OPER.id
    deprecatedSrcId INTEGER,          -- NULL
    srcKind         INTEGER,          -- -> ENUM_CUDA_MEM_KIND.id
    dstKind         INTEGER,          -- -> ENUM_CUDA_MEM_KIND.id
    srcDeviceId     INTEGER,          -- copies between devices: CUDA ordinal, else NULL
    srcContextId    INTEGER,          -- likewise
    dstDeviceId     INTEGER,          -- likewise
    dstContextId    INTEGER,          -- likewise
    migrationCause  INTEGER,          -- -> ENUM_CUDA_UNIF_MEM_MIGRATION.id, for unified memory
    graphNodeId     INTEGER,          -- -> CUDA_GRAPH_NODE_EVENTS.graphNodeId; NULL: not in a graph
    virtualAddress  INTEGER,          -- of the page, for unified memory
    copyCount       INTEGER           -- copies in this row, normally 1
);

-- @table CUPTI_ACTIVITY_KIND_MEMSET lazy batch SET
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (
    -- Fills of GPU memory.
    start          INTEGER NOT NULL, -- on the GPU, ns
    end            INTEGER NOT NULL, -- on the GPU, ns
    deviceId       INTEGER NOT NULL, -- CUDA ordinal in its process
    contextId      INTEGER NOT NULL, -- TARGET_INFO_CUDA_CONTEXT_INFO.contextId
    greenContextId INTEGER,          -- NULL: none
    streamId       INTEGER NOT NULL, -- TARGET_INFO_CUDA_STREAM.streamId
    correlationId  INTEGER,          -- -> CUPTI_ACTIVITY_KIND_RUNTIME.correlationId
    globalPid      INTEGER,          -- packed id of the process
    value          INTEGER NOT NULL, -- value that the memory was filled with
    bytes          INTEGER NOT NULL, -- bytes filled
    graphNodeId    INTEGER,          -- -> CUDA_GRAPH_NODE_EVENTS.graphNodeId; NULL: not in a graph
    memKind        INTEGER           -- -> ENUM_CUDA_MEM_KIND.id
);

-- @table CUPTI_ACTIVITY_KIND_SYNCHRONIZATION lazy batch SYNC
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (
    -- Waits for a GPU: of the program for a stream, an event or a context, and of streams for events.
    start              INTEGER NOT NULL, -- ns
    end                INTEGER NOT NULL, -- ns
    deviceId           INTEGER NOT NULL, -- CUDA ordinal in its process
    contextId          INTEGER NOT NULL, -- TARGET_INFO_CUDA_CONTEXT_INFO.contextId
    greenContextId     INTEGER,          -- NULL: none
    streamId           INTEGER NOT NULL, -- TARGET_INFO_CUDA_STREAM.streamId; 4294967295: the whole context
    correlationId      INTEGER,          -- -> CUPTI_ACTIVITY_KIND_RUNTIME.correlationId
    globalPid          INTEGER,          -- packed id of the process
    deprecatedSyncType INTEGER,          -- NULL
    syncType           INTEGER NOT NULL, -- -> ENUM_CUPTI_SYNC_TYPE.id
    eventId            INTEGER NOT NULL, -- event waited for; 4294967295: none
    eventSyncId        INTEGER           -- -> CUPTI_ACTIVITY_KIND_CUDA_EVENT.eventSyncId
);

-- @table CUPTI_ACTIVITY_KIND_CUDA_EVENT lazy batch EVT
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (
    -- Events that streams have passed (--cuda-event-trace).
    timestamp      INTEGER,          -- when the stream passed it, ns; NULL: unknown (CUDA before 12.8)
    deviceId       INTEGER NOT NULL, -- CUDA ordinal in its process
    contextId      INTEGER NOT NULL, -- TARGET_INFO_CUDA_CONTEXT_INFO.contextId
    greenContextId INTEGER,          -- NULL: none
    streamId       INTEGER NOT NULL, -- TARGET_INFO_CUDA_STREAM.streamId
    correlationId  INTEGER,          -- -> CUPTI_ACTIVITY_KIND_RUNTIME.correlationId
    globalPid      INTEGER,          -- packed id of the process
    eventId        INTEGER NOT NULL, -- number of the event in its context
    eventSyncId    INTEGER           -- number of this use of it
);

-- @table CUPTI_ACTIVITY_KIND_GRAPH_TRACE lazy batch GRT
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (
    -- Runs of whole CUDA graphs (--cuda-graph-trace=graph): their kernels and copies have no rows then.
    start          INTEGER NOT NULL, -- on the GPU, ns
    end            INTEGER NOT NULL, -- on the GPU, ns
    deviceId       INTEGER NOT NULL, -- CUDA ordinal in its process
    contextId      INTEGER NOT NULL, -- TARGET_INFO_CUDA_CONTEXT_INFO.contextId
    greenContextId INTEGER,          -- NULL: none
    streamId       INTEGER NOT NULL, -- TARGET_INFO_CUDA_STREAM.streamId
    correlationId  INTEGER,          -- -> CUPTI_ACTIVITY_KIND_RUNTIME.correlationId: the launch
    globalPid      INTEGER,          -- packed id of the process
    graphId        INTEGER NOT NULL, -- -> CUDA_GRAPH_EVENTS.graphId
    graphExecId    INTEGER NOT NULL  -- -> CUDA_GRAPH_EVENTS.graphExecId
);

-- @table CUDA_GRAPH_NODE_EVENTS lazy batch GRN
CREATE TABLE CUDA_GRAPH_NODE_EVENTS (
    -- Nodes of CUDA graphs as they were made (--cuda-graph-trace=node).
    start               INTEGER NOT NULL, -- ns
    end                 INTEGER NOT NULL, -- ns
    eventClass          INTEGER NOT NULL, -- -> ENUM_NSYS_EVENT_CLASS.id, always 77
    globalTid           INTEGER,          -- packed id of the thread
    nameId              INTEGER NOT NULL, -- -> StringIds.id
    graphNodeId         INTEGER NOT NULL, -- unique in the process; KERNEL, MEMCPY and MEMSET name it
    originalGraphNodeId INTEGER           -- node it is a copy of; NULL: none
);

-- @table CUDA_GRAPH_EVENTS lazy batch GRE
CREATE TABLE CUDA_GRAPH_EVENTS (
    -- CUDA graphs made, copied and instantiated.
    start           INTEGER NOT NULL, -- ns
    end             INTEGER NOT NULL, -- ns
    eventClass      INTEGER NOT NULL, -- -> ENUM_NSYS_EVENT_CLASS.id: 94 instantiated, 95 made, 96 copied
    globalTid       INTEGER,          -- packed id of the thread
    nameId          INTEGER NOT NULL, -- -> StringIds.id
    graphId         INTEGER,          -- unique in the process
    originalGraphId INTEGER,          -- graph it is a copy of; NULL: none
    graphExecId     INTEGER           -- graph that can be launched; NULL: none
);

-- @table CUPTI_ACTIVITY_KIND_OVERHEAD lazy batch OVH
CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (
    -- Time that CUDA took for loading and compiling, and CUPTI for recording.
    start         INTEGER NOT NULL, -- ns
    end           INTEGER NOT NULL, -- ns
    eventClass    INTEGER NOT NULL, -- -> ENUM_NSYS_EVENT_CLASS.id, always 103
    globalTid     INTEGER,          -- packed id of the thread; of the process where CUPTI names none
    correlationId INTEGER,          -- -> CUPTI_ACTIVITY_KIND_RUNTIME.correlationId; NULL: none
    nameId        INTEGER,          -- -> StringIds.id, its reason
    overheadType  INTEGER NOT NULL  -- -> ENUM_CUPTI_OVERHEAD_TYPE.id
);

-- @table CUPTI_ACTIVITY_KIND_JIT lazy row
CREATE TABLE CUPTI_ACTIVITY_KIND_JIT (
    -- Work of the driver's compiler.
    start                     INTEGER NOT NULL, -- ns
    end                       INTEGER NOT NULL, -- ns
    eventClass                INTEGER NOT NULL, -- -> ENUM_NSYS_EVENT_CLASS.id, always 102
    globalTid                 INTEGER,          -- packed id of the thread
    correlationId             INTEGER,          -- -> CUPTI_ACTIVITY_KIND_RUNTIME.correlationId; NULL: none
    nameId                    INTEGER,          -- -> StringIds.id, the operation
    overheadType              INTEGER NOT NULL, -- -> ENUM_CUPTI_OVERHEAD_TYPE.id: 2
    jitEntryType              INTEGER NOT NULL, -- -> ENUM_CUPTI_JIT_ENTRY_TYPE.id
    jitOperationType          INTEGER NOT NULL, -- -> ENUM_CUPTI_JIT_OPERATION_TYPE.id
    deviceId                  INTEGER,          -- CUDA ordinal in its process
    jitOperationCorrelationId INTEGER,          -- the same for all operations on one program
    cacheSize                 INTEGER,          -- bytes read from or written to the cache
    cachePath                 TEXT              -- where it is
);

-- @table CUDA_GPU_MEMORY_USAGE_EVENTS lazy row
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (
    -- Memory allocated and freed through CUDA (--cuda-memory-usage).
    start                           INTEGER NOT NULL, -- ns
    globalPid                       INTEGER NOT NULL, -- packed id of the process
    deviceId                        INTEGER NOT NULL, -- CUDA ordinal in its process
    contextId                       INTEGER NOT NULL, -- TARGET_INFO_CUDA_CONTEXT_INFO.contextId
    address                         INTEGER NOT NULL, -- of the memory
    pc                              INTEGER NOT NULL, -- address of the code that asked; 0: unknown
    bytes                           INTEGER NOT NULL, -- size
    memKind                         INTEGER NOT NULL, -- -> ENUM_CUDA_MEM_KIND.id
    memoryOperationType             INTEGER NOT NULL, -- -> ENUM_CUDA_DEV_MEM_EVENT_OPER.id
    name                            TEXT,             -- variable, for static memory
    correlationId                   INTEGER,          -- -> CUPTI_ACTIVITY_KIND_RUNTIME.correlationId; NULL: none
    streamId                        INTEGER,          -- of asynchronous ones; NULL: none
    localMemoryPoolAddress          INTEGER,          -- pool of this process; NULL: not from one
    localMemoryPoolReleaseThreshold INTEGER,          -- bytes that the pool keeps
    localMemoryPoolSize             INTEGER,          -- bytes it has
    localMemoryPoolUtilizedSize     INTEGER,          -- bytes in use
    importedMemoryPoolAddress       INTEGER,          -- pool of another process; NULL: not from one
    importedMemoryPoolProcessId     INTEGER           -- plain pid of that
);

-- @table CUDA_GPU_MEMORY_POOL_EVENTS lazy batch POOL
CREATE TABLE CUDA_GPU_MEMORY_POOL_EVENTS (
    -- Memory pools made, trimmed and destroyed (--cuda-memory-usage).
    start                           INTEGER NOT NULL, -- ns
    globalPid                       INTEGER NOT NULL, -- packed id of the process
    deviceId                        INTEGER NOT NULL, -- CUDA ordinal in its process
    address                         INTEGER NOT NULL, -- of the pool
    operationType                   INTEGER NOT NULL, -- -> ENUM_CUDA_MEMPOOL_OPER.id
    poolType                        INTEGER NOT NULL, -- -> ENUM_CUDA_MEMPOOL_TYPE.id
    correlationId                   INTEGER,          -- -> CUPTI_ACTIVITY_KIND_RUNTIME.correlationId; NULL: none
    minBytesToKeep                  INTEGER,          -- of a trim
    localMemoryPoolReleaseThreshold INTEGER,          -- bytes that the pool keeps
    localMemoryPoolSize             INTEGER,          -- bytes it has
    localMemoryPoolUtilizedSize     INTEGER           -- bytes in use
);

-- @table CUDA_UM_CPU_PAGE_FAULT_EVENTS lazy batch UMC
CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS (
    -- Code on a CPU touched unified memory that was on a GPU (--cuda-um-cpu-page-faults).
    start             INTEGER NOT NULL, -- ns
    globalPid         INTEGER NOT NULL, -- packed id of the process
    address           INTEGER NOT NULL, -- touched
    originalFaultPc   INTEGER,          -- address of the instruction
    CpuInstruction    INTEGER NOT NULL, -- -> StringIds.id, the same as text: symbols are not looked up
    module            INTEGER NOT NULL, -- -> StringIds.id, '[Unknown]'
    unresolvedFaultPc INTEGER,          -- 1: the symbol is not known
    sourceFile        INTEGER,          -- NULL
    sourceLine        INTEGER           -- NULL
);

-- @table CUDA_UM_GPU_PAGE_FAULT_EVENTS lazy batch UMG
CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (
    -- Code on a GPU touched unified memory that was elsewhere (--cuda-um-gpu-page-faults).
    start              INTEGER NOT NULL, -- the driver began to deal with it, ns
    end                INTEGER NOT NULL, -- the GPU continued, ns
    globalPid          INTEGER NOT NULL, -- packed id of the process
    deviceId           INTEGER NOT NULL, -- CUDA ordinal in its process
    address            INTEGER NOT NULL, -- touched
    numberOfPageFaults INTEGER NOT NULL, -- groups of faults on this page
    faultAccessType    INTEGER NOT NULL  -- -> ENUM_CUDA_UNIF_MEM_ACCESS_TYPE.id
);

-- @table CUDNN_EVENTS lazy batch DNN
CREATE TABLE CUDNN_EVENTS (
    -- Calls into cuDNN; those that it makes to itself have no row. The first five columns are those of
    -- Nsight Systems.
    start       INTEGER NOT NULL, -- entry, ns
    end         INTEGER NOT NULL, -- return, ns
    eventClass  INTEGER NOT NULL, -- -> ENUM_NSYS_EVENT_CLASS.id, always 28
    globalTid   INTEGER,          -- packed id of the calling thread
    nameId      INTEGER NOT NULL, -- -> StringIds.id, name of the function
    callId      INTEGER NOT NULL, -- unique among all calls into GPU libraries: SL_GPU_ARGUMENTS.callId
    returnValue INTEGER NOT NULL, -- cudnnStatus_t; 0: success
    callchainId INTEGER           -- its stack: CUDA_CALLCHAINS.id; NULL: none
);

-- @table CUBLAS_EVENTS lazy batch BLAS
CREATE TABLE CUBLAS_EVENTS (
    -- Calls into cuBLAS and cuBLASLt; those that they make to each other have no row. The first five columns are those
    -- of Nsight Systems.
    start       INTEGER NOT NULL, -- entry, ns
    end         INTEGER NOT NULL, -- return, ns
    eventClass  INTEGER NOT NULL, -- -> ENUM_NSYS_EVENT_CLASS.id, always 29
    globalTid   INTEGER,          -- packed id of the calling thread
    nameId      INTEGER NOT NULL, -- -> StringIds.id, name of the function
    callId      INTEGER NOT NULL, -- unique among all calls into GPU libraries: SL_GPU_ARGUMENTS.callId
    returnValue INTEGER NOT NULL, -- cublasStatus_t; 0: success
    callchainId INTEGER           -- its stack: CUDA_CALLCHAINS.id; NULL: none
);

-- @table SL_FUNCTIONS lazy row:replace
CREATE TABLE SL_FUNCTIONS (
    -- Functions of OSRT_API, SL_OSRT_TOTALS, SYSCALL and the tables of calls into GPU libraries: what the tables of hooks say.
    -- Complete when the report is finished.
    nameId       INTEGER NOT NULL PRIMARY KEY, -- -> StringIds.id, name of the function
    library      INTEGER NOT NULL,             -- -> StringIds.id: libc, cudart, cuda, cublas, cublaslt, cudnn, nccl, ...
    io           INTEGER,                      -- what it does to a file or socket, -> ENUM_OSRT_FILE_ACCESS_EVENT_TYPE.id;
                                               -- NULL: nothing
    isStdio      INTEGER NOT NULL,             -- 1: works on the buffer of a stream (fread, fgets, printf): its calls and bytes are
                                               -- no calls and bytes of the kernel's; 0: others
    file         TEXT,                         -- its operation on a regular file or folder: open, close, read, write, flush, buffer, sync,
                                               -- stat (asks about it, or lists it); NULL: none
    waits        TEXT,                         -- what a call that blocks waits for, a word such as lock, socket or object (the file, pipe
                                               -- or socket behind its descriptor decides); NULL: of a GPU library
    sends        INTEGER,                      -- 1: it can end a wait of the peer of its descriptor; 0: it cannot; NULL: of a GPU library
    returnsBytes INTEGER,                      -- 1: its result is the number of bytes that it moved, or an error below 0; 0: it is not;
                                               -- NULL: of a GPU library
    copies       INTEGER                       -- 1: it reads one descriptor, whose file its row has, and writes to another; 0: it does
                                               -- not; NULL: of a GPU library
);

-- @table SL_LIBRARY_API lazy batch LIB
CREATE TABLE SL_LIBRARY_API (
    -- Calls into GPU libraries that Nsight Systems has no table for: NCCL, cuFFT, cuSPARSE, cuSOLVER, cuFile.
    start        INTEGER NOT NULL, -- entry, ns
    end          INTEGER NOT NULL, -- return, ns; of a call that never returned: equal to start
    globalTid    INTEGER,          -- packed id of the calling thread
    library      INTEGER NOT NULL, -- -> StringIds.id: nccl, cufft, cusparse, cusolver, cufile
    nameId       INTEGER NOT NULL, -- -> StringIds.id, name of the function
    callId       INTEGER NOT NULL, -- unique among all calls into GPU libraries: SL_GPU_ARGUMENTS.callId
    returnValue  INTEGER NOT NULL, -- the library's result; 0: success, or no result. cuFileRead, cuFileWrite: bytes (at most
                                   -- 2147483647), or an error below 0
    nestingLevel INTEGER NOT NULL, -- 0 = called by the program, 1 = by a recorded call of a library of level 0, ...
    callchainId  INTEGER           -- its stack: CUDA_CALLCHAINS.id; NULL: none
);

-- @table MPI_RANKS lazy row:replace
CREATE TABLE MPI_RANKS (
    -- The rank of each process in MPI_COMM_WORLD. This and the tables of MPI that follow have the columns of Nsight Systems first.
    globalTid INTEGER NOT NULL, -- packed id of the process's first thread
    rank      INTEGER NOT NULL, -- rank in MPI_COMM_WORLD
    PRIMARY KEY (globalTid)
);

-- @table MPI_COMMUNICATORS lazy row:ignore
CREATE TABLE MPI_COMMUNICATORS (
    -- Communicators on which a call of MPI was recorded.
    rank         INTEGER, -- of the process in MPI_COMM_WORLD; NULL: not known
    timestamp    INTEGER, -- end of the call that made it, ns: below 0 where that was before the recording
    commHandle   INTEGER, -- MPI_Comm: an address (Open MPI) or a number (MPICH)
    parentHandle INTEGER, -- always NULL
    localRank    INTEGER, -- own rank in it; NULL: not known
    size         INTEGER, -- ranks; NULL: not known
    groupRoot    INTEGER, -- always NULL
    groupRootUid INTEGER, -- always NULL
    members      TEXT,    -- always NULL
    commUid      INTEGER, -- equal on all its ranks: of the parent's, the number of the split and the world's rank of its rank 0;
                          -- NULL: not known
    globalPid    INTEGER NOT NULL, -- packed id of the process
    PRIMARY KEY (globalPid, commHandle, timestamp)
);

-- @table MPI_P2P_EVENTS lazy batch P2P
CREATE TABLE MPI_P2P_EVENTS (
    -- Calls that send to one rank, or receive from one. A call that does both has two rows.
    start         INTEGER NOT NULL, -- entry, ns
    end           INTEGER,          -- return, ns
    globalTid     INTEGER,          -- packed id of the calling thread
    textId        INTEGER,          -- -> StringIds.id, name of the function
    commHandle    INTEGER,          -- communicator: MPI_COMMUNICATORS.commHandle
    commUid       INTEGER,          -- and .commUid; NULL: not known
    tag           INTEGER,          -- of the message, or below 0: any
    remoteRank    INTEGER,          -- rank at the other end, in the communicator; below 0: any, or none
    size          INTEGER,          -- bytes (received: at most); NULL: of a datatype that is not a predefined one
    requestHandle INTEGER,          -- of a call that does not block; NULL: it does
    seq           INTEGER           -- its number among those to (or from) that rank on the communicator; NULL: not known
);

-- @table MPI_COLLECTIVES_EVENTS lazy batch COLL
CREATE TABLE MPI_COLLECTIVES_EVENTS (
    -- Calls that all ranks of a communicator make.
    start         INTEGER NOT NULL, -- entry, ns
    end           INTEGER,          -- return, ns
    globalTid     INTEGER,          -- packed id of the calling thread
    textId        INTEGER,          -- -> StringIds.id, name of the function
    commHandle    INTEGER,          -- communicator: MPI_COMMUNICATORS.commHandle
    commUid       INTEGER,          -- and .commUid; NULL: not known
    rootRank      INTEGER,          -- of Bcast, Reduce, Gather, Scatter; NULL: it has none
    size          INTEGER,          -- bytes: count times size of the datatype; NULL: counts are a list, or not a predefined type
    recvSize      INTEGER,          -- always NULL
    requestHandle INTEGER,          -- of a call that does not block; NULL: it does
    seq           INTEGER           -- its number on the communicator, from its making on; NULL: not known
);

-- @table MPI_START_WAIT_EVENTS lazy batch REQ
CREATE TABLE MPI_START_WAIT_EVENTS (
    -- Calls that start, test, or wait for, requests.
    start         INTEGER NOT NULL, -- entry, ns
    end           INTEGER,          -- return, ns
    globalTid     INTEGER,          -- packed id of the calling thread
    textId        INTEGER,          -- -> StringIds.id, name of the function
    requestHandle INTEGER           -- always NULL
);

-- @table MPI_OTHER_EVENTS lazy batch OTHER
CREATE TABLE MPI_OTHER_EVENTS (
    -- Other calls of MPI, and those that failed.
    start     INTEGER NOT NULL, -- entry, ns
    end       INTEGER,          -- return, ns
    globalTid INTEGER,          -- packed id of the calling thread
    textId    INTEGER           -- -> StringIds.id, name of the function
);

-- @table SL_RANK_VARIABLES lazy row:replace
CREATE TABLE SL_RANK_VARIABLES (
    -- Variables of the environment by which launchers name a rank (torchrun, SLURM, MPI, PMI, Kubernetes), as a program
    -- began with them; nothing else of the environment is kept. Forked children have those of their parent.
    globalPid INTEGER NOT NULL, -- packed id
    name      TEXT NOT NULL,    -- RANK, WORLD_SIZE, SLURM_PROCID, ...
    value     TEXT NOT NULL,    -- at most 128 bytes with the name
    PRIMARY KEY (globalPid, name)
);

-- @table SL_RANK_PROCESSES lazy
CREATE TABLE SL_RANK_PROCESSES (
    -- The rank of each process, in a report that 'sightline ranks fetch' has cut out of others: rows are shown in this order.
    globalPid INTEGER NOT NULL, -- packed id
    rank      INTEGER NOT NULL, -- of the process, or of the one that started it
    host      TEXT              -- the machine's name; NULL: not known
);

-- @table SL_RANK_CPUS lazy
CREATE TABLE SL_RANK_CPUS (
    -- The CPUs of each host, in a report that 'sightline ranks fetch' has made of those of several: all have numbers of their own.
    host     TEXT,             -- the machine's name; NULL: not known
    firstCpu INTEGER NOT NULL, -- here the number of its CPU 0
    cpus     INTEGER NOT NULL  -- so many numbers from there on
);

-- @table SL_NCCL_COMMUNICATORS lazy row:ignore
CREATE TABLE SL_NCCL_COMMUNICATORS (
    -- Communicators that programs made or used while their calls of NCCL were recorded. Collectives refer to them by the handle
    -- (SL_GPU_ARGUMENTS, role comm) and time, and have their number on it, counted from its making on (role seq).
    globalPid  INTEGER NOT NULL, -- packed id
    comm       INTEGER NOT NULL, -- handle: ncclComm_t
    commHash   INTEGER,          -- equal on all its ranks: of the ncclUniqueId; of a split, of the parent's, the number of the
                                 -- split and the colour. NULL: not known
    parentHash INTEGER,          -- commHash of the one it was split from; NULL: of none, or not known
    nRanks     INTEGER,          -- NULL: not known
    rank       INTEGER,          -- own rank in it; NULL: not known
    start      INTEGER NOT NULL, -- end of the call that made it, ns: below 0 where that was before the recording
    end        INTEGER,          -- start of the call that destroys it, ns; NULL: not seen
    name       TEXT,             -- of its ncclConfig_t, at most 63 bytes; NULL: it has none
    PRIMARY KEY (globalPid, comm, start)
);

-- @table SL_GPU_ARGUMENTS lazy batch ARG
CREATE TABLE SL_GPU_ARGUMENTS (
    -- Arguments of calls into GPU libraries that were kept, one row each.
    callId   INTEGER NOT NULL, -- -> CUPTI_ACTIVITY_KIND_RUNTIME.correlationId, or callId of the other tables of calls
    position INTEGER NOT NULL, -- 0, 1, ...: the order of those that were kept (a call may have several of a role)
    role     INTEGER NOT NULL, -- -> ENUM_SL_GPU_ROLE.id: meaning of the argument
    value    INTEGER NOT NULL  -- number, address or handle
);

-- @table TARGET_INFO_GPU lazy row:replace:rowid
CREATE TABLE TARGET_INFO_GPU (
    -- GPUs that traced processes used. NULL: not known.
    vmId                  INTEGER NOT NULL, -- packed id of the machine
    id                    INTEGER NOT NULL, -- index in NVML, which is in the order of PCI addresses; of parts of GPUs (MIG): above those
    name                  TEXT,             -- product name
    busLocation           TEXT,             -- PCI domain:bus:device.function
    isDiscrete            INTEGER,          -- 1 on a card, 0 part of the processor
    l2CacheSize           INTEGER,          -- bytes
    totalMemory           INTEGER,          -- bytes
    memoryBandwidth       INTEGER,          -- bytes per second
    clockRate             INTEGER,          -- Hz
    smCount               INTEGER,          -- multiprocessors
    pwGpuId               INTEGER,          -- NULL
    uuid                  TEXT,             -- without GPU- in front
    luid                  INTEGER,          -- NULL
    chipName              TEXT,             -- NULL
    cuDevice              INTEGER,          -- CUDA ordinal in the process that reported it first
    ctxswDevPath          TEXT,             -- NULL
    ctrlDevPath           TEXT,             -- NULL
    revision              INTEGER,          -- NULL
    nodeMask              INTEGER,          -- NULL
    constantMemory        INTEGER,          -- bytes
    maxIPC                INTEGER,          -- NULL
    maxRegistersPerBlock  INTEGER,          -- how many
    maxShmemPerBlock      INTEGER,          -- bytes
    maxShmemPerBlockOptin INTEGER,          -- NULL
    maxShmemPerSm         INTEGER,          -- NULL
    maxRegistersPerSm     INTEGER,          -- NULL
    threadsPerWarp        INTEGER,          -- how many
    asyncEngines          INTEGER,          -- copy engines
    maxWarpsPerSm         INTEGER,          -- how many
    maxBlocksPerSm        INTEGER,          -- how many
    maxThreadsPerBlock    INTEGER,          -- how many
    maxBlockDimX          INTEGER,          -- NULL
    maxBlockDimY          INTEGER,          -- NULL
    maxBlockDimZ          INTEGER,          -- NULL
    maxGridDimX           INTEGER,          -- NULL
    maxGridDimY           INTEGER,          -- NULL
    maxGridDimZ           INTEGER,          -- NULL
    computeMajor          INTEGER,          -- compute capability, major
    computeMinor          INTEGER,          -- and minor
    smMajor               INTEGER,          -- the same
    smMinor               INTEGER,          -- the same
    numaNodeId            INTEGER           -- NULL
);

-- @table TARGET_INFO_CUDA_DEVICE lazy row
CREATE TABLE TARGET_INFO_CUDA_DEVICE (
    -- The GPUs of a process by its CUDA ordinals (deviceId elsewhere).
    gpuId              INTEGER,          -- -> TARGET_INFO_GPU.id
    cudaId             INTEGER NOT NULL, -- CUDA ordinal
    pid                INTEGER NOT NULL, -- plain pid
    uuid               TEXT,             -- of the GPU
    numMultiprocessors INTEGER           -- that the process may use
);

-- @table TARGET_INFO_CUDA_CONTEXT_INFO lazy row
CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (
    -- CUDA contexts.
    nullStreamId              INTEGER NOT NULL, -- streamId of the default stream
    hwId                      INTEGER NOT NULL, -- 0
    vmId                      INTEGER NOT NULL, -- 1
    processId                 INTEGER NOT NULL, -- plain pid
    deviceId                  INTEGER NOT NULL, -- CUDA ordinal in its process
    contextId                 INTEGER NOT NULL, -- number in its process
    parentContextId           INTEGER,          -- of a green context: the one it is a part of
    isGreenContext            INTEGER,          -- 1: it is one
    numMultiprocessors        INTEGER,          -- NULL
    numTpcs                   INTEGER,          -- NULL
    tpcMask                   TEXT,             -- NULL
    workqueueResourceId       INTEGER,          -- NULL
    workqueueConcurrencyLimit INTEGER,          -- NULL
    workqueueSharingScope     INTEGER,          -- NULL
    workqueueChannelCount     INTEGER,          -- NULL
    workqueueChannelIds       TEXT              -- NULL
);

-- @table TARGET_INFO_CUDA_STREAM lazy row
CREATE TABLE TARGET_INFO_CUDA_STREAM (
    -- CUDA streams.
    streamId  INTEGER NOT NULL, -- number in its process
    hwId      INTEGER NOT NULL, -- 0
    vmId      INTEGER NOT NULL, -- 1
    processId INTEGER NOT NULL, -- plain pid
    contextId INTEGER NOT NULL, -- TARGET_INFO_CUDA_CONTEXT_INFO.contextId
    priority  INTEGER NOT NULL, -- as an unsigned number: -5 stands as 4294967291
    flag      INTEGER NOT NULL  -- -> ENUM_CUPTI_STREAM_TYPE.id
);

-- @table TARGET_INFO_GPU_METRICS lazy row
CREATE TABLE TARGET_INFO_GPU_METRICS (
    -- Names of the metrics in GPU_METRICS, per GPU. Where they come from: SL_GPU_METRIC_SETS.
    typeId     INTEGER NOT NULL, -- packed: 8 bits hardware id, 8 bits VM id, 16 bits source, 32 bits GPU; low 8 bits -> TARGET_INFO_GPU.id
    sourceId   INTEGER NOT NULL, -- typeId with its low 32 bits 0, the same for all GPUs
    typeName   TEXT    NOT NULL, -- 'GPU Metrics [product name]'
    metricId   INTEGER NOT NULL, -- one number per name, on all GPUs of this report
    metricName TEXT    NOT NULL  -- with its unit: 'SMs Active [Throughput %]'
);

-- @table GPU_METRICS lazy batch METRIC
CREATE TABLE GPU_METRICS (
    -- Samples of hardware metrics, in order of time; all metrics of a sample have one timestamp. A sample is about the time
    -- from its timestamp to that of the next one of its typeId, unless SL_GPU_METRIC_GAPS has a gap between.
    rawTimestamp INTEGER NOT NULL, -- begin of the sample, ns of CLOCK_MONOTONIC
    timestamp    INTEGER NOT NULL, -- begin of the sample, ns
    typeId       INTEGER NOT NULL, -- GPU, as in TARGET_INFO_GPU_METRICS
    metricId     INTEGER NOT NULL, -- -> TARGET_INFO_GPU_METRICS.metricId
    value        INTEGER NOT NULL, -- rounded; the unit is in the metric's name, clocks are in Hz whatever it says
    exact        REAL              -- the value as it was measured; NULL: value is it
);

-- @table SL_GPU_METRIC_SETS lazy row:replace
CREATE TABLE SL_GPU_METRIC_SETS (
    -- Metrics sampled on a GPU, and since when. A GPU whose source or rate changed has several rows, in order of time.
    id           INTEGER NOT NULL PRIMARY KEY, -- number of the row
    typeId       INTEGER NOT NULL,             -- GPU, as in GPU_METRICS
    start        INTEGER NOT NULL,             -- ns
    uuid         TEXT,                         -- of the GPU or of its MIG instance, without GPU- in front
    source       TEXT    NOT NULL,             -- pm: PM sampling of CUPTI; gpm: GPM of NVML
    chip         TEXT,                         -- name of the chip: GH100; NULL: not known
    setName      TEXT    NOT NULL,             -- metric set, as in --gpu-metrics-set=help
    askedHz      REAL    NOT NULL,             -- samples per second as asked for
    realHz       REAL    NOT NULL,             -- as set up
    clocksLocked INTEGER,                      -- 1: the SM clock changed by over 3 % when sampling began; NULL: not known
    reason       TEXT                          -- why no better source or rate; NULL: there is none, or it was asked for
);

-- @table SL_GPU_METRIC_GAPS lazy row
CREATE TABLE SL_GPU_METRIC_GAPS (
    -- Spans of time in which a GPU was not sampled though it was to be.
    typeId INTEGER NOT NULL, -- GPU, as in GPU_METRICS
    start  INTEGER NOT NULL, -- end of the last sample before, ns
    end    INTEGER NOT NULL, -- begin of the first one behind it, or end of the recording, ns
    why    TEXT    NOT NULL  -- overflow, restart, paused, lost, late
);

-- @table SL_COUNTERS lazy row:replace
CREATE TABLE SL_COUNTERS (
    -- Curves in SL_COUNTER_SAMPLES: of GPUs (NVML) and of the machine.
    id        INTEGER NOT NULL PRIMARY KEY, -- counterId there
    scope     TEXT    NOT NULL,             -- kind of its object: gpu, process, host, core, package, disk, nic, cgroup, link
    scopeId   INTEGER,                      -- gpu: TARGET_INFO_GPU.id; process: globalPid; core, package, link: number; NULL: scopeName has it
    scopeName TEXT,                         -- name of the GPU, disk, interface, cgroup; NULL: none
    gpuId     INTEGER,                      -- -> TARGET_INFO_GPU.id; NULL: its object does not belong to a GPU
    name      TEXT    NOT NULL,             -- name of the counter: 'Power', 'Memory Used'
    unit      TEXT    NOT NULL,             -- %, W, J, Hz, B, ns, C or a count
    isSum     INTEGER NOT NULL              -- 1: a value is the increment since the sample before; 0: it is a level at its time
);

-- @table SL_COUNTER_SAMPLES lazy batch COUNTER
CREATE TABLE SL_COUNTER_SAMPLES (
    -- Values of SL_COUNTERS. Nothing between two samples is interpolated.
    counterId INTEGER NOT NULL, -- -> SL_COUNTERS.id
    timestamp INTEGER NOT NULL, -- ns
    value     REAL              -- NULL: not known from here to the next sample (or, of a sum, since the one before)
);

-- @table SL_GPU_EVENTS lazy row
CREATE TABLE SL_GPU_EVENTS (
    -- Things that happened to GPUs, as the driver reports them.
    timestamp       INTEGER NOT NULL, -- ns
    gpuId           INTEGER NOT NULL, -- -> TARGET_INFO_GPU.id
    kind            TEXT    NOT NULL, -- xid, ecc, clock, power, recovery, lost
    code            INTEGER,          -- xid: its number; clock: bits of the reasons; ecc: errors so far; NULL: none
    gpuInstance     INTEGER,          -- MIG; NULL: the whole GPU
    computeInstance INTEGER           -- MIG; NULL: the whole GPU, or GPU instance
);

-- @table SL_STATE private row:replace
CREATE TABLE SL_STATE (
    -- The collector's own state, from which `recover` resumes; not in a finished report.
    key   TEXT NOT NULL PRIMARY KEY, -- name
    value BLOB NOT NULL              -- contents
);

-- @table SL_PENDING_GPU raw row:replace
CREATE TABLE SL_PENDING_GPU (
    -- The collector's log of pending GPU records, from which `recover` resumes; not in a finished report.
    seq  INTEGER PRIMARY KEY, -- number; rows are deleted from the oldest on
    blob BLOB NOT NULL        -- contents
);

-- @table SL_LIVE_SESSION live row:replace
CREATE TABLE SL_LIVE_SESSION (
    -- Only while the report grows, about once a second: the recording as a whole. SL_LIVE_* hold sums since the
    -- report began, of the figures in the rows; the difference of two readings is the activity in between.
    id        INTEGER PRIMARY KEY, -- 1
    changed   INTEGER NOT NULL,    -- number of the last round of writing; rows of SL_LIVE_* that changed in it carry it
    since     INTEGER NOT NULL,    -- when the sums began, ns
    resumed   INTEGER NOT NULL,    -- when recording was last resumed, ns
    time      INTEGER NOT NULL,    -- up to when the sums reach, ns
    recording INTEGER NOT NULL,    -- 1: events are recorded, 0: not at present
    events    INTEGER NOT NULL,    -- records and context switches read
    lost      INTEGER NOT NULL,    -- events lost, also those that SL_LOST_EVENTS does not have yet
    processes INTEGER NOT NULL,    -- processes that live
    untold    INTEGER NOT NULL,    -- of the lost events, context switches that the kernel dropped
    behind    INTEGER NOT NULL     -- age of the oldest record that is no row yet, ns: the machine is busy; 0: none waits
);

-- @table SL_LIVE_THREADS live row:replace
CREATE TABLE SL_LIVE_THREADS (
    -- Only while the report grows: sums by thread.
    id        INTEGER PRIMARY KEY, -- number in all of SL_LIVE_*
    changed   INTEGER NOT NULL,    -- in which round (SL_LIVE_SESSION.changed)
    globalTid INTEGER NOT NULL,    -- packed id of the thread; ids that are used again share a row
    cpuNs     INTEGER NOT NULL,    -- on-CPU, up to its last context switch, ns
    offCpuNs  INTEGER NOT NULL,    -- off-CPU, likewise, ns
    switches  INTEGER NOT NULL,    -- context switches, counted on both sides
    isOnCpu   INTEGER,             -- 1: on-CPU since the last switch, 0: off-CPU; NULL: no switch is known
    switched  INTEGER,             -- when that was, ns
    isOver    INTEGER NOT NULL,    -- 1: it has ended
    calls     INTEGER NOT NULL,    -- calls into the C library, short ones too
    callNs    INTEGER NOT NULL     -- time in them; of calls inside others only short ones count twice, ns
);
CREATE INDEX SL_LIVE_THREADS_changed ON SL_LIVE_THREADS(changed);

-- @table SL_LIVE_CALLS live row:replace
CREATE TABLE SL_LIVE_CALLS (
    -- Only while the report grows: sums by process and function, short calls and those whose row was lost included.
    id         INTEGER PRIMARY KEY, -- number in all of SL_LIVE_*
    changed    INTEGER NOT NULL,    -- in which round (SL_LIVE_SESSION.changed)
    globalPid  INTEGER NOT NULL,    -- packed id of the process; several rows where it called exec
    kind       INTEGER NOT NULL,    -- 0 C library, 1 CUDA runtime and driver, 2 libraries on top of it
    nameId     INTEGER NOT NULL,    -- -> StringIds.id, name of the function
    calls      INTEGER NOT NULL,    -- how many
    totalNs    INTEGER NOT NULL,    -- their time, ns
    bytes      INTEGER NOT NULL,    -- bytes they moved
    errorCount INTEGER NOT NULL     -- how many of them failed
);
CREATE INDEX SL_LIVE_CALLS_changed ON SL_LIVE_CALLS(changed);

-- @table SL_LIVE_FILES live row:replace:length
CREATE TABLE SL_LIVE_FILES (
    -- Only while the report grows: sums by process and path. Past a few thousand files, new ones are summed up
    -- by folder.
    id           INTEGER PRIMARY KEY, -- number in all of SL_LIVE_*
    changed      INTEGER NOT NULL,    -- in which round (SL_LIVE_SESSION.changed)
    globalPid    INTEGER NOT NULL,    -- packed id of the process; several rows where it called exec
    isFolder     INTEGER NOT NULL,    -- 1: path is a folder, for those files in it that have no row ("": all others)
    operations   INTEGER NOT NULL,    -- calls on it
    bytesRead    INTEGER NOT NULL,    -- bytes they read
    bytesWritten INTEGER NOT NULL,    -- bytes they wrote
    totalNs      INTEGER NOT NULL,    -- their time, ns
    path         TEXT                 -- NULL: reads and writes below the threshold, whose files are not known
);
CREATE INDEX SL_LIVE_FILES_changed ON SL_LIVE_FILES(changed);

-- @table SL_LIVE_GPUS live row:replace
CREATE TABLE SL_LIVE_GPUS (
    -- Only while the report grows: sums by GPU.
    id       INTEGER PRIMARY KEY, -- number in all of SL_LIVE_*
    changed  INTEGER NOT NULL,    -- in which round (SL_LIVE_SESSION.changed)
    gpu      INTEGER NOT NULL,    -- -> TARGET_INFO_GPU.id; number of the device in its process where isKnown is 0
    isKnown  INTEGER NOT NULL,    -- 1: CUPTI has reported the device
    busyNs   INTEGER NOT NULL,    -- time in which at least one kernel, copy or other work ran, ns
    until    INTEGER,             -- up to when all work is known, ns; NULL: not known yet
    kernels  INTEGER NOT NULL,    -- how many have run
    kernelNs INTEGER NOT NULL,    -- their time, also where several overlap, ns
    copies   INTEGER NOT NULL,    -- copies between or on memories
    bytes    INTEGER NOT NULL     -- copied by them
);

-- @table NVTX_EVENTS lazy
CREATE TABLE NVTX_EVENTS (
    -- NVTX events of programs: ranges, marks, domains, categories, names of threads. eventType 33 category,
    -- 34 mark, 39 thread name, 59 push/pop range, 60 start/end range, 75 domain created, 76 domain destroyed.
    start        INTEGER NOT NULL,            -- ns
    end          INTEGER,                     -- ns; NULL: no range, or one that was never closed
    eventType    INTEGER NOT NULL,            -- -> ENUM_NSYS_EVENT_TYPE.id
    rangeId      INTEGER,                     -- of start/end ranges: the number that the program got; unique in the process
    category     INTEGER,                     -- named by the row with eventType 33 of this domain and process
    color        INTEGER,                     -- ARGB
    text         TEXT,                        -- message, or the name that is given
    globalTid    INTEGER,                     -- thread that did it; eventType 39: thread that was named
    endGlobalTid INTEGER,                     -- start/end ranges: thread that closed it
    textId       INTEGER,                     -- -> StringIds.id when the message is a registered string; text is NULL then
    domainId     INTEGER,                     -- 0: the default domain, which has no row of its own
    uint64Value  INTEGER,                     -- payload
    int64Value   INTEGER,                     -- payload
    doubleValue  REAL,                        -- payload
    uint32Value  INTEGER,                     -- payload
    int32Value   INTEGER,                     -- payload
    floatValue   REAL,                        -- payload
    jsonTextId   INTEGER,                     -- not used here
    jsonText     TEXT,                        -- extended payload as its schema has it
    binaryData   TEXT,                        -- extended payload without a known schema: hexadecimal
    eventId      INTEGER NOT NULL PRIMARY KEY -- number of the row
);

-- @table NVTX_PAYLOAD_SCHEMAS lazy
CREATE TABLE NVTX_PAYLOAD_SCHEMAS (
    -- Layouts of extended payloads. The same (domainId, schemaId) may occur in several processes.
    domainId    INTEGER, -- domain it was registered in
    schemaId    INTEGER, -- number that the program gave it
    name        TEXT,    -- given by the program
    type        INTEGER, -- 1 static, 2 dynamic, 3 union, 4 union with a selector inside
    flags       INTEGER, -- as registered
    numEntries  INTEGER, -- rows in NVTX_PAYLOAD_SCHEMA_ENTRIES
    payloadSize INTEGER, -- bytes; 0: unspecified
    alignTo     INTEGER  -- bytes; 0: natural
);

-- @table NVTX_PAYLOAD_SCHEMA_ENTRIES lazy
CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (
    -- Fields of extended payloads.
    domainId           INTEGER NOT NULL, -- -> NVTX_PAYLOAD_SCHEMAS
    schemaId           INTEGER NOT NULL, -- -> NVTX_PAYLOAD_SCHEMAS
    idx                INTEGER NOT NULL, -- place, from 0
    flags              INTEGER,          -- as registered
    type               INTEGER,          -- NVTX's number of the type, or the id of a schema or enumeration
    name               TEXT,             -- given by the program
    description        TEXT,             -- likewise
    arrayOrUnionDetail INTEGER,          -- length of an array, or the entry that selects a union's member
    offset             INTEGER           -- bytes; 0: after the entry before
);

-- @table NVTX_PAYLOAD_ENUMS lazy
CREATE TABLE NVTX_PAYLOAD_ENUMS (
    -- Enumerations that occur in extended payloads.
    domainId   INTEGER, -- domain it was registered in
    schemaId   INTEGER, -- number that the program gave it
    name       TEXT,    -- given by the program
    numEntries INTEGER, -- rows in NVTX_PAYLOAD_ENUM_ENTRIES
    size       INTEGER  -- bytes
);

-- @table NVTX_PAYLOAD_ENUM_ENTRIES lazy
CREATE TABLE NVTX_PAYLOAD_ENUM_ENTRIES (
    -- Values of these enumerations.
    domainId INTEGER NOT NULL, -- -> NVTX_PAYLOAD_ENUMS
    schemaId INTEGER NOT NULL, -- -> NVTX_PAYLOAD_ENUMS
    idx      INTEGER NOT NULL, -- place, from 0
    name     TEXT,             -- of the value
    value    INTEGER,          -- the value
    isFlag   INTEGER           -- 1: bits that may be combined
);

-- @table TARGET_INFO_NVTX_CUDA_DEVICE lazy
CREATE TABLE TARGET_INFO_NVTX_CUDA_DEVICE (
    -- Names that programs gave to GPUs.
    name     TEXT    NOT NULL, -- the name
    hwId     INTEGER NOT NULL, -- 0
    vmId     INTEGER NOT NULL, -- 1
    deviceId INTEGER NOT NULL  -- CUDA ordinal
);

-- @table TARGET_INFO_NVTX_CUDA_STREAM lazy
CREATE TABLE TARGET_INFO_NVTX_CUDA_STREAM (
    -- Names that programs gave to streams on which the GPU did something afterwards; all of them: SL_NVTX_NAMES.
    name      TEXT    NOT NULL, -- the name
    hwId      INTEGER NOT NULL, -- 0
    vmId      INTEGER NOT NULL, -- 1
    processId INTEGER NOT NULL, -- plain pid
    deviceId  INTEGER NOT NULL, -- CUDA ordinal in its process
    contextId INTEGER NOT NULL, -- TARGET_INFO_CUDA_CONTEXT_INFO.contextId
    streamId  INTEGER NOT NULL  -- TARGET_INFO_CUDA_STREAM.streamId; the latest name of one has the last row
);

-- @table SL_NVTX_NAMES lazy
CREATE TABLE SL_NVTX_NAMES (
    -- Names that programs gave to other things by NVTX: streams, events, contexts by their handles, resources.
    start      INTEGER NOT NULL, -- ns, when
    globalTid  INTEGER NOT NULL, -- thread that did it
    domainId   INTEGER NOT NULL, -- 0: the default domain
    type       INTEGER NOT NULL, -- class * 65536 + kind, as NVTX numbers them: class 4 driver, 5 runtime, 6 OpenCL; 262147: CUstream
    identifier INTEGER NOT NULL, -- handle, address or ordinal
    name       TEXT              -- the name
);

-- @table SL_CAPTURES lazy row:replace
CREATE TABLE SL_CAPTURES (
    -- When it was recorded, of reports that do not cover a whole run; several with --capture-range-end=pause.
    number INTEGER PRIMARY KEY, -- from 1
    start  INTEGER NOT NULL,    -- ns, session axis; the first begins at 0, but for some ns
    end    INTEGER NOT NULL     -- ns
);

-- @table SL_NVTX_CLIPPED lazy
CREATE TABLE SL_NVTX_CLIPPED (
    -- Ranges of NVTX_EVENTS that began before, or ended after, the recorded time: there they are cut to it; here are
    -- their true times.
    eventId INTEGER PRIMARY KEY, -- -> NVTX_EVENTS.eventId
    start   INTEGER NOT NULL,    -- ns, session axis: negative where it began before the recording
    end     INTEGER              -- ns; NULL: it was open when recording ended
);

-- @table ENUM_NSYS_EVENT_TYPE always
CREATE TABLE ENUM_NSYS_EVENT_TYPE (
    -- Kinds of events a report can hold.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES
    (0,'Unknown','Unknown'),(1,'CpuCycles','CpuCycles'),(2,'Instructions','Instructions'),
    (3,'CacheReferences','CacheReferences'),(4,'L1CacheDataWriteMisses','L1CacheDataWriteMisses'),
    (5,'L1CacheDataReadMisses','L1CacheDataReadMisses'),
    (6,'L1CacheInstructionMisses','L1CacheInstructionMisses'),
    (7,'L2CacheDataWriteMisses','L2CacheDataWriteMisses'),
    (8,'L2CacheDataReadMisses','L2CacheDataReadMisses'),
    (9,'L2CacheInstructionMisses','L2CacheInstructionMisses'),
    (10,'BranchInstructions','BranchInstructions'),(11,'BranchMisses','BranchMisses'),
    (12,'BusCycles','BusCycles'),(13,'CpuClock','CpuClock'),(14,'TaskClock','TaskClock'),
    (15,'PageFault','PageFault'),(16,'ContextSwitches','ContextSwitches'),
    (17,'CpuMigrations','CpuMigrations'),(18,'PageFaultsMin','PageFaultsMin'),
    (19,'PageFaultsMax','PageFaultsMax'),(20,'AlignmentFaults','AlignmentFaults'),
    (21,'EmulationFaults','EmulationFaults'),(22,'ThreadState','ThreadState'),
    (23,'Frames','Frames'),(24,'Annotations','Annotations'),(25,'SchedSwitch','SchedSwitch'),
    (26,'SchedWakeup','SchedWakeup'),(27,'Command','Command'),(28,'Mmap','Mmap'),
    (29,'MemUsage','MemUsage'),(30,'Emc','Emc'),(31,'Composite','Composite'),
    (32,'NvtxEvents','NvtxEvents'),(33,'NvtxCategory','NvtxCategory'),(34,'NvtxMark','NvtxMark'),
    (35,'NvtxPushRange','NvtxPushRange'),(36,'NvtxPopRange','NvtxPopRange'),
    (37,'NvtxStartRange','NvtxStartRange'),(38,'NvtxEndRange','NvtxEndRange'),
    (39,'NvtxThread','NvtxThread'),(40,'PowerRate','PowerRate'),(41,'Sched','Sched'),
    (42,'CpuCyclesSelf','CpuCyclesSelf'),(43,'CpuCyclesTotal','CpuCyclesTotal'),
    (44,'CpuCyclesSelfPlus','CpuCyclesSelfPlus'),(45,'Cuda','Cuda'),(46,'CudaDevice','CudaDevice'),
    (47,'TraceProcess','TraceProcess'),(48,'TraceFunctions','TraceFunctions'),
    (49,'Diagnostic','Diagnostic'),(50,'GlWorkload','GlWorkload'),
    (51,'BandwidthUsage','BandwidthUsage'),(52,'KhrDebugMark','KhrDebugMark'),
    (53,'KhrDebugPushRange','KhrDebugPushRange'),(54,'KhrDebugPopRange','KhrDebugPopRange'),
    (55,'KhrDebugGpuMark','KhrDebugGpuMark'),(56,'KhrDebugGpuPushRange','KhrDebugGpuPushRange'),
    (57,'KhrDebugGpuPopRange','KhrDebugGpuPopRange'),(58,'GpuCtxsw','GpuCtxsw'),
    (59,'NvtxPushPopRange','NvtxPushPopRange'),(60,'NvtxStartEndRange','NvtxStartEndRange'),
    (61,'ProfTime','ProfTime'),(62,'KhrDebugPushPopRange','KhrDebugPushPopRange'),
    (63,'KhrDebugGpuPushPopRange','KhrDebugGpuPushPopRange'),(64,'NvtxtCategory','NvtxtCategory'),
    (65,'NvtxtMark','NvtxtMark'),(66,'NvtxtPushRange','NvtxtPushRange'),
    (67,'NvtxtPopRange','NvtxtPopRange'),(68,'NvtxtStartRange','NvtxtStartRange'),
    (69,'NvtxtEndRange','NvtxtEndRange'),(70,'NvtxtPushPopRange','NvtxtPushPopRange'),
    (71,'NvtxtStartEndRange','NvtxtStartEndRange'),(72,'NvtxtMetaThread','NvtxtMetaThread'),
    (73,'NvtxtMetaProcess','NvtxtMetaProcess'),(74,'NvtxtMetaFileDisplay','NvtxtMetaFileDisplay'),
    (75,'NvtxDomainCreate','NvtxDomainCreate'),(76,'NvtxDomainDestroy','NvtxDomainDestroy'),
    (77,'NvnGpuCmdBuf','NvnGpuCmdBuf'),(78,'TraceVSync','TraceVSync'),
    (79,'CudaDeviceKernel','CudaDeviceKernel'),(80,'CudaDeviceMemory','CudaDeviceMemory'),
    (81,'Pmu','Pmu'),(82,'NvnGpuDraw','NvnGpuDraw'),(83,'NvnGpuCompute','NvnGpuCompute'),
    (84,'NvnGpuDebug','NvnGpuDebug'),(85,'OS runtime libraries','OS runtime libraries'),
    (86,'CuDNN','CuDNN'),(87,'CuBLAS','CuBLAS'),(88,'NvMedia','NvMedia'),(89,'OpenACC','OpenACC'),
    (90,'Correlation','Correlation'),(91,'DX12','DX12'),(92,'DX12Workload','DX12Workload'),
    (93,'PmuRawEvent','PmuRawEvent'),(94,'GraphicsFrame','GraphicsFrame'),(95,'Vulkan','Vulkan'),
    (96,'VulkanWorkload','VulkanWorkload'),(97,'NvtxNameCudaDevice','NvtxNameCudaDevice'),
    (98,'NvtxNameCudaContext','NvtxNameCudaContext'),(99,'NvtxNameCudaStream','NvtxNameCudaStream'),
    (100,'SystemEvent','SystemEvent'),(101,'GpuMemoryEvent','GpuMemoryEvent'),
    (102,'DX12CreateObject','DX12CreateObject'),(103,'VulkanCreateObject','VulkanCreateObject'),
    (104,'UnitTraceEvent','UnitTraceEvent'),(105,'CustomETWEvent','CustomETWEvent'),
    (106,'CudaSyncEvent','CudaSyncEvent'),(107,'SLIEvent (DEPRECATED)','SLIEvent (DEPRECATED)'),
    (108,'CudaBacktrace','CudaBacktrace'),(109,'WddmEvent','WddmEvent'),(110,'DX11','DX11'),
    (111,'DX11CreateObject','DX11CreateObject'),(112,'DXGI','DXGI'),
    (113,'CudaGraphNodeCreation','CudaGraphNodeCreation'),(114,'OpenMP','OpenMP'),
    (115,'UncorePmuEvent','UncorePmuEvent'),(116,'UncorePmuCarmel','UncorePmuCarmel'),
    (117,'CudaDeviceMemoryUsage','CudaDeviceMemoryUsage'),(118,'ETWDxgKrnlEvent','ETWDxgKrnlEvent'),
    (119,'CudaUvmCpuPageFaultEvent','CudaUvmCpuPageFaultEvent'),
    (120,'CudaUvmGpuPageFaultEvent','CudaUvmGpuPageFaultEvent'),
    (121,'NICMetricsValuesEvent','NICMetricsValuesEvent'),
    (122,'NICMetricsListEvent','NICMetricsListEvent'),(123,'InterruptHandler','InterruptHandler'),
    (124,'NvEncode','NvEncode'),(125,'NVDecode','NVDecode'),(126,'nvJPEG','nvJPEG'),
    (127,'CudaEventRecord','CudaEventRecord'),(128,'PerfEventCountEvent','PerfEventCountEvent'),
    (129,'CudaDeviceMemoryPool','CudaDeviceMemoryPool'),(130,'CudaDeviceGraph','CudaDeviceGraph'),
    (131,'CudaGraphExecCreation','CudaGraphExecCreation'),
    (132,'CudaGraphCreation','CudaGraphCreation'),(133,'CudaGraphClone','CudaGraphClone'),
    (134,'GpuMemoryTransferEvent','GpuMemoryTransferEvent'),(135,'GlTrace','GlTrace'),
    (136,'GpuVideoEngineWorkload','GpuVideoEngineWorkload'),
    (137,'IBSwitchMetricsValuesEvent','IBSwitchMetricsValuesEvent'),
    (138,'GenericEvent','GenericEvent'),(139,'UncorePmuT23xScf','UncorePmuT23xScf'),
    (140,'UncorePmuT23xDsu','UncorePmuT23xDsu'),
    (141,'IBSwitchCongestionEvent','IBSwitchCongestionEvent'),
    (142,'CudaDeviceMemcpy','CudaDeviceMemcpy'),(143,'PerfMetricValueEvent','PerfMetricValueEvent'),
    (144,'OpenXREvent','OpenXREvent'),(145,'TegraInternalEvent','TegraInternalEvent'),
    (146,'TraceStartFinish','TraceStartFinish'),(147,'Syscall','Syscall'),
    (148,'CudaConfidentialComputeKeyRotation','CudaConfidentialComputeKeyRotation'),
    (149,'CudaGraphExecNodeSetParams','CudaGraphExecNodeSetParams'),(150,'NvApi','NvApi'),
    (151,'CudaHostFunc','CudaHostFunc'),(152,'CudaApi','CudaApi'),(153,'Overhead','Overhead'),
    (154,'CudaOverhead','CudaOverhead');

-- @table ENUM_NSYS_EVENT_CLASS always
CREATE TABLE ENUM_NSYS_EVENT_CLASS (
    -- Values of the eventClass columns.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_NSYS_EVENT_CLASS VALUES
    (0,'TRACE_PROCESS_EVENT_CUDA_RUNTIME','CUDA runtime'),
    (1,'TRACE_PROCESS_EVENT_CUDA_DRIVER','CUDA driver'),(2,'TRACE_PROCESS_EVENT_GL','GL'),
    (3,'TRACE_PROCESS_EVENT_TSP_OVERHEAD','TSP overhead'),
    (4,'TRACE_PROCESS_EVENT_GL_DEBUG','GL debug'),
    (5,'TRACE_PROCESS_EVENT_GL_WORKLOAD','GL workload'),
    (6,'TRACE_PROCESS_EVENT_NVTX_START','NVTX start'),
    (7,'TRACE_PROCESS_EVENT_NVTX_FINISH','NVTX finish'),
    (8,'TRACE_PROCESS_EVENT_GL_START','GL start'),(9,'TRACE_PROCESS_EVENT_GL_FINISH','GL finish'),
    (10,'TRACE_PROCESS_EVENT_CUDA_START','CUDA start'),
    (11,'TRACE_PROCESS_EVENT_CUDA_FINISH','CUDA finish'),
    (12,'TRACE_PROCESS_EVENT_CUDA_INIT_ERROR','CUDA init error'),
    (13,'TRACE_PROCESS_EVENT_CUDA_EGL_DRIVER','CUDA EGL driver'),
    (18,'TRACE_PROCESS_EVENT_VSYNC','Vsync'),(26,'TRACE_PROCESS_EVENT_CUDA_API','CUDA API'),
    (27,'TRACE_PROCESS_EVENT_OS_RUNTIME','OSRT runtime'),(28,'TRACE_PROCESS_EVENT_CUDNN','cuDNN'),
    (29,'TRACE_PROCESS_EVENT_CUBLAS','cuBLAS'),
    (31,'TRACE_PROCESS_EVENT_OS_RUNTIME_START','OSRT start'),
    (32,'TRACE_PROCESS_EVENT_OS_RUNTIME_FINISH','OSRT finish'),
    (33,'TRACE_PROCESS_EVENT_CUDNN_START','cuDNN start'),
    (34,'TRACE_PROCESS_EVENT_CUDNN_FINISH','cuDNN finish'),
    (35,'TRACE_PROCESS_EVENT_CUBLAS_START','cuBLAS start'),
    (36,'TRACE_PROCESS_EVENT_CUBLAS_FINISH','cuBLAS finish'),
    (37,'TRACE_PROCESS_EVENT_THREAD_BLOCK','Thread block'),
    (38,'TRACE_PROCESS_EVENT_NVMEDIA','NVmedia'),
    (39,'TRACE_PROCESS_EVENT_NVMEDIA_START','NVmedia start'),
    (40,'TRACE_PROCESS_EVENT_NVMEDIA_FINISH','NVmedia finish'),
    (41,'TRACE_PROCESS_EVENT_DX12_API','DX12 API'),
    (42,'TRACE_PROCESS_EVENT_DX12_WORKLOAD','DX12 workload'),
    (43,'TRACE_PROCESS_EVENT_DX12_START','DX12 start'),
    (44,'TRACE_PROCESS_EVENT_DX12_FINISH','DX12 finish'),
    (45,'TRACE_PROCESS_EVENT_OPENACC_START','OpenACC start'),
    (46,'TRACE_PROCESS_EVENT_OPENACC_FINISH','OpenACC finish'),
    (47,'TRACE_PROCESS_EVENT_OPENACC_INIT_ERROR','OpenACC init error'),
    (48,'TRACE_PROCESS_EVENT_OPENACC','OpenACC'),(49,'TRACE_PROCESS_EVENT_CPU_FPS','CPU FPS'),
    (50,'TRACE_PROCESS_EVENT_GPU_FPS','GPU FPS'),
    (51,'TRACE_PROCESS_EVENT_GL_MULTI_ERROR','GL multi-error'),
    (52,'TRACE_PROCESS_EVENT_DX12_DISPLAY','DX12 display'),
    (53,'TRACE_PROCESS_EVENT_VULKAN_API','Vulkan API'),
    (54,'TRACE_PROCESS_EVENT_VULKAN_WORKLOAD','Vulkan workload'),
    (55,'TRACE_PROCESS_EVENT_VULKAN_START','Vulkan start'),
    (56,'TRACE_PROCESS_EVENT_VULKAN_FINISH','Vulkan finish'),
    (57,'TRACE_PROCESS_EVENT_SYSTEM_EVENT','System event'),
    (58,'TRACE_PROCESS_EVENT_GPU_MEMORY','GPU memory'),
    (59,'TRACE_PROCESS_EVENT_DX12_CREATE_OBJECT','DX12 create object'),
    (60,'TRACE_PROCESS_EVENT_VULKAN_CREATE_OBJECT','Vulkan create object'),
    (61,'TRACE_PROCESS_EVENT_CUSTOM_ETW_TRACE','Custom ETW trace'),
    (62,'TRACE_PROCESS_EVENT_SLI_DEPRECATED','SLI (Deprecated)'),
    (63,'TRACE_PROCESS_EVENT_SLI_START_DEPRECATED','SLI start (Deprecated)'),
    (64,'TRACE_PROCESS_EVENT_SLI_FINISH_DEPRECATED','SLI finish (Deprecated)'),
    (65,'TRACE_PROCESS_EVENT_DX12_DEBUG_API','DX12 debug API'),
    (66,'TRACE_PROCESS_EVENT_VULKAN_DEBUG_API','Vulkan debug API'),
    (67,'TRACE_PROCESS_EVENT_CUDABACKTRACE','CUDA backtrace'),
    (68,'TRACE_PROCESS_EVENT_CUDABACKTRACE_START','CUDA backtrace start'),
    (69,'TRACE_PROCESS_EVENT_CUDABACKTRACE_FINISH','CUDA backtrace finish'),
    (70,'TRACE_PROCESS_EVENT_WDDM','WDDM'),(71,'TRACE_PROCESS_EVENT_DX11_API','DX11 API'),
    (72,'TRACE_PROCESS_EVENT_DX11_START','DX11 start'),
    (73,'TRACE_PROCESS_EVENT_DX11_FINISH','DX11 finish'),
    (74,'TRACE_PROCESS_EVENT_DX11_CREATE_OBJECT','DX11 create object'),
    (75,'TRACE_PROCESS_EVENT_DX11_DEBUG_API','DX11 debug API'),
    (76,'TRACE_PROCESS_EVENT_DXCOMMON_API','DX common API'),
    (77,'TRACE_PROCESS_EVENT_CUDA_GRAPH_NODE_CREATION','CUDA graph node creation'),
    (78,'TRACE_PROCESS_EVENT_OPENMP','OpenMP'),
    (79,'TRACE_PROCESS_EVENT_OPENMP_START','OpenMP start'),
    (80,'TRACE_PROCESS_EVENT_OPENMP_FINISH','OpenMP finish'),
    (81,'TRACE_PROCESS_EVENT_NVAPI','NV API'),(82,'TRACE_PROCESS_EVENT_ETWDXGKRNL','ETW DXG KRNL'),
    (83,'TRACE_PROCESS_EVENT_NVENCODE','NVENCODE'),
    (84,'TRACE_PROCESS_EVENT_NVENCODE_START','NVENCODE start'),
    (85,'TRACE_PROCESS_EVENT_NVENCODE_FINISH','NVENCODE finish'),
    (86,'TRACE_PROCESS_EVENT_NVDECODE','NVDECODE'),
    (87,'TRACE_PROCESS_EVENT_NVDECODE_START','NVDECODE start'),
    (88,'TRACE_PROCESS_EVENT_NVDECODE_FINISH','NVDECODE finish'),
    (89,'TRACE_PROCESS_EVENT_NVJPEG','nvJPEG'),
    (90,'TRACE_PROCESS_EVENT_NVJPEG_START','nvJPEG start'),
    (91,'TRACE_PROCESS_EVENT_NVJPEG_FINISH','nvJPEG finish'),
    (92,'TRACE_PROCESS_EVENT_DX12_BATCH_WORKLOAD','DX12 batch workload'),
    (93,'TRACE_PROCESS_EVENT_VULKAN_BATCH_WORKLOAD','Vulkan batch workload'),
    (94,'TRACE_PROCESS_EVENT_CUDA_GRAPHEXEC_CREATION','CUDA graph exec creation'),
    (95,'TRACE_PROCESS_EVENT_CUDA_GRAPH_CREATION','CUDA graph creation'),
    (96,'TRACE_PROCESS_EVENT_CUDA_GRAPH_CLONE','CUDA graph clone'),
    (98,'TRACE_PROCESS_EVENT_OPENCL','OpenCL event'),
    (99,'TRACE_PROCESS_EVENT_OPENCL_START','OpenCL start'),
    (100,'TRACE_PROCESS_EVENT_OPENCL_FINISH','OpenCL finish'),
    (101,'TRACE_PROCESS_EVENT_OPENCL_INIT_ERROR','OpenCL Init error'),
    (102,'TRACE_PROCESS_EVENT_CUDA_JIT','CUDA JIT'),
    (103,'TRACE_PROCESS_EVENT_CUDA_OVERHEAD','CUDA overhead'),
    (104,'TRACE_PROCESS_EVENT_OPENXR','OpenXR event'),
    (105,'TRACE_PROCESS_EVENT_OPENXR_START','OpenXR start'),
    (106,'TRACE_PROCESS_EVENT_OPENXR_FINISH','OpenXR finish'),
    (107,'TRACE_PROCESS_EVENT_SYSCALL','Syscall'),
    (108,'TRACE_PROCESS_EVENT_TEGRA_INTERNAL','Tegra Internal API'),
    (109,'TRACE_PROCESS_EVENT_TEGRA_INTERNAL_START','Tegra Internal API start'),
    (110,'TRACE_PROCESS_EVENT_TEGRA_INTERNAL_FINISH','Tegra Internal API finish'),
    (111,'TRACE_PROCESS_EVENT_CUDA_GRAPH_EXEC_NODE_SET_PARAMS','CUDA graph exec-node set params');

-- @table ENUM_CUDA_MEMCPY_OPER always
CREATE TABLE ENUM_CUDA_MEMCPY_OPER (
    -- Directions of CUDA copies.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES
    (0,'CUDA_MEMCPY_KIND_UNKNOWN','Unknown'),(1,'CUDA_MEMCPY_KIND_HTOD','Host-to-Device'),
    (2,'CUDA_MEMCPY_KIND_DTOH','Device-to-Host'),(3,'CUDA_MEMCPY_KIND_HTOA','Host-to-Array'),
    (4,'CUDA_MEMCPY_KIND_ATOH','Array-to-Host'),(5,'CUDA_MEMCPY_KIND_ATOA','Array-to-Array'),
    (6,'CUDA_MEMCPY_KIND_ATOD','Array-to-Device'),(7,'CUDA_MEMCPY_KIND_DTOA','Device-to-Array'),
    (8,'CUDA_MEMCPY_KIND_DTOD','Device-to-Device'),(9,'CUDA_MEMCPY_KIND_HTOH','Host-to-Host'),
    (10,'CUDA_MEMCPY_KIND_PTOP','Peer-to-Peer'),
    (11,'CUDA_MEMCPY_KIND_UVM_HTOD','Unified Host-to-Device'),
    (12,'CUDA_MEMCPY_KIND_UVM_DTOH','Unified Device-to-Host'),
    (13,'CUDA_MEMCPY_KIND_UVM_DTOD','Unified Device-to-Device');

-- @table ENUM_CUDA_MEM_KIND always
CREATE TABLE ENUM_CUDA_MEM_KIND (
    -- Kinds of memory a CUDA operation touches.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_CUDA_MEM_KIND VALUES
    (0,'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE','Pageable'),(1,'CUDA_MEMOPR_MEMORY_KIND_PINNED','Pinned'),
    (2,'CUDA_MEMOPR_MEMORY_KIND_DEVICE','Device'),(3,'CUDA_MEMOPR_MEMORY_KIND_ARRAY','Array'),
    (4,'CUDA_MEMOPR_MEMORY_KIND_MANAGED','Managed'),
    (5,'CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC','Device Static'),
    (6,'CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC','Managed Static'),
    (7,'CUDA_MEMOPR_MEMORY_KIND_UNKNOWN','Unknown');

-- @table ENUM_CUDA_MEMPOOL_TYPE always
CREATE TABLE ENUM_CUDA_MEMPOOL_TYPE (
    -- Owners of CUDA memory pools.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_CUDA_MEMPOOL_TYPE VALUES
    (0,'CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID','Invalid'),
    (1,'CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL','Local'),
    (2,'CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED','Imported');

-- @table ENUM_CUDA_MEMPOOL_OPER always
CREATE TABLE ENUM_CUDA_MEMPOOL_OPER (
    -- Operations on a CUDA memory pool.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_CUDA_MEMPOOL_OPER VALUES
    (0,'CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_INVALID','Invalid'),
    (1,'CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED','Created'),
    (2,'CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED','Destroyed'),
    (3,'CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED','Trimmed');

-- @table ENUM_CUDA_DEV_MEM_EVENT_OPER always
CREATE TABLE ENUM_CUDA_DEV_MEM_EVENT_OPER (
    -- Allocation or release of device memory.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_CUDA_DEV_MEM_EVENT_OPER VALUES
    (0,'CUDA_DEV_MEM_EVENT_OPR_ALLOCATION','Allocation'),
    (1,'CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION','Deallocation');

-- @table ENUM_CUDA_KERNEL_LAUNCH_TYPE always
CREATE TABLE ENUM_CUDA_KERNEL_LAUNCH_TYPE (
    -- How a kernel was launched.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_CUDA_KERNEL_LAUNCH_TYPE VALUES
    (0,'CUDA_KERNEL_LAUNCH_TYPE_UNKNOWN','Unknown'),(1,'CUDA_KERNEL_LAUNCH_TYPE_REGULAR','Regular'),
    (2,'CUDA_KERNEL_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE','Coop Single Device'),
    (3,'CUDA_KERNEL_LAUNCH_TYPE_COOPERATIVE_MULTI_DEVICE','Coop Multi Device');

-- @table ENUM_CUDA_SHARED_MEM_LIMIT_CONFIG always
CREATE TABLE ENUM_CUDA_SHARED_MEM_LIMIT_CONFIG (
    -- Shared-memory limit of a kernel.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_CUDA_SHARED_MEM_LIMIT_CONFIG VALUES
    (0,'CUDA_SHARED_MEM_LIMIT_DEFAULT','Default'),(1,'CUDA_SHARED_MEM_LIMIT_OPTIN','Opt in');

-- @table ENUM_CUDA_UNIF_MEM_MIGRATION always
CREATE TABLE ENUM_CUDA_UNIF_MEM_MIGRATION (
    -- Why unified memory migrated.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_CUDA_UNIF_MEM_MIGRATION VALUES
    (0,'CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_UNKNOWN','Unknown'),
    (1,'CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_USER','User prefetch'),
    (2,'CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_COHERENCE','Page fault'),
    (3,'CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_PREFETCH','Speculative prefecth'),
    (4,'CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_EVICTION','Eviction'),
    (5,'CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_ACCESS_COUNTERS','Access counters');

-- @table ENUM_CUDA_UNIF_MEM_ACCESS_TYPE always
CREATE TABLE ENUM_CUDA_UNIF_MEM_ACCESS_TYPE (
    -- Access that caused a unified-memory page fault.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_CUDA_UNIF_MEM_ACCESS_TYPE VALUES
    (0,'CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_UNKNOWN','Unknown'),
    (1,'CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_READ','Read'),
    (2,'CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_WRITE','Write'),
    (3,'CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_ATOMIC','Atomic'),
    (4,'CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_PREFETCH','Prefetch');

-- @table ENUM_CUDA_FUNC_CACHE_CONFIG always
CREATE TABLE ENUM_CUDA_FUNC_CACHE_CONFIG (
    -- Cache preference of a kernel.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_CUDA_FUNC_CACHE_CONFIG VALUES
    (0,'CU_FUNC_CACHE_PREFER_NONE','None'),(1,'CU_FUNC_CACHE_PREFER_SHARED','Shared'),
    (2,'CU_FUNC_CACHE_PREFER_L1','L1'),(3,'CU_FUNC_CACHE_PREFER_EQUAL','Equal');

-- @table ENUM_CUPTI_STREAM_TYPE always
CREATE TABLE ENUM_CUPTI_STREAM_TYPE (
    -- Kinds of CUDA streams.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_CUPTI_STREAM_TYPE VALUES
    (0,'CUPTI_ACTIVITY_STREAM_CREATE_FLAG_UNKNOWN','Unknown stream type'),
    (1,'CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT','Default stream'),
    (2,'CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING','Non-blocking stream'),
    (3,'CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL','Null stream');

-- @table ENUM_CUPTI_SYNC_TYPE always
CREATE TABLE ENUM_CUPTI_SYNC_TYPE (
    -- Kinds of CUDA synchronisation.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_CUPTI_SYNC_TYPE VALUES
    (0,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN','Unknown'),
    (1,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE','Event sync'),
    (2,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT','Stream wait sync'),
    (3,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE','Stream sync'),
    (4,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE','Context sync');

-- @table ENUM_CUPTI_OVERHEAD_TYPE always
CREATE TABLE ENUM_CUPTI_OVERHEAD_TYPE (
    -- Values of PROFILER_OVERHEAD.overheadType.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_CUPTI_OVERHEAD_TYPE VALUES
    (0,'OVERHEAD_UNDEFINED','Undefined'),(1,'OVERHEAD_UNKNOWN','Unknown'),
    (2,'OVERHEAD_DRIVER_COMPILER','Driver JIT compiler (CUDA)'),
    (3,'OVERHEAD_CUPTI_BUFFER_FLUSH','Buffer flush (Profiler)'),
    (4,'OVERHEAD_CUPTI_INSTRUMENTATION','Instrumentation (Profiler)'),
    (5,'OVERHEAD_CUPTI_RESOURCE','Resource creation/destruction (Profiler)'),
    (6,'OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING','Runtime module loading (CUDA)'),
    (7,'OVERHEAD_LAZY_FUNCTION_LOADING','Lazy function loading (CUDA)'),
    (8,'OVERHEAD_COMMAND_BUFFER_FULL','Command buffer full (CUDA)');

-- @table ENUM_CUPTI_JIT_ENTRY_TYPE always
CREATE TABLE ENUM_CUPTI_JIT_ENTRY_TYPE (
    -- Stages of CUDA just-in-time compilation, as CUPTI numbers them.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_CUPTI_JIT_ENTRY_TYPE VALUES
    (0,'CUPTI_ACTIVITY_JIT_ENTRY_INVALID','Invalid'),
    (1,'CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN','PTX to cubin'),
    (2,'CUPTI_ACTIVITY_JIT_ENTRY_NVVM_IR_TO_PTX','NVVM IR to PTX');

-- @table ENUM_CUPTI_JIT_OPERATION_TYPE always
CREATE TABLE ENUM_CUPTI_JIT_OPERATION_TYPE (
    -- Operations of the CUDA just-in-time compiler, as CUPTI numbers them.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_CUPTI_JIT_OPERATION_TYPE VALUES
    (0,'CUPTI_ACTIVITY_JIT_OPERATION_INVALID','Invalid'),
    (1,'CUPTI_ACTIVITY_JIT_OPERATION_CACHE_LOAD','Cache load'),
    (2,'CUPTI_ACTIVITY_JIT_OPERATION_CACHE_STORE','Cache store'),
    (3,'CUPTI_ACTIVITY_JIT_OPERATION_COMPILE','Compile');

-- @table ENUM_SL_GPU_ROLE always
CREATE TABLE ENUM_SL_GPU_ROLE (
    -- Values of SL_GPU_ARGUMENTS.role.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_SL_GPU_ROLE VALUES
    (0,'bytes','bytes moved, allocated or asked for'),
    (1,'kind','direction: cudaMemcpyKind'),
    (2,'stream','stream handle, 0: default'),
    (3,'device','device ordinal or CUdevice'),
    (4,'peer','second device, or the rank at the other end'),
    (5,'event','event handle'),
    (6,'graph','graph or graph exec handle'),
    (7,'node','graph node handle'),
    (8,'kernel','function: host address, CUfunction or CUkernel'),
    (9,'gridx','blocks of the grid'),
    (10,'gridy','blocks of the grid'),
    (11,'gridz','blocks of the grid'),
    (12,'blockx','threads of a block'),
    (13,'blocky','threads of a block'),
    (14,'blockz','threads of a block'),
    (15,'shared','bytes of dynamic shared memory'),
    (16,'dst','address written to'),
    (17,'src','address read from'),
    (18,'addr','address allocated or freed'),
    (19,'value','fill value'),
    (20,'pitch','bytes per row of memory'),
    (21,'width','bytes or elements per row'),
    (22,'height','rows'),
    (23,'flags','flags'),
    (24,'context','context or library handle (cublasHandle_t, ...)'),
    (25,'pool','memory pool handle'),
    (26,'count','elements (NCCL), calls or ids'),
    (27,'type','element type: the library''s enumeration'),
    (28,'op','operation: transposition, reduction, ...'),
    (29,'root','root rank'),
    (30,'comm','communicator handle'),
    (31,'ranks','number of ranks'),
    (32,'rank','own rank'),
    (33,'m','rows of the result'),
    (34,'n','columns of the result'),
    (35,'k','length of the sum'),
    (36,'batch','matrices or transforms in one call'),
    (37,'atype','type of A: cudaDataType'),
    (38,'btype','type of B'),
    (39,'ctype','type of C'),
    (40,'compute','type computed in'),
    (41,'offset','offset in a file'),
    (42,'unique','hash (FNV-1a) of an ncclUniqueId: equal on all ranks'),
    (43,'color','color of a split: ranks with the same one share a communicator'),
    (44,'key','order of the ranks of a split'),
    (45,'seq','number of the call: on the communicator, or with the peer'),
    (46,'esize','bytes of an element (MPI); 0: not known'),
    (47,'tag','tag of a message (MPI)'),
    (48,'request','request handle (MPI)');

-- @table ENUM_STACK_UNWIND_METHOD always
CREATE TABLE ENUM_STACK_UNWIND_METHOD (
    -- How a stack was unwound.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_STACK_UNWIND_METHOD VALUES
    (0,'Unknown','Unknown'),(1,'FramePointer','Frame pointer'),(2,'UnwindTable','Unwind table'),
    (3,'LR_FramePointer','LR frame pointer'),(4,'LR_UnwindTable','LR unwind table'),
    (5,'KernelContext','Kernel context'),(6,'DWARF_EH','DWARF EH'),(7,'DWARF_DF','DWARF DF'),
    (8,'LBR','LBR'),(255,'Undefined','Undefined');

-- @table ENUM_SAMPLING_THREAD_STATE always
CREATE TABLE ENUM_SAMPLING_THREAD_STATE (
    -- Values of SCHED_EVENTS.threadState and COMPOSITE_EVENTS.threadState.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_SAMPLING_THREAD_STATE VALUES
    (0,'Unknown','Unknown'),(1,'Running','Running'),(2,'Interruptible','Interruptible'),
    (3,'Uninterruptible','Uninterruptible'),(4,'Stopped','Stopped'),(5,'Terminated','Terminated'),
    (6,'Unscheduled','Unscheduled'),(7,'Waiting','Waiting'),(8,'OSRuntime','OS runtime'),
    (9,'Initialized','Initialized'),(10,'Transition','Transition');

-- @table ENUM_SCHEDULING_THREAD_BLOCK always
CREATE TABLE ENUM_SCHEDULING_THREAD_BLOCK (
    -- Values of SCHED_EVENTS.threadBlock.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_SCHEDULING_THREAD_BLOCK VALUES
    (0,'NonBlocked','NonBlocked'),(1,'Unknown','Unknown'),(2,'SigSuspend','SigSuspend'),
    (3,'Stopped','Stopped'),(4,'Nanosleep','Nanosleep'),(5,'Intr','Intr'),(6,'Mutex','Mutex'),
    (7,'CondVar','CondVar'),(8,'Sem','Sem'),(9,'Join','Join'),(10,'SigWaitInfo','SigWaitInfo'),
    (11,'WaitCtx','WaitCtx'),(12,'Send','Send'),(13,'Receive','Receive'),(14,'Reply','Reply'),
    (15,'Stack','Stack'),(16,'WaitThread','WaitThread'),(17,'WaitPage','WaitPage'),
    (18,'NetSend','NetSend'),(19,'NetReply','NetReply'),(20,'FreePage','FreePage'),
    (21,'PageIn','PageIn'),(22,'PoolAllocation','PoolAllocation'),
    (23,'DelayExecution','DelayExecution'),(24,'Suspended','Suspended'),
    (25,'UserRequest','UserRequest'),(26,'EventPair','EventPair'),(27,'Queue','Queue'),
    (28,'LPCReceive','LPCReceive'),(29,'LPCReply','LPCReply'),(30,'VirtualMemory','VirtualMemory'),
    (31,'PageOut','PageOut'),(32,'Rendezvous','Rendezvous'),(33,'KeyedEvent','KeyedEvent'),
    (34,'Terminated','Terminated'),(35,'ProcessInSwap','ProcessInSwap'),
    (36,'CPURateControl','CPURateControl'),(37,'WrCalloutStack','WrCalloutStack'),
    (38,'Kernel','Kernel'),(39,'Resource','Resource'),(40,'PushLock','PushLock'),
    (41,'WindowsMutex','WindowsMutex'),(42,'QuantumEnd','QuantumEnd'),
    (43,'DispatchInt','DispatchInt'),(44,'Preempted','Preempted'),
    (45,'YieldExecution','YieldExecution'),(46,'FastMutex','FastMutex'),
    (47,'GuardedMutex','GuardedMutex'),(48,'Rundown','Rundown'),(49,'ReadyToRun','ReadyToRun'),
    (50,'AlertByThreadId','AlertByThreadId'),(51,'DeferredPreempt','DeferredPreempt'),
    (52,'PhysicalFault','PhysicalFault'),(53,'MqSend','MqSend'),(54,'MqReceive','MqReceive'),
    (55,'MuonMutex','MuonMutex'),(56,'Barrier','Barrier'),(57,'RwlockRead','RwlockRead'),
    (58,'RwlockWrite','RwlockWrite'),(59,'TraceBuffer','TraceBuffer'),
    (60,'InterruptAttachEvent','InterruptAttachEvent'),(61,'TimerDelegate','TimerDelegate');

-- @table ENUM_GPU_CTX_SWITCH always
CREATE TABLE ENUM_GPU_CTX_SWITCH (
    -- Kinds of GPU context switches.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_GPU_CTX_SWITCH VALUES
    (-1,'UnknownGpuCtxswTag','Unknown'),(0,'SOF','SO'),(1,'REQ_BY_HOST','Request by host'),
    (2,'FE_ACK','Front-end ACK'),(3,'FE_ACK_WFI','Front-end ACK WFI'),
    (4,'FE_ACK_GFXP','Front-end ACK GFXP'),(5,'FE_ACK_CTAP','Front-end ACK CTAP'),
    (6,'FE_ACK_CILP','Front-end ACK CILP'),(7,'SAVE_END','Save end'),
    (8,'RESTORE_START','Restore start'),(9,'CONTEXT_START','Context start'),
    (10,'INVALID_TIMESTAMP','Invalid timestamp'),(11,'ENGINE_RESET','Engine reset');

-- @table ENUM_DIAGNOSTIC_SEVERITY_LEVEL always
CREATE TABLE ENUM_DIAGNOSTIC_SEVERITY_LEVEL (
    -- Values of DIAGNOSTIC_EVENT.severity.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_DIAGNOSTIC_SEVERITY_LEVEL VALUES
    (0,'UnknownLevel','Unknown'),(1,'Info','Info'),(2,'Warning','Warning'),(3,'Error','Error'),
    (4,'Verbose','Verbose');

-- @table ENUM_DIAGNOSTIC_SOURCE_TYPE always
CREATE TABLE ENUM_DIAGNOSTIC_SOURCE_TYPE (
    -- Values of DIAGNOSTIC_EVENT.source.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_DIAGNOSTIC_SOURCE_TYPE VALUES
    (0,'UnknownSource','Unknown source'),(1,'Injection','Injection'),(2,'Daemon','Daemon'),
    (3,'Analysis','Analysis');

-- @table ENUM_DIAGNOSTIC_TIMESTAMP_SOURCE always
CREATE TABLE ENUM_DIAGNOSTIC_TIMESTAMP_SOURCE (
    -- Values of DIAGNOSTIC_EVENT.timestampType.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_DIAGNOSTIC_TIMESTAMP_SOURCE VALUES
    (0,'UnknownTimestamp','Unknown timestamp'),(1,'TargetTimestamp','Target timestamp'),
    (2,'HostTimestamp','Host timestamp');

-- @table ENUM_OSRT_FILE_ACCESS_EVENT_TYPE always
CREATE TABLE ENUM_OSRT_FILE_ACCESS_EVENT_TYPE (
    -- Values of OSRT_FILE_ACCESS_EVENTS.eventType.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_OSRT_FILE_ACCESS_EVENT_TYPE VALUES
    (1,'Open','OSRT Open File Action'),(2,'Close','OSRT Close File Action'),
    (3,'Read','OSRT Read from File Action'),(4,'Write','OSRT Write to File Action'),
    (6,'Metadata','OSRT Metadata File Action');

-- @table ENUM_NSYS_GENERIC_EVENT_SOURCE always
CREATE TABLE ENUM_NSYS_GENERIC_EVENT_SOURCE (
    -- Clocks of generic events.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_NSYS_GENERIC_EVENT_SOURCE VALUES
    (0,'NotSpecified','Not Specified'),(1,'ClockMonotonicRaw','Clock Monotoic Raw'),
    (2,'CntVct','Counter-Timer Virtual Count Register'),(3,'SessionNs','Session Nanoseconds');

-- @table ENUM_NSYS_GENERIC_EVENT_GROUP always
CREATE TABLE ENUM_NSYS_GENERIC_EVENT_GROUP (
    -- Origins of generic events.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_NSYS_GENERIC_EVENT_GROUP VALUES
    (0,'Unknown','Unknown'),(1,'FTrace','FTrace'),(2,'NvMedia','NV Media'),
    (3,'Hypervisor','Hypervisor'),(4,'ETW','ETW');

-- @table ENUM_NSYS_GENERIC_EVENT_FIELD_TYPE always
CREATE TABLE ENUM_NSYS_GENERIC_EVENT_FIELD_TYPE (
    -- Number types of generic event fields.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_NSYS_GENERIC_EVENT_FIELD_TYPE VALUES
    (0,'Signed','Signed Integer'),(1,'Unsigned','Unsigned Integer'),(2,'Float','Float'),
    (3,'Double','Double');

-- @table ENUM_NSYS_GENERIC_EVENT_FIELD_ETW_FLAGS always
CREATE TABLE ENUM_NSYS_GENERIC_EVENT_FIELD_ETW_FLAGS (
    -- Map flags of Windows event fields; here for readers that expect the table.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_NSYS_GENERIC_EVENT_FIELD_ETW_FLAGS VALUES
    (1,'EVENTMAP_INFO_FLAG_MANIFEST_VALUEMAP','Manifest Value Map'),
    (2,'EVENTMAP_INFO_FLAG_MANIFEST_BITMAP','Manifest Bitmap'),
    (4,'EVENTMAP_INFO_FLAG_MANIFEST_PATTERNMAP','Manifest Pattern Map'),
    (8,'EVENTMAP_INFO_FLAG_WBEM_VALUEMAP','WBEM Value Map'),
    (16,'EVENTMAP_INFO_FLAG_WBEM_BITMAP','WBEM Bitmap'),
    (32,'EVENTMAP_INFO_FLAG_WBEM_FLAG','WBEM Flag'),
    (64,'EVENTMAP_INFO_FLAG_WBEM_NO_MAP','WBEM No Map');

-- @table ENUM_NSYS_GENERIC_EVENT_FIELD_ETW_PROPERTY always
CREATE TABLE ENUM_NSYS_GENERIC_EVENT_FIELD_ETW_PROPERTY (
    -- Property flags of Windows event fields; here for readers that expect the table.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_NSYS_GENERIC_EVENT_FIELD_ETW_PROPERTY VALUES
    (1,'PropertyStruct','Struct'),(2,'PropertyParamLength','Param Length'),
    (4,'PropertyParamCount','Param Count'),(8,'PropertyWBEMXmlFragment','WBEM XML Fragment'),
    (16,'PropertyParamFixedLength','Param Fixed Length'),
    (32,'PropertyParamFixedCount','Param Fixed Count'),(64,'PropertyHasTags','Has tags'),
    (128,'PropertyHasCustomSchema','Has Custom Schema');

-- @table ENUM_NSYS_GENERIC_EVENT_FIELD_ETW_TYPE always
CREATE TABLE ENUM_NSYS_GENERIC_EVENT_FIELD_ETW_TYPE (
    -- Types of Windows event fields; here for readers that expect the table.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_NSYS_GENERIC_EVENT_FIELD_ETW_TYPE VALUES
    (0,'TDH_INTYPE_NULL','NULL'),(1,'TDH_INTYPE_UNICODESTRING','Unicode String'),
    (2,'TDH_INTYPE_ANSISTRING','ANSI String'),(3,'TDH_INTYPE_INT8','int8'),
    (4,'TDH_INTYPE_UINT8','uint8'),(5,'TDH_INTYPE_INT16','int16'),(6,'TDH_INTYPE_UINT16','uint16'),
    (7,'TDH_INTYPE_INT32','int32'),(8,'TDH_INTYPE_UINT32','uint32'),(9,'TDH_INTYPE_INT64','int64'),
    (10,'TDH_INTYPE_UINT64','uint64'),(11,'TDH_INTYPE_FLOAT','float'),
    (12,'TDH_INTYPE_DOUBLE','double'),(13,'TDH_INTYPE_BOOLEAN','boolean'),
    (14,'TDH_INTYPE_BINARY','binary data'),(15,'TDH_INTYPE_GUID','GUID'),
    (16,'TDH_INTYPE_POINTER','Pointer'),(17,'TDH_INTYPE_FILETIME','File-time'),
    (18,'TDH_INTYPE_SYSTEMTIME','System-time'),(19,'TDH_INTYPE_SID','SID'),
    (20,'TDH_INTYPE_HEXINT32','Hex int32'),(21,'TDH_INTYPE_HEXINT64','Hex int64');

-- @table ENUM_PMU_EVENT_SOURCE always
CREATE TABLE ENUM_PMU_EVENT_SOURCE (
    -- Origins of processor counters.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_PMU_EVENT_SOURCE VALUES
    (1,'ArmPmu','Arm PMU'),(2,'CarmelPmu','Carmel PMU'),(3,'T23XPmuScf','T23X PMU Scf'),
    (4,'T23XPmuDsu','T23X PMU Dsu'),
    (256,'SlCpuPmu','PMU of the CPU'),(257,'SlKernel','Counter of the kernel');

-- @table ENUM_PMU_UNIT_TYPE always
CREATE TABLE ENUM_PMU_UNIT_TYPE (
    -- Units that processor counters belong to.
    id    INTEGER NOT NULL PRIMARY KEY, -- the number that event tables hold
    name  TEXT,                         -- symbol
    label TEXT                          -- text for people
);
INSERT INTO ENUM_PMU_UNIT_TYPE VALUES
    (1,'PmuUnitCore','Pmu Unit Core'),(2,'PmuUnitCpuCluster','Pmu Unit Cpu Cluster'),
    (3,'PmuUnitScf','Pmu Unit Scf');
