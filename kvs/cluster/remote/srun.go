package remote

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"kvlab/kvs/cluster/nodes"
)

// srun reaches the nodes of a Slurm job. Each command is a job step of one task. When
// srun dies, slurmstepd ends the task.
type srun struct{ program string }

// Command starts a step that shares the node with other steps (--overlap), all of the
// job's memory there (--mem=0) and any of its cores. srun neither labels the output nor
// sends it through a terminal, as --unbuffered would.
func (s srun) Command(ctx context.Context, node nodes.Node, words ...string) *exec.Cmd {
	args := []string{
		"--jobid=" + node.Way.To, "--nodelist=" + node.Name, "--nodes=1", "--ntasks=1",
		"--overlap", "--mem=0", "--cpu-bind=none", "--mpi=none",
		"--kill-on-bad-exit=1", "--quiet", "--chdir=/tmp", "--job-name=kvlab", "--",
	}
	cmd := command(ctx, s.program, append(args, words...)...)
	cmd.Env = stepEnvironment(os.Environ())
	return cmd
}

// connectionVariables tell Slurm's programs where slurmctld is, and authenticate them;
// see srun(1).
var connectionVariables = []string{"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT", "SLURM_CLUSTERS", "SLURM_WORKING_CLUSTER"}

// stepEnvironment returns the environment without the job's other variables: srun reads
// most of these as options, and the variables of sbatch would request all tasks of the job.
func stepEnvironment(environment []string) []string {
	return slices.DeleteFunc(environment, func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return strings.HasPrefix(name, "SLURM_") && !slices.Contains(connectionVariables, name)
	})
}

// taskEnd matches srun's message about a failed task, which follows the task's own output.
var taskEnd = regexp.MustCompile(`^srun: error: \S+: task 0: `)

// Unreached returns srun's first error that is not about the task.
func (s srun) Unreached(_ error, stderr string) string {
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "srun: error: ") && !taskEnd.MatchString(line) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// Death describes srun's exit status, which is the task's, with the most specific message
// of Slurm in the log: slurmstepd's between stars.
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

// Typed returns an srun command line for a shell of the job.
func (s srun) Typed(node nodes.Node, command string) string {
	return "srun --overlap -w " + node.Name + " " + command
}
