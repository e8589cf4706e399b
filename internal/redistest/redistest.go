// Package redistest starts real servers of Redis for tests.
package redistest

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"kvlab/kvs/certs"
)

// Need skips the test unless the programs are installed; in CI they must be.
func Need(tb testing.TB, programs ...string) {
	tb.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err == nil {
			continue
		}
		if os.Getenv("KVLAB_CI") == "1" {
			tb.Fatalf("%s is missing, and KVLAB_CI=1 wants every test to run", p)
		}
		tb.Skipf("%s is missing: install it; Debian has Redis in redis-server and redis-tools", p)
	}
}

// Server is a redis-server on loopback, without persistence.
type Server struct {
	Addr string
	Port string

	tb      testing.TB
	args    []string
	process *exec.Cmd
}

// Start starts a server with further arguments, and ends it with the test.
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	Need(tb, "redis-server")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{tb: tb, Addr: l.Addr().String()}
	_, s.Port, _ = net.SplitHostPort(s.Addr)
	l.Close()
	s.args = append([]string{"--bind", "127.0.0.1", "--port", s.Port, "--save", "", "--appendonly", "no", "--dir", tb.TempDir()}, args...)
	tb.Cleanup(s.Kill)
	s.Restart()
	return s
}

// Restart starts the server's program, anew after Kill.
func (s *Server) Restart() {
	s.tb.Helper()
	s.process = exec.Command("redis-server", s.args...)
	if err := s.process.Start(); err != nil {
		s.tb.Fatal(err)
	}
	s.await("listens", func() bool {
		conn, err := net.Dial("tcp", s.Addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

// Kill ends the server's process at once.
func (s *Server) Kill() {
	if s.process.Process != nil {
		_ = s.process.Process.Kill() // it may have ended
		_ = s.process.Wait()
	}
}

// Do executes a command by redis-cli, and returns what that prints.
func (s *Server) Do(words ...string) string {
	s.tb.Helper()
	Need(s.tb, "redis-cli")
	out, err := exec.Command("redis-cli", append([]string{"-p", s.Port}, words...)...).Output()
	if err != nil {
		s.tb.Fatalf("redis-cli %v: %v\n%s", words, err, out)
	}
	return strings.TrimSpace(string(out))
}

// await polls until ok is true.
func (s *Server) await(what string, ok func() bool) {
	s.tb.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.tb.Fatalf("the redis-server at %s never %s", s.Addr, what)
		}
	}
}

// Cluster starts a Redis Cluster of masters, split by redis-cli.
func Cluster(tb testing.TB, masters int) (servers []*Server) {
	tb.Helper()
	Need(tb, "redis-server", "redis-cli")
	create := []string{"--cluster", "create"}
	for i := range masters {
		// Redis derives the bus's port from the port unless it is named, and that may exceed 65535.
		bus := Free(tb)
		servers = append(servers, Start(tb, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus)))
		create = append(create, servers[i].Addr)
	}
	if out, err := exec.Command("redis-cli", append(create, "--cluster-replicas", "0", "--cluster-yes")...).CombinedOutput(); err != nil {
		tb.Fatalf("redis-cli %v: %v\n%s", create, err, out)
	}
	for _, s := range servers {
		s.await("says that its cluster is ready", func() bool { return strings.Contains(s.Do("CLUSTER", "INFO"), "cluster_state:ok") })
	}
	return servers
}

// Free returns a TCP port that nobody listens on.
func Free(tb testing.TB) int {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Certificates writes the files of a certificate for 127.0.0.1, its key, and the authority that
// signed it.
func Certificates(tb testing.TB) (certificate, key, authority string) {
	tb.Helper()
	a, err := certs.NewAuthority(time.Hour)
	if err != nil {
		tb.Fatal(err)
	}
	own, err := a.Issue("store", netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	certificate, key, authority = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "ca.pem")
	for file, text := range map[string]string{certificate: own.Certificate, key: own.Key, authority: own.Authority} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return certificate, key, authority
}
