package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// run-cluster.sh finds Go, and gives it a home, where HOME is unset.
func TestScriptWithoutHome(t *testing.T) {
	dir := t.TempDir()
	script, err := os.ReadFile("run-cluster.sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"run-cluster.sh": string(script),
		"go.mod":         "module fake\n\ngo 1.26\n",
		"path/go":        "#!/bin/sh\ncase $1 in env) echo go1.26.8 ;; build) [ -d \"$HOME\" ] ;; esac\n",
		"path/apt-get":   "#!/bin/sh\nexit 1\n",
		"bin/kvscluster": "#!/bin/sh\necho ran \"$1\" with \"$KVLAB_GO\"\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "path")
	for _, home := range []string{"-u HOME", "HOME="} {
		cmd := exec.Command("bash", "-c", "env "+home+" ./run-cluster.sh --help")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+path+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "ran --help with "+path+"/go\n" {
			t.Errorf("env %s: %v\n%s", home, err, out)
		}
	}
}

// A checkout that nobody can write to takes its programs from the folder KVLAB_BIN.
func TestScriptWithPrograms(t *testing.T) {
	bin := t.TempDir()
	run := func() (string, error) {
		cmd := exec.Command("bash", "run-cluster.sh", "--help")
		cmd.Env = append(os.Environ(), "KVLAB_BIN="+bin, "PATH=/usr/bin:/bin") // without Go
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if said, err := run(); err == nil || said != "run-cluster.sh: KVLAB_BIN: "+bin+" has no kvscluster; in a copy of the checkout, type ./run-cluster.sh --version, and name its bin folder\n" {
		t.Errorf("an empty folder: %v, %q", err, said)
	}
	if err := os.WriteFile(filepath.Join(bin, "kvscluster"), []byte("#!/bin/sh\necho ran \"$1\" of \"$KVLAB_ROOT\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if said, err := run(); err != nil || said != "ran --help of "+root+"\n" {
		t.Errorf("%v, %q", err, said)
	}
}

// On another system run-cluster.sh says in one line, before it looks for anything, where it runs.
func TestScriptElsewhere(t *testing.T) {
	for _, system := range []string{"Darwin", "FreeBSD", "MINGW64_NT-10.0"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "uname"), []byte("#!/bin/sh\necho "+system+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("bash", "run-cluster.sh", "--help")
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if want := "run-cluster.sh: kvlab runs on Linux, not on " + system + ": use a virtual machine, a container or a node of the cluster\n"; err == nil || string(out) != want {
			t.Errorf("%v: %q, want %q", err, out, want)
		}
	}
}
