#!/bin/sh
# fork_within.t - forkpty and daemon return in a child, whose ring is its parent's until its first call: the parent's records stay
# the parent's, and calls of the child are outermost calls on files of its own.
. tests/lib.sh
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'

cat >ptys.py <<'END'
import os
for i in range(20):
    pid, fd = os.forkpty()
    if not pid:
        os.path.exists("/mark")
        os._exit(3)
    os.write(1, b"%d " % pid)
    assert os.waitpid(pid, 0)[1] == 3 << 8
    os.close(fd)
END
profile ptys --osrt-threshold=0 "$PY" -S -E ptys.py >out 2>err
is "$?" 0 'a program with 20 children by forkpty ends with status 0'
is "$(q "$R" "SELECT group_concat(ret, ' ') || ' ' FROM (SELECT ret FROM call WHERE name = 'forkpty' ORDER BY start)")" "$(cat out)" 'each forkpty has one row, of the parent, with the pid of the child'
is "$(q "$R" "SELECT count(*) FROM call a JOIN call b ON a.tid = b.tid AND a.level = 0 AND b.level = 0 AND b.id <> a.id AND b.start > a.start AND b.start < a.end")" 0 'forkpty: no outermost call begins within another one of its thread'
is "$(q "$R" "SELECT count(DISTINCT pid), max(level) FROM call WHERE path = '/mark'")" '20|0' 'forkpty: the first call of each child is one of the outermost'
is "$(q "$R" "SELECT count(*) FROM SL_LOST_EVENTS WHERE $RECORDS")" 0 'forkpty: no record is lost'

cat >daemon.py <<'END'
import ctypes, os, sys
if ctypes.CDLL(None).daemon(1, int(sys.argv[1])):
    os._exit(1)
os.path.exists("/mark")
os.write(1, b"written")
os.close(os.open("made", os.O_CREAT | os.O_WRONLY))
END
for noclose in 0 1; do
	rm -f made
	profile "daemon$noclose" --osrt-threshold=0 "$PY" -S -E daemon.py $noclose >out 2>err
	is "$? $(cat out)" "0 $([ $noclose = 1 ] && echo written)" "daemon(1, $noclose): status and output are as without the tracer"
	is "$(q "$R" "SELECT count(*) FROM call JOIN SL_PROCESS_TREE t ON t.globalPid >> 24 & 0xffffff = pid WHERE call.end > t.end AND kind <> 1
		AND call.start < t.end")" 0 "daemon(1, $noclose): no call ends after its process"
	is "$(q "$R" "SELECT count(*), sum(errors) FROM (SELECT name, 0 errors FROM call UNION ALL SELECT name, errorCount FROM total WHERE count > 0) WHERE name = 'daemon'")" '1|0' "daemon(1, $noclose): the call is counted once"
	is "$(q "$R" "SELECT level FROM call WHERE path = '/mark'")" 0 "daemon(1, $noclose): calls of the child are the outermost"
	is "$(q "$R" "SELECT path = '/dev/null' FROM call WHERE name = 'write' AND asked = 7")" $((1 - noclose)) "daemon(1, $noclose): the child writes to the file that it has"
done
done_testing
