package tune

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"kvlab/metrics"
)

// Held are a host's recommended settings, while a process wants them.
type Held struct{ journal *journal }

// Apply sets the settings to their recommended values, and this process's limit of open
// files. It returns all of them; Was and Error say what it did. Several processes may
// apply them. Those of processes that were killed are restored first.
func (h Host) Apply() (*Held, []metrics.HostSetting, error) {
	if pid := h.tuned(); pid != "" {
		return nil, nil, fmt.Errorf("tuned, process %s, sets this host's settings: type systemctl stop tuned", pid)
	}
	j, err := h.open(true)
	if err != nil {
		return nil, nil, err
	}
	if j.alone() {
		_, _, err = j.restore()
	}
	if err == nil {
		err = j.join()
	}
	if err != nil {
		j.close()
		return nil, nil, err
	}
	var all []metrics.HostSetting
	owns := h.ownsHost()
	for _, s := range h.settings() {
		j.apply(&s, owns)
		all = append(all, s.HostSetting)
	}
	return &Held{j}, append(all, descriptors()), j.unlock()
}

// tuned returns the number of the process of tuned(8); "" if it does not run.
func (h Host) tuned() string {
	text, _ := os.ReadFile(filepath.Join(h.root, "run/tuned/tuned.pid"))
	pid := strings.TrimSpace(string(text))
	if _, err := os.Stat(filepath.Join(h.root, "proc", pid)); pid == "" || err != nil {
		return ""
	}
	return pid
}

// apply sets a setting, each file after an entry in the journal.
func (j *journal) apply(s *setting, ownsHost bool) {
	switch {
	case s.Setter == metrics.SetAbsent || s.Meets() && j.was(s.paths[0]) == "":
		return
	case s.Setter == metrics.SetByNobody:
		s.Error = "read-only here"
		return
	case s.Setter == metrics.SetOnHost && !ownsHost:
		s.Error = "only the host itself may set it, outside of this container or namespace"
		return
	}
	var err error
	for _, path := range s.paths {
		err = errors.Join(err, j.set(path, s.Want))
	}
	s.Error = text(err)
	s.Value = j.host.values(s.paths)
	if was := j.was(s.paths[0]); was != s.Value {
		s.Was = was
	}
}

// set sets the value of a path after an entry. A value that the kernel has changed is
// taken back.
func (j *journal) set(path, value string) error {
	was, err := get(path)
	if err != nil || was == value {
		return err
	}
	if err := j.add(entry{path, was, value}); err != nil {
		return err
	}
	now, err := j.host.set(path, value)
	if err == nil && now != value {
		_, err = j.host.set(path, was)
		err = errors.Join(fmt.Errorf("the kernel makes it %s", now), err)
	}
	return err
}

// text is an error in words; "" for none.
func text(err error) string {
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// Release ends this process's use of the settings. If no other process uses them, it
// restores them, and describes, a line each, what somebody else has changed, which it
// leaves.
func (held *Held) Release() (left []string, err error) {
	defer held.journal.close()
	if err := held.journal.lock(); err != nil {
		return nil, err
	}
	_, left, err = held.journal.leave()
	return left, err
}

// leave is Release under the lock.
func (j *journal) leave() (again, left []string, err error) {
	if err = j.read(); err == nil && j.alone() {
		if again, left, err = j.restore(); err == nil {
			err = j.remove()
		}
	}
	return again, left, err
}

// Recover restores the settings that processes which were killed have left, if no process
// uses them, and describes, a line each, what it did or left.
func (h Host) Recover() ([]string, error) {
	j, err := h.open(false)
	if j == nil {
		return nil, err
	}
	defer j.close()
	again, left, err := j.leave()
	return append(again, left...), err
}
