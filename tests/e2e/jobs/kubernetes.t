#!/bin/sh
# The manifest of Kubernetes: valid by its schemas, without a cluster; and what its containers run works as it is written there, each
# pod a process of this machine.
. tests/lib.sh
Y=$TOP/scripts/container/job.yaml
[ -x "$PY" ] || skip_all 'python3 is not installed (package python3)'
"$PY" -m pip install -q --disable-pip-version-check --target "$W/pip" kubernetes-validate >pip.log 2>&1 || skip_all 'PyPI was not reached'
yaml() { PYTHONPATH=$W/pip "$PY" "$@"; }

cat >valid.py <<'E'
import sys
import kubernetes_validate
import yaml
for d in yaml.safe_load_all(open(sys.argv[1])):
    kubernetes_validate.validate(d, '1.31', strict=True)
    print(d['kind'])
E
is "$(yaml valid.py "$Y" 2>&1)" 'Service
Job' 'each document is valid, and has nothing that its schema does not know'
sed 's/completionMode:/completionmode:/' "$Y" >wrong.yaml
yaml valid.py wrong.yaml >/dev/null 2>&1
is $? 1 'the check of documents can fail'

# ---- what it runs ----
GPU=$B/tests/gpu
STANDIN=$B/tests/standin
[ -f "$STANDIN/libcupti.so.13" ] && [ -x "$GPU/ranks" ] || {
	skip "each pod runs the documents' commands" 'the stand-ins are not built'
	done_testing
}
unshare -u true 2>/dev/null || {
	skip "each pod runs the documents' commands" 'host names need root'
	done_testing
}
# The init container's command, on the tree of the image (Containerfile).
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$TOP" B="$B" dist DIST_OUT="$W/dist" </dev/null >dist.log 2>&1
result $? 'make dist succeeds' || diag <dist.log
mkdir opt sightline dataset scratch
tar xzf dist/*.tar.gz -C opt && mv opt/sightline-* opt/sightline
cat >commands.py <<'E'
import shlex
import sys
import yaml
spec = list(yaml.safe_load_all(open(sys.argv[1])))[1]['spec']['template']['spec']
print(shlex.join(spec['initContainers'][0]['command']))
command = spec['containers'][0]['command']
print(shlex.join(command[:command.index('torchrun')]))
E
yaml commands.py "$Y" >commands
# Folders of the pod are below $W here.
here() { sed -n "$1p" commands | sed "s#\([ =']\)/#\1$W/#g; s#^/#$W/#"; }
eval "$(here 1)"
check 'the init container brings the tool' "$W/sightline/bin/sightline" --version
for i in 0 1 2 3; do
	# In place of torchrun: two ranks on each pod. Each pod has a host name of its own.
	cat >pod$i <<E
hostname train-$i && exec $(here 2) -s none \\
	sh -c 'for l in 0 1; do RANK=\$(($i * 2 + l)) LOCAL_RANK=\$l WORLD_SIZE=8 "$GPU/ranks" "$W/meet" 6 10 3 60 & done; wait'
E
	RUN=f00d JOB_COMPLETION_INDEX=$i LD_LIBRARY_PATH=$STANDIN/job:$STANDIN SIGHTLINE_CUPTI=$STANDIN/libcupti.so.13 unshare -u sh pod$i >out.$i 2>err.$i &
done
wait
is "$(ls scratch)" "$(for i in 0 1 2 3; do echo report1-train-$i-$i.sqlite; done)" 'each pod has a report'
is "$(ls dataset/_nodes/*)" 'node=train-0-0.json
node=train-1-2.json
node=train-2-4.json
node=train-3-6.json' 'all reports of the pods are in one run of the dataset' || cat err.* | diag
"$BIN" ranks check -d dataset --fail-on missing,twice,cut,files >check.out 2>&1
result $? 'the run of the pods has eight ranks' || diag <check.out
is "$(sed -n 's/^run \([^:]*\): 8 of 8 ranks on 4 nodes.*/\1/p' check.out)" f00d 'the run of the pods has its name'
done_testing
