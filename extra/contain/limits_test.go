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
		var got, again Limits
		if err := got.Set(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
		if err := again.Set(got.String()); err != nil || again != got {
			t.Errorf("%s becomes %s: %+v, %v", text, got, again, err)
		}
	}
	for text, want := range map[string]string{
		"": "want memory=2GB", "memory": "memory=: want", "memory=2": "want 1MB or more", "memory=-1GB": "want 1MB", "memory=9000000000GB": "want 1MB",
		"memroy=2GB": "did you mean memory?", "memory=1GB,memory=2GB": "memory is given twice", "processes=1": "at least 16", "cores=3-1": "runs backwards", "cores=": "want a list",
		"processes=64,8": "is no limit",
	} {
		var l Limits
		if err := l.Set(text); err == nil || !strings.Contains(err.Error(), want) || !l.None() {
			t.Errorf("%q: %v, %+v; want %q", text, err, l, want)
		}
	}
}

func TestCommand(t *testing.T) {
	box := Box{Limits: Limits{Memory: 1e9, Disk: 1e9}, Node: true, Alone: true, Read: []string{"/a b"}, Write: []string{"/c"}}
	got := strings.Join(box.Command("/kvscluster", "x", "-y"), "|")
	if want := "/kvscluster|-contain|memory=1GB,disk=1GB|-node|-alone|-read|/a b|-write|/c|--|x|-y"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
