package pipeline

import "sync"

// inbox collects finished jobs from the workers.
type inbox struct {
	wake  chan struct{} // holds one value if there are jobs
	mutex sync.Mutex
	jobs  []*job
}

func (i *inbox) put(j *job) {
	i.mutex.Lock()
	i.jobs = append(i.jobs, j)
	i.mutex.Unlock()
	select {
	case i.wake <- struct{}{}:
	default:
	}
}

func (i *inbox) take() []*job {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	jobs := i.jobs
	i.jobs = nil
	return jobs
}
