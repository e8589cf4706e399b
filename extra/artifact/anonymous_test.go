package artifact

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
)

// An anonymous artifact has no name of a machine, a user or an author, no address, no path of a
// machine and no remote, in the text of a file or in its name. What is the same has the same
// word, loopback stays, and the data's digests are those of the files.
func TestAnonymous(t *testing.T) {
	root, _ := checkout(t)
	write(t, filepath.Join(root, "NOTES.md"), "By Alice Liddell <alice@wonder.example>: clone https://forge.example/wonderland/kvlab.git or\nhttps://forge.example/wonderland/kvlab\n")
	git(t, root, "add", "-A")
	git(t, root, "-c", "user.name=Alice Liddell", "-c", "user.email=alice@wonder.example", "commit", "-q", "-m", "two")
	git(t, root, "remote", "add", "origin", "https://forge.example/wonderland/kvlab.git")
	dir := run(t, root, git(t, root, "rev-parse", "HEAD"), "--nodes", "carol@zebra.lab.example:22,apple.lab.example", "--out", "/home/carol/logs", "--target="+root+"/NOTES.md")
	var r metrics.Run
	if err := metrics.ReadJSON(filepath.Join(dir, "run.json"), &r); err != nil {
		t.Fatal(err)
	}
	swap := strings.NewReplacer("node0.lab", "zebra.lab.example", "node1.lab", "apple.lab.example", "node0", "zebra", "node1", "apple")
	r.Preflight = &metrics.Preflight{Machines: []metrics.Machine{{Nodes: []string{"zebra"}, Facts: &metrics.Facts{User: "carol", Folder: "/home/carol/kvlab/bin", Others: []string{"192.168.7.9", "fe80::1:2", "127.0.0.1"}}}}}
	for i := range r.Nodes {
		if s := r.Nodes[i].Summary; s != nil && r.Nodes[i].Role == metrics.Client {
			s.Claim = &metrics.Claimed{Program: "hatters"}
		}
	}
	foldertest.WriteJSON(t, filepath.Join(dir, "run.json"), r)
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, swap.Replace(f.Name())), swap.Replace(string(text)))
	}
	write(t, filepath.Join(dir, "kvsserver-zebra.log"), "zebra (zebra.lab.example) at 192.168.7.9:8080 and http://apple:80/x, by carol in /home/carol/kvlab/bin/kvsserver, /proc/stat, "+root+"/logs; de:ad:be:ef:00:01; zebras, pineapple; 127.0.0.1:80; hatters.toml\n")
	write(t, filepath.Join(dir, "profile.pb"), "zebra\x00")
	foldertest.WriteManifest(t, dir)

	out := filepath.Join(t.TempDir(), "a.tar.gz")
	var said bytes.Buffer
	if err := Pack(root, dir, out, true, &said); err != nil {
		t.Fatal(err)
	}
	packed := entries(t, out)
	for name, text := range packed {
		for _, secret := range []string{"zebra ", "zebra.", "zebra\"", "-zebra", "apple.lab", "apple\"", "carol", "hatters", "Liddell", "alice@", "wonder", "192.168.7.9", "fe80", "de:ad:be", "/home/", root} {
			if strings.Contains(name+text, secret) {
				t.Errorf("%s has %q", name, secret)
			}
		}
	}
	own, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"apple", "zebra", strings.Split(own, ".")[0]} // the words for them are in their order
	slices.Sort(names)
	apple, zebra := fmt.Sprint("node", slices.Index(names, "apple")), fmt.Sprint("node", slices.Index(names, "zebra"))
	log := packed["data/kvsserver-"+zebra+".log"]
	for _, want := range []string{zebra + " (" + zebra + ") at 10.0.0.", "http://" + apple + ":80/x, by user0 in /dir", "/kvsserver, /proc/stat, /kvlab/logs; 02:00:00:00:", "zebras, pineapple; 127.0.0.1:80"} {
		if !strings.Contains(log, want) {
			t.Errorf("no %q in the log: %s", want, log)
		}
	}
	if packed["data/profile.pb"] != "" || !strings.Contains(said.String(), `"profile.pb", which is no text`) {
		t.Errorf("a binary file: %q", said.String())
	}
	if !strings.Contains(packed["README.md"], "user0@"+zebra+":22,"+apple) || !strings.Contains(packed["source/NOTES.md"], "clone author") {
		t.Errorf("README.md:\n%s\nNOTES.md:\n%s", packed["README.md"], packed["source/NOTES.md"])
	}
	data := t.TempDir()
	for name, text := range packed {
		if inside, ok := strings.CutPrefix(name, "data/"); ok {
			write(t, filepath.Join(data, inside), text)
		}
	}
	// The made-up run differs from its records, and the anonymous one in the same.
	var found [2][]string
	for i, dir := range []string{dir, data} {
		if found[i], err = differences(dir); err != nil {
			t.Fatal(err)
		}
		for at, line := range found[i] {
			found[i][at] = regexp.MustCompile(`zebra|apple|node\d|hatters|user\d`).ReplaceAllString(line, "NODE")
		}
	}
	lacked := slices.DeleteFunc(found[0], func(line string) bool { return strings.HasPrefix(line, "profile.pb") })
	slices.Sort(lacked)
	slices.Sort(found[1])
	if !slices.Equal(lacked, found[1]) {
		t.Errorf("verify of the anonymous data:\n%s\nof the data:\n%s", strings.Join(found[1], "\n"), strings.Join(lacked, "\n"))
	}
}

// What is left is found, and refused.
func TestCheckHidden(t *testing.T) {
	for text, found := range map[string]bool{"by vm.": true, "zebra_1": false, "x/zebra/y": true, "BASE64+vm/": false, "/srv/alice/x": true, "Alice Liddell": true, "": false} {
		stage := t.TempDir()
		write(t, filepath.Join(stage, "data", "run.json"), text)
		a := artifact{stage: stage, mask: &mask{root: "/srv/alice", machines: map[string]string{"vm": "node0", "zebra": "node1"}, authors: map[string]string{"Alice Liddell": "author0"}}}
		if err := a.checkHidden(); (err != nil) != found {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A machine whose name is a word of the records, or a number, keeps it.
func TestTelling(t *testing.T) {
	var a artifact
	got := a.telling(map[string]bool{"server": true, "hostname": true, "window": true, "1000": true, "": true, "zebra": true, "node0": true})
	if len(got) != 2 || !got["zebra"] || !got["node0"] || len(a.notes) != 3 {
		t.Errorf("%v, noted %q", got, a.notes)
	}
}
