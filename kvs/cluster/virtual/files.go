package virtual

import (
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"kvlab/metrics"
)

// folder holds the lab's files, in memory. The files of ssh and sshd name it too.
const folder = "/run/kvlab-lab"

// tmcc is the path of Emulab's client on its nodes.
const tmcc = "/usr/local/etc/emulab/tmcc"

// privilegeFolder is the folder in which Debian's sshd confines its unprivileged part.
// The system makes it at boot if its own sshd is enabled.
const privilegeFolder = "/run/sshd"

//go:embed sshd_config
var sshdConfig string

// sshConfig is the beginning of the file for ssh -F.
//
//go:embed ssh_config
var sshConfig string

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
	for _, path := range []string{folder, filepath.Dir(tmcc), "/var/emulab", privilegeFolder} {
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
	names, config := "127.0.0.1 localhost\n", sshConfig
	for i := range spec.Hosts {
		names += fmt.Sprintf("%s %s-lan %s-0 %s\n", dataAddress(i), hostname(i), hostname(i), hostname(i))
		config += fmt.Sprintf("Host %s\n  HostName %s\n", hostname(i), controlAddress(i))
	}
	files := map[string]string{
		tmcc: "#!/bin/sh\n# A lab's part of Emulab's client.\n" +
			"[ \"$1\" = hostnames ] || { echo \"tmcc $1: not in a virtual lab\" >&2; exit 1; }\ncat <<'END'\n" + Hostnames(spec.Hosts) + "END\n",
		folder + "/known_hosts": "* " + string(key),
		folder + "/ssh_config":  config,
		folder + "/sshd_config": sshdConfig,
	}
	for i := range spec.Hosts {
		own := filepath.Join(folder, hostname(i))
		files[own+"/hosts"] = names
		files[own+"/hostname"] = hostname(i) + "\n"
		files[own+"/emulab/boot/controlif"] = controlCard + "\n"
		// Where root's password is locked, sshd refuses the account.
		files[own+"/shadow"] = "root:*:1::::::\n"
		if spec.LinkBitsPerS > 0 {
			files[own+"/speed"] = fmt.Sprintf("%d\n", spec.LinkBitsPerS/1e6)
		}
	}
	for path, text := range files {
		// Only root is in a lab.
		if err := cmp.Or(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o700)); err != nil {
			return err
		}
	}
	return nil
}
