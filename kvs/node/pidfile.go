package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"kvlab/metrics"
)

// pidFile describes a node's process, so that --reap finds it after a crash of the
// launcher.
type pidFile struct {
	metrics.ProcessID
	Boot    string       `json:"boot_id"` // start times count from the boot
	Program string       `json:"program"`
	Node    string       `json:"node"`
	Role    metrics.Role `json:"role"`
	Started time.Time    `json:"started"`
}

func (f pidFile) String() string {
	return fmt.Sprintf("%s %s, process %d, started %s", f.Program, f.Node, f.PID, f.Started.Format(time.DateTime))
}

const pidSuffix = ".pid"

// pidFolder returns the folder of the pid files of this program's nodes: that of the
// launcher's copies, or for a program built here the user's own temporary folder.
func pidFolder() (string, error) {
	program, err := os.Executable()
	if folder, isCopy := programFolder(program); isCopy || err != nil {
		return folder, err
	}
	return filepath.Join(os.TempDir(), "kvlab-"+strconv.Itoa(os.Geteuid())), nil
}

// checkOwn returns an error unless only this user can write to the folder.
func checkOwn(folder string) error {
	info, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	if !info.IsDir() || info.Mode().Perm()&0o022 != 0 || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) {
		return fmt.Errorf("%s is not a folder that only this user can write to", folder)
	}
	return nil
}

// bootID changes with every start of the machine (random(4)).
func bootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text)), err
}

// writePidFile writes this process's pid file and returns its path.
func writePidFile(program, node string, role metrics.Role) (path string, err error) {
	f := pidFile{Program: program, Node: node, Role: role, Started: time.Now()}
	var errs [2]error
	f.ProcessID, errs[0] = self()
	f.Boot, errs[1] = bootID()
	folder, err := pidFolder()
	if err := errors.Join(errs[0], errs[1], err); err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	if err := checkOwn(folder); err != nil {
		return "", err
	}
	text, err := json.Marshal(f)
	if err != nil {
		return "", err
	}
	path = filepath.Join(folder, fmt.Sprintf("%s-%d%s", program, f.PID, pidSuffix))
	temp := path + ".new"
	if err := os.WriteFile(temp, append(text, '\n'), 0o600); err != nil {
		return "", err
	}
	return path, os.Rename(temp, path)
}

// readPidFile reads a pid file. alive reports whether the process that wrote it exists.
func readPidFile(path string) (f pidFile, alive bool, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return f, false, err
	}
	if err := json.Unmarshal(text, &f); err != nil || f.PID <= 0 {
		return f, false, fmt.Errorf("%s is no pid file", path)
	}
	boot, err := bootID()
	if err != nil {
		return f, false, err
	}
	now, err := find(f.PID)
	if errors.Is(err, errNoProcess) {
		return f, false, nil
	}
	return f, err == nil && now == f.ProcessID && boot == f.Boot, err
}

// removePidFile removes the pid file of a killed process, if there is one. An error
// leaves it to Reap.
func removePidFile(id metrics.ProcessID) {
	folder, err := pidFolder()
	files, globErr := filepath.Glob(filepath.Join(folder, fmt.Sprintf("*-%d%s", id.PID, pidSuffix)))
	if err != nil || globErr != nil {
		return
	}
	for _, path := range files {
		if f, alive, err := readPidFile(path); err == nil && !alive && f.ProcessID == id {
			_ = os.Remove(path)
		}
	}
}

// Reap kills every process with a pid file, stopped ones too, waits until they have
// ended, and removes the pid files. ended has a line for each killed process. A missing
// folder is no error.
func Reap() (ended []string, err error) {
	folder, err := pidFolder()
	if err != nil {
		return nil, err
	}
	if err := checkOwn(folder); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"+pidSuffix))
	if err != nil { // only for a bad pattern
		return nil, err
	}
	var errs []error
	alive := map[string]pidFile{}
	for _, path := range files { // all before the first wait: the launcher ends a run's other nodes when one is gone
		f, lives, err := readPidFile(path)
		if err == nil && lives {
			alive[path], err = f, send(f.ProcessID, syscall.SIGKILL)
		} else if err == nil {
			err = os.Remove(path)
		}
		errs = append(errs, err)
	}
	for _, path := range slices.Sorted(maps.Keys(alive)) {
		err := waitGone(alive[path].ProcessID)
		if err == nil {
			ended = append(ended, alive[path].String())
			err = os.Remove(path)
		}
		errs = append(errs, err)
	}
	// The process or its launcher may remove a pid file itself.
	return ended, errors.Join(slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, fs.ErrNotExist) })...)
}

// printReaped executes ReapFlag: it prints each line of Reap as "kvlab NUMBER TEXT".
func printReaped(stdout io.Writer) error {
	ended, err := Reap()
	for i, line := range ended {
		fmt.Fprintf(stdout, "kvlab %d %s\n", i, line)
	}
	return err
}
