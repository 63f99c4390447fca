import type { ManagementClient } from '../../management/page-client.ts';
import type { OfferDeps } from '../../offers/ports.ts';
import type { Shell } from '../../shell/layout.ts';

/** What the dashboard's own pages are made with. */
export type PageServices = Shell & { deps: OfferDeps; management: ManagementClient };
