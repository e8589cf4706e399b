package export

import (
	"errors"
	"io/fs"
	"path/filepath"

	"kvlab/metrics"
	"kvlab/plots/folder"
)

// endOfFile is how much of a node's file Now reads: some seconds.
const endOfFile = 256 << 10

// Now is a run, named id, as it is now: what run.json has, if there is one yet, and the last
// interval and the last usage of each node. It reads only the ends of the nodes' files, so
// that asking for it every few seconds disturbs no measurement.
func Now(dir, id string) (Tables, error) {
	all := newTables()
	var run metrics.Run
	switch err := metrics.ReadJSON(filepath.Join(dir, "run.json"), &run); {
	case err == nil:
		run.ID = id
		all[0].row("", run)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	files, err := folder.NodeFiles(dir)
	if err != nil {
		return nil, err
	}
	for _, path := range files {
		records, err := (&folder.Tail{Path: path, Most: endOfFile}).Next()
		if err != nil {
			return nil, err
		}
		var last [2]metrics.Record
		for _, r := range records {
			switch {
			case r.Interval != nil:
				last[0] = r
			case r.Usage != nil:
				last[1] = r
			}
		}
		for _, r := range last {
			all[2].addSecond(id, r)
		}
	}
	return all, nil
}
