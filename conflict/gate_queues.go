package conflict

// request is a pass's place in one key's queue. It is ready if no request before
// it meets it.
type request struct {
	key              uint64
	pass             *Pass
	prev, next       *request // the head's prev is the tail, the tail's next is nil
	exclusive, ready bool
}

// gateQueues holds each key's queue, in a table with linear probing; a key that
// nobody wants has none, so the memory is that of the requests. The ready requests
// of a queue are its first ones: the head, and if that is shared all up to the
// first exclusive one. Not safe for concurrent use.
type gateQueues struct {
	seed  keySeed
	slots []gateQueue
	used  int
	// The table is halved when in the time of as many vacated slots as it has
	// it was never an eighth full: a table that follows each transaction's
	// coming and going would be rebuilt for each.
	most, vacated int
}

// gateQueue is a slot of the table; it is free if head is nil.
type gateQueue struct {
	key  uint64
	head *request
}

const minQueues = 64

func newGateQueues() gateQueues {
	return gateQueues{seed: newKeySeed(), slots: make([]gateQueue, minQueues)}
}

func (q *gateQueues) home(key uint64) int {
	return int(q.seed.hash(key) & uint64(len(q.slots)-1))
}

// find returns the key's queue, or the free slot where it belongs.
func (q *gateQueues) find(key uint64) *gateQueue {
	for at := q.home(key); ; at = (at + 1) & (len(q.slots) - 1) {
		if slot := &q.slots[at]; slot.head == nil || slot.key == key {
			return slot
		}
	}
}

// occupy returns the key's queue with the head that it has, and makes head
// its only request if it is new.
func (q *gateQueues) occupy(r *request) *gateQueue {
	slot := q.find(r.key)
	if slot.head != nil {
		return slot
	}
	if 2*(q.used+1) > len(q.slots) {
		q.resize(2 * len(q.slots))
		slot = q.find(r.key)
	}
	q.used++
	q.most = max(q.most, q.used)
	*slot = gateQueue{key: r.key, head: r}
	return slot
}

// vacate frees the slot of a key, and moves up those behind it that would not
// be found any more.
func (q *gateQueues) vacate(key uint64) {
	mask := len(q.slots) - 1
	hole := q.home(key)
	for q.slots[hole].key != key || q.slots[hole].head == nil {
		hole = (hole + 1) & mask
	}
	for at := (hole + 1) & mask; q.slots[at].head != nil; at = (at + 1) & mask {
		if (at-q.home(q.slots[at].key))&mask >= (at-hole)&mask {
			q.slots[hole] = q.slots[at]
			hole = at
		}
	}
	q.slots[hole] = gateQueue{}
	q.used--
	q.vacated++
	if q.vacated >= len(q.slots) {
		q.shrink()
	}
}

func (q *gateQueues) shrink() {
	if len(q.slots) > minQueues && 8*q.most < len(q.slots) {
		q.resize(len(q.slots) / 2)
	}
	q.most, q.vacated = q.used, 0
}

func (q *gateQueues) resize(slots int) {
	old := q.slots
	q.slots = make([]gateQueue, slots)
	for _, queue := range old {
		if queue.head != nil {
			*q.find(queue.key) = queue
		}
	}
}

// pushBack adds a request as the last of its queue, and says whether it is ready.
func (q *gateQueues) pushBack(r *request) bool {
	head := q.occupy(r).head
	if head == r {
		r.prev, r.ready = r, true
		return true
	}
	tail := head.prev
	tail.next, r.prev, head.prev = r, tail, r
	r.ready = follows(tail, r)
	return r.ready
}

// follows says whether r is ready beside the request before it.
func follows(before, r *request) bool {
	return before.ready && !before.exclusive && !r.exclusive
}

// pushFront adds a request before all others, none of which may be one in
// flight that meets it; those that it meets become blocked.
func (q *gateQueues) pushFront(r *request) {
	queue := q.occupy(r)
	head := queue.head
	r.prev, r.ready = r, true
	if head == r {
		return
	}
	queue.head = r
	r.prev, r.next, head.prev = head.prev, head, r
	if !r.exclusive && !head.exclusive {
		return
	}
	for ; head != nil && head.ready; head = head.next {
		head.ready = false
		head.pass.blocked++
	}
}

// remove takes a request out of its queue and calls unblocked for the pass of
// each that becomes ready by it. What they have to begin above they are told, and
// so is the first that stays blocked, which tells those behind it in its turn.
func (q *gateQueues) remove(r *request, above uint64, unblocked func(*Pass)) {
	next := r.next
	before := q.unlink(r)
	for first := next; first != nil; first = first.next {
		if !first.ready {
			first.pass.above = max(first.pass.above, above)
			break
		}
	}
	for ; next != nil && !next.ready; next = next.next {
		if before != nil && !follows(before, next) {
			return
		}
		next.ready = true
		next.pass.above = max(next.pass.above, above)
		unblocked(next.pass)
		before = next
	}
}

// unlink takes a request out of its queue and returns the one before it, if
// there is one.
func (q *gateQueues) unlink(r *request) (before *request) {
	before, next := r.prev, r.next
	r.prev, r.next = nil, nil
	if before == r { // the only one
		q.vacate(r.key)
		return nil
	}
	queue := q.find(r.key)
	if queue.head == r {
		queue.head, next.prev = next, before
		return nil
	}
	before.next = next
	if next == nil {
		queue.head.prev = before
	} else {
		next.prev = before
	}
	return before
}

// addition is what a pass in flight lacks of a set.
type addition struct {
	fresh  []request  // keys that it does not hold
	raised []*request // its shared ones that are to be exclusive
}

// addition compares what p holds with keys, and changes nothing. The error is
// the conflict with another pass in flight.
func (q *gateQueues) addition(p *Pass, keys Set) (addition, error) {
	var add addition
	for _, key := range keys.Exclusive {
		own, met := q.inspect(request{key: key, pass: p, exclusive: true})
		switch {
		case met:
			return addition{}, &ConflictError{Key: key}
		case own == nil:
			add.fresh = append(add.fresh, request{key: key, pass: p, exclusive: true})
		case !own.exclusive:
			add.raised = append(add.raised, own)
		}
	}
	for _, key := range keys.Shared {
		own, met := q.inspect(request{key: key, pass: p})
		switch {
		case met:
			return addition{}, &ConflictError{Key: key}
		case own == nil:
			add.fresh = append(add.fresh, request{key: key, pass: p})
		}
	}
	return add, nil
}

// inspect finds the request that the pass of r has for the key already, and
// whether r would meet another pass in flight. All requests of passes in flight
// are ready; a ready one whose pass still waits elsewhere does not count.
func (q *gateQueues) inspect(r request) (own *request, met bool) {
	for at := q.find(r.key).head; at != nil && at.ready; at = at.next {
		switch {
		case at.pass == r.pass:
			own = at
		case at.pass.blocked == 0 && (r.exclusive || at.exclusive):
			met = true
		}
	}
	return own, met
}

// add gives p what addition found.
func (q *gateQueues) add(p *Pass, add addition) {
	for i := range add.fresh {
		q.pushFront(&add.fresh[i])
	}
	if len(add.fresh) > 0 {
		p.requests = append(p.requests, add.fresh)
	}
	for _, own := range add.raised {
		q.unlink(own)
		own.exclusive = true
		q.pushFront(own)
	}
}
