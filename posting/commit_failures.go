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
		// first. Those with numbers below told.causes have been told, and are kept
		// only for a Flush that still waits.
		causes []error
		first  uint64
		// more is how many came when there was no room for them.
		more    uint64
		told    toldFailures
		waiting int
		// fatal is why nothing can be written any more.
		fatal error
	}
}

// toldFailures is how far failures have been told: the number of causes, and of
// those that there was no room for.
type toldFailures struct{ causes, more uint64 }

const (
	// maxCauses bounds what is kept while nobody asks.
	maxCauses = 64
	// maxKept bounds what is kept together with what others have been told.
	maxKept = 4 * maxCauses
)

func (f *failures) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.fatal != nil && errors.Is(err, f.mu.fatal) {
		return // end tells that one anyway.
	}
	untold := f.mu.first + uint64(len(f.mu.causes)) - f.mu.told.causes
	if untold >= maxCauses || len(f.mu.causes) >= maxKept {
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
func (f *failures) begin() (from toldFailures) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.waiting++
	return f.mu.told
}

// end returns what has failed since the last Flush that was told before this
// one began.
func (f *failures) end(from toldFailures) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	told := append([]error(nil), f.mu.causes[from.causes-f.mu.first:]...)
	if f.mu.more > from.more {
		told = append(told, fmt.Errorf("and %d more failures", f.mu.more-from.more))
	}
	told = append(told, f.mu.fatal)
	f.mu.told = toldFailures{f.mu.first + uint64(len(f.mu.causes)), f.mu.more}
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
	f.mu.causes = append([]error(nil), f.mu.causes[f.mu.told.causes-f.mu.first:]...)
	f.mu.first = f.mu.told.causes
}
