package main

import (
	"bytes"
	"strings"
	"testing"
)

// Every command that is linked is in the usage text, and runs by its name.
func TestUsage(t *testing.T) {
	var usage bytes.Buffer
	if status := kvsplot.Main([]string{"-h"}, &usage, &usage); status != 0 || !strings.HasPrefix(usage.String(), "usage: kvsplot [-out DIR] RUN") {
		t.Fatalf("exit status %d\n%s", status, &usage)
	}
	seen := make(map[string]bool)
	for _, row := range kvsplot.Commands {
		var help bytes.Buffer
		if status := kvsplot.Main([]string{row.Name, "-h"}, &help, &help); status != 0 || seen[row.Name] {
			t.Errorf("%s -h: exit status %d, listed twice: %t\n%s", row.Name, status, seen[row.Name], &help)
		}
		seen[row.Name] = true
		if !strings.Contains(usage.String(), "\n"+row.Name+": ") {
			t.Errorf("the usage text does not say what %s does", row.Name)
		}
	}
	for line := range strings.Lines(usage.String()) {
		if len(line) > 101 {
			t.Errorf("a line of %d characters: %s", len(line), line)
		}
	}
}
