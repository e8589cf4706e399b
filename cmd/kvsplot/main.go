// Command kvsplot draws run folders: the figures and the report of one, or of one
// sweep, or the scaling of several runs. Its further commands are rows.
package main

import (
	"os"

	"kvlab/extra/artifact"
	"kvlab/extra/export"
	"kvlab/extra/grade/evening"
	"kvlab/extra/grade/pages"
	"kvlab/extra/markdown"
	"kvlab/extra/profile"
	"kvlab/extra/serve"
	"kvlab/extra/serve/index"
	"kvlab/extra/study"
	"kvlab/extra/trace"
	"kvlab/extra/variants/routers"
	"kvlab/kvs/route"
	"kvlab/plots"
	"kvlab/plots/command"
)

// kvsplot lists the commands in the order of the usage text.
var kvsplot = command.Program{
	Commands: []command.Command{
		command.Grade,
		command.Compare,
		export.Command,
		trace.Command,
		markdown.Command,
		command.Verify(
			evening.Row,
			study.Row,
		),
		command.Checks,
		command.Fields,
		artifact.Command,
		command.Curves,
		index.Command,
		serve.Command,
	},
	Pages: plots.Pages{
		pages.Row,
		profile.Row,
	},
}

func main() {
	route.Link(
		routers.Rows,
	)
	os.Exit(kvsplot.Main(os.Args[1:], os.Stdout, os.Stderr))
}
