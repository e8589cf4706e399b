package folder

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"kvlab/metrics"
)

// NodeFiles returns the paths of the nodes' record files in a run folder, by name. A run
// that has started no node yet has none.
func NodeFiles(dir string) (paths []string, err error) {
	files, err := os.ReadDir(dir)
	for _, f := range files {
		if name := f.Name(); strings.HasPrefix(name, "kvs") && strings.HasSuffix(name, ".jsonl") && f.Type().IsRegular() {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	return paths, err
}

// Tail reads a node's record file while the node writes it.
type Tail struct {
	Path string
	Most int64 // bytes at the end of the file that the first Next reads

	begun  bool
	offset int64
}

// Next returns the whole records that the file has gained since the last Next.
func (t *Tail) Next() (records []metrics.Record, err error) {
	file, err := os.Open(t.Path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	cut := false // the text begins in the middle of a record
	if info, err := file.Stat(); err == nil && !t.begun && info.Size() > t.Most {
		t.offset, cut = info.Size()-t.Most, true
	}
	t.begun = true
	text, err := io.ReadAll(io.NewSectionReader(file, t.offset, math.MaxInt64-t.offset))
	if err != nil {
		return nil, err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	t.offset += int64(len(text))
	if cut {
		text = text[bytes.IndexByte(text, '\n')+1:]
	}
	for record, err := range metrics.ReadRecords(filepath.Base(t.Path), bytes.NewReader(text)) {
		if err != nil {
			return records, err
		}
		records = append(records, record)
	}
	return records, nil
}
