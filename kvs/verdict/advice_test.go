package verdict

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestAdvice(t *testing.T) {
	for reason, want := range map[string]string{
		"died of signal 9 (killed)":                                   "crashed",
		"died of a signal, or its connection was lost":                "crashed",
		"has sent nothing for 8s":                                     "deadlock",
		"timeout: no reply within 10s":                                "lock that is not released",
		"not linearizable: key 7: x":                                  "caches",
		"the audit found 3 of 8700 reads wrong: x":                    "acknowledged",
		"1 result failed verification, first: a value of 63 bytes":    "buffers",
		"12 misses in the window after a full load: data was lost":    "eviction",
		"the client verified 4 gets of server node0, which applied 3": "counts",
		"node1:8080 is taken by process 7 (nc of eve)":                "instructor",
		"interrupted": "instructor",
		"TOO SHORT: a round takes 3 s, so 40 % of the operations":        "slow",
		"the histogram's mean latency of operations is 4.0 us, not 3 us": "docs/measuring.md",
	} {
		if got := Advice(reason); !strings.Contains(got, want) {
			t.Errorf("Advice(%q) = %q, want %q in it", reason, got, want)
		}
	}
}

// Every word of Advice's rows is in a message of the programs: when a message changes, so
// does its row.
func TestAdviceKnowsTheMessages(t *testing.T) {
	var code strings.Builder
	for _, root := range []string{"..", "../../metrics"} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Base(path) == "advice.go" {
				return err
			}
			text, err := os.ReadFile(path)
			code.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range advices {
		for word := range strings.SplitSeq(row.reason.String(), "|") {
			if !regexp.MustCompile(word).MatchString(code.String()) {
				t.Errorf("no message has %q", word)
			}
		}
	}
}
