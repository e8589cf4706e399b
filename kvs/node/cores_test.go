package node

import (
	"errors"
	"strings"
	"testing"
)

func TestParseCores(t *testing.T) {
	for list, want := range map[string]string{"0": "0", "0-3": "0-3", "3,1,2": "1-3", "8,0-2,4": "0-2,4,8", "1023": "1023"} {
		cores, err := ParseCores(list)
		if got := formatCores(cores); err != nil || got != want {
			t.Errorf("ParseCores(%q) = %s, %v; want %s", list, got, err, want)
		}
	}
	for _, list := range []string{"", "-", "1-", "-1", "a", "0x1", "1 2", "2-1", "1,1", "1024", "0-99999999999", "0;1"} {
		if cores, err := ParseCores(list); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("ParseCores(%q) = %v, %v; want an error of one line", list, cores, err)
		}
	}
}

// A processor that is not there is the command line's fault, and nothing is
// bound.
func TestBindRefuses(t *testing.T) {
	before, err := allowedCores()
	if err != nil {
		t.Fatal(err)
	}
	var usage UsageError
	if err := bind("0,1000-1001"); !errors.As(err, &usage) || !strings.HasPrefix(err.Error(), "cores 1000-1001: this node may run on ") {
		t.Errorf("error %v", err)
	}
	if after, err := allowedCores(); err != nil || formatCores(after) != formatCores(before) {
		t.Errorf("cores %v, %v; want %v", after, err, before)
	}
}
