package export

import (
	"slices"
	"strings"

	"kvlab/plots/command"
)

// Command writes tables of run folders.
var Command = command.Command{
	Name:     "export",
	Synopsis: []string{"export [--table NAME | --out DIR] RUN [RUN ...]"},
	Usage: `export: writes tables of the runs for other programs, as CSV: runs, trials, seconds,
histogram. One table goes to standard output (runs, or NAME), or all into DIR.
kvsplot fields lists their fields.
`,
	Run: func(c *command.Call) error {
		out := c.Flags.String("out", "", "write all tables into this `folder`; it is made when missing")
		name := c.Flags.String("table", Names[0], "the table that goes to standard output: "+strings.Join(Names, ", "))
		dirs, err := c.Words()
		if err != nil {
			return err
		}
		table := slices.Index(Names, *name)
		switch {
		case len(dirs) == 0:
			return command.Wrong("no run folder named: want kvsplot export RUN [RUN ...], for example kvsplot export --table seconds logs/latest")
		case table < 0:
			return command.Wrong("--table %q: want %s", *name, strings.Join(Names, ", "))
		}
		tables, err := Load(dirs)
		switch {
		case err != nil:
			return command.UsageError{Err: err}
		case *out != "":
			return tables.Write(*out, c.Stdout)
		}
		return tables[table].CSV(c.Stdout)
	},
}
