package workload

import (
	"math"
	"strings"
	"testing"
)

func TestNewChecksTheConfiguration(t *testing.T) {
	const unset = StandardMix
	tests := []struct {
		name   string
		change func(*Config)
		want   []string // parts of the error; none for a valid configuration
	}{
		{"default", func(c *Config) {}, nil},
		{"theta 1", func(c *Config) { c.Theta = 1 }, nil},
		{"theta above 1", func(c *Config) { c.Theta = 1.2 }, nil},
		{"exact", func(c *Config) { c.Zipfian = ZipfianExact }, nil},
		{"one record", func(c *Config) { c.Records = 1 }, nil},
		{"most records", func(c *Config) { c.Records = MaxRecords }, nil},
		{"mix", func(c *Config) { c.Workload, c.Reads = Mix, 0.7 }, nil},
		{"mix without reads", func(c *Config) { c.Workload, c.Reads = Mix, 0 }, nil},
		{"uniform needs no theta", func(c *Config) { c.Distribution, c.Theta = Uniform, 0 }, nil},
		{"hotspot needs no theta", func(c *Config) { c.Distribution, c.Theta = Hotspot, math.NaN() }, nil},
		{"zipfian needs no hot keys", func(c *Config) { c.HotKeys = 0 }, nil},
		{"scrambled latest", func(c *Config) { c.Distribution, c.Scramble = Latest, true }, nil},

		{"zero value", func(c *Config) { *c = Config{} }, []string{"-workload", `""`, "YCSB-A, YCSB-B, YCSB-C, YCSB-D, YCSB-E, YCSB-F, pool, mix"}},
		{"unknown workload", func(c *Config) { c.Workload = "YCSB-Z" }, []string{"-workload", `"YCSB-Z"`, "YCSB-A, YCSB-B, YCSB-C, YCSB-D, YCSB-E, YCSB-F, pool, mix"}},
		{"workload in lower case", func(c *Config) { c.Workload = "ycsb-b" }, []string{"-workload", "did you mean YCSB-B?"}},
		{"reads of a standard mix", func(c *Config) { c.Reads = 0.7 }, []string{"-reads 0.7", "YCSB-B", "-workload mix"}},
		{"no reads of a standard mix", func(c *Config) { c.Reads = 0 }, []string{"-reads 0", "-workload mix"}},
		{"mix alone", func(c *Config) { c.Workload = Mix }, []string{"-reads -1", "-workload mix", "0 to 1"}},
		{"reads above 1", func(c *Config) { c.Workload, c.Reads = Mix, 70 }, []string{"-reads 70", "0 to 1"}},
		{"reads NaN", func(c *Config) { c.Workload, c.Reads = Mix, math.NaN() }, []string{"-reads NaN"}},
		{"unknown distribution", func(c *Config) { c.Distribution = "zipf" }, []string{"-distribution", `"zipf"`, "zipfian, uniform, sequential, latest, hotspot, scrambled"}},
		{"unknown zipfian", func(c *Config) { c.Zipfian = "gray" }, []string{"-zipfian", `"gray"`, "ycsb, exact"}},
		{"theta 0", func(c *Config) { c.Theta = 0 }, []string{"-theta 0", "above 0", "-distribution uniform"}},
		{"theta negative", func(c *Config) { c.Theta = -0.5 }, []string{"-theta -0.5"}},
		{"theta NaN", func(c *Config) { c.Theta = math.NaN() }, []string{"-theta NaN"}},
		{"theta infinite", func(c *Config) { c.Theta = math.Inf(1) }, []string{"-theta +Inf"}},
		{"theta NaN of latest", func(c *Config) { c.Distribution, c.Theta = Latest, math.NaN() }, []string{"-theta NaN"}},
		{"no records", func(c *Config) { c.Records = 0 }, []string{"-records 0", "1 to"}},
		{"too many records", func(c *Config) { c.Records = MaxRecords + 1 }, []string{"-records", "1099511627776"}},
		{"hot ops", func(c *Config) { c.Distribution, c.HotOps = Hotspot, 80 }, []string{"-hot-ops 80", "0 to 1"}},
		{"hot ops NaN", func(c *Config) { c.Distribution, c.HotOps = Hotspot, math.NaN() }, []string{"-hot-ops NaN"}},
		{"no hot keys", func(c *Config) { c.Distribution, c.HotKeys = Hotspot, 0 }, []string{"-hot-keys 0", "above 0"}},
		{"hot keys", func(c *Config) { c.Distribution, c.HotKeys = Hotspot, 20 }, []string{"-hot-keys 20"}},
		{"shares of five kinds", mixOf(0.5, 0.1, 0.1, 0.1, 0.1), nil},
		{"inserts and scans", mixOf(unset, unset, 0.05, unset, 0.95), nil},
		{"shares that sum to 1", mixOf(0.1, 0.2, 0.3, 0.4, unset), nil},
		{"inserts alone", mixOf(unset, unset, 1, unset, unset), nil},
		{"no shares", mixOf(unset, unset, unset, unset, unset), []string{"-reads -1: want a share of reads from 0 to 1 with -workload mix"}},
		{"shares that sum to more than 1", mixOf(0.6, unset, 0.5, unset, unset), []string{"-workload mix: want shares of all kinds that sum to at most 1, not 1.1"}},
		{"inserts above 1", mixOf(0.5, unset, 5, unset, unset), []string{"-inserts 5: want a share of inserts from 0 to 1"}},
		{"read-modify-writes NaN", mixOf(0.5, math.NaN(), unset, unset, unset), []string{"-rmws NaN: want a share of read-modify-writes"}},
		{"inserts of a standard mix", func(c *Config) { c.Inserts = 0.05 }, []string{"-inserts 0.05: want it only with -workload mix; YCSB-B has a fixed mix"}},
		{"scans of a standard mix", func(c *Config) { c.Workload, c.Scans = YCSBE, 0 }, []string{"-scans 0: want it only with -workload mix"}},
		{"no scan length", func(c *Config) { c.Workload, c.ScanLength = YCSBE, 0 }, []string{"-scan-length 0: want 1 to 65535 records"}},
		{"too long scans", func(c *Config) { c.Workload, c.ScanLength = YCSBE, 1<<16 }, []string{"-scan-length 65536: want 1 to 65535 records"}},
		{"scrambled scrambled", func(c *Config) { c.Distribution, c.Scramble = Scrambled, true }, []string{"-scramble true: want false with -distribution scrambled"}},
		{"theta 0 of scrambled", func(c *Config) { c.Distribution, c.Theta = Scrambled, 0 }, []string{"-theta 0"}},
		{"a moving hot spot", func(c *Config) { c.Distribution, c.HotMove = Hotspot, 1_000_000 }, nil},
		{"moving zipfian", func(c *Config) { c.HotMove, c.HotKeys = 1_000_000, 0.01 }, nil},
		{"moving uniform", func(c *Config) { c.Distribution, c.HotMove = Uniform, 1e6 }, []string{"-hot-move 1000000: want it with -distribution hotspot or zipfian: all records are alike"}},
		{"moving sequential", func(c *Config) { c.Distribution, c.HotMove = Sequential, 1e6 }, []string{"no record is popular"}},
		{"moving latest", func(c *Config) { c.Workload, c.HotMove = YCSBD, 1e6 }, []string{"the newest records are popular, and move by themselves"}},
		{"moving scrambled", func(c *Config) { c.Distribution, c.HotMove = Scrambled, 1e6 }, []string{"zipfian with -scramble"}},
		{"moves of single operations", func(c *Config) { c.HotMove = 64 }, []string{"-hot-move 64: want at least 1000 operations of all clients"}},
		{"too many places", func(c *Config) { c.HotMove, c.HotKeys = 1e6, 0.001 }, []string{"-hot-keys 0.001: want a share of 0.00", " to 0.5 with -hot-move"}},
		{"all records hot", func(c *Config) { c.Distribution, c.HotMove, c.HotKeys = Hotspot, 1e6, 1 }, []string{"-hot-keys 1: want"}},
		{"scrambled sequential", func(c *Config) { c.Distribution, c.Scramble = Sequential, true }, []string{"-scramble", "-distribution sequential"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := DefaultConfig()
			test.change(&c)
			_, err := New(c)
			if test.want == nil {
				if err != nil {
					t.Fatalf("New: %v, want nil", err)
				}
				return
			}
			if err == nil {
				t.Fatalf("New: nil, want an error with %q", test.want)
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("New: %q, want %q in it", err, part)
				}
			}
		})
	}
}
