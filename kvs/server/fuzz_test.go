package server

import (
	"errors"
	"flag"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"kvlab/kvs/node"
)

// FuzzArgs: every command line, an argument a line, is refused in one line, or
// is one whose flags' final values say the same once more. What listens without
// -allow-public is no address that other machines reach.
func FuzzArgs(f *testing.F) {
	f.Add("")
	f.Add("-listen\n10.10.1.2:8080\n-engine=slab\n-node=a")
	f.Add("-listen=[::ffff:8.8.8.8]:1\n-allow-public")
	f.Add("-port=0\n-codec=gob\n-max-connections=1\n-socket-buffer\n65536")
	f.Add("-listen=0.0.0.0:80")
	f.Add("-beside=0.0.0.0:6379")
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Split(text, "\n")
		if text == "" {
			args = nil
		}
		if asksForNames(args) {
			return
		}
		c, flags, err := parse(args, nil, beside)
		if err != nil {
			var usage node.UsageError
			if errors.As(err, &usage) && strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q: error of several lines: %v", args, err)
			}
			return
		}
		for _, address := range append(c.Gateways, c.Listen) {
			if addr, err := netip.ParseAddrPort(address); err == nil && !c.AllowPublic {
				if a := addr.Addr().Unmap(); !a.IsLoopback() && !a.IsPrivate() && !a.IsLinkLocalUnicast() {
					t.Fatalf("%q listens on %s", args, addr)
				}
			}
		}
		again, _, err := parse(given(flags.FlagSet), nil, beside)
		if err != nil || !reflect.DeepEqual(again, c) {
			t.Fatalf("%q is %+v, and its values are %+v (%v)", args, c, again, err)
		}
	})
}

// asksForNames reports whether to read the arguments would ask a name server.
func asksForNames(args []string) bool {
	for _, arg := range args {
		_, value, ok := strings.Cut(arg, "=")
		if !ok {
			value = arg
		}
		host, _, err := net.SplitHostPort(value)
		if err != nil || host == "" {
			continue
		}
		if _, err := netip.ParseAddr(host); err != nil {
			return true
		}
	}
	return false
}

// given writes the flags that were set as a command line.
func given(flags *flag.FlagSet) []string {
	var args []string
	flags.Visit(func(f *flag.Flag) { args = append(args, "-"+f.Name+"="+f.Value.String()) })
	return args
}
