alter table live_calls add column refused boolean not null default false;
comment on table live_calls is 'Calls of watched publishers, for minutes; refused ones of all publishers, for an hour.';
