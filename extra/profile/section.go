// Package profile shows where the time of a run goes: flame graphs of its profiles, the functions
// with the most time, and the parts of a call. Package take makes the profiles of foreign stores.
package profile

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"kvlab/metrics"
	"kvlab/plots"
	"kvlab/plots/folder"
	"kvlab/plots/report"
)

//go:embed profile.html
var layouts embed.FS

// Row gives the part to a program that draws run folders.
var Row = plots.Page{Part: part}

// view is the part as its template has it.
type view struct {
	Call  []share
	Whole string // of which the parts are shares
	Roles []role
	Notes []string // what could not be read, and why a profile is missing
}

// role is the profile of the servers, the clients or the stores together.
type role struct {
	Name    string // of one: server, client or store
	Files   []string
	Seconds float64
	Tables  []functions
	Flame   template.HTML
	root    *function
}

// functions are those with the most time in themselves, or with what they called.
type functions struct {
	Caption string
	Lines   []line
}

// line is a function's line: its times, in seconds and as percentages of the role's.
type line struct {
	Name                        string
	Flat, FlatShare, Cum, Share float64
}

// most is how many functions a table lists.
const most = 10

// part returns the part of the run in a folder; nil if it was not profiled.
func part(dir string, r *folder.Run) *report.Part {
	var v view
	found := false
	for _, name := range []string{string(metrics.Server), "store", string(metrics.Client)} {
		paths, _ := filepath.Glob(filepath.Join(dir, metrics.ProfileFolder, name+"[0-9]*")) // the pattern is right
		found = found || len(paths) > 0
		one, notes := read(name, paths)
		if v.Notes = append(v.Notes, notes...); one != nil {
			v.Roles = append(v.Roles, *one)
		}
	}
	if !found {
		return nil
	}
	v.Call, v.Whole = split(r.Run, v.Roles)
	body, err := report.Render("profile.html", v, layouts)
	if err != nil {
		body = []byte(template.HTMLEscapeString(err.Error()))
	}
	return &report.Part{ID: "profile", Title: "Where the time goes", Body: template.HTML(body)}
}

// read merges the profiles of a role. A note names what cannot be read, or says why there is none.
func read(name string, paths []string) (one *role, notes []string) {
	var profiles []*profile.Profile
	r := role{Name: name}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		file := filepath.Join(metrics.ProfileFolder, filepath.Base(path))
		if err == nil && !strings.HasSuffix(path, metrics.ProfileEnding) {
			notes = append(notes, fmt.Sprintf("no profile of %s: %s", strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), strings.TrimSpace(string(text))))
			continue
		}
		var p *profile.Profile
		if err == nil {
			p, err = profile.ParseData(text)
		}
		if err == nil && len(p.SampleType) == 0 {
			err = fmt.Errorf("it has no sample types")
		}
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s: %v", file, err))
			continue
		}
		profiles, r.Files = append(profiles, p), append(r.Files, file)
	}
	if len(profiles) == 0 {
		return nil, notes
	}
	root, all := sum(profiles)
	r.root = root
	r.Seconds, r.Flame = float64(r.root.Total)/1e9, flame(r.root, "flame graph of the "+name)
	r.table("The functions with the most time in themselves", longest(all, func(f *function) int64 { return f.Flat }))
	r.table("The functions with the most time, with what they call", longest(all, func(f *function) int64 { return f.Total }))
	return &r, notes
}

// table adds a table of the first functions.
func (r *role) table(caption string, all []*function) {
	t := functions{Caption: caption}
	for _, f := range all[:min(most, len(all))] {
		t.Lines = append(t.Lines, line{f.Name, float64(f.Flat) / 1e9, percent(f.Flat, r.root), float64(f.Total) / 1e9, percent(f.Total, r.root)})
	}
	r.Tables = append(r.Tables, t)
}

// share is a part of a call.
type share struct {
	Name, What string
	Micros     float64
	Percent    float64
}

// storePackages begin the names of the functions that are the store of kvlab's own server.
var storePackages = []string{"kvlab/kvs/engine", "kvlab/extra/variants/engines", "kvlab/extra/rivals/disk"}

// split returns the parts of the mean time of an operation, and what they are parts of. What a
// server of kvlab spends in its store is the share of that in its profile. A foreign store does not
// tell how long a call was in it: its part is its processor time for a call, and less than that.
func split(run metrics.Run, roles []role) (parts []share, whole string) {
	mean := func(name string) float64 { return run.Latency[name].Mean }
	all := mean(metrics.OpLatency)
	add := func(name, what string, micros float64) {
		parts = append(parts, share{name, what, micros, 100 * micros / all})
	}
	if all <= 0 {
		return nil, ""
	}
	add("client", "from when an operation is due until its call is written", mean(metrics.WaitLatency)+mean(metrics.QueueLatency))
	at := slices.IndexFunc(roles, func(r role) bool { return r.Name == string(metrics.Server) })
	switch server, wire := mean(metrics.ServerLatency), mean(metrics.WireLatency); {
	case server > 0 && at >= 0:
		store := server * roles[at].within(storePackages)
		add("in flight", "the network, and both kernels' queues", wire)
		add("server", "from when it has read the call until its reply is made, without the store", server-store)
		add("store", "of that, by the share of the engine in the server's profile", store)
	case server > 0:
		add("in flight", "the network, and both kernels' queues", wire)
		add("server", "from when it has read the call until its reply is made", server)
	default:
		calls := 0.0
		for _, c := range run.Summaries(metrics.Client) {
			calls += metrics.PerSecond(float64(c.InWindow.Calls), c.WindowLengthS)
		}
		rest := all - mean(metrics.WaitLatency) - mean(metrics.QueueLatency) // not every driver tells of the wire
		store := min(rest, 1e6*run.Used[metrics.Server].Cores.Avg/max(calls, 1))
		add("in flight", "the network, both kernels' queues, and where the call waits in the store", rest-store)
		if store > 0 { // else it was not sampled
			add("store", "its processor time for a call", store)
		}
	}
	return parts, fmt.Sprintf("of the mean time of an operation, %.3g ms", all/1000)
}

// within returns the share of the role's time in functions of packages and in what these call.
func (r role) within(packages []string) float64 {
	var time func(f *function) int64
	time = func(f *function) (sum int64) {
		if slices.ContainsFunc(packages, func(p string) bool { return strings.HasPrefix(f.Name, p) }) {
			return f.Total
		}
		for _, g := range f.called {
			sum += time(g)
		}
		return sum
	}
	return float64(time(r.root)) / float64(cmp.Or(r.root.Total, 1))
}
