-- For wrk: each request's body is a line of a file, drawn evenly, or it is a GET; the report is one line of JSON.
--     wrk ... --script draw.lua URL -- SEED WARM_UP_SECONDS [FILE]
-- wrk runs `setup` for each of its threads, `init` and `request` in each, `done` once at the end. What is sent
-- before the warm-up's end does not count for the rate; as much is under way then as at the end.

local ffi = require("ffi")
ffi.cdef [[
   typedef struct { long sec; long nsec; } moment;
   int clock_gettime(int clock, moment *now);
]]
local MONOTONIC = 1
local moment = ffi.new("moment")

local requests = {}
local threads = {}

-- Of each thread: requests sent, those of the warm-up, when the first was sent, and when the warm-up was over.
sent, early, began, counts_from = 0, 0, 0, 0

local function now()
   ffi.C.clock_gettime(MONOTONIC, moment)
   return tonumber(moment.sec) + tonumber(moment.nsec) / 1e9
end

function setup(thread)
   thread:set("number", #threads)
   table.insert(threads, thread)
end

function init(arguments)
   math.randomseed(tonumber(arguments[1]) + number)
   warm_up = tonumber(arguments[2])
   if arguments[3] == nil then
      requests[1] = wrk.format("GET")
      return
   end
   local headers = { ["Content-Type"] = "application/json" }
   for line in io.lines(arguments[3]) do
      -- A body, or a path and a body.
      local path, body = line:match("^(/%S*) (.*)$")
      requests[#requests + 1] = wrk.format("POST", path, headers, body or line)
   end
end

function request()
   if counts_from == 0 then
      local time = now()
      if sent == 0 then began = time end
      if time - began >= warm_up then
         counts_from, early = time, sent
      end
   end
   sent = sent + 1
   return requests[math.random(#requests)]
end

function done(summary, latency)
   local over, counted, since, counting = now(), 0, 0, 0
   for _, thread in ipairs(threads) do
      if thread:get("counts_from") > 0 then
         counted = counted + thread:get("sent") - thread:get("early")
         since = since + thread:get("counts_from")
         counting = counting + 1
      end
   end
   local e = summary.errors
   local ms = function(microseconds) return microseconds / 1000 end
   io.write(string.format(
      'report {"requests": %d, "counted": %d, "seconds": %.6f, "errors": {"connect": %d, "read": %d, "write": %d, '
         .. '"status": %d, "timeout": %d}, "latency_ms": {"p50": %.3f, "p90": %.3f, '
         .. '"p99": %.3f, "p99_9": %.3f, "max": %.3f}}\n',
      summary.requests, counted, over - since / math.max(counting, 1), e.connect, e.read, e.write, e.status, e.timeout,
      ms(latency:percentile(50)), ms(latency:percentile(90)),
      ms(latency:percentile(99)), ms(latency:percentile(99.9)), ms(latency.max)))
end
