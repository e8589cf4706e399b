package node

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"

	"kvlab/metrics"
	"kvlab/metrics/usage"
)

// ReportConfig reports and logs the node's machine, which it returns, its process and
// binary, and the final value of every flag.
func (n *Node) ReportConfig(can metrics.Capabilities) (metrics.Host, error) {
	flags := n.flags
	host, err := usage.HostFacts()
	sum, sumErr := binarySum()
	allowed, coresErr := allowedCores()
	id, idErr := Find(os.Getpid())
	if err := cmp.Or(err, sumErr, coresErr, idErr); err != nil {
		return host, err
	}
	cores := formatCores(allowed)
	n.Logf("%s on %s: %s, %d cores, %s, %s", flags.Name(), host.Hostname, host.CPUModel, host.Cores, host.Kernel, host.GoVersion)
	if len(allowed) < host.Cores {
		n.Logf("runs on cores %s", cores)
	}
	flags.each(func(f *flag.Flag) { n.Logf("  -%s %s", f.Name, f.Value) })
	config := metrics.Config{Schema: metrics.Schema, Process: id, Args: n.args, Flags: flags.Values(), Classes: flags.Classes(), Host: host, Binary: sum, Cores: cores, MaxProcs: runtime.GOMAXPROCS(0), Capabilities: &can}
	return host, n.Report(metrics.Record{Config: &config})
}

// Reset gives a flag another value and reports the configuration again.
func (n *Node) Reset(flag, value string, can metrics.Capabilities) error {
	if err := n.flags.Set(flag, value); err != nil {
		return err
	}
	_, err := n.ReportConfig(can)
	return err
}

// binarySum returns the SHA-256 of the running program's file, in hex.
func binarySum() (string, error) {
	// The link leads to the running file even if its path now names another one.
	file, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", fmt.Errorf("hash this program: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("hash this program: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
