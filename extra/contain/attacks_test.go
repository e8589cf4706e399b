package contain

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// An attack is a program that must not succeed: its output may not have "done".
func TestAttacks(t *testing.T) {
	needRoot(t)
	inCI(t)
	folder := t.TempDir() // a teacher's, open to all
	for dir := folder; dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	source := filepath.Join(folder, "neighbour.go")
	if err := os.WriteFile(source, []byte("package secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KVLAB_TEST_TOKEN", "a secret")
	mark := fmt.Sprintf("sleep 20.%d", os.Getpid())
	for name, script := range map[string]string{
		"forks":             "i=0; while [ $i -lt 2000 ]; do " + mark + " & i=$((i+1)); done; echo done",
		"reads a neighbour": "cat " + source + " && echo done",
		"reads the token":   "cat /proc/*/environ | grep -q TEST_TOKEN && echo done; test -n \"$KVLAB_TEST_TOKEN\" && echo done",
		"sees processes":    "test $(ls /proc | grep -c '^[0-9]') -gt 20 && echo done",
		"writes outside":    "mkdir -p " + folder + "; echo x > " + folder + "/new && test -e " + source + " && echo done",
		"writes to /usr":    "touch /usr/x && echo done; mount -o remount,rw /usr && echo done",
		"fills the disk":    "head -c 80000000 /dev/zero > x && echo done; head -c 80000000 /dev/zero > /dev/shm/x && echo done",
		"becomes root":      "test $(id -u) -eq 0 && echo done; chown 0 /tmp && echo done; su -c 'echo done' </dev/null",
		"leaves its limits": "for f in /sys/fs/cgroup/*/cgroup.procs /sys/fs/cgroup/cgroup.procs; do echo $$ > $f && echo done; done; ulimit -c unlimited && echo done",
		"reads devices":     "ls /dev | grep -q '^[sv]d' && echo done; cat /proc/kcore | head -c 1 | grep -q . && echo done",
	} {
		t.Run(name, func(t *testing.T) {
			out, err := contained(t, usual, "sh", "-c", script).CombinedOutput()
			if strings.Contains(string(out), "done\n") {
				t.Errorf("it has succeeded: %v\n%s", err, out)
			}
			if named := strings.Contains(string(out), "the kernel refused a process or a thread at the limit of them, 64"); named != (name == "forks") {
				t.Errorf("the limit of processes is named: %t\n%s", named, out)
			}
		})
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != 1 {
		t.Errorf("the teacher's folder has %v, %v", files, err)
	}
	gone(t, "the fork bomb", func() bool { return running(mark) })
}

func TestMemoryAttack(t *testing.T) {
	needRoot(t)
	inCI(t)
	cmd := contained(t, usual, "dd", "if=/dev/zero", "of=/dev/null", "bs=256M", "count=1")
	out, _ := cmd.CombinedOutput()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || !strings.Contains(string(out), "the kernel killed a process at the limit of memory, 128 MB") {
		t.Errorf("%v: %s", cmd.ProcessState, out)
	}
}

// Nothing outlives a containment, whether the program ends, or its first process is killed.
func TestNothingStays(t *testing.T) {
	needRoot(t)
	inCI(t)
	mark := fmt.Sprintf("30.%d", os.Getpid())
	script := "setsid sleep " + mark + " >/dev/null 2>&1 & (setsid sh -c 'sleep " + mark + "' >/dev/null 2>&1 &); echo started; "
	ended := contained(t, usual, "sh", "-c", script)
	if out, err := ended.CombinedOutput(); err != nil || string(out) != "started\n" {
		t.Fatalf("%v: %s", err, out)
	}
	if running("sleep " + mark) {
		t.Error("a process outlives its program")
	}
	cmd := contained(t, usual, "sh", "-c", script+"sleep "+mark)
	pipe, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(pipe, make([]byte, len("started\n"))); err != nil {
		t.Fatal(err)
	}
	if leftovers(cmd) == nil {
		t.Error("a containment that runs has no cgroup and no folder")
	}
	cmd.Process.Kill()
	cmd.Wait()
	gone(t, "a process", func() bool { return running("sleep " + mark) })
	gone(t, "a cgroup or folder", func() bool { return leftovers(ended, cmd) != nil })
}
