-- Reasons and authors of muted alerts, times of sent messages, and messages about the end of an alert.

alter table alert_mutes
  add column note text not null default '',
  add column muted_by text not null default '',
  add column muted_at timestamptz;
comment on column alert_mutes.muted_by is 'User or API key that muted the alerts.';

alter table alert_messages
  add column about_end boolean not null default false,
  add column sent_at timestamptz;
comment on column alert_messages.about_end is 'Whether the message says that the alert has ended.';
