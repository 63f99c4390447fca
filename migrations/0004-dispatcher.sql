-- Claims walk the queue endpoint by endpoint, so that the backlog of one costs the others nothing. The columns a claim
-- changes stay out of every index: its update is heap-only.
drop index delivery_queue_due;
create index delivery_queue_endpoint on delivery_queue (endpoint_id, due_at);

-- Workers that may hold leases. Each also holds an advisory lock on its id while it lives; a row without the lock is a
-- dead worker, whose leases others free.
create table dispatcher_workers (
  id integer primary key,
  started_at timestamptz not null default now()
);

-- Dev sessions are few and kept a day: found without reading the others.
create index sessions_dev on sessions (created_at) where dev;
