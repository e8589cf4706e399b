package node

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"

	"kvlab/metrics"
	"kvlab/metrics/build"
	"kvlab/metrics/usage"
)

// ReportConfig reports and logs the node's machine, process and binary, and the final value of
// every flag. It returns the machine.
func (n *Node) ReportConfig(can metrics.Capabilities) (metrics.Host, error) {
	flags := n.flags
	host, err := usage.HostFacts()
	_, sum, sumErr := ProgramOf(os.Getpid())
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
	config := metrics.Config{Schema: metrics.Schema, Process: id, Args: n.args, Flags: flags.Values(), Classes: flags.Classes(), Chosen: flags.Chosen(), Host: host, Binary: sum, Cores: cores, MaxProcs: runtime.GOMAXPROCS(0), Capabilities: &can}
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

// ProgramOf returns two facts about the program of a process: the git commit that the go
// command stamped into it, in the form of build.Commit, "" without one; and the SHA-256 of its
// file, in hex.
func ProgramOf(pid int) (commit, sum string, err error) {
	// The link leads to the running file even if its path now names another one.
	return ProgramAt(fmt.Sprintf("/proc/%d/exe", pid))
}

// ProgramAt returns what ProgramOf does, of the program in a file.
func ProgramAt(path string) (commit, sum string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", "", fmt.Errorf("hash a program: %w", err)
	}
	defer file.Close()
	digest := sha256.New()
	if _, err := io.Copy(digest, file); err != nil {
		return "", "", fmt.Errorf("hash a program: %w", err)
	}
	if info, err := buildinfo.Read(file); err == nil { // Go built it
		commit = build.CommitOf(info)
	}
	return commit, hex.EncodeToString(digest.Sum(nil)), nil
}
