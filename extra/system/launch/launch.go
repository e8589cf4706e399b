// Package launch is the launcher's flag for a team's own client.
package launch

import (
	"flag"
	"fmt"
	"strings"

	"kvlab/kvs/cluster"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/driver/lab"
	"kvlab/kvs/target"
	"kvlab/metrics"
)

// notMeasured are the flags that ask a client for what only kvlab's own does.
const notMeasured = "quick curve slo soak selftest grade target engine rate restart-at baseline"

// Kind is the row of --client. It is no experiment: it says what the clients of any are.
var Kind = cluster.Kind{
	Flag: "client", Topic: "targets", Flags: "client system program",
	Rules: []cluster.Rule{
		{Flag: "client", Excludes: notMeasured + " system"},
		{Flag: "system", Excludes: notMeasured},
		{Flag: "program", Excludes: notMeasured + " system client"},
	},
	New: func(fs *flag.FlagSet, cfg *cluster.Config) cluster.Planner {
		fs.Func("client", target.ClientUsage, func(path string) error {
			var s target.System
			if err := s.Set(path); err != nil {
				return err
			}
			if form, _, _ := strings.Cut(s.Preset, "?"); form != "" {
				if _, err := lab.NewForm(map[string]string{"preset": form}); err != nil {
					return s.Mistake(fmt.Errorf("preset: %w", err))
				}
			}
			cfg.ClientArgs = append(cfg.ClientArgs, plan.Arg(metrics.ProgramFlag, path))
			return nil
		})
		return neither{}
	},
}

// neither is the planner of no experiment.
type neither struct{ cluster.Planner }

func (neither) Asked() bool { return false }
