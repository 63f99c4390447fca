/**
 * The rooms of the server and what each may import, types included (docs/architecture.md#rooms). A room stands above
 * everything that it may import, so there is no circle between rooms.
 */
export const rooms: Record<string, readonly string[]> = {
  config: [],
  client: [],
  platform: ['config'],
  catalog: ['client', 'platform', 'config'],
  decision: ['catalog', 'platform'],
  webhooks: ['catalog', 'client', 'platform', 'config'],
  reports: ['catalog', 'client', 'platform', 'config'],
  browser: ['client', 'platform'],
  offers: ['decision', 'reports', 'browser', 'catalog', 'client', 'platform', 'config'],
  tracking: ['offers', 'webhooks', 'reports', 'catalog', 'client', 'platform', 'config'],
  alerts: ['offers', 'webhooks', 'reports', 'catalog', 'client', 'platform', 'config'],
  privacy: ['catalog', 'client', 'platform', 'config'],
  perks: ['tracking', 'offers', 'webhooks', 'reports', 'catalog', 'client', 'platform', 'config'],
  embedded: [...['perks', 'tracking', 'offers', 'reports', 'webhooks', 'catalog', 'client', 'platform', 'config']],
  runtime: [
    ...['perks', 'embedded', 'alerts', 'privacy', 'tracking', 'offers', 'browser', 'reports', 'webhooks', 'decision'],
    ...['catalog', 'client', 'platform', 'config'],
  ],
  dashboard: [
    ...[
      'runtime',
      'alerts',
      'perks',
      'embedded',
      'privacy',
      'tracking',
      'offers',
      'browser',
      'reports',
      'webhooks',
      'decision',
    ],
    ...['catalog', 'client', 'platform', 'config'],
  ],
  root: [
    ...['dashboard', 'runtime', 'alerts', 'perks', 'embedded', 'privacy', 'tracking', 'offers', 'browser', 'reports'],
    ...['webhooks', 'decision', 'catalog', 'client', 'platform', 'config'],
  ],
  'command-line': [
    ...['root', 'dashboard', 'runtime', 'embedded', 'perks', 'offers', 'reports', 'webhooks', 'catalog', 'platform'],
    'config',
  ],
};

/** Where one folder of a room is held to less than the room: path prefix → the only prefixes it may import. */
export const narrower: Record<string, readonly string[]> = {
  'src/browser/sdk/': ['src/browser/sdk/', 'packages/client/'],
  'src/decision/': ['src/decision/', 'src/catalog/', 'src/platform/lib/', 'src/platform/errors.ts'],
};

/** The only files at the root of `src`. */
export const rootFiles = ['src/app.ts', 'src/config.ts', 'src/server.ts'];

export function roomOf(path: string): string {
  if (path === '@perkwire/client' || path.startsWith('packages/client/')) return 'client';
  if (path === 'src/config.ts' || path.startsWith('src/config/')) return 'config';
  const [, folder, ...rest] = path.split('/');
  return rest.length === 0 ? 'root' : (folder as string);
}
