"""Programs that try to leave the sandbox, or to take the machine with them.

Each says `GOT OUT` where it managed to, in two halves, so that a traceback that quotes the line does not.
"""

from __future__ import annotations

ENDS_BY_ITSELF = {
    "a file of the machine": "print('GOT ' 'OUT', open('/etc/passwd').read())",
    "a file outside through a link": """
import os
os.symlink('/etc/passwd', 'link')
print('GOT ' 'OUT', open('link').read())
""",
    "a folder above": "import os; os.chdir('..'); open('mine', 'w').write('GOT ' 'OUT'); print(open('mine').read())",
    "a new file beside Python": """
import os
for folder in ('/', '/usr', os.path.dirname(os.__file__), '/tmp/..', '/dev'):
    try:
        open(folder + '/agentic-rl-was-here', 'w').close()
        print('GOT ' 'OUT', folder)
    except OSError:
        pass
""",
    "modes and times of files outside": """
import os
for change in (lambda p: os.chmod(p, 0o777), lambda p: os.utime(p), lambda p: os.truncate(p, 0)):
    try:
        change(os.__file__)
        print('GOT ' 'OUT')
    except OSError:
        pass
""",
    "a rename of a package": "import os; os.rename(os.__file__, os.__file__ + 'x'); print('GOT ' 'OUT')",
    "a hard link to a file outside": "import os; os.link(os.__file__, 'mine'); open('mine', 'w'); print('GOT ' 'OUT')",
    "memory of the first process": """
for pid in ('1', '2', 'self'):
    try:
        open(f'/proc/{pid}/mem', 'r+b')
        print('GOT ' 'OUT')
    except OSError:
        pass
""",
    "environments in /proc": """
import os
for pid in range(1, 4000):
    try:
        if open(f'/proc/{pid}/environ').read(): print('GOT ' 'OUT', pid)
    except OSError:
        pass
""",
    "the root of another process": "import os; print('GOT ' 'OUT', os.listdir('/proc/1/root/etc'))",
    "the environment": "import os; [print('GOT ' 'OUT') for name in os.environ if 'SECRET' in name]",
    "inherited handles": """
import os
for handle in range(3, 200):
    try:
        os.fstat(handle)
        print('GOT ' 'OUT', handle, os.stat(handle))
    except OSError:
        pass
""",
    "handles of the terminal": "open('/dev/tty', 'r+'); print('GOT ' 'OUT')",
    "the internet": "import socket; socket.create_connection(('127.0.0.1', 22), 1); print('GOT ' 'OUT')",
    "every family of sockets": """
import socket
for family in range(46):
    for kind in (1, 2, 3, 5):
        try:
            socket.socket(family, kind)
            print('GOT ' 'OUT', family, kind)
        except OSError:
            pass
""",
    "a name that stands for a server": "from urllib.request import *; urlopen('http://localhost'); print('GOT ' 'OUT')",
    "rings of the kernel": """
import ctypes
libc = ctypes.CDLL(None)
if libc.syscall(425, 8, (ctypes.c_char * 120)()) >= 0: print('GOT ' 'OUT')
""",
    "the other numbering of x86": """
import ctypes, os
if os.fork() == 0:
    if ctypes.CDLL(None).syscall(0x40000000 + 41, 2, 1, 0) >= 0: print('GOT ' 'OUT')
    os._exit(0)
os.wait()
""",
    "ptrace of the parent": """
import ctypes, os
libc = ctypes.CDLL(None)
for pid in (1, os.getppid()):
    for request in (16, 0x4206):
        if libc.ptrace(request, pid, 0, 0) == 0: print('GOT ' 'OUT')
    if libc.syscall(310, pid, None, 0, None, 0, 0) >= 0: print('GOT ' 'OUT')
""",
    "namespaces of its own": """
import ctypes, os
libc = ctypes.CDLL(None)
for flag in (0x10000000, 0x10020000, 0x20000000, 0x40000000):
    if libc.unshare(flag) == 0: print('GOT ' 'OUT')
if libc.mount(b'none', b'/tmp', b'tmpfs', 0, None) == 0: print('GOT ' 'OUT')
if libc.mount(b'none', b'/', None, 32 | 4096, None) == 0: print('GOT ' 'OUT')
""",
    "setuid": """
import os
for change in (os.setuid, os.setgid):
    try:
        change(0)
        print('GOT ' 'OUT')
    except OSError:
        pass
""",
    "setuid programs": """
import subprocess
for program in (['su', '-c', 'id'], ['sudo', '-n', 'id'], ['unshare', '-r', 'id'], ['mount', '-t', 'tmpfs', 'x', '.']):
    try:
        if b'uid=0' in subprocess.run(program, capture_output=True, timeout=3).stdout: print('GOT ' 'OUT')
    except Exception:
        pass
""",
    "limits taken back": """
import resource
for what in (resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE, resource.RLIMIT_CPU):
    before = resource.getrlimit(what)
    if before[1] == resource.RLIM_INFINITY: continue
    try:
        resource.setrlimit(what, (before[1] + 1, before[1] + 1))
        print('GOT ' 'OUT', what)
    except (OSError, ValueError):
        pass
""",
    "signals to all": """
import os, signal
for target in (-1, 1, os.getppid()):
    for number in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL, signal.SIGCHLD, signal.SIGINT):
        try:
            os.kill(target, number)
        except OSError:
            pass
""",
    "its process group": "import os, signal; os.killpg(0, signal.SIGTERM)",
    "SIGKILL to itself": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "a signal by a pipe": """
import fcntl, os, signal
read, write = os.pipe()
try:
    fcntl.fcntl(read, fcntl.F_SETOWN, os.getppid())
    fcntl.fcntl(read, fcntl.F_SETFL, os.O_ASYNC)
    os.write(write, b'x')
except OSError:
    pass
""",
    "a huge list": "x = [0] * 10**11",
    "a huge number": "print(len(str(10 ** (10 ** 7))))",
    "growing memory": """
kept = []
while True: kept.append(bytearray(1 << 24))
""",
    "growing memory in a file": """
kept = []
for number in range(10**6):
    with open(f'f{number}', 'wb') as file: file.write(bytes(1 << 23))
""",
    "a huge file": "open('big', 'wb').write(bytes(1 << 28))",
    "a file with a hole": "open('big', 'wb').truncate(1 << 40)",
    "files without end": """
for number in range(10**6): open(f'f{number}', 'w').close()
""",
    "memory that belongs to no process": """
import ctypes
libc = ctypes.CDLL(None)
if libc.shmget(0, 1 << 20, 0o1600) >= 0: print('GOT ' 'OUT')
if libc.syscall(319, b'x', 0) >= 0: print('GOT ' 'OUT')
""",
    "handles without end": "kept = [open('/dev/null') for _ in range(10**6)]",
    "deep recursion": "import sys; sys.setrecursionlimit(10**9); f = lambda: f(); f()",
    "deep parentheses": "(" * 90_000,
    "deep lists": "x = " + "[" * 5_000 + "]" * 5_000,
    "a broken interpreter": "import ctypes; ctypes.string_at(0)",
    "abort": "import os; os.abort()",
    "gone at once": "import os; os._exit(3)",
    "another program": "import os; os.execv('/bin/echo', ['echo', 'hello'])",
    "__import__ games": "print(__import__('os').popen('cat /etc/passwd').read() and 'GOT ' 'OUT')",
    "builtins taken away": "import builtins; builtins.__dict__.clear()",
    "modules taken away": "import sys; sys.modules.clear(); import os; print(os.getpid())",
    "streams closed": "import sys, os; sys.stdout.close(); sys.stderr.close(); os.close(1); os.close(2); 1/0",
    "stream replaced": "import sys; sys.stdout = None; sys.stderr = 3; 1/0",
    "the loader's own modules": """
import sys
for name, module in list(sys.modules.items()):
    if name.startswith('inside.') and hasattr(module, 'become'):
        try:
            module.become(0)
            print('GOT ' 'OUT')
        except OSError:
            pass
""",
    "frames of the caller": """
import sys
frame = sys._getframe()
while frame:
    for name, value in frame.f_locals.items():
        if 'channel' in name:
            try:
                value.tell('exit 0 GOT OUT')
                print('GOT ' 'OUT')
            except OSError:
                pass
    frame = frame.f_back
print('frames')
""",
    "surrogates": "print(chr(0xd800) + 'text')",
    "bytes that are no text": "import os; os.write(1, bytes(range(256)))",
    "code with a null": "x = 1\x00",
    "code with a surrogate": "x = '\ud800'",
    "an exception that lies": """
class Odd(BaseException):
    def __str__(self): raise SystemExit(0)
raise Odd
""",
    "an exception without end": """
class Odd(Exception):
    def __str__(self): return 'x' * 10**6
raise Odd
""",
    "a daemon": """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
print('left')
""",
}
"""Programs that end well before any limit, each by its name."""

