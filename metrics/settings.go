package metrics

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// Settings are the final values of a program's flags, by name, and the only reader of them:
// a method is named after the flag that it reads. A flag that the program does not have is
// 0, "" or false. A nil Settings has none.
type Settings map[string]string

// AllowPublic reports whether a server may listen on public addresses.
func (s Settings) AllowPublic() bool { return s.is("allow-public") }

// Arrivals returns the law of an open loop's due times.
func (s Settings) Arrivals() string { return s["arrivals"] }

// Batch returns the operations of a worker's round for each server; 0 of -batch auto.
func (s Settings) Batch() uint64 { return s.number("batch") }

// BatchBytes returns the most that a call's batch or reply may have; 0 for no limit.
func (s Settings) BatchBytes() uint64 { return s.number("batch-bytes") }

// Cache returns the size of a client's cache; see Caches.
func (s Settings) Cache() string { return s["cache"] }

// CallTimeout returns how long a call may take; negative where it is not known.
func (s Settings) CallTimeout() time.Duration { return s.length("call-timeout") }

// Codec returns how calls travel.
func (s Settings) Codec() string { return s["codec"] }

// Connections returns a client's connections to each server; 0 for the default.
func (s Settings) Connections() int { return int(s.number("connections")) }

// CRC reports whether frames have a checksum.
func (s Settings) CRC() bool { return s.is("crc") }

// Dedup reports whether a reply has equal values once.
func (s Settings) Dedup() bool { return s.is("dedup") }

// Dir returns the folder of a store on disk; "" for a temporary one.
func (s Settings) Dir() string { return s["dir"] }

// Engine returns where a server's keys live.
func (s Settings) Engine() string { return s[EngineFlag] }

// Hosts returns a client's list of servers.
func (s Settings) Hosts() string { return s["hosts"] }

// InFlight returns the rounds that a worker has in flight at a time, 1 at least.
func (s Settings) InFlight() int { return max(1, int(s.number("inflight"))) }

// Inject returns the fault of a server that is slowed on purpose; "" for none.
func (s Settings) Inject() string { return s["inject"] }

// KeySize returns the law of the keys' sizes.
func (s Settings) KeySize() string { return s["key-size"] }

// Linearizable reports whether a client records operations to check them.
func (s Settings) Linearizable() bool { return s.is("linearizable") }

// Serializable reports whether a client records transactions to check them.
func (s Settings) Serializable() bool { return s.is("serializable") }

// Model returns a server's execution model.
func (s Settings) Model() string { return s["model"] }

// Ops returns how many operations of all clients end the run; 0 if -secs do.
func (s Settings) Ops() uint64 { return s.number("ops") }

// Program returns a team's own program, which the node starts; "" of one that works itself.
func (s Settings) Program() string { return s[ProgramFlag] }

// ProgramFlag names the flag of Program.
const ProgramFlag = "program"

// Policy returns what a server's transactions do about locks that others hold.
func (s Settings) Policy() string { return s["policy"] }

// Profiled reports -profile, -cpuprofile or -exec-trace.
func (s Settings) Profiled() bool {
	return s.is("profile") || s["cpuprofile"] != "" || s["exec-trace"] != ""
}

// Rate returns the operations per second of all clients that an open loop offers, or a share of
// a closed loop's peak, as in 80%, or stages of these; see Open.
func (s Settings) Rate() string { return s["rate"] }

// Records returns how many are loaded.
func (s Settings) Records() uint64 { return s.number("records") }

// Reopen reports whether a server opens a store that is there.
func (s Settings) Reopen() bool { return s.is("reopen") }

// Repeat reports whether one call is sent again and again, without a store.
func (s Settings) Repeat() bool { return s.is("repeat") }

// Retry reports whether a client sends calls again after a connection has broken.
func (s Settings) Retry() bool { return s.is("retry") }

// SampleEvery returns the time between samples of the machine; 0 for none, negative where it is
// not known.
func (s Settings) SampleEvery() time.Duration { return s.length("sample-every") }

// Secs returns the least length of the window; negative where it is not known.
func (s Settings) Secs() time.Duration { return s.length("secs") }

// Seed returns what the operations are drawn from.
func (s Settings) Seed() uint64 { return s.number("seed") }

// Sync returns when an engine on disk writes; "" of one in memory.
func (s Settings) Sync() string { return s["sync"] }

// Target returns the foreign store; see Own.
func (s Settings) Target() string { return s["target"] }

// Theta returns the parameter of the popularity's law.
func (s Settings) Theta() string { return s["theta"] }

// TTL returns -ttl; not above 0 without one.
func (s Settings) TTL() time.Duration { return s.length("ttl") }

// TLS reports whether calls are encrypted.
func (s Settings) TLS() bool { return s.is("tls") }

// Txn returns the operations of a transaction; 0 without transactions.
func (s Settings) Txn() int { return int(s.number("txn")) }

// ValueSize returns the law of the values' sizes.
func (s Settings) ValueSize() string { return s["value-size"] }

// Verify returns N if one value in N is compared in full; 0 for none.
func (s Settings) Verify() int {
	if s["verify"] == "full" {
		return 1
	}
	return int(s.number("verify"))
}

// WarmUp returns the length of the warm-up; negative where it is not known.
func (s Settings) WarmUp() time.Duration { return s.length("warmup") }

// Workers returns a client's goroutines.
func (s Settings) Workers() int { return int(s.number("workers")) }

// Workload returns the name of the mix of operations.
func (s Settings) Workload() string { return s["workload"] }

// SavesBytes reports whether replies leave out values that the client has: -dedup, -cache.
func (s Settings) SavesBytes() bool { return s.Dedup() || s.Caches() }

// Caches reports whether the client has a cache.
func (s Settings) Caches() bool { return s.Cache() != "" && s.Cache() != "0" }

// Open reports whether the loop is open.
func (s Settings) Open() bool { return s.Rate() != "" && s.Rate() != "0" }

// MeasuresPeak reports whether the first half of the warm-up is a closed loop, as Rate has
// shares of its peak.
func (s Settings) MeasuresPeak() bool { return strings.Contains(s.Rate(), "%") }

// AutoBatch reports whether the client finds its batch itself.
func (s Settings) AutoBatch() bool { return s["batch"] == "auto" }

// Own reports whether the store is kvlab's.
func (s Settings) Own() bool { return cmp.Or(s.Target(), "own") == "own" }

// Rival returns what the program lacks and that of extra/rivals has; "" for nothing.
func (s Settings) Rival() string { return s[RivalValue] }

// RivalValue is the key of Rival. It is no flag.
const RivalValue = "extra/rivals"

// EngineFlag is the servers' flag that says where keys live.
const EngineFlag = "engine"

func (s Settings) is(flag string) bool { return s[flag] == "true" }

func (s Settings) number(flag string) uint64 {
	n, _ := strconv.ParseUint(s[flag], 10, 64)
	return n
}

// length reads a length in the form of the client's flags: a number of seconds, or a
// duration with its unit.
func (s Settings) length(flag string) time.Duration {
	for _, text := range []string{s[flag] + "s", s[flag]} {
		if d, err := time.ParseDuration(text); err == nil {
			return d
		}
	}
	return -1
}
