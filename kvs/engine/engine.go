// Package engine holds the engines, which store a server's keys. Each passes the suite in
// engine/enginetest.
package engine

import (
	"fmt"
	"slices"
	"strings"

	"kvlab/internal/cli"
	"kvlab/kvs"
	"kvlab/kvs/engine/slab"
)

// Options configure an engine. An engine in memory ignores all but the first.
type Options struct {
	Records uint64      // the expected number of keys; a hint, 0 when unknown
	Dir     string      // the folder of its files, which opens with the keys that it holds
	Sync    Sync        // one of the row's Syncs
	Fail    func(error) // called when the engine can store nothing more; may be nil
}

// Row describes an engine.
type Row struct {
	Name        string
	Description string
	NoStore     bool       // it keeps no keys, and measures a ceiling
	Lacks       []kvs.Kind // it cannot execute these kinds
	Versions    bool       // it stamps a version on every value: see kvs.Reply.FoundVersion
	Syncs       []Sync     // those that an engine on disk keeps, the default first; nil of one in memory
	Rival       bool       // only the programs of extra/rivals have it: a plain one does not open it

	Open func(Options) (kvs.Engine, error) // returns an engine, which is a kvs.Durable if it has Syncs
}

// Rival returns the row of a plain program for an engine of extra/rivals.
func Rival(name, description string) Row {
	return Row{Name: name, Description: description, Rival: true}
}

// Label returns the row's name and description.
func (r Row) Label() (name, description string) { return r.Name, r.Description }

// CheckKinds returns an error that names the first of the kinds that the engine lacks, and
// the engines that have it.
func (r Row) CheckKinds(kinds []kvs.Kind) error {
	for _, kind := range kinds {
		if !slices.Contains(r.Lacks, kind) {
			continue
		}
		var have []string
		for _, other := range rows {
			if !other.NoStore && !other.Rival && !slices.Contains(other.Lacks, kind) {
				have = append(have, other.Name)
			}
		}
		return fmt.Errorf("-engine %s has no %s: want -engine %s", r.Name, kind, strings.Join(have, " or "))
	}
	return nil
}

// CheckVersions returns an error that names the engines with versions, unless this is one.
func (r Row) CheckVersions() error {
	if r.Versions {
		return nil
	}
	var have []string
	for _, other := range rows {
		if other.Versions {
			have = append(have, other.Name)
		}
	}
	return fmt.Errorf("-engine %s keeps no versions of its values: want -engine %s", r.Name, strings.Join(have, " or "))
}

// CheckTransactions returns an error that says why transactions cannot work on the engine, or
// nil.
func (r Row) CheckTransactions() error {
	switch {
	case r.NoStore:
		return fmt.Errorf("-engine %s has no store", r.Name)
	case r.Syncs != nil:
		return fmt.Errorf("-engine %s is on disk, and the votes and decisions of transactions are not: want an engine in memory", r.Name)
	}
	return nil
}

// scans are the kinds that need an order of the keys.
var scans = []kvs.Kind{kvs.Scan, kvs.ScanPart}

// rows are the engines that a program knows, the default first.
var rows = []Row{
	{Name: "syncmap", Description: "a sync.Map of 4096 buckets, each a lock-free table of keys", Lacks: scans, Versions: true, Open: func(Options) (kvs.Engine, error) { return NewSyncMap(), nil }},
	{Name: "syncmap-plain", Description: "a plain sync.Map, one entry a key", Lacks: scans, Open: func(Options) (kvs.Engine, error) { return new(syncMapPlain), nil }},
	{Name: "slab", Description: "a hash table outside of the collector's heap", Lacks: scans, Versions: true, Open: func(o Options) (kvs.Engine, error) { return slab.New(o.Records) }},
	{Name: "btree", Description: "a B-tree in the keys' order, with scans", Open: func(Options) (kvs.Engine, error) { return newBTree(), nil }},
	{Name: "sharded", Description: "1024 maps, each behind a RWMutex", Lacks: scans, Open: func(Options) (kvs.Engine, error) { return newSharded(), nil }},
	{Name: "mutex", Description: "one map behind a Mutex", Lacks: scans, Open: func(Options) (kvs.Engine, error) { return NewMutex(), nil }},
	{Name: NullName, Description: "no store: the ceiling of everything else", NoStore: true, Open: func(Options) (kvs.Engine, error) { return NewNull(), nil }},
}

// Names are the engines with a store, the default first.
var Names = stores()

func stores() (names []string) {
	for _, r := range rows {
		if !r.NoStore {
			names = append(names, r.Name)
		}
	}
	return names
}

// Link adds engines to those that the program knows. A main calls it before anything else.
func Link(more ...[]Row) {
	rows = append(rows, slices.Concat(more...)...)
	Names = stores()
}

// Usage lists all engines for the help of a flag.
func Usage() string { return cli.Usage(rows) }

// Find returns the row of a name. The error names the flag.
func Find(name string) (Row, error) { return cli.Find("-engine", name, rows) }

// Open returns an empty engine. If it is an io.Closer, the caller closes it.
func Open(name string, o Options) (kvs.Engine, error) {
	row, err := Find(name)
	if err != nil {
		return nil, err
	}
	return row.Open(o)
}
