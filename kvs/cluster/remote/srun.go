package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"kvlab/kvs/cluster/nodes"
	"kvlab/metrics/format"
)

// srun reaches the nodes of a Slurm job, each command being a job step of one
// task. When srun dies, slurmstepd ends the task.
type srun struct{ program string }

// Command is a step beside those that the node has already (--overlap), with
// all of the job's memory there (--mem=0), on any of its cores. Its output is not
// labelled, and not through a terminal (--unbuffered would be).
func (s srun) Command(ctx context.Context, node nodes.Node, words ...string) *exec.Cmd {
	args := []string{
		"--jobid=" + node.Way.To, "--nodelist=" + node.Name, "--nodes=1", "--ntasks=1",
		"--overlap", "--mem=0", "--cpu-bind=none", "--mpi=none",
		"--kill-on-bad-exit=1", "--quiet", "--chdir=/tmp", "--job-name=kvlab", "--",
	}
	cmd := exec.CommandContext(ctx, s.program, append(args, words...)...)
	cmd.Env = stepEnvironment(os.Environ())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// connectionVariables are where Slurm's programs find slurmctld and prove who
// they are; see srun(1).
var connectionVariables = []string{"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT", "SLURM_CLUSTERS", "SLURM_WORKING_CLUSTER"}

// stepEnvironment is the environment without the job's other variables: srun
// reads most of them as options, and sbatch's would ask for all tasks of the job.
func stepEnvironment(environment []string) []string {
	return slices.DeleteFunc(environment, func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return strings.HasPrefix(name, "SLURM_") && !slices.Contains(connectionVariables, name)
	})
}

// taskEnd is what srun says of a task that fails, after the task's own words.
var taskEnd = regexp.MustCompile(`^srun: error: \S+: task 0: `)

// Failure tells srun's own failures from the remote command's.
func (s srun) Failure(err error, stderr string) error {
	lines := strings.Split(stderr, "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "srun: error: ") && !taskEnd.MatchString(line) {
			return fmt.Errorf("cannot be reached: %s", line)
		}
	}
	words := slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "srun: ") })
	if said := format.LastLine(strings.Join(words, "\n")); said != "" {
		return errors.New(said)
	}
	return err
}

// Death reads srun's exit status, which is the task's, and what Slurm has
// printed: the most telling is slurmstepd's word between stars.
func (s srun) Death(status syscall.WaitStatus, log []string) string {
	if status.Signaled() {
		return "lost its srun, which " + death(status)
	}
	var said string
	for _, line := range log {
		line, isError := strings.CutPrefix(line, "stderr: ")
		switch {
		case !isError || strings.Contains(said, "***"):
		case strings.HasPrefix(line, "srun: error: "), strings.HasPrefix(line, "slurmstepd"):
			said = line
		}
	}
	if said == "" {
		return shellDeath(status)
	}
	return shellDeath(status) + " (" + said + ")"
}

// Typed is a step beside the others, from a shell of the job.
func (s srun) Typed(node nodes.Node, command string) string {
	return "srun --overlap -w " + node.Name + " " + command
}
