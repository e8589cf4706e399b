package build

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestCommitOf(t *testing.T) {
	revision, modified := debug.BuildSetting{Key: "vcs.revision", Value: "ab12"}, debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for want, of := range map[string][]debug.BuildSetting{
		"":           {{Key: "GOOS", Value: "linux"}},
		"ab12":       {revision, {Key: "vcs.modified", Value: "false"}},
		"ab12-dirty": {revision, modified},
	} {
		if got := CommitOf(&debug.BuildInfo{Settings: of}); got != want {
			t.Errorf("commit %q, want %q", got, want)
		}
	}
}

// The citation names the version that the programs and the records name.
func TestCitation(t *testing.T) {
	text, err := os.ReadFile("../../CITATION.cff")
	if err != nil || !strings.Contains(string(text), "\nversion: "+Version+"\n") {
		t.Errorf("CITATION.cff does not name version %s (%v):\n%s", Version, err, text)
	}
}

func TestLine(t *testing.T) {
	line := Line("kvsplot", "wire 5", "values 1")
	if !strings.HasPrefix(line, "kvsplot "+Version+" (") || !strings.HasSuffix(line, ") "+runtime.Version()+", wire 5, values 1") || strings.Contains(line, "\n") {
		t.Errorf("the line is %q", line)
	}
}
