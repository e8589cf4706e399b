package serve

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kvlab/metrics"
	"kvlab/plots/folder"
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

// newest returns the state of the run in dir that began last: a launcher points the link latest
// to it.
func newest(dir string) (s state, err error) {
	if s.ID, err = os.Readlink(filepath.Join(dir, "latest")); err != nil || filepath.Base(s.ID) != s.ID {
		return state{}, errors.New("there is no run yet")
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
	trials, _ := fs.Glob(os.DirFS(filepath.Join(dir, s.ID)), "trial-*") // the pattern is right
	trials = slices.DeleteFunc(trials, func(name string) bool { return strings.Contains(name, "-cut") })
	if len(trials) > 0 {
		s.Run = filepath.Join(s.ID, trials[len(trials)-1])
	}
	if written.IsZero() {
		return s, nil
	}
	s.Ended, s.Report = time.Since(written) > drawing, "/"+url.PathEscape(s.ID)+"/"
	if page := folder.Page(filepath.Join(dir, s.ID)); page != "" && !modified(dir, s.ID, page).Before(written) {
		s.Ended, s.Report = true, s.Report+page
	}
	return s, nil
}

// modified returns when a file of a run was written; zero without it.
func modified(dir, id, name string) time.Time {
	info, err := os.Stat(filepath.Join(dir, id, name))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
