package node

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// The process that listens is found by its port or its socket; that of another machine is not.
func TestStoreProcess(t *testing.T) {
	for _, listen := range []struct{ network, address string }{
		{"tcp", "127.0.0.1:0"}, {"tcp", "[::1]:0"}, {"tcp", ":0"}, {"unix", filepath.Join(t.TempDir(), "s")},
	} {
		l, err := net.Listen(listen.network, listen.address)
		if err != nil && listen.address == "[::1]:0" {
			continue // a kernel without IPv6
		} else if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		address := l.Addr().String()
		if listen.address == ":0" {
			_, port, _ := net.SplitHostPort(address)
			address = "localhost:" + port
		}
		if pid, unseen, elsewhere, err := StoreProcess(address); pid != os.Getpid() || unseen != "" || elsewhere || err != nil {
			t.Errorf("%s: process %d, %q, elsewhere %v, %v, want %d", address, pid, unseen, elsewhere, err, os.Getpid())
		}
	}
	if pid, unseen, elsewhere, err := StoreProcess("192.0.2.1:6379"); pid != 0 || unseen != "it runs on another machine" || !elsewhere || err != nil { // RFC 5737: nobody's
		t.Errorf("another machine's: process %d, %q, elsewhere %v, %v", pid, unseen, elsewhere, err)
	}
}
