import type { CatalogDeps } from '../catalog/ports.ts';
import type { LiveUsage } from './caps/live-usage.ts';
import type { Geo } from './context/geo.ts';
import type { ModelSource } from './model/source.ts';

/** `usage` and `model` are refreshed by background jobs. */
export type OfferDeps = CatalogDeps & { geo: Geo; usage: LiveUsage; model: ModelSource };
