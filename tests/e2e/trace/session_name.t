#!/bin/sh
# Programs of root outlive their session. Another user takes the session's name: they run untraced, and nothing of the other user's
# is read, mapped, connected to or executed.
# shellcheck disable=SC2016,SC2086
. tests/lib.sh

[ "$(id -u)" = 0 ] || skip_all 'needs root: the name is taken by another user'
AS='setpriv --reuid=65534 --regid=65534 --clear-groups'
$AS true 2>/dev/null || skip_all 'setpriv cannot change the user'
mkdir -m 700 rootonly
mkdir -m 777 theirs
mkdir theirs/evil
cat >theirs/evil/sitecustomize.py <<END
open("$W/rootonly/ran", "a").write("code of another user\n")
END
head -c 100 /dev/zero >data
chmod -R a+rX theirs data
sessions() { ls "$SIGHTLINE_SESSIONS"; }

# Programs of the old tree: they start when the name is taken, and say how they ended.
cat >tree.sh <<'END'
touch started
while [ ! -e go ]; do sleep 0.02; done
for i in 1 2 3; do
	"$1" -c 'import socket'
	printf '%s ' $?
	"$2" data 50 >/dev/null
	printf '%s ' $?
done >status
END
# Takes the name DIR, and prints the user id of each process that connects. Until "stop".
cat >taker.py <<'END'
import array, os, shutil, socket, sys
d, how, control, evil = sys.argv[1:]
os.umask(0)
if how == "link":
    os.mkdir("theirs/" + how, 0o755)
    os.symlink(os.path.abspath("theirs/" + how), d)
elif how == "moved":
    os.rename(d + ".spare", d)
else:
    os.mkdir(d, 0o755)
shutil.copy(control, d + "/control")
os.chmod(d + "/control", 0o644)
if how == "cut":
    os.truncate(d + "/control", 0)
open(d + "/python", "w").write(evil)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(d + "/socket")
os.chmod(d + "/socket", 0o777)
s.listen(50)
s.settimeout(0.05)
print("taken", flush=True)
while not os.path.exists("stop"):
    try:
        c = s.accept()[0]
    except socket.timeout:
        continue
    fds = array.array("i")
    for _, _, data in c.recvmsg(4096, socket.CMSG_SPACE(16))[1]:
        fds.frombytes(data[:len(data) // 4 * 4])
    print("hello", len(fds), flush=True)
END

# $user: whose folder has the name; "" is root.
taken() { # HOW NAME
	rm -f started go stop status took rootonly/ran n.sqlite*
	rm -rf theirs/link
	"$BIN" profile -f true -o n --session-new=n --python-step=__main__:f sh tree.sh "$PY" "$PROG/repeat" >out 2>err &
	job=$!
	wait_for 20 eval '[ -e started ] && [ -e "$SIGHTLINE_SESSIONS"/*/python ]'
	dir=$SIGHTLINE_SESSIONS/$(sessions | head -1)
	$user cp "$dir/control" theirs/control
	# Another inode than the folder that goes.
	[ $1 != moved ] || $user mkdir "$dir.spare"
	"$BIN" shutdown --session=n --kill=none >out 2>&1
	wait_for 20 test ! -e "$dir"
	$user "$PY" taker.py "$dir" $1 theirs/control "$W/theirs/evil" >took 2>&1 &
	taker=$!
	wait_for 20 grep -q . took
	touch go
	wait_for 60 eval '[ "$(wc -w <status)" = 6 ]'
	touch stop
	wait $taker
	wait $job
	is "$(cat status)" '0 0 0 0 0 0 ' "$2: the programs end with their status"
	is "$(cat took)" taken "$2: no program connects"
	check "$2: no program runs code from the folder" [ ! -e rootonly/ran ]
	rm -rf "${SIGHTLINE_SESSIONS:?}"/* theirs/control
}
user=$AS
taken folder 'folder of another user'
taken link 'link to a folder of another user'
taken cut 'folder of another user with an empty control file'
user=
taken moved 'later folder of root itself'

# Root's folder is the session's, its files and its socket are not.
stand_in() { # HOW NAME
	rm -f started go stop status took rootonly/ran
	"$BIN" profile -f true -o n --python-step=__main__:f sh tree.sh "$PY" "$PROG/repeat" >out 2>err &
	job=$!
	wait_for 20 eval '[ -e started ] && [ -e "$SIGHTLINE_SESSIONS"/*/python ]'
	dir=$SIGHTLINE_SESSIONS/$(sessions | head -1)
	case $1 in
	python)
		printf %s "$W/theirs/evil" >theirs/python
		chown 65534 theirs/python
		mv theirs/python "$dir/python"
		;;
	socket)
		$AS "$PY" -c 'if True:
			import os, socket, sys
			s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
			s.bind("theirs/socket")
			os.chmod("theirs/socket", 0o777)
			s.listen(50)
			print("taken", flush=True)
			s.settimeout(0.05)
			while not os.path.exists("stop"):
			    try:
			        c = s.accept()[0]
			        print("hello", len(c.recv(4096)), flush=True) if c.recv(1, socket.MSG_PEEK) else None
			    except socket.timeout:
			        pass' >took 2>&1 &
		taker=$!
		wait_for 20 grep -q . took
		mv theirs/socket "$dir/socket"
		;;
	writable) chmod 666 "$dir/control" ;;
	esac
	touch go
	wait $job
	touch stop
	is "$(cat status)" '0 0 0 0 0 0 ' "$2: the programs end with their status"
	check "$2: no program runs code from it" [ ! -e rootonly/ran ]
	case $1 in
	socket) wait $taker && is "$(cat took)" taken "$2: no program sends a hello to it" ;;
	writable) is "$(q n.sqlite "SELECT count(*) FROM call WHERE name LIKE 'pread%'")" 0 "$2: no program maps it" ;;
	esac
}
stand_in python 'list of folders for Python that belongs to another user'
stand_in socket 'socket of another user'
stand_in writable 'control file that all may write'
is "$(sessions)" '' 'no session is left'
done_testing
