package index

import (
	"io"

	"kvlab/metrics/format"
	"kvlab/plots/command"
)

// Command prints a line for each run folder.
var Command = command.Command{
	Name:     "list",
	Synopsis: []string{"list [LOGS]"},
	Usage: `list: prints a line for each run folder in LOGS (logs), the newest first: verdict, operations per
second, p99, number of caveats, work and result.
`,
	Answers: true,
	Run: func(c *command.Call) error {
		dir, err := Folder(c)
		if err != nil {
			return err
		}
		all, err := Read(dir)
		if err != nil {
			return command.UsageError{Err: err}
		}
		if len(all) == 0 {
			return command.Wrong("%s has no run folder", dir)
		}
		c.Document.Items(all)
		_, err = io.WriteString(c.Stdout, Text(all, format.Width(c.Stdout)))
		return err
	},
}

// Folder returns the folder of runs that a command names: the launcher's default without
// one.
func Folder(c *command.Call) (string, error) {
	words, err := c.Words()
	switch {
	case err != nil:
		return "", err
	case len(words) > 1:
		return "", command.Wrong("want one folder of runs, such as logs")
	}
	return append(words, "logs")[0], nil
}
