-- Saved reports that are sent again and again, one row for each recipient.
create table report_schedules (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  report_id integer not null references saved_reports on delete cascade,
  user_id integer references users on delete cascade,
  channel_id integer references alert_rules on delete cascade,
  period text not null check (period in ('day', 'week', 'month')),
  hour smallint not null check (hour between 0 and 23),
  due_at timestamptz not null,
  attempts smallint not null default 0,
  next_attempt_at timestamptz not null,
  sent_at timestamptz,
  error text,
  created_at timestamptz not null,
  check ((user_id is null) <> (channel_id is null))
);
create unique index report_schedules_recipient on report_schedules
  (report_id, coalesce(user_id, 0), coalesce(channel_id, 0));
create index report_schedules_due on report_schedules (next_attempt_at);
create index report_schedules_publisher on report_schedules (publisher_id);
comment on table report_schedules is 'Saved reports that are sent again and again, one row for each recipient.';
comment on column report_schedules.user_id is 'Who is mailed; null: a channel is told.';
comment on column report_schedules.hour is
  'In the time zone of the publisher: of each day, of Mondays, or of the first of a month.';
comment on column report_schedules.due_at is 'The time of the next message, or of the one that is being sent.';
comment on column report_schedules.next_attempt_at is 'Also the end of a lease.';
comment on column report_schedules.error is 'Why the last attempt failed.';
