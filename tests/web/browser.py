"""browser.py - a headless Chromium, driven over its DevTools protocol through two pipes.

Nothing but the standard library: a message is JSON and ends with a NUL. As a program it takes
pictures: browser.py PAGE.html OUT.png [WIDTH [HEIGHT [dark]]]
"""
import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

PATIENCE = 30  # seconds
NAMES = ('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome')


def find():
    """Path of a browser, or None."""
    return next((p for p in map(shutil.which, NAMES) if p), None)


class Browser:
    def __init__(self, path=None):
        self.profile = tempfile.mkdtemp(prefix='browser.')
        there, self.out = os.pipe()
        self.inp, back = os.pipe()

        def place():  # Chromium reads from 3 and writes to 4
            os.dup2(there, 103)
            os.dup2(back, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)

        self.process = subprocess.Popen(
            [path or find(), '--headless=new', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe',
             '--disable-dev-shm-usage', '--no-first-run', '--hide-scrollbars', '--disable-extensions',
             '--disable-background-networking', '--disable-component-update', '--disable-sync',
             '--user-data-dir=' + self.profile, 'about:blank'],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(3, 4), preexec_fn=place)
        os.close(there)
        os.close(back)
        self.number, self.rest, self.events, self.session = 0, b'', [], None
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(domain + '.enable')

    def close(self):
        try:
            self.call('Browser.close')
        except (OSError, EOFError, RuntimeError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.inp)
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def message(self):
        while b'\0' not in self.rest:
            if not select.select([self.inp], [], [], PATIENCE)[0]:
                raise TimeoutError('the browser does not answer')
            more = os.read(self.inp, 1 << 20)
            if not more:
                raise EOFError('the browser has gone')
            self.rest += more
        text, self.rest = self.rest.split(b'\0', 1)
        return json.loads(text)

    def call(self, method, **params):
        self.number += 1
        request = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            request['sessionId'] = self.session
        os.write(self.out, json.dumps(request).encode() + b'\0')
        while True:
            m = self.message()
            if m.get('id') == self.number:
                if 'error' in m:
                    raise RuntimeError('%s: %s' % (method, m['error']))
                return m['result']
            self.events.append(m)

    def open(self, path, width=1280, height=900, dark=False, scripts=True):
        """Loads a file; what it said and asked for is in complaints() and requests()."""
        self.events.clear()
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1,
                  mobile=False)
        self.call('Emulation.setEmulatedMedia', features=[
            {'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])
        self.call('Emulation.setScriptExecutionDisabled', value=not scripts)
        url = 'file://' + os.path.abspath(path)
        self.call('Page.navigate', url=url)
        deadline = time.time() + PATIENCE
        while not any(e.get('method') == 'Page.loadEventFired' for e in self.events):
            self.events.append(self.message())
            if time.time() > deadline:
                raise TimeoutError(path)
        if scripts:
            self.settle()
        return url

    def settle(self):
        """Lets two frames pass, so that what was asked to be drawn is drawn."""
        self.call('Runtime.evaluate', awaitPromise=True, expression='''new Promise(done =>
            requestAnimationFrame(() => requestAnimationFrame(done)))''')

    def ask(self, expression):
        result = self.call('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in result:
            raise RuntimeError(json.dumps(result['exceptionDetails'])[:2000])
        return result['result'].get('value')

    def mouse(self, kind, x, y, button='none', clicks=0):
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, button=button, clickCount=clicks)

    def click(self, x, y):
        self.mouse('mouseMoved', x, y)
        self.mouse('mousePressed', x, y, 'left', 1)
        self.mouse('mouseReleased', x, y, 'left', 1)
        self.settle()

    def complaints(self):
        """Errors and warnings: the page's, the policy's, the scripts'."""
        said = []
        for e in self.events:
            p = e.get('params', {})
            if e.get('method') == 'Runtime.exceptionThrown':
                said.append(json.dumps(p['exceptionDetails'])[:500])
            elif e.get('method') == 'Log.entryAdded' and p['entry']['level'] in ('error', 'warning'):
                said.append(p['entry']['text'])
            elif e.get('method') == 'Runtime.consoleAPICalled' and p['type'] in ('error', 'warning', 'assert'):
                said.append(json.dumps(p['args'])[:500])
        return said

    def requests(self):
        return [e['params']['request']['url'] for e in self.events if e.get('method') == 'Network.requestWillBeSent']

    def picture(self, path, whole=True):
        clip = {}
        if whole:
            size = self.call('Page.getLayoutMetrics')['cssContentSize']
            clip = {'clip': {'x': 0, 'y': 0, 'width': size['width'], 'height': min(size['height'], 16000), 'scale': 1}}
        shot = self.call('Page.captureScreenshot', format='png', captureBeyondViewport=whole, **clip)
        with open(path, 'wb') as f:
            f.write(base64.b64decode(shot['data']))


if __name__ == '__main__':
    width = int(sys.argv[3]) if len(sys.argv) > 3 else 1280
    height = int(sys.argv[4]) if len(sys.argv) > 4 else 900
    with Browser() as browser:
        browser.open(sys.argv[1], width, height, dark='dark' in sys.argv[5:])
        browser.picture(sys.argv[2])
        for line in browser.complaints():
            print(line)
