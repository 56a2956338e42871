#!/bin/sh
# What `make install` and `make dist` leave works where it lies, and libtrace.so starts on old systems.
. tests/lib.sh
command -v make >/dev/null && command -v readelf >/dev/null || skip_all 'needs make and binutils'

# Builds happened before; here make only copies. Its own variables must not leak into ours.
remake() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$TOP" B="$B" "$@" </dev/null
}
runs_from() { # FOLDER: the command finds its library, and the library its command
	"$1/bin/sightline" profile --cpuctxsw=none -f true -o "$W/run" /bin/cat /dev/null &&
		[ "$(sqlite3 "$W/run.sqlite" "SELECT count(*) > 0 FROM SL_PROCESS_TREE WHERE traced = 1")" = 1 ] &&
		rm -f "$W/bare.sqlite" &&
		SIGHTLINE_OUTPUT=$W/bare.sqlite LD_PRELOAD=$1/lib/sightline/libtrace.so /bin/cat /dev/null &&
		wait_for 20 finished "$W/bare.sqlite" &&
		[ "$(sqlite3 "$W/bare.sqlite" "SELECT count(*) > 0 FROM SL_PROCESS_TREE WHERE traced = 1")" = 1 ]
}

# ---- libtrace.so ----
check 'libtrace.so needs libc alone, of glibc 2.31 or older' sh "$TOP/scripts/check-shim" "$SHIM" 2.31
check 'check-shim fails for a symbol that is newer than its limit' sh -c '! sh "$0" "$1" 2.1' "$TOP/scripts/check-shim" "$SHIM"
program=$(command -v bash)
check 'check-shim fails for a program that needs another library' sh -c '! sh "$0" "$1" 9.99' "$TOP/scripts/check-shim" "$program"
check 'all that libtrace.so uses in programs is listed, with reasons' sh -c 'cd "$1" && sh scripts/check-imports "$0"' "$SHIM" "$TOP"
grep -v '^memcpy' "$TOP/preload/imports.txt" >"$W/imports.txt"
check 'check-imports fails for a function that is not listed' sh -c 'cd "$1" && ! sh scripts/check-imports "$0" "$2"' "$SHIM" "$TOP" "$W/imports.txt"

# ---- install ----
check 'make install succeeds' remake install DESTDIR="$W/dest" PREFIX=/opt/sl
for f in bin/sightline lib/sightline/libtrace.so share/man/man1/sightline.1 share/man/man1/sightline-profile.1 \
	share/man/man5/sightline-schema.5 share/man/man7/libtrace.7 \
	share/bash-completion/completions/sightline share/zsh/site-functions/_sightline share/doc/sightline/LICENSE lib/sightline/ci/gate lib/sightline/ci/action.yml share/doc/sightline/SECURITY.md; do
	check "make install leaves $f" test -s "$W/dest/opt/sl/$f"
done
is "$(find "$W/dest" ! -type d ! -path "$W/dest/opt/sl/*")" '' 'make install leaves nothing outside its prefix'
is "$(find "$W/dest" -name '.*' ! -type d)" '' 'make install leaves no half-done file'
check 'the installed sightline and libtrace.so run from their prefix' runs_from "$W/dest/opt/sl"
check 'make install over an installed copy succeeds' remake install DESTDIR="$W/dest" PREFIX=/opt/sl

# ---- dist ----
if [ -z "$("${CC:-gcc}" -print-file-name=libsqlite3.a | grep /)" ]; then
	skip 'make dist succeeds' 'there is no static SQLite (package libsqlite3-dev)'
	done_testing
fi
check 'make dist succeeds' remake dist DIST_OUT="$W/dist"
tarball=$(ls "$W"/dist/sightline-*.tar.gz)
mkdir elsewhere
check 'make dist succeeds again' remake dist DIST_OUT="$W/again"
check 'two tarballs of one tree have equal bytes' cmp "$tarball" "$W/again/${tarball##*/}"
check 'the tarball has one folder' sh -c '[ "$(tar tzf "$0" | cut -d/ -f1 | sort -u | wc -l)" -eq 1 ]' "$tarball"
tar xzf "$tarball" -C elsewhere
mv elsewhere/sightline-* elsewhere/moved
check 'sightline of the tarball needs no shared library' sh -c '! readelf -dW "$0" | grep NEEDED' "$W/elsewhere/moved/bin/sightline"
check 'the unpacked tarball runs from wherever it lies' runs_from "$W/elsewhere/moved"
if [ "$(id -u)" -eq 0 ]; then
	# A root with nothing but what the tarball brought: no libc, no shell.
	mkdir -p empty/proc empty/tmp
	cp -r elsewhere/moved empty/opt
	check "the tarball's sightline runs where nothing is installed" sh -c '[ "$(chroot "$0" /opt/bin/sightline --version)" ]' "$W/empty"
	is "$(chroot "$W/empty" /opt/bin/sightline --version | sed -n 's/^build: static, git [^,]*, compiler .*/build/p; s/^features: .*zlib.*/features/p' | paste -sd ' ')" \
		'build features' "the tarball's sightline names its build and features"
	check "the tarball's sightline reads reports where nothing is installed" sh -c 'cp "$1/run.sqlite" "$0/tmp/" && chroot "$0" /opt/bin/sightline stats /tmp/run.sqlite' "$W/empty" "$W"
else
	skip "the tarball's sightline runs where nothing is installed" 'chroot needs root'
fi

