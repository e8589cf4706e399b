package node

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"kvlab/metrics"
)

// echo returns a program with three flags; what else it does is work's.
func echo(work func(ctx context.Context, node *Node, word, token string) error) Program {
	return Program{Name: "echo", Role: metrics.Server, Parse: func(args []string) (*Flags, Work, error) {
		flags := NewFlags("echo")
		flags.Class(metrics.WorkFlag)
		flags.String("word", "hello", "what to `say`")
		flags.Class(metrics.ShapeFlag)
		flags.Int("times", 1, "how often")
		flags.Bool("loud", false, "in capitals")
		flags.Main("word")
		err := flags.Parse(args, map[string]string{"text": "-word"})
		return flags, func(ctx context.Context, node *Node, token string) error {
			return work(ctx, node, flags.Lookup("word").Value.String(), token)
		}, err
	}}
}

func say(_ context.Context, node *Node, word, _ string) error {
	node.Logf("%s", word)
	return nil
}

func TestMainByHand(t *testing.T) {
	tests := []struct {
		name           string
		args           []string
		status         int
		stdout, stderr string // what they contain; "" for nothing at all
	}{
		{"defaults", nil, 0, "hello\n", ""},
		{"flag", []string{"-word", "bye"}, 0, "bye\n", ""},
		{"unknown flag", []string{"-wrod", "bye"}, 2, "", "echo: -wrod: unknown flag; did you mean -word? (-help lists the flags)\n"},
		{"another's spelling", []string{"--text=bye"}, 2, "", "echo: -text: unknown flag; use -word (-help lists the flags)\n"},
		{"wrong value", []string{"-times", "x"}, 2, "", `echo: invalid value "x" for flag -times`},
		{"missing value", []string{"-word"}, 2, "", "echo: flag needs an argument: -word"},
		{"stray word", []string{"-word", "bye", "now", "-times", "2"}, 2, "", `echo: unexpected argument "now": every setting is a flag`},
		{"failure", []string{"-word", "fail"}, 1, "", "echo: it failed\n"},
		{"control beside other flags", []string{"-control", "-word", "bye"}, 2, "", "-control: unknown flag"},
	}
	program := echo(func(ctx context.Context, node *Node, word, token string) error {
		if node.Controlled() || token != "" {
			t.Error("by hand there is no launcher and no token")
		}
		if word == "fail" {
			return errors.New("it failed")
		}
		return say(ctx, node, word, token)
	})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if status := program.Main(test.args, strings.NewReader(""), &stdout, &stderr); status != test.status {
				t.Errorf("status %d, want %d", status, test.status)
			}
			checkText(t, "stdout", stdout.String(), test.stdout)
			checkText(t, "stderr", stderr.String(), test.stderr)
			if n := strings.Count(stderr.String(), "\n"); n > 1 {
				t.Errorf("%d lines on stderr, want one:\n%s", n, &stderr)
			}
		})
	}
}

// -settings prints the flags' final values and runs nothing.
func TestSettings(t *testing.T) {
	program := echo(func(context.Context, *Node, string, string) error {
		t.Error("the program ran")
		return nil
	})
	for _, test := range []struct {
		args           []string
		status         int
		stdout, stderr string // all of them
	}{
		{[]string{"-settings"}, 0, `{"loud":"false","times":"1","word":"hello"}`, ""},
		{[]string{"--settings", "-word", "a b", "-times=3"}, 0, `{"loud":"false","times":"3","word":"a b"}`, ""},
		{[]string{"-settings", "-times", "x"}, 2, "", `echo: invalid value "x" for flag -times: want a whole number (-help lists the flags)`},
		{[]string{"-settings", "-help"}, 2, "", "echo: -help works only on the program's own command line"},
		{[]string{"-times", "2", "-settings"}, 2, "", "echo: -settings: unknown flag (-help lists the flags)"},
	} {
		var stdout, stderr bytes.Buffer
		status := program.Main(test.args, strings.NewReader(""), &stdout, &stderr)
		if status != test.status || strings.TrimSpace(stdout.String()) != test.stdout || strings.TrimSpace(stderr.String()) != test.stderr {
			t.Errorf("%q: status %d, %q, %q", test.args, status, &stdout, &stderr)
		}
	}
}

