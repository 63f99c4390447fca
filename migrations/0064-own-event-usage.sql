-- Total caps on own events: how often each of them happened in a period.

alter table campaign_usage add column own_events bigint not null default 0;
comment on column campaign_usage.own_events is 'Of a period of one own event: how often it happened.';
comment on column campaign_usage.period is
  'lifetime, or hour, day or month with its start in UTC; of an own event, with its kind behind it, such as own:quiz.';
