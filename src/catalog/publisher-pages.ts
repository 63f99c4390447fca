import type { App } from '../platform/http/app.ts';
import type { PageContext } from '../shell/context.ts';
import type { Shell } from '../shell/layout.ts';
import { type Pages, pagesOfPublisher } from '../shell/pages.ts';
import type { Publisher } from './types.ts';

/** Context of a page of one publisher, with everything the catalogue has about it. */
export type PublisherContext = PageContext & { publisher: Publisher };

/** Pages of one publisher, below `/dashboard/p/{publisherId}`. The guard takes the publisher from the snapshot. */
export const publisherPages = (app: App, shell: Shell): Pages<PublisherContext> =>
  pagesOfPublisher(app, shell) as unknown as Pages<PublisherContext>;
