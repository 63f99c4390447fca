/** Of the cluster that failovers are measured on; docs/operations.md#replicated-postgresql recommends the same. */
export const patroniSettings = {
  ttl: 20,
  loop_wait: 2,
  retry_timeout: 5,
  synchronous_mode: true,
  synchronous_mode_strict: true,
};

export const postgresSettings = {
  wal_sender_timeout: '5s',
  // Until a replica follows the new leader, synchronous commits wait: by default up to 5 s.
  wal_retrieve_retry_interval: '500ms',
};
