-- Running processes, and the installation.

create unlogged table processes (
  id uuid primary key,
  host text not null,
  pid integer not null,
  roles text[] not null,
  catalog_version bigint not null,
  started_at timestamptz not null,
  seen_at timestamptz not null
);
comment on table processes is
  'Heartbeats: each process writes its row every few seconds. Unlogged: losing them in a crash is harmless.';
comment on column processes.catalog_version is 'Version of the catalog snapshot it serves.';

create table space_probe (filler text not null default repeat('x', 1000));
comment on table space_probe is
  'After a write failed for want of disk space, health truncates it and adds a row, which needs a page of disk space.';
