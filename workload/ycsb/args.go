package ycsb

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kvlab/workload"
	"kvlab/workload/size"
)

// Args returns the client's arguments that do what the properties say, and lines that say what
// a reader of the file may not expect. An error names the property that kvlab cannot do, its
// place and the reason. A property that is not given has YCSB's default, except for the number
// of records: YCSB's is 0, which it refuses, and kvlab's stays. typed reports whether the
// command line has a flag, which wins: a workload that it names replaces all proportions.
func (p *Properties) Args(typed func(flag string) bool) (args, notes []string, err error) {
	p.notes = nil
	for _, part := range []struct {
		flag string // replaces the part
		args func() ([]string, error)
	}{{"", func() ([]string, error) { return p.limits(typed) }}, {"", p.load}, {"workload", p.mix}, {"distribution", p.law}, {"value-size", p.record}, {"", p.scans}} {
		if part.flag == "" || !typed(part.flag) {
			more, failed := part.args()
			args, err = append(args, more...), cmp.Or(err, failed)
		}
	}
	args = slices.DeleteFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(arg[1:], "=")
		return typed(name)
	})
	if name := p.text("workload"); err == nil && !slices.Contains([]string{"core", "site.ycsb.workloads.CoreWorkload", "com.yahoo.ycsb.workloads.CoreWorkload"}, name) {
		err = p.wrong("workload", "kvlab has YCSB's CoreWorkload alone")
	}
	return args, append(p.notes, p.unread()...), err
}

// limits returns the arguments for the records and for what ends a run. The first of several
// limits does, and a typed -secs takes the place of operationcount.
func (p *Properties) limits(typed func(flag string) bool) (args []string, err error) {
	records, err := p.number("recordcount")
	if _, given := p.given["recordcount"]; given && err == nil && records == 0 {
		err = p.wrong("recordcount", "want 1 or more")
	}
	secs, wrong := p.number("maxexecutiontime")
	ops, failed := p.number("operationcount")
	if records > 0 {
		args = append(args, "-records="+p.text("recordcount"))
	}
	if secs > 0 {
		args = append(args, "-secs="+p.text("maxexecutiontime"))
	}
	switch {
	case ops == 0 || typed("ops"):
	case typed("secs"):
		p.note("operationcount: -secs takes its place")
	default:
		args = append(args, "-ops="+p.text("operationcount"))
		p.note("operationcount=%d: the run ends with so many operations of all clients together; --secs 30 measures for a time", ops)
	}
	return args, cmp.Or(err, wrong, failed)
}

// load returns the arguments for the threads, of which each has one call in flight, and for the
// rate.
func (p *Properties) load() (args []string, err error) {
	threads, err := p.number("threadcount")
	batch, wrong := p.number("batch.size")
	rate, failed := p.number("target")
	_, given := p.given["threadcount"]
	if _, batched := p.given["batch.size"]; given || batched {
		args = append(args, fmt.Sprintf("-batch=%d", batch))
	}
	if given {
		args = append(args, fmt.Sprintf("-workers=%d", threads))
		if batch == 1 {
			p.note("threadcount=%d: so many workers, each with one operation in flight, as YCSB's; --batch 8k sends many in a call", threads)
		}
	}
	if rate > 0 {
		args = append(args, fmt.Sprintf("-rate=%d", rate), "-arrivals=constant")
		p.note("target=%d: of all clients together, where YCSB's is each process's", rate)
	}
	return args, cmp.Or(err, wrong, failed)
}

// mix returns the arguments for the kinds. Their shares are proportions of the sum, as YCSB's
// DiscreteGenerator draws them.
func (p *Properties) mix() (args []string, err error) {
	var shares [5]float64
	sum := 0.0
	for i, name := range []string{"readproportion", "updateproportion", "insertproportion", "scanproportion", "readmodifywriteproportion"} {
		share, failed := p.share(name)
		shares[i], sum, err = share, sum+share, cmp.Or(err, failed)
	}
	if err == nil && sum == 0 {
		err = p.wrong("readproportion", "want a kind with a share above 0")
	}
	if err != nil {
		return nil, err
	}
	standard := workload.DefaultConfig()
	for _, standard.Workload = range []string{workload.YCSBA, workload.YCSBB, workload.YCSBC, workload.YCSBD, workload.YCSBE, workload.YCSBF} {
		same := true
		for i, kind := range kinds {
			same = same && standard.Share(kind) == shares[i]/sum
		}
		if same {
			return []string{"-workload=" + standard.Workload}, nil
		}
	}
	args = []string{"-workload=" + workload.Mix}
	for i, flag := range []string{"reads", "", "inserts", "scans", "rmws"} {
		if flag != "" && (shares[i] > 0 || flag == "reads") { // the rest are updates
			args = append(args, "-"+flag+"="+strconv.FormatFloat(shares[i]/sum, 'g', -1, 64))
		}
	}
	return args, nil
}

