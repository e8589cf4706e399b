package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"kvlab/metrics"
)

// Save writes a violation that a node found to history-NODE.json in dir, and its
// picture beside it; there is none of transactions. It prints to out how to verify the history
// again.
func Save(out io.Writer, dir, node string, v metrics.Violation) error {
	path := filepath.Join(dir, "history-"+node+".json")
	saved, picture := any(v), " and its picture"
	if v.Serial != nil {
		saved, picture = v.Serial, ""
	}
	text, err := json.MarshalIndent(saved, "", " ")
	if err == nil {
		err = os.WriteFile(path, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("save a history: %w", err)
	}
	if v.Serial == nil {
		err = SavePicture(path, v.Part)
	}
	if err == nil {
		fmt.Fprintf(out, "saved %s%s; bin/kvsclient -verify-history %s verifies it again\n", path, picture, path)
	}
	return err
}

// SavePicture draws a part as an .html file beside the file with its history.
func SavePicture(path string, part []metrics.HistoryOp) error {
	file, err := os.Create(strings.TrimSuffix(path, ".json") + ".html")
	if err == nil {
		err = errors.Join(draw(file, part), file.Close())
	}
	if err != nil {
		return fmt.Errorf("draw a history: %w", err)
	}
	return nil
}

// Read reads a file that Save wrote.
func Read(path string) (metrics.Violation, error) {
	var v metrics.Violation
	err := metrics.ReadJSON(path, &v)
	if err == nil && len(v.History.Ops) == 0 {
		err = fmt.Errorf("%s: a history without operations: want a history-NODE.json of a run folder", path)
	}
	return v, err
}