// -flags describes every flag.
func TestListFlags(t *testing.T) {
	program := echo(say)
	var stdout, stderr bytes.Buffer
	if status := program.Main([]string{"-flags"}, strings.NewReader(""), &stdout, &stderr); status != 0 || stderr.Len() > 0 {
		t.Fatalf("status %d, %q", status, &stderr)
	}
	var flags []metrics.Flag
	if err := json.Unmarshal(stdout.Bytes(), &flags); err != nil {
		t.Fatal(err)
	}
	want := []metrics.Flag{
		{Name: "loud", Class: metrics.ShapeFlag, Bool: true, Default: "false", Usage: "in capitals"},
		{Name: "times", Class: metrics.ShapeFlag, Default: "1", Usage: "how often"},
		{Name: "word", Class: metrics.WorkFlag, Default: "hello", Usage: "what to `say`"},
	}
	if !slices.Equal(flags, want) {
		t.Errorf("the flags are %+v, want %+v", flags, want)
	}
}

func checkText(t *testing.T, what, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) || want == "" && got != "" {
		t.Errorf("%s is %q, want %q", what, got, want)
	}
}

func TestHelp(t *testing.T) {
	for _, spelling := range []string{"-h", "-help", "--help"} {
		var stdout, stderr bytes.Buffer
		status := echo(say).Main([]string{spelling}, strings.NewReader(""), &stdout, &stderr)
		if status != 0 || stderr.Len() != 0 {
			t.Errorf("%s: status %d, stderr %q", spelling, status, &stderr)
		}
		for _, want := range []string{"usage: echo [-settings] [flags]", "-word say", "what to say (default \"hello\")", "-times"} {
			checkText(t, spelling, stdout.String(), want)
		}
	}
}

// lead runs a program under a launcher and sends it commands. It returns the
// events but for the log, the log's lines, the exit status and stderr.
func lead(t *testing.T, p Program, commands ...Command) (events []Event, log []string, status int, stderr string) {
	t.Helper()
	l, stdin, stdout := newLauncher(t)
	var errs bytes.Buffer
	exited := make(chan int, 1)
	go func() {
		status := p.Main([]string{"-control"}, stdin, stdout, &errs)
		stdin.Close()
		stdout.Close()
		exited <- status
	}()
	for _, c := range commands {
		if l.encoder.Encode(c) != nil {
			break // the program has left
		}
	}
	for e := range l.events {
		if e.Event == Log {
			log = append(log, e.Text)
		} else {
			events = append(events, e)
		}
	}
	return events, log, <-exited, errs.String()
}

