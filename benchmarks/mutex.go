package benchmarks

import (
	"context"
	"errors"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"

	"github.com/edgemill/edgemill/mutation"
)

const (
	// mutexProcs is the GOMAXPROCS of the Mutex cases, and mutexClients the
	// number of goroutines that apply batches at once.
	mutexProcs   = 64
	mutexClients = 64
)

// mutexCases apply batches in many transactions at once on many processors, and
// report which share of all the time that the processors had was spent waiting
// for mutexes: "%mutex".
func mutexCases() []Case {
	var cases []Case
	for _, w := range ApplyWorkloads() {
		cases = append(cases, Case{Name: "Mutex/" + w.Name, Run: func(ctx context.Context, m Meter, n int) error {
			return runMutex(ctx, m, n, &w)
		}})
	}
	return cases
}

func runMutex(ctx context.Context, m Meter, n int, w *Workload) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(mutexProcs))
	a, err := openWorkload(ctx, w, mutation.DefaultOptions(), nil)
	if err != nil {
		return err
	}
	defer a.store.Close()
	batch := w.Batch()
	m.ResetTimer()
	waited := mutexWait()
	err = onClients(mutexClients, n, func(int) error {
		_, err := a.apply(ctx, batch)
		return err
	})
	m.StopTimer()
	waited = mutexWait() - waited
	reportEdges(m, n, len(batch.Edges))
	m.ReportMetric(100*waited/(m.Elapsed().Seconds()*mutexProcs), "%mutex")
	return err
}

// mutexWait is how many seconds all goroutines have waited for mutexes.
func mutexWait() float64 {
	sample := []metrics.Sample{{Name: "/sync/mutex/wait/total:seconds"}}
	metrics.Read(sample)
	return sample[0].Value.Float64()
}

// onClients calls op for 0 to n-1, by so many goroutines, each of which ends
// with its first error.
func onClients(clients, n int, op func(i int) error) error {
	var next atomic.Int64
	errs := make([]error, clients)
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && errs[c] == nil; i = int(next.Add(1)) - 1 {
				errs[c] = op(i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
