//go:build profile

package main

// With -tags profile its processor time can be asked for, at /debug/pprof/profile.
import _ "net/http/pprof"
