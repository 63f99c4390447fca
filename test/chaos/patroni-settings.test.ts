import { expect, test } from 'vitest';
import { etcdSection } from './patroni-settings.ts';

test.each([
  ['patroni 3.0.2', 'etcd'],
  ['patroni 3.1.1', 'etcd'],
  ['patroni 3.1.2', 'etcd3'],
  ['patroni 3.2', 'etcd3'],
  ['patroni 4.0.7', 'etcd3'],
])('uses etcd API v3 only for Patroni versions whose paused leader cannot reclaim the key: %s', (output, section) => {
  expect(etcdSection(output)).toBe(section);
});
