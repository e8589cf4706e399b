package markdown

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// element is an element of a report's page, which is XHTML, or a text.
type element struct {
	name, class, id string // "" of a text
	text            string // of a text
	inner           []*element
}

// parse reads a page.
func parse(page []byte) (*element, error) {
	root := &element{}
	open := []*element{root}
	for d := xml.NewDecoder(bytes.NewReader(page)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return root, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the report: %w", err)
		}
		top := open[len(open)-1]
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name.Local}
			for _, a := range token.Attr {
				switch a.Name.Local {
				case "class":
					e.class = a.Value
				case "id":
					e.id = a.Value
				}
			}
			top.inner, open = append(top.inner, e), append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			top.inner = append(top.inner, &element{text: string(token)})
		}
	}
}

// find returns the elements with a name, in the page's order, without those inside of one.
func (e *element) find(name string) (all []*element) {
	for _, in := range e.inner {
		if in.name == name {
			all = append(all, in)
		} else {
			all = append(all, in.find(name)...)
		}
	}
	return all
}

// span is a piece of text. Of code, all characters mean themselves.
type span struct {
	text string
	code bool
}

// spans returns the text of an element.
func (e *element) spans() (all []span) {
	for _, in := range e.inner {
		switch {
		case in.name == "":
			all = append(all, span{text: strings.ReplaceAll(in.text, "\n", " ")})
		case in.name == "code" || in.class == "flag":
			all = append(all, span{in.plain(), true})
		default:
			all = append(all, in.spans()...)
		}
	}
	return all
}

// plain returns the text of an element as it is.
func (e *element) plain() string {
	text := e.text
	for _, in := range e.inner {
		text += in.plain()
	}
	return text
}

// block is a part of a document.
type block struct {
	kind  kind
	top   bool       // a heading begins a run; a paragraph is the result
	spans []span     // of a heading, a paragraph, an item or a caption; of a table its caption, of a figure its title
	text  string     // of a shell its lines, of a figure its name
	head  []cell     // of a table
	rows  [][][]span // of a table
}

type kind int

const (
	heading kind = iota
	paragraph
	item
	caption // of the table that follows
	tabular
	shell
	figure
)

// cell is the head of a column.
type cell struct {
	spans []span
	name  bool // the column has words, not numbers
}

// blocks returns the blocks of an element.
func (e *element) blocks() (all []block) {
	for _, in := range e.inner {
		switch in.name {
		case "h2":
			all = append(all, block{kind: heading, spans: in.spans()})
		case "p":
			b := block{kind: paragraph, spans: in.spans()}
			if in.class == "caption" {
				b.kind = caption
			}
			all = append(all, b)
		case "li":
			all = append(all, block{kind: item, spans: in.spans()})
		case "pre":
			all = append(all, block{kind: shell, text: strings.Trim(in.plain(), "\n")})
		case "figure":
			all = append(all, block{kind: figure, text: strings.TrimPrefix(in.id, "figure-")})
		case "table":
			all = append(all, in.table())
		case "", "script":
		default:
			all = append(all, in.blocks()...)
		}
	}
	for i := len(all) - 1; i > 0; i-- {
		if all[i].kind == tabular && all[i-1].kind == caption {
			all[i].spans = all[i-1].spans
			all = slices.Delete(all, i-1, i)
		}
	}
	return all
}

// table returns the block of a table.
func (e *element) table() block {
	t := block{kind: tabular}
	for _, head := range e.find("th") {
		t.head = append(t.head, cell{head.spans(), strings.Contains(head.class, "name")})
	}
	for _, row := range e.find("tr") {
		var cells [][]span
		for _, td := range row.find("td") {
			cells = append(cells, td.spans())
		}
		if len(cells) > 0 {
			t.rows = append(t.rows, cells)
		}
	}
	return t
}
