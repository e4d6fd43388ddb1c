package posting

import (
	"errors"
	"fmt"
	"sync"
)

// failures keeps the causes of failed groups until a Flush has told them. More
// than one Flush may wait at a time, and each tells all that it has seen.
type failures struct {
	mu struct {
		sync.Mutex
		// causes are in the order in which they came; the first has the number
		// first. Those with numbers below told have been told, and are kept
		// only for a Flush that still waits.
		causes      []error
		first, told uint64
		// more is how many came when there was no room for them.
		more    int
		waiting int
		// fatal is why nothing can be written any more.
		fatal error
	}
}

// maxCauses bounds what is kept while nobody asks.
const maxCauses = 64

func (f *failures) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.fatal != nil && errors.Is(err, f.mu.fatal) {
		return // end tells that one anyway.
	}
	if len(f.mu.causes) >= maxCauses {
		f.mu.more++
		return
	}
	f.mu.causes = append(f.mu.causes, err)
}

// setFatal keeps the first fatal cause.
func (f *failures) setFatal(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.fatal == nil {
		f.mu.fatal = err
	}
}

func (f *failures) fatal() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.fatal
}

// begin notes that a Flush waits. It is handed to end or to cancel.
func (f *failures) begin() (from uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.waiting++
	return f.mu.told
}

// end returns what has failed since the last Flush that was told before this
// one began.
func (f *failures) end(from uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	told := append([]error(nil), f.mu.causes[from-f.mu.first:]...)
	if f.mu.more > 0 {
		told = append(told, fmt.Errorf("and %d more failures", f.mu.more))
	}
	told = append(told, f.mu.fatal)
	f.mu.told = f.mu.first + uint64(len(f.mu.causes))
	f.leave()
	return errors.Join(told...)
}

// cancel notes that a Flush went away untold.
func (f *failures) cancel() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leave()
}

// leave forgets what nobody needs any more. Called with the lock held.
func (f *failures) leave() {
	f.mu.waiting--
	if f.mu.waiting > 0 {
		return
	}
	if f.mu.told == f.mu.first+uint64(len(f.mu.causes)) {
		f.mu.more = 0
	}
	f.mu.causes = append([]error(nil), f.mu.causes[f.mu.told-f.mu.first:]...)
	f.mu.first = f.mu.told
}
