package verify

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"kvlab/kvs/target"
	"kvlab/metrics"
	"kvlab/metrics/claim"
	"kvlab/plots/folder"
)

// claims reads what the programs of a team claim from their output again, and compares it with
// their records.
func claims(dir string, read *folder.Run, result *Result) {
	for _, node := range read.Nodes {
		if node.Summary == nil || node.Summary.Claim == nil || node.Config == nil {
			continue
		}
		name, then := metrics.OutputFile(node.Role, node.Name), node.Summary.Claim
		again, err := claimIn(filepath.Join(dir, name), node)
		switch {
		case err == errCut:
			result.Unchecked = append(result.Unchecked, name+", whose middle was not kept")
		case os.IsNotExist(err) && then.Lines == 0:
		case err != nil:
			result.Differences = append(result.Differences, fmt.Sprintf("%s: %v", name, err))
		case again.Lines < then.Lines || again.OpsPerS != then.OpsPerS && again.Lines == then.Lines:
			result.Differences = append(result.Differences, fmt.Sprintf("%s: %d lines claim %.6g ops/s; its record has %d and %.6g", name, again.Lines, again.OpsPerS, then.Lines, then.OpsPerS))
		}
	}
}

// errCut is the error of a file whose middle was not kept.
var errCut = fmt.Errorf("its middle was not kept")

// claimIn returns what the lines of a program's output claim. Its server may print some after its
// record, until it ends.
func claimIn(path string, node metrics.RunNode) (c metrics.Claimed, err error) {
	var s target.System
	if err := s.Set(cmp.Or(node.Config.Flags.Program(), node.Config.Flags["system"])); err != nil || s.Client == nil {
		return c, fmt.Errorf("the record has no program: %v", err)
	}
	pattern, left := s.Client.Result, -1
	if node.Role == metrics.Server && s.Server != nil {
		pattern, left = s.Server.Result, node.Summary.Claim.Lines
	}
	file, err := os.Open(path)
	if err != nil {
		return c, err
	}
	defer file.Close()
	r := claim.NewReader(node.Role, pattern)
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if text := lines.Text(); strings.HasPrefix(text, "(") && strings.HasSuffix(text, "are left out here)") {
			return c, errCut
		}
		if n, _ := r.Lines(); n != left {
			r.Add(lines.Text(), 0)
		}
	}
	return r.Claimed(), lines.Err()
}