func TestMainControlled(t *testing.T) {
	program := echo(func(ctx context.Context, node *Node, word, token string) error {
		if !node.Controlled() || token != "secret" {
			t.Errorf("controlled %v, token %q", node.Controlled(), token)
		}
		if word == "fail" {
			return fmt.Errorf("say it: %w", errors.New("it failed"))
		}
		return say(ctx, node, word, token)
	})
	tests := []struct {
		name   string
		start  Command
		status int
		want   Event
	}{
		{"done", Command{Do: Start, Args: []string{"-word", "bye"}, Token: "secret"}, 0, Event{Event: Done}},
		{"failure", Command{Do: Start, Args: []string{"-word", "fail"}, Token: "secret"}, 1, Event{Event: Error, Text: "say it: it failed"}},
		{"usage", Command{Do: Start, Args: []string{"-nope"}}, 2, Event{Event: Error, Usage: true, Text: "-nope: unknown flag (-help lists the flags)"}},
		{"stray word", Command{Do: Start, Args: []string{"30"}}, 2, Event{Event: Error, Usage: true, Text: `unexpected argument "30": every setting is a flag, -name value (-help lists them)`}},
		{"help", Command{Do: Start, Args: []string{"-help"}}, 2, Event{Event: Error, Usage: true, Text: helpError("").Error()}},
		{"no start", Command{Do: Go}, 1, Event{Event: Error, Text: `command "go" from the launcher, want "start"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			events, log, status, stderr := lead(t, program, test.start)
			if status != test.status || len(events) != 1 || !reflect.DeepEqual(events[0], test.want) {
				t.Errorf("status %d, events %+v; want %d, %+v", status, events, test.status, test.want)
			}
			if stderr != "" || test.status == 0 && !slices.Equal(log, []string{"bye"}) { // the event says it once
				t.Errorf("log %q, stderr %q", log, stderr)
			}
		})
	}
}

// Without its controller a program leaves, whether it has begun or not, and has
// nobody left to tell.
func TestMainControllerGone(t *testing.T) {
	wait := echo(func(ctx context.Context, node *Node, _, _ string) error {
		if err := node.Send(Event{Event: Ready}); err != nil {
			return err
		}
		_, err := node.Next(ctx)
		return err
	})
	for _, begun := range []bool{false, true} {
		l, stdin, stdout := newLauncher(t)
		var stderr bytes.Buffer
		exited := make(chan int, 1)
		go func() {
			exited <- wait.Main([]string{"--control"}, stdin, stdout, &stderr)
			stdout.Close()
		}()
		if begun {
			l.send(t, Command{Do: Start})
			if e := l.next(t); e.Event != Ready {
				t.Fatalf("%+v, want ready", e)
			}
		}
		l.commands.Close()
		if status := <-exited; status != 1 {
			t.Errorf("begun %v: status %d, want 1", begun, status)
		}
		for e := range l.events {
			t.Errorf("begun %v: event %+v after the controller has gone", begun, e)
		}
		checkText(t, "stderr", stderr.String(), errControllerGone.Error())
	}
}

// A signal ends the program's context; it still tells its launcher.
func TestMainSignal(t *testing.T) {
	program := echo(func(ctx context.Context, node *Node, _, _ string) error {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			return err
		}
		return ended(t, ctx)
	})
	events, _, status, _ := lead(t, program, Command{Do: Start})
	if status != 1 || len(events) != 1 || events[0].Event != Error || events[0].Usage {
		t.Errorf("status %d, events %+v; want 1 and an error", status, events)
	}
}

// A node introduces itself with what it runs on and every flag's final value.
func TestIntroduce(t *testing.T) {
	l, stdin, stdout := newLauncher(t)
	node, _ := Controlled(context.Background(), stdin, stdout)
	flags := NewFlags("echo")
	flags.String("word", "hello", "")
	flags.Int("times", 1, "")
	args := []string{"-times", "3"}
	if err := flags.Parse(args, nil); err != nil {
		t.Fatal(err)
	}
	node.args, node.flags = args, flags
	host, err := node.ReportConfig(metrics.AllCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	var log []string
	e := l.next(t)
	for ; e.Event == Log; e = l.next(t) {
		log = append(log, e.Text)
	}
	if !slices.Contains(log, "  -times 3") || !slices.Contains(log, "  -word hello") || !strings.HasPrefix(log[0], "echo on "+host.Hostname) {
		t.Errorf("the log is %q", log)
	}
	if e.Record == nil || e.Record.Config == nil {
		t.Fatalf("%+v, want a config record", e)
	}
	config := e.Record.Config
	if config.Host != host || !slices.Equal(config.Args, args) || config.Flags["times"] != "3" || config.Flags["word"] != "hello" || len(config.Flags) != 2 {
		t.Errorf("the config is %+v", config)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		t.Fatal(err)
	}
	if want := hex.EncodeToString(sum.Sum(nil)); config.Binary != want {
		t.Errorf("the binary's sum is %s, want %s", config.Binary, want)
	}
}
