#!/bin/sh
# Containers without a daemon: an unpacked Debian tree as root file system, namespaces as those of podman (rootless) and Docker. The
# tool inside, installed by two commands; and outside, with the program inside. What `status` promises is in the report.
# shellcheck disable=SC2086
. tests/lib.sh
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || skip_all 'no apt: the tree is of Debian packages'
[ "$(id -u)" = 0 ] || skip_all 'needs root, to be several users'
user='setpriv --reuid=65534 --regid=65534 --clear-groups'
$user unshare -Urmpf --mount-proc true 2>/dev/null || skip_all 'no user namespaces here'
remake() { env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$TOP" B="$B" "$@" </dev/null; }

# ---- the tree ----
mkdir packages tree && cd packages || exit 1
apt-get download base-files libc6 libc-bin diffutils dash coreutils tar gzip dpkg grep sed findutils libacl1 libattr1 libgmp10 libpcre2-8-0 libselinux1 libssl3 \
	libzstd1 liblzma5 zlib1g libbz2-1.0 libmd0 libgcc-s1 gcc-12-base debconf >../download.log 2>&1
cd ..
for package in packages/*.deb; do dpkg-deb -x "$package" tree 2>/dev/null; done
[ -x tree/bin/dash ] && [ -x tree/bin/ls ] && [ -x tree/usr/bin/dpkg ] || skip_all 'the packages of a tree are not to be had (apt-get update?)'
ln -sf dash tree/bin/sh
mkdir -p tree/proc tree/sys tree/dev tree/tmp tree/out tree/sessions tree/opt tree/var/lib/dpkg/info tree/var/lib/dpkg/updates
: >tree/var/lib/dpkg/status
check 'make dist succeeds' remake dist DIST_OUT="$W/dist"
check 'make deb succeeds' remake deb DIST_OUT="$W/dist"
mkdir tree/pack tool && cp dist/*.tar.gz dist/*.deb tree/pack
tar xzf dist/*.tar.gz -C tool --strip-components=1
mkdir out sessions
chown -R 65534:65534 tree out
chmod 1777 sessions out
cp -a tree rootful && chown -R 0:0 rootful

# COMMAND in the tree, which begins a PID namespace; CAPS: what root may there, "-": all. The host's $W/out is /out; its tool and
# sessions are where they are outside.
cat >enter <<EOF
t=\$1 caps=\$2 && shift 2
mount --rbind /dev \$t/dev && mount --rbind /sys \$t/sys && mount -t tmpfs tmpfs \$t/tmp && chmod 1777 \$t/tmp && mkdir -p \$t'$W/tool' \$t'$W/sessions' && mount --bind '$W/out' \$t/out &&
	mount --bind '$W/tool' \$t'$W/tool' && mount --bind '$W/sessions' \$t'$W/sessions' || exit 99
[ \$caps != - ] || exec unshare -pf --root=\$t --mount-proc "\$@"
exec unshare -pf --root=\$t --mount-proc /pack/caps \$caps "\$@"
EOF
ROOTLESS="$user unshare -Urm sh $W/enter $W/tree -"
rootless() { (unset SIGHTLINE_SESSIONS && cd / && PATH=/usr/sbin:/usr/bin:/sbin:/bin $ROOTLESS "$@"); }
# As Docker's root: these capabilities, and those given. setpriv, which is not in the tree, takes the others away.
DOCKER=chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap,net_bind_service,net_raw,sys_chroot,mknod,audit_write,setfcap
docker() { # MORE COMMAND...
	docker_caps="-all,+$(echo $DOCKER$1 | sed 's/,/,+/g')"
	shift
	(unset SIGHTLINE_SESSIONS && cd / && PATH=/usr/sbin:/usr/bin:/sbin:/bin unshare -mui sh "$W/enter" "$W/rootful" "$docker_caps" "$@")
}
mkdir rootful/caps.d
for f in $(command -v setpriv) $(ldd "$(command -v setpriv)" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p'); do cp -L "$f" rootful/caps.d/; done
cat >rootful/pack/caps <<'EOF'
#!/bin/sh
c=$1 && shift
exec env LD_LIBRARY_PATH=/caps.d /caps.d/setpriv --bounding-set="$c" env -u LD_LIBRARY_PATH "$@"
EOF
chmod 755 rootful/pack/caps

PROGRAM='ls / >/dev/null; for i in 1 2 3; do cat /etc/os-release | (cat; ls /bin | sort >/dev/null) >/dev/null; done; exit 6'
OPTIONS='--osrt-threshold=0 --osrt-file-access=true'
processes() { q "$R" 'SELECT count(DISTINCT globalPid) FROM SL_PROCESS_TREE'; }
consistent() { # every row's process is in the tree, every process has ended and has a number
	is "$(q "$R" "SELECT (SELECT count(*) FROM SL_PROCESS_TREE WHERE end IS NULL), (SELECT count(*) FROM SL_PROCESS_TREE WHERE (globalPid >> 24 & 0xffffff) NOT BETWEEN 1 AND 4194304),
		(SELECT count(*) FROM OSRT_API WHERE globalTid >> 24 NOT IN (SELECT globalPid >> 24 FROM SL_PROCESS_TREE)),
		(SELECT count(*) FROM SCHED_EVENTS WHERE globalTid >> 24 NOT IN (SELECT globalPid >> 24 FROM SL_PROCESS_TREE)),
		(SELECT count(*) > 100 FROM OSRT_API), (SELECT min(exitStatus) FROM SL_PROCESS_TREE WHERE globalPid = (SELECT globalPid FROM SL_PROCESS_TREE ORDER BY start LIMIT 1) AND exitStatus IS NOT NULL) IN (6, 6 * 256)" 2>&1)" \
		'0|0|0|0|1|1' "$1: ids are consistent, calls are there, and the exit status"
}
# What `status` names ok is there, and what it does not is not.
as_status() { # NAME STATUS-FILE
	case $(grep -E '^(eBPF|perf_event_open)' "$2") in
	*' ok '*) as_want=1 ;;
	*) as_want=0 ;;
	esac
	is "$(q "$R" 'SELECT count(*) > 0 FROM SCHED_EVENTS')" $as_want "$1: context switches are there as status promises ($as_want)"
	[ $as_want = 1 ] || is "$(q "$R" "SELECT count(*) > 0 FROM DIAGNOSTIC_EVENT WHERE text LIKE '%context switches%'")" 1 "$1: missing context switches have a line in the report"
	check "$1: status names library calls ok" grep -q '^Library calls  *ok' "$2"
}
inside() { # NAME ENTER...: the installed tool
	inside_name=$1
	shift
	rm -f out/*
	"$@" sightline status >"$W/status" 2>&1
	"$@" sightline profile -s none $OPTIONS -o /out/run sh -c "$PROGRAM" >log 2>&1
	is $? 6 "$inside_name: the exit status is that of the program" || diag <log
	R=$W/out/run.sqlite
	consistent "$inside_name"
	as_status "$inside_name" "$W/status"
}

# ---- installed by two commands ----
check 'rootless: dpkg installs the package' rootless sh -c 'dpkg -i /pack/sightline_*.deb && sightline --version'
inside 'rootless, package' rootless
is "$(processes)" 17 'rootless: the report has each process of the program'
check 'rootless: dpkg removes the package' rootless dpkg -r sightline
check 'rootless: the tarball can be installed' rootless sh -c 'tar xzf /pack/sightline-*.tar.gz -C /opt --no-same-owner && ln -s /opt/sightline-*/bin/sightline /usr/bin/ && sightline --version'
inside 'rootless, tarball' rootless
check 'root: dpkg installs the package' docker '' sh -c 'dpkg -i /pack/sightline_*.deb && sightline --version'
inside 'root without CAP_BPF' docker ''
grep -q '^Privileges  *ok' "$W/status"
is $? 1 'status without CAP_BPF does not name the privileges ok'
inside 'root with CAP_BPF and CAP_PERFMON' docker ',bpf,perfmon'
check 'status with CAP_BPF and CAP_PERFMON names them' grep -q '^Privileges  *ok .*CAP_BPF' "$W/status"

# ---- the collector outside, the program inside ----
outside() { # NAME ENTER...
	outside_name=$1
	shift
	rm -f out/*
	SIGHTLINE_SESSIONS=$W/sessions "$W/tool/bin/sightline" profile -s none $OPTIONS -o "$W/out/run" "$@" sh -c "$PROGRAM" >log 2>&1
	is $? 6 "$outside_name: the exit status is that of the program" || diag <log
	R=$W/out/run.sqlite
	consistent "$outside_name"
	is "$(q "$R" "SELECT count(*), min(traced) FROM SL_PROCESS_TREE WHERE exe LIKE '%/cat' OR exe LIKE '%/ls' OR exe LIKE '%/sort'")" '13|1' \
		"$outside_name: programs of the container are traced"
	is "$(q "$R" "SELECT count(*) FROM SL_PROCESS_TREE WHERE globalPid >> 24 & 0xffffff < 300")" 0 "$outside_name: processes have the numbers that they have outside"
}
cat >in-rootless <<EOF
#!/bin/sh
cd / && PATH=/usr/sbin:/usr/bin:/sbin:/bin exec $ROOTLESS "\$@"
EOF
chmod 755 in-rootless
outside 'collector outside' ./in-rootless
done_testing
