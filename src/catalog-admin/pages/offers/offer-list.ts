import type { PublisherContext } from '../../../catalog/pages.ts';
import type { Offer } from '../../../catalog/types.ts';
import type { View } from '../../../management/resource.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import {
  actionButton,
  badge,
  type Cell,
  type Column,
  link,
  linkButton,
  strongLink,
} from '../../../shell/components.ts';
import { hasRole } from '../../../shell/context.ts';
import { stoppedBadge } from '../stop.ts';

export const offerColumns = (): Column[] => [
  { text: t('dimensions.offer') },
  { text: t('dimensions.campaign') },
  { text: t('campaigns.weight'), numeric: true },
  { text: t('common.status') },
  { text: t('common.actions'), hidden: true },
];

export const offerName = (row: { [name: string]: unknown }): string =>
  String(row.title || row.short_headline || t('offers.unnamed', { id: String(row.id) }));

/** Renders the table cells for an offer. `offer` is the offer from the snapshot, if it is there. */
export function offerCells(context: PublisherContext, row: View, offer: Offer | undefined): Cell[] {
  const { path } = context;
  const campaign = offer?.campaign;
  return [
    html`
      <div class="with-image">
        ${thumbnail(offer)}
        <span>
          ${strongLink(path(`/offers/${row.id}`), offerName(row))}
          <small>${campaign?.advertiserName ?? ''} · ${t('crud.id', { id: Number(row.id) })}</small>
        </span>
      </div>`,
    campaign === undefined ? '–' : link(path(`/campaigns/${campaign.id}`), campaign.name),
    Number(row.weight),
    row.stopped === true || (offer?.stopped ?? null) !== null
      ? stoppedBadge(offer?.stopped)
      : statusBadge(row.active === true, campaign?.active !== false),
    html`
      <div class="row-actions">
        ${linkButton(path(`/why?offer=${row.id}`), t('offers.why'), 'quiet')}
        ${pauseButton(context, row.id, row.active === true)}
      </div>`,
  ];
}

/** Renders an offer's primary image, or the advertiser's initial if the offer has no image. */
function thumbnail(offer: Offer | undefined): Html {
  const creative = offer?.creatives.find(({ isPrimary }) => isPrimary) ?? offer?.creatives[0];
  if (creative === undefined) {
    const [initial = '·'] = offer?.campaign.advertiserName ?? '';
    return html`<span class="thumb" aria-hidden="true">${initial}</span>`;
  }
  const url = creative.url ?? `/images/${creative.id}.${creative.type}?width=88&aspect_ratio=1:1`;
  return html`<img class="thumb" src="${url}" alt="" width="44" height="44" loading="lazy">`;
}

function statusBadge(isActive: boolean, isCampaignActive: boolean): Html {
  if (!isActive) return badge(t('campaigns.pausedState'), 'warn');
  return isCampaignActive
    ? badge(t('campaigns.active'), 'good')
    : badge(t('campaigns.outcome_campaign_paused'), 'warn');
}

function pauseButton(context: PublisherContext, id: unknown, isActive: boolean): Html {
  if (!hasRole(context.viewer.user.role, 'manager')) return nothing;
  return actionButton(context, {
    to: context.path(`/offers/${id}/active`),
    text: isActive ? t('crud.pause') : t('offers.resume'),
    small: true,
    values: { active: isActive ? 'no' : 'yes' },
  });
}
