-- Publishers take turns at erasures, so that many users of one do not keep those of others waiting.
alter table erasures add column due_at timestamptz not null default now(); -- something is to be done from then on: by a sweep, or when a lease has ended
update erasures set due_at = greatest(requested_at, lease_until, swept_at + interval '25 seconds');
create index erasures_due on erasures (publisher_id, due_at) where finished_at is null;
drop index erasures_open;
