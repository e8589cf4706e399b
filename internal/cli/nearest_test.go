package cli

import (
	"flag"
	"io"
	"testing"
)

func TestNearest(t *testing.T) {
	choices := []string{"workers", "workload", "batch", "YCSB-B", "tls"}
	for word, want := range map[string]string{
		"wrokers": "workers", "worker": "workers", "btach": "batch", "ycsb-b": "YCSB-B", "b": "YCSB-B", "YCSBB": "YCSB-B",
		"tsl": "tls", "x": "", "": "", "zz": "", "threads": "", "workxyz": "",
	} {
		if got := nearest(word, choices); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestUnknownFlag(t *testing.T) {
	for arg, want := range map[string]string{
		"-wrokers=1": "--wrokers: unknown flag; did you mean --workers?",
		"--zebra":    "--zebra: unknown flag",
		"-workers=x": "",
		"-threads=4": "--threads: unknown flag; use --workers",
		"--runs=4":   "--runs: unknown flag; use report.html",
	} {
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		flags.Int("workers", 1, "")
		err := UnknownFlag(flags.Parse([]string{arg}), flags, "--", map[string]string{"threads": "-workers", "runs": "report.html"})
		if got := text(err); got != want {
			t.Errorf("%s: %q, want %q", arg, got, want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
