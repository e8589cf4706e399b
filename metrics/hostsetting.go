package metrics

// HostSetting is a setting of a machine on which a run's figures may depend.
type HostSetting struct {
	Name   string `json:"name"`   // as sysctl(8) writes it, or descriptors, rings, thp or governor
	Value  string `json:"value"`  // "" where there is no such setting
	Want   string `json:"want"`   // the recommended value, which Value meets where they are equal; "" where Value is
	Source string `json:"source"` // who recommends it
	Setter Setter `json:"setter"` // who can set it
}

// Setter says who can set a setting of a machine.
type Setter string

// The setters.
const (
	SetInNamespace Setter = "namespace" // root, for the network namespace that it is in
	SetOnHost      Setter = "host"      // root on the host itself: the setting is every container's
	SetByProcess   Setter = "process"   // a process of root for itself, or the limits of a login
	SetByNobody    Setter = "read-only" // nobody where the node runs
	SetAbsent      Setter = "absent"    // nobody: there is no such setting
)

// Meets reports whether a setting has the recommended value, or does not exist.
func (s HostSetting) Meets() bool { return s.Value == s.Want }
