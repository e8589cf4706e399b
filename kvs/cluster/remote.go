package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// remoteParallel is how many nodes are prepared at a time. A jump host's sshd
// drops connections at random from its tenth unauthenticated one on
// (MaxStartups 10:30:100 in sshd_config(5)).
const remoteParallel = 8

// remoteTimeout bounds one step of a node's preparation, the copy of a program
// of some ten megabytes included.
const remoteTimeout = 2 * time.Minute

// carrier is a way to a node: ssh, or srun inside a Slurm job.
type carrier interface {
	// command is the process, not yet started, that runs words on the node
	// with its own standard input and output as theirs, and is killed when ctx
	// ends. It leads its own process group. The words are plain: a login shell
	// may read them.
	command(ctx context.Context, node nodes.Node, words ...string) *exec.Cmd
	// failure says why such a process ended with err, when stderr is what it
	// and the node's command have printed there.
	failure(err error, stderr string) error
	// death says how a node's program ended before its work was done, from
	// the carrier's exit status and the last lines of the node's log.
	death(status syscall.WaitStatus, log []string) string
}

// remote runs nodes on other machines. Remote command lines are plain constant
// words, as the login shell may be any; scripts go to a sh over its standard
// input, and a node's arguments through the control pipe.
type remote struct {
	carrier  carrier
	programs plan.Programs
	system   string        // uname -sm of this machine
	login    time.Duration // how long a node may take to its first word

	mu    sync.Mutex
	paths map[copyKey]string // guarded by mu
}

// copyKey tells the copies of the programs on the nodes apart.
type copyKey struct {
	node string
	role metrics.Role
}

func newRemote(c carrier, programs plan.Programs, login time.Duration) (*remote, error) {
	system, err := exec.Command("uname", "-sm").Output()
	if err != nil {
		return nil, fmt.Errorf("uname -sm: %w", err)
	}
	return &remote{
		carrier: c, programs: programs, login: login,
		system: strings.TrimSpace(string(system)),
		paths:  make(map[copyKey]string),
	}, nil
}

