package build

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersionOf(t *testing.T) {
	revision, modified := debug.BuildSetting{Key: "vcs.revision", Value: "ab12"}, debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for _, tt := range []struct {
		name    string
		module  string
		of      []debug.BuildSetting
		commit  string
		version string
	}{
		{"no work tree", "(devel)", []debug.BuildSetting{{Key: "GOOS", Value: "linux"}}, "", ""},
		{"clean", "(devel)", []debug.BuildSetting{revision, {Key: "vcs.modified", Value: "false"}}, "ab12", "ab12"},
		{"changed", "", []debug.BuildSetting{revision, modified}, "ab12-dirty", "ab12-dirty"},
		{"of a module", "v1.2.3", nil, "", "v1.2.3"},
		{"stamped", "v0.0.0-20261122-ab12+dirty", []debug.BuildSetting{revision, modified}, "ab12-dirty", "v0.0.0-20261122-ab12+dirty"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: tt.module}, Settings: tt.of}
		if got := commitOf(info); got != tt.commit {
			t.Errorf("%s: commit %q, want %q", tt.name, got, tt.commit)
		}
		if got := versionOf(info); got != tt.version {
			t.Errorf("%s: version %q, want %q", tt.name, got, tt.version)
		}
	}
}

func TestLine(t *testing.T) {
	line := Line("kvsplot", "wire 5", "values 1")
	if !strings.HasPrefix(line, "kvsplot ") || !strings.HasSuffix(line, " "+runtime.Version()+", wire 5, values 1") || strings.Contains(line, "\n") {
		t.Errorf("the line is %q", line)
	}
}
