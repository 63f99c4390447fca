import type { PublisherContext } from '../../../catalog/pages.ts';
import type { Block, StoredControls } from '../../../catalog/types.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { parseUrl } from '../../../platform/lib/url.ts';
import { badge, card, collapsedCard, link, notice, table } from '../../../shell/components.ts';
import { queryText } from '../../../shell/context.ts';
import { count } from '../../../shell/format.ts';
import { columns, createForm } from '../../../shell/forms.ts';
import { blocksOfSample, listBlockedOffers, type OfferSample } from '../../resources/blocked-offers.ts';

/** Maximum number of listed offers. */
const maxOffers = 100;

const blockText = ({ by, value, placement }: Block): string =>
  t('reasons.blocked_by_publisher', {
    by,
    value,
    where: placement === undefined ? 'all' : 'one',
    placement: placement ?? '',
  });

/** Renders the card with the offers that the stored rules block now, and the rule that blocks each of them. */
export async function blockedCard({ publisher, path }: PublisherContext): Promise<Html> {
  const blocked = await listBlockedOffers(publisher);
  if (blocked.length === 0) return nothing;
  const rows = blocked
    .slice(0, maxOffers)
    .map(({ offer, blocks }) => [
      link(path(`/offers/${offer.id}`), offer.copy.title),
      offer.campaign.advertiserName,
      html`${blocks.map((block) => html`<div>${blockText(block)}</div>`)}`,
    ]);
  const headings = [{ text: t('controls.offer') }, { text: t('controls.advertiser') }, { text: t('controls.rule') }];
  const rest = blocked.length - rows.length;
  const body = html`
    ${table(t('controls.blockedOffers'), headings, rows)}
    ${rest > 0 && html`<p class="hint">${t('controls.moreBlocked', { rest: count(rest) })}</p>`}`;
  return collapsedCard(`${t('controls.blockedOffers')} (${count(blocked.length)})`, body);
}

/** Names of the query parameters of the test, which are also its form fields. */
const names = ['url', 'advertiser', 'category', 'text'] as const;

/** Renders the form that tests the stored rules with the properties of an offer, and the result of the test. */
export function testCard(context: PublisherContext, stored: StoredControls): Html {
  const values = Object.fromEntries(names.map((name) => [name, queryText(context, name).trim()]));
  const form = createForm(values);
  const body = html`
    ${testResult(context, stored, values)}
    <form class="form" method="get" action="${context.path('/settings/controls')}#test" novalidate>
      ${columns([
        form.input('url', { label: t('controls.testUrl'), placeholder: 'https://' }),
        form.input('advertiser', { label: t('controls.advertiser') }),
      ])}
      ${columns([
        form.input('category', { label: t('campaigns.category') }),
        form.input('text', { label: t('controls.testText') }),
      ])}
      <p class="actions"><button class="button small">${t('controls.test')}</button></p>
    </form>`;
  return html`<div id="test">${card(t('controls.testTitle'), body, { lead: t('controls.testLead') })}</div>`;
}

function testResult({ publisher }: PublisherContext, stored: StoredControls, values: Record<string, string>): Html {
  const { url = '', advertiser = '', category = '', text = '' } = values;
  if ([url, advertiser, category, text].every((value) => value === '')) return nothing;
  const landingUrl = url === '' || url.includes('://') ? url : `https://${url}`;
  if (landingUrl !== '' && parseUrl(landingUrl) === null)
    return notice('failed', html`<p>${t('controls.testBadUrl')}</p>`);
  const sample: OfferSample = { landingUrl, advertiser, category, text };
  const blocks = blocksOfSample(publisher, stored, sample);
  if (blocks.length === 0) return notice('done', html`<p>${t('controls.testShown')}</p>`);
  return notice(
    'warn',
    html`${blocks.map((block) => html`<p>${badge(t('controls.testBlocked'), 'bad')} ${blockText(block)}</p>`)}`,
  );
}
