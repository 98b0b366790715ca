-- What a script may reach on the fake: the names that a server gives it, none of which it can change.
-- Run once per runtime, before any script. Without it a script would reach the Python that the fake is made of,
-- and what it left in a library the next script would find.
--
-- over     function: whether the script has run for too long
-- text     function: what an error of Python's says
-- returns  inside: puts a compiled script into the sandbox
--          set:    gives KEYS and ARGV of the next script
--          rearm:  lets time count anew, after a script that ran for too long
local over, text = ...
local G, raw = _G, {}
for name, value in pairs(_G) do raw[name] = value end
local sethook, real_pcall, setfenv = debug.sethook, pcall, setfenv
local STEPS = 1000 -- instructions between two looks at the clock

-- Time. After it is over every single instruction fails, so that no pcall can catch that and go on.
local function look()
  if over() then
    sethook(look, '', 1)
    error('the script runs for too long', 0)
  end
end

local function watched(body)
  local thread = raw.coroutine.create(body)
  sethook(thread, look, '', STEPS)
  return thread
end

local function rearm() sethook(look, '', STEPS) end

-- Errors: an error of Python's own becomes text.
local function said(ok, first, ...)
  if not ok and raw.type(first) == 'userdata' then first = text(first) end
  return ok, first, ...
end

local function handled(handle, ok, ...)
  if ok then return ok, ... end
  return ok, handle(...)
end

local function passed_on(ok, ...)
  if not ok then raw.error((...), 0) end
  return ...
end

-- Libraries: to be read, not written.
local frozen = {}

local function readonly() raw.error('Attempt to modify a readonly table', 2) end

local function freeze(fields, missing)
  local view = raw.setmetatable({}, {__index = fields, __newindex = readonly, __metatable = false})
  frozen[view] = true
  if missing then raw.setmetatable(fields, {__index = missing}) end
  return view
end

local function copy(library, leave_out)
  local fields = {}
  for name, value in pairs(library) do fields[name] = value end
  for _, name in ipairs(leave_out or {}) do fields[name] = nil end
  return fields
end

-- Callbacks into Python stand behind a function of Lua: no script gets hold of the object itself.
local function hidden(callback)
  return function(...) return callback(...) end
end

local coroutines = copy(raw.coroutine)
function coroutines.create(body) return watched(body) end
function coroutines.resume(...) return said(raw.coroutine.resume(...)) end
function coroutines.wrap(body)
  local thread = watched(body)
  return function(...) return passed_on(raw.coroutine.resume(thread, ...)) end
end

local tables = copy(raw.table)
function tables.insert(to, ...)
  if frozen[to] then readonly() end
  return raw.table.insert(to, ...)
end

local redis, cjson = copy(raw.redis), copy(raw.cjson)
for _, name in ipairs {'call', 'pcall', 'log', 'setresp'} do redis[name] = redis[name] and hidden(redis[name]) end
for _, name in ipairs {'encode', 'decode'} do cjson[name] = hidden(cjson[name]) end

local names = {_VERSION = raw._VERSION, redis = freeze(redis), cjson = freeze(cjson)}
for _, name in ipairs {'assert', 'error', 'gcinfo', 'ipairs', 'next', 'pairs', 'rawequal', 'rawget', 'select',
  'setmetatable', 'tonumber', 'tostring', 'type', 'unpack'} do names[name] = raw[name] end
names.math, names.table, names.coroutine = freeze(copy(raw.math)), freeze(tables), freeze(coroutines)
local strings = copy(raw.string, {'dump'})
function strings.rep(text, times)
  return text == '' and '' or raw.string.rep(text, times) -- nothing, two billion times, would take seconds
end
names.string = freeze(strings)
local of_strings = raw.getmetatable('')
of_strings.__index, of_strings.__metatable = names.string, false

function names.print() end
function names.pcall(...) return said(real_pcall(...)) end
function names.xpcall(body, handle) -- handled after the fall: within it nobody would look at the clock
  return handled(handle, said(real_pcall(body)))
end
function names.rawset(to, ...)
  if frozen[to] then readonly() end
  return raw.rawset(to, ...)
end
function names.getmetatable(of)
  if raw.type(of) == 'userdata' then return nil end
  return raw.getmetatable(of)
end
function names.collectgarbage(what) return what == 'count' and raw.collectgarbage('count') or 0 end

local environment = freeze(names, function(_, name)
  raw.error("Script attempted to access nonexistent global variable '" .. raw.tostring(name) .. "'", 2)
end)
names._G = environment

local function inside(chunk) return setfenv(chunk, environment) end

-- Text only: bytecode can do anything to its interpreter.
function names.loadstring(source, name)
  if raw.string.byte(source) == 27 then return nil, 'bytecode is not loaded' end
  local chunk, problem = raw.loadstring(source, name)
  return chunk and inside(chunk), problem
end
function names.load(pieces, name)
  local source, piece = {}, pieces()
  while piece and piece ~= '' do
    source[#source + 1] = piece
    piece = pieces()
  end
  return names.loadstring(raw.table.concat(source), name)
end

local function set(keys, argv)
  raw.math.randomseed(0) -- as on a server, chance is the same for every script
  names.KEYS, names.ARGV = keys, argv
end

for _, name in ipairs {'python', 'io', 'os', 'package', 'require', 'module', 'debug', 'dofile', 'loadfile', 'load',
  'loadstring', 'newproxy', 'getfenv', 'setfenv', 'redis', 'cjson'} do G[name] = nil end
rearm()
return inside, set, rearm
