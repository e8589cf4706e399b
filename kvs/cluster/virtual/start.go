package virtual

import (
	"context"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"kvlab/kvs/cluster/cgroup"
	"kvlab/metrics"
)

// startTimeout limits the start of all hosts, which takes seconds on an idle machine.
const startTimeout = time.Minute

// Lab is a running lab. It ends with the process.
type Lab struct {
	metrics.Lab
	SSHConfig string // for ssh -F: reaches every host by its name
	NoShares  error  // why the hosts have no CPU shares; nil if they have

	hosts []*host
}

// Start makes the hosts of a lab and their networks, and returns when all of them
// answer. Only a process that is Inside a lab may call it, once.
func Start(ctx context.Context, spec metrics.Lab) (*Lab, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := writeFiles(spec); err != nil {
		return nil, err
	}
	l := &Lab{Lab: spec, SSHConfig: filepath.Join(folder, "ssh_config")}
	for i := range spec.Hosts {
		h, err := startHost(i)
		if err != nil {
			return nil, err
		}
		l.hosts = append(l.hosts, h)
	}
	controller, err := cgroup.Find()
	if err == nil {
		err = share(controller, l.hosts)
	}
	l.NoShares, l.CPUShares = err, err == nil
	if err := connect(l.hosts); err != nil {
		return nil, err
	}
	if spec.LinkBitsPerS > 0 {
		if err := shape(l.hosts, spec.LinkBitsPerS); err != nil {
			return nil, err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, h := range l.hosts {
		h.gate.Close()
		group.Go(func() error { return h.answers(ctx) })
	}
	return l, group.Wait()
}
