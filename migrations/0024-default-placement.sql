-- Clients that name no placement in a fetch.
alter table publishers add column default_placement text check (default_placement <> '');
comment on column publishers.default_placement is
  'Normalised name of the placement of fetches that name none; null: they are refused. Made on its first fetch.';
