package ycsb

import "strings"

// row is a property, or all whose names begin with the row's, which ends with a dot.
type row struct {
	name     string
	standard string // YCSB's default
	nothing  string // why no flag says it; "" for one that has a flag
}

// is reports whether the row has a property.
func (r row) is(name string) bool {
	return r.name == name || strings.HasSuffix(r.name, ".") && strings.HasPrefix(name, r.name)
}

// Reasons why properties say nothing here.
const (
	named    = "--target names the store, and kvlab's keys have one table"
	shared   = "the clients share the records by themselves"
	checked  = "every reply is checked, and no call is sent again in silence"
	measured = "latency counts from the moment when an operation was due; kvsplot export writes it"
)

// table has all properties.
var table = []row{
	{"workload", "core", "it is the core workload, which kvlab has"},
	{"recordcount", "0", ""}, {"operationcount", "0", ""}, {"maxexecutiontime", "0", ""},
	{"threadcount", "1", ""}, {"target", "0", ""}, {"batch.size", "1", ""},
	{"readproportion", "0.95", ""}, {"updateproportion", "0.05", ""}, {"insertproportion", "0", ""},
	{"scanproportion", "0", ""}, {"readmodifywriteproportion", "0", ""},
	{"requestdistribution", "uniform", ""}, {"hotspotdatafraction", "0.2", ""}, {"hotspotopnfraction", "0.8", ""},
	{"fieldcount", "10", ""}, {"fieldlength", "100", ""}, {"minfieldlength", "1", ""}, {"fieldlengthdistribution", "constant", ""},
	{"readallfields", "true", "a record is read whole"}, {"writeallfields", "false", ""},
	{"minscanlength", "1", ""}, {"maxscanlength", "1000", ""}, {"scanlengthdistribution", "uniform", ""},
	{"insertorder", "hashed", "keys are in the order of their ids, and hashed spreads the popular ones of hotspot"}, {"keyprefix", "user", ""},

	{"db", "", named}, {"table", "", named}, {"fieldnameprefix", "", named},
	{"insertstart", "", shared}, {"insertcount", "", shared},
	{"zeropadding", "", "keys that are inserted or scanned have 13 digits, so that they are in the order of their ids"},
	{"dotransactions", "", "each run loads its records first, and then measures"}, {"command", "", "each run loads its records first, and then measures"},
	{"label", "", "--name names a run"},
	{"fieldlengthhistogram", "", "it is the file of fieldlengthdistribution=histogram alone"},
	{"exponential.", "", "it belongs to requestdistribution=exponential alone"},
	{"readallfieldsbyname", "", "a record is read whole"},
	{"dataintegrity", "", checked}, {"core_workload_insertion_retry_", "", checked},
	{"core_workload_insertion_retry_limit", "", checked}, {"core_workload_insertion_retry_interval", "", checked},
	{"keep_going_on_error", "", checked}, {"silence", "", checked},
	{"status.", "", measured}, {"status", "", measured}, {"measurement.", "", measured}, {"measurementtype", "", measured}, {"histogram.", "", measured},
	{"hdrhistogram.", "", measured}, {"exporter", "", measured}, {"exportfile", "", measured}, {"timeseries.", "", measured},
	{"mysql.", "", named}, {"redis.", "", named}, {"mongodb.", "", named}, {"cassandra.", "", named}, {"hosts", "", named}, {"etcd.", "", named},
	{"memcached.", "", named}, {"jdbc.", "", named}, {"db.", "", named}, {"rocksdb.", "", named}, {"badger.", "", named}, {"tikv.", "", named}, {"pg.", "", named},
}

// find returns the row of a property.
func find(name string) (row, bool) {
	for _, r := range table {
		if r.is(name) {
			return r, true
		}
	}
	return row{}, false
}

// names returns the names of all properties.
func names() (all []string) {
	for _, r := range table {
		if !strings.HasSuffix(r.name, ".") {
			all = append(all, r.name)
		}
	}
	return all
}
