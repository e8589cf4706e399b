package virtual

import (
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"kvlab/internal/namespace"
	"kvlab/metrics"
)

// folder is where the lab's files are, in memory. The files of ssh and sshd name it too.
const folder = "/run/kvlab-lab"

// privilegeFolder is the folder in which Debian's sshd confines its unprivileged part.
// The system makes it at boot if its own sshd is enabled.
const privilegeFolder = "/run/sshd"

//go:embed sshd_config
var sshdConfig string

// sshConfig is the beginning of the file for ssh -F.
//
//go:embed ssh_config
var sshConfig string

// Hostname returns the name of a host, as in Emulab.
func Hostname(index int) string { return fmt.Sprintf("node%d", index) }

// writeFiles writes every file that the hosts and ssh read. One key identifies the user
// and all hosts, as long as the lab exists. The user's ~/.ssh is neither read nor
// written.
func writeFiles(spec metrics.Lab) error {
	for _, path := range []string{folder, "/var/emulab", privilegeFolder} {
		if err := namespace.Graft(path); err != nil {
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
		names += fmt.Sprintf("%s %s-lan %s-0 %s\n", DataAddress(i), Hostname(i), Hostname(i), Hostname(i))
		config += fmt.Sprintf("Host %s\n  HostName %s\n", Hostname(i), controlAddress(i))
	}
	files := map[string]string{
		folder + "/known_hosts": "* " + string(key),
		folder + "/ssh_config":  config,
		folder + "/sshd_config": sshdConfig,
	}
	for i := range spec.Hosts {
		own := filepath.Join(folder, Hostname(i))
		files[own+"/hosts"] = names
		files[own+"/hostname"] = Hostname(i) + "\n"
		files[own+"/emulab/boot/controlif"] = controlCard + "\n"
		// If root's password is locked, sshd refuses the account.
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
