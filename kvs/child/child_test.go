package child

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a program says about its end is told by its first line that tells it, with its
// name for its path. All of its output is passed on as it is.
func TestWhatEndsAProgram(t *testing.T) {
	const crash = "get/s 1\nfatal error: concurrent map writes\n\ngoroutine 21 [running]:\nmain.(*KVService).Put(0x0)\n\t./main.go:18 +0x39\n"
	program := filepath.Join(t.TempDir(), "store-0")
	for output, want := range map[string]string{
		crash: ": fatal error: concurrent map writes",
		"ops/s 12.00\npanic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:\n":       ": panic: runtime error: index out of range [5] with length 3",
		"flag provided but not defined: -bogus\nUsage of " + program + ":\n  -port string\n    \t (default 8080)\n": ": flag provided but not defined: -bogus",
		"invalid value \"x\" for flag -port: parse error\nUsage of " + program + ":\n":                              `: invalid value "x" for flag -port: parse error`,
		program + ": unrecognized option '--bogus'\nIllegal argument \"?\"\n":                                       ": team-7: unrecognized option '--bogus'",
		"listening\n\x1b[31mno room" + strings.Repeat("!", lineBytes):                                               "; its last output: listening | ?[31mno room" + strings.Repeat("!", lastBytes-13) + "… | " + strings.Repeat("!", 12),
		"": ", without output",
	} {
		var passed strings.Builder
		script := fmt.Sprintf("%s\nprintf '%%s' \"$1\"\nexit 3\n", "#!/bin/sh")
		if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		c, err := Start(Program{What: "store", Name: "team-7", Path: program, Dir: t.TempDir(), Words: []string{"sh", program, output}, Output: func(line string) { passed.WriteString(line + "\n") }})
		if err != nil {
			t.Fatal(err)
		}
		<-c.Ended
		if got := c.Fault().Error(); got != "the store team-7 has ended: exit status 3"+want {
			t.Errorf("%.40q: %s, want %q", output, got, want)
		}
		if whole := strings.Contains(output, "!!!"); !whole && passed.String() != output {
			t.Errorf("%q was passed on as %q", output, &passed)
		}
	}
}
