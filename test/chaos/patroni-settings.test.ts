import { expect, test } from 'vitest';
import { etcdSection } from './patroni-settings.ts';

test.each([
  ['patroni 3.0.2', 'etcd'],
  ['patroni 3.1.1', 'etcd'],
  ['patroni 3.1.2', 'etcd3'],
  ['patroni 3.2', 'etcd3'],
  ['patroni 4.0.7', 'etcd3'],
])('a Patroni whose paused leader could take the leader key back is not given that API: %s', (output, section) => {
  expect(etcdSection(output)).toBe(section);
});
