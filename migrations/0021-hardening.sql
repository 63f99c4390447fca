-- How many endpoint tests a publisher may still make: a bucket of tokens that fills with time. Lost with a crash, which harms nobody.
create unlogged table endpoint_test_turns (
  publisher_id integer primary key references publishers on delete cascade,
  tokens double precision not null, -- left after the last test
  at timestamptz not null -- of the last test
);
