package mutation

// What the tests of the package's users' side need of its inside.

// WorkersFor and GrantWorkers are the budget's terms.
var (
	WorkersFor   = workersFor
	GrantWorkers = grantWorkers
)

// Validate fills in an Options' defaults, as New does.
func (o Options) Validate() (Options, error) { return o.validate() }

// Inject makes a stage of the passes fail, panic or wait: f is called before
// each task of "fold", "own" and "recount", and before "publish".
func (a *Applier) Inject(f func(stage string) error) { a.inject = f }
