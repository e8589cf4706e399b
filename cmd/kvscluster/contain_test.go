package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// warm compiles the packages that a contained build of a program needs. The build sees them
// in Go's cache, where it leaves nothing itself.
func warm(t *testing.T, program string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-o", os.DevNull, file)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly -trimpath")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
}

const limits = "memory=1GB,processes=256,disk=256MB"

// hostile is a server that answers the launcher's questions, and then attacks.
const hostile = `package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	switch os.Args[1] {
	case "-settings":
		fmt.Println("{}")
		return
	case "-version":
		fmt.Println("VERSION")
		return
	case "-probe":
		return
	}
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGQUIT)
	ATTACK
	select {}
}
`

// A hostile server costs a bounded amount of the launcher's time and disk, and leaves
// nothing.
func TestHostileServers(t *testing.T) {
	needRoot(t)
	t.Parallel()
	warm(t, strings.Replace(hostile, "ATTACK", "", 1))
	for name, test := range map[string]struct{ attack, want string }{
		"prints":       {`for range 500_000 { fmt.Println("so much to say") }`, "sent a line that is no event"},
		"complains":    {`for range 500_000 { fmt.Fprintln(os.Stderr, "so much to say") }; fmt.Println("x")`, "sent a line that is no event"},
		"logs":         {"for range 500_000 { fmt.Println(`{\"event\":\"log\",\"text\":\"so much to say\"}`) }; fmt.Println(\"x\")", "sent a line that is no event"},
		"poses":        {"fmt.Println(`{\"event\":\"contained\",\"process\":{\"pid\":1,\"start_ticks\":1}}`)", `sent "contained" out of turn`},
		"out of turn":  {"fmt.Println(`{\"event\":\"done\"}`)", `sent "done" out of turn`},
		"leaves early": {`os.Exit(0)`, "INVALID("},
		"paints":       {`fmt.Fprintln(os.Stderr, "\x1b]0;owned\a\x1b[2J\x1b[31mVALID"); os.Exit(1)`, "?]0;owned??[2J?[31mVALID"},
		"paints late":  {"fmt.Println(`{\"event\":\"error\",\"text\":\"\\u001b[2Jowned\"}`); os.Exit(1)", "?[2Jowned"},
		"forks":        {`for range 500 { syscall.ForkExec("/bin/sleep", []string{"sleep", "60"}, nil) }; os.Exit(1)`, "the kernel refused a process or a thread at the limit of them, 256"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, source, out := build(t), t.TempDir(), t.TempDir()
			server := filepath.Join(source, "cmd", "kvsserver")
			version, err := exec.Command(filepath.Join(root, "bin", "kvsclient"), "-version").Output()
			if err != nil {
				t.Fatal(err)
			}
			for path, text := range map[string]string{
				filepath.Join(source, "go.mod"):  "module kvlab\n\ngo 1.22\n",
				filepath.Join(server, "main.go"): strings.NewReplacer("ATTACK", test.attack, "VERSION", strings.TrimSpace(string(version))).Replace(hostile),
			} {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(filepath.Join(root, "bin", "kvscluster"), "-v", "--local", "--no-ceiling", "--out", out, "--contain", limits,
				"--records", "1000", "--batch", "64", "--rate", "5k", "--warmup", "0", "--secs", "1", "--trials", "1", "--ab", "", "server:"+source)
			var text bytes.Buffer
			cmd.Stdout, cmd.Stderr = &text, &text
			begun := time.Now()
			if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 1 || time.Since(begun) > 5*time.Minute {
				t.Errorf("%v after %v\n%s", err, time.Since(begun), text.String())
			}
			if said := text.String(); !strings.Contains(said, test.want) || strings.ContainsAny(said, "\x1b\a") {
				t.Errorf("%q, want %q, and no byte of a terminal's", said, test.want)
			}
			logs, _ := filepath.Glob(filepath.Join(out, "latest", "*", "kvsserver-node0.log"))
			for _, log := range logs {
				if info, err := os.Stat(log); err != nil || info.Size() > 200<<10 {
					t.Errorf("%s has %d bytes, %v", log, info.Size(), err)
				}
			}
		})
	}
}
