package virtual

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// The networks. Their addresses are reachable only inside the lab, and may be in use
// outside.
const (
	hubControl  = "172.16.0.254"
	prefix      = "/24"
	controlCard = "eth0" // a host's interface on the control network
	dataCard    = "eth1" // and on the data network
)

// queue bounds the delay in a link's queue. Packets that would wait longer are dropped, as
// in a switch with a finite buffer.
const queue = "50ms"

// DataAddress returns a host's address on the data network, in Emulab's numbering.
func DataAddress(index int) string { return fmt.Sprintf("10.10.1.%d", index+1) }

// controlAddress returns a host's address on the control network.
func controlAddress(index int) string { return fmt.Sprintf("172.16.0.%d", index+1) }

// connect makes both networks: a bridge each, and a veth pair from it into each host's
// network namespace.
func connect(hosts []*host) error {
	var hub strings.Builder
	hub.WriteString("link set lo up\nlink add control type bridge\nlink add data type bridge\nlink set control up\nlink set data up\n")
	fmt.Fprintf(&hub, "addr add %s%s dev control\n", hubControl, prefix)
	for _, h := range hosts {
		for _, network := range []struct{ name, card string }{{"control", controlCard}, {"data", dataCard}} {
			fmt.Fprintf(&hub, "link add %s%d type veth peer name %s netns %d\n", network.name, h.index, network.card, h.pid())
			fmt.Fprintf(&hub, "link set %s%d master %s up\n", network.name, h.index, network.name)
		}
	}
	err := batch(os.Getpid(), "ip", hub.String())
	for _, h := range hosts {
		err = cmp.Or(err, batch(h.pid(), "ip", h.links(len(hosts))))
	}
	return err
}

// links returns the commands that give a host its addresses and permanent Ethernet addresses
// of its peers. The kernel keeps at most 1024 resolved addresses for all namespaces together
// (gc_thresh3, arp(7)), and 32 clients of 32 servers need 2048.
func (h *host) links(hosts int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "link set lo up\nlink set %s address %s\n", dataCard, ethernet(h.index))
	for card, address := range map[string]string{controlCard: controlAddress(h.index), dataCard: DataAddress(h.index)} {
		fmt.Fprintf(&b, "addr add %s%s dev %s\nlink set %s up\n", address, prefix, card, card)
	}
	for peer := range hosts {
		if peer != h.index {
			fmt.Fprintf(&b, "neigh add %s lladdr %s dev %s nud permanent\n", DataAddress(peer), ethernet(peer), dataCard)
		}
	}
	return b.String()
}

// ethernet returns a host's Ethernet address on the data network, from the range for local
// use.
func ethernet(index int) string { return fmt.Sprintf("02:00:0a:0a:01:%02x", index+1) }

// shape limits every host's data link in each direction: tbf delays sent packets in the
// host, received ones at the bridge. tbf counts a packet from its Ethernet header
// (tc-tbf(8)): a full TCP segment has 1448 bytes of payload in 1514 counted ones. The
// other 24 bytes on a wire (preamble, checksum, gap) are not counted.
func shape(hosts []*host, bitsPerS uint64) error {
	link := func(device string) string {
		return fmt.Sprintf("qdisc replace dev %s root tbf rate %dbit burst %d latency %s\n", device, bitsPerS, burst(bitsPerS), queue)
	}
	var hub strings.Builder
	for _, h := range hosts {
		hub.WriteString(link(fmt.Sprintf("data%d", h.index)))
		if err := batch(h.pid(), "tc", link(dataCard)); err != nil {
			return err
		}
	}
	return batch(os.Getpid(), "tc", hub.String())
}

// batch runs commands of ip or tc, one a line, until one fails, in the network namespace
// of a process.
func batch(pid int, program, commands string) error {
	cmd := exec.Command("nsenter", "-t", strconv.Itoa(pid), "-n", program, "-batch", "-")
	cmd.Stdin = strings.NewReader(commands)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s -batch: %w: %s", program, err, strings.Join(strings.Fields(string(out)), " "))
	}
	return nil
}

// The bounds of a link's rate in bits per second. Below them a load takes minutes; above
// them no machine keeps up.
const (
	minRate = 1_000_000
	maxRate = 100_000_000_000
)

// rateForm matches a rate in bits in tc(8)'s form: a decimal number and a unit.
var rateForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)([kmg])bit$`)

var rateUnit = map[string]float64{"k": 1e3, "m": 1e6, "g": 1e9}

// ParseRate reads a link's rate, such as 1gbit, and returns bits per second.
func ParseRate(text string) (uint64, error) {
	parts := rateForm.FindStringSubmatch(text)
	if parts == nil {
		return 0, errors.New("needs a number and kbit, mbit or gbit, as in 1gbit")
	}
	number, err := strconv.ParseFloat(parts[1], 64)
	if err != nil || number*rateUnit[parts[2]] < minRate || number*rateUnit[parts[2]] > maxRate {
		return 0, errors.New("must be from 1mbit to 100gbit")
	}
	return uint64(number * rateUnit[parts[2]]), nil
}

// burst returns the size of tbf's bucket in bytes. It holds several TCP segments of 64 KiB,
// and 2 ms of the rate, to span the kernel's timer ticks.
func burst(bitsPerS uint64) uint64 {
	const least = 256 << 10
	return max(least, bitsPerS/8/500)
}
