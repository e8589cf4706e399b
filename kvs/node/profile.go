package node

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"time"
)

// Profiler begins a processor profile of a window, and returns what ends it and returns it in the
// form of pprof. The length is what the launcher has said of the window; 0 if it has not.
type Profiler func(length time.Duration) (end func() ([]byte, error), err error)

// profileSelf is the Profiler of this process.
func profileSelf(time.Duration) (end func() ([]byte, error), err error) {
	var out bytes.Buffer
	return func() ([]byte, error) {
		pprof.StopCPUProfile()
		return out.Bytes(), nil
	}, pprof.StartCPUProfile(&out)
}

// Profile sets the Profiler for -profile in place of that of this process.
func (r *Reporter) Profile(profiler Profiler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.profiler = profiler
}

// beginProfile begins the profile of the window, if the flags ask for one.
func (r *Reporter) beginProfile() {
	if r.node.flags == nil || !r.node.flags.profiled {
		return
	}
	var err error
	if r.endProfile, err = r.profiler(time.Duration(r.node.length.Load())); err != nil {
		r.endProfile = func() ([]byte, error) { return nil, err }
	}
}

// sendProfile ends the profile, if there is one, and sends it. Run waits for it.
func (r *Reporter) sendProfile() {
	if end := r.endProfile; end != nil {
		r.node.profiles.Go(func() {
			e, err := Event{Event: Profiled}, error(nil)
			if e.Profile, err = end(); err != nil {
				e.Text = err.Error()
			}
			_ = r.node.Send(e) // its context ends if the launcher is gone
		})
	}
}

// profile starts the profiles that the flags ask for. %n in a file's name is the node's.
// stop completes the files. Errors name the flag; those of profile are UsageErrors.
func (f *Flags) profile(node string) (stop func() error, err error) {
	stop = func() error { return nil }
	for _, kind := range []struct {
		flag, file string
		magic      string // with which such a file begins
		start      func(io.Writer) error
		stop       func()
	}{
		{"-cpuprofile", f.cpuProfile, "\x1f\x8b", pprof.StartCPUProfile, pprof.StopCPUProfile},
		{"-exec-trace", f.execTrace, "go 1.", trace.Start, trace.Stop},
	} {
		if kind.file == "" {
			continue
		}
		file, err := createProfile(strings.ReplaceAll(kind.file, "%n", node), kind.magic)
		// The runtime drops the errors of its writes; the buffer keeps the first.
		buffer := bufio.NewWriter(file)
		if err == nil {
			err = kind.start(buffer)
		}
		if err != nil {
			return nil, errors.Join(UsageError{fmt.Errorf("%s: %w", kind.flag, err)}, stop())
		}
		others := stop
		stop = func() error {
			kind.stop()
			err := errors.Join(buffer.Flush(), file.Close())
			if err != nil {
				err = fmt.Errorf("%s: %w", kind.flag, err)
			}
			return errors.Join(err, others())
		}
	}
	return stop, nil
}

// createProfile makes an empty file, in place of an earlier profile of the kind only.
func createProfile(path, magic string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() { // a device
		return file, err
	}
	begins := make([]byte, len(magic))
	if n, _ := file.ReadAt(begins, 0); n > 0 && string(begins) != magic {
		file.Close()
		return nil, fmt.Errorf("%s exists, and is no earlier profile: want another name, or remove it", path)
	}
	return file, file.Truncate(0)
}
