/**
 * Settings that a connection needs for the promise "2xx means committed, on every replica that PostgreSQL was told to
 * wait for", whatever the defaults of server, database and role are. They are set by a statement, because poolers drop
 * start-up options.
 */
export const sessionSettings = {
  synchronous_commit: 'on',
  // A cancelled statement that already waits for a replica is committed all the same. Our own deadlines close
  // connections instead.
  statement_timeout: '0',
  // A frozen process must not keep its row locks.
  idle_in_transaction_session_timeout: '5000',
  // The warning that a commit did not wait for its replicas must arrive.
  client_min_messages: 'warning',
};

/** Applies the settings, but keeps `remote_apply`, which waits for more than `on`. */
export const applySettings = `
select set_config(name, value, false) from unnest($1::text[], $2::text[]) as wanted (name, value)
where not (name = 'synchronous_commit' and current_setting(name) = 'remote_apply')`;
