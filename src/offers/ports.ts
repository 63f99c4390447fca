import type { CatalogDeps } from '../catalog/ports.ts';
import type { LiveUse } from './caps/live-use.ts';
import type { Geo } from './context/geo.ts';
import type { ModelSource } from './model/source.ts';

/** `usage` and `model` are refreshed by background jobs. */
export type OfferDeps = CatalogDeps & { geo: Geo; usage: LiveUse; model: ModelSource };
