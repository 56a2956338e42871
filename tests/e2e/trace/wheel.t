#!/bin/sh
# wheel.t - the wheel in environments of several Pythons, by pip and by uv, of root and of another user: installed without a network, records,
# answers as `python -m sightline_trace`, and leaves nothing.
. tests/lib.sh
command -v make >/dev/null || skip_all 'make is not installed'
[ -n "$("${CC:-gcc}" -print-file-name=libsqlite3.a | grep /)" ] || skip_all 'there is no static SQLite (package libsqlite3-dev)'

env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$TOP" B="$B" wheel DIST_OUT="$W/dist" </dev/null >make.log 2>&1
result $? 'make wheel succeeds' || diag <make.log
wheel=$(ls dist/*.whl)
if command -v advzip >/dev/null; then
	check 'the wheel has at most 4 MB' test "$(stat -c %s "$wheel")" -le 4000000
else
	skip 'the wheel has at most 4 MB' 'advzip is not installed (package advancecomp)'
fi
if command -v auditwheel >/dev/null; then
	tag=$(auditwheel show "$wheel" 2>&1 | tr '\n' ' ' | sed -n 's/.*consistent with the following platform tag: "manylinux_2_\([0-9]*\)_.*/\1/p')
	check 'auditwheel finds no symbol newer than the tag of the wheel' test "${tag:-99}" -le 31
else
	skip 'auditwheel finds no symbol newer than the tag of the wheel' 'auditwheel is not installed (pip install auditwheel)'
fi
cat >program.py <<'END'
import sightline_trace as st
for _ in range(3):
    with st.step():
        pass
print(st.is_traced())
END
cat >ask.py <<'END'
import sys
import sightline_trace as st
print(st.stats(sys.argv[1], "step_sum")[0]["Steps"], st.why(sys.argv[1])["wall"]["ns"] > 0)
END
# PREFIX runs what uses the wheel: nothing, or as another user.
uses() { # PYTHON FOLDER [PREFIX...]
	uses_python=$1 uses_folder=$2
	shift 2
	# shellcheck disable=SC2016 # words of the inner shell
	"$@" env HOME="$uses_folder" PIP_DISABLE_PIP_VERSION_CHECK=1 SIGHTLINE_SESSIONS="$SIGHTLINE_SESSIONS" sh -ec 'cd "$2"
		"$1" -m venv venv
		venv/bin/pip -q install --no-index --no-deps "$3"
		venv/bin/sightline profile -f true -o run venv/bin/python "$4/program.py"
		venv/bin/python -m sightline_trace info run.sqlite >info.txt
		venv/bin/python "$4/ask.py" run.sqlite
		venv/bin/pip -q uninstall -y sightline-trace
		find venv -name "*sightline*" ! -name __pycache__ ! -name "*.pyc"' - "$uses_python" "$uses_folder" "$W/$wheel" "$W" 2>"$uses_folder/err"
}

for python in $(pythons '(3, 8) <= sys.version_info[:2]'); do
	version=$("$python" -c 'import platform; print(platform.python_version())')
	mkdir "venv-$version"
	if "$python" -m venv "venv-$version/try" 2>/dev/null; then
		rm -r "venv-$version/try"
		is "$(uses "$python" "$W/venv-$version")" 'True
3 True' "Python $version: installed offline, records, answers, leaves nothing" || diag <"venv-$version/err"
	else
		skip "Python $version: installed offline, records, answers, leaves nothing" 'it makes no environments'
	fi
done

mkdir -m 777 user
if [ "$(id -u)" -ne 0 ]; then
	skip 'another user: installed offline, records, answers, leaves nothing' 'needs root'
elif ! "$PY" -m venv user/try 2>/dev/null; then
	skip 'another user: installed offline, records, answers, leaves nothing' "$PY makes no environments"
else
	rm -r user/try
	chown 65534:65534 user
	is "$(uses "$PY" "$W/user" setpriv --reuid=65534 --regid=65534 --clear-groups)" 'True
3 True' 'another user: installed offline, records, answers, leaves nothing' || diag <user/err
fi

if command -v uv >/dev/null; then
	mkdir uv
	with_uv() {
		env HOME="$W/uv" XDG_DATA_HOME="$W/uv/data" XDG_CACHE_HOME="$W/uv/cache" XDG_BIN_HOME="$W/uv/bin" UV_OFFLINE=1 UV_NO_INDEX=1 \
			UV_NO_CONFIG=1 uv --quiet tool "$@"
	}
	check 'uv tool install takes the wheel' with_uv install --python "$PY" "$wheel"
	check 'uv: the command records' uv/bin/sightline profile -f true -o by_uv true
	check 'uv: the command answers' uv/bin/sightline info by_uv.sqlite
	check 'uv tool uninstall succeeds' with_uv uninstall sightline-trace
	is "$(find uv -name '*sightline*' ! -path '*/cache/*')" '' 'uv leaves nothing but its cache'
else
	skip 'uv tool install takes the wheel' 'uv is not installed (pip install uv)'
fi
done_testing
