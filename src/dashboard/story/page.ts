import { type PublisherContext, publisherPages } from '../../catalog/pages.ts';
import type { Snapshot } from '../../catalog/types.ts';
import type { Config } from '../../config.ts';
import { createFailFast, type DatabaseHealth, type FailFast } from '../../platform/db/health.ts';
import type { App } from '../../platform/http/app.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { type MessageKey, t, tHtml } from '../../platform/i18n/messages.ts';
import { isPossibleUuid7, timeOfUuid7 } from '../../platform/lib/uuid7.ts';
import { fromMicros } from '../../platform/money.ts';
import { wordProblem } from '../../platform/problem.ts';
import { offerNames } from '../../reports/metric-tiles.ts';
import { kindText, reasonText, valueWord } from '../../reports/row-words.ts';
import {
  badge,
  card,
  descriptionList,
  emptyState,
  link,
  linkButton,
  notice,
  type Tone,
} from '../../shell/components.ts';
import { pathText, queryText } from '../../shell/context.ts';
import { count, countryName, moment, moneyFormat } from '../../shell/format.ts';
import { createForm } from '../../shell/forms.ts';
import type { Page, Shell } from '../../shell/layout.ts';
import type { PageResult } from '../../shell/pages.ts';
import type { FindStory } from './find.ts';
import { deletedParts, type Story, type StoryEntry } from './read.ts';
import type { Match } from './resolve.ts';

type StoryPageDeps = {
  dbHealth: DatabaseHealth;
  catalog: { current: () => Snapshot };
  config: Config;
  now: () => number;
  findStory: FindStory;
};

type Scope = StoryPageDeps & { failFast: FailFast };

/** URL path of the pages that find a session by any ID and show what happened in it. */
export const storyPath = '/story';

/** Registers the pages with the story of a session (docs/guides/reports.md#find-a-record). */
export function storyPages(app: App, shell: Shell, deps: StoryPageDeps): void {
  const pages = publisherPages(app, shell);
  const scope: Scope = { ...deps, failFast: createFailFast(deps.dbHealth) };
  pages.get(storyPath, 'analyst', (context) => searchPage(scope, context));
  pages.get(`${storyPath}/:id`, 'analyst', (context) => storyPage(scope, context));
}

async function searchPage(scope: Scope, context: PublisherContext): Promise<PageResult> {
  const { findStory, failFast } = scope;
  const id = queryText(context, 'id').trim();
  const matches = id === '' ? [] : await failFast(() => findStory.resolve(context.publisher.id, id));
  const [first, ...others] = matches;
  const [sessionId] = first?.sessionIds ?? [];
  if (first !== undefined && sessionId !== undefined && others.length === 0 && first.sessionIds.length === 1)
    return { to: context.path(`${storyPath}/${sessionId}`) };
  const isMissing = id !== '' && matches.length === 0;
  return {
    ...pageOf(context),
    title: t('story.findTitle'),
    lead: t('story.lead'),
    status: isMissing ? 404 : 200,
    body: html`
      ${searchForm(context, id)}
      ${isMissing && notice('warn', html`<p>${wordProblem(findStory.missing(id).problem)}</p>`)}
      ${matches.map((match) => sessionList(context, match))}`,
  };
}

const pageOf = ({ path }: PublisherContext) => ({
  title: t('story.title'),
  nav: 'reports',
  trail: [{ text: t('reports.title'), href: path('/reports') }],
});

const searchForm = ({ path }: PublisherContext, id: string): Html => html`
  <form class="filters" method="get" action="${path(storyPath)}" role="search">
    ${createForm({ id }).input('id', { label: t('story.id'), autocomplete: 'off' })}
    <button class="button">${t('story.find')}</button>
  </form>`;

/** Renders the sessions of an ID that has several, such as a user. The time of a session is part of its ID. */
const sessionList = ({ publisher, path }: PublisherContext, { kind, sessionIds }: Match): Html =>
  card(
    t(`story.match_${kind}`),
    html`
      <ul class="stream">
        ${sessionIds.map(
          (id) => html`
            <li>
              ${link(path(`${storyPath}/${id}`), moment(publisher, new Date(timeOfUuid7(id)), 'second'))}
              <code class="hint">${id}</code>
            </li>`,
        )}
      </ul>`,
    { lead: t('story.matchLead', { count: sessionIds.length }) },
  );

