/**
 * Session settings that guarantee "2xx means committed, on every replica that PostgreSQL was told to wait for",
 * whatever the defaults of the server, database and role are. They are applied by a statement, because poolers drop
 * startup options.
 */
export const sessionSettings = {
  synchronous_commit: 'on',
  // Cancelling a statement that is already waiting for a replica does not undo its commit, so no statement timeout is
  // set. Our own timeouts close the connection instead.
  statement_timeout: '0',
  // Ends the transaction of a process that hangs, so that it does not keep its row locks.
  idle_in_transaction_session_timeout: '5000',
  // PostgreSQL warns if a commit did not wait for its replicas. This warning must reach the client.
  client_min_messages: 'warning',
};

/** Applies the session settings. Keeps `remote_apply` if it is set, because it is stricter than `on`. */
export const applySettings = `
select set_config(name, value, false) from unnest($1::text[], $2::text[]) as wanted (name, value)
where not (name = 'synchronous_commit' and current_setting(name) = 'remote_apply')`;
