package usage

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ringSizes are the entries of an interface's receive and transmit rings.
type ringSizes struct{ rx, tx uint32 }

func (r ringSizes) String() string { return fmt.Sprintf("rx %d tx %d", r.rx, r.tx) }

// ringParam is the kernel's struct ethtool_ringparam (include/uapi/linux/ethtool.h).
type ringParam struct {
	command uint32
	rxMost  [3]uint32 // of the standard, the mini and the jumbo ring
	txMost  uint32
	rx      [3]uint32
	tx      uint32
}

// rings returns the sizes of an interface's rings, and the largest sizes that it can have. The
// loopback interface and most virtual ones have no rings, which is an error.
func rings(name string) (now, most ringSizes, err error) {
	p := ringParam{command: unix.ETHTOOL_GRINGPARAM}
	if err := p.call(name); err != nil {
		return now, most, err
	}
	return ringSizes{p.rx[0], p.tx}, ringSizes{p.rxMost[0], p.txMost}, nil
}

// call sends p as a request of SIOCETHTOOL about an interface (netdevice(7)).
func (p *ringParam) call(name string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	request := struct {
		name [unix.IFNAMSIZ]byte
		data *ringParam
		_    [16]byte // the kernel copies all of its struct ifreq
	}{data: p}
	if copy(request.name[:unix.IFNAMSIZ-1], name); name == "" {
		return unix.ENODEV
	}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(socket), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return errno
	}
	return nil
}
