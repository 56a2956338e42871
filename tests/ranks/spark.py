"""spark.py - Spark of PyPI's pyspark on this machine: a master and workers on loopback, or one process; questions answered by it."""
import atexit
import os
import re
import signal
import socket
import subprocess
import time


class Gone(Exception):
    """There is no Spark any more, or none has begun."""


class Cluster:
    """A master and @workers of one core and @memory MiB each."""

    def __init__(self, home, folder, workers=2, memory=1024):
        self.home, self.folder, self.memory, self.workers = home, folder, memory, []
        self.env = dict(os.environ, SPARK_HOME=home, SPARK_LOCAL_IP='127.0.0.1', SPARK_NO_DAEMONIZE='1', SPARK_DAEMON_MEMORY='128m', SPARK_DAEMON_JAVA_OPTS='-XX:+UseSerialGC',
                        SPARK_WORKER_DIR=os.path.join(folder, 'work'), SPARK_LOCAL_DIRS=os.path.join(folder, 'local'))
        with socket.socket() as s:
            s.bind(('127.0.0.1', 0))
            self.port = s.getsockname()[1]
        self.url = f'spark://127.0.0.1:{self.port}'
        self.master = self.start('master', 'org.apache.spark.deploy.master.Master', '--host', '127.0.0.1', '--port', str(self.port), '--webui-port', '0')
        for _ in range(workers):
            self.add_worker()
        self.wait()

    def start(self, name, *argv):
        with open(os.path.join(self.folder, f'{name}.log'), 'ab') as log:
            p = subprocess.Popen([os.path.join(self.home, 'bin', 'spark-class'), *argv], env=self.env, stdout=log, stderr=log, start_new_session=True)
        atexit.register(self.kill, p)
        return p

    def add_worker(self):
        self.workers.append(self.start(f'worker{len(self.workers)}', 'org.apache.spark.deploy.worker.Worker', '--host', '127.0.0.1', '--cores', '1',
                                       '--memory', f'{self.memory}m', '--webui-port', '0', self.url))

    @staticmethod
    def kill(p):
        """A process and what it has started: a worker's executors."""
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        p.wait()

    def log(self, name):
        with open(os.path.join(self.folder, f'{name}.log'), encoding='utf-8', errors='replace') as f:
            return f.read()

    def wait(self):
        """Until all workers that were started are known."""
        for _ in range(600):
            if self.log('master').count('Registering worker ') >= len(self.workers):
                return
            if self.master.poll() is not None:
                break
            time.sleep(0.2)
        raise Gone('no master with its workers: ' + self.log('master')[-2000:])


def session(master, folder, memory=640, driver=1024):
    """@master: a cluster's URL, or local[N]; @memory: of an executor, MiB."""
    from pyspark.sql import SparkSession  # pylint: disable=import-outside-toplevel
    # The first compiler is enough for queries of a second.
    java = '-XX:+UseSerialGC -XX:TieredStopAtLevel=1'
    return (SparkSession.builder.master(master).appName('sightline')
            .config('spark.driver.host', '127.0.0.1').config('spark.driver.bindAddress', '127.0.0.1').config('spark.driver.memory', f'{driver}m')
            .config('spark.driver.extraJavaOptions', java).config('spark.executor.extraJavaOptions', java)
            .config('spark.executor.memory', f'{memory}m').config('spark.executor.cores', '1').config('spark.ui.enabled', 'false')
            .config('spark.sql.shuffle.partitions', '2').config('spark.ui.showConsoleProgress', 'false').config('spark.task.maxFailures', '8')
            .config('spark.local.dir', os.path.join(folder, 'local')).config('spark.sql.warehouse.dir', os.path.join(folder, 'warehouse'))
            .config('spark.log.level', 'OFF').getOrCreate())


def ask(spark, text):
    """The columns and rows of the last statement of @text."""
    found = None
    for one in re.split(r';\n', text):
        if one.strip().rstrip(';'):
            found = spark.sql(one.strip().rstrip(';'))
    return found.columns, [[float(v) if type(v).__name__ == 'Decimal' else v for v in row] for row in found.collect()]


def is_gone(error):
    """Whether an error is none of the query: Spark's process was killed, or cannot be reached."""
    return type(error).__module__.startswith('py4j') and type(error).__name__ != 'Py4JJavaError' or isinstance(error, (ConnectionError, EOFError))
