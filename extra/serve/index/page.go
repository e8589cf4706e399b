package index

import (
	"embed"
	"net/url"

	"kvlab/plots/report"
)

//go:embed index.html
var layout embed.FS

// Name is the file of the page in the folder of the runs.
const Name = "index.html"

// Write writes the page of all runs in dir into dir.
func Write(dir string) error {
	text, err := Page(dir, false)
	if err != nil {
		return err
	}
	return write(dir, Name, text)
}

// Page returns the run folders in dir as one HTML page, with links to their reports, relative to
// dir. It needs no other file and runs no script. A live page has a place for the run under
// way, which live.js fills in.
func Page(dir string, live bool) ([]byte, error) {
	list := read // what is under way when the page is written may have ended when it is read
	if live {
		list = Read
	}
	all, err := list(dir)
	if err != nil {
		return nil, err
	}
	return report.Render(Name, struct {
		Entries []Entry
		Live    bool
	}{all, live}, layout)
}

// Link returns where the entry's page is, or its folder if there is none.
func (e Entry) Link() string { return "./" + url.PathEscape(e.ID) + "/" + e.Page }
