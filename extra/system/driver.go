// Package system runs a team's own programs: its client against kvlab's servers, or its servers
// and clients as they are.
package system

import (
	"context"
	"errors"
	"net"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/target"
)

// Driver is the row of a team's servers. It only sees whether they answer: their own client alone
// speaks to them.
var Driver = driver.Row{
	Name: target.Claims,
	Check: func(driver.Options, driver.Use) error {
		return errors.New("only a system's own client speaks to its servers: want --system")
	},
	Open: func(o driver.Options, _ driver.Use) (driver.Driver, error) { return servers(o.Hosts), nil },
}

// servers are the addresses of a team's servers.
type servers []string

func (servers) Explain(_ context.Context, _ int, err error) error { return err }
func (servers) Info() driver.Info                                 { return driver.Info{} }
func (servers) Close() error                                      { return nil }

// Dial connects, for a moment.
func (s servers) Dial(ctx context.Context, server, _ int) (driver.Conn, driver.Server, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", s[server])
	if err != nil {
		return nil, driver.Server{}, err
	}
	return silent{conn}, driver.Server{}, nil
}

// silent is a connection that carries no call.
type silent struct{ net.Conn }

func (silent) Send(*kvs.Call)       {}
func (silent) Wait(*kvs.Call) error { return errors.New("only the system's own client sends calls") }
