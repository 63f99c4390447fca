-- Running processes, for the system page.

create unlogged table processes (
  id uuid primary key,
  host text not null,
  pid integer not null,
  roles text[] not null,
  -- Version of the catalog snapshot that the process serves.
  catalog_version bigint not null,
  started_at timestamptz not null,
  seen_at timestamptz not null
);
comment on table processes is
  'Heartbeats: each process updates its row every few seconds. Unlogged: losing them in a crash is harmless.';
