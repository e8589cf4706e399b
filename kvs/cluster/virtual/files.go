package virtual

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"kvlab/metrics"
)

// folder holds the lab's files, in memory.
const folder = "/run/kvlab-lab"

// tmcc is the path of Emulab's client on its nodes.
const tmcc = "/usr/local/etc/emulab/tmcc"

// privilegeFolder is the folder in which Debian's sshd confines its unprivileged part.
// The system makes it at boot if its own sshd is enabled.
const privilegeFolder = "/run/sshd"

func hostname(index int) string { return fmt.Sprintf("node%d", index) }

// Hostnames is the answer to `tmcc hostnames` in a lab, in Emulab's form.
func Hostnames(hosts int) string {
	var b strings.Builder
	for i := range hosts {
		fmt.Fprintf(&b, "NAME=%s-lan IP=%s ALIASES='%s-0 %s'\n", hostname(i), dataAddress(i), hostname(i), hostname(i))
	}
	return b.String()
}

// writeFiles writes every file that the hosts and ssh read. One key identifies the user
// and all hosts, as long as the lab exists. The user's ~/.ssh is neither read nor
// written.
func writeFiles(spec metrics.Lab) error {
	folders := []string{folder, filepath.Dir(tmcc), "/var/emulab"}
	if !isFolder(privilegeFolder) {
		folders = append(folders, privilegeFolder)
	}
	for _, path := range folders {
		if err := graft(path); err != nil {
			return err
		}
	}
	keygen := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "kvlab virtual lab", "-f", folder+"/key")
	if out, err := keygen.CombinedOutput(); err != nil {
		return fmt.Errorf("ssh-keygen: %w: %s", err, strings.TrimSpace(string(out)))
	}
	key, err := os.ReadFile(folder + "/key.pub")
	if err != nil {
		return err
	}
	var files fileSet
	files.add(tmcc, 0o755, "#!/bin/sh\n# A lab's part of Emulab's client.\n"+
		"[ \"$1\" = hostnames ] || { echo \"tmcc $1: not in a virtual lab\" >&2; exit 1; }\ncat <<'END'\n"+Hostnames(spec.Hosts)+"END\n")
	names, config := "127.0.0.1 localhost\n", sshConfig
	for i := range spec.Hosts {
		names += fmt.Sprintf("%s %s-lan %s-0 %s\n", dataAddress(i), hostname(i), hostname(i), hostname(i))
		config += fmt.Sprintf("Host %s\n  HostName %s\n", hostname(i), controlAddress(i))
	}
	files.add(folder+"/known_hosts", 0o600, "* "+string(key))
	files.add(folder+"/ssh_config", 0o600, config)
	files.add(folder+"/sshd_config", 0o600, sshdConfig)
	for i := range spec.Hosts {
		own := filepath.Join(folder, hostname(i))
		files.add(own+"/hosts", 0o644, names)
		files.add(own+"/hostname", 0o644, hostname(i)+"\n")
		files.add(own+"/emulab/boot/controlif", 0o644, controlCard+"\n")
		// Where root's password is locked, sshd refuses the account.
		files.add(own+"/shadow", 0o600, "root:*:1::::::\n")
		if spec.LinkBitsPerS > 0 {
			files.add(own+"/speed", 0o444, fmt.Sprintf("%d\n", spec.LinkBitsPerS/1e6))
		}
	}
	return files.err
}

const sshdConfig = `HostKey ` + folder + `/key
AuthorizedKeysFile ` + folder + `/key.pub
PidFile none
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
PermitUserRC no
LogLevel ERROR
`

// sshConfig is the beginning of the file for ssh -F.
const sshConfig = `Host *
  User root
  IdentityFile ` + folder + `/key
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile ` + folder + `/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
`

// fileSet writes files until one fails.
type fileSet struct{ err error }

func (s *fileSet) add(path string, mode os.FileMode, text string) {
	if s.err != nil {
		return
	}
	if s.err = os.MkdirAll(filepath.Dir(path), 0o755); s.err == nil {
		s.err = os.WriteFile(path, []byte(text), mode)
	}
}
