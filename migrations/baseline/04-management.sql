-- Audit log, and idempotency of the management API.

create table audit_log (
  publisher_id integer not null,
  id bigint generated always as identity,
  at timestamptz not null,
  actor_kind text not null check (actor_kind in ('key', 'user', 'system')),
  actor_id integer not null,
  -- Name of the key, or e-mail address of the user.
  actor_label text not null,
  -- Null: an operator.
  actor_publisher_id integer,
  -- create, update, remove, restore, stop, resume, sign_in, lock
  action text not null,
  resource text not null,
  resource_id text not null,
  -- Field → {"old", "new"}. Never contains a secret.
  changes jsonb not null,
  -- Position in the log of the publisher, from 1, without gaps. Set by a trigger.
  number bigint not null,
  -- SHA-256 over the entry and the hash of the entry before it (perkwire audit verify). Set by a trigger.
  hash bytea not null,
  primary key (publisher_id, id)
);
comment on table audit_log is
  'Who changed what, written in the transaction of the change. Each publisher has a log of its own, as a hash
chain; publisher 0: changes by operators that belong to no publisher.';
create index audit_log_resource on audit_log (publisher_id, resource, resource_id, id);
create unique index audit_log_number on audit_log (publisher_id, number);

-- Hash of an entry. Existing entries were hashed this way: do not change it.
create function audit_hash(hash_before bytea, entry audit_log) returns bytea language sql stable as $$
  select sha256(hash_before || convert_to(jsonb_build_array(
    entry.publisher_id, entry.number, entry.id, extract(epoch from entry.at), entry.actor_kind, entry.actor_id,
    entry.actor_label, entry.actor_publisher_id, entry.action, entry.resource, entry.resource_id, entry.changes
  )::text, 'UTF8'))
$$;

-- Trigger: appends an entry to the chain of its publisher.
create function chain_audit_entry() returns trigger language plpgsql as $$
declare
  before audit_log;
begin
  -- Entries of one publisher are written one after the other: the lock is held until the commit. The first number tells
  -- these locks from others.
  perform pg_advisory_xact_lock(1635083369, new.publisher_id);
  select * into before from audit_log where publisher_id = new.publisher_id and number is not null
    order by number desc limit 1;
  new.number := coalesce(before.number, 0) + 1;
  new.hash := audit_hash(coalesce(before.hash, ''), new);
  return new;
end
$$;
create trigger chain_audit_entry before insert on audit_log for each row execute function chain_audit_entry();

create table idempotency_keys (
  publisher_id integer not null,
  -- Kind and id of the caller.
  actor text not null,
  key text not null,
  -- Tells a repeated request from another one with the same key.
  request_hash bytea not null,
  -- Null only inside the transaction that creates the response.
  status smallint,
  response_sealed bytea,
  created_at timestamptz not null,
  primary key (publisher_id, actor, key)
);
comment on table idempotency_keys is 'Responses of POST requests with an Idempotency-Key. Kept for a day.';
create index idempotency_keys_age on idempotency_keys (created_at);
