package serve

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kvlab/metrics"
	"kvlab/plots/index"
)

// state is how far the newest run is.
type state struct {
	ID       string `json:"id"`                 // its folder
	Run      string `json:"run"`                // the folder of the run that its nodes write, below the folder of runs: of several trials the last one
	Progress string `json:"progress,omitempty"` // "trial 3 of 12"; "" of one run
	Ended    bool   `json:"ended"`
	Report   string `json:"report,omitempty"` // the address of its page, or of its folder; "" of a run that has no result yet
}

// drawing is how long a launcher may take to draw the report of a run that has ended.
const drawing = time.Minute

// newest is the state of the run in dir that began last: a launcher points the link latest
// to it.
func newest(dir string) (s state, err error) {
	if s.ID, err = os.Readlink(filepath.Join(dir, "latest")); err != nil || filepath.Base(s.ID) != s.ID {
		if s.ID, err = last(dir, ""); err != nil {
			return s, err
		}
	}
	if s.ID == "" {
		return s, errors.New("there is no run yet")
	}
	s.Run = s.ID
	var written time.Time // its result; zero while it is under way
	if plan, done, err := metrics.ReadSweep(filepath.Join(dir, s.ID)); err == nil {
		planned := max(len(plan.Order), len(done))
		s.Progress = fmt.Sprintf("trial %d of %d", min(len(done)+1, planned), planned)
		if len(done) == planned {
			written = modified(dir, s.ID, metrics.TrialsFile)
		}
	} else {
		written = cmp.Or(modified(dir, s.ID, "run.json"), modified(dir, s.ID, "selftest.json"))
	}
	if trial, err := last(filepath.Join(dir, s.ID), "trial-"); err == nil && trial != "" {
		s.Run = filepath.Join(s.ID, trial)
	}
	if written.IsZero() {
		return s, nil
	}
	s.Ended, s.Report = time.Since(written) > drawing, "/"+url.PathEscape(s.ID)+"/"
	for _, page := range index.Pages {
		if !modified(dir, s.ID, page).Before(written) {
			s.Ended, s.Report = true, s.Report+page
			break
		}
	}
	return s, nil
}

// last is the last folder in dir whose name begins with a prefix; "" without one. An attempt
// that was cut short is none.
func last(dir, prefix string) (string, error) {
	folders, err := os.ReadDir(dir)
	folders = slices.DeleteFunc(folders, func(f os.DirEntry) bool {
		return !f.IsDir() || !strings.HasPrefix(f.Name(), prefix) || strings.HasPrefix(f.Name(), ".") || prefix != "" && strings.Contains(f.Name(), "-cut")
	})
	if err != nil || len(folders) == 0 {
		return "", err
	}
	return folders[len(folders)-1].Name(), nil
}

// modified is when a file of a run was written; zero without it.
func modified(dir, id, name string) time.Time {
	info, err := os.Stat(filepath.Join(dir, id, name))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
