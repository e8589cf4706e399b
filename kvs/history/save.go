package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"kvlab/metrics"
)

// Save writes a violation that a node found to history-NODE.json in dir, and its
// picture beside it. It returns the first file's path.
func Save(dir, node string, v metrics.Violation) (string, error) {
	path := filepath.Join(dir, "history-"+node+".json")
	text, err := json.MarshalIndent(v, "", " ")
	if err == nil {
		err = os.WriteFile(path, append(text, '\n'), 0o644)
	}
	if err != nil {
		return "", fmt.Errorf("save a history: %w", err)
	}
	return path, SavePicture(path, v.Part)
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
