package contain

import (
	"strings"
	"testing"
)

func TestLimits(t *testing.T) {
	for text, want := range map[string]Limits{
		"memory=2GB": {Memory: 2e9, Disk: usualDisk},
		"memory=1.5GB,processes=256,disk=64MB,files=1024,cores=0-3": {Memory: 1.5e9, Processes: 256, Disk: 64e6, Files: 1024, Cores: "0-3"},
		"cores=0-3,8,memory=100MB":                                  {Memory: 100e6, Disk: usualDisk, Cores: "0-3,8"},
		"disk=10MB,cores=1,2":                                       {Disk: 10e6, Cores: "1,2"},
	} {
		got, err := parseLimits(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
		if again, err := parseLimits(got.String()); err != nil || again != got {
			t.Errorf("%s becomes %s: %+v, %v", text, got, again, err)
		}
	}
	for text, want := range map[string]string{
		"": "want memory=2GB", "memory": "memory=: want", "memory=2": "want 1MB or more", "memory=-1GB": "want 1MB", "memory=9000000000GB": "want 1MB",
		"memroy=2GB": "did you mean memory?", "memory=1GB,memory=2GB": "memory is given twice", "processes=1": "at least 16", "cores=3-1": "runs backwards", "cores=": "want a list",
		"processes=64,8": "is no limit",
	} {
		if l, err := Flag.Parse(text); err == nil || !strings.Contains(err.Error(), want) || l != nil {
			t.Errorf("%q: %v, %+v; want %q", text, err, l, want)
		}
	}
}

func TestCommand(t *testing.T) {
	l := Limits{Memory: 1e9, Disk: 1e9}
	for want, words := range map[string][]string{
		"/kvscluster|-contain|memory=1GB,disk=1GB|-node|-write|/c|--|x|-y":                                      l.Command("/kvscluster", true, []string{"/c"}, "x", "-y"),
		"/kvscluster|-contain|memory=4GB,processes=2048,disk=4GB|-alone|-read|/a b|-read|/d|-over|/o|--|env|-i": l.Build("/kvscluster", []string{"/a b", "/d"}, []string{"/o"}, "env", "-i"),
	} {
		if got := strings.Join(words, "|"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
