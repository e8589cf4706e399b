package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"kvlab/metrics"
)

// pidFile is what a node writes down about its process, for the one who looks
// for what was left behind.
type pidFile struct {
	metrics.ProcessID
	Boot    string       `json:"boot_id"` // of the machine: start times count from there
	Exe     string       `json:"exe"`
	Program string       `json:"program"`
	Node    string       `json:"node"`
	Role    metrics.Role `json:"role"`
	Started time.Time    `json:"started"`
}

// String is the process in words.
func (f pidFile) String() string {
	return fmt.Sprintf("%s %s, process %d, started %s", f.Program, f.Node, f.PID, f.Started.Format(time.DateTime))
}

const pidSuffix = ".pid"

// hashFolder is the name of a folder that holds one version of a program.
var hashFolder = regexp.MustCompile(`^[0-9a-f]{16}$`)

// PidFolder is where the nodes that run this very program file write their pid
// files: the folder kvlab-USER that it was copied to, or for a program that was
// built here one of the user's own among the temporary files.
func PidFolder() (string, error) {
	exe, err := exePath("self")
	if err != nil {
		return "", err
	}
	version := filepath.Dir(exe)
	if deployed := filepath.Dir(version); hashFolder.MatchString(filepath.Base(version)) && strings.HasPrefix(filepath.Base(deployed), "kvlab-") {
		return deployed, nil
	}
	return filepath.Join(os.TempDir(), "kvlab-"+strconv.Itoa(os.Geteuid())), nil
}

// exePath is the file that a process runs, also when it has been replaced.
func exePath(pid string) (string, error) {
	path, err := os.Readlink("/proc/" + pid + "/exe")
	return strings.TrimSuffix(path, " (deleted)"), err
}

// checkOwn refuses a folder that somebody else could write to.
func checkOwn(folder string) error {
	info, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	if !info.IsDir() || info.Mode().Perm()&0o022 != 0 || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) {
		return fmt.Errorf("%s is not a folder of this user alone", folder)
	}
	return nil
}

// bootID changes with every start of the machine (random(4)).
func bootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text)), err
}

// writePidFile writes down this process and returns the file's path.
func writePidFile(program, node string, role metrics.Role) (path string, err error) {
	f := pidFile{Program: program, Node: node, Role: role, Started: time.Now()}
	var errs [3]error
	f.ProcessID, errs[0] = self()
	f.Boot, errs[1] = bootID()
	f.Exe, errs[2] = exePath("self")
	folder, err := PidFolder()
	if err := errors.Join(errs[0], errs[1], errs[2], err); err != nil {
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

// readPidFile reads a pid file and finds out whether its process is still the
// one that wrote it.
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
	if errors.Is(err, errNoProcess) || err == nil && (now != f.ProcessID || boot != f.Boot) {
		return f, false, nil
	}
	if err != nil {
		return f, false, err
	}
	exe, err := exePath(strconv.Itoa(f.PID))
	if err == nil && exe != f.Exe {
		err = fmt.Errorf("%s: process %d runs %s", path, f.PID, exe)
	}
	return f, err == nil, err
}

// forget removes the pid file of a process that has ended, and could not do so
// itself. Without one there is nothing to do.
func forget(id metrics.ProcessID) {
	folder, err := PidFolder()
	if err != nil {
		return
	}
	files, err := filepath.Glob(filepath.Join(folder, fmt.Sprintf("*-%d%s", id.PID, pidSuffix)))
	if err != nil { // only for a bad pattern
		return
	}
	for _, path := range files {
		if f, alive, err := readPidFile(path); err == nil && !alive && f.ProcessID == id {
			_ = os.Remove(path) // Reap does it otherwise
		}
	}
}
