import type { CatalogDeps } from '../catalog/ports.ts';
import type { Geo } from './context/geo.ts';

export type OfferDeps = CatalogDeps & { geo: Geo };
