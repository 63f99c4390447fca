-- Plain user IDs in data files, for publishers that choose them.

alter table publishers add column data_file_user_ids text not null default 'hashed'
  check (data_file_user_ids in ('hashed', 'plain'));

create table data_file_plain_publishers (
  publisher_id integer primary key references publishers on delete cascade
);
comment on table data_file_plain_publishers is
  'Publishers whose data files may contain plain user IDs. A run adds publishers before it writes their rows.';

-- Plain ID of an erased user, for the publishers above; null once the row is exported.
alter table data_file_erasures add column user_id text;
