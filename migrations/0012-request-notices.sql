create table request_notices (
  publisher_id integer not null,
  path text not null check (char_length(path) <= 200),
  message text not null check (char_length(message) <= 500),
  refused boolean not null,
  count bigint not null,
  last_at timestamptz not null,
  primary key (publisher_id, path, message)
);
comment on table request_notices is
  'What was ignored, dropped or refused of offer requests, for the integration page. The newest of each publisher, for a
day; values of requests are not kept.';
comment on column request_notices.refused is 'The request was answered with an error; otherwise it was served.';
