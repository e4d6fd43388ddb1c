package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/edgemill/edgemill/mutation"
)

// parallelism is a flag of the forms mutation.ParallelismForms.
type parallelism mutation.Parallelism

// String implements pflag.Value.
func (p *parallelism) String() string { return mutation.Parallelism(*p).String() }

// Type implements pflag.Value.
func (p *parallelism) Type() string { return "workers" }

// Set implements pflag.Value.
func (p *parallelism) Set(text string) error {
	v, err := mutation.ParseParallelism(text)
	if err == nil {
		*p = parallelism(v)
	}
	return err
}

// atLeast is a whole number that has a lower bound.
type atLeast struct{ least, n int }

// String implements pflag.Value.
func (f *atLeast) String() string { return strconv.Itoa(f.n) }

// Type implements pflag.Value.
func (f *atLeast) Type() string { return "number" }

// Set implements pflag.Value.
func (f *atLeast) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < f.least {
		return fmt.Errorf("want a whole number from %d on", f.least)
	}
	f.n = n
	return nil
}

// size is a number of bytes that memory tables can have.
type size int64

const leastMemTable, greatestMemTable = 1 << 20, 1 << 30

// units are in the order in which they are printed, the largest first.
var units = [...]struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"", 1}}

// String implements pflag.Value.
func (s *size) String() string {
	for _, u := range units {
		if n := int64(*s); n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return ""
}

// Type implements pflag.Value.
func (s *size) Type() string { return "size" }

// Set implements pflag.Value.
func (s *size) Set(text string) error {
	for _, u := range units {
		number, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n > math.MaxInt64/u.bytes || n*u.bytes < leastMemTable || n*u.bytes > greatestMemTable {
			break
		}
		*s = size(n * u.bytes)
		return nil
	}
	return fmt.Errorf("want from 1MiB to 1GiB: a number of bytes, or with KiB, MiB or GiB behind it")
}
