import { creators } from '../support/module-list.ts';

/**
 * Modules that contain only functions and types and have no create function. Each follows another module in the order.
 */
const functionsAlone: Record<string, { after: string }> = {
  'command-line': { after: 'platform' },
  embedded: { after: 'command-line' },
  shell: { after: 'platform' },
  management: { after: 'shell' },
  decision: { after: 'budgets' },
};

/** Modules that every module may import, at any depth. */
export const libraries = ['config', 'client', 'platform'] as const;

/** All of `src` in dependency order: a file may only import from its own module and from earlier modules. */
export const order: readonly string[] = [
  'config',
  'client',
  ...[...creators.keys()].flatMap(function withFollowers(module: string): string[] {
    const followers = Object.keys(functionsAlone).filter((name) => functionsAlone[name]?.after === module);
    return [module, ...followers.flatMap(withFollowers)];
  }),
  // The assembly of the modules, followed by its callers.
  'runtime',
  'root',
];

/** Folders with stricter rules than their module. Maps a path prefix to the only prefixes that it may import. */
export const narrower: Record<string, readonly string[]> = {
  'src/browser/sdk/': ['src/browser/sdk/', 'packages/client/'],
  'src/decision/': [
    ...[
      'src/decision/',
      'src/catalog/',
      'src/platform/lib/',
      'src/platform/errors.ts',
      'src/platform/exchange-rates.ts',
      'src/platform/money.ts',
    ],
    ...['src/budgets/cap-rules.ts', 'src/budgets/caps.ts', 'src/budgets/goals.ts', 'src/budgets/pacing.ts'],
    ...['model', 'properties', 'rates', 'score'].map((name) => `src/learning/${name}.ts`),
  ],
};

/** The only files allowed at the root of `src`. */
export const rootFiles = [
  'src/app.ts',
  'src/commands.ts',
  'src/config.ts',
  'src/modules.ts',
  'src/perkwire.ts',
  'src/server.ts',
];

export function moduleOf(path: string): string {
  if (path === '@perkwire/client' || path.startsWith('packages/client/')) return 'client';
  if (path === 'src/config.ts' || path.startsWith('src/config/')) return 'config';
  const [, folder, ...rest] = path.split('/');
  return rest.length === 0 ? 'root' : (folder as string);
}

/** Whether other modules may import a file, that is, whether it is at the top of its module's folder. */
export const isPublic = (path: string): boolean => path.split('/').length <= 3;
