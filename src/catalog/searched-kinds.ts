import type { Resource, View } from '../management/resource.ts';
import { type MessageKey, t } from '../platform/i18n/messages.ts';
import { advertisers } from './resources/advertisers.ts';
import { campaigns } from './resources/campaigns.ts';
import { offers } from './resources/offers.ts';
import { placements } from './resources/placements.ts';
import { themes } from './resources/themes.ts';

/** Kind of rows that the search of the dashboard finds by name. `path` is the page of a row, below the publisher's. */
export type SearchedKind = { title: MessageKey; resource: Resource; path: string; nameOf: (row: View) => unknown };

export const searchedKinds: readonly SearchedKind[] = [
  { title: 'nav.campaigns', resource: campaigns, path: '/campaigns', nameOf: ({ name }) => name },
  {
    title: 'nav.offers',
    resource: offers,
    path: '/offers',
    nameOf: ({ title, id }) => title || t('find.offer', { id: String(id) }),
  },
  {
    title: 'nav.placements',
    resource: placements,
    path: '/settings/placements',
    nameOf: ({ display_name, name }) => display_name || name,
  },
  { title: 'nav.advertisers', resource: advertisers, path: '/advertisers', nameOf: ({ name }) => name },
  { title: 'nav.themes', resource: themes, path: '/settings/themes', nameOf: ({ name }) => name },
];
