// Package etcd is the driver of etcd, by gRPC and etcd's own messages, but without etcd's
// client, which waits for servers and sends requests again. Each server is an etcd cluster
// of its own, and kvlab's router spreads the keys over them.
package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"sync/atomic"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"kvlab/internal/cli"
	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/metrics"
)

// Row is the driver of etcd 3.4 and later. Calls of many transactions
// would take too long when many workers make them.
var Row = driver.Row{Name: "etcd", Check: check, Open: open, Batch: maxOps, Transactions: true}

func check(o driver.Options, u driver.Use) error {
	return cmp.Or(o.CheckOneServer(u), cli.Want(u.Txn <= maxOps, "-txn", u.Txn, "at most %d operations, etcd's own limit", maxOps), o.CheckForeign(u, func(k kvs.Kind) bool { return !k.Scans() }, "user", "password", "tls", "ca", driver.CountsSetting))
}

// client is a driver.Driver and a driver.Counter.
type client struct {
	options driver.Options
	depth   int // of a connection's queue of calls
	http    http.Client
}

func open(o driver.Options, u driver.Use) (driver.Driver, error) {
	config, err := o.TLSOf(0)
	if config != nil {
		config.ServerName = "" // of each URL
	}
	return &client{options: o, depth: u.CallsInFlight, http: http.Client{Timeout: o.CallTimeout, Transport: &http.Transport{TLSClientConfig: config}}}, err
}

// Dial makes a gRPC connection, which is not made again when it breaks.
func (d *client) Dial(ctx context.Context, server, _ int) (driver.Conn, driver.Server, error) {
	host := d.options.Hosts[server]
	var dialed atomic.Bool
	meter := new(driver.Meter)
	once := func(ctx context.Context, addr string) (_ net.Conn, err error) {
		if dialed.Swap(true) {
			return nil, errBroken
		}
		meter.Conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		return meter, err
	}
	secure := insecure.NewCredentials()
	if config, err := d.options.TLSOf(server); err != nil {
		return nil, driver.Server{}, err
	} else if config != nil {
		secure = credentials.NewTLS(config)
	}
	var user login
	etcd, err := grpc.NewClient("passthrough:///"+host, grpc.WithContextDialer(once), grpc.WithTransportCredentials(secure), grpc.WithUnaryInterceptor(user.intercept),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)))
	if err != nil {
		return nil, driver.Server{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.options.CallTimeout)
	defer cancel()
	var list *pb.MemberListResponse
	if err = user.begin(ctx, etcd, d.options.Settings); err == nil {
		list, err = pb.NewClusterClient(etcd).MemberList(ctx, &pb.MemberListRequest{})
	}
	if n := len(list.GetMembers()); n > 1 && len(d.options.Hosts) > 1 {
		err = fmt.Errorf("-hosts: it is a member of a cluster of %d, which is one server: want one of its members alone", n)
	}
	if err != nil {
		return nil, driver.Server{}, errors.Join(fmt.Errorf("etcd at %s: %w", host, err), etcd.Close())
	}
	return newConn(etcd, meter, d.options.CallTimeout, d.depth), driver.Server{Name: host}, nil
}

// Explain knows no better reason: a restart is seen in the counts.
func (d *client) Explain(context.Context, int, error) error { return nil }

func (d *client) Info() driver.Info { return driver.Info{Capabilities: metrics.AllCapabilities} }

func (d *client) Close() error {
	d.http.CloseIdleConnections()
	return nil
}

var errBroken = errors.New("the connection broke")
