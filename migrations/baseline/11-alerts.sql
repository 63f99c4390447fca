-- Alerts: what happened, who is notified and how, and what is muted.

create table alerts (
  id bigint generated always as identity primary key,
  publisher_id integer not null references publishers,
  kind text not null,
  -- What the alert is about, such as the id of an endpoint.
  subject text not null,
  -- Tells one occurrence from the next, such as the time of the first failure of an endpoint.
  cause text not null,
  data jsonb not null,
  raised_at timestamptz not null,
  -- When a condition that is checked repeatedly ended.
  ended_at timestamptz,
  unique (publisher_id, kind, subject, cause)
);
comment on table alerts is 'Alerts of publishers, one row for each cause.';
create index alerts_publisher on alerts (publisher_id, id);
create index alerts_open on alerts (publisher_id, kind, subject) where ended_at is null;

create table alert_rules (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  user_id integer references users on delete cascade,
  name text not null default '',
  -- Encrypted URL of a Slack-compatible webhook, which is a secret: anyone who knows it can post.
  url_sealed bytea,
  kinds text[] not null,
  created_at timestamptz not null,
  unique (publisher_id, user_id),
  check ((user_id is null) <> (url_sealed is null))
);
comment on table alert_rules is
  'Recipients of alerts with the kinds that they get: a user by mail, or a channel by a webhook.';

create table alert_mutes (
  publisher_id integer not null references publishers,
  kind text not null,
  subject text not null,
  until timestamptz not null,
  primary key (publisher_id, kind, subject)
);
comment on table alert_mutes is 'Muted subjects. Their alerts appear in the inbox only.';

create table alert_messages (
  alert_id bigint not null references alerts on delete cascade,
  rule_id integer not null references alert_rules on delete cascade,
  attempts smallint not null default 0,
  -- Also the end of a lease; null: sent, or given up.
  next_attempt_at timestamptz,
  -- Why the last attempt failed.
  error text,
  primary key (alert_id, rule_id)
);
comment on table alert_messages is 'Messages of alerts, one row for each recipient.';
create index alert_messages_due on alert_messages (next_attempt_at) where next_attempt_at is not null;

create table alert_readers (
  publisher_id integer not null references publishers,
  user_id integer not null references users on delete cascade,
  read_until bigint not null,
  primary key (publisher_id, user_id)
);
comment on table alert_readers is 'Last alert of the inbox that each user has read.';
