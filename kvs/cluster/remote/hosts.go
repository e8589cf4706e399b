package remote

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"kvlab/internal/cli"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/target"
	"kvlab/metrics"
)

// Started builds the program of a target, which the nodes of a role's programs start. It returns
// the target with the program's path, as they know it, and the programs with it. far says that
// they run on other machines, to which Runner.Deploy copies it.
func (b *Builds) Started(ctx context.Context, role metrics.Role, t target.Target, programs plan.Programs, far bool, s Submitted) (target.Target, plan.Programs, error) {
	path, err := b.Store(ctx, t, s)
	if err != nil {
		return t, programs, err
	}
	programs = maps.Clone(programs)
	if programs[role] = path; far {
		path, err = programs.Deployed(role)
	}
	return t.Built(path), programs, err
}

// The flags of programs that name a team's system, and the form in which kvlab's server speaks to
// a team's client.
const (
	systemFlag = "system"
	labFlag    = "lab"
)

// Hosts returns a spec whose nodes start a team's own client, or its system, if its arguments name
// the file of one, and the programs with those that it builds.
func (b *Builds) Hosts(ctx context.Context, spec plan.Spec, programs plan.Programs, far bool, s Submitted) (plan.Spec, plan.Programs, error) {
	text := target.Named(spec.ClientArgs, metrics.ProgramFlag, systemFlag)
	if text == "" {
		return spec, programs, nil
	}
	var own target.System
	err := own.Set(text)
	if err == nil && target.Named(spec.ClientArgs, metrics.ProgramFlag) == "" {
		err = own.CheckFlag(systemFlag)
	} else if err == nil {
		err = own.CheckFlag("client")
	}
	if err != nil {
		return spec, programs, err
	}
	for role, p := range map[metrics.Role]*target.Program{plan.Team: own.Client, plan.Store: own.Server} {
		if p == nil {
			continue
		}
		table := ""
		if own.Server != nil {
			table = map[metrics.Role]string{plan.Team: "client: ", plan.Store: "server: "}[role]
		}
		if p.Build == "" {
			words, _ := cli.SplitWords(p.Run) // settle has split it
			if strings.Contains(words[0], "{") || far {
				continue
			}
			if _, err := exec.LookPath(words[0]); err != nil {
				return spec, programs, own.Mistake(fmt.Errorf("%srun: %w", table, err))
			}
			continue
		}
		t, with, err := b.Started(ctx, role, target.Target{Name: own.Name, Dir: p.Dir, Build: p.Build}, programs, far, s)
		if err != nil {
			return spec, programs, own.Mistake(fmt.Errorf("%sbuild: %w", table, err))
		}
		p.Bin, p.Build, p.Dir, programs = t.Bin, "", "", with
	}
	spec.ServerArgs = plan.Without(spec.ServerArgs, systemFlag)
	switch spec.Hosted = own.Server != nil; {
	case spec.Hosted:
		spec.ServerArgs = plan.With(spec.ServerArgs, systemFlag, own.String())
	case plan.HasFlag(spec.ServerArgs, labFlag):
	case own.Preset == "":
		return spec, programs, own.Mistake(fmt.Errorf("preset: want the form that the client speaks, as in preset = \"base\", or --%s", labFlag))
	default:
		spec.ServerArgs = plan.With(spec.ServerArgs, labFlag, own.Preset)
	}
	spec.ClientArgs = plan.With(plan.Without(spec.ClientArgs, systemFlag), metrics.ProgramFlag, own.String())
	return spec, programs, nil
}

// NoKnob returns err, which refuses the name of a setting, with those of the team's programs that
// the arguments name, if they do.
func NoKnob(spec plan.Spec, name string, err error) error {
	var own target.System
	text := target.Named(spec.ClientArgs, metrics.ProgramFlag, systemFlag)
	if text == "" || own.Set(text) != nil {
		return err
	}
	hint, all := "", []string{"nodes", "servers", "clients"}
	for role, p := range map[string]*target.Program{"client.": own.Client, "server.": own.Server} {
		if p == nil {
			continue
		}
		names := slices.Sorted(maps.Keys(p.Settings))
		if near := cli.DidYouMean(name, role, names); near != "" {
			hint = near
		}
		for _, name := range names {
			all = append(all, role+name)
		}
	}
	slices.Sort(all)
	return fmt.Errorf("no such setting%s (there are %s)", hint, strings.Join(all, ", "))
}
