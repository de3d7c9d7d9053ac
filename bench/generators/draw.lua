-- For wrk: each request's body is a line of a file, drawn evenly, or it is a GET; the report is one line of JSON.
--     wrk ... --script draw.lua URL -- SEED [FILE]
-- wrk runs `setup` for each of its threads, `init` and `request` in each, `done` once at the end.

local requests = {}
local threads = 0

function setup(thread)
   thread:set("number", threads)
   threads = threads + 1
end

function init(arguments)
   math.randomseed(tonumber(arguments[1]) + number)
   if arguments[2] == nil then
      requests[1] = wrk.format("GET")
      return
   end
   local headers = { ["Content-Type"] = "application/json" }
   for line in io.lines(arguments[2]) do
      requests[#requests + 1] = wrk.format("POST", nil, headers, line)
   end
end

function request()
   return requests[math.random(#requests)]
end

function done(summary, latency)
   local e = summary.errors
   local ms = function(microseconds) return microseconds / 1000 end
   io.write(string.format(
      'report {"requests": %d, "seconds": %.6f, "errors": {"connect": %d, "read": %d, "write": %d, '
         .. '"status": %d, "timeout": %d}, "latency_ms": {"mean": %.3f, "p50": %.3f, "p90": %.3f, '
         .. '"p99": %.3f, "p99_9": %.3f, "max": %.3f}}\n',
      summary.requests, summary.duration / 1e6, e.connect, e.read, e.write, e.status, e.timeout,
      ms(latency.mean), ms(latency:percentile(50)), ms(latency:percentile(90)),
      ms(latency:percentile(99)), ms(latency:percentile(99.9)), ms(latency.max)))
end
