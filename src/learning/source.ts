import type { AccountDeps } from '../accounts/ports.ts';
import { emptyModel, loadModel, type Model } from './posteriors.ts';

/** The model that decisions are made with; `refresh` reloads it. */
export type ModelSource = { current: () => Model; refresh: () => Promise<void> };

export function createModelSource({ pool, catalog, now }: Pick<AccountDeps, 'pool' | 'catalog' | 'now'>): ModelSource {
  let model = emptyModel;
  return {
    current: () => model,
    refresh: async () => {
      const loaded = await loadModel(pool, catalog.current(), now());
      if (loaded.id !== model.id) model = loaded;
    },
  };
}
