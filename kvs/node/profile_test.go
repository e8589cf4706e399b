package node

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Both files are what the tools read.
func TestProfile(t *testing.T) {
	dir := t.TempDir()
	flags := NewFlags("node")
	flags.Common()
	if err := flags.Parse([]string{"-cpuprofile", filepath.Join(dir, "cpu-%n"), "-exec-trace", filepath.Join(dir, "trace")}, nil); err != nil {
		t.Fatal(err)
	}
	stop, err := flags.profile("node1")
	if err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if text, err := unzipped(filepath.Join(dir, "cpu-node1")); err != nil || !bytes.Contains(text, []byte("nanoseconds")) {
		t.Errorf("the profile has no nanoseconds, or %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "trace")); err != nil || !bytes.HasPrefix(text, []byte("go 1.")) || !bytes.Contains(text[:16], []byte("trace")) {
		t.Errorf("the trace begins with %.16q: %v", text, err)
	}
}

// A file that is no earlier profile of the kind stays as it is.
func TestProfileOverwritesNothing(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct{ flag, holds, want string }{
		"notes":         {"-cpuprofile", "my notes", "notes exists, and is no earlier profile"},
		"trace":         {"-cpuprofile", "go 1.26 trace", "trace exists, and"},
		"results":       {"-exec-trace", "\x1f\x8b results", "results exists, and"},
		"empty":         {"-exec-trace", "", ""},
		"earlier":       {"-exec-trace", "go 1.26 trace\x00", ""},
		"earlier-short": {"-exec-trace", "go 1.", ""},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(test.holds), 0o600); err != nil {
			t.Fatal(err)
		}
		flags := NewFlags("node")
		flags.Common()
		if err := flags.Parse([]string{test.flag, path}, nil); err != nil {
			t.Fatal(err)
		}
		stop, err := flags.profile("n")
		if err == nil {
			err = stop()
		}
		text, _ := os.ReadFile(path)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || string(text) != test.holds) {
			t.Errorf("%s: %v, and it holds %.20q; want %q", name, err, text, test.want)
		}
	}
}

// unzipped returns what a profile holds: a message of protobuf, whose strings are plain.
func unzipped(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(text)
}

func TestProfileErrors(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct {
		name    string
		profile Flags
		want    string
	}{
		{"no folder", Flags{cpuProfile: filepath.Join(dir, "none", "cpu")}, "-cpuprofile: open "},
		{"a folder, and a profile under way", Flags{cpuProfile: filepath.Join(dir, "cpu"), execTrace: dir}, "-exec-trace: open "},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := test.profile.profile("node")
			var usage UsageError
			if !errors.As(err, &usage) || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error %v, want a UsageError that begins with %q", err, test.want)
			}
		})
	}
	stop, err := (&Flags{cpuProfile: "/dev/full"}).profile("node") // and none is left under way
	if err != nil {
		t.Fatal(err)
	}
	if err := stop(); err == nil || !strings.Contains(err.Error(), "-cpuprofile: write /dev/full") {
		t.Errorf("a full disk: error %v, want one that names the flag and the file", err)
	}
}

// The flags that all programs have set their own fields.
func TestCommonFlags(t *testing.T) {
	flags := NewFlags("node")
	flags.Common()
	if err := flags.Parse([]string{"-tls", "-sample-every", "0"}, nil); err != nil || !flags.tls.On || flags.sampleEvery != 0 {
		t.Errorf("-tls %t, -sample-every %v, %v", flags.tls.On, flags.sampleEvery, err)
	}
	var usage UsageError
	if err := flags.Parse([]string{"-sample-every", "2s"}, nil); !errors.As(err, &usage) || err.Error() != "-sample-every 2s: want 10ms to 1s, or 0" {
		t.Errorf("error %v", err)
	}
}
