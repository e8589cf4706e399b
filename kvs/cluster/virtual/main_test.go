package virtual

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"testing"
	"time"

	"kvlab/metrics"
)

// enterVariable marks a process that is to enter a lab, and all of the lab's.
const enterVariable = "KVLAB_TEST_LAB"

// TestMain lets the test binary be each of a lab's processes. The program that
// runs inside is brought up by its arguments: number of hosts, bits per second.
func TestMain(m *testing.M) {
	status, ok := Main()
	switch {
	case ok:
	case Inside():
		status = inside()
	case InLoopback():
		status = alone()
	case os.Getenv(enterVariable) == loopbackName:
		var err error
		if status, err = EnterLoopback(context.Background(), os.Args[1:], os.Stdout, os.Stderr, nil); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	case os.Getenv(enterVariable) != "":
		ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt)
		var err error
		if status, err = Enter(ctx, os.Args[1:], os.Stdout, os.Stderr, nil); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 2
		}
	default:
		status = m.Run()
	}
	os.Exit(status)
}

// facts are what the program inside says when the lab is up.
type facts struct {
	Lab    metrics.Lab
	Hosts  []string   // each host's answers to hostScript, by ssh
	Flows  []transfer // from the first host to the second, and back
	Reaped bool       // an orphan
}

// hostScript prints a host's name, addresses and files.
const hostScript = `hostname
cat /etc/hostname /var/emulab/boot/controlif
ls -A /tmp ~ | wc -w
cat /proc/1/comm
ls /sys/class/net
ip -o -4 addr show | awk '{ print $2, $4 }'
tc qdisc show | awk '$2 == "tbf" { print $5, $9, $10, $11, $12, $13 }'
grep -c node /etc/hosts
ip neigh show nud permanent | grep -c eth1
cat /sys/class/net/eth1/speed
awk '$1 == "monotonic" { print $2 }' /proc/self/timens_offsets
`

// inside brings the lab up, prints its facts, and waits for a signal.
func inside() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	f, err := tryLab(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	json.NewEncoder(os.Stdout).Encode(f)
	<-ctx.Done()
	return 42
}

func tryLab(ctx context.Context) (facts, error) {
	hosts, _ := strconv.Atoi(os.Args[1])
	rate, _ := strconv.ParseUint(os.Args[2], 10, 64)
	l, err := Start(ctx, metrics.Lab{Hosts: hosts, LinkBitsPerS: rate})
	if err != nil {
		return facts{}, err
	}
	f := facts{Lab: l.Lab}
	for _, h := range l.hosts {
		cmd := exec.Command("ssh", "-F", l.SSHConfig, "-o", "BatchMode=yes", h.name, "sh", "-s")
		cmd.Stdin = strings.NewReader(hostScript)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return f, fmt.Errorf("ssh %s: %w: %s", h.name, err, out)
		}
		f.Hosts = append(f.Hosts, string(out))
	}
	if rate > 0 {
		for _, pair := range [][2]*host{{l.hosts[0], l.hosts[1]}, {l.hosts[1], l.hosts[0]}} {
			flow, err := transferBetween(pair[0], pair[1])
			if err != nil {
				return f, err
			}
			f.Flows = append(f.Flows, flow)
		}
	}
	f.Reaped, err = orphanIsReaped()
	return f, err
}

// orphanIsReaped starts a process whose parent ends before it, and reports
// whether it is gone when it has ended: a zombie would still be listed.
func orphanIsReaped() (bool, error) {
	out, err := exec.Command("sh", "-c", "sleep 0.05 >/dev/null & echo $!").Output()
	if err != nil {
		return false, err
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat("/proc/" + strings.TrimSpace(string(out))); os.IsNotExist(err) {
			return true, nil
		}
	}
	return false, nil
}