# ---- deb ----
if command -v dpkg-deb >/dev/null; then
	check 'make deb succeeds' remake deb DIST_OUT="$W/dist"
	deb=$(ls "$W"/dist/sightline_*.deb)
	is "$(dpkg-deb -f "$deb" Package Depends)" 'Package: sightline' 'the .deb needs no other package'
	is "$(dpkg-deb -c "$deb" | awk '$2 != "root/root" || $6 !~ "^[.]/(usr/.*)?$"')" '' 'all files of the .deb are of root, below /usr'
	check 'the .deb unpacks' dpkg-deb -x "$deb" "$W/unpacked"
	check 'sightline runs from the unpacked .deb' runs_from "$W/unpacked/usr"
	check 'make deb succeeds again' remake deb DIST_OUT="$W/again"
	check 'two packages of one tree have equal bytes' cmp "$deb" "$W/again/${deb##*/}"
	check 'make apt succeeds' remake apt DIST_OUT="$W/dist"
	if command -v apt-get >/dev/null; then
		mkdir -p apt/state/lists/partial apt/cache/archives/partial
		echo "deb [trusted=yes] file://$W/dist/apt stable main" >apt/list
		from_apt() {
			"$@" -o Dir::State="$W/apt/state" -o Dir::State::status=/dev/null -o Dir::Cache="$W/apt/cache" -o Dir::Etc::sourcelist="$W/apt/list" \
				-o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferencesparts=/dev/null -o APT::Sandbox::User=root -o Acquire::Languages=none
		}
		check 'apt takes the repository' from_apt apt-get -q update
		is "$(from_apt apt-cache policy sightline | awk '$1 == "Candidate:" { print $2 }')" "$("$BIN" --version | awk 'NR == 1 { print $2 }')" \
			'apt finds the package of the repository'
		check 'apt gets the package of the repository' from_apt apt-get -q download sightline
		check 'the package from the repository is the one that was built' cmp "$deb" "$(ls sightline_*.deb)"
	else
		skip 'apt takes the repository' 'no apt-get here'
	fi
else
	skip 'make deb succeeds' 'no dpkg-deb here'
fi

# ---- gpu-pack: what a machine with a GPU is brought; nothing of the tree is there ----
# ---- wheel ----
check 'make wheel succeeds' remake wheel DIST_OUT="$W/wheel1"
wheel=$(ls "$W"/wheel1/*.whl)
check 'make wheel succeeds again' remake wheel DIST_OUT="$W/wheel2"
check 'two wheels of one tree have equal bytes' cmp "$wheel" "$W/wheel2/${wheel##*/}"
if "$PY" -m venv "$W/venv" 2>/dev/null && "$W/venv/bin/pip" -q install --no-index --no-deps "$wheel" 2>pip.err; then
	cat >marked.py <<'END'
import sightline_trace as st


@st.range("work", domain="mine")
def work():
    pass


for _ in [0] * 7:
    with st.step():
        work()
print(st.is_traced())
END
	is "$("$W/venv/bin/python" marked.py)" False 'a program that is not traced runs with its marks'
	is "$("$W/venv/bin/python" -m sightline_trace profile -f true -o marked "$W/venv/bin/python" marked.py 2>/dev/null)" True \
		'the installed command records a program of its environment'
	is "$("$W/venv/bin/python" - marked.sqlite <<'END'
import sys
import sightline_trace as st
report = sys.argv[1]
print(st.stats(report, "step_sum")[0]["Steps"], [r["Instances"] for r in st.stats(report, "nvtx_pushpop_sum") if r["Range"] == "mine:work"], st.why(report)["wall"] is not None)
try:
    print(st.connect(report).execute("SELECT count(*) FROM NVTX_EVENTS").fetchone()[0] >= 14)
except st.ReportError as error:
    print("extensions" in str(error))
try:
    st.why("none.sqlite")
except st.ReportError as error:
    print("none.sqlite" in str(error))
END
	)" '7 [7] True
True
True' 'the module reads steps, ranges and the answer of a report, and names one that is missing'
	check 'pip removes the wheel' "$W/venv/bin/pip" -q uninstall -y sightline-trace
	is "$(find "$W/venv" -name '*sightline*' ! -name '__pycache__')" '' 'nothing of the wheel is left'
else
	skip 'the wheel can be used' "no venv or pip here: $(tail -n 1 pip.err 2>/dev/null)"
fi

check 'make gpu-pack succeeds' remake gpu-pack GPU_PACK="$W/pack/gpu" KIT_READY= NVCC=
is "$(find "$W/pack" -name gpu.tar.gz -size -20480k | wc -l)" 1 'gpu.tar.gz stays below 20 MB'
mkdir there
tar xzf "$W/pack/gpu.tar.gz" -C there
cp -rL "$B/tests/standin" there/standin
cat >there/run <<'EOF'
cd "$1" && LD_LIBRARY_PATH=$1/standin SIGHTLINE_CUPTI=$1/standin/libcupti.so.13 SIGHTLINE_SESSIONS=$1 TMPDIR=$1 HOME=$1 \
	python3 gpu/tests/gpu/check-gpu --standin 'the machine' 'what CUPTI' 'driver calls' 'nodes' 'LD_PRELOAD' '20 ends'
EOF
if bwrap --dev-bind / / true 2>/dev/null; then
	bwrap --ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64 --symlink usr/bin /bin --proc /proc --dev /dev \
		--tmpfs /tmp --bind "$W/there" /there /bin/sh /there/run /there >out 2>err
	is "$?$(grep -c ^passed out)" 07 'check-gpu runs from the unpacked gpu.tar.gz, with Python alone' || cat out err | diag
else
	skip 'check-gpu runs from the unpacked gpu.tar.gz, with Python alone' 'bwrap does not run here'
fi
done_testing
