import type { PublisherContext } from '../../catalog/pages.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import {
  badge,
  type Cell,
  emptyState,
  linkButton,
  noMatches,
  pager,
  strongLink,
  type Tone,
  table,
  tabs,
} from '../../shell/components.ts';
import { queryText } from '../../shell/context.ts';
import { count, momentOr } from '../../shell/format.ts';
import type { Page } from '../../shell/layout.ts';
import { type ListedPool, type PoolState, poolStates } from '../pool-list.ts';
import { cardId, codesLink, poolsPath, roughHours } from './paths.ts';

const poolsPerPage = 50;

const tones: Record<PoolState, Tone> = {
  expired: 'bad',
  empty: 'bad',
  low: 'warn',
  expiring: 'warn',
  available: 'good',
};

/** Renders all coupon pools of a publisher's offers, the most urgent first. */
export function poolListPage(context: PublisherContext, pools: readonly ListedPool[]): Page {
  const state = poolStates.find((name) => name === queryText(context, 'state')) ?? null;
  const page = Math.max(1, Math.min(10_000, Math.floor(Number(queryText(context, 'page')) || 1)));
  const urgency = ({ state: of }: ListedPool): number => poolStates.indexOf(of);
  const matches = pools
    .filter((pool) => state === null || pool.state === state)
    .sort((a, b) => urgency(a) - urgency(b) || a.offer.localeCompare(b.offer) || a.offer_id - b.offer_id);
  const start = (page - 1) * poolsPerPage;
  const visible = matches.slice(start, start + poolsPerPage);
  const hrefOf = (target: number): string => {
    const query = new URLSearchParams({
      ...(state !== null && { state }),
      ...(target > 1 && { page: String(target) }),
    });
    return `${context.path(poolsPath)}${query.size === 0 ? '' : `?${query}`}`;
  };
  const hasNext = start + poolsPerPage < matches.length;
  const list = visible.length === 0 ? noMatches() : poolTable(context, visible);
  return {
    title: t('couponPools.title'),
    lead: t('couponPools.lead'),
    nav: 'coupons',
    body:
      pools.length === 0
        ? emptyState(
            'coupons',
            t('couponPools.none'),
            t('couponPools.noneText'),
            linkButton(context.path('/offers'), t('couponPools.chooseOffer'), 'main'),
          )
        : html`
          ${stateTabs(context, pools, state)}
          ${list}
          ${pager(page > 1 ? hrefOf(page - 1) : null, hasNext ? hrefOf(page + 1) : null)}`,
  };
}

/** Renders the tabs that filter by state. States without pools have no tab, unless it is open. */
function stateTabs({ path }: PublisherContext, pools: readonly ListedPool[], current: PoolState | null): Html {
  const numberOf = (state: PoolState): number => pools.filter((pool) => pool.state === state).length;
  const tabOf = (state: PoolState) => ({
    text: t('couponPools.tab', { state: t(`couponPools.state_${state}`), count: numberOf(state) }),
    href: `${path(poolsPath)}?state=${state}`,
    current: state === current,
  });
  return tabs(t('common.status'), [
    {
      text: t('couponPools.tab', { state: t('couponPools.all'), count: pools.length }),
      href: path(poolsPath),
      current: current === null,
    },
    ...poolStates.filter((state) => state === current || numberOf(state) > 0).map(tabOf),
  ]);
}

function poolTable(context: PublisherContext, pools: readonly ListedPool[]): Html {
  const { publisher, path } = context;
  const columns = [
    ...[{ text: t('dimensions.offer') }, { text: t('common.status') }],
    ...[t('coupons.left'), t('coupons.given'), t('coupons.redeemed')].map((text) => ({ text, numeric: true })),
    { text: t('coupons.expiresAt') },
  ];
  const nameOf = ({ offer, offer_id: id }: ListedPool): string => offer || t('offers.unnamed', { id: String(id) });
  const cellsOf = (pool: ListedPool): Cell[] => [
    html`
      ${strongLink(path(`/offers/${pool.offer_id}#${cardId}`), nameOf(pool))}
      <br><span class="hint">${pool.campaign}</span>`,
    html`
      ${badge(t(`couponPools.state_${pool.state}`), tones[pool.state])}
      ${consequenceOf(pool) !== '' && html`<br><small>${consequenceOf(pool)}</small>`}`,
    pool.kind === 'shared' ? t('couponPools.shared') : stockOf(pool),
    codesLink(context, pool.offer_id, 'given', pool.given),
    codesLink(context, pool.offer_id, 'redeemed', pool.redeemed),
    momentOr(publisher, pool.expires_at),
  ];
  return table(t('couponPools.title'), columns, pools.map(cellsOf));
}

const stockOf = ({ left: stock, hours_left: hours }: ListedPool): Html => html`
  ${count(stock)}
  ${hours !== null && stock > 0 && html`<br><small>${t('coupons.hoursLeft', { hours: roughHours(hours) })}</small>`}`;

/** Returns what happens to an offer whose pool gives no codes. */
function consequenceOf({ state, has_fallback: hasFallback, paused_since: paused }: ListedPool): string {
  if (paused !== null) return t('couponPools.offerPaused');
  return state === 'empty' && hasFallback ? t('couponPools.givesFallback') : '';
}
