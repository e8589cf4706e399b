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

// point is what a node did or used in a second, or what a client is to do. An absent value
// was not measured.
type point struct {
	T       float64       `json:"t"` // seconds since 1970, at its end
	Node    string        `json:"node"`
	Role    metrics.Role  `json:"role"`
	Phase   metrics.Phase `json:"phase,omitempty"`
	WindowS float64       `json:"window_s,omitempty"` // of a client: the length of its window

	OpsPerS  *float64 `json:"ops_per_s,omitempty"`
	P50      *float64 `json:"p50_ms,omitempty"` // of a client's calls
	P99      *float64 `json:"p99_ms,omitempty"`
	CPU      *float64 `json:"cpu_percent,omitempty"` // of all cores of the machine
	Memory   *float64 `json:"memory_gib,omitempty"`  // in use on the machine
	Received *float64 `json:"rx_gbps,omitempty"`     // by the data interface
	Sent     *float64 `json:"tx_gbps,omitempty"`
}

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
			if p, ok := pointOf(r); ok {
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

// pointOf is a record's point, if it has one.
func pointOf(r metrics.Record) (p point, ok bool) {
	p = point{T: float64(r.Time.UnixMilli()) / 1e3, Node: r.Node, Role: r.Role}
	switch {
	case r.Config != nil && r.Role == metrics.Client:
		p.WindowS = max(0, r.Config.Flags.Length("secs").Seconds())
	case r.Interval != nil:
		p.Phase, p.OpsPerS = r.Interval.Phase, new(r.Interval.OpsPerS())
	case r.Usage != nil:
		p.CPU, p.Memory = &r.Usage.CPUPercent, new(float64(r.Usage.MemoryUsedBytes)/(1<<30))
		if data, ok := r.Usage.Data(); ok {
			p.Received, p.Sent = new(data.RxBytesPerS*8/1e9), new(data.TxBytesPerS*8/1e9)
		}
	case r.Histogram != nil && r.Role == metrics.Client && r.Histogram.Name == metrics.CallLatency:
		d, err := latency.Decode(*r.Histogram)
		if err != nil {
			return p, false
		}
		q := latency.QuantilesOf(d, uint64(d.TotalCount()))
		p.P50, p.P99 = inMilliseconds(q.P50), inMilliseconds(q.P99)
	default:
		return p, false
	}
	return p, true
}

// inMilliseconds is a latency in microseconds; nil for none.
func inMilliseconds(us *float64) *float64 {
	if us == nil {
		return nil
	}
	return new(*us / 1000)
}
