package command

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	"kvlab/internal/cli"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// records are the types that the files of a run folder hold.
var records = []struct{ name, file string }{
	{"Run", "run.json"},
	{"Record", "a line of kvsserver-<node>.jsonl or kvsclient-<node>.jsonl"},
	{"Sweep", "sweep.json"},
	{"Trial", "an item of trials.json"},
	{"ClaimResult", "an item of claims.json"},
	{"Standings", "standings.json"},
	{"Rerun", "rerun.json"},
	{"Manifest", "manifest.json"},
}

const fieldsHead = `The fields of the files of a run folder, from their declarations.
Names end in their unit: _s seconds, _us microseconds, _bytes, _per_s, _percent (0
to 100), _share (0 to 1). Times are RFC 3339. A field that does not apply is absent
or null. Export joins the names of nested fields by underscores: latency_call_p50_us.
`

// declarations are the types of the records, by name.
type declarations map[string]declaration

type declaration struct {
	*ast.TypeSpec
	doc string
}

// Fields prints the fields of the named types, or of every type that a run folder holds.
var Fields = Command{
	Name:     "fields",
	Synopsis: []string{"fields [RECORD ...]"},
	Usage: `fields: prints every field of the files of a run folder, or of a record such as Verdict.
`,
	Run: func(c *Call) error {
		names, err := c.Words()
		if err != nil {
			return err
		}
		types, err := declared()
		if err != nil {
			return err
		}
		for _, name := range names {
			if _, ok := types[name].structure(); !ok {
				return Wrong("no record %q%s", name, cli.DidYouMean(name, "", types.structs()))
			}
		}
		return types.print(names, c.Stdout)
	},
}

// print prints the fields of the named types, or of every type that a run folder holds.
func (types declarations) print(names []string, stdout io.Writer) error {
	if len(names) == 0 {
		fmt.Fprint(stdout, fieldsHead)
		for _, r := range records {
			names = append(names, r.name)
		}
		names = types.reachable(names)
	}
	for _, name := range names {
		fmt.Fprintf(stdout, "\n%s", name)
		for _, r := range records {
			if r.name == name {
				fmt.Fprintf(stdout, ", %s", r.file)
			}
		}
		fmt.Fprintf(stdout, "\n%s\n", types[name].doc)
		var rows [][]string
		for _, f := range types.of(name) {
			rows = append(rows, []string{"  " + f.name, f.kind, f.meaning})
		}
		if _, err := io.WriteString(stdout, format.Aligned(rows)); err != nil {
			return err
		}
	}
	return nil
}

// declared parses the declarations that the program holds.
func declared() (declarations, error) {
	types := declarations{}
	return types, fs.WalkDir(metrics.Declarations, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := metrics.Declarations.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if decl, ok := decl.(*ast.GenDecl); ok && decl.Tok == token.TYPE {
				for _, spec := range decl.Specs {
					spec := spec.(*ast.TypeSpec)
					types[spec.Name.Name] = declaration{spec, format.OneLine(decl.Doc.Text())}
				}
			}
		}
		return nil
	})
}

// structure returns the struct that the type is.
func (d declaration) structure() (*ast.StructType, bool) {
	if d.TypeSpec == nil {
		return nil, false
	}
	s, ok := d.Type.(*ast.StructType)
	return s, ok
}

// structs returns the names of all structs.
func (types declarations) structs() (names []string) {
	for name, d := range types {
		if _, ok := d.structure(); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// reachable returns the names, and the names of the structs that their fields hold.
func (types declarations) reachable(names []string) []string {
	for i := 0; i < len(names); i++ {
		for _, f := range types.of(names[i]) {
			if f.record != "" && !slices.Contains(names, f.record) {
				names = append(names, f.record)
			}
		}
	}
	return names
}

// field is a field as JSON has it. record is the struct that its value holds, or "".
type field struct{ name, kind, meaning, record string }

// of returns the fields of a struct, and of the structs embedded in it.
func (types declarations) of(name string) (all []field) {
	structure, _ := types[name].structure()
	for _, f := range structure.Fields.List {
		kind, record := types.kind(f.Type)
		if len(f.Names) == 0 && f.Tag == nil {
			all = append(all, types.of(record)...)
			continue
		}
		json, _, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
		if json != "-" {
			all = append(all, field{json, kind, format.OneLine(f.Doc.Text() + " " + f.Comment.Text()), record})
		}
	}
	return all
}

// kind returns a type's name, and the struct in it.
func (types declarations) kind(of ast.Expr) (name, record string) {
	switch of := of.(type) {
	case *ast.StarExpr:
		return types.kind(of.X)
	case *ast.ArrayType:
		if elem, ok := of.Elt.(*ast.Ident); ok && elem.Name == "byte" {
			return "base64", ""
		}
		name, record = types.kind(of.Elt)
		return "list of " + name, record
	case *ast.MapType:
		name, record = types.kind(of.Value)
		return name + " by name", record
	case *ast.SelectorExpr:
		if of.Sel.Name == "Time" {
			return "time", ""
		}
		return types.kind(of.Sel)
	case *ast.Ident:
		if _, ok := types[of.Name].structure(); ok {
			return of.Name, of.Name
		}
		if d, ok := types[of.Name]; ok {
			return types.kind(d.Type)
		}
		if name, ok := map[string]string{"string": "text", "bool": "bool"}[of.Name]; ok {
			return name, ""
		}
	}
	return "number", ""
}
