package kvlab_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"kvlab/kvs/driver/redistest"
)

// BenchmarkDedupOnLink runs a server and a client in two network namespaces
// with a link of 1 Gb/s between them, plain and with -dedup in turn, b.N
// times each. It needs root.
func BenchmarkDedupOnLink(b *testing.B) {
	redistest.Need(b, "ip", "tc")
	if os.Geteuid() != 0 {
		b.Skip("network namespaces need root")
	}
	bin := buildPrograms(b)
	l := newLink(b, "1gbit")
	var plain, dedup []float64
	for b.Loop() {
		plain = append(plain, l.ops(b, bin))
		dedup = append(dedup, l.ops(b, bin, "-dedup"))
	}
	b.ReportMetric(median(plain), "plain-ops/s")
	b.ReportMetric(median(dedup), "dedup-ops/s")
	b.ReportMetric(median(dedup)/median(plain), "dedup/plain")
	b.ReportMetric(0, "ns/op") // the time of a pair says nothing
	if *update {
		writeTable(b, "dedup", "| 1 Gb/s link, slab engine | ops/s | pairs of runs | ratio |\n|---|---|---|---|\n"+
			fmt.Sprintf("| plain | %s | %d | |\n", people(median(plain)), len(plain))+
			fmt.Sprintf("| `-dedup` | %s | %d | **%.2f x** |\n", people(median(dedup)), len(dedup), median(dedup)/median(plain)))
	}
}

// buildPrograms builds the node programs and returns their folder.
func buildPrograms(tb testing.TB) string {
	tb.Helper()
	bin := tb.TempDir()
	build := exec.Command("go", "build", "-o", bin, "./kvs/server/kvsserver", "./kvs/client/kvsclient")
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("build: %v\n%s", err, out)
	}
	return bin
}

// link is two network namespaces with a shaped link between them.
type link struct{ server, client string }

// Addresses in the namespaces; nothing outside of them can reach these.
const (
	serverAddress = "10.10.1.1"
	clientAddress = "10.10.1.2"
)

// newLink makes a link of the given rate in both directions; it goes with the
// test.
func newLink(tb testing.TB, rate string) link {
	tb.Helper()
	l := link{server: fmt.Sprintf("kvlab-s%d", os.Getpid()), client: fmt.Sprintf("kvlab-c%d", os.Getpid())}
	for _, ns := range []string{l.server, l.client} {
		run(tb, "ip", "netns", "add", ns)
		tb.Cleanup(func() { run(tb, "ip", "netns", "del", ns) })
	}
	run(tb, "ip", "link", "add", "data", "netns", l.server, "type", "veth", "peer", "name", "data", "netns", l.client)
	for ns, address := range map[string]string{l.server: serverAddress, l.client: clientAddress} {
		run(tb, "ip", "-n", ns, "addr", "add", address+"/24", "dev", "data")
		run(tb, "ip", "-n", ns, "link", "set", "data", "up")
		run(tb, "tc", "-n", ns, "qdisc", "add", "dev", "data", "root", "tbf", "rate", rate, "burst", "256kb", "latency", "50ms")
	}
	return l
}

func run(tb testing.TB, command ...string) {
	tb.Helper()
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		tb.Fatalf("%q: %v\n%s", command, err, out)
	}
}

// ops is the throughput of one run over the link.
func (l link) ops(tb testing.TB, bin string, args ...string) float64 {
	tb.Helper()
	const address = serverAddress + ":8080"
	server := exec.Command("ip", "netns", "exec", l.server, filepath.Join(bin, "kvsserver"), "-listen", address, "-engine", "slab")
	if err := server.Start(); err != nil {
		tb.Fatal(err)
	}
	defer func() {
		server.Process.Signal(os.Interrupt)
		server.Wait()
	}()
	client := append([]string{"netns", "exec", l.client, filepath.Join(bin, "kvsclient"), "-hosts", address, "-secs", window(), "-warmup", "2"}, args...)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if exec.Command("ip", "netns", "exec", l.client, "bash", "-c", "exec 3<>/dev/tcp/"+serverAddress+"/8080").Run() == nil {
			break
		}
		if time.Now().After(deadline) {
			tb.Fatalf("the server does not listen on %s", address)
		}
	}
	out, err := exec.Command("ip", client...).CombinedOutput()
	m := regexp.MustCompile(`(?m)^throughput ([0-9.]+) ops/s$`).FindSubmatch(out)
	if err != nil || m == nil {
		tb.Fatalf("kvsclient: %v\n%s", err, out)
	}
	return parse(tb, string(m[1]))
}
