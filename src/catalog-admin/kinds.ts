import type { Publisher } from '../catalog/types.ts';
import type { Resource, Values, View, Warning } from '../management/resource.ts';
import type { Executor } from '../platform/db/pool.ts';
import { type MessageKey, t } from '../platform/i18n/messages.ts';
import type { ReviewedKind } from './approval.ts';
import { advertisers } from './resources/advertisers.ts';
import { campaigns } from './resources/campaigns.ts';
import { creatives } from './resources/creatives.ts';
import { offers } from './resources/offers.ts';
import { placements } from './resources/placements.ts';
import { themes } from './resources/themes.ts';

/**
 * Resource that can be found by name in the dashboard search. `path` is the path of its pages, relative to the
 * publisher's pages.
 */
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

/** Resources that a publisher needs before it can show its first offer. */
export type FirstRow = 'advertiser' | 'campaign' | 'offer';

/**
 * Returns which of these resources a publisher already has. Offers from other publishers count if this publisher runs
 * their campaigns.
 */
export async function firstRows(executor: Executor, { id, index }: Publisher): Promise<FirstRow[]> {
  const { rows } = await executor.query<{ advertiser: boolean; campaign: boolean }>({
    name: 'first_rows',
    text: `select
      exists (select from advertisers where publisher_id = $1 and deleted_at is null) as advertiser,
      exists (select from campaigns where publisher_id = $1 and deleted_at is null) as campaign`,
    values: [id],
  });
  const hasOffer = index.offers.some(
    ({ publisherId, campaign }) => publisherId === id || campaign.provisions.get(id)?.active === true,
  );
  const has = { advertiser: rows[0]?.advertiser === true, campaign: rows[0]?.campaign === true, offer: hasOffer };
  return (['advertiser', 'campaign', 'offer'] as const).filter((name) => has[name]);
}

/** Returns the time when a publisher was created, in epoch milliseconds. */
export async function createdMs(executor: Executor, publisherId: number): Promise<number> {
  const { rows } = await executor.query<{ at: Date }>('select created_at as at from publishers where id = $1', [
    publisherId,
  ]);
  return rows[0]?.at.getTime() ?? 0;
}

const kinds = { campaigns, creatives, offers };

/** Returns warnings about macros in URLs. `values` is a complete row or only its changes. */
export const urlWarningsOf = (kind: ReviewedKind, values: Values): Warning[] => kinds[kind].warnOfUrls?.(values) ?? [];
