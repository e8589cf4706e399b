package metrics

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Summary is a node's last record: exact counts from its start to its end.
type Summary struct {
	WindowStart   time.Time            `json:"window_start"` // by the clock of Record.Time
	WindowLengthS float64              `json:"window_length_s"`
	Opening       *Marks               `json:"opening,omitempty"`     // servers: up to the window's beginning
	Closing       *Marks               `json:"closing,omitempty"`     // servers: up to its end
	Total         Counts               `json:"total"`                 // from the first loaded record to the last drained call
	InWindow      Counts               `json:"in_window"`             // clients: replies verified inside the window
	Edges         *Edges               `json:"edges,omitempty"`       // clients: of InWindow
	Peers         []PeerCounts         `json:"peers"`                 // a client's servers, a server's clients; sums to Total
	Strangers     *Counts              `json:"strangers,omitempty"`   // a server's, of third-party clients at its RESP gateway; not in Total; nil without a gateway
	Bytes         Bytes                `json:"bytes"`                 // clients: like Total
	BytesInWindow Bytes                `json:"bytes_in_window"`       // clients: like InWindow
	CacheBytes    uint64               `json:"cache_bytes,omitempty"` // clients: memory of -cache
	Verification  Verification         `json:"verification"`
	Check         *Check               `json:"check,omitempty"`    // of a client with -linearizable
	Retries       *Retries             `json:"retries,omitempty"`  // nil when no connection broke, or without -retry
	Usage         Table                `json:"usage"`              // over the window
	Saturation    *Saturation          `json:"pressure,omitempty"` // likewise
	Latency       map[string]Quantiles `json:"latency,omitempty"`
	Stamps        map[string]Stamps    `json:"stamps,omitempty"`   // of a client, beside the histograms CallLatency and OpLatency
	Offered       *Offered             `json:"offered,omitempty"`  // of an open loop; nil of a closed one
	Digests       []string             `json:"digests,omitempty"`  // of each worker's operation stream, in hex, in worker order
	Prefixes      []string             `json:"prefixes,omitempty"` // digests of all workers' first 1, 2, 4, ... operations each, up to the fewest that a worker drew
	Workers       []WorkerAccount      `json:"workers,omitempty"`  // of a client, in worker order
	Seen          *Seen                `json:"seen,omitempty"`     // of a server
	Store         *StoreWitness        `json:"store,omitempty"`    // of the host of a foreign store that counts
	Claim         *Claimed             `json:"claim,omitempty"`    // of the host of a team's own client, and of its server under --system
	Witness       *Witness             `json:"witness,omitempty"`  // of a server with -lab

	Transactions *Transactions `json:"transactions,omitempty"` // of a client with -txn
}

// WindowEnd returns the end of the node's window.
func (s *Summary) WindowEnd() time.Time {
	return s.WindowStart.Add(time.Duration(s.WindowLengthS * float64(time.Second)))
}

// OpsPerS returns the window's rate in operations per second; 0 without a window.
func (s Summary) OpsPerS() float64 { return PerSecond(float64(s.InWindow.Ops()), s.WindowLengthS) }

// PeerCounts are the operations between a node and one of its peers.
type PeerCounts struct {
	Peer   string `json:"peer"` // the peer's node name
	Counts Counts `json:"counts"`
	Load   Counts `json:"load,omitzero"`  // of them, those of the load; a client's peers only
	Audit  Counts `json:"audit,omitzero"` // of them, those of the final audit; a client's peers only

	Sessions []Sessions `json:"sessions,omitempty"` // a server's peers: their connections, one element for each Protocol

	Unknown    Counts    `json:"unknown,omitzero"`     // a client's peers: operations whose outcome is unknown, as the server's process ended before it answered and another took its place; not in Counts
	FirstReply time.Time `json:"first_reply,omitzero"` // a client's peers: when that other process first replied, by the clock of Record.Time

	Transactions TransactionTally `json:"transactions,omitzero"` // with -txn

	Window  Counts `json:"window,omitzero"`  // a client's peers: of them, those whose replies came in the window; sums to InWindow
	Latency Tally  `json:"latency,omitzero"` // a client's peers: those that the collector of its latencies took
}

