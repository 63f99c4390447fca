-- Attempts are logged once, with their outcome. Until then, the queue has the time at which they started.

alter table delivery_queue add column claimed_at timestamptz;
comment on column delivery_queue.claimed_at is
  'Time of the last claim; null: none, or a claim by a process of an earlier release.';
