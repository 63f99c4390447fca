import type { ManagementClient } from '../../management/page-client.ts';
import type { Shell } from '../../shell/layout.ts';
import type { EndpointDeps } from '../ports.ts';

/** What the pages of webhooks are made with. */
export type PageServices = Shell & { deps: EndpointDeps; management: ManagementClient };
