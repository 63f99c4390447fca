import type { Management } from '../management/unit-of-work.ts';
import type { PlatformDeps } from '../platform/ports.ts';
import type { CatalogStore } from './store.ts';

/** What a feature that reads or changes the catalogue takes. */
export type CatalogDeps = PlatformDeps & { catalog: CatalogStore; management: Management };
