package server

import (
	"crypto/tls"
	"fmt"
	"net"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
)

// Gateway describes how a server serves its store in another protocol too, on an address of
// its own.
type Gateway struct {
	Protocol string // its name in the log
	Flag     string // sets the address, host:port
	Usage    string // the flag's help

	// Open returns a function that serves a connection until its end, and closes it. Several
	// goroutines call it at the same time.
	Open func(*service.Service, GatewayOptions) (serve func(net.Conn) error)
}

// GatewayOptions configure a gateway.
type GatewayOptions struct {
	Password   string                 // that clients must give; "" for none
	ThirdParty bool                   // the clients are not the run's: the gateway opens their connections by OpenThirdParty
	Limits     wire.Limits            // of each connection; a command has Frame bytes at most
	Engine     string                 // its name
	Check      func([]kvs.Kind) error // why the engine cannot execute one of the kinds
}

// checkGateways returns an error that names the flag of the first gateway with a wrong
// address.
func (c config) checkGateways(gateways []Gateway) error {
	for i, g := range gateways {
		if address := c.Gateways[i]; address != "" {
			if err := c.checkAddress("-"+g.Flag, address); err != nil {
				return err
			}
		}
	}
	return nil
}

// listenGateway returns a listener for the clients of a gateway. Under a launcher they are
// not the run's.
func (s *server) listenGateway(g Gateway, address string, row engine.Row) (*listener, error) {
	l, err := s.listen(address)
	if err != nil {
		return nil, err
	}
	s.node.Logf("Starting %s gateway on %s", g.Protocol, l.Addr())
	if s.config.TLS != nil {
		l.Listener = tls.NewListener(l.Listener, s.config.TLS)
	}
	s.thirdParty = s.node.Controlled()
	if s.thirdParty {
		l.first = nil
	}
	l.foreign = g.Open(s.service, GatewayOptions{
		Password: s.config.Token, ThirdParty: s.thirdParty, Limits: s.config.Limits, Engine: row.Name,
		Check: func(kinds []kvs.Kind) error {
			if row.NoStore {
				return fmt.Errorf("-engine %s keeps no keys", row.Name)
			}
			return row.CheckKinds(kinds)
		},
	})
	return l, nil
}
