package loadgen

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"kvlab/kvs/server"
	"kvlab/kvs/service"
	"kvlab/kvs/verdict"
	"kvlab/kvs/verdict/audit"
	"kvlab/metrics"
	"kvlab/workload"
)

// trialOf returns a small run with a seed.
func trialOf(seed uint64) Config {
	c := small()
	c.Workload.Records, c.Workload.Seed, c.Batch = 1000, seed, 50
	return c
}

// long reports whether tests take their long form.
func long() bool { return os.Getenv("KVLAB_LONG") == "1" }

// runs returns how often each mistake is made, and each kind of run, with other seeds.
func runs() int {
	if long() {
		return 100
	}
	return 1
}

// seeds returns how often runs are made that take longer.
func seeds() int {
	if long() {
		return 20
	}
	return 1
}

// judged makes a run of two servers and a client that makes a mistake, and returns whether it
// is valid, and what its verdict or its error says; of one that goes on until a check finds
// something, also what the checks of histories and of misses say. The zero mistake is an honest
// run.
func judged(t *testing.T, c Config, m mistake) (valid bool, said string) {
	t.Helper()
	run, err := trial(t, c, m)
	if err != nil {
		return false, "error: " + err.Error()
	}
	v := verdict.Judge(&run)
	said = fmt.Sprintln("verdict:", v, run.Nodes[0].Summary.Verification.FirstStale)
	if m.until {
		said += "\n" + catcher(*run.Nodes[0].Summary, nil)
	}
	return v.Valid, said
}

// catcher returns what a client's own checks found first; "" for nothing. A run without a
// recorded operation, as on a busy machine, is not caught.
func catcher(s metrics.Summary, err error) string {
	switch {
	case err != nil:
		return "error: " + err.Error()
	case s.Verification.Failures > 0:
		return "verification: " + s.Verification.First
	case s.InWindow.Misses > 0 && s.InWindow.Deletes == 0:
		return "misses"
	case s.Check.Ops > 0 && s.Check.Fault() != "":
		return "history: " + s.Check.Fault()
	}
	return ""
}

// trial makes such a run. Its error is what ended it.
func trial(t *testing.T, c Config, m mistake) (run metrics.Run, err error) {
	t.Helper()
	if m.until {
		c.Linearizable, c.Workers, c.Workload.Records, c.Workload.Workload = true, 8, 16, workload.YCSBA
	}
	if m.config != nil {
		m.config(&c)
	}
	var stores []*store
	var liars []*liar
	c.Hosts = nil
	for i := range 2 {
		e := opened(t, cmp.Or(m.store, "mutex"))
		if m.liar != nil {
			l := m.liar(e)
			l.lying = m.early
			liars, e = append(liars, l), l
		}
		s := newStore(t, fmt.Sprintf("server%d", i), c.Codec, e)
		stores, c.Hosts = append(stores, s), append(c.Hosts, s.addr)
	}
	g := connected(t, c)
	if m.load != nil {
		m.load(g)
	}
	if !m.skip {
		if err := g.Load(context.Background()); err != nil {
			return run, err
		}
	}
	var before []*service.Sample
	for _, s := range stores {
		before = append(before, s.service.Sample())
	}
	if m.lie != nil {
		m.lie(g)
	}
	for _, l := range liars {
		l.lie()
	}
	g.Secret = 7
	for found := false; !found; {
		if err := g.measureOps(cmp.Or(m.ops, few)); err != nil {
			return run, err
		}
		found = !m.until || catcher(g.Summary(), nil) != "" || g.Summary().Check.Ops > recorded
	}
	var window []*service.Sample
	applied := uint64(0)
	for _, s := range stores {
		window = append(window, s.service.Sample())
		applied += s.service.Counts()[c.Node].Ops()
	}
	spots := uint64(len(g.audited.spots)) // a wrong one counts as an operation too
	if s := g.Summary(); m.liar != nil && s.Total.Scans == 0 && s.Total.Ops()+s.Verification.Failures-applied > spots {
		t.Errorf("%d operations verified and %d wrong, %d applied, at most %d of them spots", s.Total.Ops(), s.Verification.Failures, applied, spots)
	}
	var services []*service.Service
	for _, s := range stores {
		services = append(services, s.service)
	}
	return recordOf(c, g, services, before, window, nil)
}

// recordOf audits a run and returns its record. The servers' samples are from before the
// window and from its end.
func recordOf(c Config, g *Generator, servers []*service.Service, before, window []*service.Sample, restart *metrics.Restart) (run metrics.Run, err error) {
	record, err := g.Audit(context.Background())
	if err != nil {
		return run, err
	}
	if _, err := g.Latency().Collect(0, 1); err != nil {
		return run, err
	}
	summary := g.Summary()
	run = metrics.Run{Restart: restart, Workload: flagsOf(c), Nodes: []metrics.RunNode{{Name: c.Node, Role: metrics.Client, Summary: &summary,
		Config: &metrics.Config{Flags: map[string]string{"linearizable": fmt.Sprint(c.Linearizable)}}}}}
	for i, s := range servers {
		run.Nodes = append(run.Nodes, metrics.RunNode{Name: fmt.Sprintf("server%d", i), Role: metrics.Server, Summary: &metrics.Summary{
			Total: s.Counts()[c.Node], Peers: server.Peers(s), Seen: server.Seen(s, before[i], window[i]),
		}})
	}
	accounted(&run)
	run.Audit = audit.Judge(run, fmt.Sprintf("%x", g.Secret), []metrics.AuditRecord{*record})
	return run, nil
}

// measureOps returns Measure with a window that lasts until a number of operations are done.
func (g *Generator) measureOps(n uint64) error {
	if err := g.Draw(context.Background()); err != nil {
		return err
	}
	g.opened = time.Now()
	s := newSchedule()
	s.decide(g.opened, time.Time{}, g.edgeSlot())
	done := make(chan error, 1)
	until := g.Counts().Ops() + n
	go func() { done <- g.drive(context.Background(), g.opened, s) }()
	for poll := time.NewTicker(time.Millisecond); ; {
		select {
		case err := <-done:
			poll.Stop()
			return err
		case <-poll.C: // on a busy machine the tick is old
			if g.Counts().Ops() >= until {
				closes := time.Now().Add(20 * time.Millisecond) // no worker has gone as far
				g.length = closes.Sub(g.opened)
				s.decide(g.opened, closes, g.edgeSlot())
				if time.Now().Before(closes) { // else, on a busy machine, one may have
					until = math.MaxUint64
				}
			}
		}
	}
}

// flagsOf returns the flags of a run's work, as the launcher records them.
func flagsOf(c Config) map[string]string {
	flags := map[string]string{"router": c.Router, "key-prefix": c.KeyPrefix, "inflight": fmt.Sprint(c.InFlight), "value-size": c.ValueSize.String(), "key-size": c.KeySize.String(),
		"batch": fmt.Sprint(c.Batch), "txn": fmt.Sprint(c.Txn), "arrivals": c.Arrivals, "rate": c.Rate.String(), "dedup": fmt.Sprint(c.Dedup), "cache": c.Cached.String(),
		"codec": c.Codec, "connections": fmt.Sprint(c.Connections), "crc": fmt.Sprint(c.CRC), "retry": fmt.Sprint(c.Retry)}
	if c.AutoBatch {
		flags["batch"] = "auto"
	}
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	c.Workload.Define(fs)
	fs.VisitAll(func(f *flag.Flag) { flags[f.Name] = f.Value.String() })
	return flags
}