// Prepare copies to each node the program that it does not have yet.
func (r *remote) Prepare(ctx context.Context, places []plan.Place) error {
	sums, err := r.programs.Sums()
	if err != nil {
		return &plan.Fault{Reason: format.OneLine(err.Error())}
	}
	places = onePerCopy(places)
	faults := make([]error, len(places))
	var group errgroup.Group
	group.SetLimit(remoteParallel)
	for i, place := range places {
		group.Go(func() error {
			path, err := r.deploy(ctx, place, sums[place.Role])
			if err != nil {
				faults[i] = &plan.Fault{Node: place.Name, Role: place.Role, Reason: format.OneLine(err.Error())}
				return nil
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.paths[copyKey{place.Node.Name, place.Role}] = path
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return errors.Join(faults...)
}

// onePerCopy leaves out the places whose node has its program by an earlier one.
func onePerCopy(places []plan.Place) []plan.Place {
	var first []plan.Place
	seen := make(map[copyKey]bool)
	for _, place := range places {
		if key := (copyKey{place.Node.Name, place.Role}); !seen[key] {
			seen[key] = true
			first = append(first, place)
		}
	}
	return first
}

// Command runs the node's copy of the program.
func (r *remote) Command(place plan.Place, as mode) *exec.Cmd {
	return r.carrier.command(context.Background(), place.Node, r.path(place), string(as))
}

// Signal has the node's copy of the program send the signal, over a connection
// of its own.
func (r *remote) Signal(ctx context.Context, place plan.Place, id metrics.ProcessID, signal syscall.Signal) error {
	_, err := r.run(ctx, place, nil, append([]string{r.path(place)}, node.SignalWords(id, signal)...)...)
	return err
}

// path is where the place's program lies on its node.
func (r *remote) path(place plan.Place) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.paths[copyKey{place.Node.Name, place.Role}]
}

// Death is the carrier's word.
func (r *remote) Death(status syscall.WaitStatus, log []string) string {
	return r.carrier.death(status, log)
}

// probeScript finds out what the node is and whether it has the program. Its
// folder is in /tmp because home is often NFS over the control network, and
// must belong to the user alone. The numbers are statfs(2)'s for NFS, CIFS,
// SMB, AFS and Ceph; package node has their names. Programs unused for a week are removed.
const probeScript = `set -eu
umask 077
dir=/tmp/kvlab-$(id -un)
mkdir -p "$dir"
if [ -L "$dir" ] || [ ! -O "$dir" ]; then
	echo "$dir belongs to somebody else" >&2
	exit 1
fi
chmod 700 "$dir"
case $(stat -f -c %t "$dir") in
6969 | ff534d42 | fe534d42 | 517b | 5346414f | c36400)
	echo "$dir is on a network file system, which programs must not run from" >&2
	exit 1
	;;
esac
find "$dir" -mindepth 1 -maxdepth 1 -type d -mtime +7 -exec rm -rf {} + 2>/dev/null || true
mkdir -p "$dir/$folder"
touch "$dir/$folder"
echo "kvlab system $(uname -sm)"
echo "kvlab dir $dir"
if [ "$(sha256sum <"$dir/$folder/$program" 2>/dev/null)" = "$sum  -" ] && [ -x "$dir/$folder/$program" ]; then
	echo "kvlab have"
else
	echo "kvlab need"
fi
`

// receiveScript takes a program into use that arrives behind it. Nothing is left
// of one that does not arrive whole: a launcher that is killed closes the pipe,
// and behind a network that was cut nobody waits for longer than a launcher
// would. A shell reads ahead, but first a whole group: so the content is asked
// for when the shell has read its last line.
const receiveScript = `{
set -eu
umask 077
file=$path.$$
trap 'rm -f "$file"' EXIT
trap 'exit 1' HUP INT PIPE TERM
echo "kvlab send"
timeout "$limit" cat >"$file"
if [ "$(sha256sum <"$file")" != "$sum  -" ]; then
	echo "the copy of $program arrived damaged" >&2
	exit 1
fi
chmod 500 "$file"
mv -f "$file" "$path"
echo "kvlab installed"
exit
}
`

// plainPath is what a remote path may look like to stand in a command line.
var plainPath = regexp.MustCompile(`^/[A-Za-z0-9._/-]+$`)

// deploy makes sure that the node has the program with the checksum sum, and
// returns its path there.
func (r *remote) deploy(ctx context.Context, place plan.Place, sum string) (string, error) {
	vars := fmt.Sprintf("program=%s\nsum=%s\nfolder=%s\n", place.Program(), sum, sum[:16])
	answer, err := r.run(ctx, place, strings.NewReader(vars+probeScript), "sh", "-s")
	if err != nil {
		return "", err
	}
	system, dir := answer["system"], answer["dir"]
	if system != r.system {
		return "", fmt.Errorf("is a %q machine, and the programs are built for %q", system, r.system)
	}
	if !plainPath.MatchString(dir) {
		return "", fmt.Errorf("unusable folder %q", dir)
	}
	path := dir + "/" + sum[:16] + "/" + place.Program()
	if _, ok := answer["have"]; ok {
		return path, nil
	}
	return path, r.push(ctx, place, path, vars)
}

// push copies the program under another name first, so that a run beside this
// one never starts half a file.
func (r *remote) push(ctx context.Context, place plan.Place, path, vars string) error {
	program, err := os.Open(r.programs[place.Role])
	if err != nil {
		return err
	}
	defer program.Close()
	vars += fmt.Sprintf("path=%s\nlimit=%d\n", path, int(remoteTimeout.Seconds()))
	answer, err := r.converse(ctx, place, strings.NewReader(vars+receiveScript), program, "sh", "-s")
	if err != nil {
		return fmt.Errorf("copy %s: %w", place.Program(), err)
	}
	if _, ok := answer["installed"]; !ok {
		return fmt.Errorf("copy %s: no answer", place.Program())
	}
	return nil
}

// run executes a command on the node and returns its answers, the lines that
// begin with "kvlab", by their second word. Other lines are the chatter of a
// login shell's start-up files.
func (r *remote) run(ctx context.Context, place plan.Place, stdin io.Reader, command ...string) (map[string]string, error) {
	return r.converse(ctx, place, stdin, nil, command...)
}

// converse is run, with more to be read once the command answers "send".
func (r *remote) converse(ctx context.Context, place plan.Place, stdin, more io.Reader, command ...string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	ctx, spoken := untilLogin(ctx, r.login)
	defer spoken()
	cmd := r.carrier.command(ctx, place.Node, command...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// An error of a write means that the command has ended, which says more.
	give := func(from io.Reader, last bool) {
		if from != nil {
			_, _ = io.Copy(in, from)
		}
		if last {
			in.Close()
		}
	}
	answer := make(map[string]string)
	stdout := &lineWriter{take: func(line []byte) error {
		rest, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "kvlab ")
		key, value, _ := strings.Cut(rest, " ")
		if ok {
			spoken()
			answer[key] = value
		}
		if ok && key == "send" {
			go give(more, true)
		}
		return nil
	}}
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	cmd.WaitDelay = time.Second
	err = cmd.Start()
	if err == nil {
		go give(stdin, more == nil)
		err = errors.Join(cmd.Wait(), stdout.flush())
	}
	if err != nil {
		return nil, r.failure(ctx, err, stderr.String())
	}
	return answer, nil
}

// failure is why a command on the node has failed.
func (r *remote) failure(ctx context.Context, err error, stderr string) error {
	said := plan.LastLine(stderr)
	if said != "" {
		said = ": " + said
	}
	switch {
	case errors.Is(context.Cause(ctx), errLogin):
		return fmt.Errorf("cannot be reached: %w within %s%s", errLogin, r.login, said)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("no answer within %s%s", remoteTimeout, said)
	case ctx.Err() != nil:
		return plan.ErrInterrupted
	}
	return r.carrier.failure(err, stderr)
}
