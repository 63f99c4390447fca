import type { Deps } from './deps.ts';

export async function startWorker(_deps: Deps, _databaseUrl: string): Promise<{ stop: () => Promise<void> }> {
  return { stop: async () => {} };
}