// Drawn returns the verified operations of the workload: without those of the load and the audit.
func (p PeerCounts) Drawn() Counts { return p.Counts.Sub(p.Load).Sub(p.Audit) }

// Tally counts the operations whose latencies a client's collector took, where it puts
// them into its histograms.
type Tally struct {
	Due     Counts `json:"due"`     // due in the window: they are in its histograms
	Replied Counts `json:"replied"` // whose replies came in the window, whenever they were due
}

// ExaminedShare is the reciprocal of the share of operations that are examined.
const ExaminedShare = 64

// Verification is what a client found when it checked its replies.
type Verification struct {
	Checked    uint64 `json:"checked"`  // values whose length, header and check bytes were checked
	Compared   uint64 `json:"compared"` // of these, values compared in full
	Failures   uint64 `json:"failures"`
	AnyKey     uint64 `json:"any_key,omitempty"`     // of those checked, values that were right for another key: the server has no store
	Unchecked  uint64 `json:"unchecked,omitempty"`   // values that were not checked at all (-verify none)
	First      string `json:"first,omitempty"`       // the first failure in words
	Examined   uint64 `json:"examined,omitempty"`    // operations whose value, if of an audited key, was compared with what was there before: 1 in ExaminedShare of each call, or more
	Stale      uint64 `json:"stale,omitempty"`       // values that were right once, and surely replaced before the read was sent
	FirstStale string `json:"first_stale,omitempty"` // the first of these in words
}

// Add adds what another worker found.
func (v *Verification) Add(w Verification) {
	v.Checked += w.Checked
	v.Compared += w.Compared
	v.Failures += w.Failures
	v.AnyKey += w.AnyKey
	v.Unchecked += w.Unchecked
	v.First = cmp.Or(v.First, w.First)
	v.Examined += w.Examined
	v.Stale += w.Stale
	v.FirstStale = cmp.Or(v.FirstStale, w.FirstStale)
}

// EdgeSlots is how many slots each end of a window has: they reach as far as
// clients' windows may be apart, a twentieth of one.
const EdgeSlots = 150

// EdgeSlot returns a slot's length: a 3000th of the window, 10 ms of 30 s. So the
// memory is the same for a day.
func EdgeSlot(window time.Duration) time.Duration {
	return max(1, window/(20*EdgeSlots))
}

// Edges are a client's verified operations near both ends of its window, by the slot of
// their reply. They give the operations of a shorter window, the one that all clients
// have in common.
type Edges struct {
	SlotS float64  `json:"slot_s"` // a slot's length
	First []uint64 `json:"first"`  // from the opening on
	Last  []uint64 `json:"last"`   // up to the close
}

// Within returns how many of the operations of the summary's window came in the
// stretch of it that begins lateS seconds after its opening and ends earlyS
// seconds before its close, both at the nearest slot's end and within the edges;
// and that stretch's length in seconds. The count is exact for that stretch. A
// summary without edges has its window and nothing else.
func (s Summary) Within(lateS, earlyS float64) (ops uint64, seconds float64) {
	ops, seconds = s.InWindow.Ops(), s.WindowLengthS
	if s.Edges == nil || s.Edges.SlotS <= 0 {
		return ops, seconds
	}
	e := s.Edges
	slots := func(seconds float64, most int) int {
		return int(min(math.Round(max(0, seconds)/e.SlotS), float64(most)))
	}
	late, early := slots(lateS, len(e.First)), slots(earlyS, len(e.Last))
	for _, n := range slices.Concat(e.First[:late], e.Last[len(e.Last)-early:]) {
		ops -= n
	}
	return ops, seconds - float64(late+early)*e.SlotS
}

