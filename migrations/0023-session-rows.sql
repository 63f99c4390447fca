-- A session as one value: a batch is then one array of rows, several times cheaper to read than an array for each column.

alter table sessions
  add column decision text; -- JSON: version of the catalogue, scores, propensities; rows from before have columns of their own for these
comment on column sessions.seed is 'of sessions from before decision was kept; the id says it';

create type new_session as (
  day date,
  id uuid,
  publisher_id integer,
  placement text,
  theme_id integer,
  user_key uuid,
  pub_user_id text,
  country text,
  region text,
  city text,
  device text,
  os text,
  browser text,
  offer_ids integer[],
  campaign_ids integer[],
  decision text,
  empty_reason text,
  decision_inputs text,
  custom jsonb,
  macros jsonb,
  dev boolean,
  usp boolean,
  usp_check_all boolean,
  created_at timestamptz
);
