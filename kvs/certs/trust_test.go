package certs

import (
	"crypto/tls"
	"crypto/x509"
	"flag"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var loopback = netip.MustParseAddr("127.0.0.1")

func issue(t *testing.T, valid time.Duration, addrs ...netip.Addr) Credentials {
	t.Helper()
	a, err := NewAuthority(valid)
	if err != nil {
		t.Fatal(err)
	}
	return issueFrom(t, a, addrs...)
}

func issueFrom(t *testing.T, a *Authority, addrs ...netip.Addr) Credentials {
	t.Helper()
	c, err := a.Issue("node0", addrs...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// shake has a client that dials host meet a server, and returns what each says.
func shake(t *testing.T, server, client Credentials, host string) (state tls.ConnectionState, atServer, atClient error) {
	t.Helper()
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	configs := make([]*tls.Config, 2)
	for i, c := range []Credentials{server, client} {
		var err error
		if configs[i], err = c.Config(); err != nil {
			t.Fatal(err)
		}
	}
	configs[1].ServerName = host
	said := make(chan error, 1)
	go func() {
		conn := tls.Server(far, configs[0])
		err := conn.Handshake()
		if err == nil {
			_, err = conn.Write([]byte("hello"))
		}
		far.Close()
		said <- err
	}()
	conn := tls.Client(near, configs[1])
	// In TLS 1.3 a client hears of its certificate's refusal when it reads.
	_, atClient = io.ReadAll(conn)
	near.Close()
	return conn.ConnectionState(), <-said, atClient
}

// Nodes of one authority meet under TLS 1.3; others, and a server under another
// address, do not.
func TestWhoBelievesWhom(t *testing.T) {
	run, err := NewAuthority(time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	server, client := issueFrom(t, run, loopback), issueFrom(t, run)
	state, atServer, atClient := shake(t, server, client, "127.0.0.1")
	if atServer != nil || atClient != nil || state.Version != tls.VersionTLS13 {
		t.Fatalf("server %v, client %v, version %x", atServer, atClient, state.Version)
	}
	for _, x := range state.PeerCertificates {
		if x.PublicKeyAlgorithm != x509.ECDSA || x.Subject.CommonName != "node0" || x.IsCA {
			t.Errorf("the server shows a certificate of %v with %v, authority %t", x.Subject, x.PublicKeyAlgorithm, x.IsCA)
		}
	}
	for _, test := range []struct {
		name           string
		server, client Credentials
		host           string
		want           string // in the error of one of them
	}{
		{"a server of another run", issue(t, time.Hour, loopback), client, "127.0.0.1", "unknown authority"},
		{"a client of another run", server, Credentials{server.Authority, issue(t, time.Hour).Certificate, ""}, "127.0.0.1", "unknown authority"},
		{"a server elsewhere", server, client, "127.0.0.2", "127.0.0.2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.client.Key == "" { // of another run, and believes this one
				other := issue(t, time.Hour)
				test.client = Credentials{server.Authority, other.Certificate, other.Key}
			}
			_, atServer, atClient := shake(t, test.server, test.client, test.host)
			if atServer == nil || atClient == nil || !strings.Contains(atServer.Error()+atClient.Error(), test.want) {
				t.Errorf("server %v, client %v; want %q", atServer, atClient, test.want)
			}
		})
	}
	over, err := NewAuthority(-time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, atClient := shake(t, issueFrom(t, over, loopback), issueFrom(t, over), "127.0.0.1"); atClient == nil || !strings.Contains(atClient.Error(), "expired") {
		t.Errorf("an authority that is over: %v", atClient)
	}
}

// Credentials in files are as good as the launcher's, and come first; what is
// missing or wrong is named by its flag.
func TestFlags(t *testing.T) {
	dir, own := t.TempDir(), issue(t, time.Hour)
	path := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	cert, key, ca, bad := path("cert", own.Certificate), path("key", own.Key), path("ca", own.Authority), path("bad", "not PEM")
	given := issue(t, time.Hour)
	for _, test := range []struct {
		args  []string
		given *Credentials
		want  string // the error, or the authority whose word counts: "files", "launcher", "nobody"
	}{
		{nil, &given, "nobody"},
		{[]string{"-tls=false"}, &given, "nobody"},
		{[]string{"-tls"}, &given, "launcher"},
		{[]string{"-tls", "-tls-cert", cert, "-tls-key", key, "-tls-ca", ca}, nil, "files"},
		{[]string{"-tls", "-tls-cert", cert, "-tls-key", key, "-tls-ca", ca}, &given, "files"},
		{[]string{"-tls"}, nil, "-tls: this node has no certificate"},
		{[]string{"-tls", "-tls-cert", cert}, nil, "-tls-cert, -tls-key and -tls-ca go together"},
		{[]string{"-tls-cert", cert, "-tls-key", key, "-tls-ca", ca}, nil, "go with -tls"},
		{[]string{"-tls", "-tls-cert", cert, "-tls-key", key, "-tls-ca", "/nonexistent"}, nil, "-tls-ca: open /nonexistent"},
		{[]string{"-tls", "-tls-cert", bad, "-tls-key", key, "-tls-ca", ca}, nil, "-tls-cert " + bad},
		{[]string{"-tls", "-tls-cert", cert, "-tls-key", key, "-tls-ca", bad}, nil, "-tls-ca " + bad},
		{[]string{"-tls", "-tls-cert", cert, "-tls-key", path("other", issue(t, time.Hour).Key), "-tls-ca", ca}, nil, "does not match"},
	} {
		var f Flags
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		f.Define(flags)
		f.DefineFiles(flags)
		if err := flags.Parse(test.args); err != nil {
			t.Fatal(err)
		}
		got, err := "nobody", f.Validate()
		if err == nil {
			var config *tls.Config
			if config, err = f.Config(test.given); config != nil {
				got = "launcher"
				if pair, _ := tls.X509KeyPair([]byte(own.Certificate), []byte(own.Key)); config.Certificates[0].Leaf.Equal(pair.Leaf) {
					got = "files"
				}
			}
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, test.want) || strings.Contains(got, "\n") {
			t.Errorf("%q: %s, want %s", test.args, got, test.want)
		}
	}
}