async function storyPage(scope: Scope, context: PublisherContext): Promise<Page> {
  const { findStory, failFast, config, now } = scope;
  const { publisher, path } = context;
  const id = pathText(context, 'id').toLowerCase();
  const story = isPossibleUuid7(id, now()) ? await failFast(() => findStory.read(publisher.id, id)) : null;
  if (story === null)
    return {
      ...pageOf(context),
      status: 404,
      body: html`
        ${searchForm(context, '')}
        ${emptyState('search', t('story.none'), wordProblem(findStory.missing(id).problem))}`,
    };
  const { session } = story;
  const user = session?.pub_user_id ?? null;
  return {
    ...pageOf(context),
    title: t('story.title'),
    lead: html`<code>${story.sessionId}</code>`,
    actions: linkButton(path(`/why?session=${story.sessionId}`), t('story.why')),
    body: html`
      ${notices(scope, context, story, deletedParts(story.sessionId, config, now()))}
      ${
        session !== null &&
        card(
          t('deliveries.details'),
          descriptionList([
            [t('rows.time'), moment(publisher, session.created_at, 'second')],
            [t('dimensions.placement'), session.placement],
            [t('dimensions.country'), session.country === null ? '–' : countryName(session.country)],
            [t('dimensions.device'), session.device === null ? '–' : valueWord('device', session.device)],
            [t('dimensions.os'), session.os === null ? '–' : valueWord('os', session.os)],
            [t('rows.user'), user === null ? '–' : userLink(context, user)],
            [t('story.offers'), count(session.offer_ids.length)],
          ]),
        )
      }
      ${card(t('story.entries'), timeline(scope, context, story), { lead: t('story.entriesLead') })}
      ${
        story.asOf !== null &&
        html`<p class="hint">${tHtml('story.asOf', { time: moment(publisher, story.asOf, 'second') })}</p>`
      }`,
  };
}

const userLink = ({ path }: PublisherContext, user: string): Html =>
  link(`${path(storyPath)}?id=${encodeURIComponent(user)}`, user);

function notices(
  { config }: Scope,
  { publisher }: PublisherContext,
  { session }: Story,
  deleted: ReturnType<typeof deletedParts>,
): Html {
  const erasedAt = session?.erased_at ?? null;
  const texts: (Html | string)[] = [
    ...(erasedAt === null ? [] : [html`${t('story.erased')} ${moment(publisher, erasedAt, 'second')}`]),
    ...(deleted.rows ? [t('story.deletedRows', { days: config.retentionRawDays })] : []),
    ...(deleted.webhooks ? [t('story.deletedWebhooks', { days: config.retentionDeliveryDays })] : []),
  ];
  return texts.length === 0 ? nothing : notice('info', html`${texts.map((text) => html`<p>${text}</p>`)}`);
}

function timeline({ catalog }: Scope, context: PublisherContext, { entries }: Story): Html {
  const nameOf = offerNames(catalog.current(), context.publisher, (id) => context.path(`/offers/${id}`));
  return html`<ol class="timeline">${entries.map((entry) => entryItem(context, entry, nameOf))}</ol>`;
}

function entryItem(
  { publisher, path }: PublisherContext,
  entry: StoryEntry,
  nameOf: (id: number) => Html | string,
): Html {
  const { kind, offerId, counted, reason, money, name, txnId, deliveryId } = entry;
  const title = deliveryId === null ? titleOf(kind) : link(path(`/deliveries/${deliveryId}`), titleOf(kind));
  const format = moneyFormat(money?.currency ?? null);
  return html`
    <li class="${toneOf(entry)}">
      <strong>${title}</strong>
      ${moment(publisher, entry.at, 'second')}
      ${name !== null && html`<code>${name}</code>`}
      ${statusBadge(entry)}
      ${counted !== null && countBadge(counted)}
      ${reason !== null && html`<span class="hint">${reasonText(reason)}</span>`}
      ${money !== null && html`<span>${format(fromMicros(money.revenueMicros))}</span>`}
      ${
        money !== null &&
        money.unbilledMicros !== 0 &&
        html`<span class="hint">${t('metrics.unbilled')}: ${format(fromMicros(money.unbilledMicros))}</span>`
      }
      ${txnId !== null && html`<span class="hint">${t('story.transaction', { id: txnId })}</span>`}
      ${offerId !== null && html`<span>${nameOf(offerId)}</span>`}
    </li>`;
}

/** Kinds of entries that the pages with rows do not have. */
const ownKinds: ReadonlySet<string> = new Set([
  'fetch',
  'confirmed',
  'coupon',
  'redeemed',
  'cancelled',
  'booking',
  'postback',
  'webhook',
  'message',
]);

const titleOf = (kind: string): string => (ownKinds.has(kind) ? t(`story.kind_${kind}` as MessageKey) : kindText(kind));

const failures: ReadonlySet<string | null> = new Set(['failed', 'held', 'suppressed', 'dropped']);

function toneOf({ counted, status }: StoryEntry): string {
  if (counted === 0 || failures.has(status)) return 'bad';
  return counted !== null || status === 'delivered' || status === 'sent' ? 'good' : '';
}

const countBadge = (counted: number): Html => {
  if (counted === 0) return badge(t('rows.countsNo'), 'warn');
  return badge(counted < 0 ? t('rows.countsMinus') : t('rows.countsYes'), 'good');
};

const waitingTones: Readonly<Record<string, Tone>> = { held: 'warn', pending: 'info', unconfirmed: 'info' };

function statusBadge({ kind, status, lastStatus }: StoryEntry): Html {
  if (status === null) return nothing;
  if (kind === 'confirmed') return badge(t('live.confirmed', { count: Number(status) }), 'good');
  const tone = waitingTones[status] ?? (failures.has(status) ? 'bad' : 'good');
  const text =
    kind === 'message'
      ? t(`story.message_${status}` as MessageKey)
      : t(`deliveryStatus.${status}` as 'deliveryStatus.pending');
  return html`${badge(text, tone)} ${lastStatus !== null && html`<span>HTTP ${lastStatus}</span>`}`;
}
