/**
 * Settings of the cluster on which failovers are measured. docs/operations.md#replicated-postgresql recommends the same
 * settings.
 */
export const patroniSettings = {
  ttl: 20,
  loop_wait: 2,
  retry_timeout: 5,
  synchronous_mode: true,
  synchronous_mode_strict: true,
};

export const postgresSettings = {
  wal_sender_timeout: '5s',
  // Synchronous commits wait until a replica follows the new leader, by default for up to 5 s.
  wal_retrieve_retry_interval: '500ms',
};

/**
 * From this version on, a leader that was paused cannot take the leader key back from the server that was promoted
 * meanwhile. Earlier versions can with etcd's API v3 (docs/operations.md#replicated-postgresql), so they use v2.
 */
const firstSafeVersion = [3, 1, 2] as const;

/**
 * @param output output of `patroni --version`
 * @returns the section name for etcd in Patroni's settings
 */
export function etcdSection(output: string): 'etcd' | 'etcd3' {
  const version = (/\d+(\.\d+)*/.exec(output)?.[0] ?? '0').split('.').map(Number);
  const differing = firstSafeVersion.findIndex((part, index) => part !== (version[index] ?? 0));
  return differing === -1 || (version[differing] ?? 0) > (firstSafeVersion[differing] ?? 0) ? 'etcd3' : 'etcd';
}
