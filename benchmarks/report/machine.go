package report

import (
	"bufio"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// Machine is what a File was measured on. Fields that are not known are empty.
type Machine struct {
	OS   string `json:"os,omitempty"`
	Arch string `json:"arch,omitempty"`
	// CPU is the processor's name, and Cores the number of them that the process
	// may use; Procs is GOMAXPROCS.
	CPU   string `json:"cpu,omitempty"`
	Cores int    `json:"cores,omitempty"`
	Procs int    `json:"procs,omitempty"`
	// Memory is in bytes.
	Memory uint64 `json:"memory_bytes,omitempty"`
	Kernel string `json:"kernel,omitempty"`
	Go     string `json:"go,omitempty"`
	// Revision is that of the program's source, with a + where it was changed.
	Revision string `json:"revision,omitempty"`
}

// Here describes the machine and the program that it runs on.
func Here() Machine {
	m := Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version(),
		Cores: runtime.NumCPU(), Procs: runtime.GOMAXPROCS(0),
		CPU: field("/proc/cpuinfo", "model name"), Revision: revision(),
	}
	if kib, err := strconv.ParseUint(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 10, 64); err == nil {
		m.Memory = kib << 10
	}
	if kernel, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(kernel))
	}
	return m
}

// field is the value of the first line `name: value` of a file, "" if there is
// none.
func field(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, value, found := strings.Cut(lines.Text(), ":")
		if found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var revision, changed string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+"
		}
	}
	return revision + changed
}