GOES_ON = {
    "a loop": "while True: pass",
    "sleep": "import time; time.sleep(600)",
    "output without end": "while True: print('y' * 4096)",
    "output without line end": "import os\nwhile True: os.write(1, b'y' * 65536)",
    "a loop that catches all": """
while True:
    try:
        while True: pass
    except BaseException:
        pass
""",
    "deaf to signals": """
import signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True: pass
""",
    "a fork bomb": """
import os
while True:
    try: os.fork()
    except OSError: pass
""",
    "a fork bomb of sessions": """
import os
while True:
    try:
        os.fork()
        os.setsid()
    except OSError: pass
""",
    "a bomb of threads": """
import threading, time
while True:
    try: threading.Thread(target=time.sleep, args=(600,)).start()
    except RuntimeError: pass
""",
    "a regular expression": "import re; re.match('(a+)+$', 'a' * 60 + 'b')",
    "a power": "x = 9 ** 9 ** 9",
    "stopped": "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    "a thread that stays": "import threading, time; threading.Thread(target=time.sleep, args=(600,)).start()",
    "a pipe that nobody writes": "import os; os.read(os.pipe()[0], 1)",
    "folders without end": """
import os
while True:
    try:
        os.mkdir('d'); os.chdir('d')
    except OSError: pass
""",
}
"""Programs that only a limit ends."""
