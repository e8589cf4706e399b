package compare

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"kvlab/internal/cli"
	"kvlab/metrics/format"
	"kvlab/plots/folder"
)

// Baseline is a stored result that others are compared with.
type Baseline struct {
	name string // as it was asked for
	Variant
}

// stampedName is a run folder's name: when it began, and the name that it was given.
var stampedName = regexp.MustCompile(`^\d{8}-\d{6}-(.+)$`)

// FindBaseline returns the newest result in the folder logs that has a name, given with
// --name, or an ID: a run, or trials of one configuration, with a valid trial. Folders
// named except are left out.
func FindBaseline(logs, name, except string) (*Baseline, error) {
	folders, err := os.ReadDir(logs)
	if err != nil {
		return nil, err
	}
	slices.Reverse(folders) // the newest first
	var names []string
	for _, f := range folders {
		id, given := f.Name(), ""
		if m := stampedName.FindStringSubmatch(id); m != nil {
			given = m[1]
		}
		if names = append(names, format.NonEmpty(id, given)...); id == except || id != name && given != name {
			continue
		}
		b := &Baseline{name: name}
		runs, failed := folder.LoadRuns([]string{filepath.Join(logs, id)})
		if failed == nil {
			_, failed = b.add(id, runs)
		}
		if failed == nil {
			return b, nil
		}
		err = cmp.Or(err, failed)
	}
	if err != nil {
		return nil, fmt.Errorf("no run named %s has a result: %w", name, err)
	}
	return nil, fmt.Errorf("no run in %s is named %s, by --name or by its folder%s", logs, name, cli.DidYouMean(name, "", names))
}

// Check compares the valid run, or the trials, in a folder with the baseline. It returns a
// line for each relative limit, and whether all of them were shown to be kept. An error says that the
// two have not measured the same, and names the first setting that differs.
func (b *Baseline) Check(dir string, limits []Limit) (lines []string, kept bool, err error) {
	runs, err := folder.LoadRuns([]string{dir})
	if err != nil {
		return nil, false, err
	}
	now := Variant{}
	if _, err := now.add(filepath.Base(dir), runs); err != nil {
		return nil, false, err
	}
	settings := []map[string]string{b.settings, now.settings}
	differ := slices.DeleteFunc(folder.Differences(settings), func(name string) bool {
		return slices.Contains([]string{commitSetting, folder.StoreProgram, folder.ClientProgram, machinesSetting}, name)
	})
	if len(differ) > 0 {
		return nil, false, fmt.Errorf("%s differs in %s: %s and %s", b.Name, differ[0], cmp.Or(b.settings[differ[0]], "none"), cmp.Or(now.settings[differ[0]], "none"))
	}
	kept = true
	for _, limit := range limits {
		if limit.Relative() {
			line, ok := limit.against(b, now)
			lines, kept = append(lines, line+b.doubt(now)), kept && ok
		}
	}
	return lines, kept, nil
}

// doubt says why another time or machine may cause the difference; "" if neither may.
func (b *Baseline) doubt(now Variant) string {
	var why []string
	const day = 24 * time.Hour
	if age := now.runs[0].Started.Sub(b.runs[0].Started); age > day {
		why = append(why, fmt.Sprintf("%s old", format.Plural(int(age/day), "day")))
	}
	if b.settings[machinesSetting] != now.settings[machinesSetting] || hostsOf(b.runs[0]) != hostsOf(now.runs[0]) {
		why = append(why, "of other machines")
	}
	if len(why) == 0 {
		return ""
	}
	commit := strings.TrimSuffix(b.runs[0].GitCommit, "-dirty")
	return fmt.Sprintf("; %s is %s: to measure both today, --ab commit:%s \"\"", b.name, strings.Join(why, " and "), cmp.Or(commit[:min(len(commit), 12)], "REV"))
}

// hostsOf names the machines of a run.
func hostsOf(r *folder.Run) string {
	var names []string
	for _, node := range r.Nodes {
		if node.Config != nil {
			names = append(names, node.Config.Host.Hostname)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}
