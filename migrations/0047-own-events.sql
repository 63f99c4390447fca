alter table publishers add column own_events text[] not null default '{}';
comment on column publishers.own_events is 'Names of events of its own, which offers have beacons for.';
alter table advertisers add column own_events text[] not null default '{}';
comment on column advertisers.own_events is 'As of a publisher, in its offers alone.';

alter table rollups add column own_events bigint not null default 0;
alter table custom_rollups add column own_events bigint not null default 0;
alter table minute_rollups add column own_events bigint not null default 0;

comment on column events.kind is 'impression, click, no_thanks, close, those of perks, and `own:` with the name
of an own event.';
