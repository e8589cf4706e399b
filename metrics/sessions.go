package metrics

import "strings"

// Protocol is what the two ends of a connection agreed on. The comments name the client's
// flags.
type Protocol struct {
	Codec string `json:"codec"`           // -codec
	CRC   bool   `json:"crc,omitempty"`   // -crc
	Dedup bool   `json:"dedup,omitempty"` // -dedup, or -cache
	Retry bool   `json:"retry,omitempty"` // -retry
	Cache bool   `json:"cache,omitempty"` // -cache
	TLS   bool   `json:"tls,omitempty"`   // -tls
}

// ProtocolOf is the protocol that a client's flags ask for.
func ProtocolOf(v Settings) Protocol {
	return Protocol{Codec: v.Codec(), CRC: v.CRC(), Dedup: v.SavesBytes(), Retry: v.Retry(), Cache: v.Caches(), TLS: v.TLS()}
}

// String lists the protocol's flags: "-codec binary -crc".
func (p Protocol) String() string {
	text := "-codec " + p.Codec
	for _, flag := range []struct {
		name string
		set  bool
	}{{"crc", p.CRC}, {"dedup", p.Dedup}, {"retry", p.Retry}, {"cache", p.Cache}, {"tls", p.TLS}} {
		if flag.set {
			text += " -" + flag.name
		}
	}
	return strings.TrimSpace(text)
}

// Sessions are the connections of one client to a server that agreed on one protocol.
type Sessions struct {
	Protocol
	Ops  []uint64 `json:"ops"`  // operations of each, by the client's number for it; connections that replaced each other have one number
	Keys []uint64 `json:"keys"` // sum of route.Word of the keys of these operations, each rotated left by its kind's number in KindNames, modulo 2^64
}

// ConnWorkers is the number of workers that share a connection by default when calls
// are small; otherwise each has its own. With 64 workers, one operation per call and two cores, 1, 2, 4, 8 and 64
// connections reach 3.4, 3.8, 3.9, 3.7 and 1 times the throughput of 64. Fewer
// connections have a shorter tail but use fewer cores.
const ConnWorkers = 16
