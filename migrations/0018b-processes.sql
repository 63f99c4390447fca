-- Which processes run, and how new their configuration is; each writes its row every few seconds. Lost with a crash, and made anew.
create unlogged table processes (
  id uuid primary key,
  host text not null,
  pid integer not null,
  roles text[] not null,
  catalog_version bigint not null,
  started_at timestamptz not null,
  seen_at timestamptz not null
);
