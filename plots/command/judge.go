package command

import (
	"fmt"
	"strings"

	"kvlab/kvs/verdict"
	"kvlab/kvs/verdict/claimed"
	"kvlab/metrics/format"
	"kvlab/plots/compare"
	"kvlab/plots/verify"
)

// Grade prints what a run is worth on a scale.
var Grade = Command{
	Name:     "grade",
	Synopsis: []string{"grade FILE RUN"},
	Usage: `grade: grades the run, or the trials of one configuration, on the scale in FILE,
such as plots/grades.toml, and says why.
`,
	Answers: true,
	Run: func(c *Call) error {
		words, err := c.Words()
		if err != nil {
			return err
		}
		if len(words) != 2 {
			return Wrong("want kvsplot grade FILE RUN, for example kvsplot grade plots/grades.toml logs/latest")
		}
		c.warn(words[1:])
		scale, err := compare.ReadScale(words[0])
		if err != nil {
			return UsageError{err}
		}
		c.Document.Of(words[1])
		return c.print(scale.GradeFolder(words[1]))
	},
}

// Compare prints how two configurations compare.
var Compare = Command{
	Name:     "compare",
	Synopsis: []string{"compare A B", "compare DIR"},
	Usage: `compare: prints how much faster or slower B is than A, with an interval. A and B are run
folders, several with commas between them, or folders of --trials. DIR is a folder of
--ab, which has both: its trials are compared pair by pair.
`,
	Answers: true,
	Run: func(c *Call) error {
		words, err := c.Words()
		if err != nil {
			return err
		}
		c.warn(words)
		switch len(words) {
		case 1:
			return c.print(compare.Variants(words[0]))
		case 2:
			return c.print(compare.Compare(strings.Split(words[0], ","), strings.Split(words[1], ",")))
		}
		return Wrong("want kvsplot compare A B, for example kvsplot compare logs/a1,logs/a2 logs/b1,logs/b2, or kvsplot compare DIR with a folder of --ab")
	},
}

// print prints a result, or returns the error that there is none.
func (c *Call) print(result fmt.Stringer, err error) error {
	if err != nil {
		return UsageError{err}
	}
	fmt.Fprintln(c.Stdout, result)
	c.Document.Say(result.String())
	if compared, ok := result.(compare.Comparison); ok {
		c.Document.Compared(compared)
	}
	return nil
}

// Verify returns the command that computes the figures of folders again and prints what differs.
// kinds are those of experiments beside the launcher's own.
func Verify(kinds ...verify.Kind) Command {
	return Command{
		Name:     "verify",
		Synopsis: []string{"verify RUN [RUN ...]"},
		Usage: `verify: computes the figures of runs, sweeps, curves, classes and studies again from
the nodes' records, and says whether all is as recorded, or which figures and files are not.
`,
		Answers: true,
		Run: func(c *Call) error {
			dirs, err := c.Words()
			if err != nil {
				return err
			}
			if len(dirs) == 0 {
				return Wrong("want kvsplot verify RUN [RUN ...], for example kvsplot verify logs/latest")
			}
			different, all := 0, []verify.Result{}
			for _, dir := range dirs {
				results, err := verify.Run(dir, kinds...)
				all = append(all, results...)
				c.Document.Items(all)
				for _, r := range results {
					fmt.Fprintln(c.Stdout, r)
					if len(r.Differences) > 0 {
						different++
					}
				}
				if err != nil {
					return UsageError{err}
				}
			}
			if different > 0 {
				return fmt.Errorf("%s not as recorded", format.Plural(different, "folder"))
			}
			return nil
		},
	}
}

// Checks prints the table of checks.
var Checks = Command{
	Name:     "checks",
	Synopsis: []string{"checks"},
	Usage: `checks: prints the table of checks: what is true of a VALID run, and what to do if not.
`,
	Run: func(c *Call) error {
		words, err := c.Words()
		if err != nil {
			return err
		}
		if len(words) > 0 {
			return Wrong("want kvsplot checks without further words")
		}
		_, err = fmt.Fprint(c.Stdout, verdict.Table(), "\n", claimed.Table())
		return err
	},
}
