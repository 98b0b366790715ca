"""Real servers, whose replies come as they are on the wire, and what they hold."""

import pytest
from redis.exceptions import ResponseError

from jobkit.connect import PrivateServer
from jobkit.connect.servers import usable_servers

SERVERS = list({found.version: found for found in usable_servers()}.values())
"""One of each version that this machine has."""

SEED = """
SET s 10; SET s2 abc; HSET h f 1; RPUSH l 1 2 3; RPUSH l2 9; SADD t 1 2 3; SADD t1 2; ZADD z 1 m 2 n; ZADD z1 5 m
GEOADD g 13 38 P 15 37 Q 15 38 store; PFADD p a b; PFADD p2 c; XADD x 1-1 f v; XADD x 1-2 f v; XADD x2 1-1 f v
XGROUP CREATE x grp 0; XGROUP CREATE x streams 0; XGROUP CREATE x2 streams 0; XGROUP CREATE x2 done $
XREADGROUP GROUP grp c COUNT 1 STREAMS x >
"""
"""Keys of each type; those that are drawn from (h, t1, z1) have one member, so that it is no matter of chance."""

STATE = """
local all = {}
for db = 0, 1 do
  redis.call('SELECT', db)
  for _, key in ipairs(redis.call('KEYS', '*')) do
    local kind = redis.call('TYPE', key).ok
    local value, groups = nil, {}
    if kind == 'string' then value = redis.call('GET', key)
    elseif kind == 'hash' then value = redis.call('HGETALL', key)
    elseif kind == 'list' then value = redis.call('LRANGE', key, 0, -1)
    elseif kind == 'set' then value = redis.call('SMEMBERS', key)
    elseif kind == 'zset' then value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    else
      value = redis.call('XRANGE', key, '-', '+')
      for _, group in ipairs(redis.call('XINFO', 'GROUPS', key)) do
        local pending = redis.call('XPENDING', key, group[2], '-', '+', 99)
        for _, entry in ipairs(pending) do entry[3] = '' end  -- idle time
        groups[#groups + 1] = {group, pending}
      end
    end
    all[#all + 1] = {key, db, kind, redis.call('PTTL', key) > 0 and 1 or 0, value, groups}
  end
end
redis.call('SELECT', 0)
return all
"""


def calls(text):
    return [tuple(call.encode().split()) for call in text.replace("\n", ";").split(";") if call.strip()]


class Real:
    """A server that replies as it does on the wire; an error is a reply, too."""

    def __init__(self, server):
        self.server = server
        self.client = server.client()
        self.client.response_callbacks.clear()
        self.rows = {row[0].upper(): row for row in self("COMMAND")}
        self.new = server.info.version >= "7"

    def __call__(self, *call):
        return self.run([call])[0]

    def run(self, calls):
        pipeline = self.client.pipeline(transaction=False)
        for call in calls:
            pipeline.execute_command(*call)
        return [
            Error(reply) if isinstance(reply, Exception) else reply for reply in pipeline.execute(raise_on_error=False)
        ]

    def known(self, calls):
        return [call for call in calls if call[0].upper() in self.rows]

    def seed(self, keep=None):
        replies = self.run([("FLUSHALL",), *calls(SEED)])
        assert not any(isinstance(reply, Error) for reply in replies), replies
        if keep is not None:
            self("DEL", *(key for key, *_ in self.state() if key not in keep), "none")

    def state(self):
        return sorted(self("EVAL", STATE, 0))


class Error(ResponseError):
    """An error that equals another with the same text."""

    def __init__(self, error):
        super().__init__(str(error))

    def __eq__(self, other):
        return isinstance(other, Error) and str(self) == str(other)

    __hash__ = None


@pytest.fixture(scope="module", params=SERVERS or [None], ids=lambda found: found.version if found else "none")
def real(request):
    if request.param is None:
        request.getfixturevalue("live_server")  # skips, or fails
    with PrivateServer(request.param) as server:
        real = Real(server)
        yield real
        real.client.close()
