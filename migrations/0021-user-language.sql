-- The language in which a user reads the dashboard and its mails.
alter table users add column language text check (language ~ '^[a-z]{2}$');
comment on column users.language is 'ISO 639-1 code; null: by the browser''s.';
