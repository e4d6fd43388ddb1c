package conflict

// request is a pass's place in one key's queue. It is ready if no request before
// it meets it.
type request struct {
	key              uint64
	pass             *Pass
	prev, next       *request // the head's prev is the tail, the tail's next is nil
	exclusive, ready bool
}

// gateQueues holds the head of each key's queue; a key that nobody wants has
// none, so the memory is that of the requests. The ready requests of a queue are
// its first ones: the head, and if that is shared all up to the first
// exclusive one. Not safe for concurrent use.
type gateQueues map[uint64]*request

// pushBack adds a request as the last of its queue, and says whether it is ready.
func (q gateQueues) pushBack(r *request) bool {
	head := q[r.key]
	if head == nil {
		r.prev, r.ready = r, true
		q[r.key] = r
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
func (q gateQueues) pushFront(r *request) {
	head := q[r.key]
	r.prev, r.ready = r, true
	q[r.key] = r
	if head == nil {
		return
	}
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
// each that becomes ready by it.
func (q gateQueues) remove(r *request, unblocked func(*Pass)) {
	var before *request // the one before the gap
	if q[r.key] != r {
		before = r.prev
	}
	next := r.next
	q.unlink(r)
	for ; next != nil && !next.ready; next = next.next {
		if before != nil && !follows(before, next) {
			return
		}
		next.ready = true
		unblocked(next.pass)
		before = next
	}
}

func (q gateQueues) unlink(r *request) {
	head := q[r.key]
	switch {
	case r == head && r.next == nil:
		delete(q, r.key)
	case r == head:
		r.next.prev = r.prev
		q[r.key] = r.next
	case r.next == nil:
		r.prev.next = nil
		head.prev = r.prev
	default:
		r.prev.next, r.next.prev = r.next, r.prev
	}
	r.prev, r.next = nil, nil
}

// addition is what a pass in flight lacks of a set.
type addition struct {
	fresh  []request  // keys that it does not hold
	raised []*request // its shared ones that are to be exclusive
}

// addition compares what p holds with keys, and changes nothing. The error is
// the conflict with another pass in flight.
func (q gateQueues) addition(p *Pass, keys Set) (addition, error) {
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
func (q gateQueues) inspect(r request) (own *request, met bool) {
	for at := q[r.key]; at != nil && at.ready; at = at.next {
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
func (q gateQueues) add(p *Pass, add addition) {
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
