package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/latency"
	"kvlab/plots/folder"
)

// lookEvery is how often a stream of events looks for news; less in tests.
var lookEvery = time.Second

// sendTime is how long an event may take to be sent.
const sendTime = 10 * time.Second

// live sends the state of the newest run as a stream of events (HTML, 9.2 Server-sent
// events): one at once, and one whenever there is news. A stream begins with what the run
// has done so far.
func (s site) live(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	f := follower{dir: s.dir}
	for begun := false; ; begun = true {
		if event, news := f.look(); news || !begun {
			data, err := json.Marshal(event)
			if err != nil {
				return
			}
			_ = out.SetWriteDeadline(time.Now().Add(sendTime)) // a test's recorder has none
			if _, err := fmt.Fprintf(w, "data: %s\n\n", data); err != nil || out.Flush() != nil {
				return
			}
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(lookEvery):
		}
	}
}

// event is a state and what is new in its run.
type event struct {
	state
	New    bool    `json:"new"` // another run than before, whose points follow
	Points []point `json:"points"`
	Fault  string  `json:"fault,omitempty"` // what cannot be read
}

// point is what a node did or used in a second, or what a client is to do: t, in seconds
// since 1970, node, role, and what was measured then.
type point map[string]any

// mostOfFile is how much of a node's file a stream begins with: some minutes.
const mostOfFile = 2 << 20

// follower follows the newest run.
type follower struct {
	dir   string
	now   state
	files map[string]*folder.Tail
}

// look returns what has happened since the last look, and whether anything has.
func (f *follower) look() (e event, news bool) {
	now, err := newest(f.dir)
	e = event{state: now, New: now.Run != f.now.Run}
	if e.New {
		f.files = make(map[string]*folder.Tail)
	}
	news = now != f.now
	f.now = now
	var paths []string
	if err == nil {
		paths, err = folder.NodeFiles(filepath.Join(f.dir, now.Run))
	}
	for _, path := range paths {
		if f.files[path] == nil {
			f.files[path] = &folder.Tail{Path: path, Most: mostOfFile}
		}
		records, fault := f.files[path].Next()
		for _, r := range records {
			if p := valuesOf(r); p != nil {
				p["t"], p["node"], p["role"] = float64(r.Time.UnixMilli())/1e3, r.Node, r.Role
				e.Points = append(e.Points, p)
			}
		}
		if fault != nil {
			err = fault
		}
	}
	if err != nil {
		e.Fault = err.Error()
	}
	return e, news || len(e.Points) > 0
}

// valuesOf returns what a record says of its second; nil for nothing.
func valuesOf(r metrics.Record) point {
	switch {
	case r.Arrival != nil && r.Arrival.Window != nil:
		return point{"window_s": r.Arrival.Window.UsedS}
	case r.Interval != nil:
		return point{"phase": r.Interval.Phase, "ops_per_s": r.Interval.OpsPerS()}
	case r.Usage != nil: // processors and memory of the machine, the data interface
		p := point{"cpu_percent": r.Usage.CPUPercent, "memory_gib": float64(r.Usage.MemoryUsedBytes) / (1 << 30)}
		if data, ok := r.Usage.Data(); ok {
			p["rx_gbps"], p["tx_gbps"] = data.RxBytesPerS*8/1e9, data.TxBytesPerS*8/1e9
		}
		return p
	case r.Histogram != nil && r.Role == metrics.Client && r.Histogram.Name == metrics.CallLatency:
		d, err := latency.Decode(*r.Histogram)
		if err != nil {
			return nil
		}
		p, q := make(point), latency.QuantilesOf(d, uint64(d.TotalCount()))
		for name, us := range map[string]*float64{"p50_ms": q.P50, "p99_ms": q.P99} {
			if us != nil {
				p[name] = *us / 1000
			}
		}
		return p
	}
	return nil
}
