package server

import (
	"context"
	"encoding/json"
	"io"

	"kvlab/internal/cli"
	"kvlab/kvs/driver"
	"kvlab/kvs/node"
	"kvlab/kvs/target"
)

// find answers node.FindFlag: it asks a store that runs for the servers and the router of its
// keys.
func find(ctx context.Context, foreign []driver.Row, in io.Reader, out io.Writer) error {
	var q node.Search
	if err := json.NewDecoder(in).Decode(&q); err != nil {
		return err
	}
	var t target.Target
	if err := t.Set(q.Target); err != nil {
		return err
	}
	row, err := cli.Find("-target: driver", t.Driver, foreign)
	if err != nil {
		return err
	}
	found := node.Found{Servers: t.Servers}
	if row.Find != nil {
		o := driver.DefaultOptions()
		o.Transport, o.Hosts, o.Settings = row.Name, t.Servers, node.Revealed(t.Settings, q.Password)
		if found.Servers, found.Router, err = row.Find(ctx, o); err != nil {
			return err
		}
	}
	return json.NewEncoder(out).Encode(found)
}
