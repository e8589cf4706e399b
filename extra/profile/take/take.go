package take

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/pprof/profile"
)

// How is what to do where no profile of a store can be taken.
const How = `want profile = "{host}:{pprof}" in the target file, where a Go program that imports net/http/pprof listens, or perf on the store's node`

// ticks is how often perf samples each processor in a second: not 100, so that work that comes in
// step with the clock is seen as often as other work.
const ticks = 99

// answersWithin is how long a profile may take longer than what it is of.
const answersWithin = 10 * time.Second

// Store takes a profile of a store's processor time for a time: from the address of its
// net/http/pprof, or of its process by perf. It is a server.Profiler.
func Store(ctx context.Context, pid int, address string, length time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, length+answersWithin)
	defer cancel()
	if address != "" {
		return fromServer(ctx, address, length)
	}
	perf, err := exec.LookPath("perf")
	if err != nil || pid == 0 {
		return nil, errors.New(How)
	}
	return fromPerf(ctx, perf, pid, length)
}

// fromServer asks a Go program for whole seconds, at least one.
func fromServer(ctx context.Context, address string, length time.Duration) ([]byte, error) {
	url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", address, max(1, int(length.Seconds())))
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s: %.200s", url, answer.Status, bytes.TrimSpace(text))
	}
	if err == nil {
		if _, err = profile.ParseData(text); err != nil {
			err = fmt.Errorf("%s: %w", url, err)
		}
	}
	return text, err
}

// fromPerf samples a process by the kernel's clock, which every machine has.
func fromPerf(ctx context.Context, perf string, pid int, length time.Duration) ([]byte, error) {
	dir, err := os.MkdirTemp("", "kvlab-perf-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	data := filepath.Join(dir, "perf.data")
	run := func(args ...string) ([]byte, error) {
		var said bytes.Buffer
		command := exec.CommandContext(ctx, perf, args...)
		command.Stderr = &said
		out, err := command.Output()
		if err != nil {
			err = fmt.Errorf("%s %s: %w: %.300s", filepath.Base(perf), args[0], err, bytes.TrimSpace(said.Bytes()))
		}
		return out, err
	}
	if _, err := run("record", "-e", "cpu-clock", "-F", strconv.Itoa(ticks), "-g", "-p", strconv.Itoa(pid), "-o", data, "--", "sleep", fmt.Sprintf("%.3f", length.Seconds())); err != nil {
		return nil, err
	}
	script, err := run("script", "-i", data, "-F", perfFields)
	if err != nil {
		return nil, err
	}
	made, err := ReadPerf(bytes.NewReader(script))
	if err != nil {
		return nil, err
	}
	made.DurationNanos = int64(length)
	var out bytes.Buffer
	err = made.Write(&out)
	return out.Bytes(), err
}
