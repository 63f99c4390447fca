import type { PageExtensions, PublisherContext } from '../../catalog/pages.ts';
import type { CatalogStore } from '../../catalog/store.ts';
import type { Config } from '../../config.ts';
import type { AllAdditions } from '../../management/additions.ts';
import type { Figures } from '../../management/crud-definition.ts';
import type { ManagementClient } from '../../management/page-client.ts';
import type { Shell } from '../../shell/layout.ts';

/** Dependencies of the catalogue pages. */
export type PageServices = Shell & {
  deps: { catalog: CatalogStore; config: Config };
  management: ManagementClient;
  extensions: PageExtensions;
  additions: AllAdditions;
};

/** Path from which the campaign form requests the estimated reach, relative to the publisher's pages. */
export const reachPath = '/campaigns/estimate';

/** Returns the `figures` option for a resource's pages, or no option if the reports module is absent. */
export const figuresOf = (
  { extensions }: { extensions: PageExtensions },
  by: Parameters<NonNullable<PageExtensions['figures']>>[0],
): { figures?: Figures<PublisherContext> } =>
  extensions.figures === undefined ? {} : { figures: extensions.figures(by) };