// String is for people: "p50 812µs p90 1.23ms p95 1.4ms p99 n/a p99.9 n/a p99.99
// n/a max 2.5ms of 212 calls", each to three significant digits, n/a where there are
// too few calls.
func (q Quantiles) String() string {
	var b strings.Builder
	if q.Refused != "" {
		fmt.Fprintf(&b, "n/a (%s), ", q.Refused)
	} else {
		for i, micros := range q.All() {
			value := "n/a"
			if micros != nil {
				value = durationText(*micros)
			}
			fmt.Fprintf(&b, "%s %s ", QuantileNames[i], value)
		}
	}
	fmt.Fprintf(&b, "max %s of %d calls", durationText(q.Max), q.Count)
	if q.OutOfRange > 0 {
		fmt.Fprintf(&b, " (%d more values out of range)", q.OutOfRange)
	}
	return b.String()
}

// The quantiles, in the order of All: their names, their shares of the samples, and
// their keys in Quantiles.CI95.
var (
	QuantileNames  = [...]string{"p50", "p90", "p95", "p99", "p99.9", "p99.99"}
	QuantileShares = [...]float64{0.5, 0.9, 0.95, 0.99, 0.999, 0.9999}
	QuantileKeys   = [...]string{"p50", "p90", "p95", "p99", "p99_9", "p99_99"}
)

// All returns the quantiles in rising order.
func (q Quantiles) All() [len(QuantileNames)]*float64 {
	return [...]*float64{q.P50, q.P90, q.P95, q.P99, q.P999, q.P9999}
}

// Quantiles are latencies in microseconds read off one histogram. A quantile
// that Count samples cannot support is nil. Samples are calls, for OpLatency
// and its kinds (KindNames) too: the operations of one call share its fate, and are not
// independent. A kind has no more samples than operations.
type Quantiles struct {
	Count      uint64   `json:"count"`            // calls
	Values     uint64   `json:"values,omitempty"` // in the histogram: operations for those that have one value an operation
	Mean       float64  `json:"mean_us"`
	P50        *float64 `json:"p50_us"`
	P90        *float64 `json:"p90_us"`
	P95        *float64 `json:"p95_us"`
	P99        *float64 `json:"p99_us"`
	P999       *float64 `json:"p99_9_us"`
	P9999      *float64 `json:"p99_99_us"`
	Max        float64  `json:"max_us"`
	OutOfRange uint64   `json:"out_of_range,omitempty"` // values that are in none of the above
	StdDev     float64  `json:"stddev_us,omitempty"`
	Octaves    []uint64 `json:"octaves,omitempty"` // numbers of values, see Octave; of CallLatency and OpLatency

	// CI95 are the 95 % intervals in microseconds, from and to, of the quantiles of calls and
	// operations, of each kind too, for which the window's seconds give one: they do not take calls for
	// independent (batch means). A window of fewer than 5 s has none.
	CI95    map[string][2]float64 `json:"ci95_us,omitempty"`
	Refused string                `json:"refused,omitempty"` // why there is no quantile, whatever Count is
}

// Refuse takes away every quantile of every latency, with the reason; none without one.
func Refuse(latencies map[string]Quantiles, reason string) {
	if reason == "" {
		return
	}
	for name, q := range latencies {
		q.P50, q.P90, q.P95, q.P99, q.P999, q.P9999, q.CI95, q.Refused = nil, nil, nil, nil, nil, nil, nil, reason
		latencies[name] = q
	}
}

// Histogram is one latency distribution, HdrHistogram V2 compressed and in
// base64, of values in microseconds. All of its values are of the one Phase: an
// interval that a phase change cuts in two makes two histograms. So the window's
// distribution is the sum of all histograms whose Phase is Window.
type Histogram struct {
	Name       string  `json:"name"` // one of LatencyNames
	Phase      Phase   `json:"phase"`
	StartS     float64 `json:"start_s"`
	LengthS    float64 `json:"length_s"`
	HDR        string  `json:"hdr"`
	OutOfRange uint64  `json:"out_of_range,omitempty"` // values that HDR cannot hold and lacks
	Stage      int     `json:"stage,omitempty"`        // the number of the stage of -rate, from 1, in which the interval lies; 0 of one that lies in none, or in two
}

// durationText writes microseconds as a duration of three significant digits: "1.23ms".
func durationText(micros float64) string {
	d := time.Duration(micros * float64(time.Microsecond))
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}