// kinds are the kinds of the proportions.
var kinds = []workload.Kind{workload.Read, workload.Update, workload.Insert, workload.Scan, workload.ReadModifyWrite}

// law returns the arguments for the distribution over the records.
func (p *Properties) law() (args []string, err error) {
	law := p.text("requestdistribution")
	switch law {
	case "zipfian":
		args = append(args, "-distribution="+workload.Scrambled)
	case "uniform", "sequential", "latest":
		args = append(args, "-distribution="+law)
	case "hotspot":
		keys, err := p.share("hotspotdatafraction")
		ops, failed := p.share("hotspotopnfraction")
		if err := cmp.Or(err, failed); err != nil {
			return nil, err
		}
		args = append(args, "-distribution=hotspot", fmt.Sprintf("-hot-keys=%g", keys), fmt.Sprintf("-hot-ops=%g", ops))
		if p.text("insertorder") == "hashed" {
			args = append(args, "-scramble")
		}
	case "exponential":
		return nil, p.wrong("requestdistribution", "kvlab has no exponential law; want uniform, zipfian, latest, hotspot or sequential")
	default:
		return nil, p.wrong("requestdistribution", "want uniform, zipfian, latest, hotspot or sequential")
	}
	if order := p.text("insertorder"); order != "hashed" && order != "ordered" {
		return nil, p.wrong("insertorder", "want hashed or ordered")
	}
	if prefix, given := p.given["keyprefix"]; given {
		args = append(args, "-key-prefix="+prefix.text)
	}
	return args, nil
}

// record returns the argument for the size of a value: of all fields together, since a record
// is one value.
func (p *Properties) record() (args []string, err error) {
	fields, err := p.number("fieldcount")
	length, wrong := p.number("fieldlength")
	least, failed := p.number("minfieldlength")
	if err := cmp.Or(err, wrong, failed); err != nil {
		return nil, err
	}
	whole := map[string]bool{}
	for _, name := range []string{"readallfields", "writeallfields"} {
		if whole[name], err = strconv.ParseBool(p.text(name)); err != nil {
			return nil, p.wrong(name, "want true or false")
		}
	}
	bytes := max(fields*length, size.LeastValue)
	switch law := p.text("fieldlengthdistribution"); {
	case fields == 0 || length == 0 || fields > size.MostValue || length > size.MostValue || bytes > size.MostValue:
		return nil, p.wrong("fieldcount", "a record has fieldcount x fieldlength bytes; want 1 to %d", size.MostValue)
	case fields > 1 && !whole["readallfields"]:
		return nil, p.wrong("readallfields", "kvlab reads whole records; want true, or fieldcount=1")
	case law == "uniform" && fields == 1 && least < length:
		if args = []string{fmt.Sprintf("-value-size=%d-%d", max(least, size.LeastValue), bytes)}; length <= size.LeastValue {
			args = []string{fmt.Sprintf("-value-size=%d", bytes)}
		}
		p.note("fieldlengthdistribution=uniform: each record keeps its size, where YCSB draws one for each write")
	case law == "constant":
		args = []string{fmt.Sprintf("-value-size=%d", bytes)}
	default:
		return nil, p.wrong("fieldlengthdistribution", "kvlab has constant, and uniform with fieldcount=1 and minfieldlength below fieldlength")
	}
	if least, given := min(fields*length, least), fields*length; given < size.LeastValue || p.text("fieldlengthdistribution") == "uniform" && least < size.LeastValue {
		p.note("values have at least %d bytes, by which each is checked", size.LeastValue)
	}
	if fields > 1 && !whole["writeallfields"] {
		p.note("writeallfields=false: an update writes the whole record, %d bytes, where YCSB's writes one field", bytes)
	}
	return args, nil
}

// scans returns the argument for the length of scans.
func (p *Properties) scans() (args []string, err error) {
	share, err := p.share("scanproportion")
	least, wrong := p.number("minscanlength")
	most, failed := p.number("maxscanlength")
	switch err := cmp.Or(err, wrong, failed); {
	case err != nil || share == 0:
		return nil, err
	case least != 1:
		return nil, p.wrong("minscanlength", "kvlab's scans have 1 record at least")
	case p.text("scanlengthdistribution") != "uniform":
		return nil, p.wrong("scanlengthdistribution", "kvlab has uniform alone")
	}
	return []string{fmt.Sprintf("-scan-length=%d", most)}, nil
}
