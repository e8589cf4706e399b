package peers_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"kvlab/internal/redistest"
)

// linkRows are the rows of BenchmarkOnLink. A link is so slow that two cores fill it with
// each of the variants, and so fast that a round of the plain one takes less than the window.
var linkRows = []struct {
	name, rate string // "": without a link, over loopback
	args       string
}{
	{"1 Gb/s, the defaults", "1gbit", ""},
	{"250 Mb/s, the defaults", "250mbit", ""},
	{"100 Mb/s, `-workers 16 -batch 2048`", "100mbit", "-workers 16 -batch 2048"},
	{"the same, YCSB-A", "100mbit", "-workers 16 -batch 2048 -workload YCSB-A"},
	{"the same, YCSB-C", "100mbit", "-workers 16 -batch 2048 -workload YCSB-C"},
	{"loopback, `-workers 16 -batch 2048`", "", "-workers 16 -batch 2048"},
}

// linkVariants are the columns.
var linkVariants = [...][]string{nil, {"-dedup"}, {"-cache", "all"}}

// BenchmarkOnLink runs a server and a client in two network namespaces with a link between
// them, plain, with -dedup and with -cache all in turn, b.N times each. It needs root.
func BenchmarkOnLink(b *testing.B) {
	redistest.Need(b, "ip", "tc")
	if os.Geteuid() != 0 {
		b.Skip("network namespaces need root")
	}
	bin := buildPrograms(b)
	l := newLink(b)
	table := "| link, slab engine | plain | `-dedup` | `-cache all` | of plain | of `-dedup` |\n|---|---|---|---|---|---|\n"
	rows := linkRows
	if testing.Short() {
		rows = rows[2:3]
	}
	for _, row := range rows {
		b.Run(strings.NewReplacer(" ", "_", "/", "_", "`", "").Replace(row.name), func(b *testing.B) {
			var rates [len(linkVariants)][]float64
			var last [len(linkVariants)]carried
			for b.Loop() {
				for i, variant := range linkVariants {
					last[i] = l.run(b, bin, row.rate, append(variant[:len(variant):len(variant)], strings.Fields(row.args)...)...)
					rates[i] = append(rates[i], last[i].opsPerS)
				}
			}
			plain, dedup, cache := median(rates[0]), median(rates[1]), median(rates[2])
			b.ReportMetric(plain, "plain-ops/s")
			b.ReportMetric(dedup, "dedup-ops/s")
			b.ReportMetric(cache, "cache-ops/s")
			b.ReportMetric(cache/plain, "cache/plain")
			b.ReportMetric(cache/dedup, "cache/dedup")
			b.ReportMetric(last[2].sent+last[2].received, "cache-B/op")
			b.ReportMetric(0, "ns/op") // the time of a pair says nothing
			b.Logf("plain %.0f, dedup %.0f, cache %.0f", rates[0], rates[1], rates[2])
			line := fmt.Sprintf("| %s | %s (%s) | %s (%s) | %s (%s) | **%.2f x** | %.2f x |\n", row.name,
				people(plain), last[0], people(dedup), last[1], people(cache), last[2], cache/plain, cache/dedup)
			b.Log(line)
			table += line
		})
	}
	if *update {
		writeTable(b, "link", table)
	}
}

// carried is what a run's window has: the rate, and the bytes of an operation.
type carried struct{ opsPerS, sent, received float64 }

func (c carried) String() string { return fmt.Sprintf("%.1f + %.1f", c.sent, c.received) }

// buildPrograms builds the node programs and returns their folder.
func buildPrograms(tb testing.TB) string {
	tb.Helper()
	bin := tb.TempDir()
	build := exec.Command("go", "build", "-o", bin, "./cmd/kvsserver", "./cmd/kvsclient")
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

// newLink makes a link, which goes with the test.
func newLink(tb testing.TB) link {
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
		run(tb, "ip", "-n", ns, "link", "set", "lo", "up")
	}
	return l
}

// shape gives the link a rate in both directions.
func (l link) shape(tb testing.TB, rate string) {
	for _, ns := range []string{l.server, l.client} {
		run(tb, "tc", "-n", ns, "qdisc", "replace", "dev", "data", "root", "tbf", "rate", rate, "burst", "256kb", "latency", "50ms")
	}
}

func run(tb testing.TB, command ...string) {
	tb.Helper()
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		tb.Fatalf("%q: %v\n%s", command, err, out)
	}
}

// run is one run between the namespaces, or in that of the server without a rate. The link
// has its rate from the warm-up on: the load need not wait for it.
func (l link) run(tb testing.TB, bin, rate string, args ...string) carried {
	tb.Helper()
	const address = serverAddress + ":8080"
	l.shape(tb, "20gbit")
	server := exec.Command("ip", "netns", "exec", l.server, filepath.Join(bin, "kvsserver"), "-listen", address, "-engine", "slab")
	if err := server.Start(); err != nil {
		tb.Fatal(err)
	}
	defer func() {
		server.Process.Signal(os.Interrupt)
		server.Wait()
	}()
	at := l.client
	if rate == "" {
		at = l.server
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if exec.Command("ip", "netns", "exec", at, "bash", "-c", "exec 3<>/dev/tcp/"+serverAddress+"/8080").Run() == nil {
			break
		}
		if time.Now().After(deadline) {
			tb.Fatalf("the server does not listen on %s", address)
		}
	}
	client := exec.Command("ip", append([]string{"netns", "exec", at, filepath.Join(bin, "kvsclient"), "-hosts", address, "-warmup", "3"}, append(lengths(), args...)...)...)
	out, err := client.StdoutPipe()
	if err == nil {
		client.Stderr = client.Stdout
		err = client.Start()
	}
	if err != nil {
		tb.Fatal(err)
	}
	var text strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if fmt.Fprintln(&text, lines.Text()); rate != "" && strings.HasPrefix(lines.Text(), "phase warmup") {
			l.shape(tb, rate)
		}
	}
	err = client.Wait()
	m := regexp.MustCompile(`(?s)\nbytes per operation in the window: ([0-9.]+) sent, ([0-9.]+) received\n.*\nthroughput ([0-9.]+) ops/s\n`).FindStringSubmatch(text.String())
	if err != nil || m == nil {
		tb.Fatalf("kvsclient: %v\n%s", err, &text)
	}
	return carried{parse(tb, m[3]), parse(tb, m[1]), parse(tb, m[2])}
}
