package artifact

import (
	"fmt"
	"os"
	"path/filepath"

	"kvlab/plots/command"
)

// Command packs a run's folder with the source of its programs, of the checkout that this
// program is in.
var Command = command.Command{
	Name:     "pack",
	Synopsis: []string{"pack [--anonymous] RUN [-o artifact.tar.gz]"},
	Usage: `pack: makes one archive of the run's data, the source of its programs, and scripts that
make its figures and measure it again (docs/artifact.md). Run it in the checkout that
made the run. --anonymous replaces the names of machines, users and authors in it, and
addresses, paths and remotes, for a blind review.
`,
	Run: func(c *command.Call) error {
		out := c.Flags.String("o", "artifact.tar.gz", "the `file` to write")
		anonymous := c.Flags.Bool("anonymous", false, "name neither machines nor people")
		dirs, err := c.Words()
		if err != nil {
			return err
		}
		if len(dirs) != 1 {
			return command.Wrong("want kvsplot pack RUN [-o artifact.tar.gz], for example kvsplot pack logs/latest")
		}
		program, err := os.Executable()
		if err != nil {
			return err
		}
		if err := Pack(filepath.Dir(filepath.Dir(program)), dirs[0], *out, *anonymous, c.Stderr); err != nil {
			return command.UsageError{Err: err}
		}
		fmt.Fprintln(c.Stdout, *out)
		return nil
	},
}
