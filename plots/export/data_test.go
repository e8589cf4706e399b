package export

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/data.md anew")

// roots are the types that the files of a run folder hold.
var roots = []struct{ name, file string }{
	{"Run", "run.json"},
	{"Record", "a line of `kvsserver-<node>.jsonl` or `kvsclient-<node>.jsonl`"},
	{"Sweep", "sweep.json"},
	{"Trial", "an item of trials.json"},
	{"ClaimResult", "an item of claims.json"},
	{"Standings", "standings.json"},
	{"Rerun", "rerun.json"},
	{"Manifest", "manifest.json"},
}

const dataHead = `# Data

The fields of the files of a run folder ([results.md](results.md)), from the declarations and comments of the programs that write them.
` + "`go test ./plots/export -run Data -update`" + ` writes this page.

Names end in their unit: ` + "`_s`" + ` seconds, ` + "`_us`" + ` microseconds, ` + "`_bytes`, `_per_s`, `_percent`" + ` (0 to 100), ` + "`_share`" + ` (0 to 1). Times are
RFC 3339. A field that does not apply is absent or null. ` + "`schema`" + ` is 1 where a file has it: a later release adds fields, and raises it only
if it changes the meaning of one. ` + "`bin/kvsplot export`" + ` joins the names of nested fields by underscores: ` + "`latency_call_p50_us`" + `.
`

// source is the type declarations of the packages of records.
type source struct {
	t     *testing.T
	types map[string]*ast.TypeSpec
	docs  map[string]string
}

func readSource(t *testing.T) *source {
	s := &source{t, map[string]*ast.TypeSpec{}, map[string]string{}}
	for _, dir := range []string{"../../metrics", "../../metrics/stats"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range file.Decls {
				if types, ok := decl.(*ast.GenDecl); ok && types.Tok == token.TYPE {
					for _, spec := range types.Specs {
						spec := spec.(*ast.TypeSpec)
						s.types[spec.Name.Name], s.docs[spec.Name.Name] = spec, strings.Join(strings.Fields(types.Doc.Text()), " ")
					}
				}
			}
		}
	}
	return s
}

// kind is a field's type in words, with a link where it has a table of its own, and the
// names of the structs in it.
func (s *source) kind(of ast.Expr) (words string, structs []string) {
	switch of := of.(type) {
	case *ast.StarExpr:
		return s.kind(of.X)
	case *ast.ArrayType:
		if elem, ok := of.Elt.(*ast.Ident); ok && elem.Name == "byte" {
			return "text (base64)", nil
		}
		words, structs = s.kind(of.Elt)
		return "list of " + words, structs
	case *ast.MapType:
		words, structs = s.kind(of.Value)
		return words + " by name", structs
	case *ast.SelectorExpr:
		if of.Sel.Name == "Time" {
			return "time", nil
		}
		return s.kind(of.Sel)
	case *ast.Ident:
		spec, ok := s.types[of.Name]
		if !ok {
			return map[string]string{"string": "text", "bool": "true or false"}[of.Name], nil
		}
		if _, ok := spec.Type.(*ast.StructType); ok {
			return fmt.Sprintf("[%s](#%s)", of.Name, strings.ToLower(of.Name)), []string{of.Name}
		}
		return s.kind(spec.Type)
	}
	s.t.Fatalf("a field of a type that data.md does not know: %T", of)
	return "", nil
}

// table is the table of a struct's fields, and the structs that they hold.
func (s *source) table(name string) (text string, structs []string) {
	var b strings.Builder
	spec, ok := s.types[name].Type.(*ast.StructType)
	if !ok {
		s.t.Fatalf("%s is no struct", name)
	}
	for _, field := range spec.Fields.List {
		words, inner := s.kind(field.Type)
		if len(field.Names) == 0 && field.Tag == nil { // embedded
			rows, more := s.table(inner[0])
			b.WriteString(rows)
			structs = append(structs, more...)
			continue
		}
		tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json")
		json, _, _ := strings.Cut(tag, ",")
		if json == "-" {
			continue
		}
		if words == "" {
			words = "number"
		} else if strings.HasSuffix(words, " ") { // a list of numbers
			words += "numbers"
		} else if strings.HasPrefix(words, " by") {
			words = "number" + words
		}
		comment := strings.Join(strings.Fields(field.Doc.Text()+" "+field.Comment.Text()), " ")
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", json, words, strings.ReplaceAll(comment, "|", "\\|"))
		structs = append(structs, inner...)
	}
	return b.String(), structs
}

// TestDataPage: docs/data.md is what the declarations say.
func TestDataPage(t *testing.T) {
	s := readSource(t)
	text, seen := dataHead, map[string]bool{}
	var queue []string
	for _, root := range roots {
		queue = append(queue, root.name)
	}
	for i := 0; i < len(queue); i++ {
		name := queue[i]
		if seen[name] {
			continue
		}
		seen[name] = true
		rows, structs := s.table(name)
		text += "\n## " + name + "\n\n"
		if i < len(roots) {
			text += "Of " + roots[i].file + ". "
		}
		text += s.docs[name] + "\n\n| field | type | meaning |\n|---|---|---|\n" + rows
		queue = append(queue, structs...)
	}
	const page = "../../docs/data.md"
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || string(got) != text {
		t.Errorf("docs/data.md is not what the records' declarations say (%v): go test ./plots/export -run Data -update", err)
	}
}
