-- Alerts: what happened, who is told of it and how, and what is muted.
create table alerts (
  id bigint generated always as identity primary key,
  publisher_id integer not null references publishers,
  kind text not null,
  subject text not null,
  cause text not null,
  data jsonb not null,
  raised_at timestamptz not null,
  ended_at timestamptz,
  unique (publisher_id, kind, subject, cause)
);
create index alerts_publisher on alerts (publisher_id, id);
create index alerts_open on alerts (publisher_id, kind, subject) where ended_at is null;
comment on table alerts is 'Alerts of publishers, one row for each cause.';
comment on column alerts.subject is 'What it is about, such as the id of an endpoint.';
comment on column alerts.cause is 'Tells one occurrence from the next, such as the time since when an endpoint fails.';
comment on column alerts.ended_at is 'Of what is checked again and again: when it was over.';

create table alert_rules (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  user_id integer references users on delete cascade,
  name text not null default '',
  url_sealed bytea,
  kinds text[] not null,
  created_at timestamptz not null,
  unique (publisher_id, user_id),
  check ((user_id is null) <> (url_sealed is null))
);
comment on table alert_rules is 'Who is told of which kinds of alerts: a user by mail, or a channel by a webhook.';
comment on column alert_rules.url_sealed is 'Of a Slack-compatible webhook: anyone who knows it can post.';

create table alert_mutes (
  publisher_id integer not null references publishers,
  kind text not null,
  subject text not null,
  until timestamptz not null,
  primary key (publisher_id, kind, subject)
);
comment on table alert_mutes is 'Alerts that are kept in the inbox and told to nobody.';

create table alert_messages (
  alert_id bigint not null references alerts on delete cascade,
  rule_id integer not null references alert_rules on delete cascade,
  attempts smallint not null default 0,
  next_attempt_at timestamptz,
  error text,
  primary key (alert_id, rule_id)
);
create index alert_messages_due on alert_messages (next_attempt_at) where next_attempt_at is not null;
comment on table alert_messages is 'Messages of alerts, one row for each rule that asks for it.';
comment on column alert_messages.next_attempt_at is 'Also the end of a lease; null: sent, or given up.';
comment on column alert_messages.error is 'Why the last attempt failed.';

create table alert_readers (
  publisher_id integer not null references publishers,
  user_id integer not null references users on delete cascade,
  read_until bigint not null,
  primary key (publisher_id, user_id)
);
comment on table alert_readers is 'Up to which alert a user has read the inbox.';
