import type { CatalogDeps } from '../catalog/ports.ts';
import type { EventMeter } from './metrics.ts';

export type TrackingDeps = CatalogDeps & { eventMeter: EventMeter };
