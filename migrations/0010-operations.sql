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

create table installation (
  id boolean primary key default true check (id),
  canary bytea not null
);
comment on table installation is 'One row.';
comment on column installation.canary is
  'A digest keyed by USER_PEPPER, sealed with SECRETS_KEY: a process with other secrets does not start.';
