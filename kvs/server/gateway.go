package server

import (
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/node"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
	"kvlab/metrics"
	"kvlab/metrics/usage"
)

// Gateway describes how a server serves its store in another protocol: on an address of its own
// too, or with Form in place of kvlab's.
type Gateway struct {
	Protocol string             // its name in the log
	Flag     string             // sets the address, host:port, or the form
	Usage    string             // the flag's help
	Form     func(string) error // returns what is wrong with a form; nil of a gateway with an address

	// Open returns a function that serves a connection until its end, and closes it, and one that
	// adds to the server's summary what the connections did that have ended; nil for nothing.
	// Several goroutines call the first at the same time.
	Open func(*service.Service, GatewayOptions) (serve func(net.Conn) error, summarize func(*metrics.Summary))
}

// GatewayOptions configure a gateway.
type GatewayOptions struct {
	Value      string                 // the flag's
	Password   string                 // that clients must give; "" for none
	ThirdParty bool                   // the clients are not the run's: the gateway opens their connections by OpenThirdParty
	Limits     wire.Limits            // of each connection; a command has Frame bytes at most
	Engine     string                 // its name
	Check      func([]kvs.Kind) error // why the engine cannot execute one of the kinds
	Logf       func(string, ...any)   // writes to the server's log
}

// protocolFlags are the flags of kvlab's own protocol.
var protocolFlags = []string{"codec", "model", "repeat", "max-frame", "max-batch", "request-timeout", "idle-timeout", "socket-buffer", "tls"}

// checkGateways returns an error that names the flag of the first gateway with a wrong
// address.
func (c config) checkGateways(flags *node.Flags, gateways []Gateway) error {
	for i, g := range gateways {
		var err error
		switch value := c.Gateways[i]; {
		case value == "":
		case g.Form == nil:
			err = c.checkAddress("-"+g.Flag, value)
		default:
			if err = g.Form(value); err != nil {
				err = fmt.Errorf("-%s %s: %w", g.Flag, value, err)
			}
			flags.Visit(func(f *flag.Flag) {
				if slices.Contains(protocolFlags, f.Name) && err == nil {
					err = fmt.Errorf("-%s is of kvlab's own protocol: it does not go with -%s", f.Name, g.Flag)
				}
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// openGateway returns the listener of a gateway for its clients; nil of one in place of kvlab's
// own protocol, whose own listens already. Under a launcher, clients at another address are not
// the run's.
func (s *server) openGateway(g Gateway, value string, row engine.Row, own *listener) (l *listener, err error) {
	l, address := own, own.Addr()
	if g.Form == nil {
		if l, err = s.listen(value); err != nil {
			return nil, err
		}
		address = l.Addr()
		if s.config.TLS != nil {
			l.Listener = tls.NewListener(l.Listener, s.config.TLS)
		}
		if s.thirdParty = s.node.Controlled(); s.thirdParty {
			l.first = nil
		}
	}
	if at, err := netip.ParseAddrPort(address.String()); err == nil && l == own { // its clients may come as late as in the window
		if holders, err := usage.Holders(at.Addr().Unmap()); err == nil && len(holders) == 1 {
			s.reporter.SetInterface(holders[0])
		}
	}
	s.node.Logf("Starting %s gateway on %s", g.Protocol, address)
	var summarize func(*metrics.Summary)
	l.foreign, summarize = g.Open(s.service, GatewayOptions{
		Value: value, Password: s.config.Token, ThirdParty: s.thirdParty, Limits: s.config.Limits, Engine: row.Name, Logf: s.node.Logf,
		Check: func(kinds []kvs.Kind) error {
			if row.NoStore {
				return fmt.Errorf("-engine %s keeps no keys", row.Name)
			}
			return row.CheckKinds(kinds)
		},
	})
	if summarize != nil {
		s.summarizers = append(s.summarizers, summarize)
	}
	if l == own {
		return nil, nil
	}
	return l, nil
}
