package engine

import (
	"fmt"
	"slices"
	"strings"

	"kvlab/internal/cli"
)

// Sync says what an engine on disk promises of a write that a server has acknowledged.
type Sync string

// The promises, from the weakest.
const (
	SyncNone Sync = "none"
	SyncOS   Sync = "os"
	SyncDisk Sync = "disk"
)

var promises = []promise{
	{SyncNone, "an acknowledged write may be lost by kill -9 and by power loss"},
	{SyncOS, "an acknowledged write is kept after kill -9, and may be lost by power loss"},
	{SyncDisk, "an acknowledged write is kept after kill -9 and after power loss"},
}

type promise struct {
	sync Sync
	text string
}

// Label returns the name and the promise.
func (p promise) Label() (name, description string) { return string(p.sync), p.text }

// String returns the sync with its promise.
func (s Sync) String() string {
	p, err := cli.Find("-sync", string(s), promises)
	if err != nil {
		return string(s)
	}
	return "sync " + string(s) + ": " + p.text
}

// SyncUsage lists the promises for the help of a flag.
func SyncUsage() string { return cli.Usage(promises) }

// CheckSync returns an error unless the engine keeps the promise.
func (r Row) CheckSync(sync Sync) error {
	if _, err := cli.Find("-sync", string(sync), promises); err != nil {
		return err
	}
	var keeps []string
	for _, s := range r.Syncs {
		keeps = append(keeps, string(s))
	}
	if !slices.Contains(r.Syncs, sync) {
		return fmt.Errorf("-sync %s: -engine %s has no such mode: want %s", string(sync), r.Name, strings.Join(keeps, " or "))
	}
	return nil
}
