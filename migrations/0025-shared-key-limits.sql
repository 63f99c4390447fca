-- A limited key that makes keys must not multiply its limit.
alter table api_keys add column limited_by_keys integer[] not null default '{}';
comment on column api_keys.limited_by_keys is
  'Keys whose rate limit the calls of this one count against as well: the limited key that made it, and those before.';
