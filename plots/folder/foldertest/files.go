package foldertest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"

	"kvlab/metrics"
)

// Keep is the folder of -keep, "" for none.
var Keep = flag.String("keep", "", "leave the made-up runs and their pictures in this `folder`, to look at")

// Gallery has a run of each shape.
var Gallery = map[string]Plan{
	"small":   {ID: "20261121-153000", Servers: 1, Clients: 1, WindowS: 5, ClientOpsPerS: 4.8e6, Verdict: Valid, Seed: 1},
	"cluster": {ID: "20261121-154000", Servers: 4, Clients: 4, WindowS: 10, ClientOpsPerS: 3.1e6, Verdict: Valid, Seed: 2},
	"invalid": {ID: "20261121-160000", Servers: 2, Clients: 2, WindowS: 10, ClientOpsPerS: 2.2e6, Seed: 4,
		Verdict: metrics.Verdict{Reason: "client ok-ops 66,120,704 differ from server applied ops 66,112,512", Node: "node1"}},
	"crowd": {ID: "20261121-161000", Servers: 20, Clients: 20, WindowS: 3, ClientOpsPerS: 2e5, Verdict: Valid, Seed: 5,
		NodeName: func(i int) string { return fmt.Sprintf("node%d.kv.lab-PG0.utah.cloudlab.us", i) }},
}

// Dir is where a test leaves its pictures.
func Dir(t *testing.T) string {
	t.Helper()
	if *Keep != "" {
		return *Keep
	}
	return t.TempDir()
}

// Read returns a file's content.
func Read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// CheckXML wants a well-formed document.
func CheckXML(t *testing.T, name string, text []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}
