-- Values of events that were ignored, such as an unknown currency: the path of each and the reason, without the value.
alter table source_events add column notes jsonb not null default '[]';
comment on column source_events.notes is 'Values that were ignored: path and reason, without the value.';
