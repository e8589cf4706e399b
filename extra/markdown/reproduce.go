package markdown

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots/folder"
)

// reproduce makes the commands of blocks fit for another clone: without the flags that only
// name folders or say what is printed, and with paths relative to the checkout. It adds what a
// clone lacks. Other commits that the command builds have their hashes.
func (s *section) reproduce(blocks []block, begun metrics.Sweep) {
	if len(begun.Command) == 0 {
		return
	}
	was := format.CommandLine(begun.Command[1:])
	words := plan.Without(folder.Fixed(begun), "out", "name", "v", "json")
	var lacks []string
	for i, word := range words {
		words[i] = strings.ReplaceAll(word, s.root+string(filepath.Separator), "")
		lacks = append(lacks, s.lacks(words[i])...)
	}
	for i, b := range blocks {
		if b.kind == shell {
			blocks[i].text = strings.ReplaceAll(b.text, was, format.CommandLine(words))
		}
	}
	commit, dirty := strings.CutSuffix(begun.GitCommit, "-dirty")
	switch {
	case commit == "":
		lacks = append(lacks, "The commit of the programs was not recorded: they were built outside of a git checkout.")
	case s.tracked && s.git("cat-file", "-e", commit+"^{commit}") != nil:
		lacks = append(lacks, fmt.Sprintf("The commit %s is not in the checkout that wrote this.", commit))
	}
	if dirty && len(begun.Changed) == 0 {
		lacks = append(lacks, "The programs had changes that no commit has, and which files these are was not recorded.")
	}
	for _, text := range lacks {
		s.blocks = append(s.blocks, block{kind: paragraph, spans: []span{{text: text}}})
	}
}

// lacks says which files that a word of a command names are not in the repository.
func (s *section) lacks(word string) (all []string) {
	for _, name := range strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(" =,'\"", r) }) {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.root, name)
		}
		switch info, err := os.Stat(path); {
		case err != nil && strings.HasSuffix(name, ".toml"):
			all = append(all, fmt.Sprintf("The command needs %s, which is not in the checkout that wrote this.", name))
		case s.tracked && err == nil && info.Mode().IsRegular() && s.git("ls-files", "--error-unmatch", "--", path) != nil:
			all = append(all, fmt.Sprintf("The command needs %s, which is not in the repository.", name))
		}
	}
	return all
}

// git runs git in the checkout, and returns its error.
func (s *section) git(args ...string) error {
	return exec.Command("git", append([]string{"-C", s.root, "-c", "core.fsmonitor=false"}, args...)...).Run()
}
