#!/bin/sh
# Shell jobs: job.sh PYTHON KIND bad|good, in a folder of its own.
py=$1 how=$3 here=$(dirname "$0")
work() { "$py" "$here/work.py" "$@" >/dev/null; }
case $2 in
background) # two in the background, and wait
	work small good &
	work digest "$how" &
	wait
	;;
loop) # waits by asking
	work check "$how" &
	while kill -0 $! 2>/dev/null; do sleep 0.05; done
	;;
xargs) # two at a time; one item is large
	printf '%s\n' small link small | xargs -P2 -n1 sh -c '"$0" "$1/work.py" "$3" "$2" >/dev/null' "$py" "$here" "$how"
	;;
make) # the last step runs alone
	printf 'all: a b\n\t@"%s" "%s" link %s >/dev/null\na b:\n\t@"%s" "%s" small good >/dev/null\n' "$py" "$here/work.py" "$how" "$py" "$here/work.py" >Makefile
	MAKEFLAGS='' make -s -j2
	;;
timeout) timeout 60 "$py" "$here/work.py" fetch "$how" >/dev/null ;;
pack) # a pipeline: its compressor is far too thorough
	"$py" -c 'import random; r = random.Random(1); print("\n".join("%d,%s" % (i, r.choice("abc") * 5) for i in range(120000)))' >table.csv
	[ "$how" = bad ] && level=-17 || level=-1
	tar cf - table.csv | zstd -q $level -T1 -c | cat >table.tar.zst
	;;
gzip) # file by file
	for i in 1 2 3 4; do seq 1 120000 >part$i; done
	[ "$how" = bad ] && level=-9 || level=-1
	for i in 1 2 3 4; do gzip $level -c part$i >part$i.gz; done
	;;
xz) # in a subshell
	seq 1 150000 >part
	[ "$how" = bad ] && level=-9e || level=-0
	(xz $level -T1 -c part; echo) | wc -c >size
	;;
reader) # the reader at the end of a pipeline reads byte by byte
	seq 1 60000 | "$py" "$here/pack.py" reader "$how"
	;;
hook) # a commit that a hook holds up
	git init -q . && git config user.email a@b && git config user.name a && echo a >a && git add a
	printf '#!/bin/sh\n"%s" "%s" check %s >/dev/null\n' "$py" "$here/work.py" "$how" >.git/hooks/pre-commit
	chmod +x .git/hooks/pre-commit
	git commit -q -m a
	;;
zip) # adds a large file, compressed far too thoroughly
	git init -q . && seq 1 1200000 >a
	[ "$how" = bad ] && level=9 || level=1
	git -c core.compression=$level add a
	;;
sleep) # a retry that sleeps although the file is there
	for i in 1 2 3 4; do
		[ -e ready ] || touch ready
		if [ "$how" = bad ]; then sleep 0.2; fi
	done
	;;
each) # a program for each line
	seq 1 300 >lines
	if [ "$how" = bad ]; then
		while read -r line; do expr "$line" + 1; done <lines >out
	else
		awk '{ print $1 + 1 }' lines >out
	fi
	;;
esac
echo 'done'
