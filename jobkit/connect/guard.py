"""Ends a private server, and removes its folder, when its owner is gone: even by SIGKILL.

Run alone, without the kit: `python -I -S guard.py folder command...`, in a session of its own. Its
standard input is a pipe whose other end only the owner holds. A byte on it means: kill the server
and start it again, as after a crash. End of file means that the owner closed it, or died.
"""

import os
import shutil
import signal
import sys

folder, command = sys.argv[1], sys.argv[2:]
log = os.O_WRONLY | os.O_CREAT | os.O_APPEND
files = (
    (os.POSIX_SPAWN_OPEN, 0, "redis.conf", os.O_RDONLY, 0),
    (os.POSIX_SPAWN_OPEN, 1, "server.log", log, 0o600),
    (os.POSIX_SPAWN_DUP2, 1, 2),
)
signals = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
for number in signals:
    signal.signal(number, signal.SIG_IGN)  # the guard leaves after the owner, never before

os.mkdir(folder, 0o700)  # noqa: PTH102 - pathlib would cost more time than all the rest
try:
    os.chdir(folder)
    with open("redis.conf", "w") as file:  # noqa: PTH123
        file.write(os.environ.pop("JOBKIT_GUARD_CONF"))  # not an argument: the password is in it
    again = b"again"
    while again:
        server = os.posix_spawn(command[0], command, os.environ, file_actions=files, setsigdef=signals)
        again = os.read(0, 1)
        os.kill(server, signal.SIGKILL)
        os.waitpid(server, 0)
finally:
    shutil.rmtree(folder, ignore_errors=True)
