import type { Config } from '../../config.ts';
import type { AllAdditions } from '../../management/additions.ts';
import type { Figures } from '../../management/crud-definition.ts';
import type { ManagementClient } from '../../management/page-client.ts';
import type { Shell } from '../../shell/layout.ts';
import type { PageExtensions } from '../page-extensions.ts';
import type { PublisherContext } from '../publisher-pages.ts';
import type { CatalogStore } from '../store.ts';

/** What the catalogue's pages are made with. */
export type PageServices = Shell & {
  deps: { catalog: CatalogStore; config: Config };
  management: ManagementClient;
  extensions: PageExtensions;
  additions: AllAdditions;
};

/** Below the publisher's pages: where the form of a campaign asks for its reach. */
export const reachPath = '/campaigns/estimate';

/** The member `figures` of the pages of a resource; none without reports. */
export const figuresOf = (
  { extensions }: { extensions: PageExtensions },
  by: Parameters<NonNullable<PageExtensions['figures']>>[0],
): { figures?: Figures<PublisherContext> } =>
  extensions.figures === undefined ? {} : { figures: extensions.figures(by) };
