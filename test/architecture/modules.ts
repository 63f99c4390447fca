import { creators } from '../support/module-list.ts';

/** Modules of functions and types alone, which nobody makes: each stands right after another module. */
export const functionsAlone: Record<string, { after: string; holds: string }> = {
  shell: { after: 'platform', holds: 'layout, forms, components, roles and navigation of the dashboard' },
  management: { after: 'shell', holds: 'machinery of managed rows: REST, pages, versions, idempotency, audit' },
  decision: { after: 'budgets', holds: 'the pure decision: index, rules, ranking, explanation; no I/O, no clock' },
  'command-line': {
    after: 'platform',
    holds: 'what reads the arguments of `perkwire` and prints; commands are handed in',
  },
  embedded: { after: 'command-line', holds: 'the embedded PostgreSQL' },
};

/** What every module may import, at any depth. */
export const libraries = ['config', 'client', 'platform'] as const;

/** All of `src`, in the order of use: a file imports only from its own module and from modules before it. */
export const order: readonly string[] = [
  'config',
  'client',
  ...[...creators.keys()].flatMap(function withFollowers(module: string): string[] {
    const followers = Object.keys(functionsAlone).filter((name) => functionsAlone[name]?.after === module);
    return [module, ...followers.flatMap(withFollowers)];
  }),
  // What puts the modules together, and what calls it.
  'runtime',
  'root',
];

/** Where one folder of a module is held to less than the module: path prefix → the only prefixes it may import. */
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

/** The only files at the root of `src`. */
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

/** Whether other modules may import a file: it stands at the top of its module's folder. */
export const isPublic = (path: string): boolean => path.split('/').length <= 3;
